/* The face of a store, as data: requests that a machine (a lane or control)
 * leaves, that the driver carries to the store's threads, and that come back to
 * the same machine with their result filled in.
 *
 * A request is one object from the heap, never shared: whoever holds it owns
 * it. A machine gives it to the driver, the driver gives it to the store's
 * thread and back. Every byte that it names lies in its own buffer.
 *
 * A store is a plug-in: a table of functions (struct backend_ops) that run on
 * the store's threads only. One writer joins what all machines left into one
 * transaction; readers have connections of their own. */
#ifndef SHERD_JOURNAL_BACKEND_H
#define SHERD_JOURNAL_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fence.h"
#include "base/vec.h"

#define BACKEND_ERROR_MAX 200 /* bytes of an error's text with its zero */

#define BACKEND_LAST UINT64_MAX /* as the `from` of a REPLAY: the last record alone */

enum backend_verb {
    BACKEND_APPEND = 1, /* writes records; entities of a stale shard are refused, the others stored */
    BACKEND_REPLAY,     /* reads one entity's records from a sequence number on, a chunk at a time */
    BACKEND_CLAIM,      /* raises the fence of one shard */
    BACKEND_TAKE_TERM,  /* the next term of a type's coordinator, never given twice */
};

enum backend_result {
    BACKEND_PENDING,  /* not back yet */
    BACKEND_DONE,     /* written and durable; or read; or claimed; or taken */
    BACKEND_FENCED,   /* refused, nothing written: the stored fence is higher */
    BACKEND_CONFLICT, /* refused, nothing written: that sequence number is taken by another record, or would leave a gap */
    BACKEND_UNKNOWN,  /* the commit's outcome is not known: send the request again with `again` set */
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
    uint64_t cut;               /* once they are written, its records below this number are deleted, the lowest first, at most BACKEND_CUT_MAX; in the
                                   same transaction, by nobody who is fenced. Not above the first of them. 0 or 1: none */
    struct backend_span id;       /* persistence id: type "|" id */
    enum backend_result result;   /* out: DONE, FENCED, CONFLICT, FAILED, UNKNOWN */
    uint64_t tag;               /* the asker's, not touched by others */
};

/* One record: `bytes` is what record_encode made (journal/record.h). */
struct backend_record {
    uint32_t entity; /* index into entities; 0 in a replay */
    uint64_t seq;    /* from 1, without gaps, for each persistence id */
    struct backend_span bytes;
};

struct journal_request {
    enum backend_verb verb;
    enum backend_result result; /* out, of the whole; an append also has one for each entity */
    uint32_t machine;         /* who asked: set and read by the node, 0 = control */
    uint64_t tag;             /* the asker's, not touched by others; as the next */
    uint64_t serial;
    bool again;               /* APPEND: a repetition after UNKNOWN: a record that is there already, equal byte for byte, counts as written */

    struct backend_span type;   /* CLAIM, TAKE_TERM */
    struct backend_span shard;  /* CLAIM */
    struct fence fence;       /* CLAIM: the fence wanted, out: the stored one. TAKE_TERM: term = one known to be used (or 0), out: the term taken */
    bool lists;               /* TAKE_TERM: out in shards: those of the type that were ever claimed */
    bool next;                /* CLAIM: not that fence but the next epoch after the stored one, for owners whose coordinator has no terms */

    struct backend_span id;     /* REPLAY: persistence id */
    uint64_t from;            /* REPLAY: first sequence number wanted, at least 1; or BACKEND_LAST */
    uint32_t count_max;       /* REPLAY: records in this chunk */
    uint32_t size_max;        /* REPLAY: bytes in this chunk; one record always fits */
    bool more;                /* REPLAY, out: records beyond this chunk exist */

    VEC(struct backend_shard) shards;     /* APPEND; TAKE_TERM, out: if it lists them */
    VEC(struct backend_entity) entities;  /* APPEND */
    VEC(struct backend_record) records;   /* APPEND: in order of the appends; REPLAY, out: in order of seq */
    struct buf bytes;                   /* what the spans point into */
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
void journal_request_free(struct journal_request *request); /* null is fine */

/* Copies bytes into the request. */
struct backend_span backend_put(struct journal_request *request, struct slice bytes);
/* What a store has found for one entity of an append; zero at first. */
struct backend_found {
    bool met;        /* there is a record for it that was looked at */
    uint64_t before; /* last sequence number stored */
    uint64_t last;   /* the same with the records of the append */
    bool adds;       /* at least one record is not stored yet */
    bool conflict;
};

/* The result of an append for one of its entities, whose shard has its result and whose records were looked at. A repetition
 * whose records are all there was written before a higher fence came, so that fence does not refuse it. */
enum backend_result backend_decide(const struct journal_request *request,
                               const struct backend_entity *entity,
                               const struct backend_found *found);
/* The records of an entity below this number are to be deleted with an append, whose shards and entities have their results. first: the
 * lowest that is stored. 0 or `first`: none. */
uint64_t backend_cut(const struct journal_request *request,
                   const struct backend_entity *entity, uint64_t first);
/* Lent until the next backend_put, or the request's end. */
struct slice backend_slice(const struct journal_request *request,
                         struct backend_span span);
/* Sets the result of the request and of everything in it, and the error's
 * text (null keeps it). For stores and drivers. */
void backend_settle(struct journal_request *request, enum backend_result result,
                  const char *error);

/* Where a store is. Texts are lent for the call of open. */
struct backend_options {
    const char *path;      /* SQLite: the file; memory: a name, shared within the process */
    const char *cluster;   /* cluster id: the first opener writes it, another one is refused */
    uint32_t lock_wait_ms; /* SQLite: longest wait for other processes' transactions; 0 = default */
};

enum backend_mode { BACKEND_WRITER, BACKEND_READER };

/* A log that could not be emptied at its limit, because somebody is in the midst of a read of the store. */
struct backend_kept {
    uint64_t size;  /* bytes of the log; 0: there is none such */
    uint64_t tries; /* to empty it, in vain, since the start */
};

/* The functions of a store. Each opened one is used by one thread at a time. */
struct backend_ops {
    const char *name; /* "sqlite", "memory" */
    /* Opens one connection; readers after the writer. Null when it failed,
     * with one line in error (BACKEND_ERROR_MAX bytes). */
    void *(*open)(const struct backend_options *options, enum backend_mode mode,
                  char *error);
    /* Runs APPEND, CLAIM and TAKE_TERM requests, in their order, as one
     * transaction, and fills in their results. One fenced or conflicting
     * entity does not fail the others. Lent. */
    void (*write)(void *store, struct journal_request **requests, uint32_t count);
    /* Housekeeping between two groups, after the results of the last one were
     * handed out. May be null. `kept`: what it came to the last time, brought up
     * to date; zero at first. */
    void (*tidy)(void *store, struct backend_kept *kept);
    /* Runs REPLAY requests. Lent. */
    void (*read)(void *store, struct journal_request **requests, uint32_t count);
    void (*close)(void *store);
};

#endif
