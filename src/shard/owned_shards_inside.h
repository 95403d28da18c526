/* Declares what the files of the owned shards share.
 * owned_shards.c  the states of a shard at its home, and the messages that wait for it
 * owned_states.c  news, and what every change of a state does
 * owned_leases.c  the shards' leases
 * marker_debts.c  markers: which lanes owe one, and early ones */
#ifndef SHERD_SHARD_OWNED_SHARDS_INSIDE_H
#define SHERD_SHARD_OWNED_SHARDS_INSIDE_H

#include "shard/owned_shards.h"

/* Lanes of one node that owe a marker. */
struct debt {
    uint64_t uid;
    uint64_t lanes;
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
    struct fence fence;     /* claimed; or the order's, for types that do not persist */
    struct fence restart;   /* of the next start, if `restarts` */
    struct attempt attempt; /* of the last drain order */
    struct debt *debts;     /* owed in that attempt */
    struct pending_queue waiting;
    uint64_t due;         /* next claim, drain failure or forced stop; NEVER = none */
    uint64_t drain_until; /* deadline of a drain that waits for the start */
    uint64_t stop_until;  /* entities that still run then are stopped by force */
    uint64_t claim_delay; /* ns to the next try */
    uint32_t lease_ticket; /* of the last request about its lease */
    bool is_leased;
    bool is_lease_asked; /* held, or perhaps: it must be given up */
    uint32_t debt_count;
    bool restarts; /* starts again after it has stopped */
    bool drains;   /* `attempt` is in progress */
    bool attempted; /* `attempt` is valid */
};

enum owned_timer {
    OWNED_TIMER_STATE,
    OWNED_TIMER_LEASE /* generation: the ticket */
};

/* --- owned_states.c --- */

int64_t owned_index(struct owned_shards *owned, int32_t shard); /* counts invalid ones: < 0 */
int32_t owned_shard_at(const struct owned_shards *owned, int64_t index);
void owned_put_news(struct owned_shards *owned, struct owned_news news);
void owned_put_fence(struct owned_shards *owned, enum owned_news_kind kind, int64_t index);
void owned_set_due(struct owned_shards *owned, int64_t index, uint64_t due);
void owned_set_state(struct owned_shards *owned, int64_t index, enum owned_state state);

/* --- owned_leases.c --- */

/* Asks for the lease, in LEASING. */
void owned_lease_ask(struct owned_shards *owned, int64_t index);
/* Asks again later. */
void owned_lease_wait(struct owned_shards *owned, uint64_t now, int64_t index);
void owned_lease_got(struct owned_shards *owned, int64_t index, uint64_t until);
/* The shard does not hold it any more, and need not give it up. */
void owned_lease_drop(struct owned_shards *owned, int64_t index);
/* Gives it up, held or asked for, in RELEASING or before the shard is absent. */
void owned_lease_give_up(struct owned_shards *owned, int64_t index);
/* Whether an answer with this ticket is about the shard's last request. */
bool owned_lease_is(const struct owned_shards *owned, int64_t index, enum owned_state state,
                    uint32_t ticket);

/* --- marker_debts.c --- */

/* Starts an attempt's debts. Counts invalid numbers of lanes. Copies. */
void marker_debts_set(struct owned_shards *owned, struct owned_shard *at,
                      const struct owing *owing, uint32_t count);
/* True if that was owed. lanes: one bit for each. */
bool marker_debts_pay(struct owned_shard *at, uint64_t uid, uint64_t lanes);
void marker_debts_forget(struct owned_shard *at);

/* Keeps a marker for a later order; drops the oldest beyond EARLY_MARKERS_MAX. Copies. */
void owned_early_keep(struct owned_shards *owned,
                       const struct hosted_early *marker);
/* Pays with the attempt's early markers; drops older attempts'. */
void owned_early_pay(struct owned_shards *owned, int32_t shard,
                      struct owned_shard *at);
void owned_early_drop_below(struct owned_shards *owned, int32_t shard,
                             struct fence fence);
void owned_early_node_gone(struct owned_shards *owned, uint64_t uid);

#endif
