/* Fuzzes the records of durable keys from a damaged file. Input: 1 byte choice, the bytes.
 *
 * Oracle: an accepted record encodes to the same bytes, and is refused after one flipped bit. A
 * record that is found between other bytes is also valid alone, and records are found in order.
 * With choice 1, the target appends the right checksum, so that the fuzzer reaches the fields. */
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "ddata/durable.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void check_record(struct buf *bytes, size_t bit)
{
    struct durable_record record, other;
    struct buf again = { 0 };

    if (durable_decode(buf_slice(bytes), &record))
        return;
    require(record.key.size + record.value.size + DURABLE_OVERHEAD ==
            bytes->size);
    durable_encode(&again, &record);
    require(slice_equal(buf_slice(bytes), buf_slice(&again)));
    buf_fini(&again);
    bytes->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    require(durable_decode(buf_slice(bytes), &other) != NULL);
    bytes->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static void check_search(struct slice bytes)
{
    struct durable_record record, other;
    size_t at = 0;
    size_t before = 0;

    while (durable_find(bytes, &at, &record)) {
        size_t size =
            record.key.size + record.value.size + DURABLE_OVERHEAD;

        require(at <= bytes.size && at - before >= size);
        require(!durable_decode(slice_of(bytes.data + at - size, size),
                                &other));
        before = at;
    }
    require(at == bytes.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf bytes = { 0 };

    if (size < 2 || size > 4096)
        return 0;
    buf_put(&bytes, data + 1, size - 1);
    if (data[0] & 1)
        buf_put_u64(&bytes, XXH3_64bits(bytes.data, bytes.size));
    check_record(&bytes, (data[0] >> 1) % (bytes.size * 8));
    buf_put(&bytes, data + 1, size - 1);
    check_search(buf_slice(&bytes));
    buf_fini(&bytes);
    return 0;
}
