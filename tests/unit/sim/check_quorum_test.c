/* The checker of where coordinators' states are: each half of its rule is broken on purpose and found; what keeps it passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/check.h"
#include "sim/check_quorum.h"
#include "judged.h"

#define NODES 4

static struct check_safety safety;
static struct check_quorum *check;

/* What the replicas have, and whom node 0 counts. */
static struct {
    int64_t written[NODES];
    uint32_t owner;    /* whose coordinator wrote last */
    uint32_t needed;   /* of a write and of a read */
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
    check = check_quorum_new(verdict, &safety, &replicas);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_quorum_free(check);
    verdict_free(verdict);
    return 0;
}

static void tell(enum probe_kind kind, uint64_t ticket)
{
    const struct probe probe = { .kind = kind,
                                 .first = ticket,
                                 .bytes = slice_text("fences") };

    check_quorum_probe(check, 0, &probe);
}

/* Node 0's coordinator writes; its own replica has it at once. */
static void writes(uint64_t ticket, int64_t time)
{
    world.written[0] = time;
    tell(PROBE_STATE_SENT, ticket);
    tell(PROBE_FENCES_SENT, ticket);
}

static void a_write_that_as_many_have_is_confirmed(void **state)
{
    (void)state;
    writes(1, 10);
    world.written[1] = 10;
    world.written[2] = 12; /* a later one */
    tell(PROBE_STATE_STORED, 1);
    expect_only(NULL);
    assert_int_equal(check_quorum_counts(check).writes, 1);
}

static void a_write_that_fewer_have_is_found(void **state)
{
    (void)state;
    writes(1, 10);
    world.written[1] = 10;
    world.written[2] = 9;
    tell(PROBE_STATE_STORED, 1);
    expect_only("coordinator-state");
}

static void a_life_that_has_ended_may_have_had_it(void **state)
{
    (void)state;
    check_quorum_node_ended(check, 3); /* before it was sent: no */
    writes(1, 10);
    world.written[1] = 10;
    check_quorum_node_ended(check, 2);
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
    assert_int_equal(check_quorum_counts(check).writes, 0);
    expect_only(NULL);
}

static void a_write_that_another_one_took_over_is_not_followed(void **state)
{
    (void)state;
    world.owner = 1; /* that value came in the same turn */
    writes(1, 10);
    tell(PROBE_STATE_STORED, 1);
    expect_only(NULL);
}

/* Of 4 replicas 3 are asked: what 2 have is read. */
static void a_read_has_what_must_meet_it(void **state)
{
    (void)state;
    world.written[1] = world.written[2] = 10;
    tell(PROBE_STATE_ASKED, 1);
    world.written[0] = 10; /* as it came */
    tell(PROBE_STATE_READ, 1);
    tell(PROBE_FENCES_READ, 1);
    expect_only(NULL);
    assert_int_equal(check_quorum_counts(check).reads, 1);
}

static void a_read_without_it_is_found(void **state)
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

static void what_too_few_had_may_be_missed(void **state)
{
    (void)state;
    world.written[3] = 10;
    tell(PROBE_STATE_ASKED, 1);
    world.written[1] = world.written[2] = 10; /* since then */
    tell(PROBE_FENCES_READ, 1);
    expect_only(NULL);
    world.needed = NODES; /* all are asked: one is enough */
    tell(PROBE_STATE_ASKED, 2);
    tell(PROBE_FENCES_READ, 1); /* late: of the first one */
    expect_only(NULL);
    tell(PROBE_FENCES_READ, 2);
    expect_only("coordinator-state");
}

static void who_does_not_count_is_not_asked(void **state)
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

/* A write that two have is confirmed: of three that are asked one has it, of two that are left none need. */
static void a_read_is_bound_by_what_was_confirmed_and_must_meet_it(void **state)
{
    (void)state;
    tell(PROBE_STATE_ASKED, 1);
    assert_true(check_quorum_is_bound(check, 0, 0)); /* nothing was confirmed */
    world.needed = 2;
    writes(1, 10);
    world.written[1] = 10;
    tell(PROBE_STATE_STORED, 1);
    world.needed = 3;
    tell(PROBE_STATE_ASKED, 2);
    assert_true(check_quorum_is_bound(check, 0, 0));
    world.written[0] = 9; /* a new life, which was told so much */
    world.counts[1] = false;
    tell(PROBE_STATE_ASKED, 3);
    assert_false(check_quorum_is_bound(check, 0, 0));
    world.written[0] = world.written[3] = 11; /* a later one */
    tell(PROBE_STATE_ASKED, 4);
    assert_true(check_quorum_is_bound(check, 0, 0));
    expect_only(NULL);
}

static void what_is_confirmed_outside_binds_nobody(void **state)
{
    (void)state;
    world.needed = 1;
    writes(1, 10);
    safety.outside[0] = true;
    tell(PROBE_STATE_STORED, 1);
    world.written[0] = CHECK_KEPT_NEVER;
    tell(PROBE_STATE_ASKED, 1);
    assert_true(check_quorum_is_bound(check, 0, 0));
    expect_only(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_write_that_as_many_have_is_confirmed),
        CASE(a_write_that_fewer_have_is_found),
        CASE(a_life_that_has_ended_may_have_had_it),
        CASE(other_members_or_a_node_outside_are_not_judged),
        CASE(a_write_that_another_one_took_over_is_not_followed),
        CASE(a_read_has_what_must_meet_it),
        CASE(a_read_without_it_is_found),
        CASE(a_read_that_found_nothing_is_found),
        CASE(what_too_few_had_may_be_missed),
        CASE(who_does_not_count_is_not_asked),
        CASE(a_read_is_bound_by_what_was_confirmed_and_must_meet_it),
        CASE(what_is_confirmed_outside_binds_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
