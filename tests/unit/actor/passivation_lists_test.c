/* Checks the lists of passivation, which order entities by recency or frequency: the scripts of
 * Akka's tests. An entity is a letter, and its slot the letter's place in the alphabet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "actor/passivation/area.h"
#include "base/check.h"

#define LETTERS 26

struct lists {
    struct area_settings settings;
    struct area area;
    struct ranks ranks;
    struct slots removed;
};

static void begin(struct lists *lists, struct area_settings settings, uint32_t limit)
{
    *lists = (struct lists){ .settings = settings };
    lists->ranks.items = mem_alloc((LETTERS + 1) * sizeof *lists->ranks.items);
    lists->ranks.count = LETTERS + 1;
    area_init(&lists->area, &lists->settings, RANK_MAIN);
    area_set_limit(&lists->area, &lists->ranks, limit, &lists->removed);
}

static void end(struct lists *lists)
{
    area_fini(&lists->area, &lists->ranks);
    mem_free(lists->ranks.items);
    vec_fini(&lists->removed);
}

static uint32_t slot_of(char letter)
{
    return (uint32_t)(letter - 'a') + 1;
}

/* Compares what was removed since the last comparison. */
static void check_removed(struct lists *lists, const char *letters)
{
    assert_int_equal(lists->removed.count, strlen(letters));
    for (uint32_t i = 0; letters[i]; i++)
        assert_int_equal(lists->removed.items[i], slot_of(letters[i]));
    lists->removed.count = 0;
}

/* Reads a list from this slot on; returns the end of the letters. */
static const char *check_list(const struct lists *lists, uint32_t first, const char *letters)
{
    for (uint32_t slot = first; slot; slot = lists->ranks.items[slot].next)
        assert_int_equal(slot, slot_of(*letters++));
    return letters;
}

/* --- recency --- */

static void use_recent(struct lists *lists, const char *letters)
{
    for (; *letters; letters++)
        recency_use(&lists->area, &lists->ranks, slot_of(*letters));
}

static void trim_recent(struct lists *lists, const char *removed)
{
    recency_trim(&lists->area, &lists->ranks, &lists->removed);
    check_removed(lists, removed);
}

/* The segments from the least to the most recent, with a bar between two. */
static void check_segments(const struct lists *lists, const char *letters)
{
    for (uint32_t i = 0; i < lists->area.levels; i++) {
        letters = check_list(lists, lists->area.segments[i].first, letters);
        if (i + 1 < lists->area.levels)
            assert_int_equal(*letters++, '|');
    }
    assert_int_equal(*letters, 0);
}

static void recency_is_kept_in_two_segments_UTL002(void **state)
{
    struct lists lists;
    (void)state;

    begin(&lists, (struct area_settings){ .policy = PASSIVATION_LEAST_RECENT, .levels = 2,
                                          .shares = { 0.4, 0.6 } }, 5);
    assert_int_equal(lists.area.segments[0].limit, 2);
    assert_int_equal(lists.area.segments[1].limit, 3);
    check_segments(&lists, "|");
    use_recent(&lists, "abcdef");
    check_segments(&lists, "abcdef|");
    trim_recent(&lists, "a");
    check_segments(&lists, "bcdef|");
    use_recent(&lists, "abcd");
    check_segments(&lists, "efa|bcd");
    trim_recent(&lists, "e");
    check_segments(&lists, "fa|bcd");
    use_recent(&lists, "a");
    check_segments(&lists, "fb|cda");
    trim_recent(&lists, "");
    use_recent(&lists, "abcdefg");
    check_segments(&lists, "aebg|cdf");
    trim_recent(&lists, "ae");
    check_segments(&lists, "bg|cdf");
    end(&lists);
}

static void recency_is_kept_in_four_segments(void **state)
{
    struct lists lists;
    (void)state;

    begin(&lists, (struct area_settings){ .policy = PASSIVATION_LEAST_RECENT, .levels = 4,
                                          .shares = { 0.4, 0.3, 0.2, 0.1 } }, 10);
    use_recent(&lists, "abcdef");
    trim_recent(&lists, "");
    use_recent(&lists, "ghijkl");
    check_segments(&lists, "abcdefghijkl|||");
    trim_recent(&lists, "ab");
    use_recent(&lists, "bdfhjl");
    check_segments(&lists, "cegikbdf|hjl||");
    use_recent(&lists, "hijklm");
    check_segments(&lists, "cegbdfm|ikh|jl|");
    trim_recent(&lists, "ce");
    use_recent(&lists, "jklmnop");
    check_segments(&lists, "gbdfnop|ihm|kj|l");
    trim_recent(&lists, "gbd");
    check_segments(&lists, "fnop|ihm|kj|l");
    end(&lists);
}

static void limits_of_segments_may_change_UTL004(void **state)
{
    struct lists lists;
    (void)state;

    begin(&lists, (struct area_settings){ .policy = PASSIVATION_LEAST_RECENT, .levels = 2,
                                          .shares = { 0.2, 0.8 } }, 10);
    use_recent(&lists, "abcdefghijkl");
    use_recent(&lists, "abcdefghijkl");
    check_segments(&lists, "abcd|efghijkl");
    trim_recent(&lists, "ab");
    check_segments(&lists, "cd|efghijkl");
    area_set_limit(&lists.area, &lists.ranks, 5, &lists.removed);
    check_removed(&lists, "cdefg");
    check_segments(&lists, "h|ijkl");
    end(&lists);
}

/* --- frequency --- */

static void use_frequent(struct lists *lists, const char *letters)
{
    for (; *letters; letters++)
        frequency_use(&lists->area, &lists->ranks, slot_of(*letters));
}

static void remove_frequent(struct lists *lists, const char *letters)
{
    for (; *letters; letters++)
        frequency_remove(&lists->area, &lists->ranks, slot_of(*letters));
}

static void trim_frequent(struct lists *lists, uint32_t kept, const char *removed)
{
    frequency_trim(&lists->area, &lists->ranks, kept, &lists->removed);
    check_removed(lists, removed);
}

/* The entities from the least to the most frequent. */
static void check_frequencies(const struct lists *lists, const char *letters)
{
    for (uint32_t i = lists->area.lowest; i; i = lists->area.buckets.items[i].higher)
        letters = check_list(lists, lists->area.buckets.items[i].first, letters);
    assert_int_equal(*letters, 0);
}

/* The next victim that is not `kept`, then it is removed. */
static void check_other(struct lists *lists, char kept, char wanted)
{
    assert_int_equal(area_select_other(&lists->area, &lists->ranks, slot_of(kept)),
                     slot_of(wanted));
    frequency_remove(&lists->area, &lists->ranks, slot_of(wanted));
}

/* No strategy removes the most frequent entities, so the script's steps for these only check that
 * they are the last of the list. */
static void frequency_is_kept_in_buckets_UTL006(void **state)
{
    struct lists lists;
    (void)state;

    begin(&lists, (struct area_settings){ .policy = PASSIVATION_LEAST_FREQUENT }, LETTERS);
    use_frequent(&lists, "abc");
    check_frequencies(&lists, "abc");
    use_frequent(&lists, "ac");
    check_frequencies(&lists, "bac");
    use_frequent(&lists, "defg");
    check_frequencies(&lists, "bdefgac");
    use_frequent(&lists, "cf");
    check_frequencies(&lists, "bdegafc");
    remove_frequent(&lists, "dgbf");
    check_frequencies(&lists, "eac");
    use_frequent(&lists, "ehi");
    check_frequencies(&lists, "hiaec");
    trim_frequent(&lists, 2, "hia");
    check_frequencies(&lists, "ec");
    use_frequent(&lists, "jklm");
    check_frequencies(&lists, "jklmec");
    check_other(&lists, 'j', 'k');
    check_other(&lists, 'l', 'j');
    check_other(&lists, 'l', 'm');
    check_frequencies(&lists, "lec");
    use_frequent(&lists, "nopeol");
    check_frequencies(&lists, "npolce");
    remove_frequent(&lists, "ecl");
    use_frequent(&lists, "qrpon");
    check_frequencies(&lists, "qrpno");
    remove_frequent(&lists, "nor");
    check_frequencies(&lists, "qp");
    end(&lists);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recency_is_kept_in_two_segments_UTL002),
        cmocka_unit_test(recency_is_kept_in_four_segments),
        cmocka_unit_test(limits_of_segments_may_change_UTL004),
        cmocka_unit_test(frequency_is_kept_in_buckets_UTL006),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
