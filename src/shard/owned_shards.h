/* Runs the shards of one entity type that one lane owns: start, fence, drain, stop.
 * docs/protocol/shard.md describes the states.
 *
 * absent --start--> LEASING (types with leases) --leased--> CLAIMING or STARTING
 * absent --start--> CLAIMING (types that persist or remember) --claimed--> STARTING
 * absent --start--> STARTING (others)
 * STARTING --owned_take, the caller's first call after OWNED_STARTED--> RUNNING
 * RUNNING --drain--> DRAINING --all markers--> STOPPING --entities stopped--> absent
 * DRAINING --deadline--> RUNNING (the hand-off failed, nothing is dropped)
 * DRAINING --start with the same fence--> RUNNING (the coordinator gave the hand-off up)
 * STOPPING --start with a fence not older--> stops, then starts again
 * any --start with a newer fence--> as if fenced, then starts again
 * any --fenced, claim stale--> FENCED --entities stopped--> absent
 * any with a lease --lease lost--> as if fenced, then LEASING again; from STOPPING: absent
 * LEASING --drain, all markers--> RELEASING; it has no entities to stop
 * STOPPING --entities stopped--> RELEASING (types with leases) --released, deadline--> absent
 *
 * Messages enter in RUNNING and DRAINING. In LEASING, CLAIMING, STARTING, STOPPING and RELEASING
 * they wait (owned_hold): they come out first when the shard runs, or go to the routes when it has gone
 * (place_stopped). A marker is a lane's last message before it buffers, so after all markers all
 * older messages are in the mailboxes. Markers may precede the order to drain. */
#ifndef SHERD_SHARD_OWNED_SHARDS_H
#define SHERD_SHARD_OWNED_SHARDS_H

#include "base/probe.h"
#include "base/timers.h"
#include "base/trace.h"
#include "shard/attempt.h"
#include "shard/pending.h"
#include "shard/route.h"

enum owned_state {
    OWNED_ABSENT,
    OWNED_RELEASING, /* all entities have ended, and the shard's lease is given up */
    OWNED_LEASING, /* the shard's lease is asked for, again and again */
    OWNED_CLAIMING, /* the journal raises the fence, then remembered entities are read */
    OWNED_STARTING, /* OWNED_STARTED is reported; from here on entities may run */
    OWNED_RUNNING,
    OWNED_DRAINING,
    OWNED_STOPPING, /* entities get the stop message at the end of their mailboxes */
    OWNED_FENCED_STOPPING /* another owner exists; entities end at once */
};

enum claim_result {
    CLAIM_OK,
    CLAIM_STALE, /* the journal knows a newer fence */
    CLAIM_ERROR  /* the journal failed or did not answer; repeated */
};

/* Lanes 0..lanes-1 of a node, which owe markers. */
struct owing {
    uint64_t uid;
    uint32_t lanes; /* 1..LANES_MAX */
};

enum owned_news_kind {
    OWNED_LEASE,   /* take the shard's lease; then owned_leased or owned_lease_denied */
    OWNED_RELEASE, /* give it up; then owned_released */
    /* end all entities at once; place_returned with their mailboxes; then
     * owned_entities_stopped */
    OWNED_LEASE_LOST,
    /* raise the journal's fence to `fence`, or from none to the next epoch of term 0; then
     * owned_claimed */
    OWNED_CLAIM,
    OWNED_STARTED, /* owned_take until null, then mail region_shard_started */
    OWNED_STOP_ENTITIES, /* put the stop message into each mailbox; then owned_entities_stopped */
    OWNED_KILL_ENTITIES, /* the stop took too long: end the rest; then owned_entities_stopped */
    OWNED_STOPPED, /* place_stopped, then mail region_shard_stopped(attempt, true, null) */
    OWNED_DRAIN_FAILED, /* mail region_shard_stopped(attempt, false, reason) */
    /* end all entities at once; place_fenced with their mailboxes; mail region_shard_fenced;
     * owned_entities_stopped after the last */
    OWNED_FENCED
};

struct owned_news {
    enum owned_news_kind kind;
    int32_t shard;
    uint32_t ticket;        /* LEASE, RELEASE: of the answer */
    struct fence fence;     /* CLAIM, STARTED, FENCED */
    struct attempt attempt; /* STOPPED, DRAIN_FAILED */
    const char *reason;     /* a literal, or null */
};

struct owned_options {
    uint32_t shard_count;       /* 1..SHARDS_MAX */
    bool persists;              /* or remembers: a start claims first */
    uint64_t stop_timeout;      /* ns from owned_drain to a forced stop; 0 = OWNED_STOP_TIMEOUT */
    uint64_t claim_retry;       /* ns, doubles up to eight times this; 0 = OWNED_CLAIM_RETRY */
    bool leases;                /* a shard runs only while it has its lease */
    uint64_t lease_retry;       /* ns between tries to get it; 0 = OWNED_LEASE_RETRY */
    uint64_t release_timeout;   /* ns until a shard ends without the answer; 0 = the same */
    struct pending_budget *budget; /* lent; shared with the type's routes */
    struct trace *trace;        /* lent; may be null */
    const char *type;           /* name in log lines; lent; null = "" */
    struct probes *probes;      /* lent; may be null */
    uint16_t type_index;
};

struct owned_counters {
    uint64_t started;
    uint64_t stopped;
    uint64_t drains_failed;
    uint64_t fenced;
    uint64_t killed;          /* stops that took too long */
    uint64_t claim_errors;
    uint64_t leases_denied;   /* tries to get a lease that failed */
    uint64_t leases_lost;     /* shards that stopped for that */
    uint64_t stale;           /* refused orders and answers with an older fence */
    uint64_t markers;
    uint64_t markers_stale;   /* with an older fence, or repeated */
    uint64_t markers_dropped; /* oldest early markers, dropped for lack of room */
    uint64_t invalid;         /* shards out of range, lists too long */
};

struct owned_shard;
struct hosted_early;

struct owned_shards {
    uint8_t *state; /* enum owned_state, by index */
    struct owned_shard **shards; /* by index; null when absent */
    uint32_t shard_count;
    uint32_t count;
    bool persists;
    uint64_t stop_timeout;
    uint64_t claim_retry;
    bool leases;
    uint64_t lease_retry;
    uint64_t release_timeout;
    uint64_t lease_until; /* end of the certain time of all leases that are held */
    uint32_t leased;      /* number of these */
    uint32_t lease_tickets; /* the last one; a shard that ends and comes back has others */
    struct timers timers; /* id = index */
    struct pending_budget *budget;
    struct trace *trace;
    const char *type;
    struct probes *probes;
    uint16_t type_index;
    struct hosted_early *early; /* early markers, oldest first */
    uint32_t early_count;
    uint32_t early_capacity;
    struct owned_news *news;
    uint32_t news_first;
    uint32_t news_count;
    uint32_t news_capacity;
    struct owned_counters counters;
};

void owned_init(struct owned_shards *owned, const struct owned_options *options);
/* Take all waiting messages before (owned_release). Zero and null are allowed. */
void owned_fini(struct owned_shards *owned);

static inline enum owned_state owned_state(const struct owned_shards *owned,
                                             int32_t shard)
{
    int64_t index = shard_index(shard, owned->shard_count);
    return index >= 0 ? (enum owned_state)owned->state[index]
                      : OWNED_ABSENT;
}

/* Hot path: true if a message may enter its entity's mailbox here. */
static inline bool owned_accepts(const struct owned_shards *owned, int32_t shard)
{
    enum owned_state state = owned_state(owned, shard);
    return state == OWNED_RUNNING || state == OWNED_DRAINING;
}

/* True if the message must wait here until the shard runs. */
bool owned_waits(const struct owned_shards *owned, int32_t shard);
/* Keeps a message, given if true. False at a limit, or if owned_waits is false. */
bool owned_hold(struct owned_shards *owned, uint64_t now, int32_t shard,
                 struct pending_item *held);
/* Takes the next waiting message; null if none is left or the shard does not run. Call it on
 * OWNED_STARTED until null, before any other message. */
struct pending_item *owned_take(struct owned_shards *owned, int32_t shard);
/* Moves all waiting messages to the end of `queue`. */
void owned_release(struct owned_shards *owned, int32_t shard,
                    struct pending_queue *queue);
/* Appends messages from the routes, given. Only after owned_start. */
void owned_adopt(struct owned_shards *owned, int32_t shard,
                  struct pending_queue *queue);

/* REGION_HOST, through place_host, which also moves waiting messages of the lane's routes. A repeat
 * reports OWNED_STARTED again. A newer fence stops a running shard as if fenced, then starts it
 * again. */
void owned_start(struct owned_shards *owned, uint64_t now, int32_t shard,
                  struct fence fence);
/* Answers to OWNED_LEASE. until: end of the time in which this and all held leases of the type are
 * certain. */
void owned_leased(struct owned_shards *owned, uint64_t now, int32_t shard, uint32_t ticket,
                  uint64_t until);
void owned_lease_denied(struct owned_shards *owned, uint64_t now, int32_t shard, uint32_t ticket);
/* Answers OWNED_RELEASE. */
void owned_released(struct owned_shards *owned, uint64_t now, int32_t shard, uint32_t ticket);
/* All held leases are certain until then. */
void owned_leases_extended(struct owned_shards *owned, uint64_t until);
/* All held leases are lost. At `until` owned_tick finds this itself: call it before anything of an
 * entity runs. */
void owned_leases_lost(struct owned_shards *owned, uint64_t now);
/* Takes the answer to OWNED_CLAIM of `fence`; if OK, `claimed` is the journal's fence. */
void owned_claimed(struct owned_shards *owned, uint64_t now, int32_t shard,
                    struct fence fence, struct fence claimed,
                    enum claim_result result);
/* REGION_DRAIN: stops the shard after all markers of the attempt; missing ones at `deadline` fail
 * it. Copies at most OWING_MAX. A claiming shard drains after its start; an absent one is
 * OWNED_STOPPED at once. */
void owned_drain(struct owned_shards *owned, uint64_t now, int32_t shard,
                  struct attempt attempt, const struct owing *owing,
                  uint32_t count, uint64_t deadline);
/* Takes a marker from a lane of any node. The lane's older messages for the shard arrived before
 * it. */
void owned_marker(struct owned_shards *owned, uint64_t now, int32_t shard,
                   struct attempt attempt, uint64_t uid, uint32_t lane);
/* The node was removed and owes no marker any more. */
void owned_node_gone(struct owned_shards *owned, uint64_t now, uint64_t uid);
/* After OWNED_STOP_ENTITIES, OWNED_KILL_ENTITIES or OWNED_FENCED: the last entity has ended, its
 * events are durable. */
void owned_entities_stopped(struct owned_shards *owned, uint64_t now,
                             int32_t shard);
/* The journal refused a write under `fence`. */
void owned_fenced(struct owned_shards *owned, uint64_t now, int32_t shard,
                   struct fence fence);
/* Handles REGION_LOST: another owner has that fence (none: the coordinator has no fences). Like
 * owned_fenced, in any state; also cancels a start under an older fence. */
void owned_lost(struct owned_shards *owned, uint64_t now, int32_t shard,
                 struct fence fence);

void owned_tick(struct owned_shards *owned, uint64_t now);
uint64_t owned_deadline(const struct owned_shards *owned);
bool owned_next_news(struct owned_shards *owned, struct owned_news *news);

/* Returns the claimed fence, which writes carry; zero if absent. */
struct fence owned_fence(const struct owned_shards *owned, int32_t shard);
/* Returns the number of missing markers; 0 unless draining. */
uint32_t owned_owed(const struct owned_shards *owned, int32_t shard);
/* Iterates over present shards in index order; start with *at = 0. */
bool owned_next(const struct owned_shards *owned, uint32_t *at, int32_t *shard,
                 enum owned_state *state);
const char *owned_state_name(enum owned_state state);

#endif
