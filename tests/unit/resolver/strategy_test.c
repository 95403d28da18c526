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

static void judge(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
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
}

#define JUDGE(rows) judge(rows, sizeof(rows) / sizeof(rows)[0])

static void static_quorum_keeps_a_side_with_enough_members(void **state)
{
    static const struct row rows[] = {
        { "ACE|BD", &quorum3, "ABCDE", "BD", "", "", "BD" },
        { "BD|ACE", &quorum3, "ABCDE", "ACE", "", "", "BD" },
        { "AB|CD", &quorum3, "ABCD", "CD", "", "", "AB" },
        { "CD|AB", &quorum3, "ABCD", "AB", "", "", "CD" },
        { "ABC|DEF", &quorum3, "ABCDEF", "DEF", "", "", "ABCDEF" },
        { "DEF|ABC", &quorum3, "ABCDEF", "ABC", "", "", "ABCDEF" },
        { "ABCl|DE", &quorum3, "ABClDE", "DE", "", "", "DE" },
        { "DE|ABCl", &quorum3, "ABClDE", "ABC", "", "", "DE" },
        { "ABCe|DE", &quorum3, "ABCeDE", "DE", "", "", "AB" },
        { "DE|ABCe", &quorum3, "ABCeDE", "ABC", "", "", "DE" },
        { "pair and crash", &quorum3, "ABCDE", "ABC", "A>B B>A D>C", "",
          "ABC" },
        { "too many with a pair", &quorum3, "ABCDEF", "AB", "A>B B>A", "",
          "ABCDEF" },
    };

    (void)state;
    JUDGE(rows);
}

static void keep_majority_keeps_the_larger_side(void **state)
{
    static const struct row rows[] = {
        { "ACE|BD", &majority, "ABCDE", "BD", "", "", "BD" },
        { "BD|ACE", &majority, "ABCDE", "ACE", "", "", "BD" },
        { "AB|CDE", &majority, "ABCDE", "CDE", "", "", "AB" },
        { "CDE|AB", &majority, "ABCDE", "AB", "", "", "AB" },
        { "B|AC", &majority, "ABC", "AC", "", "", "B" },
        { "AB|CD", &majority, "ABCD", "CD", "", "", "CD" },
        { "CD|AB", &majority, "ABCD", "AB", "", "", "CD" },
        { "A|B", &majority, "AB", "B", "", "", "B" },
        { "B|A", &majority, "AB", "A", "", "", "B" },
        { "AD*E|BC*", &majority, "ABC*D*E", "BC", "", "", "ADE" },
        { "BC*|AD*E", &majority, "ABC*D*E", "ADE", "", "", "ADE" },
        { "C|E", &majority, "A*dCE", "E", "", "", "CE" },
        { "BD|AjC", &majority, "AjBCD", "AC", "", "", "AC" },
        { "AjC|BD", &majority, "AjBCD", "BD", "", "", "AC" },
        { "ABj|CDE", &majority, "ABjCDE", "CDE", "", "", "AB" },
        { "CDE|ABj", &majority, "ABjCDE", "AB", "", "", "AB" },
        { "AB|CD|E", &majority, "ABCDE", "CDE", "", "", "AB" },
        { "CD|AB|E", &majority, "ABCDE", "ABE", "", "", "CD" },
        { "E|AB|CD", &majority, "ABCDE", "ABCD", "", "", "E" },
        { "ABF'|CDE", &majority, "ABCDEF", "CDE", "", "", "CDE" },
        { "CDE|ABFj", &majority, "ABCDEFj", "ABF", "", "", "ABCDEF" },
        { "AB|CDE, F unknown", &majority, "ABCDE", "CDE", "", "", "AB" },
        { "CDEF'|AB", &majority, "ABCDEF", "AB", "", "", "AB" },
        { "a tie with a leaving member", &majority, "AlBCD", "CD", "", "", "ABCD" },
        { "a leader that leaves CD|AlBj", &majority, "AlBjCD", "AB", "", "", "AB" },
        { "a leader that leaves AlBj|CD", &majority, "AlBjCD", "CD", "", "", "AB" },
        { "(AB)", &majority, "AB", "AB", "A>B B>A", "", "AB" },
        { "(AB)C", &majority, "ABC", "AB", "A>B B>A", "", "AB" },
        { "(ABC)", &majority, "ABC", "ABC", "A>B B>C C>A", "", "ABC" },
        { "(AD)(BC)", &majority, "ABCD", "ABCD", "A>D D>A B>C C>B", "",
          "ABCD" },
        { "(ABC)DE", &majority, "ABCDE", "ABC", "A>B B>C C>A", "",
          "ABC" },
        { "A(BC)D(EF)G", &majority, "ABCDEFG", "BCEF", "B>C C>B E>F F>E",
          "", "BCEF" },
        { "by seen", &majority, "ABCDE", "CD", "B>C A>D", "ABCDE",
          "ABCD" },
        { "(AB)DE|C", &majority, "ABCDE", "ABC", "A>B B>A D>C", "",
          "ABC" },
        { "A(BC)|DEFG", &majority, "ABCDEFG", "BCDEFG",
          "B>C C>B A>D A>E B>F C>G", "", "ABC" },
        { "DEFG|A(BC)", &majority, "ABCDEFG", "ABC", "D>A E>B F>C", "",
          "ABC" },
    };

    (void)state;
    JUDGE(rows);
}

/* Decisions for 840 scenes, as a JVM made them. */
static void decisions_are_those_of_a_jvm(void **state)
{
    (void)state;
    JUDGE(jvm_rows);
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
    JUDGE(rows);
}

static void keep_oldest_keeps_the_side_of_the_oldest(void **state)
{
    static const struct row rows[] = {
        { "AE|BCD", &oldest, "ABCDE", "BCD", "", "", "BCD" },
        { "BCD|AE", &oldest, "ABCDE", "AE", "", "", "BCD" },
        { "AE|BC*D*", &oldest, "ABC*D*E", "BCD", "", "", "AE" },
        { "BC*D*|AE", &oldest, "ABC*D*E", "AE", "", "", "AE" },
        { "E|ABCD", &oldest, "ABCDE", "ABCD", "", "", "E" },
        { "ABCD|E", &oldest, "ABCDE", "E", "", "", "E" },
        { "B|A", &oldest, "AB", "A", "", "", "A" },
        { "A|B", &oldest, "AB", "B", "", "", "A" },
        { "one", &oldest, "A", "", "", "", "" },
        { "E|ABCD", &oldest_alone, "ABCDE", "ABCD", "", "", "ABCD" },
        { "ABCD|E", &oldest_alone, "ABCDE", "E", "", "", "ABCD" },
        { "AEl|BCD", &oldest, "ABCDEl", "BCD", "", "", "ABCDE" },
        { "BCD|AEl", &oldest, "ABCDEl", "AE", "", "", "BCD" },
        { "AE|BlClD", &oldest, "ABlClDE", "BCD", "", "", "BCD" },
        { "BlClD|AE", &oldest, "ABlClDE", "AE", "", "", "BCD" },
        { "DlE|ABC", &oldest, "ABCDlE", "ABC", "", "", "ABCDE" },
        { "ABC|DlE", &oldest, "ABCDlE", "DE", "", "", "ABC" },
        { "E|ABCl", &oldest, "ABClE", "ABC", "", "", "E" },
        { "ABCl|E", &oldest, "ABClE", "E", "", "", "E" },
        { "DEe|ABC", &oldest, "ABCDEe", "ABC", "", "", "D" },
        { "A|Be", &oldest, "ABe", "B", "", "", "" },
        { "E|AjB", &oldest, "AjBE", "AB", "", "", "ABE" },
        { "E|AjB", &oldest_alone, "AjBE", "AB", "", "", "AB" },
        { "AjB|E", &oldest_alone, "AjBE", "E", "", "", "AB" },
        { "(AB)C", &oldest, "ABC", "AB", "A>B B>A", "", "AB" },
        { "A(BC)|DEFG", &oldest, "ABCDEFG", "BCDEFG",
          "B>C C>B A>D A>E B>F C>G", "", "ABC" },
        { "DEFG|A(BC)", &oldest, "ABCDEFG", "ABC", "D>A E>B F>C", "",
          "ABC" },
        { "the same, with the pair", &oldest, "ABCDEFG", "ABC",
          "B>C C>B D>A", "", "ABC" },
        { "no member has the role", &oldest, "ABC*d", "B", "", "", "AB" },
    };

    (void)state;
    JUDGE(rows);
}

static void down_all_downs_every_member(void **state)
{
    static const struct row rows[] = {
        { "AB|CD", &all, "ABCD", "CD", "", "", "ABCD" },
        { "CD|AB", &all, "ABCD", "AB", "", "", "ABCD" },
        { "(AB)C", &all, "ABC", "AB", "A>B B>A", "", "ABC" },
        { "joining members", &all, "AjBwC", "C", "", "", "ABC" },
        { "leaving members", &all, "ABeCd", "C", "", "", "A" },
    };

    (void)state;
    JUDGE(rows);
}

static void lease_majority_lets_the_lease_decide(void **state)
{
    struct scene scene;

    (void)state;
    set(&scene, "ABC*D*E", "BC", "", "");
    assert_int_equal(strategy_decide(&lease, &scene.side),
                     DECISION_LEASE_UNREACHABLE);
    assert_int_equal(strategy_lease_delay(&lease, &scene.side), 2000);
    assert_string_equal(targets(&scene, &lease, DECISION_LEASE_UNREACHABLE),
                        "BC");
    set(&scene, "ABC*D*E", "ADE", "", "");
    assert_int_equal(strategy_lease_delay(&lease, &scene.side), 0);
    set(&scene, "ABC", "AB", "A>B B>A", "");
    assert_int_equal(strategy_decide(&lease, &scene.side),
                     DECISION_LEASE_INDIRECT);
    assert_int_equal(strategy_lease_delay(&lease, &scene.side), 0);
    assert_string_equal(targets(&scene, &lease, DECISION_LEASE_INDIRECT),
                        "AB");
    assert_int_equal(decision_reverse(DECISION_LEASE_INDIRECT),
                     DECISION_REVERSE_INDIRECT);
    assert_string_equal(targets(&scene, &lease, DECISION_REVERSE_INDIRECT),
                        "ABC");
    set(&scene, "ABCDE", "BCDE", "B>C C>B A>D A>E", ""); /* side 1 */
    assert_int_equal(strategy_decide(&lease, &scene.side),
                     DECISION_LEASE_INDIRECT);
    assert_string_equal(targets(&scene, &lease, DECISION_LEASE_INDIRECT),
                        "BCDE");
    assert_string_equal(targets(&scene, &lease, DECISION_REVERSE_INDIRECT),
                        "ABC");
    set(&scene, "ABCDE", "ABC", "D>A D>B E>C", ""); /* side 2 */
    assert_int_equal(strategy_decide(&lease, &scene.side),
                     DECISION_LEASE_UNREACHABLE);
    assert_int_equal(strategy_lease_delay(&lease, &scene.side), 2000);
    set(&scene, "ABCDE", "ABC", "D>A B>C C>B", ""); /* with the pair known */
    assert_int_equal(strategy_decide(&lease, &scene.side),
                     DECISION_LEASE_INDIRECT);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_quorum_keeps_a_side_with_enough_members),
        cmocka_unit_test(keep_majority_keeps_the_larger_side),
        cmocka_unit_test(decisions_are_those_of_a_jvm),
        cmocka_unit_test(joining_members_break_a_tie_if_set),
        cmocka_unit_test(keep_oldest_keeps_the_side_of_the_oldest),
        cmocka_unit_test(down_all_downs_every_member),
        cmocka_unit_test(lease_majority_lets_the_lease_decide),
        cmocka_unit_test(names_of_strategies_are_parsed_and_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
