/* Tests the metrics: both formats, labels, what is left out, and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "mgmt/metrics.h"
#include "mgmt/metrics_write.h"

static struct process_figures process = { .has_cpu = true, .cpu_seconds = 1.5 };

static char *write_all(struct buf *text, enum metrics_format format, const struct sherd_figures *figures)
{
    const struct metrics_of of = { .version = "1.2.3", .process = &process, .figures = figures, .is_up = true,
                                   .answers = { [2] = 7 } };

    text->size = 0;
    metrics_put(text, format, &of);
    buf_put_u8(text, 0);
    return (char *)text->data;
}

/* Fails unless the text has the line. */
static void assert_line(const char *text, const char *line)
{
    size_t size = strlen(line);

    for (const char *at = text; (at = strstr(at, line)); at++)
        if ((at == text || at[-1] == '\n') && at[size] == '\n')
            return;
    fail_msg("there is no line: %s\n%s", line, text);
}

struct world {
    struct sherd_figures figures;
    struct sherd_type_status types[METRICS_TYPES_MAX + 20];
    struct type_figures of_types[METRICS_TYPES_MAX + 20];
    struct sherd_member members[2];
    uint64_t stalled[2];
};

static struct world *world_of(struct world *world, uint32_t types)
{
    memset(world, 0, sizeof *world);
    world->figures = (struct sherd_figures){
        .status = { .types = world->types, .type_count = types, .members = world->members, .member_count = 2 },
        .sums = { .types = world->of_types, .type_count = types },
        .has_control = true, .has_lanes = true, .thread_count = 2, .stalled_ms = world->stalled,
    };
    for (uint32_t i = 0; i < types; i++) {
        (void)snprintf(world->types[i].name, sizeof world->types[i].name, "T%u", (unsigned)i);
        world->types[i].entities_here = i + 1;
        world->of_types[i].registered = 1;
        world->of_types[i].shards[FIGURES_RUNNING] = 2;
    }
    world->members[0] = (struct sherd_member){ .status = SHERD_UP, .reachable = 1, .seen = 1 };
    world->members[1] = (struct sherd_member){ .status = SHERD_LEAVING };
    return world;
}

static void both_formats_differ_as_their_rules_say(void **state)
{
    static struct world world;
    struct buf text = { 0 };
    char *all;

    (void)state;
    all = write_all(&text, METRICS_TEXT, &world_of(&world, 1)->figures);
    assert_line(all, "# TYPE process_cpu_seconds_total counter");
    assert_line(all, "process_cpu_seconds_total 1.5");
    assert_line(all, "# TYPE sherd_build_info gauge");
    assert_null(strstr(all, "# UNIT"));
    assert_null(strstr(all, "# EOF"));
    all = write_all(&text, METRICS_OPEN, &world.figures);
    assert_line(all, "# TYPE process_cpu_seconds counter");
    assert_line(all, "# UNIT process_cpu_seconds seconds");
    assert_line(all, "process_cpu_seconds_total 1.5");
    assert_line(all, "# TYPE sherd_build info");
    assert_line(all, "sherd_build_info{version=\"1.2.3\"} 1");
    assert_string_equal(all + strlen(all) - 6, "# EOF\n");
    buf_fini(&text);
}

static void the_format_follows_accept(void **state)
{
    (void)state;
    assert_int_equal(metrics_format_of(slice_text(NULL)), METRICS_TEXT);
    assert_int_equal(metrics_format_of(slice_text("*/*")), METRICS_TEXT);
    assert_int_equal(metrics_format_of(slice_text("text/plain;q=0.5,application/openmetrics-text;version=1.0.0")),
                     METRICS_OPEN);
    assert_string_equal(metrics_content_type(METRICS_TEXT), "text/plain; version=0.0.4; charset=utf-8");
    assert_string_equal(metrics_content_type(METRICS_OPEN),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

static void values_are_those_of_the_figures(void **state)
{
    static struct world world;
    struct buf text = { 0 };
    char *all;

    (void)state;
    world_of(&world, 2);
    world.figures.status.undelivered[SHERD_REASON_BUFFER_FULL] = 3;
    world.figures.status.counters[SHERD_FRAMES_MALFORMED] = 4;
    world.figures.sums.waiting = 9;
    world.figures.sums.held = 2;
    world.stalled[1] = 1500;
    world.figures.sums.asks_late[SHERD_STAGE_QUEUED] = 5;
    world.of_types[1].stops[FIGURES_STOP_MOVED] = 6;
    world.figures.busy_ns = world.stalled;
    world.figures.machine_count = 2;
    all = write_all(&text, METRICS_TEXT, &world.figures);
    assert_line(all, "sherd_asks_timed_out_total{stage=\"queued\"} 5");
    assert_line(all, "sherd_entity_stops_total{type=\"T1\",cause=\"moved\"} 6");
    assert_line(all, "sherd_lane_busy_seconds_total{lane=\"1\"} 1.5e-06");
    assert_line(all, "sherd_members{status=\"Up\"} 1");
    assert_line(all, "sherd_members{status=\"Leaving\"} 1");
    assert_line(all, "sherd_members_unreachable 1");
    assert_line(all, "sherd_members_disagreeing 1");
    assert_line(all, "sherd_messages_undelivered_total{reason=\"buffer_full\"} 3");
    assert_line(all, "sherd_refusals_total{what=\"frames_malformed\"} 4");
    assert_line(all, "sherd_messages_waiting{where=\"mailbox\"} 7");
    assert_line(all, "sherd_messages_waiting{where=\"durability\"} 2");
    assert_line(all, "sherd_lane_stalled_seconds{lane=\"1\"} 1.5");
    assert_line(all, "sherd_entities{type=\"T1\"} 2");
    assert_line(all, "sherd_shards{type=\"T0\",state=\"running\"} 2");
    assert_line(all, "sherd_management_requests_total{code=\"2xx\"} 7");
    assert_null(strstr(all, "handlers_slow\""));
    buf_fini(&text);
}

static void histograms_are_cumulative(void **state)
{
    static struct world world;
    struct buf text = { 0 };
    char *all;

    (void)state;
    world_of(&world, 1);
    histogram_add(&world.of_types[0].handlers, 50);
    histogram_add(&world.of_types[0].handlers, 10000); /* a bound belongs to its range */
    histogram_add(&world.of_types[0].handlers, 10001);
    histogram_add(&world.figures.sums.commits, 40 * UINT64_C(1000000000));
    all = write_all(&text, METRICS_OPEN, &world.figures);
    assert_line(all, "# TYPE sherd_handler_seconds histogram");
    assert_line(all, "sherd_handler_seconds_bucket{type=\"T0\",le=\"1e-05\"} 2");
    assert_line(all, "sherd_handler_seconds_bucket{type=\"T0\",le=\"3e-05\"} 3");
    assert_line(all, "sherd_handler_seconds_bucket{type=\"T0\",le=\"+Inf\"} 3");
    assert_line(all, "sherd_handler_seconds_count{type=\"T0\"} 3");
    assert_line(all, "sherd_journal_commit_seconds_bucket{le=\"30.0\"} 0");
    assert_line(all, "sherd_journal_commit_seconds_bucket{le=\"+Inf\"} 1");
    assert_line(all, "sherd_journal_commit_seconds_sum 40");
    buf_fini(&text);
}

static void labels_are_escaped(void **state)
{
    static struct world world;
    struct buf text = { 0 };

    (void)state;
    world_of(&world, 3);
    (void)snprintf(world.types[0].name, sizeof world.types[0].name, "a\"b\\c\nd");
    (void)snprintf(world.types[1].name, sizeof world.types[1].name, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    (void)snprintf(world.types[2].name, sizeof world.types[2].name, "\xc3|\xff|\xed\xa0\x80|\xe2\x82");
    write_all(&text, METRICS_TEXT, &world.figures);
    assert_line((char *)text.data, "sherd_entities{type=\"a\\\"b\\\\c\\nd\"} 1");
    assert_line((char *)text.data, "sherd_entities{type=\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"} 2");
    assert_line((char *)text.data, "sherd_entities{type=\"?|?|???|\?\?\"} 3");
    buf_fini(&text);
}

static void unknown_figures_are_left_out(void **state)
{
    static struct world world;
    struct buf text = { 0 };
    char *all;

    (void)state;
    all = write_all(&text, METRICS_OPEN, NULL);
    assert_line(all, "sherd_node_up 1");
    assert_null(strstr(all, "process_open_fds"));
    assert_null(strstr(all, "sherd_members"));
    world_of(&world, 1)->figures.has_lanes = false;
    all = write_all(&text, METRICS_OPEN, &world.figures);
    assert_non_null(strstr(all, "sherd_members"));
    assert_null(strstr(all, "sherd_entities"));
    assert_null(strstr(all, "sherd_refusals"));
    buf_fini(&text);
}

static void further_types_share_a_label(void **state)
{
    static struct world world;
    struct buf text = { 0 };
    char *all;

    (void)state;
    world_of(&world, METRICS_TYPES_MAX + 3);
    world.of_types[METRICS_TYPES_MAX + 2].registered = 0;
    all = write_all(&text, METRICS_TEXT, &world.figures);
    assert_line(all, "sherd_entities{type=\"other\"} 306"); /* 101 + 102 + 103 */
    assert_line(all, "sherd_shards{type=\"other\",state=\"running\"} 6");
    assert_line(all, "sherd_region_registered{type=\"other\"} 0");
    assert_line(all, "sherd_region_registered{type=\"T99\"} 1");
    assert_null(strstr(all, "T100"));
    buf_fini(&text);
}

static void the_longest_answer_keeps_the_limit(void **state)
{
    static struct world world;
    struct buf text = { 0 };

    (void)state;
    world_of(&world, METRICS_TYPES_MAX + 20);
    for (uint32_t i = 0; i < METRICS_TYPES_MAX + 20; i++) {
        memset(world.types[i].name, '"', SHERD_TYPE_MAX);
        world.types[i].entities_here = UINT64_MAX;
        world.of_types[i].buffer_ratio = 1.0 / 3;
        for (int j = 0; j < FIGURES_SHARD_STATE_COUNT; j++)
            world.of_types[i].shards[j] = UINT64_MAX;
    }
    write_all(&text, METRICS_OPEN, &world.figures);
    assert_in_range(text.size, METRICS_BYTES_MAX / 2, METRICS_BYTES_MAX);
    buf_fini(&text);
}

/* A family stands in one piece, and is there once. */
static void families_are_not_interleaved(void **state)
{
    static struct world world;
    struct buf text = { 0 };
    char family[128] = "", before[METRIC_COUNT][128];
    int count = 0;

    (void)state;
    world_of(&world, 2)->figures.certificate_expires = 2000000000;
    world.figures.sums.has_resolver = 1;
    process = (struct process_figures){ true, true, true, true, true, 1, 2, 3, 4, 5 };
    for (char *line = strtok(write_all(&text, METRICS_OPEN, &world.figures), "\n"); line;
         line = strtok(NULL, "\n")) {
        if (sscanf(line, "# TYPE %127s", family) == 1) {
            for (int i = 0; i < count; i++)
                assert_string_not_equal(before[i], family);
            assert_in_range(count, 0, METRIC_COUNT - 1);
            memcpy(before[count++], family, sizeof family);
        } else if (line[0] != '#') {
            assert_int_equal(strncmp(line, family, strlen(family)), 0);
        }
    }
    assert_int_equal(count, METRIC_COUNT);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_formats_differ_as_their_rules_say),
        cmocka_unit_test(the_format_follows_accept),
        cmocka_unit_test(values_are_those_of_the_figures),
        cmocka_unit_test(histograms_are_cumulative),
        cmocka_unit_test(labels_are_escaped),
        cmocka_unit_test(unknown_figures_are_left_out),
        cmocka_unit_test(further_types_share_a_label),
        cmocka_unit_test(the_longest_answer_keeps_the_limit),
        cmocka_unit_test(families_are_not_interleaved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
