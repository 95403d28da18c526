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
    uint64_t rewound;     /* highest event that a server lost, as nothing promised to keep it */
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
    uint64_t last; /* durable at the request */
};

struct check_journal {
    struct verdict *verdict;
    struct map histories; /* persistence id -> struct history */
    struct map fences;    /* type and shard -> struct fence */
    struct map terms;     /* type -> uint64_t */
    struct map uncertain_writes;    /* node and persistence id -> struct uncertain_write */
    struct fence rewound_fence; /* the highest one at the last loss of a server that promised nothing */
    uint64_t rewound_term;
    struct map refused;   /* persistence id, seq, payload's hash -> itself */
    VEC(struct replaying) replays;
    struct buf key;
    struct check_journal_counts counts;
};

#define ID(slice) (int)(slice).size, (const char *)(slice).data

uint64_t model_payload_hash(uint32_t event_type, struct slice payload);
/* The entry of that name, made if missing; the check owns it. */
struct history *model_history(struct check_journal *check, struct slice id);
struct fence *model_fence(struct check_journal *check, struct slice type,
                          struct slice shard);
uint64_t *model_term(struct check_journal *check, struct slice type);
/* Adds the next durable event. It can be read (faithful-replay), and fences do not decrease
 * (fenced-writes). */
void model_add_event(struct check_journal *check, struct history *history,
                     struct slice bytes);

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
