/* Tests check_message, and tokens in bytes that are cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "sim/check/check_message.h"
#include "sim/check/token.h"

#define NODE 3

struct seen {
    uint32_t count;
    char invariant[32];
    char text[600];
    uint32_t node;
};

static void violated(void *user, const char *invariant, uint32_t node,
                     const char *text)
{
    struct seen *seen = user;

    seen->count++;
    seen->node = node;
    (void)snprintf(seen->invariant, sizeof seen->invariant, "%s", invariant);
    (void)snprintf(seen->text, sizeof seen->text, "%s", text);
}

static struct seen seen;

static struct check_message *fresh(void)
{
    memset(&seen, 0, sizeof seen);
    return check_message_new(violated, &seen);
}

static void assert_seen(const char *invariant, const char *text)
{
    if (!seen.count || !strstr(seen.text, text))
        print_message("seen %u: %s %s\n", seen.count, seen.invariant,
                      seen.text);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.invariant, invariant);
    assert_non_null(strstr(seen.text, text));
    memset(&seen, 0, sizeof seen);
}

static struct slice body(uint64_t number)
{
    static uint8_t bytes[8 + TOKEN_SIZE];

    token_put(bytes + 8, number);
    return slice_of(bytes, sizeof bytes);
}

static uint64_t send(struct check_message *check, uint32_t id)
{
    return check_message_sent(check, 0, NODE, 7, check_entity(1, id));
}

static void put_frame(struct buf *buf, uint64_t number)
{
    static const uint8_t around[11] = { 1, 2, 0xf7, 4, 0xf7, 's', 'h', 8 };
    struct slice inside = body(number);

    buf_put_u32(buf, (uint32_t)(2 * sizeof around + inside.size));
    buf_put(buf, around, sizeof around);
    buf_put_slice(buf, inside);
    buf_put(buf, around, sizeof around);
}

static void put_preamble(struct buf *buf)
{
    buf_put_text(buf, "AKKA");
    buf_put_u8(buf, 2);
}

/* ---- tokens ---- */

static void a_token_is_found_at_the_end_of_a_body(void **state)
{
    uint64_t number = 0;
    struct slice bytes = body(UINT64_C(0x1234567890abcdef));

    (void)state;
    assert_true(token_of(bytes, &number));
    assert_int_equal(number, UINT64_C(0x1234567890abcdef));
    bytes.size--;
    assert_false(token_of(bytes, &number));
    assert_false(token_of(slice_text("no token here, only text"), &number));
    assert_false(token_of(slice_text(""), &number));
}

static void tokens_are_found_in_any_bytes(void **state)
{
    struct buf buf = { 0 };
    uint64_t number = 0;
    size_t at = 0;

    (void)state;
    put_preamble(&buf);
    for (uint64_t i = 0; i < 5; i++)
        put_frame(&buf, i * 1000);
    for (uint64_t i = 0; i < 5; i++) {
        assert_true(token_next(buf_slice(&buf), &at, &number));
        assert_int_equal(number, i * 1000);
    }
    assert_false(token_next(buf_slice(&buf), &at, &number));
    buf_fini(&buf);
}

static void tokens_pass_with_their_frames(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int run = 0; run < 200; run++) {
        struct token_pipe pipe = { 0 };
        struct buf buf = { 0 };
        size_t ends[20];
        size_t written = 0, arrived = 0;
        uint32_t left = 0, came = 0;
        uint64_t number;

        put_preamble(&buf);
        for (uint64_t i = 0; i < 20; i++) {
            put_frame(&buf, i);
            ends[i] = buf.size;
        }
        while (arrived < buf.size) {
            size_t size = 1 + rng_below(&rng, run % 2 ? 5 : 200);

            if (size > buf.size - written)
                size = buf.size - written;
            token_pipe_written(&pipe, slice_of(buf.data + written, size));
            written += size;
            while (token_pipe_left(&pipe, &number))
                assert_int_equal(number, left++);
            assert_true(left == 20 || ends[left] > written);
            assert_true(left == 0 || ends[left - 1] <= written);
            size = rng_below(&rng, written - arrived + 1);
            token_pipe_arrived(&pipe, size);
            arrived += size;
            while (token_pipe_came(&pipe, &number))
                assert_int_equal(number, came++);
            assert_true(came == 20 || ends[came] > arrived);
            assert_true(came == 0 || ends[came - 1] <= arrived);
        }
        assert_int_equal(came, 20);
        assert_false(token_pipe_lost(&pipe, &number));
        token_pipe_fini(&pipe);
        buf_fini(&buf);
    }
}

/* ---- conservation ---- */

static void all_outcomes_add_up(void **state)
{
    struct check_message *check = fresh();
    struct check_message_counts counts;
    struct buf buf = { 0 };

    (void)state;
    for (uint32_t i = 0; i < 6; i++)
        (void)send(check, i);
    check_message_delivered(check, NODE, 0, check_entity(1, 0));
    check_message_ended(check, NODE, body(1), SHERD_REASON_MAILBOX_FULL);
    put_preamble(&buf);
    put_frame(&buf, 2);
    put_frame(&buf, 3);
    check_message_written(check, 9, NODE, buf_slice(&buf));
    check_message_arrived(check, 9, 4, buf.size - 1); /* 3 is cut */
    check_message_delivered(check, 4, 2, check_entity(1, 2));
    check_message_pipe_ended(check, 9, false);
    check_message_node_ended(check, NODE, CHECK_CRASHED); /* 4 and 5 */
    counts = check_message_counts(check);
    assert_int_equal(counts.sent, 6);
    assert_int_equal(counts.delivered, 2);
    assert_int_equal(counts.undelivered[SHERD_REASON_MAILBOX_FULL], 1);
    assert_int_equal(counts.undelivered_total, 1);
    assert_int_equal(counts.lost_in_connection, 1);
    assert_int_equal(counts.lost_with_node, 2);
    assert_int_equal(counts.lost_to_entities, 3);
    assert_int_equal(counts.open, 0);
    assert_int_equal(check_message_drained(check), 0);
    assert_int_equal(seen.count, 0);
    buf_fini(&buf);
    check_message_free(check);
}

static void a_lost_message_is_reported_with_its_position(void **state)
{
    struct check_message *check = fresh();
    struct buf buf = { 0 };
    char text[200];

    (void)state;
    (void)send(check, 1);
    (void)send(check, 17);
    check_message_delivered(check, NODE, 0, check_entity(1, 1));
    put_preamble(&buf);
    put_frame(&buf, 1);
    check_message_written(check, 9, NODE, buf_slice(&buf));
    check_message_arrived(check, 9, 5, buf.size);
    assert_true(check_message_oldest(check, 3000000, text, sizeof text));
    assert_string_equal(text,
                        "message 1 to entity 17 of type 1 at node 5 for 3 ms");
    assert_int_equal(check_message_drained(check), 1);
    assert_int_equal(seen.node, 5);
    assert_seen("message-accounting", "message 1 is still open after the drain "
                      "to=\"entity 17 of type 1\" place=\"node 5\"");
    buf_fini(&buf);
    check_message_free(check);
}

static void a_node_that_leaves_loses_nothing(void **state)
{
    struct check_message *check = fresh();

    (void)state;
    (void)send(check, 1);
    check_message_node_ended(check, NODE, CHECK_LEFT);
    assert_seen("message-accounting", "left behind by its node");
    assert_int_equal(check_message_counts(check).left_behind, 1);
    (void)send(check, 1);
    check_message_node_ended(check, NODE, CHECK_DOWNED);
    assert_int_equal(seen.count, 0);
    assert_int_equal(check_message_counts(check).lost_with_node, 1);
    check_message_free(check);
}

/* A moving shard does not wait for ended senders. */
static void messages_of_ended_senders_may_find_their_shard_moved(void **state)
{
    struct check_message *check = fresh();
    struct buf buf = { 0 };

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        (void)send(check, 1);
        buf_clear(&buf);
        put_preamble(&buf);
        put_frame(&buf, i);
        check_message_written(check, 9 + i, NODE, buf_slice(&buf));
        if (i)
            check_message_node_ended(check, NODE, CHECK_LEFT);
        check_message_arrived(check, 9 + i, 5, buf.size);
        check_message_ended(check, 5, body(i), SHERD_REASON_HANDED_OFF);
        assert_int_equal(check_message_counts(check).last_words_moved, i);
    }
    assert_int_equal(
        check_message_counts(check).undelivered[SHERD_REASON_HANDED_OFF], 2);
    assert_int_equal(seen.count, 0);
    buf_fini(&buf);
    check_message_free(check);
}

/* They do not outlive the connection. */
static void bytes_outlive_their_writer(void **state)
{
    struct check_message *check = fresh();
    struct buf buf = { 0 };

    (void)state;
    (void)send(check, 1);
    put_preamble(&buf);
    put_frame(&buf, 0);
    check_message_written(check, 9, NODE, buf_slice(&buf));
    check_message_node_ended(check, NODE, CHECK_CRASHED);
    assert_int_equal(check_message_counts(check).open, 1);
    check_message_arrived(check, 9, 5, buf.size);
    check_message_pipe_ended(check, 9, false);
    check_message_delivered(check, 5, 0, check_entity(1, 1));
    assert_int_equal(check_message_counts(check).delivered, 1);
    assert_int_equal(seen.count, 0);
    buf_fini(&buf);
    check_message_free(check);
}

/* The writer learns of the end later. */
static void a_write_into_a_dead_connection_is_lost(void **state)
{
    struct check_message *check = fresh();
    struct buf buf = { 0 };

    (void)state;
    (void)send(check, 1);
    (void)send(check, 2);
    put_preamble(&buf);
    put_frame(&buf, 0);
    check_message_written(check, 9, NODE, buf_slice(&buf));
    check_message_pipe_ended(check, 9, false);
    assert_int_equal(check_message_counts(check).lost_in_connection, 1);
    buf_clear(&buf);
    put_frame(&buf, 1);
    check_message_written(check, 9, NODE, buf_slice(&buf));
    assert_int_equal(check_message_counts(check).lost_in_connection, 2);
    assert_int_equal(check_message_counts(check).open, 0);
    assert_int_equal(seen.count, 0);
    check_message_node_started(check, NODE);
    buf_fini(&buf);
    check_message_free(check);
}

/* Its writer sends all of it with the next connection. */
static void a_frame_written_in_part_stays(void **state)
{
    struct check_message *check = fresh();
    struct buf buf = { 0 };

    (void)state;
    (void)send(check, 1);
    put_preamble(&buf);
    put_frame(&buf, 0);
    check_message_written(check, 9, NODE, slice_of(buf.data, buf.size - 1));
    check_message_arrived(check, 9, 5, buf.size - 1);
    check_message_pipe_ended(check, 9, false);
    assert_int_equal(check_message_counts(check).open, 1);
    check_message_written(check, 10, NODE, buf_slice(&buf));
    check_message_arrived(check, 10, 5, buf.size);
    check_message_delivered(check, 5, 0, check_entity(1, 1));
    assert_int_equal(seen.count, 0);
    assert_int_equal(check_message_counts(check).lost_in_connection, 0);
    buf_fini(&buf);
    check_message_free(check);
}

static void a_frame_written_twice_is_found(void **state)
{
    struct check_message *check = fresh();
    struct buf buf = { 0 };

    (void)state;
    (void)send(check, 1);
    put_preamble(&buf);
    put_frame(&buf, 0);
    check_message_written(check, 9, NODE, buf_slice(&buf));
    check_message_written(check, 10, NODE, buf_slice(&buf));
    assert_seen("message-accounting", "message 0 is written to=\"entity 1 of type 1\" "
                      "place=\"connection 9\"");
    buf_fini(&buf);
    check_message_free(check);
}

static void received_bytes_may_be_dropped_with_their_connection(void **state)
{
    struct check_message *check = fresh();
    struct buf buf = { 0 };

    (void)state;
    (void)send(check, 1);
    (void)send(check, 2);
    put_preamble(&buf);
    put_frame(&buf, 0);
    put_frame(&buf, 1);
    check_message_written(check, 9, NODE, buf_slice(&buf));
    check_message_arrived(check, 9, 5, buf.size - 1);
    check_message_dropped(check, 5, slice_of(buf.data, buf.size - 1));
    assert_int_equal(check_message_counts(check).lost_in_connection, 1);
    check_message_pipe_ended(check, 9, false);
    assert_int_equal(check_message_counts(check).lost_in_connection, 2);
    check_message_dropped(check, 5, slice_of(buf.data, buf.size - 1)); /* reported late */
    assert_int_equal(seen.count, 0);
    assert_int_equal(check_message_counts(check).lost_in_connection, 2);
    buf_fini(&buf);
    check_message_free(check);
}

/* It was cut before its last byte, with the whole token in it. */
static void a_frame_that_began_anew_may_be_dropped_late(void **state)
{
    struct check_message *check = fresh();
    struct buf buf = { 0 };
    struct slice cut;

    (void)state;
    (void)send(check, 1);
    put_preamble(&buf);
    put_frame(&buf, 0);
    cut = slice_of(buf.data, buf.size - 1);
    for (uint64_t pipe = 8; pipe <= 9; pipe++) {
        check_message_written(check, pipe, NODE, cut);
        check_message_arrived(check, pipe, 5, cut.size);
    }
    check_message_dropped(check, 5, cut); /* it waits at its writer */
    assert_int_equal(check_message_counts(check).open, 1);
    check_message_written(check, 10, NODE, buf_slice(&buf));
    check_message_arrived(check, 10, 5, buf.size);
    check_message_delivered(check, 5, 0, check_entity(1, 1));
    check_message_pipe_ended(check, 8, false);
    check_message_dropped(check, 5, cut);
    check_message_node_ended(check, NODE, CHECK_CRASHED);
    check_message_node_started(check, NODE); /* of the writer's connections pipe 9 is left */
    check_message_pipe_ended(check, 9, false);
    check_message_node_ended(check, NODE, CHECK_CRASHED);
    check_message_node_started(check, NODE);
    check_message_dropped(check, 5, cut);
    assert_int_equal(seen.count, 0);
    assert_int_equal(check_message_counts(check).lost_in_connection, 0);
    buf_fini(&buf);
    check_message_free(check);
}

static void a_delivered_message_is_not_dropped(void **state)
{
    struct check_message *check = fresh();
    struct buf buf = { 0 };

    (void)state;
    (void)send(check, 1);
    put_preamble(&buf);
    put_frame(&buf, 0);
    check_message_written(check, 9, NODE, slice_of(buf.data, buf.size - 1));
    check_message_written(check, 9, NODE, slice_of(buf.data + buf.size - 1, 1));
    check_message_arrived(check, 9, 5, buf.size);
    check_message_delivered(check, 5, 0, check_entity(1, 1));
    check_message_dropped(check, 5, buf_slice(&buf));
    assert_seen("message-accounting", "message 0 is dropped with its connection, but it is "
                      "delivered");
    buf_fini(&buf);
    check_message_free(check);
}

/* Two messages are written; the first one arrives at node 5. */
static struct check_message *half_way(struct buf *buf)
{
    struct check_message *check = fresh();

    (void)send(check, 1);
    (void)send(check, 2);
    put_preamble(buf);
    put_frame(buf, 0);
    put_frame(buf, 1);
    check_message_written(check, 9, NODE, buf_slice(buf));
    check_message_arrived(check, 9, 5, buf->size - 1);
    return check;
}

static void message_accounting_a_mailbox_full_of_too_few_is_found(void **state)
{
    struct check_message *check = fresh();
    uint64_t last = 0;

    (void)state;
    check_message_mailboxes(check, 100);
    for (int i = 0; i < 42; i++)
        last = send(check, 4);
    check_message_ended(check, NODE, body(last), SHERD_REASON_MAILBOX_FULL);
    assert_int_equal(seen.count, 0); /* some that wait may have no token */
    for (int i = 0; i < 100; i++)
        last = send(check, 5 + i % 5);
    check_message_ended(check, NODE, body(last), SHERD_REASON_MAILBOX_FULL);
    assert_seen("message-accounting", "20 wait, and 100 may");
    check_message_free(check);
}

static void message_accounting_a_close_without_reason_is_found(void **state)
{
    struct buf buf = { 0 };
    struct check_message *check = half_way(&buf);

    (void)state;
    check_message_pipe_closed(check, 9, 5);
    assert_int_equal(seen.count, 0); /* it has lost nothing yet */
    check_message_pipe_ended(check, 9, false);
    assert_int_equal(seen.node, 5);
    assert_seen("message-accounting", "message 1 is lost in a connection that the node closed "
                      "for no reason");
    check_message_dropped(check, 5, slice_of(buf.data, buf.size - 1));
    assert_int_equal(seen.node, 5);
    assert_seen("message-accounting", "message 0 is lost in a connection that the node closed "
                      "for no reason");
    assert_int_equal(check_message_counts(check).lost_in_connection, 2);
    buf_fini(&buf);
    check_message_free(check);
}

static void a_message_that_arrives_before_the_close_is_not_lost(void **state)
{
    struct buf buf = { 0 };
    struct check_message *check = half_way(&buf);

    (void)state;
    check_message_pipe_closed(check, 9, NODE);
    check_message_arrived(check, 9, 5, 1);
    check_message_pipe_ended(check, 9, false);
    assert_int_equal(seen.count, 0);
    assert_int_equal(check_message_counts(check).lost_in_connection, 0);
    buf_fini(&buf);
    check_message_free(check);
}

static void message_accounting_a_loss_in_the_quiet_is_found(void **state)
{
    struct buf buf = { 0 };
    struct check_message *check = half_way(&buf);

    (void)state;
    check_message_quiet(check, true);
    check_message_pipe_ended(check, 9, false);
    assert_seen("message-accounting", "message 1 is lost in the quiet");
    check_message_dropped(check, 5, slice_of(buf.data, buf.size - 1));
    assert_seen("message-accounting", "message 0 is lost in the quiet");
    buf_fini(&buf);
    check_message_free(check);
}

/* A half-open connection is silent until a write. */
static void a_broken_connection_may_lose_in_the_quiet(void **state)
{
    struct buf buf = { 0 };
    struct check_message *check = half_way(&buf);

    (void)state;
    check_message_quiet(check, true);
    check_message_pipe_ended(check, 9, true);
    check_message_quiet(check, false);
    check_message_dropped(check, 5, slice_of(buf.data, buf.size - 1));
    assert_int_equal(seen.count, 0);
    assert_int_equal(check_message_counts(check).lost_in_connection, 2);
    buf_fini(&buf);
    check_message_free(check);
}

/* ---- the other rules ---- */

static void a_second_delivery_is_found_however_late(void **state)
{
    struct check_message *check = fresh();

    (void)state;
    for (uint32_t i = 0; i < 100000; i++) {
        uint64_t number = send(check, i);

        check_message_delivered(check, NODE, number, check_entity(1, i));
    }
    assert_int_equal(seen.count, 0);
    check_message_delivered(check, NODE, 5, check_entity(1, 5));
    assert_seen("at-most-once", "message 5 is delivered twice");
    check_message_free(check);
}

static void a_message_ends_once(void **state)
{
    struct check_message *check = fresh();

    (void)state;
    (void)send(check, 1);
    check_message_ended(check, NODE, body(0), SHERD_REASON_STOPPED);
    check_message_ended(check, NODE, body(0), SHERD_REASON_STOPPED);
    assert_seen("message-accounting", "ends undelivered (the receiver stopped before it read "
                      "the message), but it is undelivered");
    check_message_delivered(check, NODE, 0, check_entity(1, 1));
    assert_seen("message-accounting", "message 0 is delivered, but it is undelivered");
    check_message_delivered(check, NODE, 77, check_entity(1, 1));
    assert_seen("message-accounting", "nobody sent it");
    check_message_free(check);
}

static void a_handler_that_fails_takes_a_delivery_back(void **state)
{
    struct check_message *check = fresh();

    (void)state;
    (void)send(check, 1);
    check_message_delivered(check, NODE, 0, check_entity(1, 1));
    check_message_ended(check, NODE, body(0), SHERD_REASON_HANDLER_FAILED);
    assert_int_equal(check_message_counts(check).delivered, 0);
    assert_int_equal(check_message_counts(check).undelivered_total, 1);
    assert_int_equal(seen.count, 0);
    check_message_ended(check, NODE, body(0), SHERD_REASON_HANDLER_FAILED);
    assert_seen("message-accounting", "but it is undelivered");
    check_message_free(check);
}

static void a_message_is_delivered_where_it_is(void **state)
{
    struct check_message *check = fresh();

    (void)state;
    (void)send(check, 1);
    check_message_delivered(check, NODE + 1, 0, check_entity(1, 1));
    assert_seen("message-accounting", "message 0 is delivered to=\"entity 1 of type 1\" "
                      "place=\"node 3\"");
    check_message_free(check);
}

static void a_swap_of_two_messages_is_found(void **state)
{
    struct check_message *check = fresh();

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        (void)send(check, i % 2);
    check_message_delivered(check, NODE, 2, check_entity(1, 0));
    check_message_delivered(check, NODE, 1, check_entity(1, 1)); /* another receiver */
    assert_int_equal(seen.count, 0);
    check_message_delivered(check, NODE, 0, check_entity(1, 0));
    assert_seen("message-order", "message 0 is delivered after 2");
    check_message_free(check);
}

static void a_late_swap_is_found_among_many_streams(void **state)
{
    struct check_message *check = fresh();
    uint64_t first = send(check, 0);
    uint64_t second = send(check, 0);
    size_t memory = 0;

    (void)state;
    check_message_delivered(check, NODE, second, check_entity(1, 0));
    for (uint32_t i = 0; i < 20000; i++)
        check_message_delivered(check, NODE, send(check, 100 + i),
                                check_entity(1, 100 + i));
    check_message_delivered(check, NODE, first, check_entity(1, 0));
    assert_seen("message-order", "message 0 is delivered after 1");
    memory = check_message_memory(check);
    for (uint32_t i = 0; i < 200000; i++)
        check_message_delivered(check, NODE, send(check, 100 + i),
                                check_entity(1, 100 + i));
    assert_int_equal(seen.count, 0);
    assert_true(check_message_memory(check) < memory + 128 * 1024);
    check_message_free(check);
}

static void a_wrong_receiver_is_found(void **state)
{
    struct check_message *check = fresh();
    struct sherd_ref actor = { 11, 12 };

    (void)state;
    (void)send(check, 17);
    check_message_delivered(check, NODE, 0, check_entity(1, 18));
    assert_seen("right-receiver", "message 0 is delivered to entity 18 of type 1 "
                       "to=\"entity 17 of type 1\"");
    (void)check_message_sent(check, 0, NODE, 0, actor);
    check_message_delivered(check, NODE, 1, (struct sherd_ref){ 11, 13 });
    assert_seen("right-receiver", "is delivered to actor d of node b");
    check_message_free(check);
}

static void a_passed_message_is_open_for_its_next_receiver(void **state)
{
    struct check_message *check = fresh();
    struct sherd_ref first = { 11, 12 };
    struct sherd_ref second = { 13, 14 };

    (void)state;
    (void)check_message_sent(check, 0, NODE, 5, first);
    check_message_passed(check, NODE, 0, first, second);
    assert_int_equal(seen.count, 0);
    assert_int_equal(check_message_counts(check).open, 1);
    check_message_delivered(check, NODE, 0, second);
    assert_int_equal(seen.count, 0);
    assert_int_equal(check_message_counts(check).delivered, 1);
    assert_int_equal(check_message_counts(check).open, 0);
    check_message_passed(check, NODE, 0, second, first);
    assert_seen("message-accounting", "message 0 is delivered, but it is delivered");
    check_message_free(check);
}

static void passing_on_a_message_for_another_is_found(void **state)
{
    struct check_message *check = fresh();
    struct sherd_ref first = { 11, 12 };
    struct sherd_ref second = { 13, 14 };

    (void)state;
    (void)check_message_sent(check, 0, NODE, 5, first);
    check_message_passed(check, NODE, 0, second, first);
    assert_seen("right-receiver", "is delivered to actor e of node d");
    (void)check_message_sent(check, 0, NODE, 5, first);
    check_message_passed(check, NODE, 1, first, second);
    check_message_delivered(check, NODE, 1, first); /* its first receiver again */
    assert_seen("right-receiver", "is delivered to actor c of node b");
    check_message_free(check);
}

static void a_nodes_own_counters_are_compared(void **state)
{
    struct check_message *check = fresh();
    struct sherd_status status = { 0 };

    (void)state;
    check_message_node_started(check, NODE);
    (void)send(check, 1);
    (void)send(check, 1);
    check_message_delivered(check, NODE, 0, check_entity(1, 1));
    check_message_ended(check, NODE, body(1), SHERD_REASON_FENCED);
    status.delivered = 1;
    status.undelivered[SHERD_REASON_FENCED] = 1;
    check_message_status(check, NODE, &status);
    assert_int_equal(seen.count, 0);
    status.undelivered[SHERD_REASON_FENCED] = 2;
    check_message_status(check, NODE, &status);
    assert_seen("message-accounting", "counts 2 undelivered messages (the shard has a newer "
                      "owner), there were 1");
    status.undelivered[SHERD_REASON_FENCED] = 1;
    status.delivered = 0;
    check_message_status(check, NODE, &status);
    assert_seen("message-accounting", "counts 0 messages as delivered, there were 1");
    check_message_node_started(check, NODE);
    status = (struct sherd_status){ 0 };
    check_message_status(check, NODE, &status);
    assert_int_equal(seen.count, 0);
    check_message_free(check);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_found_at_the_end_of_a_body),
        cmocka_unit_test(tokens_are_found_in_any_bytes),
        cmocka_unit_test(tokens_pass_with_their_frames),
        cmocka_unit_test(all_outcomes_add_up),
        cmocka_unit_test(a_lost_message_is_reported_with_its_position),
        cmocka_unit_test(a_node_that_leaves_loses_nothing),
        cmocka_unit_test(bytes_outlive_their_writer),
        cmocka_unit_test(messages_of_ended_senders_may_find_their_shard_moved),
        cmocka_unit_test(a_write_into_a_dead_connection_is_lost),
        cmocka_unit_test(a_frame_written_in_part_stays),
        cmocka_unit_test(a_frame_written_twice_is_found),
        cmocka_unit_test(received_bytes_may_be_dropped_with_their_connection),
        cmocka_unit_test(a_frame_that_began_anew_may_be_dropped_late),
        cmocka_unit_test(a_delivered_message_is_not_dropped),
        cmocka_unit_test(message_accounting_a_mailbox_full_of_too_few_is_found),
        cmocka_unit_test(message_accounting_a_close_without_reason_is_found),
        cmocka_unit_test(
            a_message_that_arrives_before_the_close_is_not_lost),
        cmocka_unit_test(message_accounting_a_loss_in_the_quiet_is_found),
        cmocka_unit_test(a_broken_connection_may_lose_in_the_quiet),
        cmocka_unit_test(a_second_delivery_is_found_however_late),
        cmocka_unit_test(a_message_ends_once),
        cmocka_unit_test(a_handler_that_fails_takes_a_delivery_back),
        cmocka_unit_test(a_message_is_delivered_where_it_is),
        cmocka_unit_test(a_swap_of_two_messages_is_found),
        cmocka_unit_test(a_late_swap_is_found_among_many_streams),
        cmocka_unit_test(a_wrong_receiver_is_found),
        cmocka_unit_test(a_passed_message_is_open_for_its_next_receiver),
        cmocka_unit_test(passing_on_a_message_for_another_is_found),
        cmocka_unit_test(a_nodes_own_counters_are_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
