/* Tests a program's questions about regions: answers, bad arguments, a lane that is late, and a node
 * that ends. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <uv.h>

#include <sherd/sherd.h>

#include "base/limits.h"
#include "base/timers.h"
#include "kept_log.h"

#define PATIENCE_MS 60000
#define ENTITIES 40
#define SHARDS 16

enum { WAKE = 1, BLOCK };

static uv_sem_t blocked;
static atomic_bool may_go;

static enum sherd_next receive(struct sherd_ctx *ctx, void *entity,
                               const struct sherd_msg *message)
{
    (void)ctx;
    (void)entity;
    if (message->kind == SHERD_MESSAGE && message->msg == BLOCK) {
        uv_sem_post(&blocked);
        while (!atomic_load(&may_go))
            uv_sleep(1);
    }
    return SHERD_CONTINUE;
}

static struct sherd_system *start_with(const char *config)
{
    const struct sherd_options options = {
        .name = "Regions", .alone = 1, .port = SHERD_PORT_ANY, .lanes = 2, .log = keep_line,
        .config_text = config,
    };
    const struct sherd_entity_type type = {
        .name = "E", .behavior = { .name = "e", .receive = receive }, .shards = SHARDS,
    };
    struct sherd_system *system;

    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    for (int i = 0; i < PATIENCE_MS && !sherd_is_ready(system); i++)
        uv_sleep(1);
    return system;
}

static struct sherd_system *start(void)
{
    return start_with(NULL);
}

static uint64_t entities_of(const struct sherd_regions *regions)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < regions->region_count; i++)
        for (uint32_t k = 0; k < regions->regions[i].shard_count; k++)
            sum += regions->regions[i].shards[k].entity_count;
    return sum;
}

/* Waits until all entities run. */
static void wake_all(struct sherd_system *system)
{
    struct sherd_regions regions;
    uint64_t running = 0;
    char id[16];

    for (int i = 0; i < ENTITIES; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        assert_int_equal(sherd_system_entity_tell(system, "E", id, WAKE, (struct sherd_bytes){ 0 }), 0);
    }
    for (int i = 0; i < PATIENCE_MS && running != ENTITIES; i++) {
        assert_int_equal(sherd_get_region_stats(system, "E", 0, &regions), 0);
        running = entities_of(&regions);
        sherd_regions_free(&regions);
        uv_sleep(1);
    }
    assert_int_equal(running, ENTITIES);
}

static void a_program_gets_the_state_of_its_region(void **state)
{
    struct sherd_system *system = start();
    struct sherd_regions regions;
    char address[32];
    uint32_t named = 0;
    (void)state;

    wake_all(system);
    assert_int_equal(sherd_get_region_state(system, "E", 1000, &regions), 0);
    assert_int_equal(regions.region_count, 1);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)sherd_port(system));
    assert_string_equal(regions.regions[0].address, address);
    for (uint32_t i = 0; i < regions.regions[0].shard_count; i++) {
        const struct sherd_shard *shard = &regions.regions[0].shards[i];

        for (uint64_t k = 0; k < shard->entity_count; k++)
            named += shard->entity_ids[k][0] == 'e';
    }
    assert_int_equal(named, ENTITIES);
    sherd_regions_free(&regions);
    assert_null(regions.memory);

    assert_int_equal(sherd_get_cluster_stats(system, "E", 0, &regions), 0);
    assert_true(regions.has_coordinator);
    assert_int_equal(entities_of(&regions), ENTITIES);
    sherd_regions_free(&regions);
    assert_int_equal(sherd_get_regions(system, "E", 0, &regions), 0);
    assert_int_equal(regions.region_count, 1);
    sherd_regions_free(&regions);
    sherd_close(system);
}

static void bad_questions_are_refused(void **state)
{
    struct sherd_system *system = start();
    struct sherd_regions regions;
    (void)state;

    assert_int_equal(sherd_get_region_state(system, "F", 0, &regions), SHERD_ENOTYPE);
    assert_int_equal(sherd_get_region_state(system, NULL, 0, &regions), SHERD_EINVAL);
    assert_int_equal(sherd_get_region_state(system, "E", QUERY_TIME_MAX / MS + 1, &regions), SHERD_EINVAL);
    assert_int_equal(sherd_get_region_state(NULL, "E", 0, &regions), SHERD_EINVAL);
    assert_int_equal(sherd_get_region_state(system, "E", 0, NULL), SHERD_EINVAL);
    sherd_halt(system);
    (void)sherd_wait(system);
    assert_int_equal(sherd_get_region_state(system, "E", 0, &regions), SHERD_ESTATE);
    sherd_regions_free(&regions);
    sherd_regions_free(NULL);
    sherd_close(system);
}

static void ask_for_state(void *system)
{
    struct sherd_regions regions;
    int result;

    while ((result = sherd_get_region_state(system, "E", PATIENCE_MS, &regions)) == SHERD_EFULL)
        uv_sleep(1);
    assert_int_equal(result, 0);
    sherd_regions_free(&regions);
}

/* A lane stands still, so each call waits. One more is refused. */
static void calls_up_to_the_limit_wait(struct sherd_system *system)
{
    uv_thread_t threads[REGION_CALLS_MAX];
    struct sherd_regions regions;
    int result = 0;

    for (int i = 0; i < REGION_CALLS_MAX; i++)
        assert_int_equal(uv_thread_create(&threads[i], ask_for_state, system), 0);
    for (int i = 0; i < PATIENCE_MS && result != SHERD_EFULL; i++) {
        result = sherd_get_region_state(system, "E", 1, &regions);
        sherd_regions_free(&regions);
    }
    assert_int_equal(result, SHERD_EFULL);
    atomic_store(&may_go, true);
    for (int i = 0; i < REGION_CALLS_MAX; i++)
        assert_int_equal(uv_thread_join(&threads[i]), 0);
}

/* One lane stands still in a handler: its shards are named as failed, the others are told. */
static void shards_of_a_late_lane_are_failed_SHD140_SHD225_SHD226_SHD228(
    void **state)
{
    struct sherd_system *system = start();
    struct sherd_regions regions;
    const struct sherd_region *region;
    (void)state;

    wake_all(system);
    assert_int_equal(sherd_system_entity_tell(system, "E", "e0", BLOCK, (struct sherd_bytes){ 0 }), 0);
    uv_sem_wait(&blocked);
    assert_int_equal(sherd_get_region_state(system, "E", 200, &regions), 0);
    region = &regions.regions[0];
    assert_true(region->failed_count > 0 && region->shard_count > 0);
    assert_int_equal(region->failed_count + region->shard_count, SHARDS);
    sherd_regions_free(&regions);
    calls_up_to_the_limit_wait(system);
    assert_int_equal(sherd_get_region_state(system, "E", 0, &regions), 0);
    assert_int_equal(regions.regions[0].failed_count, 0);
    sherd_regions_free(&regions);
    sherd_close(system);
}

/* The coordinator waits longer by default than the region, so the region's other shards are counted. */
static void the_cluster_counts_name_shards_of_a_late_lane_as_failed(void **state)
{
    struct sherd_system *system = start_with("akka.cluster.sharding.shard-region-query-timeout = 200 ms");
    struct sherd_regions regions;
    (void)state;

    atomic_store(&may_go, false);
    wake_all(system);
    assert_int_equal(sherd_system_entity_tell(system, "E", "e0", BLOCK, (struct sherd_bytes){ 0 }), 0);
    uv_sem_wait(&blocked);
    assert_int_equal(sherd_get_cluster_stats(system, "E", 0, &regions), 0);
    assert_int_equal(regions.region_count, 1);
    assert_true(regions.regions[0].failed_count > 0 && regions.regions[0].shard_count > 0);
    assert_int_equal(regions.regions[0].failed_count + regions.regions[0].shard_count, SHARDS);
    sherd_regions_free(&regions);
    atomic_store(&may_go, true);
    sherd_close(system);
}

/* Both lanes stand still, so no shard is told. */
static void all_shards_of_late_lanes_are_failed_SHD142(void **state)
{
    struct sherd_system *system = start();
    struct sherd_regions regions;
    char id[16];
    (void)state;

    atomic_store(&may_go, false);
    wake_all(system);
    for (int i = 0; i < ENTITIES; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        assert_int_equal(sherd_system_entity_tell(system, "E", id, BLOCK, (struct sherd_bytes){ 0 }), 0);
    }
    for (int lane = 0; lane < 2; lane++)
        uv_sem_wait(&blocked);
    assert_int_equal(sherd_get_region_state(system, "E", 200, &regions), 0);
    assert_int_equal(regions.regions[0].shard_count, 0);
    assert_int_equal(regions.regions[0].failed_count, SHARDS);
    sherd_regions_free(&regions);
    atomic_store(&may_go, true);
    sherd_close(system);
    while (!uv_sem_trywait(&blocked)) /* by the others, later */
        continue;
}

/* ---- types of a node that runs ---- */

static void tell_late(struct sherd_system *system, const char *type)
{
    struct sherd_regions regions;
    uint64_t running = 0;

    assert_int_equal(sherd_system_entity_tell(system, type, "a", WAKE, (struct sherd_bytes){ 0 }), 0);
    for (int i = 0; i < PATIENCE_MS && !running; i++) {
        assert_int_equal(sherd_get_region_stats(system, type, 0, &regions), 0);
        running = entities_of(&regions);
        sherd_regions_free(&regions);
        uv_sleep(1);
    }
    assert_int_equal(running, 1);
}

struct registering {
    struct sherd_system *system;
    int number;
};

static void register_late(void *argument)
{
    const struct registering *registering = argument;
    char name[16];
    struct sherd_entity_type type = { .name = name, .behavior = { .name = "late", .receive = receive } };

    (void)snprintf(name, sizeof name, "Late%d", registering->number);
    assert_int_equal(sherd_entity_register(registering->system, &type), 0);
    tell_late(registering->system, name);
}

static void threads_register_types_while_the_node_runs(void **state)
{
    struct sherd_system *system = start();
    const struct sherd_entity_type again = { .name = "Late0", .behavior = { .name = "late", .receive = receive } };
    struct registering registering[8];
    uv_thread_t threads[8];
    (void)state;

    assert_int_equal(sherd_system_entity_tell(system, "Late0", "a", WAKE, (struct sherd_bytes){ 0 }), SHERD_ENOTYPE);
    for (int i = 0; i < 8; i++) {
        registering[i] = (struct registering){ system, i };
        assert_int_equal(uv_thread_create(&threads[i], register_late, &registering[i]), 0);
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(uv_thread_join(&threads[i]), 0);
    assert_int_equal(sherd_entity_register(system, &again), SHERD_EEXIST);
    sherd_halt(system);
    (void)sherd_wait(system);
    assert_int_equal(sherd_entity_register(system, &again), SHERD_ESTATE);
    sherd_close(system);
}

static void apply(void *entity, uint32_t type, struct sherd_bytes event)
{
    (void)entity;
    (void)type;
    (void)event;
}

static void the_first_persistent_type_must_come_before_the_start(void **state)
{
    struct sherd_system *system = start();
    const struct sherd_entity_type type = {
        .name = "P", .behavior = { .name = "p", .receive = receive, .apply = apply },
    };
    (void)state;

    assert_int_equal(sherd_entity_register(system, &type), SHERD_ESTATE);
    assert_true(was_logged("cannot be registered on a node that runs"));
    sherd_close(system);
}

static _Atomic int shut_down; /* 1 + the result's absolute value */

static void region_is_down(void *user, int result)
{
    (void)user;
    atomic_store(&shut_down, 1 - result);
}

static void a_region_that_is_shut_down_tells_its_caller(void **state)
{
    struct sherd_system *system = start();
    (void)state;

    wake_all(system);
    assert_int_equal(sherd_region_shutdown(system, "F", region_is_down, NULL), SHERD_ENOTYPE);
    assert_int_equal(sherd_region_shutdown(system, "E", NULL, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_region_shutdown(system, "E", region_is_down, NULL), 0);
    for (int i = 0; i < PATIENCE_MS && !atomic_load(&shut_down); i++)
        uv_sleep(1);
    assert_int_equal(atomic_load(&shut_down), 1);
    sherd_close(system);
}

/* More calls than fit wait for a region that cannot stop: its lane stands still. Each is told. */
static void calls_about_a_region_end_with_the_node(void **state)
{
    struct sherd_system *system = start();
    int result = 0;
    (void)state;

    atomic_store(&may_go, false);
    wake_all(system);
    assert_int_equal(sherd_system_entity_tell(system, "E", "e0", BLOCK, (struct sherd_bytes){ 0 }), 0);
    uv_sem_wait(&blocked);
    for (int i = 0; i < TYPE_CALLS_MAX; i++)
        assert_int_equal(sherd_region_shutdown(system, "E", region_is_down, NULL), 0);
    result = sherd_region_shutdown(system, "E", region_is_down, NULL);
    assert_int_equal(result, SHERD_EFULL);
    atomic_store(&shut_down, 0);
    sherd_halt(system);
    atomic_store(&may_go, true);
    sherd_close(system);
    assert_int_equal(atomic_load(&shut_down), 1 - SHERD_ESTATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_gets_the_state_of_its_region),
        cmocka_unit_test(bad_questions_are_refused),
        cmocka_unit_test(
            shards_of_a_late_lane_are_failed_SHD140_SHD225_SHD226_SHD228),
        cmocka_unit_test(the_cluster_counts_name_shards_of_a_late_lane_as_failed),
        cmocka_unit_test(all_shards_of_late_lanes_are_failed_SHD142),
        cmocka_unit_test(threads_register_types_while_the_node_runs),
        cmocka_unit_test(the_first_persistent_type_must_come_before_the_start),
        cmocka_unit_test(a_region_that_is_shut_down_tells_its_caller),
        cmocka_unit_test(calls_about_a_region_end_with_the_node),
    };

    if (uv_mutex_init(&log_mutex) || uv_sem_init(&blocked, 0))
        return 1;
    return cmocka_run_group_tests_name("regions", tests, NULL, NULL);
}
