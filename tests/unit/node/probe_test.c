/* Tests a machine's facts for checkers: undelivered messages end once, wherever they waited, and
 * entities live between two facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "artery/control.h"
#include "base/hash.h"
#include "node/lane/lane.h"

/* Facts and mail name only the fields that they need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define SHARDS 8
#define FAIL 9 /* a message that the handler fails on */

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity peer = { "akka", "S", { { "b", 2 }, 22 } };
static const struct fence fence = { 1, 4 };

static enum sherd_next receive(struct sherd_ctx *ctx, void *state,
                               const struct sherd_msg *msg)
{
    (void)ctx;
    (void)state;
    return msg->kind == SHERD_MESSAGE && msg->msg == FAIL ? SHERD_FAIL
                                                           : SHERD_CONTINUE;
}

static struct node *one_lane(bool probes)
{
    const struct sherd_entity_type type = {
        .name = "T",
        .shards = SHARDS,
        .mailbox_max = 2,
        .behavior = { .name = "t", .state_size = 8, .receive = receive },
    };
    struct node_settings settings = { .identity = self,
                                      .lanes = 1,
                                      .seed = 1,
                                      .probes = probes,
                                      .types = &type,
                                      .type_count = 1,
                                      .buffer_size = 3,
                                      .passivate_idle_after = 60 * SECOND };
    char error[200];
    struct node *node = node_new(&settings, error, sizeof error);

    assert_non_null(node);
    return node;
}

static int32_t shard_of(const char *id)
{
    return hash_shard(slice_text(id), SHARDS);
}

static void give(struct machine *machine, struct mail_content content)
{
    struct mail mail = mail_seal(&content);

    machine_mail(machine, 1, &mail, 1);
}

static void route_to(struct machine *machine, const char *id,
                     const struct identity *node)
{
    give(machine,
         mail_for_shard(0, shard_of(id),
                        MAIL(route, .own = { mail_node(&node->node) })));
}

static void host(struct machine *machine, const char *id)
{
    give(machine, mail_for_shard(0, shard_of(id), MAIL(host, .fence = fence)));
    (void)machine_turn(machine, 1, 0);
}

/* Sends a message from outside, as the driver does. */
static void tell(struct node *node, const char *id, uint32_t msg,
                 const char *body)
{
    struct mail mail;
    uint32_t to;

    assert_true(node_mail_entity_tell(
        node, "T", id, msg, (struct sherd_bytes){ body, strlen(body) }, &mail,
        &to));
    machine_mail(node_machine(node, to), 1, &mail, 1);
}

static void expect(struct node *node, enum probe_kind kind,
                   enum sherd_reason reason, const char *bytes)
{
    struct probe probe;

    assert_true(machine_next_probe(node_machine(node, 1), &probe));
    assert_string_equal(probe_kind_text(probe.kind), probe_kind_text(kind));
    assert_int_equal(probe.reason, reason);
    assert_true(slice_is(probe.bytes, bytes));
}

static void expect_none(struct node *node)
{
    struct probe probe;

    assert_false(machine_next_probe(node_machine(node, 0), &probe));
    assert_false(machine_next_probe(node_machine(node, 1), &probe));
}

static bool contains(struct slice bytes, const char *text)
{
    size_t size = strlen(text);

    for (size_t i = 0; i + size <= bytes.size; i++)
        if (!memcmp(bytes.data + i, text, size))
            return true;
    return false;
}

/* Checks that the next fact is the end of a frame with this body. */
static void expect_frame(struct node *node, enum sherd_reason reason,
                         const char *body)
{
    struct probe probe;

    assert_true(machine_next_probe(node_machine(node, 1), &probe));
    assert_int_equal(probe.kind, PROBE_FRAME_ENDED);
    assert_int_equal(probe.reason, reason);
    assert_true(contains(probe.bytes, body));
}

static void host_it(struct node *node, const char *id)
{
    struct probe probe;

    host(node_machine(node, 1), id);
    assert_true(machine_next_probe(node_machine(node, 1), &probe));
    assert_int_equal(probe.kind, PROBE_SHARD_HOSTED);
    assert_int_equal(probe.shard, shard_of(id));
    assert_int_equal(fence_compare(probe.fence, fence), 0);
}

static void there_are_no_probes_without_the_setting(void **state)
{
    struct node *node = one_lane(false);

    (void)state;
    host(node_machine(node, 1), "e");
    tell(node, "e", FAIL, "x");
    (void)machine_turn(node_machine(node, 1), 2, 0);
    tell(node, "far", 1, "y");
    node_close(node);
    expect_none(node);
    node_free(node);
}

static void messages_that_wait_for_a_home_end_with_the_node(void **state)
{
    struct node *node = one_lane(true);

    (void)state;
    for (int i = 0; i < 4; i++) {
        char body[8];

        (void)snprintf(body, sizeof body, "m%d", i);
        tell(node, "e", 1, body);
    }
    (void)machine_turn(node_machine(node, 1), 2, 0);
    expect(node, PROBE_MESSAGE_ENDED, SHERD_REASON_BUFFER_FULL, "m3");
    expect_none(node);
    node_close(node);
    expect(node, PROBE_MESSAGE_ENDED, SHERD_REASON_SHUTTING_DOWN, "m0");
    expect(node, PROBE_MESSAGE_ENDED, SHERD_REASON_SHUTTING_DOWN, "m1");
    expect(node, PROBE_MESSAGE_ENDED, SHERD_REASON_SHUTTING_DOWN, "m2");
    expect_none(node);
    node_free(node);
}

static void an_entity_has_a_probe_at_its_start_and_end(void **state)
{
    struct node *node = one_lane(true);
    struct probe probe;

    (void)state;
    host_it(node, "e");
    tell(node, "e", 1, "x");
    (void)machine_turn(node_machine(node, 1), 2, 0);
    assert_true(machine_next_probe(node_machine(node, 1), &probe));
    assert_int_equal(probe.kind, PROBE_ENTITY_STARTED);
    assert_int_equal(probe.type, 0);
    assert_int_equal(probe.shard, shard_of("e"));
    assert_true(probe.first != 0);
    assert_true(slice_is(probe.bytes, "e"));
    expect_none(node);
    node_close(node);
    expect(node, PROBE_ENTITY_STOPPED, SHERD_REASON_NONE, "e");
    expect_none(node);
    node_free(node);
}

/* The mailbox holds two; the first makes the handler fail. */
static void mailboxes_and_handlers_end_messages(void **state)
{
    struct node *node = one_lane(true);

    (void)state;
    host_it(node, "e");
    tell(node, "e", FAIL, "m0");
    tell(node, "e", 1, "m1");
    tell(node, "e", 1, "m2");
    (void)machine_turn(node_machine(node, 1), 2, 0);
    expect(node, PROBE_ENTITY_STARTED, SHERD_REASON_NONE, "e");
    expect(node, PROBE_MESSAGE_ENDED, SHERD_REASON_MAILBOX_FULL, "m2");
    expect(node, PROBE_MESSAGE_ENDED, SHERD_REASON_HANDLER_FAILED, "m0");
    expect(node, PROBE_ENTITY_STOPPED, SHERD_REASON_NONE, "e");
    expect(node, PROBE_ENTITY_STARTED, SHERD_REASON_NONE, "e");
    expect_none(node);
    tell(node, "e", 1, "m3");
    node_close(node);
    expect(node, PROBE_MESSAGE_ENDED, SHERD_REASON_SHUTTING_DOWN, "m3");
    expect(node, PROBE_ENTITY_STOPPED, SHERD_REASON_NONE, "e");
    expect_none(node);
    node_free(node);
}

static void frames_on_a_link_end_with_their_node(void **state)
{
    struct node *node = one_lane(true);
    struct machine *lane = node_machine(node, 1);

    (void)state;
    route_to(lane, "e", &peer);
    tell(node, "e", 1, "first");
    (void)machine_turn(lane, 2, 0);
    expect_none(node);
    give(lane, MAIL(gone, .own = { mail_node(&peer.node) }));
    (void)machine_turn(lane, 3, 0);
    expect_frame(node, SHERD_REASON_LINK_LOST, "first");
    expect_none(node);
    node_free(node);
}

/* Reads the status at once, before another turn. */
static uint64_t counted(struct node *node, enum sherd_reason reason)
{
    struct machine *machine = node_machine(node, 1);
    struct status_part part = { 0 };
    struct mail mail = node_mail_status(&part);
    struct driver_request request;
    uint64_t count;

    machine_mail(machine, 1, &mail, 1);
    do
        assert_true(machine_next_request(machine, &request));
    while (request.kind != DRIVER_STATUS);
    count = part.status.undelivered[reason];
    mem_free(part.status.types); /* the only array that a lane fills */
    return count;
}

/* Messages for the former incarnation are lost, and counted so. */
static void frames_on_a_link_end_with_an_incarnation(void **state)
{
    struct node *node = one_lane(true);
    struct machine *lane = node_machine(node, 1);
    struct identity next = peer;

    (void)state;
    route_to(lane, "e", &peer);
    tell(node, "e", 1, "first");
    (void)machine_turn(lane, 2, 0);
    link_answered(peer_link(&lane->links,
                            peers_uid(&lane->peers, peer.node.uid),
                            STREAM_ORDINARY),
                  2, peer.node.uid, 0, 0);
    assert_int_equal(counted(node, SHERD_REASON_LINK_LOST), 0);
    next.node.uid = 23;
    give(lane, MAIL(peer, .own = { mail_node(&next.node) }));
    expect_frame(node, SHERD_REASON_LINK_LOST, "first");
    expect_none(node);
    assert_int_equal(counted(node, SHERD_REASON_LINK_LOST), 1);
    node_free(node);
}

static void frames_on_a_link_end_with_this_node(void **state)
{
    struct node *node = one_lane(true);
    struct machine *lane = node_machine(node, 1);

    (void)state;
    route_to(lane, "e", &peer);
    tell(node, "e", 1, "first");
    tell(node, "e", 1, "second");
    (void)machine_turn(lane, 2, 0);
    node_close(node);
    expect_frame(node, SHERD_REASON_SHUTTING_DOWN, "first");
    expect_frame(node, SHERD_REASON_SHUTTING_DOWN, "second");
    expect_none(node);
    node_free(node);
}

static void nothing_runs_on_a_lane_that_has_ended(void **state)
{
    struct node *node = one_lane(true);
    struct machine *lane = node_machine(node, 1);

    (void)state;
    host_it(node, "e");
    give(lane, MAIL(end, .is_at_once = true));
    tell(node, "e", 1, "late");
    (void)machine_turn(lane, 2, 0);
    expect(node, PROBE_MESSAGE_ENDED, SHERD_REASON_SHUTTING_DOWN, "late");
    expect_none(node);
    node_close(node);
    expect_none(node);
    node_free(node);
}

static void put_frame(struct buf *buf, const char *manifest,
                      struct slice payload, const char *recipient)
{
    struct outbound message = { .to = self.node,
                                .recipient = slice_text(recipient),
                                .manifest = slice_text(manifest),
                                .serializer = SERIALIZER_ARTERY,
                                .stream = STREAM_ORDINARY,
                                .payload = payload };

    if (!slice_is(message.manifest, ARTERY_HANDSHAKE_REQUEST))
        message.serializer = 77; /* an unknown serializer */
    assert_true(envelope_put(buf, &peer, NULL, &message));
}

/* One frame has an unknown kind, and one is incomplete. */
static void unread_bytes_end_with_a_probe(void **state)
{
    struct node *node = one_lane(true);
    struct machine *lane = node_machine(node, 1);
    struct handshake handshake = { .lane = 1, .lanes = 1, .generation = 1 };
    struct buf bytes = { 0 };
    struct buf payload = { 0 };
    struct probe probe;
    const uint8_t preamble[5] = { 'A', 'K', 'K', 'A', STREAM_ORDINARY };
    size_t half;

    (void)state;
    buf_put(&bytes, preamble, sizeof preamble);
    handshake_request_put(&payload, &peer, &self.node.address, &handshake);
    put_frame(&bytes, ARTERY_HANDSHAKE_REQUEST, buf_slice(&payload), "");
    put_frame(&bytes, "x", slice_text("unread"), "/user/a0000000000000001");
    half = bytes.size;
    put_frame(&bytes, "x", slice_text("cut off here"), "/user/x");
    machine_accepted(lane, 1, &(struct arrival){ 1, 1, "b" });
    machine_bytes(lane, 1, 1, slice_of(bytes.data, bytes.size - 3));
    expect_frame(node, SHERD_REASON_NO_HANDLER, "unread");
    expect_none(node);
    machine_conn_closed(lane, 2, 1);
    assert_true(machine_next_probe(lane, &probe));
    assert_int_equal(probe.kind, PROBE_BYTES_ENDED);
    assert_int_equal(probe.node.uid, peer.node.uid);
    assert_int_equal(probe.bytes.size, bytes.size - 3 - half);
    machine_bytes(lane, 2, 1, slice_of(bytes.data + bytes.size - 3, 3));
    assert_true(machine_next_probe(lane, &probe));
    assert_int_equal(probe.kind, PROBE_BYTES_ENDED);
    assert_int_equal(probe.bytes.size, 3);
    expect_none(node);
    node_free(node);
    buf_fini(&bytes);
    buf_fini(&payload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_no_probes_without_the_setting),
        cmocka_unit_test(messages_that_wait_for_a_home_end_with_the_node),
        cmocka_unit_test(an_entity_has_a_probe_at_its_start_and_end),
        cmocka_unit_test(mailboxes_and_handlers_end_messages),
        cmocka_unit_test(frames_on_a_link_end_with_their_node),
        cmocka_unit_test(frames_on_a_link_end_with_an_incarnation),
        cmocka_unit_test(frames_on_a_link_end_with_this_node),
        cmocka_unit_test(nothing_runs_on_a_lane_that_has_ended),
        cmocka_unit_test(unread_bytes_end_with_a_probe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
