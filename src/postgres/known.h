/* Remembers what a writer knows of its shards and of entities, so that a group needs one statement.
 *
 * A shard is known from its claim on. `last` is the writer's highest position that was confirmed with
 * records of the shard: a lower one in the store means that some of these are gone. The generation is
 * valid within one connection, since a store may only go back between two. It was read together with
 * the shards: those that are not `is_taken` were the writer's then, and a claim of one raises it. An
 * entity's last number is valid while the shard's fence is the one under which it was read: every other
 * writer has a higher one. */
#ifndef SHERD_POSTGRES_KNOWN_H
#define SHERD_POSTGRES_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fence.h"
#include "base/map.h"

#define PG_KNOWN_SHARDS_MAX 65536  /* then all are forgotten: losses before that are not noticed */
#define PG_KNOWN_ENTITIES_MAX 65536 /* then all are forgotten, and looked up again */

struct pg_known_shard {
    uint64_t id;
    struct fence fence;
    uint64_t last;
    bool is_lost;  /* confirmed records are gone, and its owner was not told yet */
    bool is_taken; /* the store has not this writer's claim */
};

struct pg_known_entity {
    uint64_t id;
    uint64_t last;
    struct fence fence;
};

/* Zero is empty. */
struct pg_known {
    uint64_t generation; /* the one of this writer; 0: not known */
    uint64_t position;   /* with it: records of this writer */
    struct map shards;   /* key of pg_shard_key -> struct pg_known_shard */
    struct map entities; /* persistence id -> struct pg_known_entity */
};

void pg_known_fini(struct pg_known *known);
/* Writes the key of a shard; lent by the buffer. */
struct slice pg_shard_key(struct buf *buf, struct slice type, struct slice shard);
/* Null: not known. Lent until the next pg_know_*. */
struct pg_known_shard *pg_known_shard(const struct pg_known *known, struct slice key);
struct pg_known_entity *pg_known_entity(const struct pg_known *known, struct slice id);
/* Sets, or adds. */
void pg_know_shard(struct pg_known *known, struct slice key, struct pg_known_shard shard);
void pg_know_entity(struct pg_known *known, struct slice id, struct pg_known_entity entity);
void pg_forget_shard(struct pg_known *known, struct slice key);
void pg_forget_entities(struct pg_known *known);

#endif
