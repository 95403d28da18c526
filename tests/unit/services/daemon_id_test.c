/* Tests the ids of daemons and the stored states of their count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/daemon_id.h"
#include "services/daemons_state.h"

static struct daemon_id parsed(const char *text)
{
    struct daemon_id id;

    assert_true(daemon_id_parse(slice_text(text), &id));
    return id;
}

static void a_single_number_is_an_id_of_the_first_revision_PKO024_PKO026(void **state)
{
    struct daemon_id id = parsed("1");

    (void)state;
    assert_int_equal(id.revision, 0);
    assert_int_equal(id.number, 1);
}

static void three_numbers_are_an_id_of_a_later_revision_PKO025(void **state)
{
    struct daemon_id id = parsed("1|4|3");

    (void)state;
    assert_int_equal(id.revision, 1);
    assert_int_equal(id.count, 4);
    assert_int_equal(id.number, 3);
}

static void ids_are_written_as_they_are_read_PKO027_PKO028(void **state)
{
    char text[DAEMON_ID_MAX];

    (void)state;
    daemon_id_put(text, &(struct daemon_id){ 0, 8, 4 });
    assert_string_equal(text, "4");
    daemon_id_put(text, &(struct daemon_id){ 1, 8, 4 });
    assert_string_equal(text, "1|8|4");
    daemon_id_put(text, &(struct daemon_id){ UINT32_MAX, UINT32_MAX, UINT32_MAX - 1 });
    assert_int_equal(parsed(text).number, UINT32_MAX - 1);
}

static void other_texts_are_no_ids(void **state)
{
    static const char *const texts[] = { "",      "x",     "01",     "1|4",    "1|4|",   "1|4|4",
                                         "0|4|1", "1|4|3x", "1||3", "|1|2",   "1|4|3|2", "4294967296" };
    struct daemon_id id;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(daemon_id_parse(slice_text(texts[i]), &id));
    assert_true(daemon_type_is("sharded-daemon-process-a"));
    assert_false(daemon_type_is("sharded-daemon"));
}

static void states_are_written_as_they_are_read(void **state)
{
    const struct daemons_state given = { 7, 8, 4, true };
    struct daemons_state read;
    char text[DAEMONS_STATE_MAX];

    (void)state;
    daemons_state_put(text, &given);
    assert_string_equal(text, "c7|8|4");
    assert_true(daemons_state_read(slice_text(text), &read));
    assert_int_equal(read.revision, 7);
    assert_int_equal(read.count, 8);
    assert_int_equal(read.former, 4);
    assert_true(read.is_complete);
    assert_true(daemons_state_read(slice_text("o7|8|4"), &read));
    assert_false(read.is_complete);
    assert_false(daemons_state_read(slice_text("7|8|4"), &read));
    assert_false(daemons_state_read(slice_text("c7|0|4"), &read));
    assert_false(daemons_state_read(slice_text("c7|8|4 "), &read));
    assert_false(daemons_state_read(slice_text("c7|8"), &read));
}

static void a_complete_state_wins_within_its_revision_PKO034(void **state)
{
    const struct daemons_state open = { 2, 5, 4, false }, complete = { 2, 5, 4, true },
                               larger = { 2, 6, 4, true }, next = { 3, 1, 5, false };
    struct daemons_state merged = open;

    (void)state;
    daemons_state_merge(&merged, &complete);
    assert_true(merged.is_complete);
    daemons_state_merge(&merged, &open);
    assert_true(merged.is_complete);
    daemons_state_merge(&merged, &larger);
    assert_int_equal(merged.count, 6);
    daemons_state_merge(&merged, &complete);
    assert_int_equal(merged.count, 6);
    daemons_state_merge(&merged, &next);
    assert_int_equal(merged.revision, 3);
    daemons_state_merge(&merged, &larger);
    assert_int_equal(merged.revision, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_number_is_an_id_of_the_first_revision_PKO024_PKO026),
        cmocka_unit_test(three_numbers_are_an_id_of_a_later_revision_PKO025),
        cmocka_unit_test(ids_are_written_as_they_are_read_PKO027_PKO028),
        cmocka_unit_test(other_texts_are_no_ids),
        cmocka_unit_test(states_are_written_as_they_are_read),
        cmocka_unit_test(a_complete_state_wins_within_its_revision_PKO034),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
