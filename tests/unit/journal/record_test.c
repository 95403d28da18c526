/* Tests records: a round trip keeps them, and any single flipped bit is detected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "journal/record.h"

static void a_record_survives_a_round_trip(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 7);
    for (int i = 0; i < 500; i++) {
        uint8_t payload[300];
        struct record in = {
            .event_type = (uint32_t)rng_next(&rng),
            .event_version = i % 2 ? (uint32_t)rng_next(&rng) >> rng_below(&rng, 32) : 0,
            .fence = { rng_next(&rng) >> rng_below(&rng, 64),
                       rng_next(&rng) >> rng_below(&rng, 64) },
            .payload = { payload, rng_below(&rng, sizeof payload) },
        };
        uint64_t key = rng_next(&rng);
        struct buf buf = { 0 };
        struct record out;

        for (size_t k = 0; k < sizeof payload; k++)
            payload[k] = (uint8_t)rng_next(&rng);
        record_encode(&buf, key, 5, &in);
        assert_true(buf.size <= in.payload.size + RECORD_OVERHEAD_MAX);
        assert_null(record_decode(buf_slice(&buf), key, 5, &out));
        assert_int_equal(out.event_type, in.event_type);
        assert_int_equal(out.event_version, in.event_version);
        assert_int_equal(fence_compare(out.fence, in.fence), 0);
        assert_true(slice_equal(out.payload, in.payload));
        buf_fini(&buf);
    }
}

static void every_flipped_bit_is_found(void **state)
{
    struct record in = { .event_type = 300,
                         .fence = { 7, 1000 },
                         .payload = slice_text("a deposit of ten") };
    struct buf buf = { 0 };
    struct record out;
    (void)state;

    record_encode(&buf, 99, 1, &in);
    for (size_t bit = 0; bit < buf.size * 8; bit++) {
        buf.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_non_null(record_decode(buf_slice(&buf), 99, 1, &out));
        buf.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t size = 0; size < buf.size; size++)
        assert_non_null(
            record_decode(slice_of(buf.data, size), 99, 1, &out));
    assert_null(record_decode(buf_slice(&buf), 99, 1, &out));
    buf_fini(&buf);
}

static void a_record_belongs_to_one_place(void **state)
{
    struct record in = { .event_type = 1, .payload = slice_text("x") };
    uint64_t key = record_key(slice_text("Counter|a"));
    struct buf buf = { 0 };
    struct record out;
    (void)state;

    record_encode(&buf, key, 3, &in);
    assert_null(record_decode(buf_slice(&buf), key, 3, &out));
    assert_non_null(record_decode(buf_slice(&buf), key, 4, &out));
    assert_non_null(record_decode(buf_slice(&buf),
                                  record_key(slice_text("Counter|b")), 3,
                                  &out));
    buf_fini(&buf);
}

/* Records that were written before events had versions stay as they were. */
static void only_an_event_with_a_version_has_a_record_of_version_2(void **state)
{
    struct record in = { .event_type = 5, .fence = { 1, 2 }, .payload = slice_text("x") };
    struct buf buf = { 0 };
    (void)state;

    record_encode(&buf, 9, 1, &in);
    assert_memory_equal(buf.data, "\1\5\1\2x", 5);
    assert_int_equal(buf.size, 5 + 8);
    buf_clear(&buf);
    in.event_version = 3;
    record_encode(&buf, 9, 1, &in);
    assert_memory_equal(buf.data, "\2\5\3\1\2x", 6);
    assert_int_equal(buf.size, 6 + 8);
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_survives_a_round_trip),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(only_an_event_with_a_version_has_a_record_of_version_2),
        cmocka_unit_test(a_record_belongs_to_one_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
