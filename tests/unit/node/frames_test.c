/* Tests invalid input on a lane's connection: it is counted, without effect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "artery/control.h"
#include "artery/extension.h"
#include "base/hash.h"
#include "lone.h"
#include "node/control/control.h"
#include "node/lane/lane.h"
#include "shard/wire.h"

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity peer = { "akka", "S", { { "b", 2 }, 22 } };

struct fixture {
    struct node *node;
    struct machine *machine; /* a lane with a connection from the peer */
};

static void put(struct machine *machine, const char *recipient,
                const char *sender, const char *manifest, int32_t serializer,
                struct slice payload)
{
    if (serializer == SERIALIZER_ARTERY && !machine->inlets.count)
        lone_accept(machine, 1, STREAM_ORDINARY);
    lone_put(machine, 1, &peer, recipient, sender, manifest, serializer,
             payload);
}

static void shake(struct machine *machine, const struct identity *from,
                  const struct address *to)
{
    struct handshake handshake = { .capabilities = CAPABILITY_SHERD,
                                   .lanes = 1,
                                   .lane = 1,
                                   .generation = 5 };
    struct buf payload = { 0 };

    handshake_request_put(&payload, from, to, &handshake);
    put(machine, "", "", ARTERY_HANDSHAKE_REQUEST, SERIALIZER_ARTERY,
        buf_slice(&payload));
    buf_fini(&payload);
}

/* Sends a handshake on its order-th connection. True: that incarnation is the known one now. */
static bool says_hello(struct machine *machine, uint64_t uid, uint64_t order,
                       enum stream stream)
{
    struct identity life = peer;
    struct handshake handshake = { .capabilities = CAPABILITY_SHERD,
                                   .lanes = 1,
                                   .lane = 1,
                                   .generation = order };
    struct buf payload = { 0 };
    struct driver_request request;
    bool closed = false;

    life.node.uid = uid;
    handshake_request_put(&payload, &life, &self.node.address, &handshake);
    lone_accept(machine, order, stream);
    lone_put(machine, order, &life, "", "", ARTERY_HANDSHAKE_REQUEST,
             SERIALIZER_ARTERY, buf_slice(&payload));
    buf_fini(&payload);
    while (machine_next_request(machine, &request))
        closed |= request.kind == DRIVER_CLOSE_CONN && request.conn == order;
    assert_int_equal(
        !closed,
        peers_find(&machine->peers, &peer.node.address)->uid == uid);
    return !closed;
}

static int setup(void **state)
{
    struct fixture *fixture = mem_alloc(sizeof *fixture);

    fixture->node = lone_node(
        (struct node_settings){ .identity = self, .lanes = 1 }, 0);
    fixture->machine = node_machine(fixture->node, 1);
    machine_start(fixture->machine, 1, 0);
    shake(fixture->machine, &peer, &self.node.address);
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

/* Counts mail of that kind for control. */
static uint32_t posted(struct machine *machine, enum mail_kind kind)
{
    const struct mail *mail;
    uint32_t count = machine_outgoing(machine, 0, &mail);
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++)
        found += mail_open(&mail[i]).kind == kind;
    return found;
}

static uint64_t undelivered(const struct fixture *fixture)
{
    struct actors_status status;

    actors_status(fixture->machine->lane->actors, &status);
    return status.undelivered[SHERD_REASON_NO_SUCH_ACTOR];
}

/* Connections come in the order of incarnations, and are read in any order: by control, too, which
 * may consider a node another one's former incarnation. */
static void an_earlier_incarnation_may_be_read_after_the_living_one(void **state)
{
    const struct fixture *fixture = *state;
    struct machine *control = node_machine(fixture->node, 0);

    machine_start(control, 1, 0);
    assert_true(says_hello(control, 24, 9, STREAM_CONTROL));
    assert_false(says_hello(control, 23, 8, STREAM_CONTROL));
    assert_int_equal(associations_uid(control->control->associations,
                                      &peer.node.address),
                     24);
    assert_true(says_hello(control, 25, 11, STREAM_CONTROL));
    assert_int_equal(associations_uid(control->control->associations,
                                      &peer.node.address),
                     25);
}

static void invalid_notices_are_counted(void **state)
{
    static const struct {
        uint8_t payload[8];
        size_t size;
        bool good;
    } cases[] = {
        { { SHERD_REASON_TIMEOUT, SHERD_STAGE_SENT, 7, 0, 0, 0 }, 6, true },
        { { SHERD_REASON_COUNT - 1, SHERD_STAGE_COUNT - 1 }, 6, true },
        { { SHERD_REASON_NONE, SHERD_STAGE_SENT }, 6, false },
        { { SHERD_REASON_COUNT, SHERD_STAGE_SENT }, 6, false },
        { { SHERD_REASON_TIMEOUT, SHERD_STAGE_COUNT }, 6, false },
        { { SHERD_REASON_TIMEOUT, SHERD_STAGE_SENT }, 5, false },
    };
    struct fixture *fixture = *state;
    struct lane *lane = fixture->machine->lane;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t unknown = lane->unknown;

        put(fixture->machine, "akka://S@a:1/user/a0000000000000001",
            "akka://S@b:2/user/a0000000000000002", MANIFEST_UNDELIVERED,
            SERIALIZER_SHERD, slice_of(cases[i].payload, cases[i].size));
        assert_int_equal(lane->unknown, unknown + !cases[i].good);
    }
}

/* Any other spelling is no name. */
static void each_actor_and_ask_has_one_name(void **state)
{
    static const struct {
        const char *path;
        bool good;
    } cases[] = {
        { "/user/a0123456789abcdef", true },
        { "/user/w0123456789abcdef#12", true },
        { "/user/a0123456789ABCDEF", false },
        { "/user/a123456789abcdef", false },
        { "/temp/a0123456789abcdef.1f", true },
        { "/temp/a0123456789abcdef.01f", false },
        { "/temp/a0123456789abcdef.0", false },
        { "/temp/a0123456789abcdef.", false },
        { "/temp/a0123456789abcdef.ffffffffffffffff", true },
        { "/temp/a0123456789abcdef.10000000000000000", false },
        { "/temp/w0123456789abcdef.1", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t actor;
        uint64_t ask;

        assert_int_equal(name_parse(slice_text(cases[i].path), &actor, &ask),
                         cases[i].good);
    }
}

/* A frame may name any node as its sender: that one gets no connection. */
static void a_named_sender_makes_no_entry(void **state)
{
    struct fixture *fixture = *state;
    uint32_t before = fixture->machine->peers.all.count;

    put(fixture->machine, "akka://S@a:1/user/a0000000000000001",
        "akka://S@nowhere:9/user/a0000000000000002", "m1", SERIALIZER_SHERD,
        slice_text("x"));
    assert_int_equal(undelivered(fixture), 1);
    assert_int_equal(fixture->machine->peers.all.count, before);
}

static void refused(struct fixture *fixture)
{
    assert_int_equal(posted(fixture->machine, MAIL_HANDSHAKE), 1);
    assert_int_equal(fixture->machine->refused, 1);
    assert_int_equal(fixture->machine->inlets.count, 0); /* closed */
}

static void a_later_handshake_for_another_is_refused(void **state)
{
    static const struct address other = { "other", 1 };
    struct fixture *fixture = *state;

    shake(fixture->machine, &peer, &self.node.address); /* repeated: accepted */
    assert_int_equal(posted(fixture->machine, MAIL_HANDSHAKE), 2);
    shake(fixture->machine, &peer, &other);
    assert_int_equal(posted(fixture->machine, MAIL_HANDSHAKE), 2);
    assert_int_equal(fixture->machine->refused, 1);
    assert_int_equal(fixture->machine->inlets.count, 0); /* closed */
}

static void a_later_handshake_that_cannot_be_read_is_refused(void **state)
{
    struct fixture *fixture = *state;

    put(fixture->machine, "", "", ARTERY_HANDSHAKE_REQUEST, SERIALIZER_ARTERY,
        slice_text("\xff\xff"));
    refused(fixture);
}

static void a_handshake_of_another_than_its_sender_is_refused(void **state)
{
    static const struct identity third = { "akka", "S", { { "c", 3 }, 33 } };
    struct fixture *fixture = *state;

    shake(fixture->machine, &third, &self.node.address);
    refused(fixture);
    assert_null(peers_sender(&fixture->machine->peers, third.node.uid));
}

static void put_sharded(struct buf *bytes, const char *sender, const char *id,
                        const char *body)
{
    const struct sharding_envelope message = { .id = slice_text(id),
                                               .manifest = slice_text("m7"),
                                               .body = slice_text(body),
                                               .serializer = SERIALIZER_SHERD };
    struct envelope_head head = { 0 };

    assert_true(envelope_head_init(
        &head, &peer, NULL, slice_text("akka://S@a:1/system/sharding/T"),
        slice_text("a"), SERIALIZER_SHARDING_TYPED));
    sharding_envelope_put(bytes, &head, slice_text(sender), &message);
    envelope_head_fini(&head);
}

/* Checks the next message that waits for the id's shard, which has no home. */
static void waits(const struct fixture *fixture, const char *id,
                  const char *body, uint64_t actor, uint64_t ask, bool wants)
{
    struct lane *lane = fixture->machine->lane;
    int32_t shard = hash_shard(slice_text(id), fixture->node->names[0].shards);
    struct message *message =
        lane_unwrap(lane, routes_drain(&lane->types[0].routes, shard));

    assert_non_null(message);
    assert_true(slice_is(message_id(message), id));
    assert_true(slice_is(message_body(message), body));
    assert_int_equal(message->msg, 7);
    assert_int_equal(message->sender.node, actor ? peer.node.uid : 0);
    assert_int_equal(message->sender.actor, actor);
    assert_int_equal(message->ask, ask);
    assert_int_equal(message->wants_undelivered, wants);
    assert_int_equal(message->arrived, 1);
    actors_message_free(lane->actors, message);
}

/* A run's sender does not count for a frame with another head, as long or shorter, or for another
 * kind of message. */
static void frames_of_several_senders_are_distinguished(void **state)
{
    struct fixture *fixture = *state;
    struct lane *lane = fixture->machine->lane;
    struct buf bytes = { 0 };
    size_t good;

    put_sharded(&bytes, "/user/a0000000000000001", "x", "1");
    put_sharded(&bytes, "/user/a0000000000000001", "x", "2");
    put_sharded(&bytes, "/user/a0000000000000002", "x", "3");
    put_sharded(&bytes, "/user/w0000000000000002", "x", "4");
    put_sharded(&bytes, "/user/w0000000000000002", "x", "5");
    put_sharded(&bytes, "/temp/a0000000000000002.1f", "x", "6");
    put_sharded(&bytes, "", "x", "7");
    put_sharded(&bytes, "", "x", "8");
    put_sharded(&bytes, "/user/a0000000000000001", "x", "9");
    good = bytes.size;
    put_sharded(&bytes, "/user/a0000000000000001", "x", "not to be read");
    bytes.data[bytes.size - 1] = '!'; /* the manifest's number */
    put_sharded(&bytes, "/user/a0000000000000001", "x", "10");
    /* the head before, cut within its sender */
    buf_put_u32(&bytes, 40);
    buf_put_slice(&bytes, slice_of(bytes.data + good + 4, 40));
    put_sharded(&bytes, "/user/a0000000000000001", "x", "11");
    machine_bytes(fixture->machine, 1, 1, buf_slice(&bytes));
    buf_fini(&bytes);

    waits(fixture, "x", "1", 1, 0, false);
    waits(fixture, "x", "2", 1, 0, false);
    waits(fixture, "x", "3", 2, 0, false);
    waits(fixture, "x", "4", 2, 0, true);
    waits(fixture, "x", "5", 2, 0, true);
    waits(fixture, "x", "6", 2, 0x1f, false);
    waits(fixture, "x", "7", 0, 0, false);
    waits(fixture, "x", "8", 0, 0, false);
    waits(fixture, "x", "9", 1, 0, false);
    waits(fixture, "x", "10", 1, 0, false);
    waits(fixture, "x", "11", 1, 0, false);
    assert_int_equal(lane->unknown, 1);
    assert_int_equal(fixture->machine->malformed, 1);
}

static uint32_t connects(struct machine *machine)
{
    struct driver_request request;
    uint32_t count = 0;

    while (machine_next_request(machine, &request))
        count += request.kind == DRIVER_CONNECT;
    return count;
}

static void put_start(struct machine *machine, const char *id)
{
    struct buf payload = { 0 };

    shard_message_put(&payload,
                      &(struct shard_message){ .kind = SHARD_START_ENTITY,
                                               .entity = slice_text(id) },
                      &peer);
    put(machine, "akka://S@a:1/system/sharding/T",
        "akka://S@b:2/system/sharding/T/starter#7", "EA", SHARDING_SERIALIZER,
        buf_slice(&payload));
    buf_fini(&payload);
}

/* StartEntity waits as messages do, and is acknowledged. */
static void an_entity_is_started_for_another_node_SHT030(void **state)
{
    struct fixture *fixture = *state;
    struct machine *machine = fixture->machine;
    struct lane *lane = machine->lane;
    struct mail_content host = mail_for_shard(
        0, hash_shard(slice_text("x"), 1000), MAIL(host, .fence = { 0, 0 }));
    uint64_t unknown = lane->unknown;

    put_start(machine, "x");
    put_start(machine, "");
    put(machine, "akka://S@a:1/system/sharding/T", "", "EA",
        SHARDING_SERIALIZER, slice_text("?"));
    assert_int_equal(lane->unknown, unknown + 2);
    (void)machine_turn(machine, 2, 0);
    assert_int_equal(actors_type_entities(lane->actors, 0), 0);
    (void)connects(machine);
    lane_mail(lane, 0, &host);
    for (uint64_t now = 3; now < 6; now++)
        (void)machine_turn(machine, now, 0);
    assert_int_equal(actors_type_entities(lane->actors, 0), 1);
    assert_int_equal(connects(machine), 1); /* for the answer */
}

/* Returns the machine of a connection that begins with this request. */
static uint32_t machine_of(const struct node *node, uint32_t lane,
                           uint32_t lanes)
{
    struct handshake handshake = { .lane = lane, .lanes = lanes };
    struct buf payload = { 0 }, bytes = { 0 };
    struct envelope_head head = { 0 };
    const char *why = "";
    uint32_t machine = UINT32_MAX;

    handshake_request_put(&payload, &peer, &self.node.address, &handshake);
    buf_put(&bytes, "AKKA\2", 5);
    assert_true(envelope_head_init(&head, &peer, NULL, slice_text(""),
                                   slice_text(ARTERY_HANDSHAKE_REQUEST),
                                   SERIALIZER_ARTERY));
    envelope_head_put(&bytes, &head, slice_text(""), buf_slice(&payload));
    assert_int_equal(node_accepts(node, buf_slice(&bytes), &machine, &why),
                     NODE_ACCEPT);
    envelope_head_fini(&head);
    buf_fini(&payload);
    buf_fini(&bytes);
    return machine;
}

/* The frames come on a connection of another stream than control's, and no handler on a lane may
 * delay them. A JVM's connection goes to a lane, because it also carries messages to actors. */
static void frames_of_a_peers_control_go_to_control(void **state)
{
    struct node *node = lone_node(
        (struct node_settings){ .identity = self, .lanes = 3 }, 0);
    bool used[4] = { false };
    (void)state;

    assert_int_equal(machine_of(node, 0, 2), 0);
    assert_int_equal(machine_of(node, 0, 64), 0);
    assert_in_range(machine_of(node, 0, 0), 1, 3);
    for (uint32_t lane = 1; lane <= 64; lane++) {
        uint32_t machine = machine_of(node, lane, 64);

        assert_in_range(machine, 1, 3);
        assert_int_equal(machine_of(node, lane, 64), machine);
        used[machine] = true;
    }
    assert_true(used[1] && used[2] && used[3]);
    node_free(node);
}

/* Frees the bytes. The driver reads others into its memory afterwards. */
static void receive_once(struct machine *machine, struct buf *bytes)
{
    static uint8_t memory[1024];

    assert_in_range(bytes->size, 1, sizeof memory);
    memcpy(memory, bytes->data, bytes->size);
    machine_bytes(machine, 1, 1, slice_of(memory, bytes->size));
    memset(memory, '?', sizeof memory);
    buf_fini(bytes);
}

/* Returns the only frame for control, lent; null: there is none. */
static const struct mail_frame *carried(struct machine *machine)
{
    static struct mail_content frame;
    const struct mail *mail;
    uint32_t count = machine_outgoing(machine, 0, &mail);
    const struct mail_frame *found = NULL;

    for (uint32_t i = 0; i < count; i++) {
        struct mail_content content = mail_open(&mail[i]);

        if (content.kind != MAIL_FRAME)
            continue;
        assert_null(found);
        frame = content;
        found = mail_frame_of(&frame);
    }
    return found;
}

static void control_gets_the_envelope_that_a_lane_has_read(void **state)
{
    const struct fixture *fixture = *state;
    const struct outbound gossip = {
        .to = self.node,
        .sender = slice_text("/system/cluster/core/daemon"),
        .recipient = slice_text("/system/cluster/core/daemon"),
        .manifest = slice_text("GE"),
        .payload = slice_text("a packed gossip"),
        .serializer = 5,
        .stream = STREAM_ORDINARY,
    };
    const struct mail_frame *frame;
    struct buf bytes = { 0 };

    assert_true(envelope_put(&bytes, &peer, NULL, &gossip));
    receive_once(fixture->machine, &bytes);
    frame = carried(fixture->machine);
    assert_non_null(frame);
    assert_int_equal(frame->stream, STREAM_ORDINARY);
    assert_int_equal(frame->own.envelope->origin, peer.node.uid);
    assert_int_equal(frame->own.envelope->serializer, 5);
    assert_int_equal(frame->own.envelope->recipient_index, -1);
    assert_true(slice_is(frame->own.envelope->sender,
                         "akka://S@b:2/system/cluster/core/daemon"));
    assert_true(slice_is(frame->own.envelope->recipient,
                         "akka://S@a:1/system/cluster/core/daemon"));
    assert_true(slice_is(frame->own.envelope->manifest, "GE"));
    assert_true(slice_is(frame->own.envelope->payload, "a packed gossip"));
}

/* A region's path and the manifest come as numbers of the lane's tables; control needs no tables
 * for them. */
static void compressed_texts_go_with_the_envelope(void **state)
{
    const struct fixture *fixture = *state;
    struct machine *machine = fixture->machine;
    struct peer_tables tables = { .uid = self.node.uid };
    struct outbound message = {
        .to = self.node,
        .recipient = slice_text(fixture->node->names[0].remote_path),
        .manifest = slice_text("a"),
        .payload = slice_text("to the region"),
        .serializer = SHARDING_SERIALIZER,
        .stream = STREAM_ORDINARY,
    };
    struct buf bytes = { 0 };
    struct buf literal = { 0 };
    const struct mail_frame *frame;
    const struct envelope *envelope;

    for (int kind = TABLE_REFS; kind <= TABLE_MANIFESTS; kind++) {
        struct buf payload = { 0 };

        table_advertisement_put(
            &payload, &self, peer.node.uid,
            own_tables_newest(&machine->tables, (enum table_kind)kind));
        assert_true(peer_tables_receive(&tables, (enum table_kind)kind,
                                        buf_slice(&payload)));
        buf_fini(&payload);
    }
    assert_true(envelope_put(&bytes, &peer, &tables, &message));
    assert_int_equal(bytes.size, 4 + ENVELOPE_HEADER_SIZE +
                                     message.payload.size);
    receive_once(machine, &bytes);
    frame = carried(machine);
    assert_non_null(frame);
    envelope = frame->own.envelope;
    ref_put(&literal, &self, &self.node.address, message.recipient);
    assert_int_equal(envelope->recipient_index, 1);
    assert_true(slice_equal(envelope->recipient, buf_slice(&literal)));
    assert_true(slice_is(envelope->manifest, "a"));
    assert_true(slice_equal(envelope->payload, message.payload));
    /* in the one block of the envelope */
    assert_ptr_equal(envelope->sender.data, envelope + 1);
    assert_ptr_equal(envelope->recipient.data, envelope + 1);
    assert_ptr_equal(envelope->payload.data,
                     envelope->manifest.data + envelope->manifest.size);
    buf_fini(&literal);
    peer_tables_fini(&tables);
}

/* Control answers as if it had read the frame. It knows the sender by the lane's handshake, and
 * drops a frame of an unknown one. */
static void control_handles_a_frame_of_a_lane(void **state)
{
    static const struct {
        const char *path;
        bool is_known;
    } senders[] = { { "/system/cluster/core/daemon", true },
                    { "/system/cluster/core/other", false } };
    const struct fixture *fixture = *state;
    struct machine *control = node_machine(fixture->node, 0);

    machine_start(control, 1, 0);
    while (outbox_next(&control->outbox, &(struct outbound){ 0 }))
        ;
    for (size_t i = 0; i < sizeof senders / sizeof *senders; i++) {
        struct outbound question = {
            .to = self.node,
            .sender = slice_text(senders[i].path),
            .recipient = slice_text("/system/cluster/core/daemon"),
            .manifest = slice_text("IJ"),
            .serializer = 5,
            .stream = STREAM_ORDINARY,
            .selection = true,
        };
        struct outbound answer = { 0 };
        const struct mail *mail;
        struct buf bytes = { 0 };
        uint32_t count;

        assert_true(envelope_put(&bytes, &peer, NULL, &question));
        receive_once(fixture->machine, &bytes);
        assert_non_null(carried(fixture->machine));
        count = machine_outgoing(fixture->machine, 0, &mail);
        for (uint32_t at = 0; at < count; at++)
            if (senders[i].is_known || mail_open(&mail[at]).kind == MAIL_FRAME)
                machine_mail(control, 1, &mail[at], 1);
        machine_sent(fixture->machine, 0, count);
        while (outbox_next(&control->outbox, &answer) &&
               !slice_is(answer.manifest, "IJN"))
            ;
        assert_int_equal(slice_is(answer.manifest, "IJN"), senders[i].is_known);
        if (senders[i].is_known) {
            assert_true(slice_is(answer.recipient, senders[i].path));
            associations_quarantine(control->control->associations, &peer.node);
        }
    }
    assert_int_equal(associations_counts(control->control->associations).stale, 1);
    assert_int_equal(control->malformed, 0);
}

int main(void)
{
#define ON_A_LANE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        ON_A_LANE(an_earlier_incarnation_may_be_read_after_the_living_one),
        ON_A_LANE(invalid_notices_are_counted),
        cmocka_unit_test(frames_of_a_peers_control_go_to_control),
        cmocka_unit_test(each_actor_and_ask_has_one_name),
        ON_A_LANE(a_named_sender_makes_no_entry),
        ON_A_LANE(frames_of_several_senders_are_distinguished),
        ON_A_LANE(a_later_handshake_for_another_is_refused),
        ON_A_LANE(a_later_handshake_that_cannot_be_read_is_refused),
        ON_A_LANE(a_handshake_of_another_than_its_sender_is_refused),
        ON_A_LANE(an_entity_is_started_for_another_node_SHT030),
        ON_A_LANE(control_gets_the_envelope_that_a_lane_has_read),
        ON_A_LANE(compressed_texts_go_with_the_envelope),
        ON_A_LANE(control_handles_a_frame_of_a_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
