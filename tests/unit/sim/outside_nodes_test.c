/* Tests outside_nodes: which nodes are outside, from when and until when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/member_info.h"
#include "base/timers.h"
#include "sim/check/outside_nodes.h"

#define NODES 5

static struct check_safety safety;
static struct outside_nodes *check;
static uint64_t now;

static int begin(void **state)
{
    (void)state;
    now = SECOND;
    safety = (struct check_safety){ .outside = { false } };
    check = outside_nodes_new(&safety, 10 * SECOND);
    for (uint32_t i = 0; i < NODES; i++)
        outside_nodes_node_started(check, i, 100 + i);
    return 0;
}

static int end(void **state)
{
    (void)state;
    outside_nodes_free(check);
    return 0;
}

static void tell(uint32_t node, struct probe probe)
{
    probe.type = PROBE_TYPE_NONE;
    outside_nodes_probe(check, now, node, &probe);
}

static void down(uint32_t by, uint32_t node, enum probe_down cause)
{
    tell(by, (struct probe){ .kind = PROBE_MEMBER_DOWNED,
                             .node = { .uid = 100 + node },
                             .first = cause });
}

static void see(uint32_t by, uint32_t node, enum member_status status)
{
    tell(by, (struct probe){ .kind = PROBE_MEMBER_SEEN,
                             .node = { .uid = 100 + node },
                             .first = status });
}

static void decide(uint32_t by, unsigned reached, unsigned downed)
{
    struct probe_side members[NODES];
    struct buf bytes = { 0 };

    for (uint32_t i = 0; i < NODES; i++)
        members[i] = (struct probe_side){ .uid = 100 + i,
                                          .status = MEMBER_UP,
                                          .reachable = (reached >> i) & 1,
                                          .downed = (downed >> i) & 1 };
    buf_put(&bytes, members, sizeof members);
    tell(by, (struct probe){ .kind = PROBE_RESOLVED,
                             .node = { .uid = 100 + by },
                             .first = NODES,
                             .bytes = buf_slice(&bytes) });
    buf_fini(&bytes);
    for (uint32_t i = 0; i < NODES; i++)
        if ((downed >> i) & 1)
            down(by, i, PROBE_DOWN_DECIDED);
}

static unsigned outside(void)
{
    unsigned set = 0;

    for (uint32_t i = 0; i < NODES; i++)
        set |= (unsigned)safety.outside[i] << i;
    return set;
}

static void a_node_downed_by_a_surviving_side_is_outside(void **state)
{
    (void)state;
    decide(0, 0x07, 0x18);
    assert_int_equal(outside(), 0x18);
    outside_nodes_node_ended(check, 3);
    outside_nodes_node_started(check, 3, 203);
    assert_int_equal(outside(), 0x10);
}

/* Both sides go on. */
static void a_decision_outside_excuses_no_node(void **state)
{
    (void)state;
    decide(0, 0x07, 0x18);
    decide(3, 0x18, 0x07);
    see(4, 0, MEMBER_DOWN);
    see(4, 0, MEMBER_REMOVED);
    assert_int_equal(outside(), 0x18);
    see(1, 0, MEMBER_DOWN); /* a node inside hears of it */
    assert_int_equal(outside(), 0x19);
    see(2, 2, MEMBER_DOWN); /* the downed one itself hears of it */
    assert_int_equal(outside(), 0x1d);
}

/* A minority that finds nothing stable downs all; the others go on. */
static void a_node_that_downs_itself_excuses_only_its_side(void **state)
{
    (void)state;
    decide(3, 0x18, 0x1f);
    see(4, 0, MEMBER_DOWN);
    assert_int_equal(outside(), 0x18);
    see(1, 0, MEMBER_DOWN);
    assert_int_equal(outside(), 0x19);
}

/* A downed node downs all but a newcomer, which goes on alone when it hears of that. */
static void a_node_that_follows_one_outside_is_outside(void **state)
{
    (void)state;
    decide(0, 0x1b, 0x04);
    decide(2, 0x14, 0x0f);
    assert_int_equal(outside(), 0x04);
    see(4, 0, MEMBER_DOWN);
    assert_int_equal(outside(), 0x14);
    see(4, 1, MEMBER_DOWN);
    assert_int_equal(outside(), 0x14);
}

static void members_that_down_each_other_by_command_are_outside(void **state)
{
    (void)state;
    down(0, 3, PROBE_DOWN_COMMAND);
    down(3, 0, PROBE_DOWN_COMMAND);
    assert_int_equal(outside(), 0x09);
}

static void a_node_that_joins_outside_is_outside_until_seen_inside(void **state)
{
    (void)state;
    decide(0, 0x0f, 0x10);
    tell(3, (struct probe){ .kind = PROBE_CLUSTER_JOINED,
                            .node = { .uid = 104 } });
    assert_int_equal(outside(), 0x18);
    see(4, 3, MEMBER_JOINING);
    assert_int_equal(outside(), 0x18);
    see(1, 3, MEMBER_JOINING);
    assert_int_equal(outside(), 0x10);
}

static void a_node_that_knows_it_is_down_is_excused_for_a_time(void **state)
{
    uint32_t node = NODES;

    (void)state;
    decide(0, 0x07, 0x18);
    now += 100 * SECOND;
    assert_false(outside_nodes_late(check, now, &node)); /* they cannot know */
    see(3, 3, MEMBER_DOWN);
    now += 10 * SECOND;
    assert_false(outside_nodes_late(check, now, &node));
    assert_true(safety_may_overlap(&safety, 3));
    outside_nodes_paused(check, 3, 5 * SECOND);
    now += 4 * SECOND;
    assert_false(outside_nodes_late(check, now, &node));
    now += 2 * SECOND;
    assert_true(outside_nodes_late(check, now, &node));
    assert_int_equal(node, 3);
    assert_false(safety_may_overlap(&safety, 3));
    assert_true(safety_may_overlap(&safety, 4));
    assert_false(outside_nodes_late(check, now, &node));
    outside_nodes_node_ended(check, 3);
    assert_false(safety.late[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
        CASE(a_node_downed_by_a_surviving_side_is_outside),
        CASE(a_decision_outside_excuses_no_node),
        CASE(a_node_that_downs_itself_excuses_only_its_side),
        CASE(a_node_that_follows_one_outside_is_outside),
        CASE(members_that_down_each_other_by_command_are_outside),
        CASE(a_node_that_joins_outside_is_outside_until_seen_inside),
        CASE(a_node_that_knows_it_is_down_is_excused_for_a_time),
#undef CASE
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
