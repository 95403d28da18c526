/* Declares what the files of the SQLite backend share. */
#ifndef SHERD_HOST_BACKEND_SQLITE_INSIDE_H
#define SHERD_HOST_BACKEND_SQLITE_INSIDE_H

#include <sqlite3.h>

#include "base/map.h"
#include "host/backend_damage.h"
#include "host/backend_place.h"
#include "host/backend_sqlite_frames.h"
#include "host/backend_turn.h"
#include "host/kept_file.h"
#include "journal/backend.h"

enum statement {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_CLAIMS,       /* the counter that each claim raises */
    SQL_CLAIMS_RAISE,
    SQL_FENCE,
    SQL_FENCE_SET,
    SQL_SHARDS,
    SQL_TERM,
    SQL_TERM_SET,
    SQL_PROOF,        /* a term's proof, and the lowest term with one */
    SQL_PROOF_ADD,
    SQL_PROOF_CUT,
    SQL_ENTITY,
    SQL_ENTITY_ADD,
    SQL_LAST,         /* an entity's highest sequence number */
    SQL_RECORD,
    SQL_EVENT_ADD,
    SQL_FIRST,        /* an entity's lowest sequence number */
    SQL_CUT,          /* deletes events below a number */
    SQL_SAVE,         /* stores a snapshot */
    SQL_SAVE_KEEP,    /* deletes all but the newest ones */
    SQL_SAVE_OLDEST,  /* number of an entity's oldest one; 0: fewer are stored */
    SQL_DROP,         /* deletes snapshots from a number on */
    SQL_COUNT,        /* counts the writer's events above a number */
    SQL_READ_BEGIN = 0,
    SQL_READ_END,
    SQL_REPLAY,
    SQL_REPLAY_LAST,
    SQL_LOAD,        /* number and entity of a snapshot */
    SQL_LOAD_RECORD,
    SQL_READ_COUNT,
};

/* The writer's cache. `last` is valid while the writer's fence for the shard is unchanged: another
 * writer would need a higher one. */
struct known {
    int64_t id;
    uint64_t last;
    struct fence fence;
};

/* In this order: the looks before and after a group are ranges. */
enum watched { WATCHED_MAIN, WATCHED_LOG, WATCHED_SHARED, WATCHED_TURN };
#define WATCHED_FILES 4

/* A damaged page is blamed on the part that the group works on. */
struct blamed {
    const struct journal_request *request;
    const struct backend_shard *shard;   /* its fence; null: not a shard's */
    const struct backend_entity *entity; /* null: not an entity's */
};

struct sqlite_check;

struct sqlite_store {
    sqlite3 *db;
    struct turn *turn; /* null: FILE-turn is missing, and this is no writer */
    char *path;
    char label[BACKEND_LABEL_SIZE]; /* of the path, for messages */
    int folder; /* where the files are, also after chroot; -1: unknown */
    char *cluster;
    enum backend_mode mode;
    struct backend_identity identity; /* the writer's */
    uint32_t lock_wait_ms;
    sqlite3_stmt *statements[SQL_COUNT];
    struct map entities; /* persistence id -> struct known */
    struct map fences;   /* type and shard -> struct fence, valid at `claims` */
    int64_t claims;      /* counter when fences were read; -1 = never */
    struct buf key;
    struct slice written; /* last record of the transaction; lent by its request */
    struct turn_mark mark; /* of that record, without its sum */
    struct backend_damage *damage; /* lent; null: none is remembered */
    struct blamed blamed;
    struct sqlite_check *check; /* a checker's; else null */
    struct kept_file watched[WATCHED_FILES];
    struct frames_state index_seen, log_seen; /* when the files were last looked at */
    uint32_t frames_moved; /* damaged frames that sqlite_tidy moved out of the log */
    char fault[BACKEND_ERROR_MAX]; /* the files were changed: what happened; else empty */
    bool has_marks;      /* the marks of FILE-turn belong to the file */
    bool was_full;       /* a group failed on a full disk */
    bool signs;          /* see backend_options */
    bool opens_moved;    /* as above */
    bool is_broken;      /* a call was broken off (map_guard.h): `db` is not used any more */
    void *verdicts;      /* of the running append; here, as a broken call frees nothing */
    int wal_pages;       /* after the last commit */
    int checkpoint_at;   /* pages */
};

/* backend_sqlite.c */
uint64_t sqlite_now(void); /* ns, monotonic */
void sqlite_pause(uint32_t attempt); /* between two tries of a lock */
void sqlite_forget(struct sqlite_store *store); /* clears the caches */
/* Names the process that holds the lock. */
void sqlite_locked(const struct sqlite_store *store, char *error);
/* Without rows. SQLITE_OK or the error. */
int sqlite_run(struct sqlite_store *store, enum statement which);

bool sqlite_is_busy(int result);
/* Runs SQL without rows, again while another process holds a lock. */
int sqlite_run_text(struct sqlite_store *store, const char *sql);
/* The last error is a full disk. */
bool sqlite_is_full(const struct sqlite_store *store);
/* Writes the last error of the connection as a line. */
void sqlite_describe(const struct sqlite_store *store, char *error);
/* Both write a line to `error` and return -1. */
int sqlite_failed(struct sqlite_store *store, char *error);
int sqlite_refused(struct sqlite_store *store, char *error,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* backend_sqlite_schema.c */
/* Creates the tables of a new file, upgrades those of an older version, checks the file's owner,
 * and reads the store's identity. 0, or -1 with a line in `error`. */
int sqlite_set_up_schema(struct sqlite_store *store, char *error);
/* Gives a connection that upgrades nothing an empty table of snapshots, in memory, if the file is too
 * old to have one. SQLITE_OK or the error. */
int sqlite_add_snapshots(sqlite3 *db);

/* backend_sqlite_files.c */
sqlite3_file *sqlite_file_of(const struct sqlite_store *store);
void sqlite_watch(struct sqlite_store *store); /* after opening */
/* False once one of these files is not the one that was opened, and for ever. */
bool sqlite_is_intact(struct sqlite_store *store, enum watched first,
                      enum watched last);
/* Looks at what is in the files, too: false once one was overwritten. In sqlite_guard. */
bool sqlite_is_kept(struct sqlite_store *store);
bool sqlite_is_whole(void *opened, char *error); /* as backend_ops.is_whole */
/* Runs a call that uses the mapped files. False: one was cut, so the store is lost. */
bool sqlite_guard(struct sqlite_store *store, void (*call)(void *context),
                  void *context);

/* backend_sqlite_damage.c */
/* The last error is a damaged page, or a structure that is wrong. */
bool sqlite_is_damaged(const struct sqlite_store *store);
/* Remembers what the group worked on as damaged. True: it is refused if the group runs again. */
bool sqlite_blame(struct sqlite_store *store, const char *why);
/* Tells whether a part is refused; then the request's error says why. */
bool sqlite_refuses_entity(struct sqlite_store *store,
                           struct journal_request *request,
                           const struct backend_entity *entity);
bool sqlite_refuses_shard(struct sqlite_store *store,
                          struct journal_request *request,
                          struct backend_span type, struct backend_span shard);
/* For a SAVE, TRIM or DROP. */
bool sqlite_refuses_owner(struct sqlite_store *store,
                          struct journal_request *request);
bool sqlite_refuses_terms(struct sqlite_store *store,
                          struct journal_request *request);

/* backend_sqlite_check.c */
int sqlite_check_set_up(struct sqlite_store *store, char *error); /* 0 or -1, as sqlite_failed */
void sqlite_check_fini(struct sqlite_store *store);
void sqlite_check(void *opened, struct backend_check *check); /* as backend_ops.check_step */

/* backend_sqlite_write.c, backend_sqlite_tidy.c, backend_sqlite_read.c, backend_sqlite_snapshots.c */
void sqlite_write(void *opened, struct journal_request **requests,
                  uint32_t count);
/* Run a request of a shard's owner, which is not fenced, in the group's transaction. SQLITE_OK or the
 * error. */
int sqlite_save(struct sqlite_store *store, struct journal_request *request);
int sqlite_trim(struct sqlite_store *store, struct journal_request *request);
int sqlite_drop(struct sqlite_store *store, struct journal_request *request);
bool sqlite_can_write(void *opened, char *error);
void sqlite_tidy(void *opened, struct backend_kept *kept);
/* Enlarges the log's file, so that commits need not. Only while the process has the turn. */
void sqlite_fill_log(struct sqlite_store *store);
void sqlite_read(void *opened, struct journal_request **requests,
                 uint32_t count);

#endif
