/* Tests decisions of the strategies, one row each. Members are letters in the order of their
 * addresses. A small letter after one is its status (j joining, w weakly up, l leaving, e exiting,
 * d down), a star its role. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "resolver/strategy.h"

#define MEMBERS_MAX 8
#define RECORDS_MAX 32

static const struct strategy majority = { .kind = STRATEGY_KEEP_MAJORITY };
static const struct strategy quorum3 = { .kind = STRATEGY_STATIC_QUORUM,
                                         .quorum_size = 3 };
static const struct strategy oldest = { .kind = STRATEGY_KEEP_OLDEST };
static const struct strategy oldest_alone = { .kind = STRATEGY_KEEP_OLDEST,
                                              .keeps_alone = true };
static const struct strategy all = { .kind = STRATEGY_DOWN_ALL };
static const struct strategy lease = { .kind = STRATEGY_LEASE_MAJORITY,
                                       .minority_delay = 2000 };

struct scene {
    struct kept_member members[MEMBERS_MAX];
    struct side_record records[RECORDS_MAX];
    struct side side;
};

/* Addresses of one letter, lent as long as the program. */
static const struct kept_address *letter_address(char letter)
{
    static struct kept_address *addresses[128];
    struct kept_address **address = &addresses[(unsigned char)letter & 127];

    if (!*address)
        *address = address_keep(
            &(struct address){ .host = { letter }, .port = 2550 });
    return *address;
}

static struct kept_member *member_of(struct scene *scene, char letter)
{
    for (uint32_t i = 0; i < scene->side.member_count; i++)
        if (scene->members[i].address->host[0] == letter)
            return &scene->members[i];
    fail_msg("no member %c", letter);
    return NULL;
}

static enum member_status status_of(char letter)
{
    switch (letter) {
    case 'j':
        return MEMBER_JOINING;
    case 'w':
        return MEMBER_WEAKLY_UP;
    case 'l':
        return MEMBER_LEAVING;
    case 'e':
        return MEMBER_EXITING;
    case 'd':
        return MEMBER_DOWN;
    default:
        return MEMBER_UP;
    }
}

/* "A Bj C*": without any star all have the role. Later letters are older. */
static void put_members(struct scene *scene, const char *text)
{
    bool has_roles = strchr(text, '*') != NULL;

    for (; *text; text++) {
        uint32_t count = scene->side.member_count;
        struct kept_member *last = &scene->members[count ? count - 1 : 0];

        if (*text == '*') {
            last->has_role = true;
        } else if (*text >= 'a' && *text <= 'z') {
            last->status = status_of(*text);
            if (*text == 'j' || *text == 'w')
                last->up_number = INT32_MAX;
        } else if (*text != ' ') {
            struct kept_member member = {
                .uid = 7,
                .address = letter_address(*text),
                .up_number = 'Z' - *text,
                .status = MEMBER_UP,
                .has_role = !has_roles,
                .reachable = true,
            };

            scene->members[scene->side.member_count++] = member;
        }
    }
}

/* "A>B A>C" */
static void put_records(struct scene *scene, const char *text)
{
    for (; *text; text++)
        if (*text == '>')
            scene->records[scene->side.record_count++] = (struct side_record){
                .observer = (uint32_t)(member_of(scene, text[-1]) -
                                       scene->members),
                .subject = (uint32_t)(member_of(scene, text[1]) -
                                      scene->members),
            };
}

static void set(struct scene *scene, const char *members,
                const char *unreachable, const char *records, const char *seen)
{
    memset(scene, 0, sizeof *scene);
    scene->side.members = scene->members;
    scene->side.records = scene->records;
    put_members(scene, members);
    put_records(scene, records);
    for (; *unreachable; unreachable++)
        if (*unreachable != ' ')
            member_of(scene, *unreachable)->reachable = false;
    for (; *seen; seen++)
        member_of(scene, *seen)->seen = true;
}

static const char *targets(const struct scene *scene,
                           const struct strategy *strategy,
                           enum decision decision)
{
    static char text[MEMBERS_MAX + 1];
    bool down[MEMBERS_MAX];
    uint32_t size = 0;
    uint32_t found =
        strategy_targets(strategy, &scene->side, decision, down);

    for (uint32_t i = 0; i < scene->side.member_count; i++)
        if (down[i])
            text[size++] = scene->members[i].address->host[0];
    text[size] = 0;
    assert_int_equal(size, found);
    return text;
}

struct row {
    const char *name;
    const struct strategy *strategy;
    const char *members;
    const char *unreachable; /* as the side sees it */
    const char *records;
    const char *seen;
    const char *downed;
};

#include "jvm_rows.h"

static void judge(const struct row *row)
{
    struct scene scene;
    const char *downed;

    set(&scene, row->members, row->unreachable, row->records, row->seen);
    downed = targets(&scene, row->strategy,
                     strategy_decide(row->strategy, &scene.side));
    if (strcmp(downed, row->downed) != 0)
        fail_msg("%s: %s without %s, records %s, seen by %s: downs \"%s\", "
                 "not \"%s\"",
                 row->name, row->members, row->unreachable, row->records,
                 row->seen, downed, row->downed);
}

struct rows {
    const struct row *items;
    size_t count;
};

/* The sides of one scene decide as the rows say. */
static void the_sides_decide(void **state)
{
    const struct rows *rows = *state;

    for (size_t i = 0; i < rows->count; i++)
        judge(&rows->items[i]);
}

/* Decisions for 840 scenes, as a JVM made them. */
static void decisions_are_those_of_a_jvm(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof jvm_rows / sizeof *jvm_rows; i++)
        judge(&jvm_rows[i]);
}

/* A leads without the role and has moved B to up. The other side does not know and considers C the
 * lowest. In Akka both sides stay. */
static void joining_members_break_a_tie_if_set(void **state)
{
    static const struct strategy breaks = { .kind = STRATEGY_KEEP_MAJORITY,
                                            .joining_breaks_tie = true };
    static const struct row rows[] = {
        { "ABE|CD", &majority, "AB*C*D*E*", "CD", "", "", "CD" },
        { "CD|ABjE", &majority, "ABj*C*D*E*", "ABE", "", "", "ABE" },
        { "ABE|CD", &breaks, "AB*C*D*E*", "CD", "", "", "CD" },
        { "CD|ABjE", &breaks, "ABj*C*D*E*", "ABE", "", "", "ABCDE" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        judge(&rows[i]);
}

static void is_leased(const struct scene *scene, enum decision decision,
                      uint64_t delay, const char *downed)
{
    assert_int_equal(strategy_decide(&lease, &scene->side), decision);
    assert_int_equal(strategy_lease_delay(&lease, &scene->side), delay);
    assert_string_equal(targets(scene, &lease, decision), downed);
}

/* The half with the lowest address of the role asks for the lease first. */
static void the_lowest_half_asks_for_the_lease_first_SBR061(void **state)
{
    struct scene scene;

    (void)state;
    set(&scene, "ABC*D*E", "BC", "", "");
    is_leased(&scene, DECISION_LEASE_UNREACHABLE, 2000, "BC");
    set(&scene, "ABC*D*E", "ADE", "", "");
    is_leased(&scene, DECISION_LEASE_UNREACHABLE, 0, "ADE");
}

static void the_lease_decides_about_a_pair_SBR062(void **state)
{
    struct scene scene;

    (void)state;
    set(&scene, "ABC", "AB", "A>B B>A", "");
    is_leased(&scene, DECISION_LEASE_INDIRECT, 0, "AB");
    assert_int_equal(decision_reverse(DECISION_LEASE_INDIRECT),
                     DECISION_REVERSE_INDIRECT);
    assert_string_equal(targets(&scene, &lease, DECISION_REVERSE_INDIRECT),
                        "ABC");
}

static void the_lease_decides_about_a_pair_and_a_partition_SBR063(void **state)
{
    struct scene scene;

    (void)state;
    set(&scene, "ABCDE", "BCDE", "B>C C>B A>D A>E", ""); /* side 1 */
    is_leased(&scene, DECISION_LEASE_INDIRECT, 0, "BCDE");
    assert_string_equal(targets(&scene, &lease, DECISION_REVERSE_INDIRECT),
                        "ABC");
    set(&scene, "ABCDE", "ABC", "D>A D>B E>C", ""); /* side 2 */
    is_leased(&scene, DECISION_LEASE_UNREACHABLE, 2000, "ABC");
    set(&scene, "ABCDE", "ABC", "D>A B>C C>B", ""); /* with the pair known */
    is_leased(&scene, DECISION_LEASE_INDIRECT, 0, "ABC");
    assert_string_equal(targets(&scene, &lease, DECISION_REVERSE_INDIRECT),
                        "BCDE");
}

static void names_of_strategies_are_parsed_and_printed(void **state)
{
    enum strategy_kind kind;

    (void)state;
#define X(name, text)                          \
    assert_true(strategy_parse(text, &kind));  \
    assert_int_equal(kind, name);              \
    assert_string_equal(strategy_text(kind), text);
    STRATEGIES(X)
#undef X
    assert_false(strategy_parse("keep-referee", &kind));
    assert_false(strategy_parse("", &kind));
}

/* Each of these with an id is a test of Akka's. */
#define SCENE(name, ...)                                                       \
    { #name, the_sides_decide, NULL, NULL,                                     \
      &(struct rows){ (const struct row[]){ __VA_ARGS__ },                     \
                      sizeof((const struct row[]){ __VA_ARGS__ }) /            \
                          sizeof(struct row) } }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE(a_quorum_keeps_enough_members_SBR003,
              { "ACE|BD", &quorum3, "ABCDE", "BD", "", "", "BD" },
              { "BD|ACE", &quorum3, "ABCDE", "ACE", "", "", "BD" }),
        SCENE(two_sides_without_a_quorum_end_SBR004,
              { "AB|CD", &quorum3, "ABCD", "CD", "", "", "AB" },
              { "CD|AB", &quorum3, "ABCD", "AB", "", "", "CD" }),
        SCENE(a_quorum_of_too_many_members_downs_all_SBR006,
              { "ABC|DEF", &quorum3, "ABCDEF", "DEF", "", "", "ABCDEF" },
              { "DEF|ABC", &quorum3, "ABCDEF", "ABC", "", "", "ABCDEF" }),
        SCENE(a_quorum_counts_leaving_but_not_exiting_members_SBR008,
              { "ABCl|DE", &quorum3, "ABClDE", "DE", "", "", "DE" },
              { "DE|ABCl", &quorum3, "ABClDE", "ABC", "", "", "DE" },
              { "ABCe|DE", &quorum3, "ABCeDE", "DE", "", "", "AB" },
              { "DE|ABCe", &quorum3, "ABCeDE", "ABC", "", "", "DE" }),
        SCENE(a_quorum_downs_pairs_first,
              { "pair and crash", &quorum3, "ABCDE", "ABC", "A>B B>A D>C", "",
                "ABC" },
              { "too many with a pair", &quorum3, "ABCDEF", "AB", "A>B B>A", "",
                "ABCDEF" }),
        SCENE(the_majority_with_the_lowest_address_stays_SBR009,
              { "ACE|BD", &majority, "ABCDE", "BD", "", "", "BD" },
              { "BD|ACE", &majority, "ABCDE", "ACE", "", "", "BD" }),
        SCENE(the_majority_of_high_addresses_stays_SBR010,
              { "AB|CDE", &majority, "ABCDE", "CDE", "", "", "AB" },
              { "CDE|AB", &majority, "ABCDE", "AB", "", "", "AB" }),
        SCENE(a_member_alone_downs_itself_SBR011,
              { "B|AC", &majority, "ABC", "AC", "", "", "B" },
              { "AC|B", &majority, "ABC", "B", "", "", "B" }),
        SCENE(half_of_the_members_stay_with_the_lowest_address_SBR012,
              { "AB|CD", &majority, "ABCD", "CD", "", "", "CD" },
              { "CD|AB", &majority, "ABCD", "AB", "", "", "CD" }),
        SCENE(one_of_two_members_stays_SBR013,
              { "A|B", &majority, "AB", "B", "", "", "B" },
              { "B|A", &majority, "AB", "A", "", "", "B" }),
        SCENE(half_of_a_role_stays_with_its_lowest_address_SBR015,
              { "AD*E|BC*", &majority, "ABC*D*E", "BC", "", "", "ADE" },
              { "BC*|AD*E", &majority, "ABC*D*E", "ADE", "", "", "ADE" }),
        SCENE(without_a_member_of_the_role_all_end_SBR016,
              { "C|E", &majority, "A*dCE", "E", "", "", "CE" },
              { "E|C", &majority, "A*dCE", "C", "", "", "CE" }),
        SCENE(a_joining_member_does_not_count_and_ends_SBR017,
              { "BD|AjC", &majority, "AjBCD", "AC", "", "", "AC" },
              { "AjC|BD", &majority, "AjBCD", "BD", "", "", "AC" }),
        SCENE(a_minority_ends_with_its_joining_member_SBR018,
              { "ABj|CDE", &majority, "ABjCDE", "CDE", "", "", "AB" },
              { "CDE|ABj", &majority, "ABjCDE", "AB", "", "", "AB" }),
        SCENE(three_parts_without_a_majority_end_SBR019,
              { "AB|CD|E", &majority, "ABCDE", "CDE", "", "", "AB" },
              { "CD|AB|E", &majority, "ABCDE", "ABE", "", "", "CD" },
              { "E|AB|CD", &majority, "ABCDE", "ABCD", "", "", "E" }),
        SCENE(a_joiner_known_here_only_may_down_all_there_SBR021,
              { "ABF'|CDE", &majority, "ABCDEF", "CDE", "", "", "CDE" },
              { "CDE|ABFj", &majority, "ABCDEFj", "ABF", "", "", "ABCDEF" }),
        SCENE(a_joiner_known_to_the_majority_only_is_safe_SBR022,
              { "AB|CDE, F unknown", &majority, "ABCDE", "CDE", "", "",
                "AB" },
              { "CDEF'|AB", &majority, "ABCDEF", "AB", "", "", "AB" }),
        SCENE(a_leaving_member_may_change_a_tie,
              { "a tie with a leaving member", &majority, "AlBCD", "CD", "", "",
                "ABCD" },
              { "a leader that leaves CD|AlBj", &majority, "AlBjCD", "AB", "", "",
                "AB" },
              { "a leader that leaves AlBj|CD", &majority, "AlBjCD", "CD", "", "",
                "AB" }),
        SCENE(a_pair_that_is_all_ends_SBR024,
              { "(AB)", &majority, "AB", "AB", "A>B B>A", "", "AB" }),
        SCENE(a_pair_ends_and_the_third_stays_SBR025,
              { "(AB)C", &majority, "ABC", "AB", "A>B B>A", "", "AB" }),
        SCENE(a_cycle_of_three_ends_SBR026,
              { "(ABC)", &majority, "ABC", "ABC", "A>B B>C C>A", "", "ABC" }),
        SCENE(two_pairs_end_SBR027,
              { "(AD)(BC)", &majority, "ABCD", "ABCD", "A>D D>A B>C C>B", "",
                "ABCD" }),
        SCENE(a_cycle_of_three_ends_and_two_stay_SBR028,
              { "(ABC)DE", &majority, "ABCDE", "ABC", "A>B B>C C>A", "",
                "ABC" }),
        SCENE(two_pairs_end_and_three_members_stay_SBR029,
              { "A(BC)D(EF)G", &majority, "ABCDEFG", "BCEF", "B>C C>B E>F F>E", "",
                "BCEF" }),
        SCENE(seen_gossip_shows_an_indirect_connection_SBR031,
              { "by seen", &majority, "ABCDE", "CD", "B>C A>D", "ABCDE",
                "ABCD" }),
        SCENE(a_pair_ends_with_a_crashed_member_SBR032,
              { "(AB)DE|C", &majority, "ABCDE", "ABC", "A>B B>A D>C", "",
                "ABC" }),
        SCENE(a_pair_on_the_smaller_side_ends_with_it_SBR034,
              { "A(BC)|DEFG", &majority, "ABCDEFG", "BCDEFG", "B>C C>B A>D A>E B>F C>G", "",
                "ABC" },
              { "DEFG|A(BC)", &majority, "ABCDEFG", "ABC", "D>A E>B F>C", "",
                "ABC" }),
        SCENE(a_pair_and_a_partition_leave_one_member_SBR089,
              { "A(BC)|DE", &majority, "ABCDE", "BCDE",
                "B>C C>B A>D A>E", "", "BCDE" },
              { "DE|A(BC)", &majority, "ABCDE", "ABC", "D>A D>B E>C", "",
                "DE" }),
        SCENE(the_side_of_the_oldest_stays_SBR039,
              { "AE|BCD", &oldest, "ABCDE", "BCD", "", "", "BCD" },
              { "BCD|AE", &oldest, "ABCDE", "AE", "", "", "BCD" }),
        SCENE(the_side_of_the_oldest_of_the_role_stays_SBR040,
              { "AE|BC*D*", &oldest, "ABC*D*E", "BCD", "", "", "AE" },
              { "BC*D*|AE", &oldest, "ABC*D*E", "AE", "", "", "AE" }),
        SCENE(the_oldest_alone_ends_SBR041,
              { "E|ABCD", &oldest, "ABCDE", "ABCD", "", "", "E" },
              { "ABCD|E", &oldest, "ABCDE", "E", "", "", "E" }),
        SCENE(the_older_of_two_stays_SBR042,
              { "B|A", &oldest, "AB", "A", "", "", "A" },
              { "A|B", &oldest, "AB", "B", "", "", "A" }),
        SCENE(a_single_member_stays_SBR043,
              { "one", &oldest, "A", "", "", "", "" }),
        SCENE(the_oldest_alone_stays_if_set_SBR044,
              { "E|ABCD", &oldest_alone, "ABCDE", "ABCD", "", "", "ABCD" },
              { "ABCD|E", &oldest_alone, "ABCDE", "E", "", "", "ABCD" }),
        SCENE(a_leaving_oldest_downs_all_on_its_side_SBR046,
              { "AEl|BCD", &oldest, "ABCDEl", "BCD", "", "", "ABCDE" },
              { "BCD|AEl", &oldest, "ABCDEl", "AE", "", "", "BCD" }),
        SCENE(leaving_members_of_the_other_side_do_not_matter_SBR047,
              { "AE|BlClD", &oldest, "ABlClDE", "BCD", "", "", "BCD" },
              { "BlClD|AE", &oldest, "ABlClDE", "AE", "", "", "BCD" }),
        SCENE(a_leaving_companion_may_leave_the_oldest_alone_SBR048,
              { "DlE|ABC", &oldest, "ABCDlE", "ABC", "", "", "ABCDE" },
              { "ABC|DlE", &oldest, "ABCDlE", "DE", "", "", "ABC" }),
        SCENE(the_oldest_alone_ends_while_others_leave_SBR049,
              { "E|ABCl", &oldest, "ABClE", "ABC", "", "", "E" },
              { "ABCl|E", &oldest, "ABClE", "E", "", "", "E" }),
        SCENE(both_sides_of_an_exiting_oldest_end_SBR051,
              { "DEe|ABC", &oldest, "ABCDEe", "ABC", "", "", "D" },
              { "ABC|DEl", &oldest, "ABCDEl", "DE", "", "", "ABC" }),
        SCENE(one_member_of_an_exiting_pair_stays_SBR052,
              { "A|Be", &oldest, "ABe", "B", "", "", "" },
              { "Bl|A", &oldest, "ABl", "A", "", "", "AB" }),
        SCENE(a_joining_member_does_not_keep_the_oldest_company,
              { "E|AjB", &oldest, "AjBE", "AB", "", "", "ABE" }),
        SCENE(the_oldest_stays_with_a_joining_member_if_set_SBR054,
              { "AjE|BCD", &oldest_alone, "AjBCDE", "BCD", "", "", "BCD" },
              { "BCD|AE", &oldest_alone, "ABCDE", "AE", "", "", "BCD" },
              { "E|AjB", &oldest_alone, "AjBE", "AB", "", "", "AB" },
              { "AjB|E", &oldest_alone, "AjBE", "E", "", "", "AB" }),
        SCENE(a_pair_with_an_older_third_ends_SBR055,
              { "(AB)C", &oldest, "ABC", "AB", "A>B B>A", "", "AB" }),
        SCENE(a_pair_on_the_younger_side_ends_with_it_SBR056,
              { "A(BC)|DEFG", &oldest, "ABCDEFG", "BCDEFG", "B>C C>B A>D A>E B>F C>G", "",
                "ABC" },
              { "DEFG|A(BC)", &oldest, "ABCDEFG", "ABC", "D>A E>B F>C", "",
                "ABC" },
              { "the same, with the pair", &oldest, "ABCDEFG", "ABC", "B>C C>B D>A", "",
                "ABC" }),
        SCENE(without_a_role_no_member_is_the_oldest,
              { "no member has the role", &oldest, "ABC*d", "B", "", "",
                "AB" }),
        SCENE(down_all_downs_both_sides_SBR058,
              { "AB|CD", &all, "ABCD", "CD", "", "", "ABCD" },
              { "CD|AB", &all, "ABCD", "AB", "", "", "ABCD" }),
        SCENE(down_all_downs_all_with_a_pair_SBR059,
              { "(AB)C", &all, "ABC", "AB", "A>B B>A", "", "ABC" }),
        SCENE(down_all_spares_members_that_end,
              { "joining members", &all, "AjBwC", "C", "", "", "ABC" },
              { "leaving members", &all, "ABeCd", "C", "", "", "A" }),
        cmocka_unit_test(decisions_are_those_of_a_jvm),
        cmocka_unit_test(joining_members_break_a_tie_if_set),
        cmocka_unit_test(the_lowest_half_asks_for_the_lease_first_SBR061),
        cmocka_unit_test(the_lease_decides_about_a_pair_SBR062),
        cmocka_unit_test(the_lease_decides_about_a_pair_and_a_partition_SBR063),
        cmocka_unit_test(names_of_strategies_are_parsed_and_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
