/* Moves shards under traffic: nodes join and leave, and every message arrives once, in order for
 * each sender. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cast.h"

#define NODES 4
#define LANES 3

/* A run's senders are one player on every lane. */
struct run {
    struct world *world;
    struct rng rng;
    struct player players[NODES * LANES];
    bool sends[NODES];
    bool leaves[NODES];
    bool disturbed; /* nodes are also paused and cut off for a while */
    uint32_t lanes[NODES];
    uint32_t sent[CAST_SENDERS][CAST_ENTITIES];
    uint64_t sent_total;
    uint32_t entities;
};

static struct run *running;

static void send_one(struct sherd_ctx *ctx, struct player *player, uint32_t to)
{
    static const char *const types[] = { "E", "P", "S" };
    struct numbered body = { (uint32_t)(player - running->players), to, 0 };
    char id[8];

    body.number = ++running->sent[body.sender][body.entity];
    running->sent_total++;
    (void)snprintf(id, sizeof id, "e%u", to);
    sherd_entity_tell(ctx, types[to % 3], id, NUMBERED,
                      (struct sherd_bytes){ &body, sizeof body });
}

static void send_burst(struct sherd_ctx *ctx, struct player *player)
{
    for (uint64_t i = 1 + rng_below(&running->rng, 12); i > 0; i--)
        send_one(ctx, player,
                 (uint32_t)rng_below(&running->rng, running->entities));
}

static void start(struct run *run, uint32_t index)
{
    struct node_settings settings =
        world_node_settings(run->world, index, cast_types, CAST_TYPES);
    static const struct address seeds[] = { { "n0", 2551 },
                                            { "n1", 2551 },
                                            { "n2", 2551 },
                                            { "n3", 2551 } };

    settings.lanes = run->lanes[index] = 1 + (uint32_t)rng_below(&run->rng, LANES);
    settings.seed_nodes = seeds;
    settings.seed_node_count = NODES;
    settings.alone = false;
    world_start(run->world, index, &settings);
}

static void hire(struct run *run, uint32_t index)
{
    for (uint32_t i = 0; i < run->lanes[index]; i++)
        player_spawn(&run->players[index * LANES + i], run->world, index, i);
    for (uint32_t e = 0; e < CAST_ENTITIES; e++) /* other actors: each begins at 1 */
        for (uint32_t i = 0; i < LANES; i++)
            run->sent[index * LANES + i][e] = cast.last[index * LANES + i][e] = 0;
    run->sends[index] = true;
}

static void send_some(struct run *run, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = (uint32_t)rng_below(&run->rng, NODES);

        world_run(run->world, rng_below(&run->rng, 3 * MS));
        if (!run->sends[node] || !world_node(run->world, node)->node)
            continue;
        player_do(&run->players[node * LANES +
                                rng_below(&run->rng, run->lanes[node])],
                  send_burst);
    }
}

static void collect(struct run *run)
{
    for (uint32_t i = 0; i < NODES; i++) {
        struct sherd_status status;

        if (!world_node(run->world, i)->node)
            continue;
        status = world_status(run->world, i);
        for (uint32_t r = 1; r < SHERD_REASON_COUNT; r++)
            if (status.undelivered[r])
                print_message("  n%u: %s: %llu\n", i,
                              sherd_reason_text((enum sherd_reason)r),
                              (unsigned long long)status.undelivered[r]);
        for (uint32_t t = 0; t < status.type_count; t++)
            if (status.types[t].waiting)
                print_message("  n%u: waiting %llu\n", i,
                              (unsigned long long)status.types[t].waiting);
        world_status_fini(&status);
    }
}

static bool all_done(struct run *run)
{
    for (uint32_t i = 0; i < NODES; i++) {
        const struct world_node *node = world_node(run->world, i);

        if (!(run->leaves[i] ? node->has_ended : node->is_up))
            return false;
    }
    return true;
}

/* Pauses or cuts a node for less time than a removal takes. */
static void disturb(struct run *run)
{
    uint32_t node = (uint32_t)rng_below(&run->rng, NODES);
    uint32_t other = (node + 1) % NODES;
    bool sleeps = rng_below(&run->rng, 2);

    if (!world_node(run->world, node)->node || rng_below(&run->rng, 20))
        return;
    if (sleeps)
        world_pause(run->world, node, true);
    else
        net_part(run->world, node, other, true);
    send_some(run, (uint32_t)rng_below(&run->rng, 1500));
    world_pause(run->world, node, false);
    net_part(run->world, node, other, false);
}

static uint32_t senders(const struct run *run)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < NODES; i++)
        count += run->sends[i];
    return count;
}

/* One or two nodes leave under the traffic of the others; former leavers join again at the same
 * time. */
static bool change(struct run *run)
{
    uint32_t leaving = 1 + (uint32_t)rng_below(&run->rng, 2);

    for (uint32_t i = 0; i < NODES; i++) {
        if (!run->leaves[i])
            continue;
        run->leaves[i] = false;
        start(run, i);
    }
    for (uint32_t i = 0; i < leaving; i++) {
        uint32_t node = (uint32_t)rng_below(&run->rng, NODES);

        if (!run->sends[node] || senders(run) == 1)
            continue; /* one stays to join */
        run->sends[node] = false;
        run->leaves[node] = true;
        world_leave(run->world, node);
    }
    for (int i = 0; i < 3000 && !all_done(run); i++) {
        send_some(run, 20);
        if (run->disturbed)
            disturb(run);
    }
    for (uint32_t i = 0; i < NODES; i++)
        if (!run->leaves[i] && !run->sends[i] && world_node(run->world, i)->is_up)
            hire(run, i);
        else if (run->leaves[i] && world_node(run->world, i)->error)
            return false;
    return all_done(run);
}

static bool moves(uint64_t seed, bool disturbed)
{
    struct run *run = calloc(1, sizeof *run);
    struct world_settings settings;
    bool good;

    cast_begin();
    running = run;
    run->disturbed = disturbed;
    rng_init(&run->rng, seed);
    settings = cast_settings(seed);
    settings.link_min = 1000;
    settings.link_mean = 1000 + rng_below(&run->rng, 20 * MS) / 2;
    settings.mail_delay = 1000 + rng_below(&run->rng, 3 * MS);
    settings.backend_delay = 1000 + rng_below(&run->rng, 20 * MS);
    run->world = world_new(&settings);
    run->entities = 1 + (uint32_t)rng_below(&run->rng, CAST_ENTITIES);
    for (uint32_t i = 0; i < NODES; i++)
        start(run, i);
    good = world_until(run->world, world_all_up, NULL, 60 * SECOND);
    for (uint32_t i = 0; good && i < NODES; i++)
        hire(run, i);
    for (int i = 0; good && i < 4; i++) {
        send_some(run, 100);
        good = change(run);
        for (uint32_t n = 0; !good && n < NODES; n++)
            print_message("seed %llu: change %d: n%u leaves %d up %d ended %d "
                          "error %d\n",
                          (unsigned long long)seed, i, n, run->leaves[n],
                          world_node(run->world, n)->is_up,
                          world_node(run->world, n)->has_ended,
                          world_node(run->world, n)->error);
    }
    world_run(run->world, 30 * SECOND);
    if (good && (cast.numbered != run->sent_total || cast.disorder ||
                 cast.undelivered)) {
        print_message("seed %llu: sent %llu delivered %llu undelivered %llu "
                      "out of order %u\n",
                      (unsigned long long)seed,
                      (unsigned long long)run->sent_total,
                      (unsigned long long)cast.numbered,
                      (unsigned long long)cast.undelivered, cast.disorder);
        for (uint32_t a = 0; a < NODES * LANES; a++)
            for (uint32_t e = 0; e < CAST_ENTITIES; e++)
                if (run->sent[a][e] != cast.last[a][e])
                    print_message("  sender %u (n%u) to e%u: sent %u last %u\n",
                                  a, a / LANES, e, run->sent[a][e],
                                  cast.last[a][e]);
        collect(run);
        good = false;
    }
    world_free(run->world);
    free(run);
    return good;
}

static void over_seeds(bool disturbed)
{
    const char *one = getenv("MOVE_SEED");
    const char *many = getenv("MOVE_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t last = one ? first : many ? strtoull(many, NULL, 10) : 8;
    uint32_t bad = 0;

    for (uint64_t seed = first; seed <= last; seed++)
        bad += !moves(seed, disturbed);
    assert_int_equal(bad, 0);
}

static void graceful_moves_lose_nothing(void **state)
{
    (void)state;
    over_seeds(false);
}

static void graceful_moves_lose_nothing_while_nodes_pause(void **state)
{
    (void)state;
    over_seeds(true);
}

/* A connection to a departed node may end without a warning. */
static void only_unannounced_ends_are_logged_as_lost_connections(void **state)
{
    struct world *world = cast_world(11, 4, 2);
    struct player players[4];
    uint32_t leaver = 2;
    (void)state;

    for (uint32_t i = 0; i < 4; i++)
        player_spawn(&players[i], world, i, 1);
    for (uint32_t i = 0; i < 40; i++) { /* every node has links to every other */
        char id[8];

        (void)snprintf(id, sizeof id, "l%u", i);
        (void)player_asks(&players[i % 4], "E", id, ECHO);
    }
    world_leave(world, leaver);
    assert_true(world_until(world, world_node_ended, &leaver, 60 * SECOND));
    world_run(world, 5 * SECOND);
    for (uint32_t i = 0; i < 4; i++)
        assert_false(world_logged(world, i, "connection lost"));
    world_crash(world, 3);
    world_run(world, SECOND);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(world_logged(world, i, "connection lost"));
    world_free(world);
}

/* The leaving node has no shards, so its region stops at once, while its messages to a home that
 * also leaves are in flight. */
static void send_ten(struct sherd_ctx *ctx, struct player *player)
{
    struct numbered body = { 0, 0, 0 };

    (void)player;
    for (body.entity = 0; body.entity < 10; body.entity++) {
        char id[8];

        body.number = 1;
        (void)snprintf(id, sizeof id, "s%u", body.entity);
        sherd_entity_tell(ctx, "E", id, NUMBERED,
                          (struct sherd_bytes){ &body, sizeof body });
    }
}

static void a_hand_off_waits_for_messages_of_a_leaving_node(void **state)
{
    struct world *world = cast_new(14);
    struct player player;
    uint32_t home = 0;
    uint32_t leaver = 2;
    (void)state;

    cast_begin();
    for (uint32_t i = 0; i < 3; i++) {
        struct node_settings settings =
            world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.rebalance_interval = 3600 * SECOND; /* shards stay */
        world_start(world, i, &settings);
        assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
        player_spawn(&player, world, i, 0);
        for (uint32_t e = 0; e < 10 && i != leaver; e++) {
            char id[8];

            (void)snprintf(id, sizeof id, "s%u", e);
            assert_int_equal(cast_home(&player, "E", id), home);
        }
    }
    world_run(world, SECOND / 2); /* it knows the homes, without links there */
    net_slow_accept(world, home, SECOND);
    player_do(&player, send_ten);
    world_leave(world, home);
    world_leave(world, leaver);
    assert_true(world_until(world, world_node_ended, &leaver, 60 * SECOND));
    assert_true(world_until(world, world_node_ended, &home, 60 * SECOND));
    world_run(world, SECOND);
    assert_int_equal(cast.undelivered, 0);
    assert_int_equal(cast.numbered, 10);
    assert_int_equal(cast.disorder, 0);
    world_free(world);
}

static void the_leader_is_logged_MEM054(void **state)
{
    struct world *world = cast_world(12, 3, 1);
    uint32_t leaver = 0;
    (void)state;

    for (uint32_t i = 0; i < 3; i++) {
        assert_true(world_logged(world, i, "leader member=n0"));
        assert_false(world_logged(world, i, "leader member=n2"));
    }
    world_leave(world, leaver);
    assert_true(world_until(world, world_node_ended, &leaver, 60 * SECOND));
    world_run(world, 5 * SECOND);
    for (uint32_t i = 1; i < 3; i++)
        assert_true(world_logged(world, i, "leader member=n1"));
    world_free(world);
}

/* A node joins, comes up and leaves; the others keep their log. */
static struct world *logged_world(bool log_info_off, bool log_verbose)
{
    struct world *world = cast_new(12);
    uint32_t leaver = 2;

    for (uint32_t i = 0; i < 3; i++) {
        struct node_settings settings = world_node_settings(world, i, NULL, 0);

        settings.log_info_off = log_info_off;
        settings.log_verbose = log_verbose;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_leave(world, leaver);
    assert_true(world_until(world, world_node_ended, &leaver, 60 * SECOND));
    world_run(world, 5 * SECOND);
    return world;
}

static void log_info_settings_choose_the_level_MEM055_MEM056(void **state)
{
    static const char *const changes[] = { "member member=n2:2551 status=up",
                                           "member member=n2:2551 status=exiting",
                                           "removed member=n2" };
    static const char *const own[] = { "leader member=n0", "self-up member=n" };
    static const char *const acts[] = { "member joins member=n2:2551",
                                        "leader moves member=n2:2551 status=up",
                                        "leader moves member=n2:2551 status=exiting",
                                        "leader removes member=n2:2551 status=exiting confirmed=yes" };
    static const struct {
        bool off, verbose, told, verbosely;
    } rows[] = { { false, false, true, false },
                 { false, true, true, true },
                 { true, false, false, false },
                 { true, true, false, false } };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world *world = logged_world(rows[i].off, rows[i].verbose);

        for (uint32_t node = 0; node < 2; node++) {
            for (size_t k = 0; k < 3; k++)
                assert_int_equal(world_logged(world, node, changes[k]), rows[i].verbosely);
            for (size_t k = 0; k < 2; k++)
                assert_int_equal(world_logged(world, node, own[k]), rows[i].told);
        }
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(world_logged(world, 0, acts[k]), rows[i].told);
        world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graceful_moves_lose_nothing),
        cmocka_unit_test(only_unannounced_ends_are_logged_as_lost_connections),
        cmocka_unit_test(a_hand_off_waits_for_messages_of_a_leaving_node),
        cmocka_unit_test(the_leader_is_logged_MEM054),
        cmocka_unit_test(log_info_settings_choose_the_level_MEM055_MEM056),
        cmocka_unit_test(graceful_moves_lose_nothing_while_nodes_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
