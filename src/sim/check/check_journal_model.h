/* Models a journal for check_journal*.c: histories as hashes, fences, terms, and writes of which a
 * node does not know the outcome. */
#ifndef SHERD_SIM_CHECK_JOURNAL_MODEL_H
#define SHERD_SIM_CHECK_JOURNAL_MODEL_H

#include "base/map.h"
#include "base/vec.h"
#include "sim/check/check_journal.h"

struct event {
    uint64_t bytes;   /* hash of the record */
    uint64_t payload; /* hash of the event and its type */
};

/* One persistence id. */
struct history {
    struct slice id;      /* own copy */
    uint64_t key;         /* record_key */
    struct fence fence;   /* of the last record */
    uint64_t trimmed;     /* lowest event that stays behind a snapshot; 0: all do */
    VEC(struct event) events;
};

enum uncertain_state {
    DOUBT_OPEN,  /* the outcome is unknown */
    DOUBT_ASKED, /* the repetition is in flight */
    DOUBT_READ   /* it failed, so a replay must show the outcome */
};

/* Events of one entity with an outcome that a node does not know. */
struct uncertain_write {
    enum uncertain_state state;
    uint32_t node;
    struct slice id; /* own copy */
    uint64_t first;  /* sequence number */
    bool was_read;   /* by another node, which may report it to clients */
    VEC(struct event) events;
};

/* A replay in flight. */
struct replaying {
    const struct journal_request *request;
    uint32_t node;
    uint64_t last; /* durable at the request, and not lost since */
    uint64_t trimmed; /* of the history, when its server lost commits; else 0 */
};

/* A shard's fence. */
struct shard_fence {
    struct fence now;
    struct fence lost; /* the highest one that a server lost, as nothing promised to keep it */
};

/* A type's term, likewise. */
struct type_term {
    uint64_t now, lost;
};

struct check_journal {
    struct verdict *verdict;
    struct map histories; /* persistence id -> struct history */
    struct map fences;    /* type and shard -> struct shard_fence */
    struct map terms;     /* type -> struct type_term */
    struct map uncertain_writes;    /* node and persistence id -> struct uncertain_write */
    struct map refused;   /* persistence id, seq, payload's hash -> itself */
    struct map lost;      /* the same, and with the record's hash: events that a server lost */
    VEC(struct replaying) replays;
    struct buf key;
    struct check_journal_counts counts;
};

#define ID(slice) (int)(slice).size, (const char *)(slice).data

uint64_t model_payload_hash(uint32_t event_type, struct slice payload);
/* The entry of that name, made if missing; the check owns it. */
struct history *model_history(struct check_journal *check, struct slice id);
struct shard_fence *model_fence(struct check_journal *check, struct slice type,
                                struct slice shard);
/* The parts of a key of check->fences. */
void model_fence_key(struct slice key, struct slice *type, struct slice *shard);
struct type_term *model_term(struct check_journal *check, struct slice type);
/* Key of an event with that hash, lent until the next key. */
struct slice model_event_key(struct check_journal *check, struct slice id, uint64_t seq,
                             uint64_t hash);
/* Adds the next durable event. It can be read (faithful-replay), and fences do not decrease
 * (fenced-writes). */
void model_add_event(struct check_journal *check, struct history *history,
                     struct slice bytes);
/* A server took over that has fewer commits, and promised nothing about the others. Nodes and clients
 * may still name the lost events, fences and terms, and no others. */
void model_rewind(struct check_journal *check, const struct book *book);
/* Whether a server lost the event with that hash of its record, or of its payload. */
bool model_is_lost(struct check_journal *check, struct slice id, uint64_t seq, uint64_t hash);

/* Null if the node knows all outcomes of that entity. */
struct uncertain_write *uncertain_find(struct check_journal *check, uint32_t node,
                                       struct slice id);
/* The outcome of an append is unknown for one entity. An open doubt changes only its state. */
void uncertain_open(struct check_journal *check, uint32_t node,
                    const struct journal_request *request, uint32_t entity);
void uncertain_end(struct check_journal *check, struct uncertain_write *uncertain); /* removes it */
void uncertain_free(struct uncertain_write *uncertain);
/* Adds the records of one entity in an append; key: of its id. */
void uncertain_records(const struct journal_request *request, uint32_t entity,
                       uint64_t key, struct uncertain_write *uncertain);
/* Whether both have the same records. */
bool uncertain_equal(const struct uncertain_write *left, const struct uncertain_write *right);

#endif
