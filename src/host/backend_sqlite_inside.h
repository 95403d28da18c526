/* The insides shared by the SQLite store's files.
 *
 *   store_sqlite.c        opening, schema, the table of functions
 *   store_sqlite_write.c  one group as one transaction
 *   store_sqlite_read.c   replays */
#ifndef SHERD_HOST_BACKEND_SQLITE_INSIDE_H
#define SHERD_HOST_BACKEND_SQLITE_INSIDE_H

#include <sqlite3.h>

#include "base/map.h"
#include "host/backend_turn.h"
#include "journal/backend.h"

enum statement {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_CLAIMS,       /* the counter that every claim raises */
    SQL_CLAIMS_RAISE,
    SQL_FENCE,
    SQL_FENCE_SET,
    SQL_SHARDS,
    SQL_TERM,
    SQL_TERM_SET,
    SQL_ENTITY,
    SQL_ENTITY_ADD,
    SQL_LAST,         /* an entity's highest sequence number */
    SQL_RECORD,
    SQL_EVENT_ADD,
    SQL_FIRST,        /* and its lowest */
    SQL_CUT,          /* events below a number */
    SQL_COUNT,        /* those above are the writer's */
    SQL_READ_BEGIN = 0,
    SQL_READ_END,
    SQL_REPLAY,
    SQL_REPLAY_LAST,
    SQL_READ_COUNT,
};

/* What the writer knows of an entity. `last` holds as long as the writer's
 * fence for its shard is the one it was seen under: nobody else may have written
 * meanwhile without a higher one. */
struct known {
    int64_t id;
    uint64_t last;
    struct fence fence;
};

struct sqlite_store {
    sqlite3 *db;
    struct turn *turn; /* the writer's */
    char *path;
    char *cluster;
    enum backend_mode mode;
    uint32_t lock_wait_ms;
    sqlite3_stmt *statements[SQL_COUNT];
    struct map entities; /* persistence id -> struct known */
    struct map fences;   /* type and shard -> struct fence, as of `claims` */
    int64_t claims;      /* counter when fences were read; -1 = never */
    struct buf key;
    int wal_pages;       /* after the last commit */
    int checkpoint_at;   /* pages */
};

/* store_sqlite.c */
uint64_t sqlite_now(void); /* ns, monotonic */
void sqlite_pause(uint32_t attempt); /* between two tries of a lock */
void sqlite_forget(struct sqlite_store *store); /* what the writer knew */
/* The error of a lock that was waited for in vain: names the process that has it. */
void sqlite_locked(const struct sqlite_store *store, char *error);
/* Runs a statement that gives no rows; SQLITE_OK or the error. */
int sqlite_run(struct sqlite_store *store, enum statement which);

/* store_sqlite_write.c, store_sqlite_read.c: see struct backend_ops */
void sqlite_write(void *opened, struct journal_request **requests,
                  uint32_t count);
void sqlite_tidy(void *opened, struct backend_kept *kept);
void sqlite_read(void *opened, struct journal_request **requests,
                 uint32_t count);

#endif
