/* Tests allocation over real sockets and threads: a rolling update by cluster.app-version, later
 * answers of a thread, locations that an actor sets, and refused strategies. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sherd/sherd.h>
#include <uv.h>

#include "kept_log.h"

#define SYSTEMS 4
#define SHARDS 20
#define WAIT_MS 60000

static struct sherd_system *systems[SYSTEMS];

/* ---- entities ---- */

static enum sherd_next home_receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    uint64_t node = sherd_self(ctx).node;
    (void)self;

    if (msg->kind == SHERD_MESSAGE)
        sherd_reply(ctx, 1, (struct sherd_bytes){ &node, sizeof node });
    return SHERD_CONTINUE;
}

/* Asks an entity where it is; knows its own node's uid. */
struct asker {
    char id[16];
    _Atomic uint64_t *home;
    _Atomic uint64_t *self;
};

static enum sherd_next asker_receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct asker *asker = self;
    uint64_t home;

    switch ((int)msg->kind) {
    case SHERD_STARTED:
        memcpy(asker, msg->body.data, sizeof *asker);
        atomic_store(asker->self, sherd_self(ctx).node);
        if (*asker->id) {
            sherd_entity_ask(ctx, "Home", asker->id, 1, (struct sherd_bytes){ NULL, 0 }, 1, WAIT_MS);
            return SHERD_CONTINUE;
        }
        return SHERD_STOP;
    case SHERD_ANSWER:
        memcpy(&home, msg->body.data, sizeof home);
        atomic_store(asker->home, home);
        return SHERD_STOP;
    default:
        return SHERD_STOP;
    }
}

static void await(_Atomic uint64_t *value)
{
    for (int i = 0; i < WAIT_MS && !atomic_load(value); i++)
        uv_sleep(1);
    assert_true(atomic_load(value) != 0);
}

/* Returns the node of an entity, asked for through a system; id "": that system's own. */
static uint64_t home_of(int system, const char *id)
{
    static const struct sherd_behavior behavior = { .name = "asker",
                                                    .state_size = sizeof(struct asker),
                                                    .receive = asker_receive };
    static _Atomic uint64_t home, self;
    struct asker asker = { .home = &home, .self = &self };

    snprintf(asker.id, sizeof asker.id, "%s", id);
    atomic_store(&home, 0);
    atomic_store(&self, 0);
    assert_int_equal(sherd_system_spawn(systems[system], &behavior,
                                        (struct sherd_bytes){ &asker, sizeof asker }, NULL),
                     0);
    await(*id ? &home : &self);
    return *id ? atomic_load(&home) : atomic_load(&self);
}

/* ---- systems ---- */

static const struct sherd_entity_type home_type = {
    .name = "Home", .behavior = { .name = "home", .receive = home_receive }, .shards = SHARDS
};

static int is_ready(int system)
{
    return sherd_is_ready(systems[system]);
}

static void start(int index, const char *config, const struct sherd_entity_type *type)
{
    char seed[32];
    const char *seeds[] = { seed, NULL };
    struct sherd_options options = { .port = SHERD_PORT_ANY,
                                     .lanes = 2,
                                     .alone = index == 0,
                                     .config_text = config,
                                     .log = keep_line };

    if (index) {
        snprintf(seed, sizeof seed, "127.0.0.1:%u", sherd_port(systems[0]));
        options.seed_nodes = seeds;
    }
    assert_int_equal(sherd_open(&systems[index], &options), 0);
    assert_int_equal(sherd_entity_register(systems[index], type), 0);
    assert_int_equal(sherd_start(systems[index]), 0);
    for (int i = 0; i < WAIT_MS && !is_ready(index); i++)
        uv_sleep(1);
    assert_true(is_ready(index));
}

static void close_all(void)
{
    for (int i = 0; i < SYSTEMS; i++) {
        sherd_close(systems[i]);
        systems[i] = NULL;
    }
}

static uint32_t shards_on(int index)
{
    struct sherd_status status;
    uint32_t count;

    assert_int_equal(sherd_get_status(systems[index], &status), 0);
    count = status.types[0].shards_here;
    sherd_status_free(&status);
    return count;
}

/* Waits until the coordinator has a region of each system: the log of its registrations tells. */
static void registered(int regions)
{
    for (int i = 0; i < WAIT_MS; i++) {
        int seen = 0;

        for (int j = 0; j < SYSTEMS && systems[j]; j++) {
            char text[96];

            snprintf(text, sizeof text, "\"region registered\" type=Home region=akka://ClusterSystem@127.0.0.1:%u/",
                     sherd_port(systems[j]));
            seen += was_logged(text);
        }
        if (seen == regions)
            return;
        uv_sleep(1);
    }
    fail_msg("not all of %d regions are registered", regions);
}

/* ---- tests ---- */

/* From the setting to the home of a new shard, and to moves that wait. */
static void new_shards_go_to_the_newest_app_version(void **state)
{
    static const char old[] = "akka.cluster.app-version = 1.0.0\n"
                              "akka.cluster.sharding.rebalance-interval = 200ms\n"
                              "akka.cluster.sharding.least-shard-allocation-strategy.rebalance-absolute-limit = 20\n";
    static const char new[] = "akka.cluster.app-version = 1.0.1\n"
                              "akka.cluster.sharding.rebalance-interval = 200ms\n";
    uint64_t self;
    (void)state;

    start(0, old, &home_type);
    registered(1);
    for (int i = 0; i < 8; i++) {
        char id[16];

        snprintf(id, sizeof id, "old%d", i);
        (void)home_of(0, id);
    }
    start(1, new, &home_type);
    registered(2);
    uv_sleep(1000); /* rebalances, if they did not wait for one version */
    assert_int_equal(shards_on(1), 0);
    self = home_of(1, "");
    for (int32_t shard = 0, i = 0; i < 200; i++) {
        char id[16];

        snprintf(id, sizeof id, "new%d", i);
        if (home_of(0, id) == self)
            shard++;
        if (i == 199)
            assert_true(shard > 100); /* all shards but those of the first ids */
    }
    assert_true(shards_on(1) > shards_on(0));
    close_all();
}

static struct {
    _Atomic uint64_t open; /* a request that waits */
    _Atomic int sleeps_ms;
    char address[32]; /* of the second region; written before `open` */
} program;

static int choose_later(void *user, const struct sherd_allocation_request *request)
{
    (void)user;
    uv_sleep((unsigned)atomic_load(&program.sleeps_ms));
    for (uint32_t i = 0; i < request->region_count; i++)
        if (!request->regions[i].member.self)
            snprintf(program.address, sizeof program.address, "%s", request->regions[i].member.address);
    atomic_store(&program.open, request->number);
    return SHERD_ALLOCATION_LATER;
}

/* The program's thread is the test's. */
static void a_thread_answers_a_strategys_request(void **state)
{
    static const struct sherd_allocation_strategy strategy = { .allocate = choose_later,
                                                               .timeout_ms = WAIT_MS };
    struct sherd_allocation_choice choice = { 0 };
    struct sherd_entity_type type = home_type;
    uint64_t second;
    (void)state;

    forget_log();
    type.strategy = &strategy;
    start(0, NULL, &type);
    start(1, NULL, &type);
    registered(2);
    second = home_of(1, "");
    atomic_store(&program.sleeps_ms, 150);
    assert_int_equal(sherd_system_entity_tell(systems[0], "Home", "a", 1, (struct sherd_bytes){ NULL, 0 }), 0);
    await(&program.open);
    choice.request = atomic_load(&program.open);
    choice.address = "nonsense";
    assert_int_equal(sherd_system_allocation_answer(systems[0], &choice), SHERD_EINVAL);
    choice.address = program.address;
    assert_int_equal(sherd_system_allocation_answer(systems[0], &choice), 0);
    assert_true(home_of(0, "a") == second);
    assert_true(was_logged("\"allocation strategy took long\" type=Home function=allocate ms=1"));
    close_all();
    atomic_store(&program.open, 0);
}

static enum sherd_next locator_receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    static _Atomic uint64_t *done;
    static char address[32];
    struct sherd_shard_location location = { .shard = sherd_shard_of("a", SHARDS),
                                             .address = address };
    (void)self;

    if (msg->kind == SHERD_STARTED) {
        memcpy(&done, msg->body.data, sizeof done);
        snprintf(address, sizeof address, "127.0.0.1:%u", sherd_port(systems[1]));
        if (sherd_locations_set(ctx, "Home", &location, 1, 1))
            return SHERD_FAIL;
    }
    if (msg->kind == SHERD_DATA)
        atomic_store(done, msg->msg);
    return SHERD_CONTINUE;
}

static void a_configured_strategy_honours_locations(void **state)
{
    static const char config[] = "akka.cluster.sharding.allocation-strategy = external\n"
                                 "akka.cluster.sharding.rebalance-interval = 200ms\n";
    static const struct sherd_behavior locator = { .name = "locator", .receive = locator_receive };
    static _Atomic uint64_t done;
    static _Atomic uint64_t *const pointer = &done;
    uint64_t first, second;
    (void)state;

    forget_log();
    start(0, config, &home_type);
    start(1, config, &home_type);
    registered(2);
    first = home_of(0, "");
    second = home_of(1, "");
    assert_true(home_of(0, "a") == first);
    assert_int_equal(sherd_system_spawn(systems[0], &locator,
                                        (struct sherd_bytes){ &pointer, sizeof pointer }, NULL),
                     0);
    await(&done);
    assert_int_equal(atomic_load(&done), SHERD_DATA_UPDATED);
    for (int i = 0; i < 100 && home_of(0, "a") != second; i++)
        uv_sleep(100);
    assert_true(home_of(0, "a") == second);
    close_all();
}

static void an_unknown_strategy_is_refused_with_the_nearest(void **state)
{
    struct sherd_options options = { .port = SHERD_PORT_ANY, .alone = 1, .log = keep_line };
    struct sherd_entity_type type = home_type;
    (void)state;

    forget_log();
    assert_int_equal(sherd_open(&systems[0], &options), 0);
    type.allocation = "extrenal";
    assert_int_equal(sherd_entity_register(systems[0], &type), SHERD_EINVAL);
    assert_true(was_logged("\"an entity type is not valid\" type=Home why=\"the allocation strategy is unknown\" "
                           "allocation=extrenal hint=\"did you mean external?\""));
    type.allocation = "custom";
    assert_int_equal(sherd_entity_register(systems[0], &type), SHERD_EINVAL);
    assert_true(was_logged("no function allocate"));
    close_all();
}

static void answers_need_a_running_system(void **state)
{
    struct sherd_allocation_choice choice = { .request = 1 };
    struct sherd_options options = { .port = SHERD_PORT_ANY, .alone = 1, .log = keep_line };
    (void)state;

    assert_int_equal(sherd_open(&systems[0], &options), 0);
    assert_int_equal(sherd_system_allocation_answer(systems[0], &choice), SHERD_ESTATE);
    assert_int_equal(sherd_start(systems[0]), 0);
    assert_int_equal(sherd_system_allocation_answer(systems[0], &choice), 0); /* no such request */
    choice.shard_count = 10001;
    assert_int_equal(sherd_system_allocation_answer(systems[0], &choice), SHERD_EINVAL);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_shards_go_to_the_newest_app_version),
        cmocka_unit_test(a_thread_answers_a_strategys_request),
        cmocka_unit_test(a_configured_strategy_honours_locations),
        cmocka_unit_test(an_unknown_strategy_is_refused_with_the_nearest),
        cmocka_unit_test(answers_need_a_running_system),
    };

    uv_mutex_init(&log_mutex);
    return cmocka_run_group_tests_name("host_allocation", tests, NULL, NULL);
}
