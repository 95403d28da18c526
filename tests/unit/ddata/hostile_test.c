/* Checks bytes that no encoder makes: they are refused and leave nothing behind. Each of Akka's
 * values, cut short or changed, is refused or usable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/gzip.h"
#include "world.h"

static const struct vector {
    const char *name;
    int32_t serializer;
    const char *manifest;
    const char *hex;
} vectors[] = {
#include "akka_vectors.inc"
};
#define VECTOR_COUNT (sizeof vectors / sizeof vectors[0])

static struct buf bytes_of(const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    struct buf buf = { 0 };

    for (; *hex; hex += 2)
        buf_put_u8(&buf,
                   (uint8_t)((strchr(digits, hex[0]) - digits) * 16 +
                             (strchr(digits, hex[1]) - digits)));
    return buf;
}

static enum dd_verdict decode(const char *manifest, struct slice bytes,
                              struct dd_value **value)
{
    struct dd_other other = { DD_SERIALIZER, slice_text(manifest), bytes };

    return dd_decode(other, value);
}

static void is_refused(const char *manifest, const char *hex)
{
    struct buf bytes = bytes_of(hex);
    struct buf packed = { 0 };
    struct dd_value *value;
    bool is_packed = strspn(manifest, "CHIJK") && !manifest[1];

    if (is_packed)
        gzip_deflate(&packed, buf_slice(&bytes));
    if (decode(manifest, buf_slice(is_packed ? &packed : &bytes), &value) !=
        DD_MALFORMED)
        fail_msg("%s %s is taken", manifest, hex);
    assert_null(value);
    buf_fini(&bytes);
    buf_fini(&packed);
}

static void wrong_values_are_refused(void **state)
{
    (void)state;
    is_refused("D", "");           /* no flag */
    is_refused("D", "08");         /* cut short */
    is_refused("D", "0b");         /* a group */
    is_refused("D", "00");         /* field number 0 */
    is_refused("D", "ffffffffffffffffffff01"); /* no varint */
    is_refused("B", "0a0161ff");   /* trailing bytes */
    is_refused("B", "0a02c080");   /* overlong UTF-8 */
    is_refused("B", "0a03eda080"); /* a surrogate */
    is_refused("B", "0a04f4908080"); /* beyond Unicode */
    is_refused("B", "1206ffffffffff0f"); /* no 32-bit number */
    is_refused("B", "0801");       /* a number for a text */
    is_refused("B", "22030a0161"); /* no serializer */
    is_refused("B", "22021001");   /* no bytes */
    is_refused("C", "");           /* no vector */
    is_refused("C", "0a001a0161"); /* an element without dots */
    is_refused("C", "0a001200");   /* dots without an element */
    is_refused("C", "0a000a00");   /* two vectors */
    is_refused("Cr", "0a00");      /* removes nothing */
    is_refused("Cr", "0a00120012001a01611a0162"); /* removes two */
    is_refused("Cg", "0a0408031200"); /* no such change */
    is_refused("Cg", "0a020800");  /* no set */
    is_refused("E", "0802");       /* no node, no state */
    is_refused("F", "0a160a120a060a016110f81315010000001d000000001200"); /* no number */
    is_refused("F", "0a170a120a060a016110f81315010000001d00000000120180"); /* below zero */
    is_refused("F", "0a170a120a060a016110f81315010000001d00000000120101"
                    "0a170a120a060a016110f81315010000001d00000000120101"); /* a node twice */
    is_refused("F", "0a160a110a050a0161100015010000001d00000000120101"); /* no port */
    is_refused("G", "0a00");       /* no decrements */
    is_refused("L", "0a060a0010ff01"); /* no node */
    is_refused("H", "");           /* no keys */
    is_refused("H", "0a0812001a01611a00"); /* keys that are no set */
    is_refused("K", "0a00120612000a0161"); /* a value that is no set */
    is_refused("J", "0a0012090a016112040a001200" "12020a00"); /* an entry without value */
    is_refused("Hg", "0a06080012001800"); /* puts nothing */
    is_refused("Hg", "0a0608041200" "1800"); /* no such change */
    is_refused("Hg", "0a0608001200" "180a"); /* no such map */
    is_refused("Ha", "");          /* no change */
}

static void damaged_compression_is_refused(void **state)
{
    struct dd_value *set = dd_new(DD_ORSET);
    struct dd_writer writer = writer_of('a');
    struct dd_element element = dd_text("a");
    struct dd_value *value;
    struct buf buf = { 0 };
    struct dd_other other;
    (void)state;

    dd_orset_add(set, &writer, &element);
    other = dd_encode(set, &buf);
    for (size_t i = 0; i < other.bytes.size; i++)
        assert_int_equal(
            decode("C", slice_of(other.bytes.data, i), &value), DD_MALFORMED);
    buf.data[buf.size - 1] ^= 1; /* of its length */
    assert_int_equal(decode("C", buf_slice(&buf), &value), DD_MALFORMED);
    dd_free(set);
    buf_fini(&buf);
}

/* Every decoded value can be merged, applied, pruned and encoded, and stays the same. */
static void use(struct dd_value *value)
{
    struct dd_value *copy = dd_copy(value);
    struct dd_writer writer = writer_of('w');
    struct dd_nodes nodes = { 0 };
    struct dd_value *again;
    struct buf buf = { 0 };

    if (dd_is_delta(value)) {
        struct dd_value *zero = dd_zero(value);

        (void)dd_merge(copy, value); /* any result; must not crash */
        (void)dd_merge_delta(zero, value);
        dd_free(zero);
    } else {
        /* elements without dots go, and empty tombstones */
        assert_true(dd_merge(copy, value) <= DD_CHANGED);
        assert_int_equal(dd_merge(copy, value), DD_UNCHANGED);
        dd_add_modified_by(value, &nodes);
        for (uint32_t i = 0; i < nodes.items.count && i < 4; i++) {
            if (i % 2)
                dd_prune(copy, &nodes.items.items[i], &writer);
            else
                dd_cleanup(copy, &nodes.items.items[i]);
            assert_false(dd_needs_pruning(copy, &nodes.items.items[i]));
        }
        assert_true(dd_merge(copy, value) <= DD_CHANGED);
    }
    assert_int_equal(dd_decode(dd_encode(copy, &buf), &again), DD_OK);
    assert_true(dd_equal(again, copy));
    dd_free(again);
    dd_free(copy);
    vec_fini(&nodes.items);
    buf_fini(&buf);
}

/* A byte changes before compression. */
static void changed_bytes_are_decoded_or_refused(void **state)
{
    uint32_t taken = 0;
    uint32_t refused = 0;
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        struct buf bytes = bytes_of(vectors[i].hex);
        bool is_packed = bytes.size > 2 && bytes.data[0] == 0x1f &&
                         bytes.data[1] == 0x8b;
        struct buf plain = { 0 };
        struct buf changed = { 0 };

        if (is_packed)
            check(gzip_inflate(&plain, buf_slice(&bytes), 1 << 20, NULL));
        else
            buf_put_slice(&plain, buf_slice(&bytes));
        for (uint32_t j = 0; j < 400 && plain.size; j++) {
            size_t at = rng_below(&rng, plain.size);
            uint8_t old = plain.data[at];
            struct dd_value *value;
            struct slice cut = buf_slice(&plain);

            plain.data[at] = (uint8_t)rng_below(&rng, 256);
            if (j % 8 == 0)
                cut.size = at;
            buf_clear(&changed);
            if (is_packed)
                gzip_deflate(&changed, cut);
            else
                buf_put_slice(&changed, cut);
            if (decode(vectors[i].manifest, buf_slice(&changed), &value) ==
                DD_OK) {
                use(value);
                dd_free(value);
                taken++;
            } else {
                assert_null(value);
                refused++;
            }
            plain.data[at] = old;
        }
        buf_fini(&bytes);
        buf_fini(&plain);
        buf_fini(&changed);
    }
    assert_true(taken > 1000);
    assert_true(refused > 1000);
}

/* Elements and nodes in the worst order, and twice: the last one counts, and nothing is
 * quadratic. */
static void order_does_not_matter(void **state)
{
    enum { COUNT = 100000 };
    struct buf bytes = { 0 };
    struct dd_value *set;
    (void)state;

    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t number = COUNT - 1 - i / 2; /* falling, each twice */

        buf_put_u8(&bytes, 0x0a);
        buf_put_u8(&bytes, 4);
        for (int digit = 0; digit < 4; digit++)
            buf_put_u8(&bytes, (uint8_t)('a' + (number >> (12 - 4 * digit)) % 16));
    }
    assert_int_equal(decode("B", buf_slice(&bytes), &set), DD_OK);
    assert_int_equal(dd_set_count(set), COUNT / 2);
    dd_free(set);
    buf_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(damaged_compression_is_refused),
        cmocka_unit_test(changed_bytes_are_decoded_or_refused),
        cmocka_unit_test(order_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
