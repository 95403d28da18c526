/* Fuzzes values from peers: one value, and a pair. Input: 1 byte for the manifest, 2 bytes size of
 * the first value, its bytes, the bytes of the second value. Without bit 7 of the first byte, the
 * target compresses the bytes if the type is compressed.
 *
 * Oracle: an accepted value is the same after it is written and read again. A second merge with
 * itself changes nothing. Merges commute. A pruned node has no entry left. A delta can be joined
 * and applied. */
#include <stdlib.h>

#include "base/gzip.h"
#include "ddata/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const manifests[] = {
    "A", "B", "C", "Ca", "Cr", "Cf", "Cg", "D", "E", "F", "G",
    "H", "Ha", "Hr", "Hk", "Hu", "Hg", "I", "J", "K", "L",
};
#define MANIFEST_COUNT (sizeof manifests / sizeof manifests[0])

static void require(int condition)
{
    if (!condition)
        abort();
}

static struct dd_value *read_value(uint8_t choice, struct slice bytes)
{
    const char *manifest = manifests[(choice & 0x7f) % MANIFEST_COUNT];
    struct dd_other other = { DD_SERIALIZER, slice_text(manifest), bytes };
    struct dd_value *value;
    struct buf packed = { 0 };

    if (!(choice & 0x80) && strspn(manifest, "CHIJK") && !manifest[1]) {
        gzip_deflate(&packed, bytes);
        other.bytes = buf_slice(&packed);
    }
    require((dd_decode(other, &value) == DD_OK) == (value != NULL));
    buf_fini(&packed);
    return value;
}

/* Encodes the value again, although its original bytes are kept, as after a change of a copy. */
static void write_and_read(const struct dd_value *value)
{
    struct buf buf = { 0 };
    struct dd_value *again;

    require(dd_decode(dd_encode(value, &buf), &again) == DD_OK);
    require(dd_equal(value, again));
    dd_free(again);
    buf_fini(&buf);
}

static void use_delta(const struct dd_value *value,
                      const struct dd_value *other)
{
    struct dd_value *zero = dd_zero(value);
    struct dd_value *joined = dd_copy(value);

    (void)dd_merge_delta(zero, value); /* a mismatch is a valid result */
    write_and_read(zero);
    if (other && dd_merge(joined, other) <= DD_CHANGED) {
        (void)dd_merge_delta(zero, joined);
        write_and_read(joined);
        write_and_read(zero);
    }
    dd_free(zero);
    dd_free(joined);
}

static void use_state(const struct dd_value *value)
{
    struct dd_value *copy = dd_copy(value);
    struct dd_writer writer = { .node = { { "w", 1 }, 1 } };
    struct dd_nodes nodes = { 0 };

    require(dd_merge(copy, value) <= DD_CHANGED);
    require(dd_merge(copy, value) == DD_UNCHANGED);
    dd_add_modified_by(value, &nodes);
    for (uint32_t i = 0; i < nodes.items.count && i < 4; i++) {
        const struct node_id *node = &nodes.items.items[i];

        if (node_equal(node, &writer.node))
            continue;
        if (i % 2)
            dd_prune(copy, node, &writer);
        else
            dd_cleanup(copy, node);
        require(!dd_needs_pruning(copy, node));
    }
    write_and_read(copy);
    dd_free(copy);
    vec_fini(&nodes.items);
}

static void merge_two(const struct dd_value *left, const struct dd_value *right)
{
    struct dd_value *a = dd_copy(left);
    struct dd_value *b = dd_copy(right);
    enum dd_merged merged = dd_merge(a, right);

    require((merged > DD_CHANGED) == (dd_merge(b, left) > DD_CHANGED));
    if (merged <= DD_CHANGED) {
        require(dd_equal(a, b));
        write_and_read(a);
    } else {
        require(dd_equal(a, left));
    }
    dd_free(a);
    dd_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor cursor = cursor_of(slice_of(data, size));
    uint8_t choice = cursor_u8(&cursor);
    size_t first = cursor_u16(&cursor);
    struct dd_value *value;
    struct dd_value *other;

    if (cursor.failed || size > 8192)
        return 0;
    if (first > cursor_left(&cursor))
        first = cursor_left(&cursor);
    value = read_value(choice, cursor_slice(&cursor, first));
    if (!value)
        return 0;
    other = read_value(choice, slice_of(cursor.at, cursor_left(&cursor)));
    if (dd_is_delta(value)) {
        use_delta(value, other);
    } else {
        use_state(value);
        if (other)
            merge_two(value, other);
    }
    dd_free(value);
    dd_free(other);
    return 0;
}
