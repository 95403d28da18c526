/* Tests the strategies of passivation that a configuration chooses: those of Akka's own tests, one
 * row each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/timers.h"
#include "host/settings.h"

#define NEVER UINT64_MAX
#define MINUTE (60 * SECOND)

/* The keys of cluster.sharding, and what they mean. A strategy without a window or a filter is not
 * composite. */
struct row {
    const char *text;
    uint64_t idle_after;
    uint64_t interval; /* 0: not set */
    uint32_t limit;
    struct area_settings main;
    enum passivation_policy window;
    double window_share;
    bool climbs;
    bool has_filter;
};

static void check_main(const struct area_settings *found,
                       const struct area_settings *wanted)
{
    assert_int_equal(found->policy, wanted->policy);
    if (wanted->policy == PASSIVATION_LEAST_RECENT) {
        assert_int_equal(found->levels, wanted->levels);
        assert_memory_equal(found->shares, wanted->shares, sizeof found->shares);
    }
    assert_int_equal(found->is_aging, wanted->is_aging);
}

static void check_composite(const struct passivation_settings *found,
                            const struct row *row)
{
    assert_int_equal(found->window.policy, row->window);
    assert_int_equal(found->window.levels, 0);
    assert_int_equal(found->climbs, row->climbs);
    assert_int_equal(found->has_filter, row->has_filter);
    assert_true(found->window_share == row->window_share);
    assert_true(found->window_share_min == 0.01);
    assert_true(found->window_share_max == 1);
    assert_true(found->climb.adjust_multiplier == 10 &&
                found->climb.initial_step == 0.0625 &&
                found->climb.restart_threshold == 0.05 &&
                found->climb.step_decay == 0.98);
    assert_true(found->filter.depth == 4 && found->filter.bits == 4 &&
                found->filter.width_multiplier == 4 &&
                found->filter.reset_multiplier == 10);
}

static void the_strategy_is_configured(void **state)
{
    const struct row *row = *state;
    struct sherd_options options = { .journal = "memory" };
    struct settings settings;
    char text[1200];
    char error[512] = "";

    (void)snprintf(text, sizeof text, "akka.cluster.sharding {\n%s\n}", row->text);
    options.config_text = text;
    if (settings_read(&settings, &options, error, sizeof error) != 0)
        fail_msg("%s", error);
    assert_true(settings.node.passivate_idle_after == row->idle_after);
    assert_true(settings.node.passivate_interval == row->interval);
    assert_int_equal(settings.node.active_entity_limit, row->limit);
    check_main(&settings.node.passivation.main, &row->main);
    if (row->main.policy != PASSIVATION_NONE)
        check_composite(&settings.node.passivation, row);
    settings_fini(&settings);
}

#define RECENT { .policy = PASSIVATION_LEAST_RECENT }
#define SEGMENTED                                                              \
    { .policy = PASSIVATION_LEAST_RECENT, .levels = 2, .shares = { 0.2, 0.8 } }
#define MOST_RECENT { .policy = PASSIVATION_MOST_RECENT }
#define FREQUENT { .policy = PASSIVATION_LEAST_FREQUENT }
#define AGING { .policy = PASSIVATION_LEAST_FREQUENT, .is_aging = true }
#define NO_WINDOW PASSIVATION_NONE, 0.01, false, false
#define COMPOSITE PASSIVATION_LEAST_RECENT, 0.01, true, true
#define OWN(keys)                                                              \
    "passivation { strategy = own\n own { active-entity-limit = 1000000\n" keys "\n} }"
#define IDLE "\nidle-entity.timeout = 30.minutes"
#define SEGMENTS                                                               \
    "replacement { policy = least-recently-used\n"                             \
    "least-recently-used.segmented { levels = 2\n proportions = [0.2, 0.8] } }\n"
#define ADMISSION                                                              \
    "admission { window { policy = least-recently-used\n"                      \
    "optimizer = hill-climbing }\n filter = frequency-sketch }\n" SEGMENTS
#define WINDOW(keys)                                                           \
    "admission.window { policy = least-recently-used\n" keys                   \
    "}\n replacement.policy = least-frequently-used\n"

#define ROW(name, ...)                                                         \
    { #name, the_strategy_is_configured, NULL, NULL, &(struct row){ __VA_ARGS__ } }
#define IDLE_ONLY(name, text, after, interval)                                 \
    ROW(name, text, after, interval, 0, { 0 }, NO_WINDOW)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IDLE_ONLY(entities_are_idle_after_120_seconds_by_default, "",
                  120 * SECOND, 0),
        IDLE_ONLY(the_idle_time_is_configured,
                  "passivation.default-idle-strategy.idle-entity.timeout = 3 minutes",
                  3 * MINUTE, 0),
        IDLE_ONLY(idle_time_and_interval_are_configured_SHD016,
                  "passivation.default-idle-strategy.idle-entity { timeout = 3 minutes\n"
                  "interval = 1 minute }",
                  3 * MINUTE, MINUTE),
        IDLE_ONLY(an_idle_time_of_zero_passivates_nothing_SHD049,
                  "passivation.default-idle-strategy.idle-entity.timeout = 0",
                  NEVER, 0),
        IDLE_ONLY(the_strategy_none_passivates_nothing,
                  "passivation.strategy = none", NEVER, 0),
        IDLE_ONLY(the_old_key_of_the_idle_time_overrides_a_strategy,
                  "passivate-idle-entity-after = 5 minutes\n"
                  "passivation.strategy = default-strategy",
                  5 * MINUTE, 0),
        ROW(the_default_strategy_has_a_limit,
            "passivation.strategy = default-strategy", NEVER, 0, 100000,
            SEGMENTED, COMPOSITE),
        ROW(the_limit_of_the_default_strategy_is_configured_SHD019,
            "passivation { strategy = default-strategy\n"
            "default-strategy.active-entity-limit = 1000000 }",
            NEVER, 0, 1000000, SEGMENTED, COMPOSITE),
        ROW(the_default_strategy_may_have_an_idle_time_SHD020,
            "passivation { strategy = default-strategy\n"
            "default-strategy.idle-entity.timeout = 30.minutes }",
            30 * MINUTE, 0, 100000, SEGMENTED, COMPOSITE),
        ROW(the_least_recently_used_are_chosen_SHD021,
            OWN("replacement.policy = least-recently-used"), NEVER, 0, 1000000,
            RECENT, NO_WINDOW),
        ROW(two_segments_are_configured_SHD023, OWN(SEGMENTS), NEVER, 0,
            1000000, SEGMENTED, NO_WINDOW),
        ROW(four_equal_segments_are_configured,
            OWN("replacement { policy = least-recently-used\n"
                "least-recently-used.segmented.levels = 4 }"),
            NEVER, 0, 1000000,
            { .policy = PASSIVATION_LEAST_RECENT, .levels = 4 }, NO_WINDOW),
        ROW(the_least_recently_used_and_the_idle_are_chosen_SHD026,
            OWN("replacement.policy = least-recently-used" IDLE), 30 * MINUTE,
            0, 1000000, RECENT, NO_WINDOW),
        ROW(the_most_recently_used_are_chosen_SHD028,
            OWN("replacement.policy = most-recently-used"), NEVER, 0, 1000000,
            MOST_RECENT, NO_WINDOW),
        ROW(the_most_recently_used_and_the_idle_are_chosen_SHD030,
            OWN("replacement.policy = most-recently-used" IDLE), 30 * MINUTE, 0,
            1000000, MOST_RECENT, NO_WINDOW),
        ROW(the_least_frequently_used_are_chosen_SHD032,
            OWN("replacement.policy = least-frequently-used"), NEVER, 0,
            1000000, FREQUENT, NO_WINDOW),
        ROW(the_least_frequently_used_and_the_idle_are_chosen_SHD034,
            OWN("replacement.policy = least-frequently-used" IDLE), 30 * MINUTE,
            0, 1000000, FREQUENT, NO_WINDOW),
        ROW(dynamic_aging_is_configured_SHD036,
            OWN("replacement { policy = least-frequently-used\n"
                "least-frequently-used.dynamic-aging = on }"),
            NEVER, 0, 1000000, AGING, NO_WINDOW),
        ROW(a_window_has_one_percent_by_default, OWN(WINDOW("")), NEVER, 0,
            1000000, FREQUENT, PASSIVATION_LEAST_RECENT, 0.01, false, false),
        ROW(the_part_of_the_window_is_configured_SHD039,
            OWN(WINDOW("proportion = 0.1\n")), NEVER, 0, 1000000, FREQUENT,
            PASSIVATION_LEAST_RECENT, 0.1, false, false),
        ROW(a_window_may_adapt_its_part_SHD040,
            OWN(WINDOW("optimizer = hill-climbing\n")), NEVER, 0, 1000000,
            FREQUENT, PASSIVATION_LEAST_RECENT, 0.01, true, false),
        ROW(admission_is_configured_SHD041, OWN(ADMISSION), NEVER, 0, 1000000,
            SEGMENTED, COMPOSITE),
        ROW(admission_may_have_an_idle_time_SHD045, OWN(ADMISSION IDLE),
            30 * MINUTE, 0, 1000000, SEGMENTED, COMPOSITE),
    };

    return cmocka_run_group_tests_name("settings_passivation", tests, NULL, NULL);
}
