/* Tests queries about regions on whole nodes: of a program, and of other nodes by message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "cast.h"

#define SHARDS 12
#define ENTITIES 60

static struct world *begin(uint32_t nodes)
{
    struct world *world = cast_new(11);

    cast_begin();
    for (uint32_t i = 0; i < nodes; i++) {
        struct node_settings settings = world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.lanes = 2;
        settings.number_of_shards = SHARDS;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    return world;
}

static struct world *begin_spread(uint32_t nodes)
{
    struct world *world = begin(nodes);

    cast_wake(world, "E", ENTITIES);
    world_run(world, 60 * SECOND); /* spread */
    cast_wake(world, "E", ENTITIES);
    return world;
}

struct awaited {
    uint32_t node;
    const struct query_part *former;
};

static bool is_answered(struct world *world, void *arg)
{
    const struct awaited *awaited = arg;
    const struct query_part *part = world_node(world, awaited->node)->answer;

    return part && part != awaited->former;
}

static const struct sherd_regions *ask(struct world *world, uint32_t node, const char *type,
                                       enum node_query query, int result)
{
    struct awaited awaited = { node, world_node(world, node)->answer };
    const struct query_part *part;

    world_query(world, node, type, query, 0);
    assert_true(world_until(world, is_answered, &awaited, 10 * SECOND));
    part = world_node(world, node)->answer;
    assert_int_equal(part->result, result);
    return &part->regions;
}

static uint64_t entities_of(const struct sherd_region *region)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < region->shard_count; i++)
        sum += region->shards[i].entity_count;
    return sum;
}

static void a_region_names_its_shards_and_their_entities_SHT033(void **state)
{
    struct world *world = begin_spread(2);
    const struct sherd_regions *regions = ask(world, 1, "E", NODE_REGION_STATE, 0);
    const struct sherd_region *region = regions->regions;
    struct player player;
    (void)state;

    player_spawn(&player, world, 0, 0);
    assert_int_equal(regions->region_count, 1);
    assert_string_equal(region->address, "n1:2551");
    assert_int_equal(region->shard_count, SHARDS / 2);
    assert_int_equal(region->failed_count, 0);
    for (uint32_t i = 0; i < region->shard_count; i++) {
        assert_true(region->shards[i].entity_count > 0);
        for (uint32_t j = 0; j < region->shards[i].entity_count; j++)
            assert_int_equal(cast_home(&player, "E", region->shards[i].entity_ids[j]), 1);
    }
    world_free(world);
}

static void a_type_without_entities_has_an_empty_state_SHT033_SHT034_SHD139(
    void **state)
{
    struct world *world = begin(1);
    const struct sherd_regions *regions = ask(world, 0, "E", NODE_REGION_STATE, 0);
    (void)state;

    assert_int_equal(regions->region_count, 1);
    assert_int_equal(regions->regions[0].shard_count, 0);
    assert_int_equal(regions->regions[0].failed_count, 0);
    world_run(world, SECOND);
    regions = ask(world, 0, "E", NODE_CLUSTER_STATS, 0);
    assert_int_equal(regions->region_count, 1);
    assert_int_equal(regions->regions[0].shard_count, 0);
    assert_int_equal(regions->regions[0].failed_count, 0);
    world_free(world);
}

/* ---- queries of a node that hosts no shards ---- */

#define HOSTS 3 /* after the node that only sends */

static void start_sender_or_host(struct world *world, uint32_t node)
{
    static const char *const roles[] = { "host" };
    struct node_settings settings = world_node_settings(world, node, cast_types, CAST_TYPES);

    settings.number_of_shards = SHARDS;
    settings.roles = roles;
    settings.role_count = node > 0;
    world_start(world, node, &settings);
}

/* The state of a region names the entities r0.. that live there. Returns how many. */
static uint32_t named_by(struct world *world, uint32_t node, bool seen[4])
{
    const struct sherd_region *region = ask(world, node, "R", NODE_REGION_STATE, 0)->regions;
    uint32_t count = 0;

    assert_int_equal(region->failed_count, 0);
    for (uint32_t i = 0; i < region->shard_count; i++)
        for (uint64_t k = 0; k < region->shards[i].entity_count; k++, count++)
            seen[region->shards[i].entity_ids[k][1] - '0'] = true;
    return count;
}

static void check_stats_from_the_sender(struct world *world, uint64_t entities)
{
    const struct sherd_regions *regions = ask(world, 0, "R", NODE_CLUSTER_STATS, 0);
    bool seen[HOSTS] = { false };
    uint64_t sum = 0;
    unsigned host;

    assert_int_equal(regions->region_count, HOSTS);
    for (uint32_t i = 0; i < HOSTS; i++) {
        assert_int_equal(sscanf(regions->regions[i].address, "n%u:2551", &host), 1);
        assert_in_range(host, 1, HOSTS);
        assert_false(seen[host - 1]);
        seen[host - 1] = true;
        assert_int_equal(regions->regions[i].failed_count, 0);
        if (!entities)
            assert_int_equal(regions->regions[i].shard_count, 0);
        sum += entities_of(&regions->regions[i]);
    }
    assert_int_equal(sum, entities);
}

static void a_sender_sees_the_regions_of_hosts_SHD206_SHD207_SHD208_SHD209_SHD210_SHD211_SHD212(void **state)
{
    struct world *world = cast_new(14);
    bool seen[4] = { false };
    struct player player;
    char id[4];
    uint32_t named = 0;
    (void)state;

    cast_begin();
    start_sender_or_host(world, 0);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    assert_int_equal(ask(world, 0, "R", NODE_REGIONS, 0)->region_count, 0);
    for (uint32_t i = 1; i <= HOSTS; i++)
        start_sender_or_host(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 10 * SECOND);
    check_stats_from_the_sender(world, 0);
    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < 4; i++) {
        (void)snprintf(id, sizeof id, "r%u", i);
        (void)player_asks(&player, "R", id, ECHO);
    }
    check_stats_from_the_sender(world, 4);
    for (uint32_t i = 1; i <= HOSTS; i++)
        named += named_by(world, i, seen);
    assert_int_equal(named, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(seen[i]);
    world_free(world);
}

static void the_cluster_counts_the_entities_of_all_regions_SHD213_SHT035_SHT077_SHT076(
    void **state)
{
    struct world *world = begin_spread(3);
    uint64_t sum = 0;
    (void)state;

    for (uint32_t node = 0; node < 3; node++) {
        const struct sherd_regions *regions = ask(world, node, "E", NODE_CLUSTER_STATS, 0);

        sum = 0;
        assert_true(regions->has_coordinator);
        assert_int_equal(regions->region_count, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(regions->regions[i].shard_count, SHARDS / 3);
            assert_null(regions->regions[i].shards[0].entity_ids);
            sum += entities_of(&regions->regions[i]);
        }
        assert_int_equal(sum, ENTITIES);
    }
    world_free(world);
}

static void regions_are_listed_from_any_node(void **state)
{
    struct world *world = begin_spread(3);
    (void)state;

    for (uint32_t node = 0; node < 3; node++) {
        const struct sherd_regions *regions = ask(world, node, "E", NODE_REGIONS, 0);

        assert_int_equal(regions->region_count, 3);
        assert_int_equal(regions->regions[0].shard_count, 0);
    }
    world_free(world);
}

/* A node that stands still does not answer the coordinator. */
static void a_region_that_is_late_makes_the_count_fail(void **state)
{
    struct world *world = begin_spread(3);
    uint64_t before;
    (void)state;

    world_pause(world, 2, true);
    before = world_now(world);
    (void)ask(world, 1, "E", NODE_CLUSTER_STATS, SHERD_ETIME);
    assert_in_range(world_now(world) - before, 5 * SECOND, 6 * SECOND);
    world_free(world);
}

static void a_node_without_coordinator_answers_with_nothing(void **state)
{
    struct world *world = cast_new(11);
    struct node_settings settings = world_node_settings(world, 1, cast_types, CAST_TYPES);
    const struct sherd_regions *regions;
    (void)state;

    cast_begin();
    world_start(world, 1, &settings); /* its seed node does not run */
    world_run(world, SECOND);
    regions = ask(world, 1, "E", NODE_CLUSTER_STATS, 0);
    assert_false(regions->has_coordinator);
    assert_int_equal(regions->region_count, 0);
    world_free(world);
}

static void more_queries_than_fit_are_refused(void **state)
{
    struct world *world = begin_spread(3);
    struct awaited awaited = { 1, NULL };
    (void)state;

    world_pause(world, 2, true);
    for (uint32_t i = 0; i < QUERIES_MAX; i++)
        world_query(world, 1, "E", NODE_CLUSTER_STATS, 0);
    assert_null(world_node(world, 1)->answer);
    world_query(world, 1, "E", NODE_CLUSTER_STATS, 0);
    assert_true(world_until(world, is_answered, &awaited, SECOND));
    assert_int_equal(world_node(world, 1)->answer->result, SHERD_EFULL);
    world_free(world);
}

#define LONG_IDS (LOOK_BYTES_MAX / 240)

/* One shard whose ids are larger than a lane's answer. */
static void ids_beyond_the_limit_are_left_out(void **state)
{
    struct world *world = cast_new(13);
    struct node_settings settings = world_node_settings(world, 0, cast_types, CAST_TYPES);
    const struct sherd_region *region;
    struct player player;
    char id[300];
    (void)state;

    cast_begin();
    settings.lanes = 1;
    settings.number_of_shards = 1;
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(&player, world, 0, 0);
    for (uint32_t i = 0; i < LONG_IDS; i++) {
        (void)snprintf(id, sizeof id, "%0240u", i);
        player_tell(&player, "E", id, SILENT);
    }
    region = ask(world, 0, "E", NODE_REGION_STATE, 0)->regions;
    assert_int_equal(region->shard_count, 0);
    assert_int_equal(region->failed_count, 1);
    region = ask(world, 0, "E", NODE_REGION_STATS, 0)->regions;
    assert_int_equal(region->shard_count, 1);
    assert_int_equal(region->shards[0].entity_count, LONG_IDS);
    world_free(world);
}

/* ---- the health check ---- */

/* patience: ns, or 0. */
static struct world *begin_checked_for(const char *const *names, uint32_t count, uint64_t patience)
{
    struct world *world = cast_new(12);

    cast_begin();
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings = world_node_settings(world, i, cast_types, CAST_TYPES);

        settings.checked_types = names;
        settings.checked_type_count = count;
        settings.checked_for = patience;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 10 * SECOND);
    return world;
}

static struct world *begin_checked(const char *const *names, uint32_t count)
{
    return begin_checked_for(names, count, 0);
}

static void a_missing_type_is_not_awaited_for_ever(void **state)
{
    static const char *const names[] = { "E", "Missing" };
    struct world *world = begin_checked_for(names, 2, 20 * SECOND);
    (void)state;

    assert_false(world_node(world, 0)->is_ready);
    world_run(world, 11 * SECOND);
    assert_true(world_node(world, 0)->is_ready);
    world_free(world);
}

static void a_node_is_ready_when_the_checked_types_are_registered_SHD002(
    void **state)
{
    static const char *const names[] = { "E", "P" };
    struct world *world = begin_checked(names, 2);
    (void)state;

    assert_true(world_node(world, 0)->is_ready);
    assert_true(world_node(world, 1)->is_ready);
    world_crash_as(world, 0, WORLD_RESET); /* the coordinator's node */
    world_run(world, 5 * SECOND);
    assert_true(world_node(world, 1)->is_ready); /* once true, always true */
    world_free(world);
}

static void a_node_without_checks_is_ready_SHD001(void **state)
{
    struct world *world = begin_checked(NULL, 0);
    (void)state;

    assert_true(world_node(world, 0)->is_ready);
    assert_true(world_node(world, 1)->is_ready);
    world_free(world);
}

static void a_node_with_an_unregistered_region_is_not_ready_SHD003(void **state)
{
    static const char *const names[] = { "Missing" };
    struct world *world = begin_checked(names, 1);
    (void)state;

    assert_true(world_node(world, 0)->is_up);
    assert_false(world_node(world, 0)->is_ready);
    world_free(world);
}

static void a_node_without_a_checked_type_is_never_ready_SHD004(void **state)
{
    static const char *const names[] = { "E", "Missing" };
    struct world *world = begin_checked(names, 2);
    (void)state;

    assert_true(world_node(world, 0)->is_up);
    assert_false(world_node(world, 0)->is_ready);
    assert_true(world_logged(world, 0, "before this type is registered type=\"Missing\""));
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_region_names_its_shards_and_their_entities_SHT033),
        cmocka_unit_test(
            a_type_without_entities_has_an_empty_state_SHT033_SHT034_SHD139),
        cmocka_unit_test(a_sender_sees_the_regions_of_hosts_SHD206_SHD207_SHD208_SHD209_SHD210_SHD211_SHD212),
        cmocka_unit_test(
            the_cluster_counts_the_entities_of_all_regions_SHD213_SHT035_SHT077_SHT076),
        cmocka_unit_test(regions_are_listed_from_any_node),
        cmocka_unit_test(a_region_that_is_late_makes_the_count_fail),
        cmocka_unit_test(a_node_without_coordinator_answers_with_nothing),
        cmocka_unit_test(more_queries_than_fit_are_refused),
        cmocka_unit_test(ids_beyond_the_limit_are_left_out),
        cmocka_unit_test(a_missing_type_is_not_awaited_for_ever),
        cmocka_unit_test(
            a_node_is_ready_when_the_checked_types_are_registered_SHD002),
        cmocka_unit_test(a_node_without_checks_is_ready_SHD001),
        cmocka_unit_test(a_node_with_an_unregistered_region_is_not_ready_SHD003),
        cmocka_unit_test(a_node_without_a_checked_type_is_never_ready_SHD004),
    };

    return cmocka_run_group_tests_name("node queries", tests, NULL, NULL);
}
