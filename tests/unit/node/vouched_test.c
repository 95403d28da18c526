/* Tests a connection whose peer has proved its identity: no other node may use it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/control.h"
#include "artery/extension.h"
#include "lone.h"
#include "node/machine/machine.h"

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity b = { "akka", "S", { { "b", 2 }, 22 } };
static const struct identity c = { "akka", "S", { { "c", 3 }, 33 } };

struct fixture {
    struct node *node;
    struct machine *machine;
    enum stream stream;
    uint32_t asked; /* how often */
};

static struct fixture *now_asked;

/* The proof is the host. */
static bool covers(const void *proof, const char *host)
{
    now_asked->asked++;
    return strcmp(proof, host) == 0;
}

static int setup(void **state, enum stream stream)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);

    fixture->node = lone_node(
        (struct node_settings){ .identity = self, .lanes = 1 }, 0);
    fixture->stream = stream;
    fixture->machine =
        node_machine(fixture->node, stream == STREAM_CONTROL ? 0 : 1);
    machine_start(fixture->machine, 1, 0);
    *state = now_asked = fixture;
    return 0;
}

static int on_control(void **state)
{
    return setup(state, STREAM_CONTROL);
}

static int on_a_lane(void **state)
{
    return setup(state, STREAM_ORDINARY);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    node_free(fixture->node);
    mem_free(fixture);
    return 0;
}

/* proof: null: none, as without TLS. */
static void accept_from(struct fixture *fixture, uint64_t conn,
                        const char *proof)
{
    const struct voucher voucher = { covers, proof };
    struct buf preamble = { 0 };

    machine_accepted(fixture->machine, 1, &(struct arrival){ conn, conn, "x:9" });
    if (proof)
        machine_vouched(fixture->machine, conn, &voucher);
    buf_put_text(&preamble, "AKKA");
    buf_put_u8(&preamble, (uint8_t)fixture->stream);
    machine_bytes(fixture->machine, 1, conn, buf_slice(&preamble));
    buf_fini(&preamble);
}

static void put(struct fixture *fixture, uint64_t conn,
                const struct identity *origin, const char *manifest,
                int32_t serializer, struct slice payload)
{
    lone_put(fixture->machine, conn, origin, "", "", manifest, serializer,
             payload);
}

/* Sends a handshake that names `from`, in a frame of `origin`. */
static void shake(struct fixture *fixture, uint64_t conn,
                  const struct identity *origin, const struct identity *from,
                  bool request)
{
    struct handshake handshake = { .capabilities = CAPABILITY_SHERD,
                                   .lanes = 1,
                                   .lane = fixture->stream == STREAM_CONTROL
                                               ? 0
                                               : 1,
                                   .generation = 5 };
    struct buf payload = { 0 };

    if (request)
        handshake_request_put(&payload, from, &self.node.address, &handshake);
    else
        handshake_response_put(&payload, from, &handshake);
    put(fixture, conn, origin,
        request ? ARTERY_HANDSHAKE_REQUEST : ARTERY_HANDSHAKE_RESPONSE,
        SERIALIZER_ARTERY, buf_slice(&payload));
    buf_fini(&payload);
}

static void say(struct fixture *fixture, uint64_t conn,
                const struct identity *origin)
{
    put(fixture, conn, origin, "x", 4711, slice_text("y"));
}

static bool is_open(struct fixture *fixture, uint64_t conn)
{
    return map_get(&fixture->machine->inlets, map_u64(&conn)) != NULL;
}

static bool knows(struct fixture *fixture, const struct identity *identity)
{
    return peers_sender(&fixture->machine->peers, identity->node.uid) != NULL;
}

/* The end is counted, and requested from the driver. */
static void is_closed(struct fixture *fixture, uint64_t conn)
{
    struct driver_request request = { .kind = DRIVER_UP };

    assert_false(is_open(fixture, conn));
    assert_int_equal(fixture->machine->closed, 1);
    assert_int_equal(fixture->machine->refused, 1);
    while (machine_next_request(fixture->machine, &request) &&
           request.kind != DRIVER_CLOSE_CONN)
        ;
    assert_int_equal(request.kind, DRIVER_CLOSE_CONN);
    assert_int_equal(request.conn, conn);
}

static void the_proven_node_is_accepted(void **state)
{
    struct fixture *fixture = *state;

    accept_from(fixture, 1, "b");
    shake(fixture, 1, &b, &b, true);
    for (int i = 0; i < 100; i++)
        say(fixture, 1, &b);
    shake(fixture, 1, &b, &b, false);
    assert_true(is_open(fixture, 1));
    assert_true(knows(fixture, &b));
    assert_int_equal(fixture->machine->refused, 0);
    assert_int_equal(fixture->asked, 2); /* for each handshake only */
}

static void another_node_is_refused_at_once(void **state)
{
    struct fixture *fixture = *state;

    accept_from(fixture, 1, "b");
    shake(fixture, 1, &c, &c, true);
    is_closed(fixture, 1);
    assert_false(knows(fixture, &c));
    say(fixture, 1, &c); /* in flight meanwhile */
    assert_false(knows(fixture, &c));
}

static void another_node_is_refused_later(void **state)
{
    struct fixture *fixture = *state;

    accept_from(fixture, 1, "b");
    shake(fixture, 1, &b, &b, true);
    say(fixture, 1, &b);
    shake(fixture, 1, &c, &c, true);
    is_closed(fixture, 1);
    assert_false(knows(fixture, &c));
    assert_true(knows(fixture, &b));
}

static void an_answer_of_another_node_is_refused(void **state)
{
    struct fixture *fixture = *state;

    accept_from(fixture, 1, "b");
    shake(fixture, 1, &c, &c, false);
    is_closed(fixture, 1);
}

/* Either the address or the uid is right. */
static void a_mixed_address_and_uid_are_refused(void **state)
{
    struct fixture *fixture = *state;

    accept_from(fixture, 1, "b");
    shake(fixture, 1, &c, &b, true);
    is_closed(fixture, 1);
    assert_false(knows(fixture, &b));
    assert_false(knows(fixture, &c));
}

/* C is known by a connection of its own; on b's it may send nothing. */
static void a_known_node_is_refused_on_another_connection(void **state)
{
    struct fixture *fixture = *state;

    accept_from(fixture, 1, "b");
    shake(fixture, 1, &b, &b, true);
    accept_from(fixture, 2, "c");
    shake(fixture, 2, &c, &c, true);
    say(fixture, 2, &c);
    assert_int_equal(fixture->machine->refused, 0);
    say(fixture, 1, &c);
    is_closed(fixture, 1);
    assert_true(is_open(fixture, 2));
}

/* Frames are refused one by one, because a handshake may follow. */
static void an_unknown_node_is_refused(void **state)
{
    struct fixture *fixture = *state;

    accept_from(fixture, 1, "b");
    say(fixture, 1, &b);
    say(fixture, 1, &c);
    assert_int_equal(fixture->machine->refused, 2);
    assert_true(is_open(fixture, 1));
    shake(fixture, 1, &b, &b, true);
    say(fixture, 1, &b);
    assert_int_equal(fixture->machine->refused, 2);
    assert_true(is_open(fixture, 1));
}

/* A JVM may connect anew. */
static void a_known_node_continues_without_a_handshake(void **state)
{
    struct fixture *fixture = *state;

    accept_from(fixture, 1, "b");
    shake(fixture, 1, &b, &b, true);
    machine_conn_closed(fixture->machine, 1, 1);
    accept_from(fixture, 2, "b");
    say(fixture, 2, &b);
    say(fixture, 2, &b);
    assert_int_equal(fixture->machine->refused, 0);
    assert_true(is_open(fixture, 2));
    assert_int_equal(fixture->asked, 2);
}

static void without_a_proof_every_node_is_accepted(void **state)
{
    struct fixture *fixture = *state;

    accept_from(fixture, 1, NULL);
    shake(fixture, 1, &b, &b, true);
    shake(fixture, 1, &c, &c, true);
    assert_true(is_open(fixture, 1));
    assert_true(knows(fixture, &c));
    assert_int_equal(fixture->asked, 0);
}

#define BOTH(test) \
    cmocka_unit_test_setup_teardown(test, on_control, teardown), \
        cmocka_unit_test_setup_teardown(test, on_a_lane, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(the_proven_node_is_accepted),
        BOTH(another_node_is_refused_at_once),
        BOTH(another_node_is_refused_later),
        BOTH(an_answer_of_another_node_is_refused),
        BOTH(a_mixed_address_and_uid_are_refused),
        BOTH(a_known_node_is_refused_on_another_connection),
        BOTH(an_unknown_node_is_refused),
        BOTH(a_known_node_continues_without_a_handshake),
        BOTH(without_a_proof_every_node_is_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
