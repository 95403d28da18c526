/* Declares what the files of the owned shards share.
 * owned_shards.c  the states of a shard at its home, and the messages that wait for it
 * marker_debts.c  markers: which lanes owe one, and early ones */
#ifndef SHERD_SHARD_OWNED_SHARDS_INSIDE_H
#define SHERD_SHARD_OWNED_SHARDS_INSIDE_H

#include "shard/owned_shards.h"

/* The lanes of one node that owe a marker. */
struct debt {
    uint64_t uid;
    uint64_t lanes; /* one bit for each */
};

/* Markers that arrived before their order. */
struct hosted_early {
    int32_t shard;
    struct attempt attempt;
    uint64_t uid;
    uint64_t lanes;
};

struct owned_shard {
    struct fence order;     /* fence of the valid start order */
    struct fence fence;     /* the claimed fence; the order's for types that do not persist */
    struct fence restart;   /* fence of the next start, if `restarts` */
    struct attempt attempt; /* the last order to drain */
    struct debt *debts;     /* owed in that attempt */
    struct pending_queue waiting;
    uint64_t due;         /* next claim, failure of the drain, or forced stop; NEVER = none */
    uint64_t drain_until; /* deadline of a drain that waits until the shard runs */
    uint64_t claim_delay; /* ns to the next try */
    uint32_t debt_count;
    bool restarts; /* in the two stopping states: starts again afterwards */
    bool drains;   /* follows the order to drain of `attempt` */
    bool attempted; /* `attempt` is valid */
};

/* --- marker_debts.c --- */

/* Sets the debts of an attempt that begins. Counts invalid numbers of lanes. Copies. */
void marker_debts_set(struct hosted *hosted, struct owned_shard *at,
                      const struct owing *owing, uint32_t count);
/* Returns true if there was such a debt. lanes: one bit for each. */
bool marker_debts_pay(struct owned_shard *at, uint64_t uid, uint64_t lanes);
/* Ends the attempt: nothing is owed any more. */
void marker_debts_forget(struct owned_shard *at);

/* Keeps a marker for a later order. Beyond EARLY_MARKERS_MAX it drops the oldest and counts it.
 * Copies. */
void owned_early_keep(struct hosted *hosted,
                       const struct hosted_early *marker);
/* Pays with early markers for the shard's attempt, and drops those for earlier attempts. */
void owned_early_pay(struct hosted *hosted, int32_t shard,
                      struct owned_shard *at);
void owned_early_drop_below(struct hosted *hosted, int32_t shard,
                             struct fence fence);
void owned_early_node_gone(struct hosted *hosted, uint64_t uid);

#endif
