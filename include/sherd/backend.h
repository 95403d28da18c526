/* Defines the interface of a journal back end: the store of entities' events.
 *
 * A back end is a plug-in. Its program registers it by name before it opens a
 * system, and the setting journal.plugin chooses it. It sees the work of all
 * lanes of a process as requests, which it fills in.
 *
 * Promises of a back end: what it answers as SHERD_BACKEND_DONE is durable. A
 * write with a fence below the stored one is refused in the transaction that
 * would write it. No term is given twice. The program sherd-conform tests a
 * back end in a shared library. Specification: docs/protocol/journal.md. */
#ifndef SHERD_BACKEND_H
#define SHERD_BACKEND_H

#include <stdint.h>

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of an error's text, with its zero. */
#define SHERD_BACKEND_ERROR_MAX 200
/* Bytes of a store's identity and of its name, each with a zero. */
#define SHERD_BACKEND_ID_MAX 64
#define SHERD_BACKEND_NAME_MAX 128
/* The version of this interface, for sherd_backend.version. Version 1 had no
 * snapshots; back ends of version 1 may still be registered. */
#define SHERD_BACKEND_VERSION 3
/* sherd_backend_request.from: only the last record. */
#define SHERD_BACKEND_LAST UINT64_MAX

/* The kinds of requests. */
enum sherd_backend_verb {
    SHERD_BACKEND_APPEND = 1, /* write records */
    SHERD_BACKEND_REPLAY,     /* read the records of one entity */
    SHERD_BACKEND_CLAIM,      /* raise the fence of one shard */
    SHERD_BACKEND_TAKE_TERM,  /* take the next term of a type */
    /* The rest since version 2, if sherd_backend.snapshots is 1. */
    SHERD_BACKEND_SAVE, /* store a snapshot, and delete the oldest ones */
    SHERD_BACKEND_LOAD, /* read a snapshot */
    SHERD_BACKEND_TRIM, /* delete the oldest records of an entity */
    SHERD_BACKEND_DROP  /* delete the newest snapshots of an entity */
};

/* How a request, a shard or an entity of it ended. */
enum sherd_backend_result {
    /* no answer yet; never an answer */
    SHERD_BACKEND_PENDING,
    /* written and durable; or read, claimed, taken */
    SHERD_BACKEND_DONE,
    /* nothing written: another owner has the shard */
    SHERD_BACKEND_FENCED,
    /* nothing written: the sequence number is taken, or leaves a gap */
    SHERD_BACKEND_CONFLICT,
    /* the outcome is unknown; the request comes again with `again` set */
    SHERD_BACKEND_UNKNOWN,
    /* certainly not written, or not readable; `error` says why */
    SHERD_BACKEND_FAILED,
    /* refused, a claim or a term: the proof is not in this store */
    SHERD_BACKEND_OTHER_STORE,
    /* nothing written: the store has lost what it acknowledged. The shard ends
     * on this node, and its next owner recovers from what is there */
    SHERD_BACKEND_LOST
};

/* A shard's right to write: (term, epoch), compared in that order. */
struct sherd_fence {
    uint64_t term;
    uint64_t epoch;
};

/* A coordinator's proof: a random number that a store keeps with a term. A
 * value of 0 is no proof. */
struct sherd_proof {
    uint64_t term;
    uint64_t value;
};

/* One shard that an append writes for. */
struct sherd_backend_shard {
    struct sherd_bytes type;
    struct sherd_bytes shard;
    struct sherd_fence fence;         /* the writer's */
    struct sherd_fence stored;        /* out, if FENCED: the stored one */
    enum sherd_backend_result result; /* out */
};

/* One entity that an append writes for: all of its records or none. */
struct sherd_backend_entity {
    uint32_t shard; /* index in shards */
    /* The same transaction deletes the entity's records below this number,
     * lowest first, at most 10,000; 0 or 1: none. See sherd_backend_cut. */
    uint64_t cut;
    struct sherd_bytes id;            /* persistence id: type | entity */
    enum sherd_backend_result result; /* out */
};

/* One record: at most 1 MiB and 64 bytes. */
struct sherd_backend_record {
    uint32_t entity; /* index in entities */
    uint64_t seq;    /* from 1, without gaps, for each persistence id */
    struct sherd_bytes bytes;
};

/* A request. Everything in it is lent for the call. A back end sets results,
 * `error`, and what is marked "out". */
struct sherd_backend_request {
    enum sherd_backend_verb verb;
    enum sherd_backend_result result; /* out */
    /* APPEND: a repetition after UNKNOWN. An identical stored record counts as
     * written. */
    int again;

    struct sherd_bytes type;  /* CLAIM, TAKE_TERM, SAVE, TRIM, DROP */
    struct sherd_bytes shard; /* CLAIM, SAVE, TRIM, DROP */
    /* CLAIM: the wanted fence; out: the stored one. TAKE_TERM: `term` is one
     * that is known to be used, or 0; out: the term taken. SAVE, TRIM, DROP:
     * the writer's; out, if FENCED: the stored one. */
    struct sherd_fence fence;
    /* CLAIM: the coordinator's proof. TAKE_TERM: of the known term. */
    struct sherd_proof proof;
    /* TAKE_TERM: a random number to store with the new term; 0: none. */
    uint64_t next_proof;
    /* TAKE_TERM: report each claimed shard of the type with
     * sherd_backend_add_shard. */
    int lists;
    /* CLAIM: take the next epoch after the stored fence, whatever it is. */
    int next;

    struct sherd_bytes id; /* persistence id, but for APPEND and claims */
    /* REPLAY: the first number wanted, at least 1; or SHERD_BACKEND_LAST.
     * SAVE, out: the lowest number of a snapshot that stays, or 0 if fewer than
     * count_max are stored. LOAD: the highest number wanted, at most INT64_MAX;
     * the newest snapshot up to it is the answer, or none. TRIM: the lowest
     * record that stays; the last record stays always. DROP: the lowest
     * snapshot to delete. */
    uint64_t from;
    /* REPLAY: most records. SAVE: the newest snapshots that stay, at least 1.
     * TRIM: most records to delete. */
    uint32_t count_max;
    uint32_t size_max;  /* REPLAY: most bytes; one record always fits */
    int more; /* REPLAY, TRIM, out: more records follow, or are to be deleted */
    uint32_t deleted; /* TRIM, out: records that were deleted */

    /* APPEND */
    struct sherd_backend_shard *shards;
    uint32_t shard_count;
    struct sherd_backend_entity *entities;
    uint32_t entity_count;
    /* In order of the appends. SAVE: one, the snapshot: its number is that of
     * its event, which must be stored; else CONFLICT. It replaces one of the
     * same number. At most 16 MiB and 64 bytes. */
    const struct sherd_backend_record *records;
    uint32_t record_count;

    char error[SHERD_BACKEND_ERROR_MAX]; /* out: one line; empty when DONE */
    void *owner; /* the library's */
};

/* Which connection is opened. Readers are opened after the writer. */
enum sherd_backend_mode {
    SHERD_BACKEND_WRITER, /* gets all but REPLAY and LOAD */
    SHERD_BACKEND_READER  /* gets REPLAY and LOAD */
};

/* Severity of a line that a back end logs. */
enum sherd_backend_level {
    SHERD_BACKEND_INFO,
    SHERD_BACKEND_WARNING,
    SHERD_BACKEND_ERROR
};

/* Texts are lent for the call of open. `log` may be called until the connection
 * is closed, on its thread, `setting` only by open. */
struct sherd_backend_options {
    /* The part of options.journal after the name ("NAME:PLACE"), or the setting
     * journal.place. */
    const char *place;
    /* The cluster's id. The first opener stores it, and a store of another
     * cluster is refused. */
    const char *cluster;
    /* The text of the setting journal.NAME.KEY, a time in ms; null: there is no
     * such setting. */
    const char *(*setting)(void *user, const char *key);
    /* Writes a line to the log: a message and key=value pairs. */
    void (*log)(void *user, enum sherd_backend_level level, const char *line);
    void *user;
};

/* Identifies a store. */
struct sherd_backend_identity {
    /* Equal texts mean the same store: hexadecimal digits and '-'. */
    char id[SHERD_BACKEND_ID_MAX];
    /* The store in log lines, without secrets. */
    char name[SHERD_BACKEND_NAME_MAX];
};

/* A back end. One thread at a time uses each connection; different connections
 * have different threads. All calls may block. */
struct sherd_backend {
    uint32_t version; /* SHERD_BACKEND_VERSION, or a lower one */
    /* Letters, digits, '-' and '_'; not "memory" or "sqlite". */
    const char *name;
    /* Readers that a process opens, 1 to 8; 0: 1. */
    uint32_t readers;
    /* 1: of two claims with equal fences by two writers, the later one has the
     * shard. 0: both may write. */
    int tells_owners;
    /* Opens a connection. Null on failure, with a line in error, of
     * SHERD_BACKEND_ERROR_MAX bytes. */
    void *(*open)(const struct sherd_backend_options *options,
                  enum sherd_backend_mode mode, char *error);
    /* Runs requests in order. One that is refused fails no other. */
    void (*write)(void *store, struct sherd_backend_request *const *requests,
                  uint32_t count);
    /* Runs REPLAY and LOAD requests. Records and snapshots go to
     * sherd_backend_add_record. */
    void (*read)(void *store, struct sherd_backend_request *const *requests,
                 uint32_t count);
    void (*close)(void *store);
    void (*identify)(void *store, struct sherd_backend_identity *identity);
    /* Tries to store something without a meaning, each second after a whole
     * group failed. 1: it works; 0: it fails, with a line in error. */
    int (*can_write)(void *store, char *error);
    /* Since version 2. 1: it keeps snapshots, in verbs SAVE to DROP. 0: they
     * are refused, and an entity recovers by all of its events. */
    int snapshots;
    /* Since version 3; may be null. Asks the store for a sign of life, each 5 s
     * while nothing is written. 1: it answers; 0: it does not, with a line in
     * error, and the node is not ready until can_write works. It takes seconds
     * at most. */
    int (*is_alive)(void *store, char *error);
};

/* Registers a back end under its name, for systems that are opened later.
 *
 * backend: lent until the process ends.
 * Result: 0. SHERD_EINVAL: a wrong name or version, or a missing function.
 * SHERD_EEXIST: another back end has the name. Any thread. */
SHERD_API int sherd_backend_register(const struct sherd_backend *backend);

/* ---- for back ends ---- */

/* Adds a record to the answer of a REPLAY, in order, or the snapshot to that of
 * a LOAD. Copies the bytes. */
SHERD_API void sherd_backend_add_record(struct sherd_backend_request *request,
                                        uint64_t seq, struct sherd_bytes bytes);

/* Adds a claimed shard to the answer of a TAKE_TERM. Copies the name. */
SHERD_API void sherd_backend_add_shard(struct sherd_backend_request *request,
                                       struct sherd_bytes shard);

/* Sets all results of a request, and its error; null keeps the text. */
SHERD_API void sherd_backend_settle(struct sherd_backend_request *request,
                                    enum sherd_backend_result result,
                                    const char *error);

/* A back end's findings for one entity of an append. Zero at first. */
struct sherd_backend_found {
    int met;      /* one of its records was compared */
    int adds;     /* at least one record is not stored yet */
    int conflict; /* a number is taken by other bytes, or leaves a gap */
};

/* Decides the result of one entity of an append, once its shard has one.
 *
 * entity: index in entities.
 * Result: DONE, FENCED, CONFLICT or the shard's result. A repetition whose
 * records are all stored is DONE, even under a higher fence. */
SHERD_API enum sherd_backend_result
sherd_backend_decide(const struct sherd_backend_request *request,
                     uint32_t entity, const struct sherd_backend_found *found);

/* Returns the number below which an append deletes the entity's records, once
 * all results are set.
 *
 * first: the lowest number that is stored.
 * Result: 0 or `first`: none. */
SHERD_API uint64_t
sherd_backend_cut(const struct sherd_backend_request *request, uint32_t entity,
                  uint64_t first);

/* The terms of a type in a store. */
struct sherd_backend_proofs {
    uint64_t last;   /* the last term taken; 0: none */
    uint64_t lowest; /* the lowest term with a proof; 0: none */
    uint64_t value;  /* the proof of the wanted term; 0: none */
};

/* Judges a proof: DONE, OTHER_STORE, or FENCED for a term whose proof is no
 * longer kept. A store keeps the proofs of the last 100 terms of each type.
 * A claim that is FENCED so reports the fence (lowest, 0). */
SHERD_API enum sherd_backend_result
sherd_backend_prove(struct sherd_proof wanted,
                    const struct sherd_backend_proofs *stored);

#ifdef __cplusplus
}
#endif

#endif
