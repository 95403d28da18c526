/* Encodes and verifies records (layout: record.h). */
#include "journal/record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The version of records without and with a version of their event. */
enum { RECORD_PLAIN = 1, RECORD_VERSIONED = 2 };

#define CHECKSUM_SIZE 8

uint64_t record_key(struct slice persistence_id)
{
    return XXH3_64bits(persistence_id.data, persistence_id.size);
}

static uint64_t checksum(const uint8_t *data, size_t size, uint64_t key,
                         uint64_t seq)
{
    /* The odd factor separates the seeds of neighbouring numbers. */
    return XXH3_64bits_withSeed(data, size,
                                key ^ (seq * UINT64_C(0x9e3779b97f4a7c15)));
}

void record_encode(struct buf *buf, uint64_t key, uint64_t seq,
                   const struct record *record)
{
    size_t start = buf->size;

    (void)buf_reserve(buf, record->payload.size + RECORD_OVERHEAD_MAX);
    buf_put_u8(buf, record->event_version ? RECORD_VERSIONED : RECORD_PLAIN);
    buf_put_varint(buf, record->event_type);
    if (record->event_version)
        buf_put_varint(buf, record->event_version);
    buf_put_varint(buf, record->fence.term);
    buf_put_varint(buf, record->fence.epoch);
    buf_put_slice(buf, record->payload);
    buf_put_u64(buf, checksum(buf->data + start, buf->size - start, key, seq));
}

/* Reads a varint in its shortest form: one value has one encoding. */
static uint64_t shortest_varint(struct cursor *cursor)
{
    const uint8_t *start = cursor->at;
    uint64_t value = cursor_varint(cursor);

    if (!cursor->failed && cursor->at - start > 1 &&
        (cursor->at[-1] == 0 ||
         (cursor->at - start == 10 && cursor->at[-1] != 1)))
        cursor->failed = true;
    return value;
}

const char *record_decode(struct slice bytes, uint64_t key, uint64_t seq,
                          struct record *record)
{
    struct cursor cursor;
    struct cursor tail;
    uint64_t event_type;
    uint64_t event_version = 0;
    uint8_t version;

    *record = (struct record){ 0 };
    if (bytes.size < 4 + CHECKSUM_SIZE)
        return "record is too short";
    tail = cursor_of(
        slice_of(bytes.data + bytes.size - CHECKSUM_SIZE, CHECKSUM_SIZE));
    if (cursor_u64(&tail) !=
        checksum(bytes.data, bytes.size - CHECKSUM_SIZE, key, seq))
        return "record has a wrong checksum";
    cursor = cursor_of(slice_of(bytes.data, bytes.size - CHECKSUM_SIZE));
    version = cursor_u8(&cursor);
    if (version != RECORD_PLAIN && version != RECORD_VERSIONED)
        return "record has an unknown version";
    event_type = shortest_varint(&cursor);
    if (version == RECORD_VERSIONED) {
        event_version = shortest_varint(&cursor);
        cursor.failed |= event_version == 0; /* one event has one encoding */
    }
    record->fence.term = shortest_varint(&cursor);
    record->fence.epoch = shortest_varint(&cursor);
    if (cursor.failed || event_type > UINT32_MAX || event_version > UINT32_MAX)
        return "record is malformed";
    record->event_type = (uint32_t)event_type;
    record->event_version = (uint32_t)event_version;
    record->payload = cursor_slice(&cursor, cursor_left(&cursor));
    return NULL;
}

void snapshot_encode(struct buf *buf, uint64_t key, uint64_t seq,
                     const struct snapshot *snapshot)
{
    size_t start = buf->size;

    (void)buf_reserve(buf, snapshot->part.size + snapshot->image.size + RECORD_OVERHEAD_MAX);
    buf_put_u8(buf, RECORD_PLAIN);
    buf_put_varint(buf, snapshot->version);
    buf_put_varint(buf, 0);
    buf_put_varint(buf, snapshot->fence.term);
    buf_put_varint(buf, snapshot->fence.epoch);
    buf_put_varint(buf, snapshot->part.size);
    buf_put_slice(buf, snapshot->part);
    buf_put_slice(buf, snapshot->image);
    buf_put_u64(buf, checksum(buf->data + start, buf->size - start, key, ~seq));
}

const char *snapshot_decode(struct slice bytes, uint64_t key, uint64_t seq,
                            struct snapshot *snapshot)
{
    struct cursor cursor;
    struct cursor tail;
    uint64_t version;
    uint64_t part;
    bool is_known;

    *snapshot = (struct snapshot){ 0 };
    if (bytes.size < 6 + CHECKSUM_SIZE)
        return "snapshot is too short";
    tail = cursor_of(
        slice_of(bytes.data + bytes.size - CHECKSUM_SIZE, CHECKSUM_SIZE));
    if (cursor_u64(&tail) !=
        checksum(bytes.data, bytes.size - CHECKSUM_SIZE, key, ~seq))
        return "snapshot has a wrong checksum";
    cursor = cursor_of(slice_of(bytes.data, bytes.size - CHECKSUM_SIZE));
    is_known = cursor_u8(&cursor) == RECORD_PLAIN;
    version = shortest_varint(&cursor);
    is_known &= shortest_varint(&cursor) == 0;
    snapshot->fence.term = shortest_varint(&cursor);
    snapshot->fence.epoch = shortest_varint(&cursor);
    part = shortest_varint(&cursor);
    if (!is_known)
        return "snapshot has an unknown format";
    if (cursor.failed || version > UINT32_MAX || part > cursor_left(&cursor))
        return "snapshot is malformed";
    snapshot->part = cursor_slice(&cursor, (size_t)part);
    snapshot->version = (uint32_t)version;
    snapshot->image = cursor_slice(&cursor, cursor_left(&cursor));
    return NULL;
}
