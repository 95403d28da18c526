/* Checks what actors count for metrics: incarnations, times of handlers, asks that time out. */
#include "lab.h"

static struct type_figures figures_of(uint16_t type)
{
    struct type_figures figures = { .starts = 0 };

    actors_type_figures(lab.actors, type, &figures);
    return figures;
}

static uint64_t count_of(const struct histogram *histogram)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < HISTOGRAM_RANGES; i++)
        count += histogram->counts[i];
    return count;
}

static void incarnations_are_counted_with_the_cause_of_their_end(void **state)
{
    struct type_figures figures;

    (void)state;
    lab.quiet = true;
    ENTITY_ORDER(TYPE_A, "asks", { DO_PASSIVATE });
    lab_entity_tell(TYPE_A, "fails", 61);
    lab_entity_tell(TYPE_A, "moves", 5);
    lab_run();
    actors_shard_stop(lab.actors, TYPE_A, hash_shard(slice_text("moves"), 10), lab.now + SECOND);
    lab_run();
    figures = figures_of(TYPE_A);
    assert_int_equal(figures.starts, 3);
    assert_int_equal(figures.stops[FIGURES_STOP_ASKED], 1);
    assert_int_equal(figures.stops[FIGURES_STOP_FAILED], 1);
    assert_int_equal(figures.stops[FIGURES_STOP_MOVED], 1);
    assert_int_equal(figures.stops[FIGURES_STOP_IDLE], 0);
    assert_int_equal(figures_of(TYPE_S).starts, 0);
    assert_int_equal(figures_of(UINT16_MAX).starts, 0);
}

static void an_idle_entity_ends_as_idle(void **state)
{
    (void)state;
    lab.quiet = true;
    lab_entity_tell(TYPE_IDLE, "x", 5);
    lab_run();
    for (int i = 0; i < 40; i++)
        lab_advance(50);
    assert_int_equal(figures_of(TYPE_IDLE).stops[FIGURES_STOP_IDLE], 1);
}

static void asks_that_time_out_are_counted(void **state)
{
    struct sherd_ref a = lab_spawn("a"), b = lab_spawn("b");
    struct actors_status status;
    uint64_t late = 0;

    (void)state;
    lab.quiet = true;
    ORDER(a, { DO_ASK, 5, .ref = b, .tag = 1, .ms = 10 });
    lab_run();
    lab_advance(50);
    status = lab_status();
    for (int i = 0; i < SHERD_STAGE_COUNT; i++)
        late += status.asks_late[i];
    assert_int_equal(late, 1);
    assert_int_equal(status.asks, 0);
}

static uint64_t fake_time;

static uint64_t fake_clock(void)
{
    return fake_time += 20 * MS; /* each reading */
}

static void handlers_are_sampled_where_the_clock_is_read(void **state)
{
    struct type_figures figures;

    (void)state;
    lab_close();
    lab_open_with((struct actors_settings){ .clock = fake_clock });
    lab.quiet = true;
    lab_entity_tell(TYPE_A, "x", 5);
    lab_run();
    figures = figures_of(TYPE_A);
    assert_int_equal(count_of(&figures.handlers), 1);
    assert_int_equal(figures.handlers.sum_ns, 10 * MS); /* SHERD_STARTED and the message */
    lab_spawn("a");
    lab_run();
    figures = figures_of(TYPE_A);
    assert_int_equal(count_of(&figures.handlers), 1); /* an actor has no type */
}

static void a_histogram_counts_in_ranges(void **state)
{
    static const uint64_t bounds[] = {
#define X(bound, text) UINT64_C(bound),
        HISTOGRAM_BOUNDS(X)
#undef X
    };
    struct histogram one = { .sum_ns = 0 }, sum = { .sum_ns = 1 };

    (void)state;
    for (uint32_t i = 0; i + 1 < HISTOGRAM_RANGES; i++) {
        histogram_add(&one, bounds[i]);
        assert_int_equal(one.counts[i], i ? 2 : 1);
        histogram_add(&one, bounds[i] + 1);
        assert_int_equal(one.counts[i + 1], 1);
    }
    histogram_add(&one, UINT64_MAX / 2);
    assert_int_equal(one.counts[HISTOGRAM_RANGES - 1], 2);
    histogram_join(&sum, &one);
    assert_int_equal(count_of(&sum), count_of(&one));
    assert_int_equal(sum.sum_ns, one.sum_ns + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
        TEST(incarnations_are_counted_with_the_cause_of_their_end),
        TEST(an_idle_entity_ends_as_idle),
        TEST(asks_that_time_out_are_counted),
        TEST(handlers_are_sampled_where_the_clock_is_read),
        TEST(a_histogram_counts_in_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
