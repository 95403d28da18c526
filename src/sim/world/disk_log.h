/* Defines the log of a journal backend on a simulated disk: the content of its sectors.
 *
 *   sector 0      u64 magic | u32 version | u32 size | cluster id | u64 checksum
 *   then groups, each from a sector's beginning on, one after the other:
 *                 u64 magic | u64 number, from 1 | u64 sector | u64 checksum of the group before |
 *                 u32 size of the changes | u32 count | changes | u64 checksum
 *   a change      u8 kind | varint size, id | RECORD: varint seq, varint size, bytes; CUT: varint seq
 *                 | FENCE: varint size, shard, varint term, varint epoch | TERM: varint term,
 *                 varint proof
 *
 * Numbers are little endian; checksums are XXH3 over all bytes before them in
* the head or group. A group holds the changes of one transaction. Its number,
* place and the checksum of its predecessor chain it to that one, so the rest of
* an unfinished write never counts as the next group.
 *
* disk_backend.c writes groups one at a time, and scans the log when it
* opens. */
#ifndef SHERD_SIM_WORLD_DISK_LOG_H
#define SHERD_SIM_WORLD_DISK_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "journal/book.h"

#define DISK_GROUP_SIZE_MAX (256 * 1024 * 1024) /* bytes of a group's changes */
#define DISK_CLUSTER_MAX 255                    /* bytes of a cluster id */

/* The end of a log, where the next group goes. */
struct log_end {
    uint64_t sector;   /* of the next group */
    uint64_t number;   /* of the last group; 0: none */
    uint64_t checksum; /* of the last group, or of the head */
    uint64_t last;     /* first sector of the last group; 0: none */
};

/* Appends the head and sets end after it. The cluster id has at most DISK_CLUSTER_MAX bytes. */
void log_put_head(struct buf *buf, const char *cluster, struct log_end *end);
/* Appends a group of the book's changes, without padding, and returns its end. False without effect
 * if they are too many bytes. */
bool log_put_group(struct buf *buf, const struct book *book,
                   const struct log_end *end, struct log_end *after);
/* Applies the group after end to the book, which lists the changes, and moves end. False without
 * effect if no complete, valid group is there. bytes: the log from that sector on. */
bool log_take_group(struct slice bytes, struct book *book,
                    struct log_end *end);
/* Reads a whole log, creates the book (the caller's) and sets end. Returns null, or the fault as a
 * literal: an unreadable head, another cluster, or a damaged group before others. An incomplete
 * last group was never acknowledged. */
const char *log_scan(struct slice bytes, const char *cluster,
                     struct book **book, struct log_end *end);

#endif
