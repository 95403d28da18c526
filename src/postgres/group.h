/* Plans how a group of appends is written: by one statement that checks the generation and the position
 * of this writer, or, where that writes nothing, by looking first.
 *
 * The one statement needs a known generation, all shards claimed by this writer, all entities known, and
 * all records next in order. Otherwise, and for a repetition, the store is read while the writer's row
 * is locked, and each entity is judged. */
#ifndef SHERD_POSTGRES_GROUP_H
#define SHERD_POSTGRES_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/backend.h>

#include "base/map.h"
#include "base/vec.h"
#include "postgres/array.h"
#include "postgres/cells.h"
#include "postgres/known.h"
#include "postgres/sql.h"

#define PG_APPEND_ARRAYS 9
#define PG_APPEND_PARAMETERS (3 + PG_APPEND_ARRAYS)
#define PG_ERROR_MAX SHERD_BACKEND_ERROR_MAX
#define PG_HALTED                                            \
    "the server lost confirmed events of this type, and " \
    "journal.postgres.on-lost is halt"

/* Numbers for new entities. */
struct pg_ids {
    VEC(struct pg_id_block {
        uint64_t next;
        uint64_t end;
    }) blocks;
    uint64_t left;
};

void pg_ids_add(struct pg_ids *ids, uint64_t first, uint64_t count);

/* A shard of the group, which several requests may name. */
struct pg_shard_plan {
    struct slice type, shard; /* lent by a request */
    bool is_found;            /* its row is known, or was read */
    uint64_t id, claim;
    uint64_t last; /* the writer's position, read with the row */
    struct fence fence;
    bool is_added; /* has new records, or repeated ones */
    bool is_lost;  /* confirmed records are gone */
    uint64_t confirmed; /* if lost: the last position that was confirmed */
};

/* An entity of the group. */
struct pg_entity_plan {
    struct slice pid; /* lent by a request */
    uint32_t shard;   /* index in shards */
    bool is_found;    /* its row was read, or is known */
    uint64_t id;      /* 0: new */
    uint64_t last;    /* with the records of this group */
    bool is_added;    /* new, and among the parameters */
};

struct pg_group {
    struct sherd_backend_request *const *requests;
    uint32_t count;
    struct pg_known *known;
    struct pg_ids *ids;
    uint64_t claim; /* this writer's number */
    uint64_t generation, position; /* those of this writer; 0: it has no row */
    uint32_t added; /* records among the parameters */
    uint8_t numbers[3][8];
    const struct map *halted; /* types that write nothing; null: none */
    VEC(struct pg_shard_plan) shards;
    VEC(struct pg_entity_plan) entities;
    struct map shard_table;  /* key -> index + 1 */
    struct map entity_table; /* persistence id -> index + 1 */
    struct buf key;
    /* in order of the requests' records, for those that are compared: 1 + whether the stored one is
     * equal; 0: none is stored */
    VEC(uint8_t) same;
    struct pg_array parameters[PG_APPEND_ARRAYS]; /* of PG_APPEND; see pg_group_statement */
    struct pg_array questions[4]; /* types, names; persistence ids; see pg_group_* */
    VEC(uint32_t) asked;           /* entities of the last question */
};

enum pg_way {
    PG_WAY_ONE,  /* `parameters` are ready for pg_group_statement */
    PG_WAY_LOOK, /* ask PG_ENTITIES with questions[0], then call again */
    PG_WAY_SLOW, /* look first */
};

void pg_group_begin(struct pg_group *group, struct pg_known *known,
                    struct pg_ids *ids, uint64_t claim,
                    struct sherd_backend_request *const *requests,
                    uint32_t count);
void pg_group_fini(struct pg_group *group);

/* Decides the way. PG_WAY_ONE and pg_group_judge need as many ids as pg_group_new. */
enum pg_way pg_group_plan(struct pg_group *group);
/* Entities that may be new. */
uint32_t pg_group_new(const struct pg_group *group);
/* A row of PG_ENTITIES, for the last question. False: a place that was not asked. */
bool pg_group_entity(struct pg_group *group, const struct pg_entity_row *row);
/* All rows of the question came: other entities are new. */
void pg_group_looked(struct pg_group *group);
/* Chooses the shortest statement for what was put. Sets its parameters, lent until the next change of the
 * group, and their count. */
enum pg_statement pg_group_statement(struct pg_group *group,
                                     struct slice parameters[PG_APPEND_PARAMETERS],
                                     uint32_t *count);
/* The one statement wrote everything. */
void pg_group_settle(struct pg_group *group);

/* ---- judge.c: looking first, in one transaction ---- */

/* Fills questions: 0 types and 1 names for PG_NAMED. */
void pg_group_ask_shards(struct pg_group *group);
/* 0 persistence ids for PG_ENTITIES; the answer goes to pg_group_entity and pg_group_looked. */
void pg_group_ask_entities(struct pg_group *group);
/* 0 persistence ids, 1 numbers, 2 records for PG_SAME. Returns how many. */
uint32_t pg_group_ask_records(struct pg_group *group);
void pg_group_shard_row(struct pg_group *group, const struct pg_shard_row *row);
/* False: a place that was not asked. */
bool pg_group_same(struct pg_group *group, uint64_t place, bool is_same);
/* Sets all results that are left, and `parameters`. Returns whether there is something to write. */
bool pg_group_judge(struct pg_group *group);
/* After the commit: what is known now. */
void pg_group_learn(struct pg_group *group);

/* Whether the shard's type lost events under on-lost = halt. */
bool pg_group_is_halted(const struct pg_group *group, const struct pg_shard_plan *plan);
/* Index of a request's shard, or entity, in the group. */
uint32_t pg_group_shard_of(struct pg_group *group, const struct sherd_backend_shard *shard);
uint32_t pg_group_entity_of(struct pg_group *group, const struct sherd_backend_entity *entity);
/* Add to the parameters: a new record, with its entity's row if that is new; an entity's deletions. */
void pg_group_put_record(struct pg_group *group, uint32_t entity,
                         const struct sherd_backend_record *record);
void pg_group_put_cut(struct pg_group *group, const struct sherd_backend_entity *entity);
void pg_group_clear_parameters(struct pg_group *group);

#endif
