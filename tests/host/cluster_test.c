/* Tests a cluster of three systems of one process over real sockets. Entities count while all
 * systems feed them and while one leaves; bursts of large messages do not delay heartbeats. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sherd/sherd.h>
#include <uv.h>

#include "kept_log.h"

#define SYSTEMS 3
#define ENTITIES 40u
#define ASKS 1000u /* of each feeder */

#define LARGE 180000 /* bytes of a body; a burst waits for answers */
#define REST_MS 50 /* between bursts */
#define BURSTS_MS 7000 /* longer than the failure detector's pause */

enum { ADD = 1, GET, VALUE, LOAD };

static _Atomic uint32_t answered, unanswered, sum, fed;
static _Atomic bool bursting;
static char large[LARGE];

struct count {
    uint32_t value;
};

static void count_apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct count *count = self;

    (void)type;
    (void)event;
    count->value++;
}

static enum sherd_next count_receive(struct sherd_ctx *ctx, void *self,
                                     const struct sherd_msg *msg)
{
    struct count *count = self;
    struct sherd_bytes value = { &count->value, sizeof count->value };

    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == LOAD && msg->body.size != LARGE)
        return SHERD_FAIL; /* no answer: the test fails */
    if (msg->msg == ADD)
        sherd_persist(ctx, 1, (struct sherd_bytes){ "+", 1 });
    sherd_reply(ctx, VALUE, value);
    return SHERD_CONTINUE;
}

struct feeder {
    uint32_t sent;
    uint32_t ended;
    uint32_t what; /* ADD, GET or LOAD */
    uint32_t count;
    bool resting; /* LOAD: a timer runs */
};

/* After a pause. */
static bool next_burst(struct sherd_ctx *ctx, struct feeder *feeder)
{
    if (feeder->sent > feeder->ended)
        return false;
    feeder->resting = !feeder->resting;
    if (feeder->resting) {
        feeder->count = feeder->sent + 1;
        sherd_timer(ctx, 1, REST_MS);
        return false;
    }
    feeder->count = atomic_load(&bursting) ? feeder->sent + 20 : feeder->sent;
    return true;
}

static void feed(struct sherd_ctx *ctx, struct feeder *feeder)
{
    struct sherd_bytes body = { large, feeder->what == LOAD ? LARGE : 0 };
    char id[16];

    if (feeder->what == LOAD && !next_burst(ctx, feeder))
        return;
    while (feeder->sent < feeder->count && feeder->sent < feeder->ended + 20) {
        (void)snprintf(id, sizeof id, "e%u",
                       (unsigned)(feeder->sent++ % ENTITIES));
        sherd_entity_ask(ctx, "Count", id, feeder->what,
                         body, 0, 30000);
    }
}

static enum sherd_next feeder_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct feeder *feeder = self;
    uint32_t value;

    switch ((int)msg->kind) {
    case SHERD_STARTED:
        memcpy(&feeder->what, msg->body.data, sizeof feeder->what);
        feeder->count = feeder->what == ADD ? ASKS : ENTITIES; /* LOAD: see feed */
        break;
    case SHERD_ANSWER:
        if (feeder->what == GET) {
            memcpy(&value, msg->body.data, sizeof value);
            atomic_fetch_add(&sum, value);
        }
        atomic_fetch_add(&answered, 1);
        feeder->ended++;
        break;
    case SHERD_NO_ANSWER:
        (void)fprintf(stderr, "no answer: %s, %s\n",
                      sherd_reason_text(msg->reason),
                      sherd_stage_text(msg->stage));
        atomic_fetch_add(&unanswered, 1);
        feeder->ended++;
        break;
    default:
        break;
    }
    feed(ctx, feeder);
    if (feeder->ended < feeder->count)
        return SHERD_CONTINUE;
    atomic_fetch_add(&fed, 1);
    return SHERD_STOP;
}

static const struct sherd_behavior feeder_behavior = {
    .name = "feeder",
    .state_size = sizeof(struct feeder),
    .receive = feeder_receive
};

/* pause: of the failure detector. */
static struct sherd_system *start_one(uint16_t seed, const char *pause)
{
    const struct sherd_entity_type type = {
        .name = "Count",
        .behavior = { .name = "count",
                      .state_size = sizeof(struct count),
                      .receive = count_receive,
                      .apply = count_apply }
    };
    char config[400];
    char address[32];
    const char *seeds[] = { address, NULL };
    struct sherd_options options = {
        .name = "Trio",
        .port = SHERD_PORT_ANY,
        .journal = "memory", /* common to all systems of the process */
        .lanes = 2,
        .log_level = SHERD_LOG_WARNING,
        .config_text = config
    };
    struct sherd_system *system;

    (void)snprintf(config, sizeof config,
                   "akka.cluster { gossip-interval = 100 ms\n"
                   "leader-actions-interval = 100 ms\n"
                   "periodic-tasks-initial-delay = 100 ms\n"
                   "failure-detector.acceptable-heartbeat-pause = %s\n"
                   "sharding.number-of-shards = 20 }",
                   pause);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)seed);
    if (seed)
        options.seed_nodes = seeds;
    else
        options.alone = 1;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    return system;
}

static void a_persistent_type_needs_a_journal(void **state)
{
    struct sherd_entity_type type = { .name = "Count",
                                      .behavior = { .name = "count",
                                                    .receive = count_receive,
                                                    .apply = count_apply } };
    struct sherd_options options = { .port = SHERD_PORT_ANY, .alone = 1, .log = keep_line };
    struct sherd_system *system;

    (void)state;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), SHERD_EINVAL);
    assert_true(was_logged("options.journal"));
    type.behavior.apply = NULL;
    assert_int_equal(sherd_entity_register(system, &type), 0);
    sherd_close(system);
}

static uint32_t members_up(struct sherd_system *system)
{
    struct sherd_status status;
    uint32_t up = 0;

    assert_int_equal(sherd_get_status(system, &status), 0);
    for (uint32_t i = 0; i < status.member_count; i++)
        up += status.members[i].status == SHERD_UP;
    sherd_status_free(&status);
    return up;
}

static void wait_for_members(struct sherd_system **systems, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (int j = 0; j < 3000 && members_up(systems[i]) != count; j++)
            uv_sleep(10);
        assert_int_equal(members_up(systems[i]), count);
    }
}

static void start_feeders(struct sherd_system **systems, uint32_t count,
                          uint32_t what)
{
    atomic_store(&answered, 0);
    atomic_store(&fed, 0);
    atomic_store(&sum, 0);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(
            sherd_system_spawn(systems[i], &feeder_behavior,
                               (struct sherd_bytes){ &what, sizeof what }, NULL),
            0);
}

static void wait_for_feeders(uint32_t count)
{
    for (int j = 0; j < 6000 && atomic_load(&fed) != count; j++)
        uv_sleep(10);
    assert_int_equal(atomic_load(&fed), count);
    assert_int_equal(atomic_load(&unanswered), 0);
}

static void start_all(struct sherd_system **systems, const char *pause)
{
    systems[0] = start_one(0, pause);
    for (uint32_t i = 1; i < SYSTEMS; i++)
        systems[i] = start_one(sherd_port(systems[0]), pause);
    wait_for_members(systems, SYSTEMS);
}

static void three_systems_count_together(void **state)
{
    struct sherd_system *systems[SYSTEMS];

    (void)state;
    start_all(systems, "20 s");
    start_feeders(systems, SYSTEMS, ADD);
    wait_for_feeders(SYSTEMS);
    start_feeders(systems, 1, GET);
    wait_for_feeders(1);
    assert_int_equal(atomic_load(&sum), SYSTEMS * ASKS);

    start_feeders(systems, SYSTEMS - 1, ADD);
    sherd_leave(systems[SYSTEMS - 1]);
    assert_int_equal(sherd_wait(systems[SYSTEMS - 1]), 0);
    sherd_close(systems[SYSTEMS - 1]);
    wait_for_feeders(SYSTEMS - 1);
    start_feeders(systems, 1, GET);
    wait_for_feeders(1);
    assert_int_equal(atomic_load(&sum), (2 * SYSTEMS - 1) * ASKS);
    for (uint32_t i = 0; i < SYSTEMS - 1; i++)
        sherd_close(systems[i]);
}

static void all_reachable(struct sherd_system *system)
{
    struct sherd_status status;

    assert_int_equal(sherd_get_status(system, &status), 0);
    assert_int_equal(status.member_count, SYSTEMS);
    for (uint32_t i = 0; i < SYSTEMS; i++)
        assert_true(status.members[i].reachable);
    sherd_status_free(&status);
}

/* Akka's LargeMessageClusterSpec: control messages do not wait for a burst. */
static void bursts_do_not_delay_heartbeats_MEM288_MEM289(void **state)
{
    struct sherd_system *systems[SYSTEMS];

    (void)state;
    start_all(systems, "4 s");
    atomic_store(&bursting, true);
    start_feeders(systems, SYSTEMS, LOAD);
    for (int ms = 0; ms < BURSTS_MS; ms += 50) {
        uv_sleep(50);
        for (uint32_t i = 0; i < SYSTEMS; i++)
            all_reachable(systems[i]);
    }
    atomic_store(&bursting, false);
    wait_for_feeders(SYSTEMS);
    assert_true(atomic_load(&answered) > SYSTEMS * 100);
    print_message("%u large messages\n", (unsigned)atomic_load(&answered));
    for (uint32_t i = 0; i < SYSTEMS; i++)
        all_reachable(systems[i]);
    for (uint32_t i = 0; i < SYSTEMS; i++)
        sherd_close(systems[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_persistent_type_needs_a_journal),
        cmocka_unit_test(three_systems_count_together),
        cmocka_unit_test(bursts_do_not_delay_heartbeats_MEM288_MEM289),
    };

    assert_int_equal(uv_mutex_init(&log_mutex), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
