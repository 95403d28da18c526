/* Maps remembered entities to distributed data as Akka does: five OR-sets of ids for each shard,
 * and a set of all shards for each type. Used by the node between remember.h's records and a
 * replicator's values. */
#ifndef SHERD_SHARD_REMEMBER_KEYS_H
#define SHERD_SHARD_REMEMBER_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define REMEMBER_KEYS 5 /* keys of a shard */

/* Append a key without a zero byte: "shard-<type>-<shard>-<0..4>", "shard-<type>-all". The type is
 * not encoded. */
void remember_key_put(struct buf *buf, const char *type, struct slice shard,
                      uint32_t index);
void remember_shards_key_put(struct buf *buf, const char *type);
/* The id's key: |hash % 5| of String.hashCode. */
uint32_t remember_key_of(struct slice id);

struct remember_changes {
    struct cursor cursor;
    uint64_t left; /* of the present list */
    uint8_t list;  /* 0: starts; 1: stops; 2: the next record */
};

struct remember_changes remember_changes_of(struct slice records); /* lent while it is read */
/* False at the end, or if incomplete. The id is lent. */
bool remember_changes_next(struct remember_changes *changes, struct slice *id,
                           bool *is_start);

/* A record of starts for remember_record. ids: `count` times a size byte and that many bytes. */
void remember_starts_put(struct buf *record, struct slice ids, uint64_t count);

#endif
