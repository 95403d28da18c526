/* Tests the bytes of a coordinator's stored state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "shard/stored.h"

#define REGION "akka://S@n0:2550/system/sharding/T#1"
#define PROXY "akka://S@n1:2550/system/sharding/TProxy#2"

static void pack(struct buf *packed, struct slice first, struct slice second)
{
    struct gzip_part part = { 0 }, sum = { 0 };

    gzip_begin(packed);
    gzip_part_set(&part, first);
    gzip_join(packed, &sum, &part);
    gzip_part_set(&part, second);
    gzip_join(packed, &sum, &part);
    gzip_end(packed, &sum);
    gzip_part_fini(&part);
}

static void the_bytes_are_akkas(void **state)
{
    /* 1 shards {1 shardId, 2 regionRef}, 2 regions, 3 regionProxies: ClusterShardingMessages.proto. */
    static const uint8_t home[] = "\x0a\x0b\x0a\x02"
                                  "42\x12\x05"
                                  "a://b";
    static const uint8_t region[] = "\x12\x05"
                                    "a://b";
    static const uint8_t proxy[] = "\x1a\x05"
                                   "a://c";
    /* 1 term, 2 shards {1 shard, 2 term, 3 epoch} */
    static const uint8_t fences[] = "\x08\xac\x02\x12\x09\x0a\x02"
                                    "42\x10\xac\x02\x18\x07";
    struct buf buf = { 0 };
    (void)state;

    stored_home_put(&buf, slice_text("42"), slice_text("a://b"));
    assert_int_equal(buf.size, sizeof home - 1);
    assert_memory_equal(buf.data, home, buf.size);
    buf_clear(&buf);
    stored_region_put(&buf, slice_text("a://b"), false);
    assert_int_equal(buf.size, sizeof region - 1);
    assert_memory_equal(buf.data, region, buf.size);
    buf_clear(&buf);
    stored_region_put(&buf, slice_text("a://c"), true);
    assert_int_equal(buf.size, sizeof proxy - 1);
    assert_memory_equal(buf.data, proxy, buf.size);
    buf_clear(&buf);
    stored_term_put(&buf, (struct proof){ 300, 0 });
    stored_fence_put(&buf, slice_text("42"), (struct fence){ 300, 7 });
    assert_int_equal(buf.size, sizeof fences - 1);
    assert_memory_equal(buf.data, fences, buf.size);
    buf_clear(&buf);
    stored_state_key_put(&buf, "T x");
    assert_true(slice_is(buf_slice(&buf), "T xCoordinatorState"));
    buf_clear(&buf);
    stored_fences_key_put(&buf, "T x");
    assert_true(slice_is(buf_slice(&buf), "T xFences"));
    buf_fini(&buf);
}

static void a_written_state_is_read(void **state)
{
    struct buf homes = { 0 }, regions = { 0 }, fences = { 0 };
    struct buf packed_state = { 0 }, packed_fences = { 0 };
    struct stored stored;
    char id[16];
    (void)state;

    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "%d", i);
        stored_home_put(&homes, slice_text(id), slice_text(REGION));
        stored_fence_put(&fences, slice_text(id),
                         (struct fence){ 5, (uint64_t)i });
    }
    stored_region_put(&regions, slice_text(REGION), false);
    stored_region_put(&regions, slice_text(PROXY), true);
    pack(&packed_state, buf_slice(&regions), buf_slice(&homes));
    buf_clear(&regions);
    stored_term_put(&regions, (struct proof){ 6, 0 });
    pack(&packed_fences, buf_slice(&regions), buf_slice(&fences));
    assert_true(stored_read(&stored, buf_slice(&packed_state),
                            buf_slice(&packed_fences)));
    assert_int_equal(stored.home_count, 300);
    assert_true(slice_is(stored.homes[299].shard, "299"));
    assert_true(slice_is(stored.homes[299].region, REGION));
    assert_int_equal(stored.region_count, 1);
    assert_true(slice_is(stored.regions[0], REGION));
    assert_int_equal(stored.proxy_count, 1);
    assert_true(slice_is(stored.proxies[0], PROXY));
    assert_int_equal(stored.term, 6);
    assert_int_equal(stored.fence_count, 300);
    assert_int_equal(stored.fences[17].fence.term, 5);
    assert_int_equal(stored.fences[17].fence.epoch, 17);
    stored_fini(&stored);
    assert_true(stored_read(&stored, slice_of(NULL, 0), slice_of(NULL, 0)));
    assert_int_equal(stored.home_count + stored.term, 0);
    stored_fini(&stored);
    buf_fini(&homes);
    buf_fini(&regions);
    buf_fini(&fences);
    buf_fini(&packed_state);
    buf_fini(&packed_fences);
}

static void invalid_entries_are_left_out(void **state)
{
    struct buf bytes = { 0 }, packed = { 0 }, long_id = { 0 };
    struct stored stored;
    (void)state;

    for (int i = 0; i <= SHARD_ID_MAX; i++)
        buf_put_u8(&long_id, 'x');
    stored_home_put(&bytes, slice_text(""), slice_text(REGION));
    stored_home_put(&bytes, buf_slice(&long_id), slice_text(REGION));
    stored_home_put(&bytes, slice_text("1"), slice_text(""));
    stored_home_put(&bytes, slice_text("2"), slice_text(REGION));
    stored_region_put(&bytes, slice_text(""), false);
    pack(&packed, buf_slice(&bytes), slice_of(NULL, 0));
    assert_true(stored_read(&stored, buf_slice(&packed), slice_of(NULL, 0)));
    assert_int_equal(stored.home_count, 1);
    assert_true(slice_is(stored.homes[0].shard, "2"));
    assert_int_equal(stored.region_count, 0);
    stored_fini(&stored);
    buf_fini(&bytes);
    buf_fini(&packed);
    buf_fini(&long_id);
}

static void damage_is_refused(void **state)
{
    struct buf bytes = { 0 }, packed = { 0 };
    struct stored stored;
    uint32_t refused = 0;
    (void)state;

    for (int i = 0; i < 50; i++)
        stored_home_put(&bytes, slice_text("7"), slice_text(REGION));
    pack(&packed, buf_slice(&bytes), buf_slice(&bytes));
    for (size_t at = 10; at < packed.size; at++) { /* after gzip's header */
        packed.data[at] ^= 0x10;
        if (stored_read(&stored, buf_slice(&packed), slice_of(NULL, 0))) {
            assert_int_equal(stored.home_count, 100); /* a bit without meaning */
            stored_fini(&stored);
        } else {
            refused++;
        }
        packed.data[at] ^= 0x10;
    }
    assert_true(refused + 3 >= packed.size - 10);
    for (size_t size = 1; size < packed.size; size++)
        assert_false(stored_read(&stored, slice_of(packed.data, size),
                                 slice_of(NULL, 0)));
    buf_clear(&packed);
    pack(&packed, slice_text("\x0a\x02"), slice_of(NULL, 0));
    assert_false(
        stored_read(&stored, buf_slice(&packed), slice_of(NULL, 0)));
    assert_false(
        stored_read(&stored, slice_of(NULL, 0), buf_slice(&packed)));
    buf_fini(&bytes);
    buf_fini(&packed);
}

/* Texts that pack well and bytes that do not, in sizes at which deflate's tables grow. */
static void parts_of_all_sizes_are_whole(void **state)
{
    struct buf texts = { 0 }, noise = { 0 }, packed = { 0 }, back = { 0 };
    uint32_t number = 1;
    (void)state;

    while (texts.size <= 70000) {
        buf_put_text(&texts, texts.size % 3 ? REGION : PROXY);
        for (uint32_t i = 0; i < sizeof REGION; i++) {
            number = number * 1664525 + 1013904223;
            buf_put_u8(&noise, (uint8_t)(number >> 24));
        }
    }
    for (uint32_t bits = 0; bits <= 16; bits++) {
        for (int step = -263; step <= 1; step++) {
            size_t size = ((size_t)1 << bits) + (size_t)step;

            if (step < 0 - (1 << bits) || (step < -1 && step > -261) ||
                size > noise.size)
                continue;
            buf_clear(&packed);
            buf_clear(&back);
            pack(&packed, slice_of(texts.data, size),
                 slice_of(noise.data, size));
            assert_true(gzip_inflate(&back, buf_slice(&packed), 1 << 20, NULL));
            assert_int_equal(back.size, 2 * size);
            assert_memory_equal(back.data, texts.data, size);
            assert_memory_equal(back.data + size, noise.data, size);
            assert_true(packed.size <= size + size / 8 + 200);
        }
    }
    buf_fini(&texts);
    buf_fini(&noise);
    buf_fini(&packed);
    buf_fini(&back);
}

/* A few kilobytes that inflate beyond the limit of a state. */
static void a_gzip_bomb_is_refused(void **state)
{
    struct gzip_part part = { 0 }, sum = { 0 };
    struct buf packed = { 0 }, zeros = { 0 };
    struct stored stored;
    (void)state;

    memset(buf_grow(&zeros, 1 << 20), 0, 1 << 20);
    zeros.size = 1 << 20;
    gzip_part_set(&part, buf_slice(&zeros));
    gzip_begin(&packed);
    for (int i = 0; i <= STORED_SIZE_MAX >> 20; i++)
        gzip_join(&packed, &sum, &part);
    gzip_end(&packed, &sum);
    assert_false(
        stored_read(&stored, buf_slice(&packed), slice_of(NULL, 0)));
    gzip_part_fini(&part);
    buf_fini(&packed);
    buf_fini(&zeros);
}

/* A short text with very many small messages: more than STORED_MEMORY_MAX. */
static void too_many_small_messages_are_refused(void **state)
{
    struct gzip_part part = { 0 }, sum = { 0 };
    struct buf packed = { 0 }, bytes = { 0 };
    struct stored stored;
    (void)state;

    for (int i = 0; i < 100000; i++)
        stored_home_put(&bytes, slice_text("1"), slice_text("r"));
    gzip_part_set(&part, buf_slice(&bytes));
    gzip_begin(&packed);
    while (sum.size < STORED_SIZE_MAX - bytes.size)
        gzip_join(&packed, &sum, &part);
    gzip_end(&packed, &sum);
    assert_true(sum.size / (bytes.size / 100000) * sizeof(struct shard_home) >
                STORED_MEMORY_MAX);
    assert_false(
        stored_read(&stored, buf_slice(&packed), slice_of(NULL, 0)));
    gzip_part_fini(&part);
    buf_fini(&packed);
    buf_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_akkas),
        cmocka_unit_test(a_written_state_is_read),
        cmocka_unit_test(invalid_entries_are_left_out),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(parts_of_all_sizes_are_whole),
        cmocka_unit_test(a_gzip_bomb_is_refused),
        cmocka_unit_test(too_many_small_messages_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
