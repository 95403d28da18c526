/* Fuzzes records from a hostile or damaged journal. Input: 8 bytes key, 8 bytes sequence number, 1
 * byte choice, the record.
 *
 * Oracle: an accepted record encodes to the same bytes. It is refused after one flipped bit, and
 * with another number. With choice 1, the target appends the right checksum, so that the fuzzer
 * reaches the fields. */
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "journal/record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void put_checksum(struct buf *record, uint64_t key, uint64_t seq)
{
    buf_put_u64(record, XXH3_64bits_withSeed(
                            record->data, record->size,
                            key ^ (seq * UINT64_C(0x9e3779b97f4a7c15))));
}

/* The same for the bytes as a snapshot, whose checksum has the complement of the number. */
static void fuzz_snapshot(struct buf *bytes, uint64_t key, uint64_t seq, uint8_t choice)
{
    struct buf again = { 0 };
    struct snapshot snapshot;
    struct record record;

    if ((choice & 1) && bytes->size)
        put_checksum(bytes, key, ~seq);
    if (!snapshot_decode(buf_slice(bytes), key, seq, &snapshot)) {
        require(snapshot.image.size <= bytes->size);
        snapshot_encode(&again, key, seq, &snapshot);
        require(slice_equal(buf_slice(bytes), buf_slice(&again)));
        require(record_decode(buf_slice(bytes), key, seq, &record) != NULL);
        require(snapshot_decode(buf_slice(bytes), key, seq + 1, &snapshot) != NULL);
    }
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor cursor = cursor_of(slice_of(data, size));
    uint64_t key = cursor_u64(&cursor);
    uint64_t seq = cursor_u64(&cursor);
    uint8_t choice = cursor_u8(&cursor);
    struct buf bytes = { 0 };
    struct buf again = { 0 };
    struct record record;

    if (cursor.failed || cursor_left(&cursor) > 4096)
        return 0;
    buf_put(&bytes, cursor.at, cursor_left(&cursor));
    if ((choice & 1) && bytes.size)
        put_checksum(&bytes, key, seq);
    if (!record_decode(buf_slice(&bytes), key, seq, &record)) {
        struct record other;
        size_t bit = (choice >> 1) % (bytes.size * 8);

        require(record.payload.size <= bytes.size);
        record_encode(&again, key, seq, &record);
        require(slice_equal(buf_slice(&bytes), buf_slice(&again)));
        require(record_decode(buf_slice(&bytes), key, seq + 1, &other) !=
                NULL);
        bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        require(record_decode(buf_slice(&bytes), key, seq, &other) != NULL);
    }
    if (choice & 1)
        bytes.size -= bytes.size ? 8 : 0;
    fuzz_snapshot(&bytes, key, seq, choice);
    buf_fini(&bytes);
    buf_fini(&again);
    return 0;
}
