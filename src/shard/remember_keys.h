/* What of remembered entities stands in distributed data, as in Akka (behaviour 19.3, B18.8): five OR-sets of ids for each shard, and for
 * each type a set of the shards that there ever were. Pure: names of keys, which key an id has, and a write's records one change at a time.
 *
 * Read by the node, between remember.h's records and a replicator's values. */
#ifndef SHERD_SHARD_REMEMBER_KEYS_H
#define SHERD_SHARD_REMEMBER_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/zoo.h"

#define REMEMBER_KEYS 5 /* of a shard */

/* Keys, appended without a zero byte: "shard-<type>-<shard>-<0..4>", "shard-<type>-all". The type's name as it is, not encoded. */
void remember_key_put(struct buf *buf, const char *type, int32_t shard,
                      uint32_t index);
void remember_shards_key_put(struct buf *buf, const char *type);
/* Which of the five an id is in: |hash % 5|, of String.hashCode. */
uint32_t remember_key_of(struct slice id);

/* A bug of the zoo: a shard is read from this node alone. */
static inline bool remember_reads_few(void)
{
    return ZOO(D6R);
}

/* The changes in records of one shard, which may follow one another without anything between them. */
struct remember_changes {
    struct cursor cursor;
    uint64_t left; /* ids of the present list */
    uint8_t list;  /* 0: starts; 1: stops; 2: the next record */
};

struct remember_changes remember_changes_of(struct slice records); /* lent as long as it is read */
/* False at the end, and where the records are not whole. The id is lent from them. */
bool remember_changes_next(struct remember_changes *changes, struct slice *id,
                           bool *is_start);

/* A record of starts alone: remember_record takes it. ids: count times a byte of size and that many bytes. */
void remember_starts_put(struct buf *record, struct slice ids, uint64_t count);

#endif
