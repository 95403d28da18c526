/* Tests check_resolver with allowed histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/member_info.h"
#include "judged.h"
#include "sim/check/check_resolver.h"

#define MEMBERS 5

static struct check_lease *lease;
static struct check_resolver *check;
static struct probe_side members[MEMBERS];
static struct probe_unreached records[MEMBERS * MEMBERS];
static size_t record_count;

static uint64_t clock_of(void *user, uint32_t node)
{
    (void)user;
    (void)node;
    return now;
}

static int begin(void **state)
{
    (void)state;
    judge();
    lease = check_lease_new(verdict, clock_of, NULL);
    check = check_resolver_new(verdict, lease);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_resolver_free(check);
    check_lease_free(lease);
    verdict_free(verdict);
    return 0;
}

/* All are up. The node observes those outside `reached` as unreachable, and downs them. */
static void see(uint32_t node, unsigned reached)
{
    record_count = 0;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        bool is_here = reached & 1u << i;

        members[i] = (struct probe_side){ .uid = 100 + i,
                                          .status = MEMBER_UP,
                                          .reachable = is_here,
                                          .seen = is_here,
                                          .downed = !is_here,
                                          .has_role = true };
        if (!is_here)
            records[record_count++] =
                (struct probe_unreached){ 100 + node, 100 + i };
    }
}

static void decide(uint32_t node, enum strategy_kind kind)
{
    struct buf bytes = { 0 };
    struct probe probe = { .kind = PROBE_RESOLVED,
                           .type = PROBE_TYPE_NONE,
                           .node = { .uid = 100 + node },
                           .first = MEMBERS };

    buf_put(&bytes, members, sizeof members);
    buf_put(&bytes, records, record_count * sizeof *records);
    probe.bytes = buf_slice(&bytes);
    check_resolver_resolved(check, node, kind, &probe);
    buf_fini(&bytes);
}

static void hold_lease(uint32_t node, uint64_t token, uint64_t time)
{
    const struct probe probe = { .kind = PROBE_LEASE_HELD,
                                 .type = PROBE_TYPE_NONE,
                                 .first = token,
                                 .second = now + time };

    check_lease_probe(lease, node, &probe);
}

static void no_split_brain_two_sides_that_stay_are_found(void **state)
{
    static const enum strategy_kind kinds[] = { STRATEGY_KEEP_MAJORITY,
                                                STRATEGY_STATIC_QUORUM,
                                                STRATEGY_KEEP_OLDEST };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (i) {
            end(state);
            begin(state);
        }
        see(0, 0x07);
        decide(0, kinds[i]);
        expect_only(NULL);
        see(3, 0x18);
        decide(3, kinds[i]);
        expect_only("no-split-brain");
    }
}

static void no_split_brain_a_side_that_has_ended_counts(void **state)
{
    (void)state;
    see(0, 0x07);
    decide(0, STRATEGY_KEEP_MAJORITY);
    check_resolver_node_ended(check, 0);
    see(3, 0x18);
    decide(3, STRATEGY_KEEP_MAJORITY);
    expect_only("no-split-brain");
}

static void no_split_brain_a_lease_that_another_holds_is_found(void **state)
{
    (void)state;
    see(0, 0x07);
    decide(0, STRATEGY_LEASE_MAJORITY);
    hold_lease(0, 1, 20 * SECOND);
    now += 10 * SECOND;
    see(3, 0x18);
    decide(3, STRATEGY_LEASE_MAJORITY);
    expect_only("no-split-brain");
}

static void an_expired_lease_does_not_bind(void **state)
{
    (void)state;
    see(0, 0x07);
    decide(0, STRATEGY_LEASE_MAJORITY);
    hold_lease(0, 1, 20 * SECOND);
    now += 21 * SECOND;
    see(3, 0x18);
    decide(3, STRATEGY_LEASE_MAJORITY);
    expect_only(NULL);
}

static void a_side_that_ends_is_no_second_side(void **state)
{
    (void)state;
    see(0, 0x07);
    decide(0, STRATEGY_KEEP_MAJORITY);
    see(3, 0x18);
    for (uint32_t i = 0; i < MEMBERS; i++)
        members[i].downed = members[i].reachable;
    decide(3, STRATEGY_KEEP_MAJORITY);
    expect_only(NULL);
    assert_int_equal(check_resolver_counts(check).ended, 1);
}

/* They decide on different views of the same crash. */
static void sides_that_overlap_are_one(void **state)
{
    (void)state;
    see(0, 0x0f);
    decide(0, STRATEGY_KEEP_MAJORITY);
    see(1, 0x17);
    decide(1, STRATEGY_KEEP_MAJORITY);
    expect_only(NULL);
    assert_int_equal(check_resolver_counts(check).compared, 1);
}

static void permitted_decisions_are_not_judged(void **state)
{
    (void)state;
    see(0, 0x07);
    decide(0, STRATEGY_KEEP_MAJORITY);
    see(3, 0x18);
    members[4].status = MEMBER_JOINING;
    decide(3, STRATEGY_KEEP_MAJORITY);
    see(3, 0x18);
    members[0].status = MEMBER_DOWN; /* other members than the first node's */
    decide(3, STRATEGY_KEEP_MAJORITY);
    assert_int_equal(check_resolver_counts(check).unsettled, 1);
    see(3, 0x18);
    records[record_count++] = (struct probe_unreached){ 104, 103 };
    decide(3, STRATEGY_KEEP_MAJORITY); /* 3 observes and is observed */
    see(3, 0x18);
    members[0].seen = true;
    decide(3, STRATEGY_KEEP_MAJORITY); /* 0 is connected somehow */
    assert_int_equal(check_resolver_counts(check).unclean, 2);
    expect_only(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
        CASE(no_split_brain_two_sides_that_stay_are_found),
        CASE(no_split_brain_a_side_that_has_ended_counts),
        CASE(no_split_brain_a_lease_that_another_holds_is_found),
        CASE(an_expired_lease_does_not_bind),
        CASE(a_side_that_ends_is_no_second_side),
        CASE(sides_that_overlap_are_one),
        CASE(permitted_decisions_are_not_judged),
#undef CASE
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
