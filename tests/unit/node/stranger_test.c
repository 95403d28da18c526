/* Tests which joiners a node accepts without TLS: those that answer at the address they claim. */
#include "lone.h"

#include "artery/control.h"
#include "base/limits.h"
#include "base/timers.h"
#include "journal/backend.h"
#include "member/profile.h"
#include "member/wire.h"
#include "node/control/control.h"

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity joiner = { "akka", "S", { { "b", 2 }, 22 } };

/* A node that founded a cluster, and what it asks of the driver. */
struct fixture {
    struct node *node;
    struct machine *machine; /* control */
    uint64_t now;
    uint64_t link; /* to the joiner; 0: not dialed */
};

static void turn(struct fixture *fixture)
{
    struct driver_request request;

    (void)machine_turn(fixture->machine, fixture->now, 0);
    while (machine_next_request(fixture->machine, &request))
        if (request.kind == DRIVER_CONNECT)
            fixture->link = request.link;
        else if (request.kind == DRIVER_STORE)
            journal_request_free(request.journal); /* there is no answer */
}

static int setup(void **state)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);

    fixture->now = 1;
    fixture->node = lone_node((struct node_settings){ .identity = self,
                                                      .lanes = 1,
                                                      .alone = true },
                              8);
    fixture->machine = node_machine(fixture->node, 0);
    machine_start(fixture->machine, 1, 0);
    turn(fixture);
    lone_accept(fixture->machine, 1, STREAM_CONTROL);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    node_free(fixture->node);
    mem_free(fixture);
    return 0;
}

/* As a JVM node: without generation. */
static void shake(struct fixture *fixture, bool request)
{
    const struct handshake handshake = { 0 };
    struct buf payload = { 0 };

    if (request)
        handshake_request_put(&payload, &joiner, &self.node.address,
                              &handshake);
    else
        handshake_response_put(&payload, &joiner, &handshake);
    lone_put(fixture->machine, 1, &joiner, "", "",
             request ? ARTERY_HANDSHAKE_REQUEST : ARTERY_HANDSHAKE_RESPONSE,
             SERIALIZER_ARTERY, buf_slice(&payload));
    buf_fini(&payload);
}

static void join(struct fixture *fixture)
{
    struct profile *profile =
        profile_new(&joiner, &joiner.node, NULL, 0, "1.0");
    struct buf payload = { 0 };

    wire_put_join(&joiner, &payload, profile);
    lone_put(fixture->machine, 1, &joiner, "akka://S@a:1" MEMBER_DAEMON_PATH,
             "akka://S@b:2" MEMBER_DAEMON_PATH "#1", "J", MEMBER_SERIALIZER,
             buf_slice(&payload));
    buf_fini(&payload);
    profile_drop(profile);
}

static uint32_t members(const struct fixture *fixture)
{
    return member_count(fixture->machine->control->member);
}

static void a_joiner_that_answers_is_a_member(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(members(fixture), 1);
    shake(fixture, true);
    turn(fixture);
    assert_int_not_equal(fixture->link, 0);
    machine_connected(fixture->machine, fixture->now, fixture->link);
    turn(fixture);
    join(fixture); /* an honest joiner has our answer before our request is answered */
    turn(fixture);
    assert_int_equal(members(fixture), 1);
    shake(fixture, false);
    turn(fixture);
    assert_int_equal(members(fixture), 2);
}

static void a_join_after_the_answer_needs_no_second_one(void **state)
{
    struct fixture *fixture = *state;

    shake(fixture, true);
    turn(fixture);
    machine_connected(fixture->machine, fixture->now, fixture->link);
    shake(fixture, false);
    turn(fixture);
    machine_failed(fixture->machine, fixture->now, fixture->link, "lost");
    join(fixture);
    turn(fixture);
    assert_int_equal(members(fixture), 2);
}

/* The stranger's own answer proves nothing while nothing is at the address. */
static void a_joiner_without_a_listener_is_no_member(void **state)
{
    struct fixture *fixture = *state;

    shake(fixture, true);
    turn(fixture);
    shake(fixture, false);
    join(fixture);
    turn(fixture);
    machine_failed(fixture->machine, fixture->now, fixture->link,
                   "connection refused");
    shake(fixture, false);
    turn(fixture);
    assert_int_equal(members(fixture), 1);
    fixture->now += (JOIN_WAIT_MS + 1) * MS;
    turn(fixture);
    join(fixture);
    shake(fixture, false);
    turn(fixture);
    assert_int_equal(members(fixture), 1);
    /* lone_put comes at the start, so the second request is late, too */
    assert_int_equal(member_counters(fixture->machine->control->member)->dropped_unanswered, 2);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_joiner_that_answers_is_a_member),
        TEST(a_join_after_the_answer_needs_no_second_one),
        TEST(a_joiner_without_a_listener_is_no_member),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
