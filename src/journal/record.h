/* Defines the record of one event and of one snapshot, equal in every journal: canonical bytes with a version and a
 * checksum.
 *
 *   u8 version (1) | varint event type | varint term | varint epoch |
 *   payload | u64 checksum, little endian
 *   u8 version (2) | varint event type | varint event version, not 0 |
 *   the rest as in version 1
 *
 * The checksum is XXH3 (64 bits) over all bytes before it. Its seed is the persistence id's key and
 * the sequence number, so a record under another id or number counts as damaged. */
#ifndef SHERD_JOURNAL_RECORD_H
#define SHERD_JOURNAL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fence.h"

/* A snapshot of an entity's state after the event with its number is kept as
 *
 *   u8 version (1) | varint snapshot version | varint flags, 0 | varint term | varint epoch |
 *   varint size of a part for later use, 0 | image | u64 checksum
 *
 * The checksum's seed has the complement of the number, so that no event passes for a snapshot. */
#define RECORD_OVERHEAD_MAX 39 /* bytes that a record adds to its payload */

struct record {
    uint32_t event_type;    /* these two are the application's */
    uint32_t event_version; /* 0: the record has version 1 */
    struct fence fence;   /* of the owner that wrote it */
    struct slice payload;
};

uint64_t record_key(struct slice persistence_id); /* compute it once for each entity */
void record_encode(struct buf *buf, uint64_t key, uint64_t seq,
                   const struct record *record);
/* Reads and verifies; the payload is lent from bytes. Returns null, or the defect as a literal. */
const char *record_decode(struct slice bytes, uint64_t key, uint64_t seq,
                          struct record *record);

struct snapshot {
    uint32_t version; /* of the application's format */
    struct fence fence;
    struct slice part; /* the library's; may be empty */
    struct slice image;
};

/* As record_encode and record_decode. */
void snapshot_encode(struct buf *buf, uint64_t key, uint64_t seq,
                     const struct snapshot *snapshot);
const char *snapshot_decode(struct slice bytes, uint64_t key, uint64_t seq,
                            struct snapshot *snapshot);

#endif
