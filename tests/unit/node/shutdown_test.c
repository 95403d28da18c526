/* Tests the graceful shutdown: phases in order, tasks of actors, their time, and log lines of late
 * ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "cast.h"

#include <sherd/shutdown.h>

enum manner {
    AT_ONCE, /* is done when it is told */
    LATER,   /* a second later */
    NEVER_DONE,
    ENDS,    /* stops instead */
    MANY,    /* too many tasks */
    WRONG,   /* invalid tasks */
    TAKES_BACK,
    ADDS,  /* in each phase a task in the next one */
    TWICE, /* two tasks in each phase */
};

/* An actor with tasks in several phases. */
struct worker {
    struct world *world;
    enum manner manner;
    uint32_t phases; /* one bit each */
    char heard[512]; /* "service-stop " */
    uint64_t at;     /* time of its last task */
    struct sherd_ref ref;
};

static enum sherd_next told(struct sherd_ctx *ctx, struct worker *worker,
                            uint32_t phase)
{
    size_t used = strlen(worker->heard);

    (void)snprintf(worker->heard + used, sizeof worker->heard - used, "%s ",
                   sherd_phase_text((enum sherd_phase)phase));
    worker->at = world_now(worker->world);
    if (worker->manner == LATER)
        sherd_timer(ctx, phase, 1000);
    if (worker->manner == ADDS && phase + 1 < SHERD_PHASE_COUNT)
        assert_int_equal(
            sherd_shutdown_task(ctx, (enum sherd_phase)(phase + 1), "next"), 0);
    if (worker->manner == AT_ONCE || worker->manner == ADDS ||
        worker->manner == TWICE)
        sherd_shutdown_done(ctx, (enum sherd_phase)phase);
    return worker->manner == ENDS ? SHERD_STOP : SHERD_CONTINUE;
}

static void take_tasks(struct sherd_ctx *ctx, const struct worker *worker)
{
    for (uint32_t i = 0; i < SHERD_PHASE_COUNT; i++) {
        enum sherd_phase phase = (enum sherd_phase)i;

        if (worker->phases >> i & 1)
            assert_int_equal(sherd_shutdown_task(ctx, phase, "work"), 0);
        if (worker->phases >> i & 1 && worker->manner == TWICE)
            assert_int_equal(sherd_shutdown_task(ctx, phase, "more"), 0);
        if (worker->manner == TAKES_BACK)
            sherd_shutdown_done(ctx, phase);
    }
    if (worker->manner == WRONG) {
        assert_int_equal(
            sherd_shutdown_task(ctx, SHERD_PHASE_COUNT, "work"),
            SHERD_EINVAL);
        assert_int_equal(sherd_shutdown_task(ctx, SHERD_SERVICE_STOP, ""),
                         SHERD_EINVAL);
    }
}

static enum sherd_next work(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    struct worker **worker = self;

    if (msg->kind == SHERD_STARTED) {
        memcpy(worker, msg->body.data, sizeof *worker);
        (*worker)->ref = sherd_self(ctx);
        take_tasks(ctx, *worker);
    } else if (msg->kind == SHERD_TIMER) {
        sherd_shutdown_done(ctx, (enum sherd_phase)msg->tag);
    } else if (msg->kind == SHERD_SHUTDOWN) {
        return told(ctx, *worker, msg->msg);
    }
    return SHERD_CONTINUE;
}

static void hire(struct worker *worker, struct world *world, uint32_t node,
                 enum manner manner, uint32_t phases)
{
    static const struct sherd_behavior behavior = {
        .name = "worker",
        .state_size = sizeof(struct worker *),
        .receive = work
    };

    *worker = (struct worker){ .world = world,
                               .manner = manner,
                               .phases = phases };
    world_spawn(world, node, 0, &behavior, &worker, sizeof worker);
    world_run(world, 10 * MS);
}

#define BIT(phase) (1u << (phase))
#define ALL                                                                    \
    (BIT(SHERD_SERVICE_STOP) | BIT(SHERD_SERVICE_UNBIND) |                     \
     BIT(SHERD_BEFORE_SERVICE_UNBIND) | BIT(SHERD_SERVICE_REQUESTS_DONE) |     \
     BIT(SHERD_BEFORE_CLUSTER_SHUTDOWN) |                                      \
     BIT(SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE))

/* Returns how long it takes to leave without an error. */
static uint64_t leave(struct world *world)
{
    uint32_t index = 1;
    uint64_t began = world_now(world);

    world_leave(world, 1);
    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    assert_int_equal(world_node(world, 1)->error, 0);
    return world_now(world) - began;
}

static void tasks_run_phase_by_phase_UTL036_UTL042(void **state)
{
    struct world *world = cast_world(41, 2, 2);
    struct worker workers[2];
    (void)state;

    hire(&workers[0], world, 1, AT_ONCE, ALL);
    hire(&workers[1], world, 1, LATER,
         BIT(SHERD_SERVICE_UNBIND) | BIT(SHERD_SERVICE_STOP));
    world_leave(world, 1);
    world_run(world, 500 * MS);
    assert_string_equal(workers[0].heard, "before-service-unbind service-unbind ");
    assert_string_equal(workers[1].heard, "service-unbind ");
    world_run(world, SECOND); /* the other one is done, and the next phase begins */
    assert_string_equal(workers[0].heard,
                        "before-service-unbind service-unbind "
                        "service-requests-done service-stop ");
    (void)leave(world);
    assert_string_equal(workers[0].heard,
                        "before-service-unbind service-unbind "
                        "service-requests-done service-stop "
                        "before-cluster-shutdown "
                        "before-actor-system-terminate ");
    assert_string_equal(workers[1].heard, "service-unbind service-stop ");
    assert_false(world_logged(world, 1, "not done in time"));
    world_free(world);
}

#define EVERY (BIT(SHERD_PHASE_COUNT) - 1)
#define EVERY_TEXT                                                                 \
    "before-service-unbind service-unbind service-requests-done service-stop "    \
    "before-cluster-shutdown cluster-sharding-shutdown-region cluster-leave "      \
    "cluster-exiting cluster-exiting-done cluster-shutdown "                       \
    "before-actor-system-terminate actor-system-terminate "

/* Also the node's own phases take as long as their tasks. */
static void every_phase_has_tasks_UTL048_UTL050(void **state)
{
    struct world *world = cast_world(53, 2, 2);
    struct worker workers[2];
    uint64_t took;
    (void)state;

    hire(&workers[0], world, 1, AT_ONCE, EVERY);
    hire(&workers[1], world, 1, LATER, EVERY);
    took = leave(world);
    assert_string_equal(workers[0].heard, EVERY_TEXT);
    assert_string_equal(workers[1].heard, EVERY_TEXT);
    assert_true(took >= SHERD_PHASE_COUNT * SECOND);
    assert_false(world_logged(world, 1, "not done in time"));
    world_free(world);
}

static void tasks_in_the_nodes_own_phases_have_a_time_limit(void **state)
{
    const uint32_t phases = BIT(SHERD_CLUSTER_EXITING) | BIT(SHERD_CLUSTER_EXITING_DONE) |
                            BIT(SHERD_CLUSTER_SHUTDOWN) | BIT(SHERD_ACTOR_SYSTEM_TERMINATE);
    struct world *world = cast_world(54, 2, 1);
    struct worker worker;
    char text[128];
    uint64_t took;
    (void)state;

    hire(&worker, world, 1, NEVER_DONE, phases);
    took = leave(world);
    assert_true(took >= 35 * SECOND && took < 45 * SECOND); /* 10, 10, 5 and 10, by default */
    for (uint32_t i = 0; i < SHERD_PHASE_COUNT; i++) {
        (void)snprintf(text, sizeof text, "shutdown task not done in time phase=%s ",
                       sherd_phase_text((enum sherd_phase)i));
        assert_int_equal(world_logged(world, 1, text), phases >> i & 1);
    }
    assert_true(world_logged(world, 0, "removed member=n1"));
    world_free(world);
    world = cast_world(55, 2, 1);
    hire(&worker, world, 1, LATER, BIT(SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION));
    assert_true(leave(world) < 20 * SECOND);
    assert_string_equal(worker.heard, "cluster-sharding-shutdown-region ");
    world_free(world);
}

static void the_time_of_cluster_shutdown_is_set(void **state)
{
    struct world *world = cast_new(56);
    struct node_settings settings;
    struct worker worker;
    (void)state;

    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        settings = world_node_settings(world, i, cast_types, CAST_TYPES);
        settings.phase_timeouts[SHERD_CLUSTER_SHUTDOWN] = 25 * SECOND;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    hire(&worker, world, 1, NEVER_DONE, BIT(SHERD_CLUSTER_SHUTDOWN));
    assert_true(leave(world) >= 25 * SECOND);
    assert_true(world_logged(world, 1, "phase=cluster-shutdown"));
    world_free(world);
}

/* No member has to see it leave. */
static void a_node_in_no_cluster_runs_tasks_of_every_phase(void **state)
{
    struct world *world = cast_new(57);
    struct node_settings settings;
    struct worker worker;
    uint32_t index = 0;
    (void)state;

    cast_begin();
    settings = world_node_settings(world, 0, cast_types, CAST_TYPES);
    settings.seed_node_count = 0;
    settings.alone = false;
    world_start(world, 0, &settings);
    world_run(world, SECOND);
    hire(&worker, world, 0, AT_ONCE, EVERY);
    world_leave(world, 0);
    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    assert_string_equal(worker.heard, EVERY_TEXT);
    world_free(world);
}

static void the_last_tasks_run_outside_the_cluster(void **state)
{
    struct world *world = cast_world(42, 2, 1);
    struct worker worker;
    struct sherd_status status;
    (void)state;

    hire(&worker, world, 1, LATER, BIT(SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE));
    (void)leave(world);
    assert_string_equal(worker.heard, "before-actor-system-terminate ");
    world_run(world, SECOND);
    status = world_status(world, 0);
    assert_int_equal(status.member_count, 1);
    world_status_fini(&status);
    assert_true(world_logged(world, 0, "removed member=n1"));
    world_free(world);
}

/* The member is exiting, and its shards have moved. */
static void a_member_stays_until_its_tasks_of_leaving_are_done(void **state)
{
    struct world *world = cast_world(50, 2, 1);
    struct worker worker;
    uint32_t index = 1;
    (void)state;

    hire(&worker, world, 1, NEVER_DONE, BIT(SHERD_CLUSTER_LEAVE));
    world_leave(world, 1);
    world_run(world, 20 * SECOND);
    assert_string_equal(worker.heard, "cluster-leave ");
    assert_true(world_logged(world, 1, "self-exiting"));
    assert_false(world_logged(world, 0, "removed member=n1"));
    assert_true(world_until(world, world_node_ended, &index, 100 * SECOND));
    assert_int_equal(world_node(world, 1)->error, 0);
    assert_true(world_logged(world, 1, "shutdown task not done in time phase=cluster-leave"));
    world_run(world, 5 * SECOND);
    assert_true(world_logged(world, 0, "removed member=n1"));
    world_free(world);
    world = cast_world(51, 2, 1);
    hire(&worker, world, 1, LATER, BIT(SHERD_CLUSTER_LEAVE));
    assert_true(leave(world) < 20 * SECOND);
    assert_string_equal(worker.heard, "cluster-leave ");
    assert_false(world_logged(world, 1, "not done in time"));
    world_free(world);
}

/* The node is cut off. It ends at last, and logs what it did not do. */
static void a_node_not_seen_as_exiting_has_not_left(void **state)
{
    struct world *world = cast_world(52, 2, 1);
    struct player player;
    struct worker worker;
    char id[8];
    uint32_t index = 1;
    (void)state;

    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < 8; i++) {
        (void)snprintf(id, sizeof id, "n%u", i);
        assert_true(player_asks(&player, "E", id, COUNT) > 0);
    }
    hire(&worker, world, 1, NEVER_DONE, BIT(SHERD_CLUSTER_LEAVE));
    net_cut(world, 1, 0, NET_BOTH, true);
    net_cut(world, 0, 1, NET_BOTH, true);
    world_leave(world, 1);
    assert_true(world_until(world, world_node_ended, &index, 300 * SECOND));
    assert_true(world_logged(world, 1, "not done in time phase=cluster-leave"));
    assert_true(world_logged(world, 1,
                             "shutdown task not done in time "
                             "phase=cluster-leave task=work"));
    assert_true(world_logged(world, 1, "region not stopped type=E"));
    assert_int_equal(world_node(world, 1)->error, SHERD_ETIME);
    world_free(world);
}

static void start_with(struct world *world, uint32_t node,
                       uint64_t service_stop)
{
    struct node_settings settings =
        world_node_settings(world, node, cast_types, CAST_TYPES);

    settings.phase_timeouts[SHERD_SERVICE_STOP] = service_stop;
    world_start(world, node, &settings);
}

/* The node's seeds answer when it is about to end: after a join it would have to be downed. */
static void a_node_that_ends_outside_joins_no_cluster(void **state)
{
    struct world *world = cast_world(58, 1, 1);
    struct worker worker;
    uint32_t index = 1;
    (void)state;

    net_part(world, 0, 1, true);
    start_with(world, 1, 0);
    world_run(world, 2 * SECOND);
    hire(&worker, world, 1, NEVER_DONE,
         BIT(SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE));
    world_leave(world, 1);
    world_run(world, SECOND);
    assert_string_equal(worker.heard, "before-actor-system-terminate ");
    net_part(world, 0, 1, false);
    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    assert_int_equal(world_node(world, 1)->error, 0);
    assert_false(world_logged(world, 1, "welcomed"));
    assert_false(world_logged(world, 0, "member joins member=n1"));
    world_free(world);
}

static void late_tasks_are_logged_and_given_up(void **state)
{
    struct world *world = cast_new(43);
    struct worker worker;
    uint64_t took;
    (void)state;

    cast_begin();
    for (uint32_t i = 0; i < 2; i++)
        start_with(world, i, 2 * SECOND);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    hire(&worker, world, 1, NEVER_DONE,
         BIT(SHERD_SERVICE_UNBIND) | BIT(SHERD_SERVICE_STOP));
    took = leave(world);
    assert_true(took >= 7 * SECOND && took < 20 * SECOND);
    assert_true(world_logged(world, 1,
                             "shutdown task not done in time "
                             "phase=service-unbind task=work"));
    assert_true(world_logged(world, 1,
                             "shutdown task not done in time "
                             "phase=service-stop task=work"));
    assert_true(world_logged(world, 1, "some shutdown steps timed out late=2"));
    world_free(world);
}

static void tell_many(struct sherd_ctx *ctx, struct player *player)
{
    struct sherd_bytes none = { NULL, 0 };

    for (uint32_t i = 0; i < 100; i++)
        sherd_tell(ctx, player->other, SILENT, none);
}

/* The second node has nearly left when its writes stop arriving; a connection takes little more
 * than one gossip. Its lane has many messages for the first node, and control its last frames. */
static struct world *stuck(uint64_t seed, uint64_t terminate,
                           struct player players[2])
{
    struct world_settings small = cast_settings(seed);
    struct world *world;

    small.pipe_size = 512;
    world = world_new(&small);
    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings = world_node_settings(world, i, NULL, 0);

        settings.lanes = 1;
        settings.phase_timeouts[SHERD_ACTOR_SYSTEM_TERMINATE] = terminate;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    for (uint32_t i = 0; i < 2; i++)
        player_spawn(&players[i], world, i, 0);
    players[1].other = players[0].ref;
    (void)player_asks(&players[1], NULL, NULL, ECHO);
    world_leave(world, 1);
    while (!world_logged(world, 0, "status=leaving")) {
        assert_false(world_logged(world, 1, "self-exiting"));
        world_run(world, MS / 50);
    }
    net_cut(world, 1, 0, NET_BOTH, true);
    player_do(&players[1], tell_many);
    return world;
}

/* The node still ends. */
static void actors_and_frames_that_remain_are_logged(void **state)
{
    struct player players[2];
    struct world *world = stuck(53, SECOND, players);
    uint32_t index = 1;
    uint64_t began = world_now(world);
    (void)state;

    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    assert_in_range(world_now(world) - began, 3 * SECOND / 2, 3 * SECOND);
    assert_true(world_logged(world, 1,
                             "not done in time phase=actor-system-terminate"));
    assert_true(world_logged(world, 1,
                             "actors of a lane not stopped lane=0"));
    assert_true(world_logged(world, 1,
                             "last frames not sent in time peer=n0"));
    assert_true(world_logged(world, 1, "some shutdown steps timed out late=2"));
    assert_int_equal(world_node(world, 1)->error, 0);
    world_free(world);
    /* with time, lanes give their frames up by themselves */
    world = stuck(54, 0, players);
    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    assert_false(world_logged(world, 1, "actors of a lane not stopped"));
    assert_true(world_logged(world, 1, "some shutdown steps timed out late=1"));
    world_free(world);
}

/* Makes two nodes with their own settings for phases. */
static struct world *cast_with(uint64_t seed, const bool *off, const bool *fatal)
{
    struct world *world = cast_new(seed);

    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        memcpy(settings.phases_off, off, sizeof settings.phases_off);
        memcpy(settings.phases_fatal, fatal, sizeof settings.phases_fatal);
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static void phases_that_are_off_are_skipped_UTL045(void **state)
{
    const bool off[SHERD_PHASE_COUNT] = {
        [SHERD_SERVICE_UNBIND] = true,
        [SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION] = true,
        [SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE] = true
    };
    const bool fatal[SHERD_PHASE_COUNT] = { false };
    struct world *world = cast_with(48, off, fatal);
    struct worker worker;
    (void)state;

    hire(&worker, world, 1, AT_ONCE, ALL);
    (void)leave(world);
    assert_string_equal(worker.heard,
                        "before-service-unbind service-requests-done "
                        "service-stop before-cluster-shutdown ");
    assert_false(world_logged(world, 1, "not done in time"));
    world_run(world, SECOND);
    assert_true(world_logged(world, 0, "removed member=n1"));
    world_free(world);
}

/* A second request changes nothing. */
static void a_late_task_stops_the_shutdown_without_recover_UTL044(void **state)
{
    const bool off[SHERD_PHASE_COUNT] = { false };
    const bool fatal[SHERD_PHASE_COUNT] = { [SHERD_SERVICE_STOP] = true };
    struct world *world = cast_with(49, off, fatal);
    struct worker late, quick;
    (void)state;

    hire(&late, world, 1, NEVER_DONE,
         BIT(SHERD_SERVICE_UNBIND) | BIT(SHERD_SERVICE_STOP));
    hire(&quick, world, 1, AT_ONCE, ALL);
    world_leave(world, 1);
    world_run(world, 60 * SECOND);
    assert_true(world_logged(world, 1, "recover is off phase=service-stop"));
    assert_true(world_node(world, 1)->is_ready); /* again: it continues */
    assert_string_equal(quick.heard,
                        "before-service-unbind service-unbind "
                        "service-requests-done service-stop ");
    world_leave(world, 1);
    world_run(world, 60 * SECOND);
    assert_false(world_node_ended(world, &(uint32_t){ 1 }));
    assert_true(world_all_up(world, NULL));
    world_free(world);
}

/* An exiting node cannot return: it continues after the failed phase, and hands over. */
static void a_failed_shutdown_continues_at_another_nodes_request(void **state)
{
    const bool off[SHERD_PHASE_COUNT] = { false };
    const bool fatal[SHERD_PHASE_COUNT] = { [SHERD_SERVICE_STOP] = true };
    (void)state;

    for (uint32_t who = 0; who < 2; who++) { /* the oldest, and not */
        struct world *world = cast_with(59, off, fatal);
        struct worker worker;

        hire(&worker, world, who, NEVER_DONE,
             BIT(SHERD_SERVICE_STOP) | BIT(SHERD_BEFORE_CLUSTER_SHUTDOWN));
        world_leave(world, who);
        world_run(world, 30 * SECOND);
        assert_true(world_logged(world, who, "recover is off phase=service-stop"));
        world_leave_member(world, 1 - who, who);
        assert_true(world_until(world, world_node_ended, &who, 60 * SECOND));
        assert_string_equal(worker.heard, "service-stop before-cluster-shutdown ");
        assert_int_equal(world_node(world, who)->error, 0);
        world_run(world, SECOND);
        assert_true(world_logged(world, 1 - who, who ? "removed member=n1" : "removed member=n0"));
        world_free(world);
    }
}

static void a_shutdown_by_another_node_does_not_fail(void **state)
{
    const bool off[SHERD_PHASE_COUNT] = { false };
    const bool fatal[SHERD_PHASE_COUNT] = { [SHERD_SERVICE_STOP] = true };
    (void)state;

    for (int leaves = 0; leaves < 2; leaves++) { /* it leaves by itself already, or not */
        struct world *world = cast_with(59, off, fatal);
        struct worker worker;
        uint32_t who = 1;

        hire(&worker, world, who, NEVER_DONE, BIT(SHERD_SERVICE_STOP));
        if (leaves)
            world_leave(world, who);
        world_leave_member(world, 1 - who, who);
        assert_true(world_until(world, world_node_ended, &who, 60 * SECOND));
        assert_false(world_logged(world, who, "recover is off"));
        assert_int_equal(world_node(world, who)->error, 0);
        world_free(world);
    }
}

static void tasks_in_time_end_a_node_without_recover(void **state)
{
    const bool off[SHERD_PHASE_COUNT] = { false };
    const bool fatal[SHERD_PHASE_COUNT] = { [SHERD_SERVICE_STOP] = true };
    struct world *world = cast_with(50, off, fatal);
    struct worker worker;
    (void)state;

    hire(&worker, world, 1, LATER, ALL);
    (void)leave(world);
    assert_false(world_logged(world, 1, "recover is off"));
    world_free(world);
}

/* The actor has ended before or in the phase, or has taken the task back. */
static void tasks_of_ended_actors_are_done_UTL037_UTL059_UTL061_UTL063(
    void **state)
{
    struct world *world = cast_world(44, 2, 1);
    struct worker ends;
    struct worker took_back;
    (void)state;

    hire(&ends, world, 1, ENDS, ALL);
    hire(&took_back, world, 1, TAKES_BACK, ALL);
    assert_true(leave(world) < 10 * SECOND);
    assert_string_equal(ends.heard, "before-service-unbind ");
    assert_string_equal(took_back.heard, "");
    assert_false(world_logged(world, 1, "not done in time"));
    world_free(world);
}

/* Each actor has one task in a phase. Taking it back ends no other task of the same name. */
static void tasks_may_share_a_name_UTL038(void **state)
{
    struct world *world = cast_world(44, 2, 1);
    struct worker workers[2];
    struct worker took_back;
    (void)state;

    hire(&workers[0], world, 1, AT_ONCE, BIT(SHERD_SERVICE_STOP));
    hire(&took_back, world, 1, TAKES_BACK, BIT(SHERD_SERVICE_STOP));
    hire(&workers[1], world, 1, AT_ONCE, BIT(SHERD_SERVICE_STOP));
    (void)leave(world);
    for (int i = 0; i < 2; i++)
        assert_string_equal(workers[i].heard, "service-stop ");
    assert_string_equal(took_back.heard, "");
    assert_false(world_logged(world, 1, "not done in time"));
    world_free(world);
}

static void stop_other(struct sherd_ctx *ctx, struct player *player)
{
    sherd_stop(ctx, player->other);
}

/* Another actor stops it while its task is open. */
static void a_stopped_actor_ends_its_task_UTL060(void **state)
{
    struct world *world = cast_world(44, 2, 1);
    struct player player;
    struct worker worker;
    uint32_t index = 1;
    (void)state;

    hire(&worker, world, 1, NEVER_DONE, BIT(SHERD_BEFORE_SERVICE_UNBIND));
    player_spawn(&player, world, 1, 0);
    player.other = worker.ref;
    world_leave(world, 1);
    world_run(world, 2 * SECOND);
    assert_string_equal(worker.heard, "before-service-unbind ");
    assert_false(world_logged(world, 1, "self-exiting"));
    player_do(&player, stop_other);
    world_run(world, SECOND);
    assert_true(world_until(world, world_node_ended, &index, 10 * SECOND));
    assert_int_equal(world_node(world, 1)->error, 0);
    assert_false(world_logged(world, 1, "not done in time"));
    world_free(world);
}

static void a_task_may_add_one_in_a_later_phase_UTL046(void **state)
{
    struct world *world = cast_world(44, 2, 1);
    struct worker worker;
    (void)state;

    hire(&worker, world, 1, ADDS, BIT(SHERD_BEFORE_SERVICE_UNBIND));
    (void)leave(world);
    assert_string_equal(worker.heard, EVERY_TEXT);
    assert_false(world_logged(world, 1, "not done in time"));
    world_free(world);
}

static void an_actor_has_one_task_in_a_phase_UTL062(void **state)
{
    struct world *world = cast_world(44, 2, 1);
    struct worker worker;
    (void)state;

    hire(&worker, world, 1, TWICE, ALL);
    assert_true(leave(world) < 10 * SECOND);
    assert_string_equal(worker.heard,
                        "before-service-unbind service-unbind "
                        "service-requests-done service-stop "
                        "before-cluster-shutdown "
                        "before-actor-system-terminate ");
    assert_false(world_logged(world, 1, "not done in time"));
    world_free(world);
}

static void invalid_tasks_are_refused(void **state)
{
    struct world *world = cast_world(45, 1, 1);
    struct worker worker;
    (void)state;

    hire(&worker, world, 0, WRONG, 0);
    world_free(world);
}

static void tasks_are_kept_up_to_a_limit(void **state)
{
    struct world *world = cast_world(46, 2, 1);
    struct worker *workers =
        test_calloc(SHUTDOWN_TASKS_MAX + 1, sizeof *workers);
    (void)state;

    for (uint32_t i = 0; i < SHUTDOWN_TASKS_MAX; i++)
        hire(&workers[i], world, 1, AT_ONCE, BIT(SHERD_SERVICE_STOP));
    assert_false(world_logged(world, 1, "shutdown task refused"));
    hire(&workers[SHUTDOWN_TASKS_MAX], world, 1, AT_ONCE,
         BIT(SHERD_SERVICE_STOP));
    assert_true(world_logged(world, 1, "shutdown task refused"));
    (void)leave(world);
    assert_string_equal(workers[SHUTDOWN_TASKS_MAX - 1].heard,
                        "service-stop ");
    assert_string_equal(workers[SHUTDOWN_TASKS_MAX].heard, "");
    test_free(workers);
    world_free(world);
}

/* Earlier tasks and steps do not run. */
static void a_graceful_end_may_begin_with_a_later_phase_UTL041(void **state)
{
    static const char *const texts[] = { [SHERD_SERVICE_STOP] = "service-stop ",
                                         [SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION] = "cluster-sharding-",
                                         [SHERD_CLUSTER_LEAVE] = "cluster-leave " };
    const enum sherd_phase from[] = { SHERD_SERVICE_STOP,
                                      SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION,
                                      SHERD_CLUSTER_LEAVE };
    (void)state;

    for (uint32_t i = 0; i < sizeof from / sizeof *from; i++) {
        struct world *world = cast_world(60 + i, 2, 2);
        struct worker worker;
        struct player player;
        char id[8];
        uint32_t index = 1;

        player_spawn(&player, world, 0, 0);
        for (uint32_t k = 0; k < 8; k++) {
            (void)snprintf(id, sizeof id, "n%u", k);
            assert_true(player_asks(&player, "E", id, COUNT) > 0);
        }
        hire(&worker, world, 1, AT_ONCE, EVERY);
        world_leave_from(world, 1, from[i]);
        assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
        assert_int_equal(world_node(world, 1)->error, 0);
        assert_string_equal(worker.heard, strstr(EVERY_TEXT, texts[from[i]]));
        assert_false(world_logged(world, 1, "not done in time"));
        assert_true(world_logged(world, 1, "self-exiting"));
        world_run(world, 10 * SECOND);
        for (uint32_t k = 0; k < 8; k++) { /* handed off, or found missing */
            (void)snprintf(id, sizeof id, "n%u", k);
            assert_true(player_asks(&player, "E", id, COUNT) > 0);
        }
        world_free(world);
    }
}

/* Returns how long a downed node takes to end. */
static uint64_t down(struct world *world)
{
    uint32_t index = 1;
    uint64_t began = world_now(world);

    world_down(world, 0, 1);
    assert_true(world_until(world, world_node_ended, &index, 60 * SECOND));
    assert_int_equal(world_node(world, 1)->error, SHERD_EDOWN);
    return world_now(world) - began;
}

static uint64_t entities_at(struct world *world, uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint64_t count = 0;

    for (uint32_t i = 0; i < status.type_count; i++)
        count += status.types[i].entities_here;
    world_status_fini(&status);
    return count;
}

/* Entities end at once, and none begins any more. */
static void a_downed_node_runs_its_tasks_UTL049(void **state)
{
    const bool off[SHERD_PHASE_COUNT] = { false };
    const bool fatal[SHERD_PHASE_COUNT] = { [SHERD_SERVICE_STOP] = true };
    struct world *world = cast_with(47, off, fatal);
    struct worker workers[3];
    struct player player;
    char id[8];
    (void)state;

    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < 8; i++) {
        (void)snprintf(id, sizeof id, "n%u", i);
        assert_true(player_asks(&player, "E", id, COUNT) > 0);
    }
    assert_true(entities_at(world, 1) > 0);
    hire(&workers[0], world, 1, AT_ONCE, EVERY);
    hire(&workers[1], world, 1, LATER, EVERY);
    hire(&workers[2], world, 1, NEVER_DONE, BIT(SHERD_SERVICE_STOP));
    world_down(world, 0, 1);
    for (uint32_t i = 0; i < 20000 && !*workers[1].heard; i++)
        world_run(world, MS);
    world_run(world, 100 * MS);
    assert_int_equal(entities_at(world, 1), 0);
    assert_true(down(world) >= (SHERD_PHASE_COUNT - 1) * SECOND + 4 * SECOND);
    assert_string_equal(workers[0].heard, EVERY_TEXT);
    assert_string_equal(workers[1].heard, EVERY_TEXT);
    assert_true(world_logged(world, 1, "shutdown task not done in time phase=service-stop task=work"));
    assert_false(world_logged(world, 1, "recover is off"));
    world_free(world);
}

static void a_node_downed_while_it_leaves_continues_its_tasks(void **state)
{
    struct world *world = cast_world(58, 2, 1);
    struct worker worker;
    (void)state;

    hire(&worker, world, 1, LATER, EVERY);
    world_leave(world, 1);
    world_run(world, 2500 * MS);
    assert_string_equal(worker.heard, "before-service-unbind service-unbind service-requests-done ");
    (void)down(world);
    assert_string_equal(worker.heard, EVERY_TEXT);
    world_free(world);
}

static void a_downed_node_may_skip_its_tasks(void **state)
{
    struct world *world = cast_new(59);
    struct worker worker;
    (void)state;

    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.tasks_unless_downed = true;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    hire(&worker, world, 1, NEVER_DONE, ALL);
    (void)down(world);
    assert_string_equal(worker.heard, "");
    world_free(world);
}

struct coordinators {
    struct world *world;
    uint32_t living;
    uint32_t begun;
    bool together;   /* two at a time */
    uint64_t ended;  /* the last one; world's clock */
};

static void follow_coordinators(void *user, uint32_t node, uint32_t machine,
                                const struct probe *probe)
{
    struct coordinators *seen = user;
    (void)node;
    (void)machine;

    if (probe->type != 0)
        return;
    if (probe->kind == PROBE_COORDINATOR_STARTED) {
        seen->begun++;
        seen->together |= seen->living++ > 0;
    } else if (probe->kind == PROBE_COORDINATOR_ENDED) {
        seen->living--;
        seen->ended = world_now(seen->world);
    }
}

static void start_patient(struct world *world, uint32_t node)
{
    struct node_settings settings =
        world_node_settings(world, node, cast_types, CAST_TYPES);

    settings.probes = true;
    settings.acceptable_heartbeat_pause = 120 * SECOND;
    settings.phase_timeouts[SHERD_CLUSTER_EXITING] = 6 * SECOND;
    world_start(world, node, &settings);
}

/* A coordinator waits for the answers to its last orders. Once its node is done it is removed, and
 * the next one begins. */
static void a_failed_hand_over_waits_for_its_coordinators(void **state)
{
    struct world *world = cast_new(47);
    struct coordinators seen = { .world = world };
    struct player player;
    char id[8];
    uint64_t exiting, given_up;
    (void)state;

    cast_begin();
    world_observe(world, &(struct world_observer){
                             .user = &seen, .probe = follow_coordinators });
    for (uint32_t i = 0; i < 3; i++) { /* so that node 1 is the second oldest */
        start_patient(world, i);
        world_run(world, 10 * SECOND);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(&player, world, 2, 0);
    assert_true(player_asks(&player, "E", "a", COUNT) > 0);
    assert_int_equal(seen.begun, 1);
    world_leave(world, 0);
    while (!world_logged(world, 0, "status=exiting"))
        world_run(world, MS);
    exiting = world_now(world);
    /* node 0 misses that node 1 takes over and hosts */
    net_cut(world, 1, 0, NET_BOTH, true);
    for (uint32_t i = 0; i < 16; i++) {
        (void)snprintf(id, sizeof id, "n%u", i);
        player_tell(&player, "E", id, SILENT);
    }
    while (!world_logged(world, 0, "not done in time phase=cluster-exiting"))
        world_run(world, MS);
    given_up = world_now(world);
    assert_in_range(given_up - exiting, 59 * SECOND / 10, 65 * SECOND / 10);
    assert_true(world_logged(world, 0, "coordinator not handed over type=E"));
    assert_int_equal(seen.living, 1);
    world_run(world, 20 * SECOND);
    assert_false(seen.together);
    assert_int_equal(seen.begun, 2);
    assert_true(seen.ended >= given_up + 2900 * MS);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_run_phase_by_phase_UTL036_UTL042),
        cmocka_unit_test(every_phase_has_tasks_UTL048_UTL050),
        cmocka_unit_test(tasks_in_the_nodes_own_phases_have_a_time_limit),
        cmocka_unit_test(the_time_of_cluster_shutdown_is_set),
        cmocka_unit_test(a_node_in_no_cluster_runs_tasks_of_every_phase),
        cmocka_unit_test(the_last_tasks_run_outside_the_cluster),
        cmocka_unit_test(a_member_stays_until_its_tasks_of_leaving_are_done),
        cmocka_unit_test(a_node_not_seen_as_exiting_has_not_left),
        cmocka_unit_test(late_tasks_are_logged_and_given_up),
        cmocka_unit_test(actors_and_frames_that_remain_are_logged),
        cmocka_unit_test(a_node_that_ends_outside_joins_no_cluster),
        cmocka_unit_test(a_failed_hand_over_waits_for_its_coordinators),
        cmocka_unit_test(phases_that_are_off_are_skipped_UTL045),
        cmocka_unit_test(a_late_task_stops_the_shutdown_without_recover_UTL044),
        cmocka_unit_test(a_failed_shutdown_continues_at_another_nodes_request),
        cmocka_unit_test(a_shutdown_by_another_node_does_not_fail),
        cmocka_unit_test(tasks_in_time_end_a_node_without_recover),
        cmocka_unit_test(
            tasks_of_ended_actors_are_done_UTL037_UTL059_UTL061_UTL063),
        cmocka_unit_test(tasks_may_share_a_name_UTL038),
        cmocka_unit_test(a_stopped_actor_ends_its_task_UTL060),
        cmocka_unit_test(a_task_may_add_one_in_a_later_phase_UTL046),
        cmocka_unit_test(an_actor_has_one_task_in_a_phase_UTL062),
        cmocka_unit_test(invalid_tasks_are_refused),
        cmocka_unit_test(tasks_are_kept_up_to_a_limit),
        cmocka_unit_test(a_graceful_end_may_begin_with_a_later_phase_UTL041),
        cmocka_unit_test(a_downed_node_runs_its_tasks_UTL049),
        cmocka_unit_test(a_node_downed_while_it_leaves_continues_its_tasks),
        cmocka_unit_test(a_downed_node_may_skip_its_tasks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
