/* Runs requests on a journal's back end as a node's threads do, without a node. All shards are of one
 * type, and their fences have term 1. */
#ifndef SHERD_BENCH_FACE_H
#define SHERD_BENCH_FACE_H

#include "journal/backend.h"

#define FACE_SHARDS 100 /* the most */
#define FACE_RECORD_MAX 160
#define FACE_PAYLOAD 100

struct face {
    const struct backend_ops *ops;
    void *writer, *reader;
    uint32_t shards; /* of appends */
};

/* Ends the program if the journal cannot be opened. plugin: null for SQLite. */
void face_open(struct face *face, const struct backend_ops *ops,
               const struct sherd_backend *plugin, const char *place);
void face_close(struct face *face);

/* Claims this number of shards in one group. */
void face_claim(struct face *face, uint32_t shards, uint64_t epoch);
/* Appends the next record of each of `count` entities, from the first on, in one group; number: the
 * sequence number of all. Entity e belongs to shard e modulo `shards`. */
void face_append(struct face *face, uint32_t first, uint32_t count, uint64_t number);
/* Appends records of one entity in one group. */
void face_extend(struct face *face, uint32_t entity, uint64_t from, uint32_t count);
/* Reads all records of entities, in runs of 64 entities. Returns their number. */
uint64_t face_replay(struct face *face, uint32_t first, uint32_t count);
/* Writes the record of an entity's event; returns its size. */
uint32_t face_record(uint32_t entity, uint64_t number, uint8_t record[FACE_RECORD_MAX]);

#endif
