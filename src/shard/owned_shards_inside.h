/* The insides shared by the files of the hosted shards.
 *
 *   hosted.c        the states of a shard at its home, and what waits for it
 *   hosted_debts.c  markers: who owes one, and those that came early */
#ifndef SHERD_SHARD_OWNED_SHARDS_INSIDE_H
#define SHERD_SHARD_OWNED_SHARDS_INSIDE_H

#include "shard/owned_shards.h"

/* The lanes of one node that still owe a marker. */
struct debt {
    uint64_t uid;
    uint64_t lanes; /* a bit for each */
};

/* Markers that came before their order. */
struct hosted_early {
    int32_t shard;
    struct attempt attempt;
    uint64_t uid;
    uint64_t lanes;
};

struct owned_shard {
    struct fence order;     /* of the start that holds */
    struct fence fence;     /* claimed in the store; the order's for types that do not persist */
    struct fence restart;   /* order of the next start, when restarts */
    struct attempt attempt; /* of the last order to drain */
    struct debt *debts;     /* of that attempt */
    struct pending_queue waiting;
    uint64_t due;         /* claim again, drain fails or stop is forced; NEVER */
    uint64_t drain_until; /* deadline of a drain that waits for the shard to run */
    uint64_t claim_delay; /* ns until the next try */
    uint32_t debt_count;
    bool restarts; /* in the two stopping states: it starts again */
    bool drains;   /* the order to drain of `attempt` is being followed */
    bool attempted; /* there was an `attempt` */
};

/* --- hosted_debts.c --- */

/* What the nodes owe in the attempt that begins; what is no number of lanes is counted. Copied. */
void marker_debts_set(struct hosted *hosted, struct owned_shard *at,
                      const struct owing *owing, uint32_t count);
/* True when there was such a debt. lanes: a bit for each. */
bool marker_debts_pay(struct owned_shard *at, uint64_t uid, uint64_t lanes);
/* The attempt is over: nobody owes anything. */
void marker_debts_forget(struct owned_shard *at);

/* Keeps a marker for an order to come, at most EARLY_MARKERS_MAX: then the oldest goes, counted. Copied. */
void owned_early_keep(struct hosted *hosted,
                       const struct hosted_early *marker);
/* Pays with what was kept for the shard's attempt, and drops what was kept for attempts before it. */
void owned_early_pay(struct hosted *hosted, int32_t shard,
                      struct owned_shard *at);
void owned_early_drop_below(struct hosted *hosted, int32_t shard,
                             struct fence fence);
void owned_early_node_gone(struct hosted *hosted, uint64_t uid);

#endif
