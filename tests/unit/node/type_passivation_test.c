/* Tests that each entity type is passivated by its own strategy: a named section, its numbers, and the
 * choice of entities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/timers.h"
#include "cast.h"
#include "node/type_passivation.h"

#define RECENT { .main = { .policy = PASSIVATION_LEAST_RECENT } }
#define MOST_RECENT { .main = { .policy = PASSIVATION_MOST_RECENT } }
#define NEVER UINT64_MAX

static const struct passivation_strategy strategies[] = {
    { .name = "few", .idle_after = NEVER, .active_entity_limit = 3, .choice = RECENT },
    { .name = "quick", .idle_after = 10 * SECOND, .interval = SECOND },
    { .name = "both", .idle_after = 10 * SECOND, .active_entity_limit = 3, .choice = MOST_RECENT },
};

/* ---- numbers of a type ---- */

static struct sherd_entity_type complete(const struct node_settings *settings,
                                         struct sherd_entity_type type)
{
    assert_null(type_passivation_fault(settings, &type));
    type.passivation = type_passivation_copy(type.passivation);
    type_passivation_complete(settings, &type);
    return type;
}

static const struct node_settings configured = {
    .passivate_idle_after = 60 * SECOND,
    .active_entity_limit = 100,
    .active_byte_limit = 5000,
    .passivation = RECENT,
    .strategies = strategies,
    .strategy_count = 3,
};

static void a_type_without_a_strategy_has_the_configured_numbers(void **state)
{
    struct sherd_entity_type type = complete(&configured, (struct sherd_entity_type){ 0 });
    (void)state;

    assert_true(type.idle_ms == 60000);
    assert_int_equal(type.active_entity_limit, 100);
    assert_true(type.active_byte_limit == 5000);
    assert_null(type_passivation_choice(&configured, &type));
}

static void a_strategy_by_name_replaces_all_configured_numbers(void **state)
{
    const struct sherd_passivation own = { .strategy = "quick" };
    struct sherd_entity_type type =
        complete(&configured, (struct sherd_entity_type){ .passivation = &own });
    (void)state;

    assert_true(type.idle_ms == 10000);
    assert_true(type.passivation->idle_interval_ms == 1000);
    assert_int_equal(type.active_entity_limit, 0);
    assert_true(type.active_byte_limit == 0);
    type_passivation_free(type.passivation);
}

static void fields_of_the_type_win_over_its_strategy(void **state)
{
    const struct sherd_passivation own = { .strategy = "both", .idle_interval_ms = 7 };
    struct sherd_entity_type type = complete(
        &configured, (struct sherd_entity_type){
                         .passivation = &own, .idle_ms = 5, .active_entity_limit = 9, .active_byte_limit = 8 });
    (void)state;

    assert_true(type.idle_ms == 5);
    assert_true(type.passivation->idle_interval_ms == 7);
    assert_int_equal(type.active_entity_limit, 9);
    assert_true(type.active_byte_limit == 8);
    type_passivation_free(type.passivation);
}

static void the_strategy_none_passivates_nothing(void **state)
{
    const struct sherd_passivation own = { .strategy = "none" };
    struct sherd_entity_type type =
        complete(&configured, (struct sherd_entity_type){ .passivation = &own });
    (void)state;

    assert_true(type.idle_ms == NEVER / MS);
    assert_int_equal(type.active_entity_limit, 0);
    assert_true(type.active_byte_limit == 0);
    type_passivation_free(type.passivation);
}

static void the_strategies_of_akka_need_no_section(void **state)
{
    const struct sherd_passivation own = { .strategy = "default-strategy" };
    struct sherd_entity_type type =
        complete(&(struct node_settings){ 0 }, (struct sherd_entity_type){ .passivation = &own });
    struct passivation_settings *choice =
        type_passivation_choice(&(struct node_settings){ 0 }, &type);
    (void)state;

    assert_int_equal(type.active_entity_limit, 100000);
    assert_true(choice->climbs && choice->has_filter);
    mem_free(choice);
    type_passivation_free(type.passivation);
}

static void numbers_of_the_type_replace_single_ones(void **state)
{
    const double shares[] = { 0.25, 0.25, 0.5 };
    const struct sherd_passivation own = {
        .strategy = "default-strategy",
        .replacement = { .levels = 3, .proportions = shares },
        .window = { .policy = SHERD_LEAST_FREQUENTLY_USED, .dynamic_aging = 1 },
        .window_proportion = 0.1,
        .window_minimum_proportion = 0.05,
        .window_maximum_proportion = 0.5,
        .adjust_multiplier = 20,
        .initial_step = 0.125,
        .restart_threshold = 0.1,
        .step_decay = 0.9,
        .sketch_depth = 5,
        .sketch_counter_bits = 8,
        .sketch_width_multiplier = 2,
        .sketch_reset_multiplier = 20,
    };
    const struct sherd_entity_type type = { .passivation = &own };
    struct passivation_settings *choice = type_passivation_choice(&configured, &type);
    (void)state;

    assert_int_equal(choice->main.policy, PASSIVATION_LEAST_RECENT);
    assert_int_equal(choice->main.levels, 3);
    assert_memory_equal(choice->main.shares, shares, sizeof shares);
    assert_int_equal(choice->window.policy, PASSIVATION_LEAST_FREQUENT);
    assert_true(choice->window.is_aging);
    assert_true(choice->window_share == 0.1 && choice->window_share_min == 0.05 &&
                choice->window_share_max == 0.5);
    assert_true(choice->climb.adjust_multiplier == 20 && choice->climb.initial_step == 0.125 &&
                choice->climb.restart_threshold == 0.1 && choice->climb.step_decay == 0.9);
    assert_int_equal(choice->filter.depth, 5);
    assert_int_equal(choice->filter.bits, 8);
    assert_true(choice->filter.width_multiplier == 2 && choice->filter.reset_multiplier == 20);
    assert_null(type_passivation_unused(&configured, &type));
    mem_free(choice);
}

/* As withReplacementPolicy of a strategy without admission. */
static void a_policy_of_the_type_has_no_window_of_another_strategy(void **state)
{
    const struct node_settings settings = { .passivate_idle_after = SECOND };
    const struct sherd_passivation own = { .replacement.policy = SHERD_MOST_RECENTLY_USED };
    const struct sherd_entity_type type = { .passivation = &own };
    struct passivation_settings *choice = type_passivation_choice(&settings, &type);
    (void)state;

    assert_int_equal(choice->main.policy, PASSIVATION_MOST_RECENT);
    assert_int_equal(choice->window.policy, PASSIVATION_NONE);
    assert_false(choice->has_filter);
    mem_free(choice);
}

/* Settings of the program alone, as in the simulator. */
static void parts_that_a_type_adds_have_the_reference_numbers(void **state)
{
    const struct node_settings settings = { .passivation = RECENT };
    const struct sherd_passivation own = { .window.policy = SHERD_LEAST_RECENTLY_USED,
                                           .frequency_sketch = 1, .hill_climbing = 1 };
    const struct sherd_entity_type type = { .passivation = &own };
    struct passivation_settings *choice = type_passivation_choice(&settings, &type);
    (void)state;

    assert_true(choice->has_filter && choice->climbs);
    assert_int_equal(choice->filter.depth, 4);
    assert_int_equal(choice->filter.bits, 4);
    assert_true(choice->window_share_max == 1 && choice->climb.adjust_multiplier == 10);
    mem_free(choice);
}

/* ---- faults ---- */

struct wrong {
    struct sherd_passivation own;
    const char *words;
};

static void wrong_numbers_are_refused(void **state)
{
    const double far[] = { 0.5, 1.5 };
    const struct wrong rows[] = {
        { { .strategy = "unknown" }, "no section" },
        { { .replacement.policy = SHERD_REPLACEMENT_NONE }, "policy none" },
        { { .window.policy = (enum sherd_replacement_policy)9 }, "no value of enum" },
        { { .replacement.levels = 65 }, "more than 64 levels" },
        { { .replacement = { .proportions = far } }, "without levels" },
        { { .window = { .levels = 2, .proportions = far } }, "a proportion" },
        { { .window_proportion = 1.01 }, "a part" },
        { { .step_decay = -0.5 }, "a part" },
        { { .adjust_multiplier = 2e9 }, "a multiplier" },
        { { .sketch_depth = 17 }, "sketch_depth" },
        { { .sketch_counter_bits = 6 }, "sketch_counter_bits" },
        { { .idle_interval_ms = UINT64_MAX }, "idle_interval_ms" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sherd_entity_type type = { .passivation = &rows[i].own };
        const char *fault = type_passivation_fault(&configured, &type);

        if (!fault || !strstr(fault, rows[i].words))
            fail_msg("%zu: %s", i, fault ? fault : "no fault");
    }
}

static void numbers_of_parts_that_are_off_are_named(void **state)
{
    const struct wrong rows[] = {
        { { .strategy = "both", .replacement.levels = 2 }, "levels of a policy" },
        { { .strategy = "few", .replacement.dynamic_aging = 1 }, "dynamic_aging" },
        { { .strategy = "few", .window_proportion = 0.5 }, "no window" },
        { { .strategy = "few", .initial_step = 0.5 }, "hill_climbing is off" },
        { { .strategy = "few", .sketch_depth = 3 }, "frequency_sketch is off" },
        { { .strategy = "few" }, NULL },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct sherd_entity_type type = { .passivation = &rows[i].own };
        const char *unused = type_passivation_unused(&configured, &type);

        if (rows[i].words ? !unused || !strstr(unused, rows[i].words) : unused != NULL)
            fail_msg("%zu: %s", i, unused ? unused : "none");
    }
}

/* ---- behaviour ---- */

/* One node, where types E and S have a shard and strategies of their own, and P the configured one. */
static struct world *begin(struct player *player, const struct sherd_passivation *of_e,
                           const struct sherd_passivation *of_s)
{
    struct world *world = cast_new(3);
    struct sherd_entity_type types[CAST_TYPES];
    struct node_settings settings;

    cast_begin();
    memcpy(types, cast_types, sizeof types);
    for (int i = 0; i < CAST_TYPES; i++)
        types[i].shards = 1;
    types[0].passivation = of_e;
    types[2].passivation = of_s;
    settings = world_node_settings(world, 0, types, CAST_TYPES);
    settings.strategies = strategies;
    settings.strategy_count = 3;
    settings.passivate_idle_after = 100 * SECOND;
    world_start(world, 0, &settings);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    player_spawn(player, world, 0, 1);
    return world;
}

static void use_five(struct player *player, const char *type)
{
    char id[8];

    for (int i = 0; i < 5; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        player_asks(player, type, id, ECHO);
    }
}

/* Whether its incarnation got the message of use_five. */
static bool is_active(struct player *player, const char *type, const char *id)
{
    return player_asks(player, type, id, COUNT) == 2;
}

static void types_of_one_node_choose_other_entities(void **state)
{
    const struct sherd_passivation few = { .strategy = "few" };
    const struct sherd_passivation both = { .strategy = "both" };
    struct player player;
    struct world *world = begin(&player, &few, &both);
    (void)state;

    use_five(&player, "E");
    use_five(&player, "S");
    use_five(&player, "P");
    cast_await_running(world, 1, 5);
    assert_int_equal(cast_running(world, 0), 3);
    assert_true(is_active(&player, "E", "e2"));
    assert_false(is_active(&player, "E", "e0"));
    assert_true(is_active(&player, "S", "e0"));
    assert_false(is_active(&player, "S", "e3"));
    world_free(world);
}

static void types_of_one_node_have_their_own_idle_times(void **state)
{
    const struct sherd_passivation quick = { .strategy = "quick" };
    const struct sherd_passivation none = { .strategy = "none" };
    struct player player;
    struct world *world = begin(&player, &quick, &none);
    (void)state;

    use_five(&player, "E");
    use_five(&player, "S");
    use_five(&player, "P");
    world_run(world, 9 * SECOND);
    assert_int_equal(cast_running(world, 0), 5);
    world_run(world, 4 * SECOND);
    assert_int_equal(cast_running(world, 0), 0);
    assert_int_equal(cast_running(world, 1), 5);
    world_run(world, 120 * SECOND);
    assert_int_equal(cast_running(world, 1), 0);
    assert_int_equal(cast_running(world, 2), 5);
    world_free(world);
}

static bool none_runs(struct world *world, void *user)
{
    (void)user;
    return cast_running(world, 0) == 0;
}

/* A look passivates the first entity; the second one waits for the next look. */
static void types_of_one_node_have_their_own_intervals(void **state)
{
    const struct sherd_passivation seldom = { .strategy = "quick", .idle_interval_ms = 60000 };
    struct player player;
    struct world *world = begin(&player, &seldom, NULL);
    (void)state;

    player_asks(&player, "E", "a", ECHO);
    assert_true(world_until(world, none_runs, NULL, 80 * SECOND));
    player_asks(&player, "E", "b", ECHO);
    world_run(world, 50 * SECOND);
    assert_int_equal(cast_running(world, 0), 1);
    world_run(world, 20 * SECOND);
    assert_int_equal(cast_running(world, 0), 0);
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_without_a_strategy_has_the_configured_numbers),
        cmocka_unit_test(a_strategy_by_name_replaces_all_configured_numbers),
        cmocka_unit_test(fields_of_the_type_win_over_its_strategy),
        cmocka_unit_test(the_strategy_none_passivates_nothing),
        cmocka_unit_test(the_strategies_of_akka_need_no_section),
        cmocka_unit_test(numbers_of_the_type_replace_single_ones),
        cmocka_unit_test(a_policy_of_the_type_has_no_window_of_another_strategy),
        cmocka_unit_test(parts_that_a_type_adds_have_the_reference_numbers),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(numbers_of_parts_that_are_off_are_named),
        cmocka_unit_test(types_of_one_node_choose_other_entities),
        cmocka_unit_test(types_of_one_node_have_their_own_idle_times),
        cmocka_unit_test(types_of_one_node_have_their_own_intervals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
