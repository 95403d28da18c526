/* Tests that a request to join is accepted only of an incarnation that answered at its address, and
 * that strangers can end no member. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/timers.h"
#include "member/wire.h"
#include "values.h"

/* A core at a:2552 that founded a cluster. */
struct fixture {
    struct member *member;
    struct trace *trace;
    struct outbox outbox;
    struct node_id reached; /* the incarnation that answered; port 0: none */
    uint32_t verified;      /* addresses that were to answer again */
    uint64_t now;
};

static bool has_answered(const void *user, const struct node_id *node)
{
    const struct fixture *fixture = user;

    return node_equal(&fixture->reached, node);
}

static void verify(const void *user, const struct node_id *node)
{
    struct fixture *fixture = (struct fixture *)user;

    (void)node;
    fixture->verified++;
}

static int setup(void **state)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);
    const struct member_settings settings = { .has_answered = has_answered,
                                              .verify = verify,
                                              .user = fixture };

    fixture->now = SECOND;
    fixture->trace = trace_new(TRACE_WARNING);
    fixture->member =
        member_new(&test_identity, &settings, 1, fixture->trace);
    (void)member_join(fixture->member, fixture->now, 0,
                      &test_identity.node.address, &fixture->outbox);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    member_free(fixture->member);
    trace_free(fixture->trace);
    outbox_fini(&fixture->outbox);
    mem_free(fixture);
    return 0;
}

static void put(struct fixture *fixture, const struct node_id *from,
                const char *manifest, const struct buf *payload)
{
    const struct inbound inbound = {
        .from = *from,
        .sender = slice_text(MEMBER_DAEMON_PATH "#1"),
        .recipient = slice_text(MEMBER_DAEMON_PATH),
        .manifest = slice_text(manifest),
        .payload = buf_slice(payload),
        .serializer = MEMBER_SERIALIZER,
    };

    member_receive(fixture->member, fixture->now, 0, &inbound,
                   &fixture->outbox);
}

static void join(struct fixture *fixture, const struct node_id *node)
{
    struct profile *profile =
        profile_new(&test_identity, node, NULL, 0, "1.0");
    struct buf payload = { 0 };

    wire_put_join(&test_identity, &payload, profile);
    put(fixture, node, "J", &payload);
    buf_fini(&payload);
    profile_drop(profile);
}

static void answer(struct fixture *fixture, const struct node_id *node)
{
    fixture->reached = *node;
    member_answered(fixture->member, fixture->now, 0, node, &fixture->outbox);
}

/* Empties the outbox. Returns how many messages had that manifest. */
static uint32_t sent(struct fixture *fixture, const char *manifest)
{
    struct outbound out;
    uint32_t count = 0;

    while (outbox_next(&fixture->outbox, &out))
        count += slice_is(out.manifest, manifest);
    return count;
}

static uint32_t refused(const struct fixture *fixture)
{
    return (uint32_t)member_counters(fixture->member)->dropped_unanswered;
}

static uint32_t members(const struct fixture *fixture)
{
    return member_count(fixture->member);
}

static void the_address_that_answered_joins_at_once(void **state)
{
    struct fixture *fixture = *state;
    struct node_id b = test_node("b", 2552, 2);

    fixture->reached = b;
    join(fixture, &b);
    assert_int_equal(sent(fixture, "W"), 1);
    assert_int_equal(members(fixture), 2);
}

static void a_join_waits_for_the_answer_of_its_address(void **state)
{
    struct fixture *fixture = *state;
    struct node_id b = test_node("b", 2552, 2);

    join(fixture, &b);
    assert_int_equal(members(fixture), 1);
    assert_int_equal(sent(fixture, "W"), 0);
    assert_true(member_awaits_answer(fixture->member, &b));
    answer(fixture, &b);
    assert_int_equal(sent(fixture, "W"), 1);
    assert_int_equal(members(fixture), 2);
    assert_false(member_awaits_answer(fixture->member, &b));
    answer(fixture, &b); /* each second, of a JVM */
    assert_int_equal(sent(fixture, "W"), 0);
    assert_int_equal(refused(fixture), 0);
}

static void the_answer_of_another_incarnation_does_not_count(void **state)
{
    struct fixture *fixture = *state;
    struct node_id b = test_node("b", 2552, 2);
    struct node_id later = test_node("b", 2552, 3);

    join(fixture, &b);
    answer(fixture, &later);
    assert_int_equal(members(fixture), 1);
    assert_true(member_awaits_answer(fixture->member, &b));
}

static void joins_for_silent_addresses_change_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct trace_line line;
    uint32_t lines = 0;

    for (uint32_t i = 0; i < 20; i++) {
        struct node_id node = test_node("x", 3000 + i, 100 + i);

        join(fixture, &node);
    }
    assert_int_equal(members(fixture), 1);
    assert_true(member_deadline(fixture->member) <=
                fixture->now + JOIN_WAIT_MS * MS);
    for (int i = 0; i < 60; i++) {
        fixture->now += SECOND;
        while (member_step(fixture->member, fixture->now, 0, &fixture->outbox))
            ;
    }
    assert_int_equal(members(fixture), 1);
    assert_int_equal(refused(fixture), 20);
    while (trace_next(fixture->trace, &line))
        lines += strstr(line.text, "join refused: nothing at the joiner's address answered") != NULL;
    assert_int_equal(lines, 20);
}

static void a_refused_join_may_be_repeated(void **state)
{
    struct fixture *fixture = *state;
    struct node_id b = test_node("b", 2552, 2);

    join(fixture, &b);
    fixture->now += JOIN_WAIT_MS * MS;
    (void)member_step(fixture->member, fixture->now, 0, &fixture->outbox);
    assert_int_equal(refused(fixture), 1);
    answer(fixture, &b);
    assert_int_equal(members(fixture), 1);
    join(fixture, &b);
    assert_int_equal(members(fixture), 2);
}

/* A new incarnation at a member's address downs the one before, so nobody may claim it. */
static void a_join_for_a_members_address_does_not_down_it(void **state)
{
    struct fixture *fixture = *state;
    struct node_id b = test_node("b", 2552, 2);
    struct node_id fake = test_node("b", 2552, 77);

    fixture->reached = b;
    join(fixture, &b);
    join(fixture, &fake);
    assert_int_equal(member_find(fixture->member, &b)->status, MEMBER_JOINING);
    answer(fixture, &fake);
    assert_int_equal(member_find(fixture->member, &b)->status, MEMBER_DOWN);
}

/* The node was paused: it learned of the successor first, and then read what the former incarnation
 * had sent long before. */
static void a_late_join_does_not_end_the_successor(void **state)
{
    struct fixture *fixture = *state;
    struct node_id former = test_node("b", 2552, 2);
    struct node_id b = test_node("b", 2552, 3);

    fixture->reached = b;
    join(fixture, &b);
    assert_int_equal(fixture->verified, 0);
    fixture->reached = former; /* before the pause */
    join(fixture, &former);
    assert_int_equal(member_find(fixture->member, &b)->status, MEMBER_JOINING);
    assert_int_equal(fixture->verified, 1);
    fixture->reached = b;
    member_answered(fixture->member, fixture->now, 0, &b, &fixture->outbox);
    assert_int_equal(member_find(fixture->member, &b)->status, MEMBER_JOINING);
    fixture->now += JOIN_WAIT_MS * MS;
    (void)member_step(fixture->member, fixture->now, 0, &fixture->outbox);
    assert_int_equal(member_find(fixture->member, &b)->status, MEMBER_UP);
    assert_int_equal(refused(fixture), 1);
}

static void the_oldest_join_makes_room(void **state)
{
    struct fixture *fixture = *state;
    struct node_id b = test_node("b", 2552, 2);
    struct node_id node;

    for (uint32_t i = 0; i < JOINS_WAITING_MAX; i++) {
        node = test_node("x", 3000 + i, 100 + i);
        join(fixture, &node);
        join(fixture, &node); /* repeated: one place */
    }
    assert_int_equal(refused(fixture), 0);
    join(fixture, &b);
    assert_int_equal(refused(fixture), 1);
    node = test_node("x", 3000, 100);
    assert_false(member_awaits_answer(fixture->member, &node));
    answer(fixture, &b);
    assert_int_equal(members(fixture), 2);
}

static void waiting_joins_have_a_limit_of_bytes(void **state)
{
    struct fixture *fixture = *state;
    const uint32_t size = JOINS_WAITING_BYTES_MAX / 8;
    struct buf payload = { 0 };

    (void)buf_reserve(&payload, size);
    memset(payload.data, 'r', size);
    payload.size = size; /* not read before the answer */
    for (uint32_t i = 0; i < 8; i++) {
        struct node_id node = test_node("x", 3000 + i, 100 + i);

        put(fixture, &node, "J", &payload);
    }
    assert_int_equal(refused(fixture), 1); /* the paths count, too */
    buf_fini(&payload);
}

/* A stranger that needs no listener must not do with one message what twenty joins could. */
static void commands_of_strangers_are_ignored(void **state)
{
    struct fixture *fixture = *state;
    struct node_id b = test_node("b", 2552, 2);
    struct node_id stranger = test_node("x", 1, 9);
    struct buf payload = { 0 };
    enum member_status before;

    fixture->reached = b;
    join(fixture, &b);
    fixture->now += 2 * SECOND;
    while (member_step(fixture->member, fixture->now, 0, &fixture->outbox))
        ;
    wire_put_address(&test_identity, &payload, &b.address);
    before = member_find(fixture->member, &b)->status;
    put(fixture, &stranger, "D", &payload);
    put(fixture, &stranger, "L", &payload);
    assert_int_equal(member_find(fixture->member, &b)->status, before);
    assert_int_equal(member_counters(fixture->member)->dropped_no_member, 2);
    put(fixture, &b, "D", &payload);
    assert_int_equal(member_find(fixture->member, &b)->status, MEMBER_DOWN);
    buf_fini(&payload);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_address_that_answered_joins_at_once),
        TEST(a_join_waits_for_the_answer_of_its_address),
        TEST(the_answer_of_another_incarnation_does_not_count),
        TEST(joins_for_silent_addresses_change_nothing),
        TEST(a_refused_join_may_be_repeated),
        TEST(a_join_for_a_members_address_does_not_down_it),
        TEST(a_late_join_does_not_end_the_successor),
        TEST(the_oldest_join_makes_room),
        TEST(waiting_joins_have_a_limit_of_bytes),
        TEST(commands_of_strangers_are_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
