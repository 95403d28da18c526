/* What the files of durable keys share among themselves. */
#ifndef SHERD_HOST_DURABLE_INSIDE_H
#define SHERD_HOST_DURABLE_INSIDE_H

#include <lmdb.h>

#include "host/durable_files.h"

/* Numbers of transactions, one after the other. */
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
    uint64_t marked; /* of the last transaction of a mark alone */
    VEC(struct durable_range) failed; /* transactions that were not written, pages of them may be; and marks alone between them */
    bool has_ended_well; /* its last life did, and said so: then no transaction was cut off */
    bool must_mark; /* the last one failed, and no tree says so */
    bool is_loaded;
    uint32_t begin_ms;   /* DURABLE_BEGIN_MS */
    uint32_t silence_ms; /* DURABLE_SILENCE_MS; tests are less patient, also with the next one */
    uint32_t circle_ms; /* DURABLE_CIRCLE_MS */
    _Atomic bool is_stopped; /* reading breaks off */
    MDB_env *env;    /* null before, and after a write that failed */
    struct durable_trees trees;
};

/* What was found of the values so far. */
struct durable_found {
    struct map latest;      /* key -> struct durable_kept */
    struct durable_files *files;
    uint64_t tree_number;   /* the highest one of the trees */
    bool is_damaged;        /* the trees were not whole, or had not the last values */
    bool has_torn_values;   /* the tree of values may not name all keys, or not their last records */
    bool has_torn_names;    /* nor that of names. Both: of a key that they do not name, nothing says which record is the last */
    bool is_marked;         /* the mark is whole, so it is known which transactions failed */
    uint64_t size;          /* bytes of keys and records */
    uint64_t foreign;       /* records of another cluster */
    const char *unread;     /* why the file was not read to its end, which is no damage; null: it was, as far as it goes */
    bool is_too_large;      /* more than DURABLE_LOAD_SIZE_MAX */
};

struct durable_kept {
    uint64_t number;
    uint64_t last;   /* the highest number that a record, name or hold of it has in a tree */
    uint64_t held;   /* the number of its hold in the tree of values; 0: it has none there */
    uint8_t *record; /* whole */
    size_t size;
    bool is_lost;    /* that is not its last record, or there is none */
    bool is_named;   /* the tree of values has a pair of it */
    bool is_listed;  /* that of names has */
    struct durable_kept *other; /* the pair's record is whole, and this one's. Else null */
    bool is_seen;    /* the file has a record of it */
};

/* durable_files.c */
int durable_env_open(struct durable_files *files, const char *path,
                     unsigned flags, MDB_env **env,
                     struct durable_trees *trees);
/* Hands each pair of a tree to a function until it returns false. 0, or LMDB's error. */
int durable_env_walk(MDB_env *env, MDB_dbi tree,
                     bool (*each)(void *context, MDB_val *key, MDB_val *value),
                     void *context);
int durable_env_count(MDB_env *env, MDB_dbi tree, uint64_t *count);

/* durable_recover.c: fills `found`, whose files are set, from a database that is not trusted. */
void durable_recover(struct durable_found *found);
int durable_order(struct slice left, struct slice right); /* of keys, as in the tree */
void durable_found_fini(struct durable_found *found);

/* durable_mark.c: what a tree says of its transactions */
bool durable_has_failed(const struct durable_files *files, uint64_t number);
void durable_mark_failed(struct durable_files *files, uint64_t number);
/* Takes number and failures from the mark's record. False: it is no whole mark. */
bool durable_mark_take(struct durable_files *files,
                       const struct durable_record *record);
int durable_mark_put(struct durable_files *files, MDB_txn *txn); /* 0, or LMDB's error, as the next */
int durable_mark_look(struct durable_files *files); /* after a failure, when the database was opened again */

/* durable_clean.c: the word that the database was left whole. */
int durable_clean_take(struct durable_files *files, bool *is_clean); /* there and true; it is gone then. 0, or errno: it is not for certain */
void durable_clean_leave(struct durable_files *files);
int durable_sync_directory(const char *path); /* 0, or -1 with errno */
char *durable_path(const struct durable_files *files, const char *name); /* owned */

#endif
