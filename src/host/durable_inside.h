/* Declares what the files of durable keys share. */
#ifndef SHERD_HOST_DURABLE_INSIDE_H
#define SHERD_HOST_DURABLE_INSIDE_H

#include <lmdb.h>

#include "host/durable_files.h"
#include "host/kept_file.h"

/* Names in the directory. */
#define DURABLE_DATABASE "values.mdb"
#define DURABLE_LOCK "lock"

/* Consecutive transactions. */
struct durable_range {
    uint64_t first, last;
};

/* The database's two trees. */
struct durable_trees {
    MDB_dbi values; /* values, holds and the mark */
    MDB_dbi names;
};

struct durable_files {
    char *directory;
    char *path;      /* of the database */
    int lock;
    uint64_t cluster;
    uint64_t number; /* of the last transaction, written or not */
    uint64_t map_size;
    uint64_t marked; /* last transaction of a mark alone */
    /* their pages may be in the file; with marks alone between them */
    VEC(struct durable_range) failed;
    bool has_ended_well; /* `clean` was there: no transaction was cut off */
    bool must_mark; /* the last one failed, and no mark says so */
    bool is_loaded;
    uint32_t begin_ms;   /* DURABLE_BEGIN_MS */
    uint32_t silence_ms; /* DURABLE_SILENCE_MS; shorter in tests, as the next */
    uint32_t circle_ms; /* DURABLE_CIRCLE_MS */
    _Atomic bool is_stopped; /* reading stops */
    MDB_env *env;    /* null at first, and after a failed write */
    struct durable_trees trees;
    /* Buffers of a transaction. They live here, because one that is broken off (map_guard.h) frees
     * nothing. */
    struct {
        struct buf name, bytes, ranges;
    } scratch;
    struct kept_file database, lock_file; /* from the end of loading on */
    char fault[DURABLE_ERROR_MAX]; /* says what happened to one of them; else empty */
};

/* Values found in an untrusted database so far. */
struct durable_found {
    struct map latest;      /* key -> struct durable_kept */
    struct durable_files *files;
    uint64_t tree_number;   /* highest one in the trees */
    bool is_damaged;        /* trees torn, or not the last ones */
    bool has_torn_values;   /* the tree of values may lack keys or last records */
    bool has_torn_names;    /* the tree of names may lack keys; if both trees are torn, a key's
                             * last record is unknown */
    bool is_marked;         /* the mark is intact: failed transactions are known */
    uint64_t size;          /* bytes of keys and records */
    uint64_t foreign;       /* records of another cluster */
    const char *unread;     /* why the file was not read to its end (no damage); null: it was */
    bool is_too_large;      /* more than DURABLE_LOAD_SIZE_MAX */
};

struct durable_kept {
    uint64_t number;
    uint64_t last;   /* highest number of its record, name or hold */
    uint64_t held;   /* its hold's number; 0: no hold */
    uint8_t *record; /* intact */
    size_t size;
    bool is_lost;    /* record is not the last one, or missing */
    bool is_named;   /* in the tree of values */
    bool is_listed;  /* in the tree of names */
    /* entry of the key whose intact record this key's pair has; else null */
    struct durable_kept *other;
    bool is_seen;    /* the file has a record of it */
};

/* durable_files.c */
int durable_env_open(struct durable_files *files, const char *path,
                     unsigned flags, MDB_env **env,
                     struct durable_trees *trees);
/* Calls `each` until it returns false. 0, or LMDB's error. */
int durable_env_walk(MDB_env *env, MDB_dbi tree,
                     bool (*each)(void *context, MDB_val *key, MDB_val *value),
                     void *context);
int durable_env_count(MDB_env *env, MDB_dbi tree, uint64_t *count);

/* durable_recover.c: fills `found`, whose `files` is set. */
void durable_recover(struct durable_found *found);
int durable_order(struct slice left, struct slice right); /* order of keys in the tree */
void durable_found_fini(struct durable_found *found);

/* durable_mark.c */
bool durable_has_failed(const struct durable_files *files, uint64_t number);
void durable_mark_failed(struct durable_files *files, uint64_t number);
/* False: the mark is damaged. */
bool durable_mark_take(struct durable_files *files,
                       const struct durable_record *record);
int durable_mark_put(struct durable_files *files, MDB_txn *txn); /* 0, or LMDB's error, as below */
int durable_mark_look(struct durable_files *files); /* after a failure and a new opening */

/* durable_kept.c */
void durable_keep(struct durable_files *files); /* after loading: watches the files from now on */
void durable_keep_grown(struct durable_files *files); /* after a transaction */
/* After a transaction that a cut file broke off: the database is not used any more. */
void durable_abandon(struct durable_files *files);
/* Tells whether the directory once had a loaded database. */
bool durable_was_made(const struct durable_files *files);

/* durable_clean.c */
/* Whether `clean` matches; removes it. 0, or errno if it may still be there. */
int durable_clean_take(struct durable_files *files, bool *is_clean);
void durable_clean_leave(struct durable_files *files);
int durable_sync_directory(const char *path); /* 0, or -1 with errno */
char *durable_path(const struct durable_files *files, const char *name); /* owned */

#endif
