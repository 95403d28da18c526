/* Tests the draw of options: equal seeds give equal options, some seed draws every value, and a
 * mode excludes what it must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "sim/seed/options.h"

#define SEEDS 600

static const uint64_t values[OPTION_COUNT][16] = {
#define VALUES_ROW(id, name, usual, ...) { __VA_ARGS__ },
    OPTION_LIST(VALUES_ROW)
#undef VALUES_ROW
};
static const uint32_t counts[OPTION_COUNT] = {
#define COUNT_ROW(id, name, usual, ...) \
    sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t),
    OPTION_LIST(COUNT_ROW)
#undef COUNT_ROW
};

static void equal_seeds_give_equal_options(void **state)
{
    const struct options_wish wish = { .mode = MODE_SWARM };
    uint32_t different = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct options first, second, next;

        options_draw(&first, seed, &wish);
        options_draw(&second, seed, &wish);
        options_draw(&next, seed + 1, &wish);
        assert_memory_equal(&first, &second, sizeof first);
        different += memcmp(first.value, next.value, sizeof first.value) != 0;
    }
    assert_int_equal(different, 50);
}

/* min_nr_of_members is at most the number of nodes, which is at least 3. */
static void every_value_is_drawn(void **state)
{
    const struct options_wish wish = { .mode = MODE_SWARM };
    const struct options_wish several = { .mode = MODE_CENTERS };
    const struct options_wish versioned = { .mode = MODE_STORE };
    const struct options_wish members = { .mode = MODE_MEMBER };
    bool drawn[OPTION_COUNT][16] = { { false } };
    uint32_t small = 0, middle = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct options options, centers, store, member;

        options_draw(&options, seed, &wish);
        options_draw(&centers, seed, &several);
        options_draw(&store, seed, &versioned);
        options_draw(&member, seed, &members);
        if (seed % 2)
            options.value[OPTION_NO_ENTITIES] =
                member.value[OPTION_NO_ENTITIES];
        for (int i = OPTION_VERSIONS; i <= OPTION_VERSIONS_TIMEOUT; i++)
            options.value[i] = store.value[i];
        options.value[OPTION_CENTERS] = centers.value[OPTION_CENTERS];
        for (int i = OPTION_CROSS_CONNECTIONS; i <= OPTION_CROSS_PAUSE; i++)
            options.value[i] = centers.value[i];
        for (int i = 0; i < OPTION_COUNT; i++)
            for (uint32_t j = 0; j < counts[i]; j++)
                drawn[i][j] |= options.value[i] == values[i][j];
        small += options.value[OPTION_NODES] <= 7;
        middle += options.value[OPTION_NODES] > 7 &&
                  options.value[OPTION_NODES] <= 20;
    }
    for (int i = 0; i < OPTION_COUNT; i++)
        for (uint32_t j = 0; j < counts[i]; j++)
            if (!drawn[i][j])
                fail_msg("%s=%llu was never drawn", option_name(i),
                         (unsigned long long)values[i][j]);
    assert_in_range(small, SEEDS * 50 / 100, SEEDS * 70 / 100);
    assert_in_range(middle, SEEDS * 18 / 100, SEEDS * 32 / 100);
}

static void wishes_limit_the_draw(void **state)
{
    const struct options_wish wish = { .mode = MODE_SWARM,
                                       .nodes_min = 2,
                                       .nodes_max = 4,
                                       .length_min_s = 120,
                                       .length_max_s = 1200 };

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct options options;

        options_draw(&options, seed, &wish);
        assert_in_range(options.value[OPTION_NODES], 2, 4);
        assert_in_range(options.value[OPTION_LENGTH], 120, 1200);
        assert_in_range(options.value[OPTION_MEMBERS_MIN], 1,
                        options.value[OPTION_NODES]);
    }
}

static bool only(const struct options *options, uint64_t allowed)
{
    for (int i = OPTION_CRASH; i <= OPTION_RESOLVER; i++)
        if (options->value[i] && !(allowed & UINT64_C(1)
                                                 << (i - OPTION_CRASH)))
            return false;
    return true;
}

#define ALLOW(id) (UINT64_C(1) << (OPTION_##id - OPTION_CRASH))

static void modes_exclude_options(void **state)
{
    static const uint64_t allowed[MODE_COUNT] = {
        [MODE_SWARM] = UINT64_MAX,
        [MODE_LITE] = ALLOW(CRASH),
        [MODE_CHURN] = ALLOW(CRASH) | ALLOW(LEAVE) | ALLOW(LEAVE_KILL) |
                       ALLOW(DOWN_ALIVE) | ALLOW(LEAVE_OLDEST) |
                       ALLOW(STUBBORN),
        [MODE_HANDOFF] = ALLOW(LEAVE) | ALLOW(LEAVE_OLDEST) | ALLOW(STUBBORN),
        [MODE_STORAGE] = ALLOW(CRASH) | ALLOW(DISK_STALL) |
                         ALLOW(DISK_ERROR) | ALLOW(DISK_FULL) |
                         ALLOW(DISK_SYNC) | ALLOW(POWER),
        [MODE_SCALE] = ALLOW(CRASH) | ALLOW(LEAVE) | ALLOW(CUT),
        [MODE_SBR] = ALLOW(CRASH) | ALLOW(LEAVE) | ALLOW(STILL) | ALLOW(CUT) |
                     ALLOW(FLAP) | ALLOW(CLOG) | ALLOW(SWIZZLE) |
                     ALLOW(RESET) | ALLOW(HALF_OPEN) | ALLOW(STUBBORN) |
                     ALLOW(RESOLVER),
        [MODE_CENTERS] = ALLOW(CRASH) | ALLOW(LEAVE) | ALLOW(STILL) |
                         ALLOW(CUT) | ALLOW(FLAP) | ALLOW(CLOG) |
                         ALLOW(SWIZZLE) | ALLOW(RESET) | ALLOW(HALF_OPEN) |
                         ALLOW(DISK_STALL) | ALLOW(DISK_ERROR) |
                         ALLOW(DISK_FULL) | ALLOW(DISK_SYNC) | ALLOW(POWER) |
                         ALLOW(STUBBORN) | ALLOW(RESOLVER),
        [MODE_DATA] = UINT64_MAX,
        [MODE_STORE] = ALLOW(CRASH) | ALLOW(LEAVE) | ALLOW(STILL) |
                       ALLOW(CUT) | ALLOW(FLAP) | ALLOW(CLOG) |
                       ALLOW(SWIZZLE) | ALLOW(RESET) | ALLOW(HALF_OPEN),
        [MODE_MEMBER] = ALLOW(CRASH) | ALLOW(LEAVE) | ALLOW(LEAVE_KILL) |
                        ALLOW(STILL) | ALLOW(CUT) | ALLOW(FLAP) | ALLOW(CLOG) |
                        ALLOW(SWIZZLE) | ALLOW(RESET) | ALLOW(HALF_OPEN),
    };

    (void)state;
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        for (uint64_t seed = 0; seed < 100; seed++) {
            const struct options_wish wish = { .mode = (enum sim_mode)mode };
            struct options options;

            options_draw(&options, seed, &wish);
            assert_int_equal(options.value[OPTION_MODE], mode);
            assert_true(only(&options, allowed[mode]));
            if (mode == MODE_HANDOFF)
                assert_true(options.value[OPTION_LEAVE] > 0);
            if (mode == MODE_SBR)
                assert_true(options.value[OPTION_RESOLVER] > 0 &&
                            options.value[OPTION_CUT] > 0);
            if (mode == MODE_CENTERS)
                assert_true(options.value[OPTION_CUT] > 0);
            assert_in_range(options.value[OPTION_CENTERS],
                            mode == MODE_CENTERS ? 2 : 1,
                            mode == MODE_CENTERS ? 3 : 1);
            if (mode == MODE_SCALE || mode == MODE_MEMBER)
                assert_in_range(options.value[OPTION_NODES], 100, 1000);
            if (mode == MODE_LITE)
                assert_int_equal(options.value[OPTION_PHI],
                                 option_default(OPTION_PHI));
            if (mode == MODE_LITE || mode == MODE_SCALE ||
                mode == MODE_CENTERS || mode == MODE_STORE)
                assert_int_equal(options.value[OPTION_DATA], 0);
            assert_int_equal(options.value[OPTION_VERSIONS] > 0,
                             mode == MODE_STORE);
            if (mode == MODE_DATA || mode == MODE_MEMBER)
                assert_true(options.value[OPTION_DATA] > 0);
            if (mode != MODE_SWARM && mode != MODE_CHURN && mode != MODE_HANDOFF)
                assert_int_equal(options.value[OPTION_RESTART], 0);
            if (mode == MODE_HANDOFF || mode == MODE_LITE || mode == MODE_SCALE)
                assert_int_equal(options.value[OPTION_CRASH_SEVERAL], 0);
            if (options.value[OPTION_REMEMBER_DATA])
                assert_int_equal(options.value[OPTION_KEPT_MIN],
                                 option_default(OPTION_KEPT_MIN));
            if (options.value[OPTION_SPLIT])
                assert_true(options.value[OPTION_RESOLVER] > 0 &&
                            options.value[OPTION_CENTERS] == 1 &&
                            options.value[OPTION_NODES] >= 3 &&
                            options.value[OPTION_NODES] <= 10);
            assert_int_equal(options.value[OPTION_NO_ENTITIES],
                             mode == MODE_MEMBER);
            if (mode == MODE_MEMBER)
                assert_true(options.value[OPTION_LANES] == 1 &&
                            options.value[OPTION_CRASH] > 0 &&
                            options.value[OPTION_GOSSIP] ==
                                option_default(OPTION_GOSSIP));
        }
    }
}

/* A world has few unusual settings, and some modes have none. */
static void most_settings_are_as_usual(void **state)
{
    uint32_t unusual[MODE_COUNT] = { 0 };
    const uint32_t settings = OPTION_FOLLOWERS - OPTION_TOMBSTONE;

    (void)state;
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        for (uint64_t seed = 0; seed < 100; seed++) {
            const struct options_wish wish = { .mode = (enum sim_mode)mode };
            struct options options;

            options_draw(&options, seed, &wish);
            for (int i = OPTION_TOMBSTONE; i < OPTION_FOLLOWERS; i++)
                unusual[mode] += options.value[i] !=
                                 option_default((enum sim_option)i);
        }
        if (mode == MODE_LITE || mode == MODE_SCALE || mode == MODE_MEMBER)
            assert_int_equal(unusual[mode], 0);
        else
            assert_in_range(unusual[mode], 10 * settings, 45 * settings);
    }
}

/* A tombstone lasts until all have heard, and a joining node has enough time. */
static void membership_settings_leave_enough_time(void **state)
{
    const struct options_wish wish = { .mode = MODE_SWARM };

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct options options;
        const uint64_t *value = options.value;

        options_draw(&options, seed, &wish);
        assert_true(value[OPTION_TOMBSTONE] >= 30 * value[OPTION_FAULT_LENGTH]);
        if (value[OPTION_WALL] || value[OPTION_DRIFT])
            assert_true(value[OPTION_TOMBSTONE] >=
                        option_default(OPTION_TOMBSTONE));
        if (value[OPTION_PAUSE] <= value[OPTION_HEARTBEAT])
            assert_true(value[OPTION_SAMPLES] >= 1000);
        if (value[OPTION_JOIN_GIVE_UP])
            assert_true(1000 * value[OPTION_JOIN_GIVE_UP] >=
                        3 * (value[OPTION_SEED_TIMEOUT] +
                             value[OPTION_JOIN_RETRY]));
    }
}

/* A resolver may be one that only counts. A lease lasts until a late minority has requested it. */
static void resolver_settings_leave_enough_time(void **state)
{
    const struct options_wish wish = { .mode = MODE_SBR };
    bool seen[RESOLVER_COUNT] = { false };

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct node_settings settings;
        struct options options;
        const uint64_t *value = options.value;
        uint64_t unstable;

        memset(&settings, 0, sizeof settings);
        options_draw(&options, seed, &wish);
        options_settings(&options, &settings);
        seen[value[OPTION_RESOLVER]] = true;
        unstable = settings.resolver.unstable_after
                       ? settings.resolver.unstable_after
                       : settings.resolver.stable_after;
        assert_true(settings.resolves);
        assert_true(settings.lease_interval < settings.lease_ttl / 2);
        assert_true(settings.down_removal_margin >=
                    settings.resolver.stable_after);
        assert_in_range(2 * settings.resolver.strategy.quorum_size,
                        value[OPTION_NODES] + 1, value[OPTION_NODES] + 2);
        if (value[OPTION_RESOLVER] == RESOLVER_LEASE)
            assert_true(settings.resolver.release_after >=
                        settings.resolver.strategy.minority_delay + unstable +
                            settings.lease_patience);
    }
    assert_false(seen[RESOLVER_NONE]);
    for (int i = RESOLVER_MAJORITY; i < RESOLVER_COUNT; i++)
        assert_true(seen[i]);
}

/* A coordinator's state can be read and written within its time-outs, also on disks. */
static void coordinator_state_can_be_read_and_written_in_time(void **state)
{
    const struct options_wish wish = { .mode = MODE_SWARM };

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct node_settings settings;
        struct options options;
        uint64_t way;

        memset(&settings, 0, sizeof settings);
        options_draw(&options, seed, &wish);
        options_settings(&options, &settings);
        way = 1000 * (options.value[OPTION_LINK_MIN] +
                      options.value[OPTION_LINK_MEAN]);
        assert_true(settings.waiting_for_state_timeout + 1000000 >= 4 * way);
        assert_true(settings.updating_state_timeout + 2000000 >= 8 * way);
        if (options_remember_in_data(&options))
            assert_true(settings.waiting_for_state_timeout >=
                        4000 * options.value[OPTION_STORE]);
        if (options_remember_in_data(&options) &&
            options.value[OPTION_PIPE] == 4096 &&
            options.value[OPTION_SHARDS] == 1000 && way >= 100000000)
            assert_true(settings.waiting_for_state_timeout >= 10000000000u);
        assert_true(settings.sharding_data.prefer_oldest &&
                    settings.sharding_data.max_delta_elements > 0);
        if (options.value[OPTION_WALL]) {
            assert_int_equal(settings.sharding_data.pruning_marker_ms,
                             1000 * option_default(OPTION_KEPT_MARKER));
            assert_int_equal(
                settings.data.durable_pruning_marker_ms,
                1000 * option_default(OPTION_DATA_DURABLE_MARKER));
            assert_false(options_data_forgets(&options));
        }
    }
}

/* Few worlds combine entities remembered on fast disks, slow links and a short time to read. */
static void reads_from_fast_disks_wait_for_slow_links(void **state)
{
    const struct options_wish wish = { .mode = MODE_SBR };
    uint32_t count = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct options options;
        uint64_t way;

        options_draw(&options, seed, &wish);
        way = options.value[OPTION_LINK_MIN] + options.value[OPTION_LINK_MEAN];
        if (!options_remember_in_data(&options) || way < 50000 ||
            options.value[OPTION_STORE] > 2000)
            continue;
        count++;
        assert_true(options.value[OPTION_READ_STATE] >= 10 * way / 1000);
    }
    assert_true(count > 20);
}

/* The defaults get the mode's options and nothing drawn. */
static void a_mode_sets_its_options_in_the_defaults(void **state)
{
    struct options options, usual;
    uint32_t different = 0;

    (void)state;
    options_default(&usual, 3);
    options = usual;
    options_insist(&options, MODE_SWARM);
    assert_memory_equal(options.value, usual.value, sizeof usual.value);
    options_insist(&options, MODE_MEMBER);
    for (int i = 0; i < OPTION_COUNT; i++)
        different += options.value[i] != usual.value[i];
    /* mode, no_entities, lanes, data_load, faults_per_hour, fault_crash */
    assert_int_equal(different, 6);
    assert_int_equal(options.value[OPTION_NO_ENTITIES], 1);
    assert_int_equal(options.value[OPTION_DATA], 1);
}

/* The weights of faults do not shape the world: a schedule beside the options gives the faults. */
static void a_world_is_the_same_without_the_weights_of_faults(void **state)
{
    const struct options_wish wish = { .mode = MODE_DATA };
    uint32_t forgetting = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct node_settings drawn, repeated;
        struct options options;
        bool forgets;

        memset(&drawn, 0, sizeof drawn);
        memset(&repeated, 0, sizeof repeated);
        options_draw(&options, seed, &wish);
        options_settings(&options, &drawn);
        forgets = options_data_forgets(&options);
        for (int i = 0; i < OPTION_COUNT; i++)
            if (option_is_fault((enum sim_option)i))
                options.value[i] = 0;
        options_settings(&options, &repeated);
        assert_memory_equal(&drawn.data, &repeated.data, sizeof drawn.data);
        assert_memory_equal(&drawn.sharding_data, &repeated.sharding_data,
                            sizeof drawn.sharding_data);
        assert_int_equal(options_data_forgets(&options), forgets);
        forgetting += forgets;
    }
    assert_in_range(forgetting, 1, SEEDS - 1);
}

static void pruning_markers_outlast_faults_of_clocks(void **state)
{
    struct options options;
    char error[160];

    (void)state;
    options_default(&options, 1);
    assert_true(options_set(&options, "data_pruning_marker_s=600", error,
                            sizeof error));
    assert_true(options_data_forgets(&options));
    assert_true(options_set(&options, "fault_wall=1", error, sizeof error));
    assert_false(options_data_forgets(&options));
}

/* Options that are drawn together leave a world in which messages arrive. */
static void drawn_options_let_messages_arrive(void **state)
{
    const struct options_wish wish = { .mode = MODE_SWARM };

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct options options;
        const uint64_t *value = options.value;
        uint64_t way;

        options_draw(&options, seed, &wish);
        way = value[OPTION_LINK_MIN] + value[OPTION_LINK_MEAN];
        assert_true(value[OPTION_ASK] * 1000 >= 4 * way);
        if (value[OPTION_DATA])
            assert_true(value[OPTION_DATA_TIMEOUT] * 1000 >=
                        4 * (way + value[OPTION_STORE]));
        if (value[OPTION_VERSIONS])
            assert_true(value[OPTION_VERSIONS_TIMEOUT] * 1000 >=
                        4 * (way + value[OPTION_STORE]));
        assert_true(value[OPTION_LOAD] == 1 ||
                    value[OPTION_LOAD] * (value[OPTION_STORE] + way) <=
                        value[OPTION_ENTITIES] * 100000);
        assert_true(value[OPTION_STORM_SIZE] <=
                    10 * (value[OPTION_BUFFER] ? value[OPTION_BUFFER] : 1));
        assert_true(value[OPTION_FAULTS] * value[OPTION_FAULT_LENGTH] <= 7200);
        if (value[OPTION_DATA]) /* no member is pruned before its data and changes are everywhere */
            assert_true(value[OPTION_DATA_SPREAD] >=
                        1000 * value[OPTION_FAULT_LENGTH] +
                            12 * (value[OPTION_GOSSIP] +
                                  value[OPTION_DATA_GOSSIP]));
    }
}

/* In a few of a hundred worlds much is in flight to the disks when power fails. */
static void some_worlds_store_much(void **state)
{
    const struct options_wish wish = { .mode = MODE_SWARM };
    uint32_t worlds = 0;

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct options options;
        const uint64_t *value = options.value;

        options_draw(&options, seed, &wish);
        if (!value[OPTION_STORES_MUCH])
            continue;
        worlds++;
        assert_true(value[OPTION_STORE] >= 500000 &&
                    value[OPTION_ENTITIES] >= 1000 &&
                    value[OPTION_LOAD] >= 30 && value[OPTION_OPS] & 4);
        assert_true(value[OPTION_POWER] >= 10 && value[OPTION_POWER_WAITS] &&
                    value[OPTION_FAULTS] >= 60);
    }
    assert_in_range(worlds, SEEDS * 3 / 100, SEEDS * 10 / 100);
}

static void options_are_set_by_name(void **state)
{
    static const char *const wrong[] = {
        "nodes",        "nodes=",          "nodes=x",
        "nodes=5x",     "nodes=-1",        "nodes=0",
        "nodes=1001",   "mode=blue",       "node=5",
        "=5",           "",                "byte_mode=2",
        "nodes=99999999999999999999999999", "number_of_shards=10001",
    };
    struct options options;
    char error[120];

    (void)state;
    options_default(&options, 7);
    assert_true(options_set(&options, "nodes=9", error, sizeof error));
    assert_true(options_set(&options, "mode=churn", error, sizeof error));
    assert_true(options_set(&options, "buffer_size=1", error, sizeof error));
    assert_int_equal(options.value[OPTION_NODES], 9);
    assert_int_equal(options.value[OPTION_MODE], MODE_CHURN);
    assert_int_equal(options.value[OPTION_BUFFER], 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        error[0] = 0;
        assert_false(options_set(&options, wrong[i], error, sizeof error));
        assert_true(error[0] != 0);
    }
    assert_int_equal(options.value[OPTION_NODES], 9);
}

/* Drawn values can be set by hand. */
static void every_drawn_value_can_be_set(void **state)
{
    struct options options;
    char text[80], error[120];

    (void)state;
    options_default(&options, 7);
    for (int i = OPTION_MODE + 1; i < OPTION_COUNT; i++) {
        for (uint32_t j = 0; j < counts[i]; j++) {
            (void)snprintf(text, sizeof text, "%s=%llu", option_name(i),
                           (unsigned long long)values[i][j]);
            assert_true(options_set(&options, text, error, sizeof error));
            assert_int_equal(options.value[i], values[i][j]);
        }
    }
}

static void options_print_as_one_line(void **state)
{
    const struct options_wish wish = { .mode = MODE_LITE };
    struct options options;
    struct buf text = { 0 };
    uint32_t colons = 0;

    (void)state;
    options_draw(&options, 12, &wish);
    options_put(&options, &text);
    buf_put_u8(&text, 0);
    for (size_t i = 0; i < text.size; i++)
        colons += text.data[i] == ':';
    assert_int_equal(colons, 1 + OPTION_COUNT);
    assert_non_null(strstr((char *)text.data,
                           "{\"seed\":12,\"mode\":\"lite\",\"nodes\":"));
    assert_null(strchr((char *)text.data, '\n'));
    buf_fini(&text);
}

static void settings_follow_options(void **state)
{
    struct node_settings settings;
    struct options options;

    (void)state;
    memset(&settings, 0, sizeof settings);
    options_default(&options, 1);
    options.value[OPTION_HANDOFF] = 1234;
    options.value[OPTION_PHI] = 45;
    options.value[OPTION_REBALANCE_RELATIVE] = 5;
    options_settings(&options, &settings);
    assert_int_equal(settings.handoff_timeout, 1234000000u);
    assert_true(settings.phi_threshold > 4.49 && settings.phi_threshold < 4.51);
    assert_true(settings.rebalance_relative_limit > 0.049 &&
                settings.rebalance_relative_limit < 0.051);
    assert_int_equal(settings.number_of_shards, 100);
    assert_int_equal(settings.large_destination_count, 0);
    options.value[OPTION_LARGE] = 6;
    options_settings(&options, &settings);
    assert_int_equal(settings.large_destination_count, 6);
    assert_string_equal(settings.large_destinations[5],
                        "/system/sharding/ledger");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_seeds_give_equal_options),
        cmocka_unit_test(every_value_is_drawn),
        cmocka_unit_test(wishes_limit_the_draw),
        cmocka_unit_test(modes_exclude_options),
        cmocka_unit_test(most_settings_are_as_usual),
        cmocka_unit_test(membership_settings_leave_enough_time),
        cmocka_unit_test(resolver_settings_leave_enough_time),
        cmocka_unit_test(coordinator_state_can_be_read_and_written_in_time),
        cmocka_unit_test(reads_from_fast_disks_wait_for_slow_links),
        cmocka_unit_test(a_mode_sets_its_options_in_the_defaults),
        cmocka_unit_test(a_world_is_the_same_without_the_weights_of_faults),
        cmocka_unit_test(pruning_markers_outlast_faults_of_clocks),
        cmocka_unit_test(drawn_options_let_messages_arrive),
        cmocka_unit_test(some_worlds_store_much),
        cmocka_unit_test(options_are_set_by_name),
        cmocka_unit_test(every_drawn_value_can_be_set),
        cmocka_unit_test(options_print_as_one_line),
        cmocka_unit_test(settings_follow_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
