/* Checks the limits of links, senders and peers: at each, and one above. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "artery/association.h"
#include "artery/link.h"
#include "artery/peers.h"
#include "artery/sequence.h"
#include "base/check.h"
#include "base/timers.h"

static struct identity me = { "akka", "S", { { "h", 1 }, 100 } };
static struct identity you = { "akka", "S", { { "h", 2 }, 200 } };

/* ---- senders ---- */

static struct handshake from(uint16_t port, uint64_t uid, uint32_t lane)
{
    struct handshake handshake = { .lane = lane, .capabilities = 1 };

    handshake.from.uid = uid;
    address_set(&handshake.from.address, "host", 4, port);
    return handshake;
}

static bool learn(struct peers *peers, uint64_t uid, uint32_t lane)
{
    struct handshake handshake = from(1, uid, lane);

    return peers_accept(peers, STREAM_ORDINARY, &handshake) == PEER_ACCEPTED;
}

/* Each replaces the previous one, which had answered. */
static enum peer_verdict proves(struct peers *peers, uint64_t uid)
{
    struct handshake handshake = from(1, uid, 0);
    struct peer *peer;
    enum peer_verdict verdict =
        peers_learn(peers, &handshake.from, 0, true, &peer);

    if (verdict == PEER_NEW)
        peers_answered(peers, peer);
    return verdict;
}

/* A ring: the incarnation that was retired first would be accepted again. */
static void the_number_of_retired_incarnations_is_limited(void **state)
{
    struct peers peers;
    (void)state;

    peers_init(&peers, &(struct peers_options){ .is_control = true });
    for (uint64_t uid = 1; uid <= RETIRED_PEERS_MAX + 1; uid++)
        assert_int_equal(proves(&peers, uid), PEER_NEW);
    assert_int_equal(proves(&peers, 1), PEER_OVER);
    assert_int_equal(peers.retired.forgotten, 0);
    assert_int_equal(proves(&peers, RETIRED_PEERS_MAX + 2), PEER_NEW);
    assert_int_equal(peers.retired.forgotten, 1);
    assert_int_equal(proves(&peers, 2), PEER_OVER);
    assert_int_equal(proves(&peers, 1), PEER_NEW);
    peers_fini(&peers);
}

/* However many strangers come, a removed member does not return. */
static void retired_strangers_have_a_limit_of_their_own(void **state)
{
    struct peers peers;
    (void)state;

    peers_init(&peers, &(struct peers_options){ .is_control = true });
    peers_forget(&peers, 1);
    for (uint64_t uid = 2; uid <= RETIRED_STRANGERS_MAX + 3; uid++)
        assert_true(learn(&peers, uid, 0));
    assert_false(peers_is_over(&peers, 2));
    assert_true(peers_is_over(&peers, 3));
    for (uint64_t uid = 2; uid <= RETIRED_PEERS_MAX; uid++)
        assert_true(learn(&peers, 100000 + uid, 0));
    assert_true(peers_is_over(&peers, 1));
    assert_int_equal(peers.retired.forgotten, 0);
    peers_forget(&peers, 100000 + RETIRED_PEERS_MAX - 1); /* it is more than a stranger */
    for (uint64_t uid = 2; uid <= RETIRED_STRANGERS_MAX + 3; uid++)
        assert_true(learn(&peers, 200000 + uid, 0));
    assert_true(peers_is_over(&peers, 100000 + RETIRED_PEERS_MAX - 1));
    peers_fini(&peers);
}

/* They never answer. */
static void the_number_of_strangers_is_limited(void **state)
{
    struct handshake handshake = from(1, 1, 0);
    struct peers peers;
    (void)state;

    peers_init(&peers, &(struct peers_options){ .is_control = true });
    for (uint32_t i = 0; i <= STRANGERS_MAX; i++) {
        handshake.from.uid = 1 + i;
        handshake.from.address.port = (uint16_t)(1 + i);
        assert_int_equal(peers.sender_count, i);
        assert_int_equal(peers_accept(&peers, STREAM_CONTROL, &handshake),
                         PEER_ACCEPTED);
    }
    assert_int_equal(peers.sender_count, STRANGERS_MAX);
    assert_null(peers_uid(&peers, 1));
    peers_fini(&peers);
}

static void the_lanes_of_a_sender_are_limited(void **state)
{
    struct peers peers;
    (void)state;

    peers_init(&peers, &(struct peers_options){ 0 });
    assert_true(learn(&peers, 1, PEER_LANES_MAX - 1));
    assert_int_equal(peers.refused, 0);
    assert_false(learn(&peers, 1, PEER_LANES_MAX));
    assert_int_equal(peers.refused, 1);
    peers_fini(&peers);
}

/* ---- system messages ---- */

static void unacknowledged_bytes_have_a_limit(void **state)
{
    static uint8_t bytes[FRAME_SIZE_MAX];
    enum { PIECE = 128 * 1024, COUNT = SYSTEM_MESSAGES_SIZE_MAX / PIECE };
    struct sequence sequence = { 0 };
    struct outbox outbox = { 0 };
    (void)state;

    for (int i = 0; i < COUNT; i++) {
        assert_true(sequence_send(&sequence, 1, &me, &you.node,
                                  slice_text("/user"),
                                  slice_of(bytes, PIECE - 5), &outbox));
        outbox_fini(&outbox);
    }
    assert_true(sequence_size(&sequence) == SYSTEM_MESSAGES_SIZE_MAX);
    assert_false(sequence_send(&sequence, 1, &me, &you.node, slice_text(""),
                               slice_of(bytes, 1), &outbox));
    assert_int_equal(sequence_waiting(&sequence), COUNT);
    assert_true(sequence_acknowledge(&sequence, 1, 1)); /* room for as much */
    assert_true(sequence_send(&sequence, 1, &me, &you.node, slice_text("/user"),
                              slice_of(bytes, PIECE - 5), &outbox));
    outbox_fini(&outbox);
    sequence_fini(&sequence);
}

/* ---- control ---- */

static uint32_t answers; /* left by the last arrival */

static enum association_verdict
arrive(struct associations *associations, const struct identity *sender,
       const char *manifest, struct slice payload)
{
    static struct selection selection;
    struct outbound message = { .to = me.node,
                                .manifest = slice_text(manifest),
                                .payload = payload,
                                .serializer = 17,
                                .stream = STREAM_CONTROL };
    struct buf frame = { 0 };
    struct envelope envelope;
    struct inbound inbound;
    struct outbox outbox = { 0 };
    enum association_verdict verdict;

    assert_true(envelope_put(&frame, sender, NULL, &message));
    assert_int_equal(envelope_read(slice_of(frame.data + 4, frame.size - 4),
                                   NULL, &envelope),
                     ENVELOPE_OK);
    verdict = associations_receive(associations, 1, STREAM_CONTROL, 0, &envelope,
                                   &selection, &inbound, &outbox);
    answers = outbox.count;
    outbox_fini(&outbox);
    buf_fini(&frame);
    return verdict;
}

static struct peers alone_peers; /* of the associations that a test has */

static struct associations *alone_new(const struct association_options *options)
{
    struct association_options all = *options;

    all.self = &me;
    all.peers = &alone_peers;
    peers_init(&alone_peers, &(struct peers_options){ 0 });
    return associations_new(&all);
}

static void alone_free(struct associations *associations)
{
    associations_free(associations);
    peers_fini(&alone_peers);
}

static struct associations *met(struct trace *trace)
{
    struct associations *associations =
        alone_new(&(struct association_options){ .trace = trace });
    struct handshake handshake = { .from = you.node };
    struct outbox outbox = { 0 };
    struct association_news news;

    assert_true(associations_handshake(associations, 1, STREAM_ORDINARY, &handshake,
                                    &outbox));
    while (associations_next_news(associations, &news))
        ;
    outbox_fini(&outbox);
    return associations;
}

static void the_number_of_news_is_limited(void **state)
{
    struct associations *associations = met(NULL);
    struct association_news news;
    struct buf payload = { 0 };
    uint32_t count = 0;
    (void)state;

    handshake_response_put(&payload, &you, &(struct handshake){ 0 });
    for (uint32_t i = 0; i < ASSOCIATION_NEWS_MAX; i++)
        assert_int_equal(arrive(associations, &you, ARTERY_HANDSHAKE_RESPONSE,
                                buf_slice(&payload)),
                         ASSOCIATION_TAKEN);
    assert_int_equal(associations_counts(associations).refused, 0);
    (void)arrive(associations, &you, ARTERY_HANDSHAKE_RESPONSE,
                 buf_slice(&payload));
    assert_int_equal(associations_counts(associations).refused, 1);
    while (associations_next_news(associations, &news))
        count++;
    assert_int_equal(count, ASSOCIATION_NEWS_MAX);
    buf_fini(&payload);
    alone_free(associations);
}

/* Receives the next version of your table, about 240 KiB, or the same again. */
static void table_arrives(struct associations *associations,
                          struct own_tables *own, bool is_new)
{
    static char texts[240][1000];
    struct slice refs[240];
    struct buf payload = { 0 };

    for (uint32_t i = 0; i < 240; i++) {
        memset(texts[i], 'a', sizeof texts[i]);
        snprintf(texts[i], sizeof texts[i], "akka://S@h:2/user/x%u", i);
        texts[i][strlen(texts[i])] = 'a';
        refs[i] = slice_of(texts[i], sizeof texts[i]);
    }
    if (is_new)
        own_tables_set(own, TABLE_REFS, refs, 240);
    table_advertisement_put(&payload, &you, me.node.uid,
                            own_tables_newest(own, TABLE_REFS));
    assert_int_equal(arrive(associations, &you, ARTERY_REFS_TABLE,
                            buf_slice(&payload)),
                     ASSOCIATION_TAKEN);
    buf_fini(&payload);
}

/* Unreported tables are not acknowledged, so they come again. */
static void news_have_a_limit_of_bytes(void **state)
{
    struct associations *associations = met(NULL);
    struct association_news news;
    struct own_tables own = { 0 };
    uint32_t tables = 0;
    size_t size = 0;
    (void)state;

    while (associations_counts(associations).refused == 0 && tables < 100) {
        table_arrives(associations, &own, true);
        tables += answers;
    }
    assert_int_equal(associations_counts(associations).refused, 1);
    assert_int_equal(answers, 0);
    while (associations_next_news(associations, &news)) {
        assert_int_equal(news.kind, ASSOCIATION_TABLE);
        size += news.payload.size;
        tables--;
    }
    assert_int_equal(tables, 0);
    assert_true(size > ASSOCIATION_NEWS_SIZE_MAX);
    assert_true(size <= ASSOCIATION_NEWS_SIZE_MAX + FRAME_SIZE_MAX);
    table_arrives(associations, &own, false);
    assert_int_equal(answers, 1);
    assert_true(associations_next_news(associations, &news));
    assert_false(associations_next_news(associations, &news));
    own_tables_fini(&own);
    alone_free(associations);
}

static void the_number_of_logged_foreign_nodes_is_limited(void **state)
{
    struct trace *trace = trace_new(TRACE_INFO);
    struct associations *associations = met(trace);
    struct buf payload = { 0 };
    struct trace_line line;
    uint32_t lines = 0;
    (void)state;

    while (trace_next(trace, &line)) /* older lines */
        ;
    for (uint32_t i = 0; i < FOREIGN_TRACED_MAX + 1; i++) {
        struct identity stranger = { "akka", "Other",
                                     { { "far", (uint16_t)(i + 1) }, i + 1 } };

        buf_clear(&payload);
        handshake_request_put(&payload, &stranger, &me.node.address,
                              &(struct handshake){ 0 });
        assert_int_equal(arrive(associations, &stranger,
                                ARTERY_HANDSHAKE_REQUEST, buf_slice(&payload)),
                         ASSOCIATION_DROPPED);
    }
    while (trace_next(trace, &line))
        lines++;
    assert_int_equal(lines, FOREIGN_TRACED_MAX);
    assert_int_equal(associations_counts(associations).foreign,
                     FOREIGN_TRACED_MAX + 1);
    buf_fini(&payload);
    alone_free(associations);
    trace_free(trace);
}

/* A peer that never acknowledges our table does without. */
static void advertisements_of_a_table_are_limited(void **state)
{
    struct own_tables own = { 0 };
    struct slice refs[] = { slice_text(""), slice_text("akka://S@h:1/user/x") };
    struct associations *associations;
    struct handshake handshake = { .from = you.node };
    struct outbox outbox = { 0 };
    struct outbound out;
    uint32_t count = 0;
    (void)state;

    own_tables_set(&own, TABLE_REFS, refs, 2);
    associations =
        alone_new(&(struct association_options){ .tables = &own });
    assert_true(associations_handshake(associations, 1, STREAM_ORDINARY, &handshake,
                                    &outbox));
    for (uint64_t now = 1; now < 2 * ADVERTISE_MAX * ADVERTISE_MS * MS;
         now += ADVERTISE_MS * MS) {
        associations_tick(associations, now, &outbox);
        while (outbox_next(&outbox, &out))
            count += slice_is(out.manifest, ARTERY_REFS_TABLE);
        outbox_fini(&outbox);
    }
    assert_int_equal(count, ADVERTISE_MAX);
    assert_true(associations_deadline(associations) == NEVER);
    alone_free(associations);
    own_tables_fini(&own);
}

/* ---- selections ---- */

static void step_put(struct buf *buf, uint32_t name_size)
{
    uint32_t step_size = 2 + 1 + (name_size < 128 ? 1 : 2) + name_size;

    buf_put_u8(buf, 0x1a); /* elements */
    if (step_size >= 128)
        buf_put_u8(buf, (uint8_t)(step_size | 0x80));
    buf_put_u8(buf, (uint8_t)(step_size < 128 ? step_size : step_size >> 7));
    buf_put(buf, "\x08\x01\x12", 3);
    if (name_size >= 128)
        buf_put_u8(buf, (uint8_t)(name_size | 0x80));
    buf_put_u8(buf, (uint8_t)(name_size < 128 ? name_size : name_size >> 7));
    for (uint32_t i = 0; i < name_size; i++)
        buf_put_u8(buf, 'a');
}

static bool unwraps(struct buf *buf)
{
    struct selection selection;
    bool good = envelope_unwrap_selection(slice_text(""), buf_slice(buf),
                                          &selection);

    buf_clear(buf);
    return good;
}

static void a_selection_has_limits(void **state)
{
    struct buf buf = { 0 };
    (void)state;

    for (uint32_t extra = 0; extra < 2; extra++) {
        buf_put(&buf, "\x0a\x01x\x10\x05", 5);
        for (uint32_t i = 0; i < SELECTION_STEPS_MAX + extra; i++)
            step_put(&buf, 1);
        assert_int_equal(unwraps(&buf), extra == 0);
        buf_put(&buf, "\x0a\x01x\x10\x05", 5);
        for (uint32_t i = 1; i < SELECTION_PATH_MAX / 128; i++)
            step_put(&buf, 127); /* plus a slash */
        step_put(&buf, 127 + extra);
        assert_int_equal(unwraps(&buf), extra == 0);
    }
    buf_fini(&buf);
}

/* ---- a control link ---- */

static void a_control_queue_has_a_limit_of_bytes(void **state)
{
    static uint8_t body[FRAME_SIZE_MAX / 2];
    struct buf scratch = { 0 };
    struct link_sender sender = {
        .self = &me, .lanes = 1, .magic = "AKKA", .scratch = &scratch
    };
    struct link_options options = { .sender = &sender,
                                    .stream = STREAM_CONTROL,
                                    .seed = 1 };
    struct outbound message = { .recipient = slice_text("/user/x"),
                                .payload = slice_of(body, sizeof body),
                                .serializer = 4,
                                .stream = STREAM_CONTROL };
    struct kept_address *there;
    struct link *link;
    uint32_t count = 0;
    (void)state;

    options.peer = there = address_keep(&(struct address){ "h", 2 });
    link = link_new(&options);
    while (link_send(link, 1, NULL, &message))
        count++;
    /* A frame is a little larger than its body. */
    assert_int_equal(count, LINK_CONTROL_BYTES_MAX / sizeof body - 1);
    assert_int_equal(link_counts(link).refused, 1);
    link_free(link);
    mem_free(there);
    buf_fini(&scratch);
}

static void a_large_link_has_limits(void **state)
{
    static uint8_t body[FRAME_LARGE_SIZE_MAX];
    struct buf scratch = { 0 };
    struct link_sender sender = { .self = &me,
                                  .lanes = 1,
                                  .magic = "AKKA",
                                  .scratch = &scratch,
                                  .large_size_max = sizeof body };
    struct link_options options = { .sender = &sender,
                                    .stream = STREAM_LARGE,
                                    .seed = 1 };
    struct outbound message = { .recipient = slice_text("/user/x"),
                                .serializer = 4,
                                .stream = STREAM_LARGE };
    struct kept_address *there;
    struct link *link;
    uint32_t count = 0;
    (void)state;

    options.peer = there = address_keep(&(struct address){ "h", 2 });
    link = link_new(&options);
    message.payload = slice_of(body, sizeof body);
    assert_false(link_send(link, 1, NULL, &message)); /* with its head */
    assert_int_equal(link_counts(link).refusal, SHERD_REASON_TOO_LARGE);
    message.payload.size = sizeof body - 1024;
    while (link_send(link, 1, NULL, &message))
        count++;
    assert_int_equal(count, LINK_LARGE_BYTES_MAX / sizeof body);
    assert_int_equal(link_counts(link).refusal, SHERD_REASON_LINK_FULL);
    assert_int_equal(link_room(link), 0);
    link_free(link);
    sender.large_size_max = 0;
    link = link_new(&options);
    message.payload.size = FRAME_LARGE_SIZE;
    assert_false(link_send(link, 1, NULL, &message));
    message.payload.size = 1;
    for (count = 0; link_send(link, 1, NULL, &message); count++)
        assert_int_equal(link_room(link), LINK_LARGE_FRAMES - count - 1);
    assert_int_equal(count, LINK_LARGE_FRAMES);
    link_free(link);
    mem_free(there);
    buf_fini(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_of_retired_incarnations_is_limited),
        cmocka_unit_test(retired_strangers_have_a_limit_of_their_own),
        cmocka_unit_test(the_number_of_strangers_is_limited),
        cmocka_unit_test(the_lanes_of_a_sender_are_limited),
        cmocka_unit_test(unacknowledged_bytes_have_a_limit),
        cmocka_unit_test(the_number_of_news_is_limited),
        cmocka_unit_test(news_have_a_limit_of_bytes),
        cmocka_unit_test(the_number_of_logged_foreign_nodes_is_limited),
        cmocka_unit_test(advertisements_of_a_table_are_limited),
        cmocka_unit_test(a_selection_has_limits),
        cmocka_unit_test(a_control_queue_has_a_limit_of_bytes),
        cmocka_unit_test(a_large_link_has_limits),
    };

    return cmocka_run_group_tests_name("artery_limits", tests, NULL, NULL);
}
