/* Fuzzes the versions of a key as a peer sends them. Input: 2 bytes size of the first (little
 * endian), the first, the second.
 *
 * Oracle: accepted versions are the same after they are written and read again, and have the same
 * bytes after another write. A merge of two is the same in both directions, and a second merge
 * changes nothing. */
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/limits.h"
#include "kvstore/siblings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_bytes(const struct siblings *siblings)
{
    struct siblings again = { 0 };
    struct buf one = { 0 }, two = { 0 };

    siblings_put(siblings, &one);
    check(siblings_get(buf_slice(&one), &again));
    check(siblings_equal(siblings, &again));
    siblings_put(&again, &two);
    check(slice_equal(buf_slice(&one), buf_slice(&two)));
    siblings_fini(&again);
    buf_fini(&one);
    buf_fini(&two);
}

/* Compares only the versions: the histories are cut in the same way only if the library made both
 * sides. */
static void check_merge(const struct siblings *left,
                        const struct siblings *right)
{
    struct siblings a = { 0 }, b = { 0 };
    bool merged, back;

    siblings_copy(&a, left);
    siblings_copy(&b, right);
    merged = siblings_merge(&a, right);
    back = siblings_merge(&b, left);
    if (merged && back) {
        check(a.versions.count == b.versions.count);
        for (uint32_t i = 0; i < a.versions.count; i++)
            check(!dot_compare(&a.versions.items[i].dot,
                               &b.versions.items[i].dot));
        check(a.history.entries.count <= KVSTORE_HISTORY_MAX);
    } else if (!merged) {
        /* The same dot may have two values, with different sizes. */
        check(siblings_equal(&a, left));
    }
    siblings_fini(&a);
    siblings_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct siblings left = { 0 }, right = { 0 };
    size_t first;

    if (size < 2)
        return 0;
    first = (size_t)data[0] | (size_t)data[1] << 8;
    if (first > size - 2)
        first = size - 2;
    if (siblings_get(slice_of(data + 2, first), &left))
        check_bytes(&left);
    if (siblings_get(slice_of(data + 2 + first, size - 2 - first), &right))
        check_bytes(&right);
    check_merge(&left, &right);
    siblings_fini(&left);
    siblings_fini(&right);
    return 0;
}
