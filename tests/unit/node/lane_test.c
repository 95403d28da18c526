/* Tests a lane without a driver: the marker of a hand-off follows the messages before it; and which
 * streams have compressed tags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "artery/control.h"
#include "artery/extension.h"
#include "base/hash.h"
#include "lone.h"
#include "node/lane/lane.h"

#define SHARDS 8

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity peer = { "akka", "S", { { "b", 2 }, 22 } };
static const struct fence fence = { 1, 4 };

static struct node *two_lanes(void)
{
    return lone_node(
        (struct node_settings){ .identity = self,
                                .lanes = 2,
                                .buffer_size = 1000,
                                .passivate_idle_after = 60 * SECOND },
        SHARDS);
}

static int32_t shard_of_lane(uint32_t lane)
{
    for (int32_t shard = 0; shard < SHARDS; shard++)
        if (shard_lane(0, shard, 2) == lane)
            return shard;
    fail();
    return 0;
}

static void give(struct machine *machine, struct mail_content content)
{
    struct mail mail = mail_seal(&content);

    machine_mail(machine, 1, &mail, 1);
}

static void give_route(struct machine *machine, int32_t shard,
                       const struct identity *home)
{
    give(machine, mail_for_shard(0, shard,
                                 MAIL(route, .own = { mail_node(&home->node) })));
}

static void give_hold(struct machine *machine, int32_t shard,
                      const struct identity *owner)
{
    give(machine, mail_for_shard(0, shard,
                                 MAIL(hold, .attempt = { fence, 7 },
                                      .own = { mail_node(&owner->node) })));
}

/* Returns the kind of the n-th mail; -1: there are fewer. */
static int posted(struct machine *machine, uint32_t to, uint32_t n,
                  struct mail_content *content)
{
    const struct mail *mail;
    uint32_t count = machine_outgoing(machine, to, &mail);

    if (n >= count)
        return -1;
    *content = mail_open(&mail[n]);
    return content->kind;
}

/* This lane sends a message to the shard. */
static void tell(struct machine *machine, int32_t shard)
{
    struct tell_content *telling = mem_alloc(sizeof *telling);
    char id[16];

    for (int i = 0;; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        if (hash_shard(slice_text(id), SHARDS) == shard)
            break;
    }
    buf_put_text(&telling->id, id);
    give(machine, MAIL(tell, .own = { telling }));
}

static void marker_goes_last_down_the_ring(void **state)
{
    struct node *node = two_lanes();
    struct machine *lane = node_machine(node, 1);
    int32_t shard = shard_of_lane(1);
    const struct mail_marker *marker;
    struct mail_content content;

    (void)state;
    give_route(lane, shard, &self);
    tell(lane, shard);
    give_hold(lane, shard, &self);
    (void)machine_turn(lane, 2, 0);
    assert_int_equal(posted(lane, 2, 0, &content), MAIL_MESSAGES);
    assert_int_equal(posted(lane, 2, 1, &content), MAIL_MARKER);
    assert_int_equal(content.shard, shard);
    marker = mail_marker_of(&content);
    assert_int_equal(marker->attempt.number, 7);
    assert_int_equal(fence_compare(marker->attempt.fence, fence), 0);
    assert_int_equal(marker->uid, self.node.uid);
    assert_int_equal(marker->lane, 0);
    assert_int_equal(posted(lane, 0, 0, &content), MAIL_HELD);
    assert_int_equal(mail_held_of(&content)->attempt.number, 7);
    node_free(node);
}

/* A failed hand-off begins again at once. */
static void waiting_messages_leave_before_the_next_hold(void **state)
{
    struct node *node = two_lanes();
    struct machine *lane = node_machine(node, 1);
    int32_t shard = shard_of_lane(1);
    struct mail_content content;

    (void)state;
    tell(lane, shard);
    (void)machine_turn(lane, 2, 0);
    assert_int_equal(posted(lane, 0, 0, &content), MAIL_REQUEST_HOME);
    give_route(lane, shard, &self);
    give_hold(lane, shard, &self);
    (void)machine_turn(lane, 3, 0);
    assert_int_equal(posted(lane, 2, 0, &content), MAIL_MESSAGES);
    assert_int_equal(posted(lane, 2, 1, &content), MAIL_MARKER);
    assert_int_equal(routes_waiting(&lane->lane->types[0].routes, shard), 0);
    node_free(node);
}

static void a_marker_to_the_own_shard_is_counted(void **state)
{
    struct node *node = two_lanes();
    struct machine *lane = node_machine(node, 1);
    int32_t shard = shard_of_lane(0);
    struct mail_content content;

    (void)state;
    give(lane, mail_for_shard(0, shard, MAIL(host, .fence = fence)));
    (void)machine_turn(lane, 2, 0);
    assert_int_equal(posted(lane, 0, 0, &content), MAIL_STARTED);
    give_hold(lane, shard, &self);
    assert_int_equal(lane->lane->types[0].owned.counters.markers, 1);
    assert_int_equal(posted(lane, 0, 1, &content), MAIL_HELD);
    node_free(node);
}

/* The driver delivers both before a turn: the shard runs, but its actors do not know yet. */
static void a_message_after_the_order_to_host_is_delivered(void **state)
{
    struct node *node = two_lanes();
    struct machine *lane = node_machine(node, 1);
    int32_t shard = shard_of_lane(0);
    struct actors_status status;

    (void)state;
    give(lane, mail_for_shard(0, shard, MAIL(host, .fence = fence)));
    for (int i = 0; i < 2 * BATCH_MAX; i++)
        tell(lane, shard);
    (void)machine_turn(lane, 2, 0);
    for (int i = 0; i < 10; i++)
        (void)machine_turn(lane, 3, 0);
    actors_status(lane->lane->actors, &status);
    for (int i = 0; i < SHERD_REASON_COUNT; i++)
        assert_int_equal(status.undelivered[i], 0);
    assert_int_equal(status.delivered, 2 * BATCH_MAX);
    node_free(node);
}

/* The other lane sends a message to the shard. */
static void arrives(struct machine *machine, int32_t shard)
{
    struct message *message;
    char id[16];

    for (int i = 0;; i++) {
        (void)snprintf(id, sizeof id, "e%d", i);
        if (hash_shard(slice_text(id), SHARDS) == shard)
            break;
    }
    message = message_new_heap(0, slice_text(id), slice_text("x"));
    message->entity.shard = shard;
    message->entity.has_shard = 1;
    message->arrived = 1;
    give(machine, MAIL(messages, .own = { message }));
}

/* The node's own home for the shard is old. */
static void a_message_by_a_newer_home_waits(void **state)
{
    struct node *node = two_lanes();
    struct machine *lane = node_machine(node, 1);
    int32_t shard = shard_of_lane(0);
    struct actors_status status;
    struct mail_content content;

    (void)state;
    give_route(lane, shard, &peer);
    arrives(lane, shard);
    (void)machine_turn(lane, 2, 0);
    actors_status(lane->lane->actors, &status);
    assert_int_equal(status.undelivered[SHERD_REASON_HANDED_OFF], 0);
    assert_int_equal(posted(lane, 0, 0, &content), MAIL_REQUEST_HOME);
    assert_true(mail_request_home_of(&content)->is_suspect);
    give(lane, mail_for_shard(0, shard, MAIL(host, .fence = fence)));
    for (int i = 0; i < 10; i++)
        (void)machine_turn(lane, 3, 0);
    actors_status(lane->lane->actors, &status);
    assert_int_equal(status.delivered, 1);
    node_free(node);
}

/* A forwarded message could overtake others. */
static void a_message_by_an_older_home_ends(void **state)
{
    struct node *node = two_lanes();
    struct machine *lane = node_machine(node, 1);
    int32_t shard = shard_of_lane(0);
    struct actors_status status;
    struct mail_content content;

    (void)state;
    give_route(lane, shard, &peer);
    arrives(lane, shard);
    (void)machine_turn(lane, 2, 0);
    assert_int_equal(posted(lane, 0, 0, &content), MAIL_REQUEST_HOME);
    give_route(lane, shard, &peer);
    (void)machine_turn(lane, 3, 0);
    actors_status(lane->lane->actors, &status);
    assert_int_equal(status.undelivered[SHERD_REASON_HANDED_OFF], 1);
    assert_int_equal(status.delivered, 0);
    node_free(node);
}

static void marker_waits_for_room_on_the_link(void **state)
{
    struct node *node = two_lanes();
    struct machine *lane = node_machine(node, 1);
    struct link *link =
        peer_link(&lane->links, peers_meant(&lane->peers, &peer.node),
                  STREAM_ORDINARY);
    struct outbound filler = { .to = { peer.node.address, 0 },
                               .recipient = slice_text("/user/x"),
                               .serializer = 4,
                               .stream = STREAM_ORDINARY };
    struct mail_content content;
    struct slice frame;
    struct envelope envelope;

    (void)state;
    while (link_room(link))
        assert_true(link_send(link, 1, NULL, &filler));
    give_hold(lane, 3, &peer);
    (void)machine_turn(lane, 2, 0);
    assert_int_equal(posted(lane, 0, 0, &content), -1); /* not held yet: no marker left */
    assert_true(link_take_back(link, &frame));
    (void)machine_turn(lane, 3, 0);
    assert_int_equal(posted(lane, 0, 0, &content), MAIL_HELD);
    memset(&envelope, 0, sizeof envelope);
    while (link_take_back(link, &frame))
        assert_int_equal(
            envelope_read(slice_of(frame.data + 4, frame.size - 4), NULL,
                          &envelope),
            ENVELOPE_OK);
    assert_true(envelope_is(&envelope, SERIALIZER_SHERD, MANIFEST_FLUSH));
    node_free(node);
}

static void put_frame(struct buf *buf, const char *manifest,
                      struct slice payload, bool compressed)
{
    struct outbound message = { .to = self.node,
                                .recipient = slice_text("/user/x"),
                                .manifest = slice_text(manifest),
                                .serializer = SERIALIZER_ARTERY,
                                .stream = STREAM_CONTROL,
                                .payload = payload };
    size_t start = buf->size;

    if (!slice_is(message.manifest, ARTERY_HANDSHAKE_REQUEST))
        message.serializer = 4;
    assert_true(envelope_put(buf, &peer, NULL, &message));
    if (compressed) { /* entry 0 of the receiver's refs, in place of the literal */
        const uint8_t tag[4] = { 0, 0, 0, 0xff };

        buf->data[start + 4 + 1] = 0;
        buf->data[start + 4 + 2] = 1; /* the version of its refs */
        memcpy(buf->data + start + 4 + 16, tag, sizeof tag);
    }
}

/* Counts unreadable frames, after a handshake and a frame with a compressed sender. */
static uint64_t refused(uint8_t stream)
{
    struct node *node = two_lanes();
    struct machine *machine = node_machine(node, stream == STREAM_CONTROL ? 0 : 1);
    struct handshake handshake = { .capabilities = CAPABILITY_SHERD, .lanes = 1,
                                   .lane = stream == STREAM_CONTROL ? 0 : 1,
                                   .generation = 5 };
    struct buf payload = { 0 };
    struct buf bytes = { 0 };
    uint64_t malformed;

    buf_put_text(&bytes, "AKKA");
    buf_put_u8(&bytes, stream);
    handshake_request_put(&payload, &peer, &self.node.address, &handshake);
    put_frame(&bytes, ARTERY_HANDSHAKE_REQUEST, buf_slice(&payload), false);
    put_frame(&bytes, "x", slice_text("y"), true);
    machine_start(machine, 1, 0);
    machine_accepted(machine, 1, &(struct arrival){ 1, 1, "b:2" });
    machine_bytes(machine, 1, 1, buf_slice(&bytes));
    malformed = machine->malformed;
    buf_fini(&payload);
    buf_fini(&bytes);
    node_free(node);
    return malformed;
}

static void only_ordinary_streams_have_tables(void **state)
{
    (void)state;
    assert_int_equal(refused(STREAM_ORDINARY), 0);
    assert_int_equal(refused(STREAM_CONTROL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marker_goes_last_down_the_ring),
        cmocka_unit_test(waiting_messages_leave_before_the_next_hold),
        cmocka_unit_test(a_marker_to_the_own_shard_is_counted),
        cmocka_unit_test(a_message_after_the_order_to_host_is_delivered),
        cmocka_unit_test(a_message_by_a_newer_home_waits),
        cmocka_unit_test(a_message_by_an_older_home_ends),
        cmocka_unit_test(marker_waits_for_room_on_the_link),
        cmocka_unit_test(only_ordinary_streams_have_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
