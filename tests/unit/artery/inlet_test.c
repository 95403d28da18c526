/* Checks frames from any segmentation, and the reasons that close a connection. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "artery/inlet.h"
#include "artery/peers.h"
#include "base/rng.h"
#include "base/timers.h"

static const struct inlet_options options = {
    .magics = {"AKKA", "PEKK"}};

static struct inlet *open_inlet(uint8_t stream, bool accepted)
{
    struct inlet *inlet = inlet_new(0, &options);
    uint8_t preamble[5] = "AKKA";

    preamble[4] = stream;
    inlet_receive(inlet, slice_of(preamble, 5));
    assert_int_equal(inlet_batch(inlet, &(struct slice){0}, 1), 0);
    assert_int_equal(inlet_stream(inlet), stream);
    if (accepted)
        inlet_accept(inlet, 9, 0, 0);
    return inlet;
}

static void put_frame(struct buf *buf, uint32_t size, uint8_t fill)
{
    buf_put_u32(buf, size);
    memset(buf_reserve(buf, size), fill, size);
    buf->size += size;
}

static uint32_t size_of(uint32_t number)
{
    return number % 97 == 0 ? 30000 + number : 1 + number * 7 % 400;
}

/* Checks frames as they come: number n has size_of(n) bytes of value n. */
static void check_batch(const struct slice *frames, uint32_t count,
                        uint32_t *next)
{
    for (uint32_t i = 0; i < count; i++, ++*next) {
        assert_int_equal(frames[i].size, size_of(*next));
        assert_int_equal(frames[i].data[0], (uint8_t)*next);
        assert_int_equal(frames[i].data[frames[i].size - 1], (uint8_t)*next);
    }
}

static void any_segmentation_gives_the_same_frames(void **state)
{
    struct rng rng;
    struct buf all = {0};
    (void)state;

    buf_put(&all, "PEKK\002", 5);
    for (uint32_t i = 1; i <= 400; i++)
        put_frame(&all, size_of(i), (uint8_t)i);
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct inlet *inlet = inlet_new(0, &options);
        uint32_t next = 1;
        uint32_t max = 1 + (uint32_t)seed % 40;
        size_t at = 0;

        rng_init(&rng, seed);
        while (at < all.size) {
            struct slice frames[64];
            uint32_t count;
            size_t limit = seed % 3 == 0 ? 5 : seed % 3 == 1 ? 700 : 65536;
            size_t size = 1 + rng_below(&rng, limit);
            uint8_t *segment;

            if (size > all.size - at)
                size = all.size - at;
            segment =
                malloc(size); /* so that a sanitizer sees late reads */
            memcpy(segment, all.data + at, size);
            inlet_receive(inlet, slice_of(segment, size));
            if (seed % 4 == 0 && next == 1 && inlet_first(inlet, frames)) {
                check_batch(frames, 1, &(uint32_t){1});
            }
            while ((count = inlet_batch(inlet, frames, max))) {
                check_batch(frames, count, &next);
                if (!inlet_uid(inlet)) {
                    assert_int_equal(count, 1);
                    inlet_accept(inlet, 5, 1, 1);
                }
            }
            free(segment);
            at += size;
        }
        assert_int_equal(next, 401);
        assert_int_equal(inlet_reason(inlet), INLET_OPEN);
        assert_int_equal(inlet_counts(inlet).frames, 400);
        assert_int_equal(inlet_counts(inlet).bytes, all.size);
        inlet_free(inlet);
    }
    buf_fini(&all);
}

static enum inlet_reason reason_of_preamble(const char *bytes, size_t size)
{
    struct inlet *inlet = inlet_new(0, &options);
    enum inlet_reason reason;
    struct slice frame;

    inlet_receive(inlet, slice_of(bytes, size));
    assert_int_equal(inlet_batch(inlet, &frame, 1), 0);
    reason = inlet_reason(inlet);
    inlet_free(inlet);
    return reason;
}

static void a_bad_preamble_closes_the_connection(void **state)
{
    (void)state;
    assert_int_equal(reason_of_preamble("GET / HTTP/1.1", 14), INLET_BAD_MAGIC);
    assert_int_equal(reason_of_preamble("B", 1), INLET_BAD_MAGIC);
    assert_int_equal(reason_of_preamble("AKK", 3), INLET_OPEN);
    assert_int_equal(reason_of_preamble("AKKA", 4), INLET_OPEN);
    assert_int_equal(reason_of_preamble("AKKA\000", 5), INLET_BAD_STREAM);
    assert_int_equal(reason_of_preamble("AKKA\004", 5), INLET_BAD_STREAM);
    assert_int_equal(reason_of_preamble("PEKK\001", 5), INLET_OPEN);
    assert_int_equal(reason_of_preamble("AKKA\003", 5), INLET_OPEN);
}

static enum inlet_reason reason_of_length(uint8_t stream, bool accepted,
                                          uint32_t size)
{
    struct inlet *inlet = open_inlet(stream, accepted);
    struct buf buf = {0};
    struct slice frame;
    enum inlet_reason reason;

    buf_put_u32(&buf, size);
    inlet_receive(inlet, buf_slice(&buf));
    assert_int_equal(inlet_batch(inlet, &frame, 1), 0);
    reason = inlet_reason(inlet);
    inlet_receive(inlet, slice_text("more"));
    assert_int_equal(inlet_batch(inlet, &frame, 1), 0);
    if (reason != INLET_OPEN)
        assert_int_equal(inlet_counts(inlet).dropped_bytes, 8);
    inlet_free(inlet);
    buf_fini(&buf);
    return reason;
}

static void a_length_is_checked_before_bytes_are_stored(void **state)
{
    (void)state;
    assert_int_equal(reason_of_length(1, true, FRAME_SIZE_MAX), INLET_OPEN);
    assert_int_equal(reason_of_length(1, true, FRAME_SIZE_MAX + 1),
                     INLET_FRAME_TOO_LARGE);
    assert_int_equal(reason_of_length(2, true, FRAME_SIZE_MAX), INLET_OPEN);
    assert_int_equal(reason_of_length(2, true, FRAME_SIZE_MAX + 1),
                     INLET_FRAME_TOO_LARGE);
    assert_int_equal(reason_of_length(3, true, FRAME_LARGE_SIZE),
                     INLET_OPEN);
    assert_int_equal(reason_of_length(3, true, FRAME_LARGE_SIZE + 1),
                     INLET_FRAME_TOO_LARGE);
    assert_int_equal(reason_of_length(2, true, 0), INLET_FRAME_EMPTY);
    assert_int_equal(reason_of_length(2, true, UINT32_MAX),
                     INLET_FRAME_TOO_LARGE);
    assert_int_equal(reason_of_length(2, false, INLET_UNKNOWN_SIZE_MAX),
                     INLET_OPEN);
    assert_int_equal(reason_of_length(2, false, INLET_UNKNOWN_SIZE_MAX + 1),
                     INLET_UNKNOWN_TOO_LARGE);
}

static void a_frame_at_the_limit_passes(void **state)
{
    struct inlet *inlet = open_inlet(2, true);
    struct buf buf = {0};
    struct slice frames[4];
    (void)state;

    put_frame(&buf, FRAME_SIZE_MAX, 7);
    put_frame(&buf, 3, 8);
    inlet_receive(inlet, slice_of(buf.data, 100000));
    assert_int_equal(inlet_batch(inlet, frames, 4), 0);
    inlet_receive(inlet, slice_of(buf.data + 100000, buf.size - 100000));
    assert_int_equal(inlet_batch(inlet, frames, 4), 2);
    assert_int_equal(frames[0].size, FRAME_SIZE_MAX);
    assert_int_equal(frames[0].data[FRAME_SIZE_MAX - 1], 7);
    assert_int_equal(frames[1].size, 3);
    assert_int_equal(inlet_batch(inlet, frames, 4), 0);
    buf_fini(&buf);
    inlet_free(inlet);
}

static void good_frames_before_a_bad_one_are_given(void **state)
{
    struct inlet *inlet = open_inlet(2, true);
    struct buf buf = {0};
    struct slice frames[4];
    (void)state;

    put_frame(&buf, 3, 1);
    put_frame(&buf, 4, 2);
    buf_put_u32(&buf, 0);
    inlet_receive(inlet, buf_slice(&buf));
    assert_int_equal(inlet_batch(inlet, frames, 4), 2);
    assert_int_equal(frames[1].size, 4);
    assert_int_equal(inlet_batch(inlet, frames, 4), 0);
    assert_int_equal(inlet_reason(inlet), INLET_FRAME_EMPTY);
    buf_fini(&buf);
    inlet_free(inlet);
}

static void a_silent_connection_is_closed(void **state)
{
    struct inlet *inlet = inlet_new(0, &options);
    (void)state;

    assert_true(inlet_deadline(inlet) == INLET_PREAMBLE_MS * MS);
    inlet_tick(inlet, INLET_PREAMBLE_MS * MS - 1);
    assert_int_equal(inlet_reason(inlet), INLET_OPEN);
    inlet_tick(inlet, INLET_PREAMBLE_MS * MS);
    assert_int_equal(inlet_reason(inlet), INLET_HANDSHAKE_LATE);
    inlet_free(inlet);
    inlet = open_inlet(1, false);
    assert_true(inlet_deadline(inlet) == INLET_HANDSHAKE_MS * MS);
    inlet_accept(inlet, 1, 0, 0);
    assert_true(inlet_deadline(inlet) == NEVER);
    inlet_free(inlet);
}

static void limits_before_the_handshake_are_settings(void **state)
{
    struct inlet_options set = options;
    struct inlet *inlet;
    struct buf bytes = {0};
    struct slice frames[1];
    (void)state;

    set.unknown_size_max = 100;
    set.preamble_within = 7 * MS;
    set.handshake_within = 9 * MS;
    for (uint32_t more = 0; more < 2; more++) {
        inlet = inlet_new(1, &set);
        assert_true(inlet_deadline(inlet) == 1 + 7 * MS);
        buf_clear(&bytes);
        buf_put_text(&bytes, "AKKA");
        buf_put_u8(&bytes, 1);
        buf_put_u32(&bytes, 100 + more);
        inlet_receive(inlet, buf_slice(&bytes));
        assert_int_equal(inlet_batch(inlet, frames, 1), 0);
        assert_int_equal(inlet_reason(inlet),
                         more ? INLET_UNKNOWN_TOO_LARGE : INLET_OPEN);
        assert_true(more || inlet_deadline(inlet) == 1 + 9 * MS);
        inlet_free(inlet);
    }
    buf_fini(&bytes);
}

static struct handshake from(uint16_t port, uint64_t uid, uint32_t lane,
                             uint64_t generation)
{
    struct handshake handshake = {
        .lane = lane, .generation = generation, .capabilities = 1};

    handshake.from.uid = uid;
    address_set(&handshake.from.address, "host", 4, port);
    return handshake;
}

/* No memory is kept for the preamble, so nothing may point into it (undefined behaviour
 * sanitizer). */
static void a_connection_without_frames_leaves_no_bytes(void **state)
{
    struct inlet_options probed = options;
    uint8_t preamble[5] = "AKKA\002";
    struct slice frame;
    struct probe probe;
    struct inlet *inlet;
    (void)state;

    probed.probes = probes_new();
    inlet = inlet_new(0, &probed);
    inlet_receive(inlet, slice_of(preamble, 5));
    assert_int_equal(inlet_batch(inlet, &frame, 1), 0);
    inlet_close(inlet, INLET_REFUSED);
    inlet_free(inlet);
    assert_false(probes_next(probed.probes, &probe));
    probes_free(probed.probes);
}

static void the_newest_connection_of_a_lane_counts(void **state)
{
    struct peers peers;
    struct handshake handshake = from(1, 10, 2, 100);
    struct handshake newer = from(1, 10, 2, 200);
    struct handshake other = from(1, 10, 3, 50);
    (void)state;

    peers_init(&peers, &(struct peers_options){ 0 });
    assert_null(peers_sender(&peers, 10));
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &handshake),
                     PEER_ACCEPTED);
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &handshake),
                     PEER_ACCEPTED);
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &other),
                     PEER_ACCEPTED);
    assert_true(peers_is_newest(&peers, 10, STREAM_ORDINARY, 2, 100));
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &newer),
                     PEER_ACCEPTED);
    assert_false(peers_is_newest(&peers, 10, STREAM_ORDINARY, 2, 100));
    assert_true(peers_is_newest(&peers, 10, STREAM_ORDINARY, 2, 200));
    assert_true(peers_is_newest(&peers, 10, STREAM_ORDINARY, 3, 50));
    assert_int_equal(peers_accept(&peers, STREAM_LARGE, &handshake),
                     PEER_ACCEPTED); /* streams are independent */
    assert_true(peers_is_newest(&peers, 10, STREAM_LARGE, 2, 100));
    assert_true(peers_is_newest(&peers, 10, STREAM_ORDINARY, 2, 200));
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &handshake),
                     PEER_REFUSED);
    assert_int_equal(peers_sender(&peers, 10)->address->port, 1);
    peers_fini(&peers);
}

static void a_new_incarnation_replaces_the_old_one_permanently(void **state)
{
    struct peers peers;
    struct handshake old = from(1, 10, 1, 1);
    struct handshake young = from(1, 11, 1, 2);
    struct handshake thief = from(2, 11, 1, 2);
    (void)state;

    peers_init(&peers, &(struct peers_options){ .is_control = true });
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &old),
                     PEER_ACCEPTED);
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &young),
                     PEER_ACCEPTED);
    assert_null(peers_sender(&peers, 10));
    assert_non_null(peers_sender(&peers, 11));
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &old),
                     PEER_REFUSED);
    assert_non_null(peers_sender(&peers, 11));
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &thief),
                     PEER_REFUSED);
    peers.options.is_control = false; /* control would hear it */
    peers_forget(&peers, 11);
    peers_silence(&peers, 11);
    assert_null(peers_sender(&peers, 11));
    assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &young),
                     PEER_REFUSED);
    peers_fini(&peers);
}

static void the_table_of_senders_is_bounded(void **state)
{
    struct peers peers;
    (void)state;

    peers_init(&peers, &(struct peers_options){ 0 });
    for (uint32_t i = 0; i <= PEERS_MAX; i++) {
        struct handshake handshake = from((uint16_t)(i + 1), i + 1, 0, 0);

        assert_int_equal(peers_accept(&peers, STREAM_ORDINARY, &handshake),
                         i < PEERS_MAX ? PEER_ACCEPTED : PEER_REFUSED);
    }
    assert_int_equal(peers.refused, 1);
    peers_fini(&peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_segmentation_gives_the_same_frames),
        cmocka_unit_test(a_bad_preamble_closes_the_connection),
        cmocka_unit_test(a_length_is_checked_before_bytes_are_stored),
        cmocka_unit_test(a_frame_at_the_limit_passes),
        cmocka_unit_test(good_frames_before_a_bad_one_are_given),
        cmocka_unit_test(a_silent_connection_is_closed),
        cmocka_unit_test(limits_before_the_handshake_are_settings),
        cmocka_unit_test(a_connection_without_frames_leaves_no_bytes),
        cmocka_unit_test(the_newest_connection_of_a_lane_counts),
        cmocka_unit_test(a_new_incarnation_replaces_the_old_one_permanently),
        cmocka_unit_test(the_table_of_senders_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
