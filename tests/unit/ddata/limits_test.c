/* Checks that the cost of a received value is limited before it is spent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "world.h"

static enum dd_verdict decode(const char *manifest, struct slice bytes)
{
    struct dd_other other = { DD_SERIALIZER, slice_text(manifest), bytes };
    struct dd_value *value;
    enum dd_verdict verdict = dd_decode(other, &value);

    assert_true(!value == (verdict != DD_OK));
    dd_free(value);
    return verdict;
}

static void inflated_bytes_have_a_limit(void **state)
{
    struct buf bytes = { 0 };
    struct buf packed = { 0 };
    (void)state;

    /* Unknown fields of an OR-set take no memory, but are inflated. */
    buf_put_u8(&bytes, 0x0a);
    buf_put_u8(&bytes, 0);
    while (bytes.size < DDATA_INFLATE_SIZE_MAX) {
        buf_put_u8(&bytes, 15 << 3);
        buf_put_u8(&bytes, 0);
    }
    bytes.size = DDATA_INFLATE_SIZE_MAX;
    gzip_deflate(&packed, buf_slice(&bytes));
    assert_int_equal(decode("C", buf_slice(&packed)), DD_OK);
    buf_put_u8(&bytes, 15 << 3);
    buf_put_u8(&bytes, 0);
    buf_clear(&packed);
    gzip_deflate(&packed, buf_slice(&bytes));
    assert_int_equal(decode("C", buf_slice(&packed)), DD_TOO_LARGE);
    assert_int_equal(decode("B", buf_slice(&bytes)), DD_TOO_LARGE);
    buf_fini(&bytes);
    buf_fini(&packed);
}

/* A set of one-byte numbers is the smallest value that fills the memory. */
static void decoded_memory_has_a_limit(void **state)
{
    enum { EACH = 24 + 16 }; /* a struct element, its pointer, and malloc's part */
    struct buf numbers = { 0 };
    struct buf bytes = { 0 };
    (void)state;

    for (size_t count = DDATA_MEMORY_MAX / EACH - 64;
         count <= DDATA_MEMORY_MAX / EACH + 64; count += 128) {
        buf_clear(&bytes);
        while (numbers.size < count)
            buf_put_u8(&numbers, (uint8_t)(numbers.size % 64));
        buf_put_u8(&bytes, 2 << 3 | 2);
        buf_put_varint(&bytes, numbers.size);
        buf_put_slice(&bytes, buf_slice(&numbers));
        assert_int_equal(decode("B", buf_slice(&bytes)),
                         count * EACH < DDATA_MEMORY_MAX ? DD_OK
                                                         : DD_TOO_LARGE);
    }
    buf_fini(&numbers);
    buf_fini(&bytes);
}

static void manifests_have_a_limit(void **state)
{
    char manifest[DDATA_MANIFEST_SIZE_MAX + 2];
    struct dd_other other = { .serializer = 1 };
    struct dd_value *value;
    struct buf buf = { 0 };
    (void)state;

    memset(manifest, 'a', sizeof manifest);
    for (size_t size = DDATA_MANIFEST_SIZE_MAX;
         size <= DDATA_MANIFEST_SIZE_MAX + 1; size++) {
        bool fits = size <= DDATA_MANIFEST_SIZE_MAX;
        struct dd_value *set = dd_new(DD_GSET);
        struct dd_element element = { .kind = DD_OTHER, .serializer = 1 };
        struct dd_other bytes;

        other.manifest = slice_of(manifest, size);
        assert_int_equal(dd_decode(other, &value),
                         fits ? DD_OK : DD_TOO_LARGE);
        dd_free(value);
        element.manifest = other.manifest; /* and inside a value */
        dd_gset_add(set, &element);
        bytes = dd_encode(set, &buf);
        assert_int_equal(decode("B", bytes.bytes), fits ? DD_OK : DD_TOO_LARGE);
        dd_free(set);
    }
    buf_fini(&buf);
}

static void nested_maps_have_a_limit(void **state)
{
    struct dd_writer writer = writer_of('a');
    struct dd_element key = dd_text("k");
    struct dd_value *value = dd_new(DD_FLAG);
    struct buf buf = { 0 };
    (void)state;

    for (uint32_t depth = 2; depth <= DDATA_DEPTH_MAX + 1; depth++) {
        struct dd_value *map = dd_new(DD_ORMAP);
        struct dd_other bytes;

        assert_true(dd_ormap_put(map, &writer, &key, value));
        value = map;
        bytes = dd_encode(value, &buf);
        assert_int_equal(decode("H", bytes.bytes),
                         depth <= DDATA_DEPTH_MAX ? DD_OK : DD_TOO_LARGE);
    }
    dd_free(value);
    buf_fini(&buf);
}

/* The largest share is 2^112 - 1; a sum of many fits. */
static void counts_stop_at_their_limit(void **state)
{
    struct node_id node = node_of('a');
    struct dd_value *counter = dd_new(DD_GCOUNTER);
    struct buf buf = { 0 };
    struct dd_other other;
    struct dd_natural count;
    uint8_t *number;
    (void)state;

    dd_gcounter_add(counter, &node, UINT64_MAX);
    other = dd_encode(counter, &buf);
    dd_free(counter);
    /* Nine bytes become fifteen. */
    number = buf.data + buf.size - 9;
    assert_int_equal(number[-1], 9);
    buf.size -= 9;
    buf.data[buf.size - 1] = 15;
    buf_put_u8(&buf, 0);
    for (int i = 0; i < 14; i++)
        buf_put_u8(&buf, 0xff);
    buf.data[1] = (uint8_t)(buf.data[1] + 6);
    other.bytes = buf_slice(&buf);
    assert_int_equal(dd_decode(other, &counter), DD_OK);
    count = dd_gcounter_get(counter);
    assert_int_equal(count.high, (UINT64_C(1) << (DD_NATURAL_BITS - 64)) - 1);
    assert_int_equal(count.low, UINT64_MAX);
    dd_gcounter_add(counter, &node, 1);
    count = dd_gcounter_get(counter);
    assert_int_equal(count.high, (UINT64_C(1) << (DD_NATURAL_BITS - 64)) - 1);
    node = node_of('b');
    dd_gcounter_add(counter, &node, 1);
    count = dd_gcounter_get(counter);
    assert_int_equal(count.high, UINT64_C(1) << (DD_NATURAL_BITS - 64));
    assert_int_equal(count.low, 0);
    dd_free(counter);
    buf.data[buf.size - 15] = 1; /* one bit more */
    assert_int_equal(decode("F", buf_slice(&buf)), DD_TOO_LARGE);
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inflated_bytes_have_a_limit),
        cmocka_unit_test(decoded_memory_has_a_limit),
        cmocka_unit_test(manifests_have_a_limit),
        cmocka_unit_test(nested_maps_have_a_limit),
        cmocka_unit_test(counts_stop_at_their_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
