/* Checks one outgoing connection: greeting, waiting, writing in pieces, limits, reconnecting. */
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
#include "artery/inlet.h"
#include "artery/link.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/timers.h"

static const struct identity self = {"akka", "S", {{"a", 1}, 11}};
static const struct identity peer = {"akka", "S", {{"b", 2}, 22}};

#define PEER_UID 22

static uint64_t left_out[REPEATS_COUNT];
static struct kept_address *kept; /* the peer's */

static int keep(void **state)
{
    (void)state;
    kept = address_keep(&peer.node.address);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    mem_free(kept);
    return 0;
}

static struct link *make(enum stream stream)
{
    static struct buf scratch;
    static const struct link_sender sender = {
        .self = &self,
        .lane = 3,
        .lanes = 4,
        .capabilities = CAPABILITY_SHERD,
        .magic = "AKKA",
        .scratch = &scratch,
        .left_out = left_out,
    };
    struct link_options options = {
        .sender = &sender,
        .peer = kept,
        .stream = stream,
        .seed = 1,
    };

    memset(left_out, 0, sizeof left_out);
    return link_new(&options);
}

static bool send_text(struct link *link, uint64_t now, const char *text)
{
    struct outbound message = {.to = {peer.node.address, 0},
                               .recipient = slice_text("/user/x"),
                               .payload = slice_text(text),
                               .serializer = 4,
                               .stream = STREAM_ORDINARY};

    return link_send(link, now, NULL, &message);
}

/* The link's output, as its peer sees it. */
struct seen {
    struct inlet *inlet;
    uint32_t requests;
    uint32_t responses;
    char text[4096]; /* payloads, each followed by a space */
    struct handshake handshake;
};

static void see(struct seen *seen, struct slice bytes)
{
    static const struct inlet_options options = {.magics = {"AKKA", NULL}};
    struct slice frame;

    if (!seen->inlet)
        seen->inlet = inlet_new(0, &options);
    inlet_receive(seen->inlet, bytes);
    while (inlet_batch(seen->inlet, &frame, 1)) {
        struct envelope envelope;

        assert_int_equal(envelope_read(frame, NULL, &envelope), ENVELOPE_OK);
        if (envelope_is(&envelope, 17, "d")) {
            seen->requests++;
            assert_int_equal(handshake_request_read(&peer, envelope.payload,
                                                    &seen->handshake, NULL),
                             HANDSHAKE_OK);
            inlet_accept(seen->inlet, 11, 0, 0);
        } else if (envelope_is(&envelope, 17, "e")) {
            seen->responses++;
        } else {
            strncat(seen->text, (const char *)envelope.payload.data,
                    envelope.payload.size);
            strcat(seen->text, " ");
        }
    }
    assert_int_equal(inlet_reason(seen->inlet), INLET_OPEN);
}

/* Writes what is pending, in pieces of at most size bytes, at most `limit` bytes in all. */
static size_t flush(struct link *link, uint64_t now, struct seen *seen,
                    size_t size, size_t limit)
{
    struct slice bytes;
    size_t written = 0;

    while (written < limit && link_pending(link, now, &bytes)) {
        if (bytes.size > size)
            bytes.size = size;
        if (bytes.size > limit - written)
            bytes.size = limit - written;
        if (seen)
            see(seen, bytes);
        link_wrote(link, now, bytes.size);
        written += bytes.size;
    }
    return written;
}

static void answer(struct link *link, uint64_t now)
{
    link_answered(link, now, PEER_UID, 3, link_generation(link));
}

static void the_preamble_and_a_request_come_first(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct seen seen = {0};
    struct slice bytes;
    (void)state;

    assert_int_equal(link_next_request(link), LINK_REQUEST_NOTHING);
    assert_true(link_deadline(link) == NEVER);
    assert_true(send_text(link, SECOND, "one"));
    assert_int_equal(link_next_request(link), LINK_REQUEST_CONNECT);
    assert_int_equal(link_next_request(link), LINK_REQUEST_NOTHING);
    assert_false(link_pending(link, SECOND, &bytes));
    link_connected(link, SECOND);
    assert_int_equal(link_state(link), LINK_HANDSHAKING);
    assert_true(link_pending(link, SECOND, &bytes));
    assert_memory_equal(bytes.data, "AKKA\002", 5);
    flush(link, SECOND, &seen, 7, SIZE_MAX);
    assert_int_equal(seen.requests, 1);
    assert_int_equal(seen.handshake.lane, 3);
    assert_int_equal(seen.handshake.lanes, 4);
    assert_true(seen.handshake.generation == link_generation(link));
    assert_string_equal(seen.text, "");
    /* An answer to another lane or an older connection does not count. */
    link_answered(link, SECOND, PEER_UID, 2, link_generation(link));
    link_answered(link, SECOND, PEER_UID, 3, link_generation(link) - 1);
    assert_int_equal(link_state(link), LINK_HANDSHAKING);
    answer(link, SECOND);
    assert_int_equal(link_state(link), LINK_OPEN);
    assert_true(link_uid(link) == PEER_UID);
    flush(link, SECOND, &seen, 7, SIZE_MAX);
    assert_string_equal(seen.text, "one ");
    assert_int_equal(link_waiting(link), 0);
    inlet_free(seen.inlet);
    link_free(link);
}

static void a_jvm_answers_without_generation(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct link_news news;
    (void)state;

    send_text(link, SECOND, "one");
    link_connected(link, SECOND);
    link_answered(link, SECOND, PEER_UID, 0, 0);
    assert_int_equal(link_state(link), LINK_OPEN);
    assert_true(link_next_news(link, &news));
    assert_int_equal(news.kind, LINK_NEWS_OPEN);
    assert_false(link_next_news(link, &news));
    link_free(link);
}

/* A JVM's answer names no connection. */
static void answer_as_jvm(struct link *link, uint64_t now)
{
    link_answered(link, now, PEER_UID, 0, 0);
}

static void the_request_is_repeated_each_second(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct seen seen = {0};
    uint64_t now = SECOND;
    (void)state;

    send_text(link, now, "one");
    link_connected(link, now);
    for (int i = 0; i < 5; i++) {
        flush(link, now, &seen, 1000, SIZE_MAX);
        assert_int_equal(seen.requests, i + 1);
        assert_true(link_deadline(link) == now + SECOND);
        now += SECOND;
        link_tick(link, now);
    }
    answer_as_jvm(link, now);
    flush(link, now, &seen, 1000, SIZE_MAX);
    assert_int_equal(seen.requests, 6);
    assert_string_equal(seen.text, "one ");
    /* In use: at most one a second; unused: none. */
    for (int i = 0; i < 30; i++) {
        send_text(link, now, "x");
        flush(link, now, &seen, 1000, SIZE_MAX);
        now += SECOND / 10;
    }
    assert_true(seen.requests >= 8 && seen.requests <= 9);
    now += 10 * SECOND;
    link_tick(link, now);
    assert_int_equal(flush(link, now, &seen, 1000, SIZE_MAX), 0);
    inlet_free(seen.inlet);
    link_free(link);
}

static void a_peer_that_names_connections_is_asked_less_often(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct seen seen = {0};
    uint64_t now = SECOND;
    (void)state;

    send_text(link, now, "one");
    link_connected(link, now);
    flush(link, now, &seen, 1000, SIZE_MAX);
    answer(link, now);
    for (int i = 0; i < 210; i++) {
        send_text(link, now, "x");
        flush(link, now, &seen, 1000, SIZE_MAX);
        now += LINK_REQUEST_NAMED_MS * MS / 100;
    }
    assert_int_equal(seen.requests, 3); /* at once, after one hour and after two */
    /* The next connection must be named anew. */
    link_closed(link, now, "gone");
    inlet_free(seen.inlet);
    seen.inlet = NULL;
    now += 2 * SECOND;
    send_text(link, now, "x");
    link_tick(link, now);
    link_connected(link, now);
    flush(link, now, &seen, 1000, SIZE_MAX);
    assert_int_equal(seen.requests, 4);
    answer_as_jvm(link, now);
    now += SECOND;
    send_text(link, now, "x");
    flush(link, now, &seen, 1000, SIZE_MAX);
    assert_int_equal(seen.requests, 5);
    inlet_free(seen.inlet);
    link_free(link);
}

/* Only an answered connection asks less often; on the next one a lost answer is asked for each
 * second. */
static void a_request_is_repeated_each_second_after_a_lost_answer(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct seen seen = {0};
    uint64_t now = SECOND;
    (void)state;

    send_text(link, now, "one");
    link_connected(link, now);
    flush(link, now, &seen, 1000, SIZE_MAX);
    answer(link, now);
    link_closed(link, now, "gone");
    inlet_free(seen.inlet);
    seen.inlet = NULL;
    now += 2 * SECOND;
    send_text(link, now, "x");
    link_tick(link, now);
    link_connected(link, now);
    seen.requests = 0;
    flush(link, now, &seen, 1000, SIZE_MAX);
    for (int i = 0; i < 50; i++) {
        now += SECOND / 10;
        if (link_deadline(link) <= now)
            link_tick(link, now);
        flush(link, now, &seen, 1000, SIZE_MAX);
    }
    assert_int_equal(seen.requests, 6);
    answer(link, now);
    assert_int_equal(link_state(link), LINK_OPEN);
    inlet_free(seen.inlet);
    link_free(link);
}

static void a_connection_without_an_answer_is_given_up(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    uint64_t now = SECOND;
    struct link_news news;
    (void)state;

    send_text(link, now, "one");
    (void)link_next_request(link);
    link_tick(link, now + LINK_CONNECT_MS * MS - 1);
    assert_int_equal(link_state(link), LINK_CONNECTING);
    now += LINK_CONNECT_MS * MS;
    link_tick(link, now);
    assert_int_equal(link_state(link), LINK_BACKING_OFF);
    assert_int_equal(link_next_request(link), LINK_REQUEST_CLOSE);
    link_connected(link, now); /* a late report */
    assert_int_equal(link_state(link), LINK_BACKING_OFF);
    assert_true(link_next_news(link, &news));
    assert_int_equal(news.kind, LINK_NEWS_LOST);
    now = link_deadline(link);
    link_tick(link, now);
    assert_int_equal(link_next_request(link), LINK_REQUEST_CONNECT);
    link_connected(link, now);
    now += LINK_HANDSHAKE_MS * MS;
    link_tick(link, now);
    assert_int_equal(link_next_request(link), LINK_REQUEST_CLOSE);
    assert_int_equal(link_state(link), LINK_BACKING_OFF);
    assert_int_equal(link_waiting(link), 1);
    link_free(link);
}

static void backing_off_grows_to_its_limit(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    static const uint64_t want[] = {1000, 2000, 4000, 5000, 5000};
    uint64_t now = SECOND;
    (void)state;

    send_text(link, now, "one");
    for (size_t i = 0; i < 5; i++) {
        uint64_t delay;

        assert_int_equal(link_next_request(link), LINK_REQUEST_CONNECT);
        link_failed(link, now, "refused");
        delay = link_deadline(link) - now;
        assert_true(delay >= want[i] * MS && delay < want[i] * MS * 11 / 10);
        now = link_deadline(link);
        link_tick(link, now);
    }
    assert_int_equal(link_counts(link).failures, 5);
    link_free(link);
}

static void a_frame_written_in_part_is_sent_whole_again(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < 400; cut++) {
        struct link *link = make(STREAM_ORDINARY);
        struct seen first = {0};
        struct seen second = {0};
        uint64_t now = SECOND;
        uint32_t lost;
        char all[8192];

        for (int i = 0; i < 4; i++)
            send_text(link, now, (char[2]){(char)('0' + i), 0});
        link_connected(link, now);
        flush(link, now, &first, 1000, SIZE_MAX);
        answer(link, now);
        flush(link, now, &first, 50, cut);
        link_closed(link, now, "reset");
        lost = link_waiting(link);
        now = link_deadline(link);
        link_tick(link, now);
        if (lost) {
            assert_int_equal(link_state(link), LINK_CONNECTING);
            link_connected(link, now);
            flush(link, now, &second, 1000, SIZE_MAX);
            answer(link, now);
            flush(link, now, &second, 1000, SIZE_MAX);
        } else {
            assert_int_equal(link_state(link), LINK_IDLE);
        }
        snprintf(all, sizeof all, "%s%s", first.text, second.text);
        assert_string_equal(all, "0 1 2 3 ");
        inlet_free(first.inlet);
        inlet_free(second.inlet);
        link_free(link);
    }
}

static void another_incarnation_gets_no_frames_of_the_old_one(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct seen seen = {0};
    struct link_news news;
    uint64_t now = SECOND;
    (void)state;

    send_text(link, now, "one");
    link_connected(link, now);
    answer(link, now);
    link_closed(link, now, "reset");
    send_text(link, now, "two");
    now = link_deadline(link);
    link_tick(link, now);
    link_connected(link, now);
    link_answered(link, now, PEER_UID + 1, 3, link_generation(link));
    assert_int_equal(link_waiting(link), 0);
    assert_int_equal(link_counts(link).stale, 2);
    send_text(link, now, "three");
    flush(link, now, &seen, 1000, SIZE_MAX);
    assert_string_equal(seen.text, "three ");
    while (link_next_news(link, &news) && news.kind != LINK_NEWS_RENEWED)
        ;
    assert_int_equal(news.kind, LINK_NEWS_RENEWED);
    assert_int_equal(news.frames, 2);
    /* A handshake reports it while the old connection is open. */
    link_expect(link, now, PEER_UID + 2);
    assert_int_equal(link_next_request(link), LINK_REQUEST_CLOSE);
    assert_int_equal(link_state(link), LINK_BACKING_OFF);
    inlet_free(seen.inlet);
    link_free(link);
}

/* The peer's process has started or started again: its handshake says so. */
static void a_link_connects_at_once_when_its_peer_has_started(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    uint64_t now = SECOND;
    (void)state;

    for (uint64_t life = 0; life < 3; life++) {
        send_text(link, now, "one");
        for (int i = 0; i < 3; i++) {
            if (link_state(link) == LINK_BACKING_OFF)
                now = link_deadline(link);
            link_tick(link, now);
            assert_int_equal(link_next_request(link), LINK_REQUEST_CONNECT);
            link_failed(link, now, "refused");
        }
        assert_true(link_deadline(link) > now + 2 * SECOND);
        link_expect(link, now, PEER_UID + life);
        if (life) /* its messages for the former incarnation were dropped */
            send_text(link, now, "two");
        assert_int_equal(link_deadline(link), now);
        link_tick(link, now);
        assert_int_equal(link_next_request(link), LINK_REQUEST_CONNECT);
        link_failed(link, now, "refused");
        assert_in_range(link_deadline(link), now + SECOND, now + SECOND * 11 / 10);
        link_expect(link, now, PEER_UID + life); /* no news */
        assert_true(link_deadline(link) > now);
    }
    link_free(link);
}

/* The answer to the first request came before the new incarnation was known, and did not count. */
static void a_link_repeats_its_handshake_at_once_when_its_peer_has_started(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    uint64_t now = SECOND;
    struct slice piece;
    (void)state;

    link_expect(link, now, PEER_UID);
    send_text(link, now, "one");
    link_connected(link, now);
    while (link_pending(link, now, &piece))
        link_wrote(link, now, piece.size);
    now += 10 * MS;
    link_expect(link, now, PEER_UID); /* no news */
    assert_true(link_deadline(link) > now);
    link_expect(link, now, PEER_UID + 1);
    assert_true(link_deadline(link) <= now);
    link_tick(link, now);
    assert_true(link_pending(link, now, &piece));
    assert_int_equal(link_state(link), LINK_HANDSHAKING);
    link_free(link);
}

/* ---- another node claims the address ---- */

static struct link *open_link(struct seen *seen)
{
    struct link *link = make(STREAM_ORDINARY);

    send_text(link, SECOND, "one");
    link_connected(link, SECOND);
    answer(link, SECOND);
    flush(link, SECOND, seen, 1000, SIZE_MAX);
    return link;
}

static void a_peer_that_answers_once_more_keeps_its_connection(void **state)
{
    struct seen seen = { 0 };
    struct link *link = open_link(&seen);
    uint64_t now = 2 * SECOND;
    (void)state;

    for (int i = 0; i < 3; i++) {
        link_verify(link, now);
        link_verify(link, now); /* one request for all claims */
        assert_int_equal(link_deadline(link), now + LINK_DOUBT_MS * MS);
        send_text(link, now, "two");
        flush(link, now, &seen, 1000, SIZE_MAX);
        assert_int_equal(seen.requests, 2 + i);
        link_answered(link, now, PEER_UID, 3, link_generation(link) - 1);
        assert_int_equal(link_deadline(link), now + LINK_DOUBT_MS * MS);
        answer(link, now);
        assert_true(link_deadline(link) == NEVER);
    }
    link_tick(link, now + 3600 * SECOND);
    assert_int_equal(link_state(link), LINK_OPEN);
    assert_int_equal(link_next_request(link), LINK_REQUEST_NOTHING);
    assert_string_equal(seen.text, "one two two two ");
    inlet_free(seen.inlet);
    link_free(link);
}

/* Frames that wait go to the peer if it answers on the next connection, and else to nobody. */
static void a_silent_peer_is_connected_again(void **state)
{
    for (uint64_t uid = PEER_UID; uid <= PEER_UID + 1; uid++) {
        struct seen before = { 0 }, after = { 0 };
        struct link *link = open_link(&before);
        uint64_t now = 2 * SECOND;
        (void)state;

        send_text(link, now, "two");
        link_verify(link, now);
        now += LINK_DOUBT_MS * MS;
        link_tick(link, now - 1);
        assert_int_equal(link_state(link), LINK_OPEN);
        link_tick(link, now);
        assert_int_equal(link_next_request(link), LINK_REQUEST_CLOSE);
        assert_int_equal(link_next_request(link), LINK_REQUEST_CONNECT);
        link_connected(link, now);
        flush(link, now, &after, 1000, SIZE_MAX);
        assert_int_equal(after.requests, 1);
        link_answered(link, now, uid, 3, link_generation(link));
        assert_int_equal(link_state(link), LINK_OPEN);
        assert_true(link_deadline(link) == NEVER);
        flush(link, now, &after, 1000, SIZE_MAX);
        assert_string_equal(after.text, uid == PEER_UID ? "two " : "");
        inlet_free(before.inlet);
        inlet_free(after.inlet);
        link_free(link);
    }
}

/* A stranger's claims alone do not cause many connections. */
static void a_claim_shortens_the_pause_before_a_connection(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    uint64_t now = SECOND;
    (void)state;

    link_verify(link, now); /* nothing waits */
    for (int i = 0; i < 10; i++) {
        assert_int_equal(link_next_request(link), LINK_REQUEST_CONNECT);
        link_verify(link, now);
        assert_int_equal(link_next_request(link), LINK_REQUEST_NOTHING);
        link_failed(link, now, "refused");
        link_verify(link, now);
        link_verify(link, now);
        assert_int_equal(link_deadline(link), now + LINK_HURRY_MS * MS);
        now = link_deadline(link);
        link_tick(link, now);
    }
    link_failed(link, now, "refused");
    now = link_deadline(link);
    assert_true(now > LINK_BACKOFF_MIN_MS * MS);
    link_tick(link, now);
    assert_int_equal(link_state(link), LINK_IDLE); /* no claim since */
    link_free(link);
}

static void a_stale_message_is_not_sent(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct outbound message = {.to = {peer.node.address, 99},
                               .recipient = slice_text("/user/x"),
                               .stream = STREAM_ORDINARY};
    (void)state;

    assert_true(
        link_send(link, 1, NULL, &message)); /* the incarnation is still unknown */
    link_connected(link, 1);
    answer(link, 1);
    assert_false(link_send(link, 1, NULL, &message));
    assert_int_equal(link_counts(link).stale, 1);
    assert_int_equal(link_counts(link).refusal, SHERD_REASON_NODE_GONE);
    /* The connection is gone, and a new incarnation may be at the address: the message makes the
     * link connect. */
    link_drop(link, 1);
    while (link_next_request(link) != LINK_REQUEST_NOTHING)
        ;
    assert_true(link_send(link, 2, NULL, &message));
    assert_int_equal(link_next_request(link), LINK_REQUEST_CONNECT);
    link_connected(link, 2);
    link_answered(link, 2, 99, 3, link_generation(link));
    assert_int_equal(link_waiting(link), 1);
    link_free(link);
}

static void responses_are_sent_without_waiting(void **state)
{
    struct link *link = make(STREAM_CONTROL);
    struct seen seen = {0};
    struct buf payload = {0};
    struct outbound response = {.to = {peer.node.address, 0},
                                .manifest = slice_text("e"),
                                .serializer = 17,
                                .stream = STREAM_CONTROL};
    (void)state;

    handshake_response_put(&payload, &self, &(struct handshake){0});
    response.payload = buf_slice(&payload);
    send_text(link, 1, "later");
    assert_true(link_send(link, 1, NULL, &response));
    link_connected(link, 1);
    flush(link, 1, &seen, 9, SIZE_MAX);
    assert_int_equal(seen.requests, 1);
    assert_int_equal(seen.responses, 1);
    assert_true(link_send(link, 1, NULL, &response));
    flush(link, 1, &seen, 9, SIZE_MAX);
    assert_int_equal(seen.responses, 2);
    assert_string_equal(seen.text, "");
    answer(link, 1);
    flush(link, 1, &seen, 9, SIZE_MAX);
    assert_string_equal(seen.text, "later ");
    link_closed(link, 1, "reset");
    for (int i = 0; i < LINK_URGENT_MAX + 1; i++)
        assert_true(link_send(link, 1, NULL, &response));
    assert_int_equal(link_counts(link).refused, LINK_URGENT_MAX);
    buf_fini(&payload);
    inlet_free(seen.inlet);
    link_free(link);
}

static void system_messages_are_not_kept_while_closed(void **state)
{
    struct link *link = make(STREAM_CONTROL);
    struct outbound message = {.to = {peer.node.address, 0},
                               .recipient = slice_text("/user/x"),
                               .manifest = slice_text("j"),
                               .serializer = 17,
                               .stream = STREAM_CONTROL};
    (void)state;

    assert_true(link_send(link, 1, NULL, &message));
    assert_int_equal(link_waiting(link), 0);
    assert_int_equal(link_next_request(link), LINK_REQUEST_CONNECT);
    link_connected(link, 1);
    answer(link, 1);
    assert_true(link_send(link, 1, NULL, &message));
    assert_int_equal(link_waiting(link), 1);
    link_free(link);
}

static bool send_again(struct link *link, uint64_t now, enum repeats repeats,
                       const char *text)
{
    struct outbound message = { .to = { peer.node.address, 0 },
                                .recipient = slice_text("/user/x"),
                                .payload = slice_text(text),
                                .serializer = 4,
                                .stream = STREAM_ORDINARY,
                                .repeats = repeats };

    return link_send(link, now, NULL, &message);
}

static bool send_repeated(struct link *link, uint64_t now, const char *text)
{
    return send_again(link, now, REPEATS_MEMBERS, text);
}

/* Each would be delayed by all earlier ones. */
static void a_repeated_message_waits_once(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct seen seen = { 0 };

    (void)state;
    assert_true(send_repeated(link, SECOND, "g1"));
    assert_true(send_text(link, SECOND, "one"));
    assert_true(send_repeated(link, SECOND, "g2"));
    assert_int_equal(link_waiting(link), 2);
    assert_int_equal(link_counts(link).refused, 0);
    link_connected(link, SECOND);
    answer(link, SECOND);
    flush(link, SECOND, &seen, SIZE_MAX, SIZE_MAX);
    assert_string_equal(seen.text, "g1 one ");
    assert_true(send_text(link, SECOND, "two"));
    assert_true(send_repeated(link, SECOND, "g3"));
    flush(link, SECOND, &seen, 1, 10); /* a part of the earlier frames */
    assert_true(send_repeated(link, SECOND, "g4"));
    assert_int_equal(link_waiting(link), 2);
    link_closed(link, SECOND, "reset");
    assert_true(send_repeated(link, SECOND, "g5"));
    assert_int_equal(link_waiting(link), 2);
    link_drop(link, SECOND);
    assert_true(send_repeated(link, SECOND, "g6"));
    assert_int_equal(link_waiting(link), 1);
    assert_int_equal(left_out[REPEATS_MEMBERS], 3);
    assert_int_equal(left_out[REPEATS_VALUES], 0);
    inlet_free(seen.inlet);
    link_free(link);
}

/* Several may wait while little waits, then one of a kind; other messages always join the queue. */
static void repeated_values_wait_once_in_a_long_queue(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    char text[1001];
    uint32_t sent = 0;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (; sent < 1000; sent++)
        assert_true(send_again(link, SECOND, REPEATS_VALUES, text));
    assert_in_range(link_waiting(link), LINK_REPEATED_BYTES / 1200,
                    LINK_REPEATED_BYTES / 1000);
    assert_int_equal(link_counts(link).refused, 0);
    sent = link_waiting(link);
    assert_int_equal(left_out[REPEATS_VALUES], 1000 - sent);
    assert_true(send_text(link, SECOND, "one"));
    assert_true(send_repeated(link, SECOND, "g1"));
    assert_int_equal(link_waiting(link), sent + 2);
    link_drop(link, SECOND);
    for (sent = 0; sent < 1000; sent++)
        assert_true(send_text(link, SECOND, text));
    assert_true(send_again(link, SECOND, REPEATS_VALUES, "v1")); /* however busy the link is */
    assert_true(send_again(link, SECOND, REPEATS_VALUES, "v2"));
    assert_int_equal(link_waiting(link), sent + 1);
    assert_int_equal(left_out[REPEATS_MEMBERS], 0);
    link_free(link);
}

static void an_ordinary_queue_refuses_frames_beyond_its_count(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct slice frame;
    uint32_t taken = 0;
    (void)state;

    assert_int_equal(link_room(link), LINK_FRAMES_MAX);
    for (int i = 0; i < LINK_FRAMES_MAX; i++) {
        assert_int_equal(link_room(link), LINK_FRAMES_MAX - i);
        assert_true(send_text(link, 1, "x"));
    }
    assert_int_equal(link_room(link), 0);
    assert_false(send_text(link, 1, "x"));
    assert_null(link_begin(link, 100));
    assert_int_equal(link_counts(link).refused, 2);
    while (link_take_back(link, &frame)) {
        assert_int_equal(frame.data[frame.size - 1], 'x');
        taken++;
    }
    assert_int_equal(taken, LINK_FRAMES_MAX);
    assert_int_equal(link_room(link), LINK_FRAMES_MAX);
    assert_true(send_text(link, 1, "y"));
    link_free(link);
}

static void an_ordinary_queue_refuses_frames_beyond_its_bytes(void **state)
{
    struct link *link = make(STREAM_ORDINARY);
    struct envelope_head head = {0};
    static uint8_t body[FRAME_SIZE_MAX];
    uint32_t count = 0;
    struct buf *buf;
    size_t overhead;
    (void)state;

    assert_true(envelope_head_init(&head, &self, NULL,
                                   slice_text("akka://S@b:2/user/x"),
                                   slice_text("m"), 4));
    overhead = head.bytes.size;
    for (;;) {
        struct slice payload = slice_of(body, FRAME_SIZE_MAX + 4 - overhead);

        buf = link_begin(link, overhead + payload.size);
        if (!buf)
            break;
        envelope_head_put(buf, &head, slice_text(""), payload);
        link_end(link, 1);
        count++;
    }
    assert_int_equal(count, LINK_BYTES_MAX / (FRAME_SIZE_MAX + 4));
    assert_int_equal(link_room(link), 0);
    assert_int_equal(link_counts(link).refused, 1);
    assert_int_equal(link_counts(link).refusal, SHERD_REASON_LINK_FULL);
    link_drop(link, 1);
    assert_int_equal(link_waiting(link), 0);
    assert_int_equal(link_counts(link).stale, count);
    /* One byte more than a frame may have. */
    buf = link_begin(link, FRAME_SIZE_MAX + 5);
    assert_non_null(buf);
    envelope_head_put(buf, &head, slice_text(""),
                      slice_of(body, FRAME_SIZE_MAX + 5 - overhead));
    link_end(link, 1);
    assert_int_equal(link_counts(link).too_large, 1);
    assert_int_equal(link_waiting(link), 0);
    envelope_head_fini(&head);
    link_free(link);
}

/* Reliable messages come again: the peer does not count as lost. */
static void a_full_control_queue_refuses_messages(void **state)
{
    struct link *link = make(STREAM_CONTROL);
    struct link_news news;
    (void)state;

    for (int i = 0; i < LINK_CONTROL_FRAMES_MAX; i++)
        assert_true(send_text(link, 1, "x"));
    assert_false(send_text(link, 1, "x"));
    assert_false(send_text(link, 1, "x"));
    assert_int_equal(link_counts(link).refused, 2);
    assert_false(link_next_news(link, &news));
    link_free(link);
}

static void random_use_keeps_order_and_counts(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct link *link = make(STREAM_ORDINARY);
        struct seen seen = {0};
        struct rng rng;
        uint64_t now = SECOND;
        uint32_t sent = 0;
        uint32_t last = 0;
        uint32_t got = 0;

        rng_init(&rng, seed);
        for (int step = 0; step < 400; step++) {
            char text[300];
            size_t size;

            now += rng_below(&rng, 300) * MS;
            link_tick(link, now);
            while (link_next_request(link) != LINK_REQUEST_NOTHING)
                ;
            switch (rng_below(&rng, 8)) {
            case 0:
                if (link_state(link) != LINK_CONNECTING)
                    break;
                link_connected(link, now);
                inlet_free(seen.inlet);
                seen.inlet = NULL;
                break;
            case 1:
                answer(link, now);
                break;
            case 2:
                if (rng_below(&rng, 5) == 0)
                    link_closed(link, now, "reset");
                break;
            case 3:
            case 4:
            case 5:
                size = (size_t)snprintf(text, sizeof text, "%u", ++sent);
                memset(text + size, '.', sizeof text - size);
                text[size + rng_below(&rng, 200)] = 0;
                assert_true(send_text(link, now, text));
                break;
            default:
                flush(link, now,
                      link_state(link) >= LINK_HANDSHAKING ? &seen : NULL,
                      1 + rng_below(&rng, 3000), rng_below(&rng, 5000));
            }
            for (char *at = seen.text, *end; *at; at = strchr(at, ' ') + 1) {
                uint32_t number = (uint32_t)strtoul(at, &end, 10);

                assert_true(number > last);
                last = number;
                got++;
            }
            seen.text[0] = 0;
        }
        assert_true(got + link_waiting(link) >= sent);
        inlet_free(seen.inlet);
        link_free(link);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_preamble_and_a_request_come_first),
        cmocka_unit_test(a_jvm_answers_without_generation),
        cmocka_unit_test(the_request_is_repeated_each_second),
        cmocka_unit_test(a_peer_that_names_connections_is_asked_less_often),
        cmocka_unit_test(a_request_is_repeated_each_second_after_a_lost_answer),
        cmocka_unit_test(a_connection_without_an_answer_is_given_up),
        cmocka_unit_test(backing_off_grows_to_its_limit),
        cmocka_unit_test(a_frame_written_in_part_is_sent_whole_again),
        cmocka_unit_test(another_incarnation_gets_no_frames_of_the_old_one),
        cmocka_unit_test(a_link_connects_at_once_when_its_peer_has_started),
        cmocka_unit_test(a_link_repeats_its_handshake_at_once_when_its_peer_has_started),
        cmocka_unit_test(a_peer_that_answers_once_more_keeps_its_connection),
        cmocka_unit_test(a_silent_peer_is_connected_again),
        cmocka_unit_test(a_claim_shortens_the_pause_before_a_connection),
        cmocka_unit_test(a_stale_message_is_not_sent),
        cmocka_unit_test(responses_are_sent_without_waiting),
        cmocka_unit_test(system_messages_are_not_kept_while_closed),
        cmocka_unit_test(a_repeated_message_waits_once),
        cmocka_unit_test(repeated_values_wait_once_in_a_long_queue),
        cmocka_unit_test(an_ordinary_queue_refuses_frames_beyond_its_count),
        cmocka_unit_test(an_ordinary_queue_refuses_frames_beyond_its_bytes),
        cmocka_unit_test(a_full_control_queue_refuses_messages),
        cmocka_unit_test(random_use_keeps_order_and_counts),
    };

    return cmocka_run_group_tests(tests, keep, forget);
}
