/* The log of a store on a simulated disk: what its sectors hold.
 *
 *   sector 0      u64 magic | u32 version | u32 size | cluster id | u64 checksum
 *   then groups, each from a sector's beginning on, one after the other:
 *                 u64 magic | u64 number, from 1 | u64 sector | u64 checksum of the group before |
 *                 u32 size of the changes | u32 count | changes | u64 checksum
 *   a change      u8 kind | varint size, id | RECORD: varint seq, varint size, bytes; CUT: varint seq
 *                 | FENCE: varint size, shard, varint term, varint epoch | TERM: varint term
 *
 * Numbers are little endian; checksums are XXH3 over all bytes before them in
 * the head or group. A group is what one transaction changed. Its number, its
 * place and the checksum of the one before chain it to what it follows, so
 * what an unfinished write left behind does not pass for the next group.
 *
 * Who calls: sim/disk_backend writes groups one at a time, and scans when it is
 * opened. */
#ifndef SHERD_SIM_DISK_LOG_H
#define SHERD_SIM_DISK_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "journal/book.h"

#define DISK_GROUP_SIZE_MAX (256 * 1024 * 1024) /* bytes of a group's changes */
#define DISK_CLUSTER_MAX 255                    /* bytes of a cluster id */

/* Where a log ends: what the next group follows. */
struct log_end {
    uint64_t sector;   /* where the next group goes */
    uint64_t number;   /* of the last group; 0: none */
    uint64_t checksum; /* of the last group, or of the head */
    uint64_t last;     /* the sector where the last group begins; 0: none */
};

/* Appends the log's head, a whole sector, and sets end behind it. A longer
 * cluster id is a programmer's error. */
void log_put_head(struct buf *buf, const char *cluster, struct log_end *end);
/* Appends a group of the book's changes, without the zeros behind it, that
 * follows end; returns the end behind it. False when the changes are too many
 * bytes: nothing is appended. */
bool log_put_group(struct buf *buf, const struct book *book,
                   const struct log_end *end, struct log_end *after);
/* Reads the group that follows end and makes its changes in the book, which
 * lists them. Moves end behind it. False when no whole, right group is there:
 * book and end are as before. bytes: the log from that sector on. */
bool log_take_group(struct slice bytes, struct book *book,
                    struct log_end *end);
/* Reads a whole log: makes the book (the caller's) and sets end. Null, or what
 * is wrong with it, as a literal: the head is unreadable, the log is another
 * cluster's, or a group is damaged that others follow. A group at the end that
 * is not whole was never acknowledged and does not count. */
const char *log_scan(struct slice bytes, const char *cluster,
                     struct book **book, struct log_end *end);

#endif
