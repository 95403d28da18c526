/* The shards of one entity type that one lane owns: start, fence, drain, stop. Lane machine.
 *
 *   absent --start--> CLAIMING (types that persist, or remember) --claimed--> STARTING
 *   absent --start--> STARTING (others)
 *   STARTING --owned_take, the caller's first on HOSTED_STARTED--> RUNNING
 *   RUNNING --drain--> DRAINING --all markers--> STOPPING --entities stopped--> absent
 *   DRAINING --deadline--> RUNNING (the hand-off failed, nothing is dropped)
 *   DRAINING --start with the same fence--> RUNNING (the coordinator gave the hand-off up)
 *   STOPPING --start with a fence not older--> as before, and once stopped it starts again
 *   any --start with a newer fence--> as fenced, and once stopped it starts again
 *   any --fenced, claim stale--> FENCED --entities stopped--> absent
 *
 * Messages are accepted in RUNNING and DRAINING. While a shard claims, starts or stops, those that arrive wait here (owned_hold): they
 * come out first once it runs (again), or go to the routes when it is gone (place_stopped). A marker is each sending lane's last word before it began to
 * hold: when all that are owed are in, all older messages are in the mailboxes. Markers may come before the order to drain.
 * Behaviour 17.1, 17.7; architecture "hand-off loses nothing", "fencing". */
#ifndef SHERD_SHARD_OWNED_SHARDS_H
#define SHERD_SHARD_OWNED_SHARDS_H

#include "base/probe.h"
#include "base/timers.h"
#include "base/trace.h"
#include "shard/attempt.h"
#include "shard/pending.h"
#include "shard/route.h"

enum owned_state {
    HOSTED_ABSENT,
    HOSTED_CLAIMING, /* the store raises the shard's fence, and its remembered entities are read under it */
    HOSTED_STARTING, /* HOSTED_STARTED is told, and not yet acted on; from here on entities may run */
    HOSTED_RUNNING,
    HOSTED_DRAINING, /* markers are outstanding */
    HOSTED_STOPPING, /* entities get the stop message behind their mailboxes */
    HOSTED_FENCED_STOPPING /* another owner exists: entities end at once */
};

enum claim_result {
    CLAIM_OK,
    CLAIM_STALE, /* the store knows a newer fence */
    CLAIM_ERROR  /* the store did not answer or failed: tried again */
};

/* Who owes markers: lanes 0..lanes-1 of a node. */
struct owing {
    uint64_t uid;
    uint32_t lanes; /* 1..LANES_MAX */
};

enum owned_news_kind {
    HOSTED_CLAIM, /* raise the shard's fence in the store to `fence`; given none: to the next epoch of term 0; then owned_claimed */
    HOSTED_STARTED, /* runs under `fence`: first take what waits (owned_take until null), then mail region_shard_started */
    HOSTED_STOP_ENTITIES, /* every entity gets its stop message behind its mailbox; then owned_entities_stopped */
    HOSTED_KILL_ENTITIES, /* the stop took too long: end those that are left; then owned_entities_stopped */
    HOSTED_STOPPED, /* gone; place_stopped, then mail region_shard_stopped(attempt, true, null) */
    HOSTED_DRAIN_FAILED, /* mail region_shard_stopped(attempt, false, reason); the shard runs on */
    HOSTED_FENCED /* end all its entities at once, place_fenced with what waits in their mailboxes, mail region_shard_fenced, and
                   * owned_entities_stopped when the last has ended */
};

struct owned_news {
    enum owned_news_kind kind;
    int32_t shard;
    struct fence fence;     /* CLAIM, STARTED, FENCED */
    struct attempt attempt; /* STOPPED, DRAIN_FAILED */
    const char *reason;     /* a literal, or null */
};

struct owned_options {
    uint32_t shard_count;       /* of the type, 1..SHARDS_MAX */
    bool persists;              /* or remembers: a start claims first */
    uint64_t stop_timeout;      /* ns; 0: HOSTED_STOP_TIMEOUT */
    uint64_t claim_retry;       /* ns, doubled up to eight times that; 0: HOSTED_CLAIM_RETRY */
    struct pending_budget *budget; /* lent for life; shared with the type's routes */
    struct trace *trace;        /* lent for life; may be null */
    const char *type;           /* of lines in it; lent for life; null: "" */
    struct probes *probes;      /* the same */
    uint16_t type_index;        /* for probes */
};

struct owned_counters {
    uint64_t started;
    uint64_t stopped;
    uint64_t drains_failed;
    uint64_t fenced;
    uint64_t killed;          /* stops that took too long */
    uint64_t claim_errors;
    uint64_t stale;           /* orders and answers of an older fence, refused */
    uint64_t markers;         /* taken in */
    uint64_t markers_stale;   /* of an older fence, or repeated */
    uint64_t markers_dropped; /* the oldest early one, for want of room */
    uint64_t invalid;         /* shard out of range, or a list that is too long */
};

struct owned_shard; /* private */
struct hosted_early;

struct hosted {
    uint8_t *state; /* enum owned_state by index */
    struct owned_shard **shards; /* by index; null when absent */
    uint32_t shard_count;
    uint32_t count; /* shards that are not absent */
    bool persists;
    uint64_t stop_timeout;
    uint64_t claim_retry;
    struct timers timers; /* id = index */
    struct pending_budget *budget;
    struct trace *trace;
    const char *type;
    struct probes *probes;
    uint16_t type_index;
    struct hosted_early *early; /* markers before their order, oldest first */
    uint32_t early_count;
    uint32_t early_capacity;
    struct owned_news *news;
    uint32_t news_first;
    uint32_t news_count;
    uint32_t news_capacity;
    struct owned_counters counters;
};

void owned_init(struct hosted *hosted, const struct owned_options *options);
/* What waits must have been taken (owned_release). Null and zero are fine. */
void owned_fini(struct hosted *hosted);

static inline enum owned_state owned_state(const struct hosted *hosted,
                                             int32_t shard)
{
    int64_t index = shard_index(shard, hosted->shard_count);
    return index >= 0 ? (enum owned_state)hosted->state[index]
                      : HOSTED_ABSENT;
}

/* The hot path: may a message for the shard enter its entity's mailbox on this lane? */
static inline bool owned_accepts(const struct hosted *hosted, int32_t shard)
{
    enum owned_state state = owned_state(hosted, shard);
    return state == HOSTED_RUNNING || state == HOSTED_DRAINING;
}

/* Must it wait here for the shard to run (owned_hold)? */
bool owned_waits(const struct hosted *hosted, int32_t shard);
/* Lets a message wait for the shard's start, given when true. False: a limit is reached, or owned_waits is false. */
bool owned_hold(struct hosted *hosted, uint64_t now, int32_t shard,
                 struct held *held);
/* The next message that waited, once the shard has started: now the caller's; null when none is left or it does not run. To be
 * called on HOSTED_STARTED until it gives null, before another message is looked at; until then messages wait. */
struct held *owned_take(struct hosted *hosted, int32_t shard);
/* Moves all that waits, in any state, behind `queue`. */
void owned_release(struct hosted *hosted, int32_t shard,
                    struct pending_queue *queue);
/* Puts messages that waited in the routes behind those that wait here; given. After owned_start only. */
void owned_adopt(struct hosted *hosted, int32_t shard,
                  struct pending_queue *queue);

/* REGION_HOST, by way of place_host (place.h), which also moves what waits in the lane's routes. Repeated for a shard that runs
 * under that fence: HOSTED_STARTED again. A newer fence for one that runs: it claims again and goes on running. */
void owned_start(struct hosted *hosted, uint64_t now, int32_t shard,
                  struct fence fence);
/* The store's answer to HOSTED_CLAIM of `fence`; `claimed` is the fence that the store now has (when OK). */
void owned_claimed(struct hosted *hosted, uint64_t now, int32_t shard,
                    struct fence fence, struct fence claimed,
                    enum claim_result result);
/* REGION_DRAIN: stops the shard once all markers of the attempt are in; owing is copied, at most OWING_MAX. Missing ones at
 * `deadline` fail it. A shard that claims drains after it has started; absent: HOSTED_STOPPED at once. */
void owned_drain(struct hosted *hosted, uint64_t now, int32_t shard,
                  struct attempt attempt, const struct owing *owing,
                  uint32_t count, uint64_t deadline);
/* A marker of a lane of a node, own lanes included: its older messages for the shard have been delivered here before it. */
void owned_marker(struct hosted *hosted, uint64_t now, int32_t shard,
                   struct attempt attempt, uint64_t uid, uint32_t lane);
/* A removed node owes no marker. */
void owned_node_gone(struct hosted *hosted, uint64_t now, uint64_t uid);
/* After HOSTED_STOP_ENTITIES, HOSTED_KILL_ENTITIES or HOSTED_FENCED: the last entity has ended and its events are durable. */
void owned_entities_stopped(struct hosted *hosted, uint64_t now,
                             int32_t shard);
/* The store refused a write of this shard because its fence `fence` is stale. */
void owned_fenced(struct hosted *hosted, uint64_t now, int32_t shard,
                   struct fence fence);
/* REGION_LOST: another owner has the shard under that fence (none: a coordinator without fences says so). As owned_fenced, in
 * any state; a start that was ordered under an older fence does not happen. */
void owned_lost(struct hosted *hosted, uint64_t now, int32_t shard,
                 struct fence fence);

void owned_tick(struct hosted *hosted, uint64_t now);
uint64_t owned_deadline(const struct hosted *hosted);
bool owned_next_news(struct hosted *hosted, struct owned_news *news);

/* The fence that writes of the shard carry: the one claimed. Zero when absent. */
struct fence owned_fence(const struct hosted *hosted, int32_t shard);
/* Markers that are still outstanding; 0 unless draining. */
uint32_t owned_owed(const struct hosted *hosted, int32_t shard);
/* Walks the shards that are not absent, in order of their index: start with *at = 0. */
bool owned_next(const struct hosted *hosted, uint32_t *at, int32_t *shard,
                 enum owned_state *state);
const char *owned_state_name(enum owned_state state); /* a literal */

#endif
