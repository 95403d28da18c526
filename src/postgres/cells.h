/* Decodes cells and rows that the server sent in binary format. Each value has a limit. */
#ifndef SHERD_POSTGRES_CELLS_H
#define SHERD_POSTGRES_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fence.h"

/* One value; lent. */
struct pg_cell {
    const uint8_t *data;
    int32_t size; /* -1: null */
};

#define PG_RECORD_MAX (1024 * 1024 + 64) /* bytes of a stored record */
#define PG_TEXT_MAX 1024                 /* bytes of an id, a type or a name */

/* Each returns false for null, a wrong size, or a value over its limit. */
bool pg_cell_number(struct pg_cell cell, uint64_t *number);
bool pg_cell_flag(struct pg_cell cell, bool *flag);
bool pg_cell_bytes(struct pg_cell cell, size_t max, struct slice *bytes);

/* A shard's row: type, shard, id, term, epoch, claim; and the position of the writer that asks. */
struct pg_shard_row {
    struct slice type, shard;
    uint64_t id;
    struct fence fence;
    uint64_t claim, last;
};

/* An entity's row: its place in the question (from 1), id, and last number; 0: no events. */
struct pg_entity_row {
    uint64_t place, id, last;
};

/* The answer to a claim: the type's terms and proof, the written row if there is one, and the row
 * before. `last` is the position of the writer that claims. */
struct pg_claim_row {
    uint64_t last_term, lowest_term, proof;
    bool is_written;
    uint64_t id;
    struct fence fence;
    uint64_t last;
    struct fence before; /* zero: there was none, or it was not visible yet */
};

/* A record of a replay: number and bytes; or, without bytes, that more records follow. */
struct pg_replay_row {
    uint64_t seq;
    struct slice record;
    bool is_more;
};

#define PG_SHARD_CELLS 7
#define PG_ENTITY_CELLS 3
#define PG_CLAIM_CELLS 9
#define PG_REPLAY_CELLS 2

/* False: a cell is damaged. */
bool pg_shard_decode(const struct pg_cell cells[PG_SHARD_CELLS],
                     struct pg_shard_row *row);
bool pg_entity_decode(const struct pg_cell cells[PG_ENTITY_CELLS],
                      struct pg_entity_row *row);
bool pg_claim_decode(const struct pg_cell cells[PG_CLAIM_CELLS],
                     struct pg_claim_row *row);
bool pg_replay_decode(const struct pg_cell cells[PG_REPLAY_CELLS],
                      struct pg_replay_row *row);

#endif
