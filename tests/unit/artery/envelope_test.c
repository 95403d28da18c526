/* Checks the envelope byte for byte, its limits, tables, selections and sharding envelopes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "artery/control.h"
#include "artery/envelope.h"
#include "artery/extension.h"
#include "artery/sequence.h"
#include "artery/table.h"
#include "base/check.h"
#include "base/rng.h"

static struct identity node_a = {
    "akka",
    "ClusterSystem",
    {{"127.0.0.1", 2551}, UINT64_C(0x1122334455667788)}};
static struct identity node_b = {
    "akka",
    "ClusterSystem",
    {{"127.0.0.1", 2552}, UINT64_C(0x0807060504030201)}};

static struct buf from_hex(const char *hex)
{
    struct buf buf = {0};
    int high = -1;

    for (; *hex; hex++) {
        int digit = *hex >= '0' && *hex <= '9'   ? *hex - '0'
                    : *hex >= 'a' && *hex <= 'f' ? *hex - 'a' + 10
                                                 : -1;
        if (digit < 0)
            continue;
        if (high < 0) {
            high = digit;
        } else {
            buf_put_u8(&buf, (uint8_t)(high << 4 | digit));
            high = -1;
        }
    }
    return buf;
}

static void assert_bytes(struct slice got, const char *hex)
{
    struct buf want = from_hex(hex);

    assert_int_equal(got.size, want.size);
    assert_memory_equal(got.data, want.data, want.size);
    buf_fini(&want);
}

static struct slice unframed(const struct buf *buf)
{
    assert_true(buf->size > 4);
    assert_int_equal(buf->data[0] | buf->data[1] << 8 | buf->data[2] << 16,
                     buf->size - 4);
    return slice_of(buf->data + 4, buf->size - 4);
}

static const char request_hex[] =
    "79000000 00 00 00 00 0102030405060708 11000000 1c000000 1e000000 20000000"
    "0000 0000 0100 64"
    "0a2f0a230a04616b6b61120d436c757374657253797374656d1a093132372e302e302e31"
    "20f8131081848ca0d0c0c18308"
    "12230a04616b6b61120d436c757374657253797374656d1a093132372e302e302e3120f7"
    "13";
static const char response_hex[] =
    "54000000 00 00 00 00 8877665544332211 11000000 1c000000 1e000000 20000000"
    "0000 0000 0100 65"
    "0a2f0a230a04616b6b61120d436c757374657253797374656d1a093132372e302e302e31"
    "20f7131088ef99abc5e88c9111";

static struct buf put(const struct identity *self, const char *manifest,
                      const struct buf *payload)
{
    struct buf frame = {0};
    struct outbound message = {.manifest = slice_text(manifest),
                               .payload = buf_slice(payload),
                               .serializer = SERIALIZER_ARTERY,
                               .stream = STREAM_CONTROL};

    assert_true(envelope_put(&frame, self, NULL, &message));
    return frame;
}

static void handshakes_equal_the_reference_byte_for_byte(void **state)
{
    struct handshake handshake = {0};
    struct buf payload = {0};
    struct buf frame;
    struct envelope envelope;
    (void)state;

    handshake_request_put(&payload, &node_b, &node_a.node.address, &handshake);
    frame = put(&node_b, ARTERY_HANDSHAKE_REQUEST, &payload);
    assert_int_equal(frame.size, 125);
    assert_bytes(buf_slice(&frame), request_hex);
    assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                     ENVELOPE_OK);
    assert_true(envelope_is(&envelope, 17, "d"));
    assert_true(envelope.origin == node_b.node.uid);
    assert_int_equal(envelope.sender.size + envelope.recipient.size, 0);
    assert_int_equal(
        handshake_request_read(&node_a, envelope.payload, &handshake, NULL),
        HANDSHAKE_OK);
    assert_true(node_equal(&handshake.from, &node_b.node));
    assert_true(handshake.capabilities == 0);
    buf_fini(&frame);
    buf_clear(&payload);

    handshake_response_put(&payload, &node_a, &(struct handshake){0});
    frame = put(&node_a, ARTERY_HANDSHAKE_RESPONSE, &payload);
    assert_int_equal(frame.size, 88);
    assert_bytes(buf_slice(&frame), response_hex);
    assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                     ENVELOPE_OK);
    assert_int_equal(
        handshake_response_read(&node_b, envelope.payload, &handshake, NULL),
        HANDSHAKE_OK);
    assert_true(node_equal(&handshake.from, &node_a.node));
    buf_fini(&frame);
    buf_fini(&payload);
}

static void an_ack_equals_the_reference_byte_for_byte(void **state)
{
    struct sequence sequence = {0};
    struct outbox outbox = {0};
    struct outbound answer;
    (void)state;

    for (uint64_t seq = 1; seq <= 7; seq++) {
        outbox_fini(&outbox);
        assert_true(sequence_receive(&sequence, &node_b, &node_a.node, seq,
                                     &outbox));
    }
    assert_true(outbox_next(&outbox, &answer));
    assert_true(slice_is(answer.manifest, ARTERY_ACK));
    assert_bytes(answer.payload,
                 "08 07 12 2f"
                 "0a230a04616b6b61120d436c757374657253797374656d1a093132372e30"
                 "2e302e3120f8131081848ca0d0c0c18308");
    outbox_fini(&outbox);
    sequence_fini(&sequence);
}

static void a_handshake_carries_the_extension_fields(void **state)
{
    struct handshake handshake = {.capabilities = CAPABILITY_SHERD,
                                  .lane = 3,
                                  .lanes = 8,
                                  .generation = UINT64_C(1) << 40};
    struct handshake got;
    struct buf payload = {0};
    (void)state;

    handshake_request_put(&payload, &node_b, &node_a.node.address, &handshake);
    assert_int_equal(
        handshake_request_read(&node_a, buf_slice(&payload), &got, NULL),
        HANDSHAKE_OK);
    assert_true(got.capabilities == CAPABILITY_SHERD);
    assert_int_equal(got.lane, 3);
    assert_int_equal(got.lanes, 8);
    assert_true(got.generation == UINT64_C(1) << 40);
    buf_fini(&payload);
}

static void a_refused_handshake_names_the_intended_node(void **state)
{
    struct identity other = node_b;
    struct handshake got;
    struct buf payload = {0};
    char text[HANDSHAKE_TEXT_MAX];
    (void)state;

    other.system = "Other";
    handshake_request_put(&payload, &other, &node_a.node.address,
                          &(struct handshake){0});
    assert_int_equal(
        handshake_request_read(&node_a, buf_slice(&payload), &got, text),
        HANDSHAKE_FOREIGN);
    assert_non_null(strstr(text, "akka://Other@127.0.0.1:2552"));
    assert_non_null(strstr(text, "akka://ClusterSystem@127.0.0.1:2551"));
    buf_clear(&payload);

    other.system = node_b.system;
    other.protocol = "pekko";
    handshake_request_put(&payload, &other, &node_a.node.address,
                          &(struct handshake){0});
    assert_int_equal(
        handshake_request_read(&node_a, buf_slice(&payload), &got, text),
        HANDSHAKE_FOREIGN);
    buf_clear(&payload);

    handshake_request_put(&payload, &node_b, &node_b.node.address,
                          &(struct handshake){0});
    assert_int_equal(
        handshake_request_read(&node_a, buf_slice(&payload), &got, text),
        HANDSHAKE_ADDRESS);
    buf_clear(&payload);
    handshake_request_put(&payload, &node_a, &node_a.node.address,
                          &(struct handshake){0});
    assert_int_equal(
        handshake_request_read(&node_a, buf_slice(&payload), &got, text),
        HANDSHAKE_SELF);
    payload.size -= 3;
    assert_int_equal(
        handshake_request_read(&node_a, buf_slice(&payload), &got, text),
        HANDSHAKE_MALFORMED);
    buf_fini(&payload);
}

static const struct outbound plain = {
    .to = {{"10.0.0.1", 25520}, 0},
    .serializer = 5,
    .stream = STREAM_ORDINARY,
};

static void paths_become_refs(void **state)
{
    struct outbound message = plain;
    struct buf frame = {0};
    struct envelope envelope;
    (void)state;

    message.recipient = slice_text("/system/cluster/core/daemon");
    message.sender = slice_text("/user/x#-12");
    message.manifest = slice_text("GE");
    message.payload = slice_text("hello");
    assert_true(envelope_put(&frame, &node_a, NULL, &message));
    assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                     ENVELOPE_OK);
    assert_true(slice_is(envelope.recipient,
                         "akka://ClusterSystem@10.0.0.1:"
                         "25520/system/cluster/core/daemon"));
    assert_true(slice_is(envelope.sender,
                         "akka://ClusterSystem@127.0.0.1:2551/user/x#-12"));
    assert_true(slice_is(envelope.manifest, "GE"));
    assert_true(slice_is(envelope.payload, "hello"));
    assert_int_equal(envelope.serializer, 5);
    assert_int_equal(envelope.recipient_index, -1);
    buf_clear(&frame);
    message.sender = slice_text("akka://ClusterSystem@other:1/user/y");
    assert_true(envelope_put(&frame, &node_a, NULL, &message));
    assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                     ENVELOPE_OK);
    assert_true(
        slice_is(envelope.sender, "akka://ClusterSystem@other:1/user/y"));
    buf_fini(&frame);
}

static void a_selection_is_wrapped_and_unwrapped(void **state)
{
    struct outbound message = plain;
    struct buf frame = {0};
    struct envelope envelope;
    struct selection selection;
    struct inbound inbound;
    (void)state;

    message.to = node_b.node;
    message.recipient = slice_text("/system/cluster/heartbeatReceiver");
    message.sender = slice_text("/system/cluster/core/daemon#7");
    message.manifest = slice_text("HB");
    message.payload = slice_text("beat");
    message.selection = true;
    assert_true(envelope_put(&frame, &node_a, NULL, &message));
    assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                     ENVELOPE_OK);
    assert_int_equal(envelope.serializer, SERIALIZER_SELECTION);
    assert_int_equal(envelope.manifest.size, 0);
    assert_true(
        slice_is(envelope.recipient, "akka://ClusterSystem@127.0.0.1:2552/"));
    assert_bytes(envelope.payload,
                 "0a0462656174 1005"
                 "1a0a0801120673797374656d 1a0b08011207636c7573746572"
                 "1a150801121168656172746265617452656365697665 72"
                 "22024842 2800");
    assert_true(envelope_inbound(&node_b, &node_a.node, &envelope, &selection,
                                 &inbound));
    assert_true(
        slice_is(inbound.recipient, "/system/cluster/heartbeatReceiver"));
    assert_true(slice_is(inbound.sender, "/system/cluster/core/daemon#7"));
    assert_true(slice_is(inbound.manifest, "HB"));
    assert_true(slice_is(inbound.payload, "beat"));
    assert_int_equal(inbound.serializer, 5);
    buf_fini(&frame);
}

/* Steps: kind (1) 0 parent, 1 name, 2 pattern; text (2). */
static void a_selection_goes_from_its_anchor_step_by_step(void **state)
{
    static const struct {
        const char *anchor;
        const char *steps;
        const char *path;
    } cases[] = {
        { "", "1a050801120161", "/a" },
        { "akka://A@a:1/", "1a050801120161 1a050801120162", "/a/b" },
        { "akka://A@a:1/user/x#7", "1a050801120161", "/user/x/a" },
        { "akka://A@a:1/user/x", "1a020800 1a050801120161", "/user/a" },
        { "akka://A@a:1/", "1a020800 1a050801120161", "/a" }, /* the root's parent */
        { "akka://A@a:1/", "1a050801120161 1a0508021201 2a", "/a/*" },
        { "akka://A@a:1/", "1a050802120161", "/a" },
    };
    struct selection selection;
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf payload = from_hex("0a01781005");
        struct buf steps = from_hex(cases[i].steps);

        buf_put_slice(&payload, buf_slice(&steps));
        assert_true(envelope_unwrap_selection(slice_text(cases[i].anchor),
                                              buf_slice(&payload), &selection));
        assert_true(slice_is(selection.path, cases[i].path));
        buf_fini(&steps);
        buf_fini(&payload);
    }
}

static void a_malformed_selection_is_refused(void **state)
{
    static const char *const bad[] = {
        "0a01781005",                 /* no step */
        "0a01781005 1a050803120161",  /* an unknown kind of step */
        "0a01781005 1a03120161",      /* no kind */
        "0a01781005 1a0508011201 2f", /* a slash in a name */
        "0a01781005 1a0508021201 2f", /* and in a pattern */
        "1005 1a050801120161",        /* no message */
        "0a0178 1a050801120161",      /* no serializer */
        "0a01781005 1a060801120161",  /* truncated */
    };
    struct selection selection;
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct buf payload = from_hex(bad[i]);

        assert_false(
            envelope_unwrap_selection(slice_text(""), buf_slice(&payload),
                                      &selection));
        buf_fini(&payload);
    }
}

static void the_limit_of_a_frame_is_exact(void **state)
{
    struct outbound message = plain;
    struct buf frame = {0};
    size_t overhead;
    uint8_t *body = calloc(1, FRAME_LARGE_SIZE_MAX);
    (void)state;

    message.recipient = slice_text("/user/a");
    assert_true(envelope_put(&frame, &node_a, NULL, &message));
    overhead = frame.size - 4;
    buf_clear(&frame);
    message.payload = slice_of(body, FRAME_SIZE_MAX - overhead);
    assert_true(envelope_put(&frame, &node_a, NULL, &message));
    assert_int_equal(frame.size, FRAME_SIZE_MAX + 4);
    buf_clear(&frame);
    message.payload.size++;
    assert_false(envelope_put(&frame, &node_a, NULL, &message));
    assert_int_equal(frame.size, 0);
    message.stream = STREAM_LARGE;
    message.payload.size = FRAME_LARGE_SIZE_MAX - overhead;
    assert_true(envelope_put(&frame, &node_a, NULL, &message));
    message.payload.size++;
    buf_clear(&frame);
    assert_false(envelope_put(&frame, &node_a, NULL, &message));
    buf_fini(&frame);
    free(body);
}

static void a_literal_has_a_limit(void **state)
{
    struct outbound message = plain;
    struct buf frame = {0};
    struct envelope envelope;
    uint8_t text[REF_SIZE_MAX + 1];
    (void)state;

    memset(text, 'a', sizeof text);
    message.recipient = slice_of(text, REF_SIZE_MAX);
    assert_true(envelope_put(&frame, &node_a, NULL, &message));
    assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                     ENVELOPE_OK);
    buf_clear(&frame);
    message.recipient.size++;
    assert_false(envelope_put(&frame, &node_a, NULL, &message));
    message.recipient.size = 1;
    message.manifest = slice_of(text, MANIFEST_SIZE_MAX);
    assert_true(envelope_put(&frame, &node_a, NULL, &message));
    buf_clear(&frame);
    message.manifest.size++;
    assert_false(envelope_put(&frame, &node_a, NULL, &message));
    buf_fini(&frame);
}

static void a_broken_envelope_is_refused(void **state)
{
    struct buf frame = from_hex(request_hex);
    struct envelope envelope;
    uint8_t *at = frame.data + 4;
    (void)state;

    for (size_t size = 0; size < 28 + 7; size++)
        assert_int_equal(envelope_read(slice_of(at, size), NULL, &envelope),
                         ENVELOPE_TRUNCATED);
    at[0] = 1;
    assert_int_equal(envelope_read(slice_of(at, 121), NULL, &envelope),
                     ENVELOPE_VERSION);
    at[0] = 0;
    at[23] = 0xff; /* a compressed recipient without tables */
    assert_int_equal(envelope_read(slice_of(at, 121), NULL, &envelope),
                     ENVELOPE_TABLE);
    at[23] = 0;
    at[29] = 0x80; /* a negative length */
    assert_int_equal(envelope_read(slice_of(at, 121), NULL, &envelope),
                     ENVELOPE_TRUNCATED);
    at[29] = 0x20; /* 8192 bytes, which are absent */
    assert_int_equal(envelope_read(slice_of(at, 121), NULL, &envelope),
                     ENVELOPE_TRUNCATED);
    buf_fini(&frame);
}

static void metadata_is_skipped(void **state)
{
    struct buf frame = from_hex("00 01 00 00 0102030405060708 05000000"
                                "1c000000 1e000000 20000000"
                                "03000000 aabbcc 0000 0000 0100 64 7879");
    struct envelope envelope;
    (void)state;

    assert_int_equal(envelope_read(buf_slice(&frame), NULL, &envelope),
                     ENVELOPE_OK);
    assert_true(slice_is(envelope.manifest, "d"));
    assert_true(slice_is(envelope.payload, "xy"));
    frame.data[28] = 40; /* longer than the frame */
    assert_int_equal(envelope_read(buf_slice(&frame), NULL, &envelope),
                     ENVELOPE_TRUNCATED);
    buf_fini(&frame);
}

static const char region[] =
    "akka://ClusterSystem@127.0.0.1:2552/system/sharding/Counter#-5";

/* B's own tables, and A's copy as advertised. */
static void advertise(struct own_tables *own, struct peer_tables *peer)
{
    struct slice refs[] = {slice_text(""), slice_text(region)};
    struct slice manifests[] = {slice_text("a")};
    struct buf payload = {0};

    own_tables_set(own, TABLE_REFS, refs, 2);
    own_tables_set(own, TABLE_MANIFESTS, manifests, 1);
    table_advertisement_put(&payload, &node_b, node_a.node.uid,
                            own_tables_newest(own, TABLE_REFS));
    assert_true(peer_tables_receive(peer, TABLE_REFS, buf_slice(&payload)));
    buf_clear(&payload);
    table_advertisement_put(&payload, &node_b, node_a.node.uid,
                            own_tables_newest(own, TABLE_MANIFESTS));
    assert_true(
        peer_tables_receive(peer, TABLE_MANIFESTS, buf_slice(&payload)));
    peer->uid = node_b.node.uid;
    buf_fini(&payload);
}

static void tables_shrink_the_envelope_to_32_bytes(void **state)
{
    struct own_tables own = {0};
    struct peer_tables peer = {0};
    struct envelope_head head = {0};
    struct buf frame = {0};
    struct envelope envelope;
    struct sharding_envelope message = {slice_text("id-1"), slice_text("m7"),
                                        slice_text("body"), 7300};
    struct sharding_envelope got;
    (void)state;

    advertise(&own, &peer);
    assert_true(envelope_head_init(&head, &node_a, &peer, slice_text(region),
                                   slice_text("a"), 25));
    assert_int_equal(head.bytes.size, 32);
    assert_true(head.uid == node_b.node.uid);
    sharding_envelope_put(&frame, &head, slice_text(""), &message);
    assert_int_equal(envelope_read(unframed(&frame), &own, &envelope),
                     ENVELOPE_OK);
    assert_true(slice_is(envelope.recipient, region));
    assert_int_equal(envelope.recipient_index, 1);
    assert_int_equal(envelope.sender.size, 0);
    assert_true(slice_is(envelope.manifest, "a"));
    assert_bytes(envelope.payload, "0a0469642d31 120d 0a04626f6479 108439"
                                   "22026d37");
    assert_true(sharding_envelope_read(envelope.payload, &got));
    assert_true(slice_is(got.id, "id-1"));
    assert_true(slice_is(got.manifest, "m7"));
    assert_true(slice_is(got.body, "body"));
    assert_int_equal(got.serializer, 7300);
    /* Without the tables, the same frame is refused. */
    assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                     ENVELOPE_TABLE);
    /* Control's writer uses them too. */
    buf_clear(&frame);
    assert_true(
        envelope_put(&frame, &node_a, &peer,
                     &(struct outbound){
                         .to = node_b.node,
                         .recipient = slice_text("/system/sharding/Counter#-5"),
                         .manifest = slice_text("a"),
                         .stream = STREAM_ORDINARY,
                     }));
    assert_int_equal(frame.size, 32);
    buf_fini(&frame);
    envelope_head_fini(&head);
    own_tables_fini(&own);
    peer_tables_fini(&peer);
}

static void a_head_with_literals_takes_a_sender(void **state)
{
    struct envelope_head head = {0};
    struct buf frame = {0};
    struct buf same = {0};
    struct envelope envelope;
    struct slice sender =
        slice_text("akka://ClusterSystem@127.0.0.1:2551/user/s#1");
    (void)state;

    assert_true(envelope_head_init(&head, &node_a, NULL, slice_text(region),
                                   slice_text("a"), 25));
    assert_true(head.uid == 0);
    envelope_head_put(&frame, &head, sender, slice_text("xyz"));
    assert_true(
        envelope_put(&same, &node_a, NULL,
                     &(struct outbound){
                         .to = node_b.node,
                         .recipient = slice_text("/system/sharding/Counter#-5"),
                         .sender = slice_text("/user/s#1"),
                         .manifest = slice_text("a"),
                         .payload = slice_text("xyz"),
                         .serializer = 25,
                         .stream = STREAM_ORDINARY,
                     }));
    assert_true(slice_equal(buf_slice(&frame), buf_slice(&same)));
    assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                     ENVELOPE_OK);
    assert_true(slice_equal(envelope.sender, sender));
    buf_fini(&frame);
    buf_fini(&same);
    envelope_head_fini(&head);
}

static void old_versions_of_own_tables_are_kept(void **state)
{
    struct own_tables own = {0};
    struct slice text;
    struct slice one = slice_text("x");
    (void)state;

    for (int i = 0; i < 127; i++)
        own_tables_set(&own, TABLE_REFS, &one, 1);
    assert_int_equal(own_tables_newest(&own, TABLE_REFS)->version, 127);
    own_tables_set(&own, TABLE_REFS, &one, 1);
    assert_int_equal(own_tables_newest(&own, TABLE_REFS)->version, 0);
    assert_true(own_tables_text(&own, TABLE_REFS, 126, 0, &text));
    assert_true(own_tables_text(&own, TABLE_REFS, 127, 0, &text));
    assert_false(own_tables_text(&own, TABLE_REFS, 125, 0, &text));
    assert_false(own_tables_text(&own, TABLE_REFS, 127, 1, &text));
    assert_false(own_tables_text(&own, TABLE_MANIFESTS, 127, 0, &text));
    own_tables_fini(&own);
}

static void hostile_tables_are_refused(void **state)
{
    struct buf payload = {0};
    struct table table = {0};
    struct table got = {0};
    struct slice texts[TABLE_ENTRIES_MAX + 1];
    struct node_id from;
    uint64_t origin;
    char names[TABLE_ENTRIES_MAX + 1][8];
    (void)state;

    for (int i = 0; i <= TABLE_ENTRIES_MAX; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        texts[i] = slice_text(names[i]);
    }
    table_set(&table, 1, texts, TABLE_ENTRIES_MAX + 1);
    assert_int_equal(table.count, TABLE_ENTRIES_MAX);
    table_advertisement_put(&payload, &node_b, 77, &table);
    assert_true(table_advertisement_read(&node_a, buf_slice(&payload), &from,
                                         &origin, &got));
    assert_true(node_equal(&from, &node_b.node));
    assert_true(origin == 77);
    assert_int_equal(got.count, TABLE_ENTRIES_MAX);
    assert_int_equal(table_index(&got, slice_text("n255")), 255);
    assert_int_equal(table_index(&got, slice_text("n256")), -1);
    buf_put(&payload, "\x22\x01z\x28\x80\x02", 6); /* entry 257 */
    assert_false(table_advertisement_read(&node_a, buf_slice(&payload), &from,
                                          &origin, &got));
    buf_clear(&payload);
    table_set(&table, 1, texts, 2);
    table_advertisement_put(&payload, &node_b, 77, &table);
    payload.data[payload.size - 1] = 0; /* index 0 twice */
    assert_false(table_advertisement_read(&node_a, buf_slice(&payload), &from,
                                          &origin, &got));
    payload.data[payload.size - 1] = 2; /* a gap */
    assert_false(table_advertisement_read(&node_a, buf_slice(&payload), &from,
                                          &origin, &got));
    payload.data[payload.size - 1] = 1;
    assert_true(table_advertisement_read(&node_a, buf_slice(&payload), &from,
                                         &origin, &got));
    payload.size -= 2; /* more keys than values */
    assert_false(table_advertisement_read(&node_a, buf_slice(&payload), &from,
                                          &origin, &got));
    buf_fini(&payload);
    table_fini(&table);
    table_fini(&got);
}

static void sharding_envelopes_survive_a_round_trip(void **state)
{
    struct rng rng;
    struct envelope_head head = {0};
    static uint8_t bytes[70000];
    (void)state;

    rng_init(&rng, 7);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)rng_next(&rng);
    assert_true(envelope_head_init(&head, &node_a, NULL, slice_text(region),
                                   slice_text("a"), 25));
    for (int i = 0; i < 2000; i++) {
        size_t body_max = i % 50 ? 300 : sizeof bytes;
        struct sharding_envelope message = {
            slice_of(bytes, rng_below(&rng, 300)),
            slice_of(bytes + 5, rng_below(&rng, 200)),
            slice_of(bytes, rng_below(&rng, body_max)),
            (int32_t)(uint32_t)rng_next(&rng) >> rng_below(&rng, 32),
        };
        struct sharding_envelope got;
        struct envelope envelope;
        struct buf frame = {0};
        size_t room = envelope_size_max(
            &head, slice_text(""),
            message.id.size + message.manifest.size + message.body.size +
                SHARDING_ENVELOPE_OVERHEAD);

        sharding_envelope_put(&frame, &head, slice_text(""), &message);
        assert_true(frame.size <= room);
        assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                         ENVELOPE_OK);
        assert_true(sharding_envelope_read(envelope.payload, &got));
        assert_true(slice_equal(got.id, message.id));
        assert_true(slice_equal(got.manifest, message.manifest));
        assert_true(slice_equal(got.body, message.body));
        assert_int_equal(got.serializer, message.serializer);
        envelope.payload.size--;
        if (message.manifest.size)
            assert_false(sharding_envelope_read(envelope.payload, &got));
        buf_fini(&frame);
    }
    envelope_head_fini(&head);
}

/* The usual reader agrees with the general one or gives up, whatever byte is changed and wherever
 * the bytes end. */
static void a_usual_sharding_envelope_is_read_as_any(void **state)
{
    static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    struct envelope_head head = {0};
    struct rng rng;
    uint32_t usual = 0;
    (void)state;

    rng_init(&rng, 9);
    assert_true(envelope_head_init(&head, &node_a, NULL, slice_text(region),
                                   slice_text("a"), 25));
    for (int i = 0; i < 20000; i++) {
        static uint8_t body[20000];
        struct sharding_envelope message = {
            slice_of(text, rng_below(&rng, 20)),
            slice_of(text, rng_below(&rng, 4)),
            slice_of(body, rng_below(&rng, i % 20 ? 150 : sizeof body)), 7300};
        struct sharding_envelope got, any;
        struct envelope envelope;
        struct buf frame = {0};
        struct slice payload;
        uint8_t *own;

        sharding_envelope_put(&frame, &head, slice_text(""), &message);
        assert_int_equal(envelope_read(unframed(&frame), NULL, &envelope),
                         ENVELOPE_OK);
        payload = envelope.payload;
        payload.size -= i % 3 ? 0 : rng_below(&rng, (uint32_t)payload.size);
        own = mem_copy(payload.data, payload.size); /* so that a read beyond the end is found */
        if (i % 4 && payload.size)
            own[rng_below(&rng, (uint32_t)payload.size)] =
                (uint8_t)rng_next(&rng);
        payload.data = own;
        if (sharding_envelope_read_usual(payload, &got)) {
            usual++;
            assert_true(sharding_envelope_read_any(payload, &any));
            assert_true(slice_equal(got.id, any.id));
            assert_true(slice_equal(got.manifest, any.manifest));
            assert_true(slice_equal(got.body, any.body));
            assert_int_equal(got.serializer, any.serializer);
        }
        mem_free(own);
        buf_fini(&frame);
    }
    assert_true(usual > 2000);
    envelope_head_fini(&head);
}

static void unknown_fields_of_a_sharding_envelope_are_skipped(void **state)
{
    struct buf payload = from_hex("a03e05 0a0161 f23f027a7a 120c 1019 0a0162"
                                  "0d01020304 3000");
    struct sharding_envelope got;
    (void)state;

    assert_true(sharding_envelope_read(buf_slice(&payload), &got));
    assert_true(slice_is(got.id, "a"));
    assert_true(slice_is(got.body, "b"));
    assert_int_equal(got.serializer, 25);
    assert_int_equal(got.manifest.size, 0);
    buf_fini(&payload);
}

static void message_numbers_become_manifests(void **state)
{
    static const uint32_t values[] = {0, 1, 9, 10, 4294967295u};
    static const char *const bad[] = {
        "", "m", "m01", "x1", "m1x", "m4294967296", "m99999999999999"};
    char text[MESSAGE_MANIFEST_MAX];
    uint32_t got;
    (void)state;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_true(
            message_manifest_read(message_manifest_put(text, values[i]), &got));
        assert_true(got == values[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(message_manifest_read(slice_text(bad[i]), &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshakes_equal_the_reference_byte_for_byte),
        cmocka_unit_test(an_ack_equals_the_reference_byte_for_byte),
        cmocka_unit_test(a_handshake_carries_the_extension_fields),
        cmocka_unit_test(a_refused_handshake_names_the_intended_node),
        cmocka_unit_test(paths_become_refs),
        cmocka_unit_test(a_selection_is_wrapped_and_unwrapped),
        cmocka_unit_test(a_selection_goes_from_its_anchor_step_by_step),
        cmocka_unit_test(a_malformed_selection_is_refused),
        cmocka_unit_test(the_limit_of_a_frame_is_exact),
        cmocka_unit_test(a_literal_has_a_limit),
        cmocka_unit_test(a_broken_envelope_is_refused),
        cmocka_unit_test(metadata_is_skipped),
        cmocka_unit_test(tables_shrink_the_envelope_to_32_bytes),
        cmocka_unit_test(a_head_with_literals_takes_a_sender),
        cmocka_unit_test(old_versions_of_own_tables_are_kept),
        cmocka_unit_test(hostile_tables_are_refused),
        cmocka_unit_test(sharding_envelopes_survive_a_round_trip),
        cmocka_unit_test(a_usual_sharding_envelope_is_read_as_any),
        cmocka_unit_test(unknown_fields_of_a_sharding_envelope_are_skipped),
        cmocka_unit_test(message_numbers_become_manifests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
