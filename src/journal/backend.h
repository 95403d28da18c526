/* Defines a journal backend's interface as data: requests that a machine leaves and that return
 * with their result.
 * The driver carries a request to the backend's threads and back. It is one heap object with one
 * owner at a time; all its bytes lie in its own buffer.
 *
 * A backend is a plug-in, functions (struct backend_ops) that run on its threads only. One writer
 * puts the requests of all machines into one transaction; readers have their own connections. */
#ifndef SHERD_JOURNAL_BACKEND_H
#define SHERD_JOURNAL_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sherd/backend.h>

#include "base/bytes.h"
#include "base/fence.h"
#include "base/proof.h"
#include "base/vec.h"

#define BACKEND_ERROR_MAX 200 /* with its zero */

#define BACKEND_LAST UINT64_MAX /* `from` of a REPLAY: only the last record */
#define BACKEND_NEWEST INT64_MAX /* `from` of a LOAD: no bound */

enum backend_verb {
    BACKEND_APPEND = 1, /* writes records, except those of entities of a stale shard */
    BACKEND_REPLAY,     /* reads one entity's records, in chunks */
    BACKEND_CLAIM,      /* raises the fence of one shard */
    BACKEND_TAKE_TERM,  /* takes the next term of a type; no term is given twice */
    BACKEND_SAVE,       /* stores a snapshot of an entity, and deletes its oldest ones */
    BACKEND_LOAD,       /* reads the newest snapshot up to a number */
    BACKEND_TRIM,       /* deletes an entity's oldest records, but never the last */
    BACKEND_DROP,       /* deletes an entity's snapshots from a number on */
};

enum backend_result {
    BACKEND_PENDING,  /* not back yet */
    BACKEND_DONE,     /* written and durable, or read, claimed, taken */
    BACKEND_FENCED,   /* nothing written: the stored fence is higher */
    /* nothing written: another record has that sequence number, or it leaves a gap */
    BACKEND_CONFLICT,
    BACKEND_UNKNOWN,  /* unknown outcome: send it again with `again` set */
    BACKEND_FAILED,   /* certainly not written, or not readable: see error */
    /* refused, a claim or a term: the coordinator's proof is not in this store */
    BACKEND_OTHER_STORE,
};

struct backend_span {
    uint32_t at;
    uint32_t size;
};

/* One shard that an append writes for. */
struct backend_shard {
    struct backend_span type;
    struct backend_span shard;
    struct fence fence;       /* the writer's */
    struct fence stored;      /* out: the stored one, when FENCED */
    enum backend_result result; /* out */
};

/* One entity that an append writes for: all of its records or none. */
struct backend_entity {
    uint32_t shard;             /* index */
    /* after its records are written, the same transaction deletes those below this number, lowest
     * first, at most BACKEND_CUT_MAX; never for a fenced writer. At most the first new record's
     * number; 0 or 1: none */
    uint64_t cut;
    struct backend_span id;       /* persistence id: type "|" id */
    enum backend_result result;   /* out: DONE, FENCED, CONFLICT, FAILED, UNKNOWN */
    uint64_t tag;               /* only for the requester */
};

/* One record; record_encode made `bytes` (journal/record.h). */
struct backend_record {
    uint32_t entity; /* index into entities; 0 in a replay */
    uint64_t seq;    /* from 1, without gaps, for each persistence id */
    struct backend_span bytes;
};

struct journal_request {
    enum backend_verb verb;
    enum backend_result result; /* out; an append also has one for each entity */
    uint32_t machine;         /* the requester, set and read by the node, 0 = control */
    uint64_t tag;             /* only for the requester, as is serial */
    uint64_t serial;
    uint64_t sent_at;         /* only for the driver */
    /* APPEND: a repetition after UNKNOWN: an identical stored record counts as written */
    bool again;

    struct backend_span type;   /* CLAIM, TAKE_TERM, SAVE, TRIM, DROP */
    struct backend_span shard;  /* CLAIM, SAVE, TRIM, DROP */
    /* CLAIM: the wanted fence; out: the stored one. TAKE_TERM: term = one known to be used (or 0);
     * out: the term taken. SAVE, TRIM, DROP: the writer's; out, when FENCED: the stored one */
    struct fence fence;
    /* CLAIM: the coordinator's; TAKE_TERM: of the term that is known to be used. Value 0: none */
    struct proof proof;
    uint64_t next_proof;      /* TAKE_TERM: random, to store with the new term; 0: none */
    bool lists;               /* TAKE_TERM: out in shards: all claimed ones of the type */
    bool next; /* CLAIM: the next epoch after the stored fence, under a coordinator without terms */

    struct backend_span id;     /* persistence id: REPLAY, SAVE, LOAD, TRIM, DROP */
    /* REPLAY: first number wanted, at least 1; or BACKEND_LAST. SAVE, out: lowest snapshot that
     * stays, or 0 if fewer than count_max are stored.
     * LOAD: highest number wanted, at most BACKEND_NEWEST. TRIM: lowest record that stays. DROP:
     * lowest snapshot that goes */
    uint64_t from;
    uint32_t count_max;       /* REPLAY: records; SAVE: snapshots that stay; TRIM: records to delete */
    uint32_t size_max;        /* REPLAY: bytes; one record always fits */
    bool more;                /* out: more records follow (REPLAY), or are to be deleted (TRIM) */
    uint32_t deleted;         /* TRIM, out: records */

    VEC(struct backend_shard) shards;     /* APPEND; TAKE_TERM, out: if it lists them */
    VEC(struct backend_entity) entities;  /* APPEND */
    /* APPEND: in order of the appends; REPLAY, out: in order of seq; SAVE: the snapshot; LOAD, out: it,
     * if there is one */
    VEC(struct backend_record) records;
    struct buf bytes;                   /* the target of the spans */
    char error[BACKEND_ERROR_MAX];        /* out: one line, empty when DONE */
};

/* The caller owns the result. Texts are copied. */
struct journal_request *journal_request_new(enum backend_verb verb);
struct journal_request *journal_request_claim(struct slice type, struct slice shard,
                                          struct fence fence);
struct journal_request *journal_request_take_term(struct slice type,
                                              uint64_t used_term);
struct journal_request *journal_request_replay(struct slice persistence_id,
                                           uint64_t from, uint32_t count_max,
                                           uint32_t size_max);
void journal_request_free(struct journal_request *request);

/* SAVE, TRIM or DROP, for the shard's owner. */
struct journal_request *journal_request_owner(enum backend_verb verb, struct slice type,
                                              struct slice shard, struct fence fence,
                                              struct slice persistence_id);
struct journal_request *journal_request_load(struct slice persistence_id, uint64_t from);
bool journal_request_reads(const struct journal_request *request); /* a reader runs it */

struct backend_span backend_put(struct journal_request *request, struct slice bytes);
/* The terms of a type in a store, and their proofs. */
struct backend_proofs {
    uint64_t last;   /* last term taken; 0: none */
    uint64_t lowest; /* lowest term with a proof; 0: none */
    uint64_t value;  /* proof of the wanted term; 0: none */
};

/* Judges a proof: DONE, OTHER_STORE, or FENCED for a term so old that its proof was deleted. A
 * store keeps the proofs of the last BACKEND_PROOFS_MAX terms of each type. */
enum backend_result backend_prove(struct proof wanted,
                                const struct backend_proofs *stored);

/* The backend's findings for one entity of an append; zero at first. */
struct backend_found {
    bool met;        /* one of its records was checked */
    uint64_t before; /* last sequence number stored */
    uint64_t last;   /* the same including the append's records */
    bool adds;       /* at least one record is not stored yet */
    bool conflict;
};

/* Returns an append's result for an entity, after its shard has one and its records were checked. A
 * repetition whose records are all stored is DONE also under a higher fence, which came later. */
enum backend_result backend_decide(const struct journal_request *request,
                               const struct backend_entity *entity,
                               const struct backend_found *found);
/* Returns the number below which an append deletes the entity's records, after all results are set.
 * first: the lowest stored record. 0 or `first`: none. */
uint64_t backend_cut(const struct journal_request *request,
                   const struct backend_entity *entity, uint64_t first);
/* Lent until the next backend_put, or the request's end. */
struct slice backend_slice(const struct journal_request *request,
                         struct backend_span span);
/* Sets all results of the request, and the error's text (null keeps it). */
void backend_settle(struct journal_request *request, enum backend_result result,
                  const char *error);

struct backend_damage; /* host/backend_damage.h */

/* Texts are lent for the call of open. */
struct backend_options {
    const char *path;      /* SQLite: the file; memory: a name, shared within the process */
    const char *key;       /* systems of a process with equal keys share a journal; null: the path */
    const char *cluster;   /* the first opener writes it; openers with another one are refused */
    uint32_t lock_wait_ms; /* SQLite: longest wait for other processes' transactions; 0 = default */
    /* SQLite: the file's damaged parts, shared by its connections, lent until their close; null: each
     * is found again when it is used */
    struct backend_damage *damage;
    bool signs; /* SQLite: a check gives checksums to pages that another program wrote */
    bool opens_moved; /* SQLite: opens a file whose events were moved; only for tools */
    /* A registered back end, which has `path` as its place, with its settings during the call, and a
     * log until the close. Both functions may be null */
    const struct sherd_backend *plugin;
    const char *(*setting)(void *user, const char *key);
    void *user;
    void (*log)(void *log_user, enum sherd_backend_level level, const char *line);
    void *log_user;
};

#define STORE_ID_MAX 64 /* with its zero */
#define STORE_NAME_MAX 128

/* Identifies a store: equal texts mean the same store. */
struct backend_identity {
    char id[STORE_ID_MAX]; /* hexadecimal digits and '-' */
    char name[STORE_NAME_MAX]; /* in log lines; may be empty */
};

enum backend_mode { BACKEND_WRITER, BACKEND_READER, BACKEND_CHECKER };

/* A check of the whole store, which takes many steps. Zero at first. */
struct backend_check {
    uint64_t bytes; /* read by the last step */
    uint64_t pages, entities, events; /* checked so far */
    uint64_t damaged; /* parts, at the end */
    bool is_waiting; /* another process checks the store: the step did nothing */
    bool is_over;    /* the last step was the last */
    char error[BACKEND_ERROR_MAX]; /* why the check ended early; else empty */
};

/* A write-ahead log that stayed at its limit, because a reader of the journal never paused. */
struct backend_kept {
    uint64_t size;  /* bytes of the log; 0: no such log */
    uint64_t tries; /* failed attempts to empty it since the start */
};

/* One thread at a time uses each connection. */
struct backend_ops {
    const char *name; /* "sqlite", "memory" */
    /* Opens a connection; readers after the writer. Null on failure, with one line in error
     * (BACKEND_ERROR_MAX bytes). */
    void *(*open)(const struct backend_options *options, enum backend_mode mode,
                  char *error);
    /* Runs all but REPLAY and LOAD requests in order as one transaction. A fenced or
     * conflicting entity does not fail the others. Lent. */
    void (*write)(void *store, struct journal_request **requests, uint32_t count);
    /* Housekeeping after the results of a group were handed out. May be null. Updates `kept`, zero
     * at first. */
    void (*tidy)(void *store, struct backend_kept *kept);
    /* Runs REPLAY and LOAD requests. Lent. */
    void (*read)(void *store, struct journal_request **requests, uint32_t count);
    void (*close)(void *store);
    void (*identify)(void *store, struct backend_identity *identity);
    /* False, for ever and with a line in error, once the store is not the one that was opened: it
     * was deleted or replaced, and every request fails. Called each second. May be null. */
    bool (*is_whole)(void *store, char *error);
    /* Does the next step of a check, on a BACKEND_CHECKER: it takes milliseconds, blocks no writer, and
     * holds the log for no longer. Damaged parts go to options.damage. May be null. */
    void (*check_step)(void *store, struct backend_check *check);
    /* Tries to store something without a meaning. False, with a line in error: it fails, as on a full
     * disk. Called each second after a whole group has failed. May be null: groups show it. */
    bool (*can_write)(void *store, char *error);
    /* Asks for a sign of life. False, with a line in error: there is none. Called each 5 s while nothing
     * is written. May be null. */
    bool (*is_alive)(void *store, char *error);
};

#endif
