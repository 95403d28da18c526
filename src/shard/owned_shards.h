/* Runs the shards of one entity type that one lane owns: start, fence, drain, stop. Part of a lane
 * machine.
 *
 * absent --start--> CLAIMING (types that persist or remember) --claimed--> STARTING
 * absent --start--> STARTING (others)
 * STARTING --owned_take, the caller's first call after HOSTED_STARTED--> RUNNING
 * RUNNING --drain--> DRAINING --all markers--> STOPPING --entities stopped--> absent
 * DRAINING --deadline--> RUNNING (the hand-off failed, nothing is dropped)
 * DRAINING --start with the same fence--> RUNNING (the coordinator gave the hand-off up)
 * STOPPING --start with a fence not older--> stops as before, then starts again
 * any --start with a newer fence--> as if fenced, then starts again
 * any --fenced, claim stale--> FENCED --entities stopped--> absent
 *
 * A shard accepts messages in RUNNING and DRAINING. While it claims, starts or stops, messages wait
 * here (owned_hold). They come out first when it runs, or go to the routes when it has gone
 * (place_stopped). A marker is the last message of a sending lane before that lane holds. When all
 * owed markers are in, all older messages are in the mailboxes. Markers may arrive before the order
 * to drain.
 *
 * docs/protocol/shard.md describes the states and the hand-off. */
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
    HOSTED_CLAIMING, /* the store raises the shard's fence, then its remembered entities are read */
    /* HOSTED_STARTED is reported, the caller has not acted on it; from here on entities may run */
    HOSTED_STARTING,
    HOSTED_RUNNING,
    HOSTED_DRAINING, /* markers are missing */
    HOSTED_STOPPING, /* entities get the stop message after their mailboxes' messages */
    HOSTED_FENCED_STOPPING /* another owner exists: entities end at once */
};

enum claim_result {
    CLAIM_OK,
    CLAIM_STALE, /* the store knows a newer fence */
    CLAIM_ERROR  /* the store failed or did not answer; repeated later */
};

/* The lanes 0..lanes-1 of a node, which owe markers. */
struct owing {
    uint64_t uid;
    uint32_t lanes; /* 1..LANES_MAX */
};

enum owned_news_kind {
    /* raise the shard's fence in the store to `fence`, or if that is none, to the next epoch of
     * term 0; answer with owned_claimed */
    HOSTED_CLAIM,
    /* runs under `fence`: first take the waiting messages (owned_take until null), then mail
     * region_shard_started */
    HOSTED_STARTED,
    /* give every entity its stop message, after its mailbox's messages; then
     * owned_entities_stopped */
    HOSTED_STOP_ENTITIES,
    /* the stop took too long: end the remaining entities; then owned_entities_stopped */
    HOSTED_KILL_ENTITIES,
    /* absent now: place_stopped, then mail region_shard_stopped(attempt, true, null) */
    HOSTED_STOPPED,
    /* mail region_shard_stopped(attempt, false, reason); the shard continues */
    HOSTED_DRAIN_FAILED,
    /* end all its entities at once, pass their mailboxes to place_fenced, mail region_shard_fenced,
     * and call owned_entities_stopped when the last has ended */
    HOSTED_FENCED
};

struct owned_news {
    enum owned_news_kind kind;
    int32_t shard;
    struct fence fence;     /* CLAIM, STARTED, FENCED */
    struct attempt attempt; /* STOPPED, DRAIN_FAILED */
    const char *reason;     /* a literal, or null */
};

struct owned_options {
    uint32_t shard_count;       /* shards of the type, 1..SHARDS_MAX */
    bool persists;              /* or remembers: a start claims first */
    uint64_t stop_timeout;      /* ns; 0 = HOSTED_STOP_TIMEOUT */
    uint64_t claim_retry;       /* ns, doubled up to eight times this; 0 = HOSTED_CLAIM_RETRY */
    struct pending_budget *budget; /* lent for its lifetime; shared with the type's routes */
    struct trace *trace;        /* lent likewise; may be null */
    const char *type;           /* name in log lines; lent likewise; null = "" */
    struct probes *probes;      /* lent likewise; may be null */
    uint16_t type_index;        /* for probes */
};

struct owned_counters {
    uint64_t started;
    uint64_t stopped;
    uint64_t drains_failed;
    uint64_t fenced;
    uint64_t killed;          /* stops that took too long */
    uint64_t claim_errors;
    uint64_t stale;           /* refused orders and answers with an older fence */
    uint64_t markers;         /* taken */
    uint64_t markers_stale;   /* with an older fence, or repeated */
    uint64_t markers_dropped; /* early ones, oldest first, when there was no room */
    uint64_t invalid;         /* shards out of range, lists that are too long */
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
    struct hosted_early *early; /* markers that arrived before their order, oldest first */
    uint32_t early_count;
    uint32_t early_capacity;
    struct owned_news *news;
    uint32_t news_first;
    uint32_t news_count;
    uint32_t news_capacity;
    struct owned_counters counters;
};

void owned_init(struct hosted *hosted, const struct owned_options *options);
/* Take all waiting messages before (owned_release). Accepts null and zero. */
void owned_fini(struct hosted *hosted);

static inline enum owned_state owned_state(const struct hosted *hosted,
                                             int32_t shard)
{
    int64_t index = shard_index(shard, hosted->shard_count);
    return index >= 0 ? (enum owned_state)hosted->state[index]
                      : HOSTED_ABSENT;
}

/* The hot path: true if a message for the shard may enter its entity's mailbox on this lane. */
static inline bool owned_accepts(const struct hosted *hosted, int32_t shard)
{
    enum owned_state state = owned_state(hosted, shard);
    return state == HOSTED_RUNNING || state == HOSTED_DRAINING;
}

/* True if the message must wait here until the shard runs (owned_hold). */
bool owned_waits(const struct hosted *hosted, int32_t shard);
/* Keeps a message until the shard starts; given if true. Returns false at a limit, or if
 * owned_waits is false. */
bool owned_hold(struct hosted *hosted, uint64_t now, int32_t shard,
                 struct held *held);
/* Returns the next message that waited, now the caller's; null if none is left or the shard does
 * not run. Call it on HOSTED_STARTED until it returns null, before any other message; until then
 * messages wait. */
struct held *owned_take(struct hosted *hosted, int32_t shard);
/* Moves all waiting messages to the end of `queue`, in any state. */
void owned_release(struct hosted *hosted, int32_t shard,
                    struct pending_queue *queue);
/* Appends messages that waited in the routes; given. Only after owned_start. */
void owned_adopt(struct hosted *hosted, int32_t shard,
                  struct pending_queue *queue);

/* Handles REGION_HOST. Called by place_host (place.h), which also moves the messages that wait in
 * the lane's routes. A repeat for a shard that runs under that fence reports HOSTED_STARTED again.
 * A newer fence stops a running shard as if it were fenced, and then starts it again. */
void owned_start(struct hosted *hosted, uint64_t now, int32_t shard,
                  struct fence fence);
/* Takes the store's answer to HOSTED_CLAIM of `fence`; `claimed` is the store's present fence (if
 * OK). */
void owned_claimed(struct hosted *hosted, uint64_t now, int32_t shard,
                    struct fence fence, struct fence claimed,
                    enum claim_result result);
/* Handles REGION_DRAIN: stops the shard after all markers of the attempt have arrived. Copies
 * `owing`, at most OWING_MAX. The attempt fails if any is missing at `deadline`. A shard that
 * claims drains after its start; an absent one reports HOSTED_STOPPED at once. */
void owned_drain(struct hosted *hosted, uint64_t now, int32_t shard,
                  struct attempt attempt, const struct owing *owing,
                  uint32_t count, uint64_t deadline);
/* Takes a marker of a lane, of this node or another. Older messages of the lane for the shard
 * arrived here before it. */
void owned_marker(struct hosted *hosted, uint64_t now, int32_t shard,
                   struct attempt attempt, uint64_t uid, uint32_t lane);
/* A node was removed and owes no marker. */
void owned_node_gone(struct hosted *hosted, uint64_t now, uint64_t uid);
/* Reports, after HOSTED_STOP_ENTITIES, HOSTED_KILL_ENTITIES or HOSTED_FENCED, that the last entity
 * has ended and its events are durable. */
void owned_entities_stopped(struct hosted *hosted, uint64_t now,
                             int32_t shard);
/* The store refused a write of this shard because `fence` is stale. */
void owned_fenced(struct hosted *hosted, uint64_t now, int32_t shard,
                   struct fence fence);
/* Handles REGION_LOST: another owner has the shard under that fence (none: from a coordinator
 * without fences). Acts like owned_fenced, in any state, and cancels a start that was ordered under
 * an older fence. */
void owned_lost(struct hosted *hosted, uint64_t now, int32_t shard,
                 struct fence fence);

void owned_tick(struct hosted *hosted, uint64_t now);
uint64_t owned_deadline(const struct hosted *hosted);
bool owned_next_news(struct hosted *hosted, struct owned_news *news);

/* Returns the claimed fence, which the shard's writes carry; zero if absent. */
struct fence owned_fence(const struct hosted *hosted, int32_t shard);
/* Returns the number of missing markers; 0 unless it drains. */
uint32_t owned_owed(const struct hosted *hosted, int32_t shard);
/* Iterates over the shards that are not absent, in index order; start with *at = 0. */
bool owned_next(const struct hosted *hosted, uint32_t *at, int32_t *shard,
                 enum owned_state *state);
const char *owned_state_name(enum owned_state state); /* a literal */

#endif
