/* Holds the rows of a simulated database server, and applies committed transactions to them.
 *
 * Records, snapshots, fences and terms are in a book (journal/book.h), as the checkers read it. The columns
 * that a book lacks are in tables: numbers and claims of shards, writers, and numbers of entities. */
#ifndef SHERD_SIM_WORLD_DATABASE_ROWS_H
#define SHERD_SIM_WORLD_DATABASE_ROWS_H

#include "base/map.h"
#include "base/vec.h"
#include "journal/book.h"

struct database_shard {
    uint64_t id, claim;
    struct fence fence;
    struct slice type, shard; /* own copies */
};

struct database_writer {
    uint64_t id, generation, last;
};

struct database_entity {
    uint64_t id, shard;
    struct slice pid; /* own copy */
};

struct database_rows {
    struct book *book;
    struct map shards;       /* type and shard -> struct database_shard, which it owns */
    struct map shard_ids;    /* number -> the same */
    struct map writers;      /* number -> struct database_writer, which it owns */
    struct map entities;     /* persistence id -> struct database_entity, which it owns */
    struct map entity_ids;   /* number -> the same */
};

enum database_kind {
    DATABASE_SHARD,  /* the row as it is afterwards */
    DATABASE_WRITER, /* as well */
    DATABASE_ENTITY, /* a new row */
    DATABASE_BOOK,   /* a change of the book */
    DATABASE_WRITE,  /* SAVE, TRIM or DROP of the request with that index */
};

struct database_change {
    enum database_kind kind;
    struct database_shard shard;   /* its texts are the transaction's copies, as below */
    struct database_writer writer;
    struct database_entity entity;
    struct book_change book;
    uint32_t request;
};

/* The writes of one transaction. Zero is an empty one. */
struct database_writes {
    VEC(struct database_change) changes;
    /* The same as requests with their results, for checkers. */
    VEC(struct journal_request *) requests;
};

void database_rows_init(struct database_rows *rows, const char *cluster);
void database_rows_fini(struct database_rows *rows);
struct slice database_shard_key(struct buf *buf, struct slice type, struct slice shard);
/* Null: there is none. */
struct database_shard *database_shard(const struct database_rows *rows, struct slice key);
struct database_shard *database_shard_at(const struct database_rows *rows, uint64_t id);
struct database_writer *database_writer(const struct database_rows *rows, uint64_t id);
struct database_entity *database_entity(const struct database_rows *rows, struct slice pid);
struct database_entity *database_entity_at(const struct database_rows *rows, uint64_t id);

/* Adds a change; its texts are copied. */
void database_put(struct database_writes *writes, const struct database_change *change);
void database_writes_fini(struct database_writes *writes);
/* Applies the changes. The book lists them until book_keep. A change that cannot follow has no effect:
 * the checkers see it in the requests. */
void database_apply(struct database_rows *rows, const struct database_writes *writes);

#endif
