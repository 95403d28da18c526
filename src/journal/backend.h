/* Defines a store's interface as data: requests that a machine leaves and that return with their
 * result.
 * The driver carries a request to the store's threads and back to the same machine. A request is
 * one heap object with one owner at a time; all its bytes lie in its own buffer.
 *
 * A store is a plug-in: functions (struct backend_ops) that run on the store's threads only. One
 * writer puts the requests of all machines into one transaction; readers have their own
 * connections. */
#ifndef SHERD_JOURNAL_BACKEND_H
#define SHERD_JOURNAL_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fence.h"
#include "base/vec.h"

#define BACKEND_ERROR_MAX 200 /* bytes of an error's text with its zero */

#define BACKEND_LAST UINT64_MAX /* as `from` of a REPLAY: only the last record */

enum backend_verb {
    /* writes records; refuses entities of a stale shard and stores the others */
    BACKEND_APPEND = 1,
    BACKEND_REPLAY,     /* reads one entity's records from a sequence number on, in chunks */
    BACKEND_CLAIM,      /* raises the fence of one shard */
    BACKEND_TAKE_TERM,  /* takes the next term of a type's coordinator; no term is given twice */
};

enum backend_result {
    BACKEND_PENDING,  /* not back yet */
    BACKEND_DONE,     /* written and durable, or read, claimed, taken */
    BACKEND_FENCED,   /* nothing written: the stored fence is higher */
    /* nothing written: another record has that sequence number, or it leaves a gap */
    BACKEND_CONFLICT,
    BACKEND_UNKNOWN,  /* the commit's outcome is unknown: send the request again with `again` set */
    BACKEND_FAILED,   /* certainly not written, or not readable: see error */
};

/* A part of the request's own bytes. */
struct backend_span {
    uint32_t at;
    uint32_t size;
};

/* One shard that an append writes for. */
struct backend_shard {
    struct backend_span type;
    struct backend_span shard;
    struct fence fence;       /* the writer's */
    struct fence stored;      /* out: the store's, when FENCED */
    enum backend_result result; /* out */
};

/* One entity that an append writes for: all of its records or none. */
struct backend_entity {
    uint32_t shard;             /* index into shards */
    /* after its records are written, those below this number are deleted in the same transaction,
     * lowest first, at most BACKEND_CUT_MAX. A fenced writer deletes nothing. At most the first new
     * record's number; 0 or 1: none */
    uint64_t cut;
    struct backend_span id;       /* persistence id: type "|" id */
    enum backend_result result;   /* out: DONE, FENCED, CONFLICT, FAILED, UNKNOWN */
    uint64_t tag;               /* the requester's; nothing else changes it */
};

/* One record; record_encode made `bytes` (journal/record.h). */
struct backend_record {
    uint32_t entity; /* index into entities; 0 in a replay */
    uint64_t seq;    /* from 1, without gaps, for each persistence id */
    struct backend_span bytes;
};

struct journal_request {
    enum backend_verb verb;
    enum backend_result result; /* out, of the whole; an append also has one for each entity */
    uint32_t machine;         /* the requesting machine: set and read by the node, 0 = control */
    uint64_t tag;             /* the requester's, as is serial; nothing else changes them */
    uint64_t serial;
    /* APPEND: a repetition after UNKNOWN: an identical record that is already stored counts as
     * written */
    bool again;

    struct backend_span type;   /* CLAIM, TAKE_TERM */
    struct backend_span shard;  /* CLAIM */
    /* CLAIM: the wanted fence; out: the stored one. TAKE_TERM: term = one known to be used (or 0);
     * out: the term taken */
    struct fence fence;
    bool lists;               /* TAKE_TERM: out in shards: all claimed ones of the type */
    /* CLAIM: take the next epoch after the stored fence, for owners whose coordinator has no
     * terms */
    bool next;

    struct backend_span id;     /* REPLAY: persistence id */
    uint64_t from; /* REPLAY: first sequence number wanted, at least 1; or BACKEND_LAST */
    uint32_t count_max;       /* REPLAY: records in this chunk */
    uint32_t size_max;        /* REPLAY: bytes in this chunk; one record always fits */
    bool more;                /* REPLAY, out: more records follow this chunk */

    VEC(struct backend_shard) shards;     /* APPEND; TAKE_TERM, out: if it lists them */
    VEC(struct backend_entity) entities;  /* APPEND */
    /* APPEND: in order of the appends; REPLAY, out: in order of seq */
    VEC(struct backend_record) records;
    struct buf bytes;                   /* the target of the spans */
    char error[BACKEND_ERROR_MAX];        /* out: one line for a person, empty when DONE */
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
void journal_request_free(struct journal_request *request); /* accepts null */

/* Copies bytes into the request. */
struct backend_span backend_put(struct journal_request *request, struct slice bytes);
/* The store's findings for one entity of an append; zero at first. */
struct backend_found {
    bool met;        /* one of its records was checked */
    uint64_t before; /* last sequence number stored */
    uint64_t last;   /* the same including the append's records */
    bool adds;       /* at least one record is not stored yet */
    bool conflict;
};

/* Returns an append's result for one entity, after its shard has a result and its records were
 * checked. A repetition whose records are all stored is DONE even under a higher fence: it was
 * written before that fence. */
enum backend_result backend_decide(const struct journal_request *request,
                               const struct backend_entity *entity,
                               const struct backend_found *found);
/* Returns the number below which an append deletes the entity's records, after its shards and
 * entities have results. first: the lowest stored record. 0 or `first`: none. */
uint64_t backend_cut(const struct journal_request *request,
                   const struct backend_entity *entity, uint64_t first);
/* Lent until the next backend_put, or the request's end. */
struct slice backend_slice(const struct journal_request *request,
                         struct backend_span span);
/* Sets the result of the request and of all its parts, and the error's text (null keeps it). For
 * stores and drivers. */
void backend_settle(struct journal_request *request, enum backend_result result,
                  const char *error);

/* A store's location. Texts are lent for the call of open. */
struct backend_options {
    const char *path;      /* SQLite: the file; memory: a name, shared within the process */
    /* cluster id: the first opener writes it; openers with another one are refused */
    const char *cluster;
    uint32_t lock_wait_ms; /* SQLite: longest wait for other processes' transactions; 0 = default */
};

enum backend_mode { BACKEND_WRITER, BACKEND_READER };

/* A write-ahead log that stayed at its limit, because a reader of the store never paused. */
struct backend_kept {
    uint64_t size;  /* bytes of the log; 0: no such log */
    uint64_t tries; /* failed attempts to empty it since the start */
};

/* The functions of a store. One thread at a time uses each connection. */
struct backend_ops {
    const char *name; /* "sqlite", "memory" */
    /* Opens one connection; readers after the writer. Returns null on failure, with one line in
     * error (BACKEND_ERROR_MAX bytes). */
    void *(*open)(const struct backend_options *options, enum backend_mode mode,
                  char *error);
    /* Runs APPEND, CLAIM and TAKE_TERM requests in order, as one transaction, and fills in their
     * results. A fenced or conflicting entity does not fail the others. Lent. */
    void (*write)(void *store, struct journal_request **requests, uint32_t count);
    /* Does housekeeping between two groups, after the results of the last one were handed out. May
     * be null. Updates `kept`, zero at first. */
    void (*tidy)(void *store, struct backend_kept *kept);
    /* Runs REPLAY requests. Lent. */
    void (*read)(void *store, struct journal_request **requests, uint32_t count);
    void (*close)(void *store);
};

#endif
