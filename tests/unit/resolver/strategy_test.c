/* Decisions that Akka's strategies are known to take: one row each. Members are letters, in the order of their addresses; a small
 * letter behind one is its status (j joining, w weakly up, l leaving, e exiting, d down), a star its role. */
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
    struct side_member members[MEMBERS_MAX];
    struct side_record records[RECORDS_MAX];
    struct side side;
};

static struct side_member *member_of(struct scene *scene, char letter)
{
    for (uint32_t i = 0; i < scene->side.member_count; i++)
        if (scene->members[i].node.address.host[0] == letter)
            return &scene->members[i];
    fail_msg("no member %c", letter);
    return NULL;
}

static enum peer_status status_of(char letter)
{
    switch (letter) {
    case 'j':
        return PEER_JOINING;
    case 'w':
        return PEER_WEAKLY_UP;
    case 'l':
        return PEER_LEAVING;
    case 'e':
        return PEER_EXITING;
    case 'd':
        return PEER_DOWN;
    default:
        return PEER_UP;
    }
}

/* "A Bj C*": without any star everybody has the role. The later letter is the older. */
static void put_members(struct scene *scene, const char *text)
{
    bool has_roles = strchr(text, '*') != NULL;

    for (; *text; text++) {
        uint32_t count = scene->side.member_count;
        struct side_member *last = &scene->members[count ? count - 1 : 0];

        if (*text == '*') {
            last->has_role = true;
        } else if (*text >= 'a' && *text <= 'z') {
            last->status = status_of(*text);
            if (*text == 'j' || *text == 'w')
                last->up_number = INT32_MAX;
        } else if (*text != ' ') {
            struct side_member member = {
                .node = { .address = { .port = 2550 }, .uid = 7 },
                .up_number = 'Z' - *text,
                .status = PEER_UP,
                .has_role = !has_roles,
                .reachable = true,
            };

            member.node.address.host[0] = *text;
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
            text[size++] = scene->members[i].node.address.host[0];
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

static void static_quorum(void **state)
{
    static const struct row rows[] = {
        { "003 ACE|BD", &quorum3, "ABCDE", "BD", "", "", "BD" },
        { "003 BD|ACE", &quorum3, "ABCDE", "ACE", "", "", "BD" },
        { "004 AB|CD", &quorum3, "ABCD", "CD", "", "", "AB" },
        { "004 CD|AB", &quorum3, "ABCD", "AB", "", "", "CD" },
        { "006 ABC|DEF", &quorum3, "ABCDEF", "DEF", "", "", "ABCDEF" },
        { "006 DEF|ABC", &quorum3, "ABCDEF", "ABC", "", "", "ABCDEF" },
        { "008 ABCl|DE", &quorum3, "ABClDE", "DE", "", "", "DE" },
        { "008 DE|ABCl", &quorum3, "ABClDE", "ABC", "", "", "DE" },
        { "008 ABCe|DE", &quorum3, "ABCeDE", "DE", "", "", "AB" },
        { "008 DE|ABCe", &quorum3, "ABCeDE", "ABC", "", "", "DE" },
        { "pair and crash", &quorum3, "ABCDE", "ABC", "A>B B>A D>C", "",
          "ABC" },
        { "too many with a pair", &quorum3, "ABCDEF", "AB", "A>B B>A", "",
          "ABCDEF" },
    };

    (void)state;
    JUDGE(rows);
}

static void keep_majority(void **state)
{
    static const struct row rows[] = {
        { "009 ACE|BD", &majority, "ABCDE", "BD", "", "", "BD" },
        { "009 BD|ACE", &majority, "ABCDE", "ACE", "", "", "BD" },
        { "010 AB|CDE", &majority, "ABCDE", "CDE", "", "", "AB" },
        { "010 CDE|AB", &majority, "ABCDE", "AB", "", "", "AB" },
        { "011 B|AC", &majority, "ABC", "AC", "", "", "B" },
        { "012 AB|CD", &majority, "ABCD", "CD", "", "", "CD" },
        { "012 CD|AB", &majority, "ABCD", "AB", "", "", "CD" },
        { "013 A|B", &majority, "AB", "B", "", "", "B" },
        { "013 B|A", &majority, "AB", "A", "", "", "B" },
        { "015 AD*E|BC*", &majority, "ABC*D*E", "BC", "", "", "ADE" },
        { "015 BC*|AD*E", &majority, "ABC*D*E", "ADE", "", "", "ADE" },
        { "016 C|E", &majority, "A*dCE", "E", "", "", "CE" },
        { "017 BD|AjC", &majority, "AjBCD", "AC", "", "", "AC" },
        { "017 AjC|BD", &majority, "AjBCD", "BD", "", "", "AC" },
        { "018 ABj|CDE", &majority, "ABjCDE", "CDE", "", "", "AB" },
        { "018 CDE|ABj", &majority, "ABjCDE", "AB", "", "", "AB" },
        { "019 AB|CD|E", &majority, "ABCDE", "CDE", "", "", "AB" },
        { "019 CD|AB|E", &majority, "ABCDE", "ABE", "", "", "CD" },
        { "019 E|AB|CD", &majority, "ABCDE", "ABCD", "", "", "E" },
        { "021 ABF'|CDE", &majority, "ABCDEF", "CDE", "", "", "CDE" },
        { "021 CDE|ABFj", &majority, "ABCDEFj", "ABF", "", "", "ABCDEF" },
        { "022 AB|CDE, F unknown", &majority, "ABCDE", "CDE", "", "", "AB" },
        { "022 CDEF'|AB", &majority, "ABCDEF", "AB", "", "", "AB" },
        { "a tie for who leaves", &majority, "AlBCD", "CD", "", "", "ABCD" },
        { "a leader that leaves CD|AlBj", &majority, "AlBjCD", "AB", "", "", "AB" },
        { "a leader that leaves AlBj|CD", &majority, "AlBjCD", "CD", "", "", "AB" },
        { "024 (AB)", &majority, "AB", "AB", "A>B B>A", "", "AB" },
        { "025 (AB)C", &majority, "ABC", "AB", "A>B B>A", "", "AB" },
        { "026 (ABC)", &majority, "ABC", "ABC", "A>B B>C C>A", "", "ABC" },
        { "027 (AD)(BC)", &majority, "ABCD", "ABCD", "A>D D>A B>C C>B", "",
          "ABCD" },
        { "028 (ABC)DE", &majority, "ABCDE", "ABC", "A>B B>C C>A", "",
          "ABC" },
        { "029 A(BC)D(EF)G", &majority, "ABCDEFG", "BCEF", "B>C C>B E>F F>E",
          "", "BCEF" },
        { "031 by seen", &majority, "ABCDE", "CD", "B>C A>D", "ABCDE",
          "ABCD" },
        { "032 (AB)DE|C", &majority, "ABCDE", "ABC", "A>B B>A D>C", "",
          "ABC" },
        { "034 A(BC)|DEFG", &majority, "ABCDEFG", "BCDEFG",
          "B>C C>B A>D A>E B>F C>G", "", "ABC" },
        { "034 DEFG|A(BC)", &majority, "ABCDEFG", "ABC", "D>A E>B F>C", "",
          "ABC" },
    };

    (void)state;
    JUDGE(rows);
}

/* What nobody here has told: 840 scenes, with the answers of a JVM. */
static void decisions_are_those_of_a_jvm(void **state)
{
    (void)state;
    JUDGE(jvm_rows);
}

/* A leads without the role, and has moved B to up; the other side has not heard of it and takes C for the lowest. By the reference's rule
 * both sides stay. */
static void a_tie_that_joining_breaks(void **state)
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

static void keep_oldest(void **state)
{
    static const struct row rows[] = {
        { "039 AE|BCD", &oldest, "ABCDE", "BCD", "", "", "BCD" },
        { "039 BCD|AE", &oldest, "ABCDE", "AE", "", "", "BCD" },
        { "040 AE|BC*D*", &oldest, "ABC*D*E", "BCD", "", "", "AE" },
        { "040 BC*D*|AE", &oldest, "ABC*D*E", "AE", "", "", "AE" },
        { "041 E|ABCD", &oldest, "ABCDE", "ABCD", "", "", "E" },
        { "041 ABCD|E", &oldest, "ABCDE", "E", "", "", "E" },
        { "042 B|A", &oldest, "AB", "A", "", "", "A" },
        { "042 A|B", &oldest, "AB", "B", "", "", "A" },
        { "043 one", &oldest, "A", "", "", "", "" },
        { "044 E|ABCD", &oldest_alone, "ABCDE", "ABCD", "", "", "ABCD" },
        { "044 ABCD|E", &oldest_alone, "ABCDE", "E", "", "", "ABCD" },
        { "046 AEl|BCD", &oldest, "ABCDEl", "BCD", "", "", "ABCDE" },
        { "046 BCD|AEl", &oldest, "ABCDEl", "AE", "", "", "BCD" },
        { "047 AE|BlClD", &oldest, "ABlClDE", "BCD", "", "", "BCD" },
        { "047 BlClD|AE", &oldest, "ABlClDE", "AE", "", "", "BCD" },
        { "048 DlE|ABC", &oldest, "ABCDlE", "ABC", "", "", "ABCDE" },
        { "048 ABC|DlE", &oldest, "ABCDlE", "DE", "", "", "ABC" },
        { "049 E|ABCl", &oldest, "ABClE", "ABC", "", "", "E" },
        { "049 ABCl|E", &oldest, "ABClE", "E", "", "", "E" },
        { "051 DEe|ABC", &oldest, "ABCDEe", "ABC", "", "", "D" },
        { "052 A|Be", &oldest, "ABe", "B", "", "", "" },
        { "053 E|AjB", &oldest, "AjBE", "AB", "", "", "ABE" },
        { "054 E|AjB", &oldest_alone, "AjBE", "AB", "", "", "AB" },
        { "054 AjB|E", &oldest_alone, "AjBE", "E", "", "", "AB" },
        { "055 (AB)C", &oldest, "ABC", "AB", "A>B B>A", "", "AB" },
        { "056 A(BC)|DEFG", &oldest, "ABCDEFG", "BCDEFG",
          "B>C C>B A>D A>E B>F C>G", "", "ABC" },
        { "056 DEFG|A(BC)", &oldest, "ABCDEFG", "ABC", "D>A E>B F>C", "",
          "ABC" },
        { "056 the same, with the pair", &oldest, "ABCDEFG", "ABC",
          "B>C C>B D>A", "", "ABC" },
        { "nobody has the role", &oldest, "ABC*d", "B", "", "", "AB" },
    };

    (void)state;
    JUDGE(rows);
}

static void down_all(void **state)
{
    static const struct row rows[] = {
        { "058 AB|CD", &all, "ABCD", "CD", "", "", "ABCD" },
        { "058 CD|AB", &all, "ABCD", "AB", "", "", "ABCD" },
        { "059 (AB)C", &all, "ABC", "AB", "A>B B>A", "", "ABC" },
        { "who joins", &all, "AjBwC", "C", "", "", "ABC" },
        { "who goes", &all, "ABeCd", "C", "", "", "A" },
    };

    (void)state;
    JUDGE(rows);
}

static void lease_majority(void **state)
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
    set(&scene, "ABC", "AB", "A>B B>A", ""); /* 062 */
    assert_int_equal(strategy_decide(&lease, &scene.side),
                     DECISION_LEASE_INDIRECT);
    assert_int_equal(strategy_lease_delay(&lease, &scene.side), 0);
    assert_string_equal(targets(&scene, &lease, DECISION_LEASE_INDIRECT),
                        "AB");
    assert_int_equal(decision_reverse(DECISION_LEASE_INDIRECT),
                     DECISION_REVERSE_INDIRECT);
    assert_string_equal(targets(&scene, &lease, DECISION_REVERSE_INDIRECT),
                        "ABC");
    set(&scene, "ABCDE", "BCDE", "B>C C>B A>D A>E", ""); /* 063, side 1 */
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
    set(&scene, "ABCDE", "ABC", "D>A B>C C>B", ""); /* it knows of the pair */
    assert_int_equal(strategy_decide(&lease, &scene.side),
                     DECISION_LEASE_INDIRECT);
    assert_string_equal(targets(&scene, &lease, DECISION_REVERSE_INDIRECT),
                        "BCDE");
}

static void names(void **state)
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
        cmocka_unit_test(static_quorum), cmocka_unit_test(keep_majority),
        cmocka_unit_test(decisions_are_those_of_a_jvm),
        cmocka_unit_test(a_tie_that_joining_breaks),
        cmocka_unit_test(keep_oldest),   cmocka_unit_test(down_all),
        cmocka_unit_test(lease_majority), cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
