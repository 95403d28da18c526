/* Tests check_state_quorum with correct histories and each half of its rule broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/check.h"
#include "sim/check/check_state_quorum.h"
#include "judged.h"

#define NODES 4

static struct check_safety safety;
static struct check_state_quorum *check;

/* The replicas, and the nodes that node 0 counts. */
static struct {
    int64_t written[NODES];
    uint32_t owner;    /* node whose coordinator wrote last */
    uint32_t needed;   /* by a write and by a read */
    uint64_t signature;
    bool counts[NODES];
} world;

static uint32_t nodes(void *user)
{
    (void)user;
    return NODES;
}

static struct kept_value value(void *user, uint32_t node, uint16_t type,
                               enum kept_key key)
{
    const struct kept_value none = { .written = CHECK_KEPT_NEVER };

    (void)user;
    assert_int_equal(type, 0);
    return key == KEPT_STATE
               ? none
               : (struct kept_value){ world.written[node], node == world.owner };
}

static struct kept_quorum quorum(void *user, uint32_t node, bool is_read)
{
    struct kept_quorum quorum = { 0, world.needed, world.signature };

    (void)user;
    (void)node;
    (void)is_read;
    for (uint32_t i = 0; i < NODES; i++)
        quorum.members += world.counts[i];
    return quorum;
}

static bool counts(void *user, uint32_t node, uint32_t other)
{
    (void)user;
    (void)node;
    return world.counts[other];
}

static int begin(void **state)
{
    const struct kept_replicas replicas = { .nodes = nodes,
                                            .value = value,
                                            .quorum = quorum,
                                            .counts = counts };

    (void)state;
    judge();
    memset(&safety, 0, sizeof safety);
    memset(&world, 0, sizeof world);
    for (uint32_t i = 0; i < NODES; i++) {
        world.written[i] = CHECK_KEPT_NEVER;
        world.counts[i] = true;
    }
    world.needed = 3;
    check = check_state_quorum_new(verdict, &safety, &replicas);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_state_quorum_free(check);
    verdict_free(verdict);
    return 0;
}

static void tell(enum probe_kind kind, uint64_t ticket)
{
    const struct probe probe = { .kind = kind,
                                 .first = ticket,
                                 .bytes = slice_text("fences") };

    check_state_quorum_probe(check, 0, &probe);
}

/* Its own replica has the value at once. */
static void writes(uint64_t ticket, int64_t time)
{
    world.written[0] = time;
    tell(PROBE_STATE_SENT, ticket);
    tell(PROBE_FENCES_SENT, ticket);
}

static void a_write_on_enough_replicas_is_confirmed(void **state)
{
    (void)state;
    writes(1, 10);
    world.written[1] = 10;
    world.written[2] = 12; /* a later one */
    tell(PROBE_STATE_STORED, 1);
    expect_only(NULL);
    assert_int_equal(check_state_quorum_counts(check).writes, 1);
}

static void a_write_on_too_few_replicas_is_found(void **state)
{
    (void)state;
    writes(1, 10);
    world.written[1] = 10;
    world.written[2] = 9;
    tell(PROBE_STATE_STORED, 1);
    expect_only("coordinator-state");
}

static void an_ended_incarnation_may_have_had_the_write(void **state)
{
    (void)state;
    check_state_quorum_node_ended(check, 3); /* before the write was sent: does not count */
    writes(1, 10);
    world.written[1] = 10;
    check_state_quorum_node_ended(check, 2);
    tell(PROBE_STATE_STORED, 1);
    expect_only(NULL);
    writes(2, 11);
    world.written[1] = 11;
    tell(PROBE_STATE_STORED, 2);
    expect_only("coordinator-state");
}

static void other_members_or_a_node_outside_are_not_judged(void **state)
{
    (void)state;
    writes(1, 10);
    world.signature++;
    tell(PROBE_STATE_STORED, 1);
    writes(2, 11);
    safety.outside[0] = true;
    tell(PROBE_STATE_STORED, 2);
    assert_int_equal(check_state_quorum_counts(check).writes, 0);
    expect_only(NULL);
}

static void a_write_that_another_node_replaced_is_not_judged(void **state)
{
    (void)state;
    world.owner = 1; /* the value came in the same turn */
    writes(1, 10);
    tell(PROBE_STATE_STORED, 1);
    expect_only(NULL);
}

/* 3 of 4 replicas are asked, so a value on 2 is read. */
static void a_read_returns_the_required_value(void **state)
{
    (void)state;
    world.written[1] = world.written[2] = 10;
    tell(PROBE_STATE_ASKED, 1);
    world.written[0] = 10; /* by the read */
    tell(PROBE_STATE_READ, 1);
    tell(PROBE_FENCES_READ, 1);
    expect_only(NULL);
    assert_int_equal(check_state_quorum_counts(check).reads, 1);
}

static void a_read_without_the_required_value_is_found(void **state)
{
    (void)state;
    world.written[0] = 9;
    world.written[1] = world.written[2] = 10;
    tell(PROBE_STATE_ASKED, 1);
    tell(PROBE_FENCES_READ, 1);
    expect_only("coordinator-state");
}

static void a_read_that_found_nothing_is_found(void **state)
{
    (void)state;
    world.written[1] = world.written[2] = 10;
    tell(PROBE_STATE_ASKED, 1);
    tell(PROBE_FENCES_READ, 1);
    expect_only("coordinator-state");
}

static void a_value_on_too_few_replicas_may_be_missed(void **state)
{
    (void)state;
    world.written[3] = 10;
    tell(PROBE_STATE_ASKED, 1);
    world.written[1] = world.written[2] = 10; /* since then */
    tell(PROBE_FENCES_READ, 1);
    expect_only(NULL);
    world.needed = NODES; /* all are asked, so one is enough */
    tell(PROBE_STATE_ASKED, 2);
    tell(PROBE_FENCES_READ, 1); /* a late answer to the first read */
    expect_only(NULL);
    tell(PROBE_FENCES_READ, 2);
    expect_only("coordinator-state");
}

static void a_node_that_does_not_count_is_not_asked(void **state)
{
    (void)state;
    world.written[1] = world.written[2] = 10;
    world.counts[1] = world.counts[2] = false;
    world.needed = 2;
    tell(PROBE_STATE_ASKED, 1);
    tell(PROBE_FENCES_READ, 1);
    expect_only(NULL);
    safety.outside[0] = world.counts[1] = true;
    tell(PROBE_STATE_ASKED, 2);
    tell(PROBE_FENCES_READ, 2);
    expect_only(NULL);
}

/* Two of four replicas have the write, so a read from three meets one. After both are gone, a read
 * need not return it. */
static void a_read_is_bound_by_a_confirmed_write_it_must_meet(void **state)
{
    (void)state;
    tell(PROBE_STATE_ASKED, 1);
    assert_true(check_state_quorum_is_bound(check, 0, 0)); /* nothing was confirmed */
    world.needed = 2;
    writes(1, 10);
    world.written[1] = 10;
    tell(PROBE_STATE_STORED, 1);
    world.needed = 3;
    tell(PROBE_STATE_ASKED, 2);
    assert_true(check_state_quorum_is_bound(check, 0, 0));
    world.written[0] = 9; /* a new incarnation with an older value */
    world.counts[1] = false;
    tell(PROBE_STATE_ASKED, 3);
    assert_false(check_state_quorum_is_bound(check, 0, 0));
    world.written[0] = world.written[3] = 11; /* a later one */
    tell(PROBE_STATE_ASKED, 4);
    assert_true(check_state_quorum_is_bound(check, 0, 0));
    expect_only(NULL);
}

static void a_write_confirmed_outside_does_not_bind(void **state)
{
    (void)state;
    world.needed = 1;
    writes(1, 10);
    safety.outside[0] = true;
    tell(PROBE_STATE_STORED, 1);
    world.written[0] = CHECK_KEPT_NEVER;
    tell(PROBE_STATE_ASKED, 1);
    assert_true(check_state_quorum_is_bound(check, 0, 0));
    expect_only(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_write_on_enough_replicas_is_confirmed),
        CASE(a_write_on_too_few_replicas_is_found),
        CASE(an_ended_incarnation_may_have_had_the_write),
        CASE(other_members_or_a_node_outside_are_not_judged),
        CASE(a_write_that_another_node_replaced_is_not_judged),
        CASE(a_read_returns_the_required_value),
        CASE(a_read_without_the_required_value_is_found),
        CASE(a_read_that_found_nothing_is_found),
        CASE(a_value_on_too_few_replicas_may_be_missed),
        CASE(a_node_that_does_not_count_is_not_asked),
        CASE(a_read_is_bound_by_a_confirmed_write_it_must_meet),
        CASE(a_write_confirmed_outside_does_not_bind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
