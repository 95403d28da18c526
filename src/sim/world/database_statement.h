/* Runs one prepared statement of a journal (postgres/sql.c) on the rows of a simulated server.
 *
 * A statement takes the locks of the rows that it writes, and reads what is committed. Where PostgreSQL
 * reads a row again after a wait, the whole statement runs again. Its writes count at the commit. */
#ifndef SHERD_SIM_WORLD_DATABASE_STATEMENT_H
#define SHERD_SIM_WORLD_DATABASE_STATEMENT_H

#include <stdbool.h>

#include "postgres/cells.h"
#include "postgres/link.h"
#include "sim/world/database_rows.h"

/* A statement on its way to the server, with its own copies of the parameters. */
struct database_call {
    enum pg_statement which;
    struct slice parameters[PG_CALL_PARAMETERS];
    uint32_t count;
};

/* Rows of an answer. Zero is an empty one. */
struct database_result {
    uint32_t columns;
    VEC(struct database_cell {
        uint32_t at;
        int32_t size; /* -1: null */
    }) cells;
    struct buf bytes;
};

/* The part of a session that a statement uses. */
struct database_run {
    struct database_rows *rows;
    struct database_writes *writes; /* adds to these */
    struct database_result *result; /* empty */
    /* Takes a lock until the transaction ends. False: another session has it; the session waits. */
    bool (*lock)(void *user, struct slice key);
    uint64_t *next_shard, *next_entity; /* numbers of new rows */
    void *user;
};

enum database_ran { DATABASE_RAN, DATABASE_WAITS, DATABASE_ERROR };

/* Not for BEGIN, COMMIT and ROLLBACK. sqlstate: set on an error, a literal. */
enum database_ran database_statement(const struct database_call *call, struct database_run *run,
                                     const char **sqlstate);

void database_result_free(struct database_result *result); /* may be null */
uint32_t database_result_rows(const struct database_result *result);
/* Lent. False: it has another number of columns. */
bool database_result_row(const struct database_result *result, uint32_t row,
                         struct pg_cell *cells, uint32_t count);

#endif
