/* Makes traffic of every kind with entities and client actors on production nodes. Each message and
 * reply carries a token (token.h) for check_message.h. The actors check the rest:
 *
 *   ask-ends-once        an ask ends once, with a reply or at its time-out, before later ones
 *   watch-ends-once      SHERD_TERMINATED comes once for each watch of an ended actor, never after
 *                        an unwatch, and never for a live actor, unless its node or the watcher's
 *                        is given up or leaving
 *   same-incarnation     timers, replies and job results reach the incarnation that asked
 *   timer-on-time        a timer fires by its node's clock, not early, before later ones, unless it
 *                        is cancelled or replaced, or its incarnation ends
 *   job-runs-once        a job runs at most once, after its event is stored, and is released when
 *                        its node or actor has ended; a live actor hears of its end
 *   faithful-replay      a recovered entity has applied exactly the stored events
 *   bounded-buffers      a region's waiting messages are within its buffer
 *   undelivered-notice   a sender that asks for it hears of each undelivered message that has not
 *                        left its node
 *   stop-notice          an entity that neither persists nor is remembered hears before it ends,
 *                        unless its time-out or its node ended
 *   body-intact          a message arrives with its body
 *   stop-after-messages  a stopped actor first gets all earlier messages
 *   rejected-event       an entity handles nothing after it has rejected an event, and the callers of
 *                        an entity that cannot be recovered learn why
 *   recovery-limit       a node has at most as many recoveries at a time as it may, and each one that
 *                        has started runs or has ended once
 *   right-receiver       the asked entity replies, and its shard is the one of its id
 *
 * Behaviors are constants without a user pointer, so a process has one workload at a time. All
 * decisions come from its seed. The driver of a world reports the nodes (workload_world.h). */
#ifndef SHERD_SIM_WORKLOAD_H
#define SHERD_SIM_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/sherd.h>

#include "base/bytes.h"
#include "shard/allocation.h"
#include "sim/check/check_message.h"
#include "sim/seed/traffic.h"

struct workload;

const char *workload_op_text(enum workload_op op); /* a constant */

/* Zero is a default for each. */
struct workload_settings {
    uint64_t seed;
    uint32_t weights[WORKLOAD_OP_COUNT]; /* relative frequency of each; all zero: a mix */
    uint32_t types;       /* a set of 1 << enum workload_type; 0: all that are not remembered */
    uint32_t ids;         /* entities of each type; default 100 */
    uint32_t kept_ids;    /* the same for remembered types; default 64 */
    bool skewed;          /* a few entities get most of the traffic */
    uint32_t clients;     /* on each node, over its lanes; default 2 */
    uint64_t interval_ms; /* mean time between two bursts of a client; default 100 */
    uint32_t burst_max;   /* ops in a burst; default 4 */
    uint32_t body_max;    /* bytes of a body without its token; most are short; default 200 */
    uint32_t ask_ms_max;  /* the longest time-out of asks; default 10,000 */
    uint32_t storm;       /* messages of one storm; default 500 */
    uint32_t shards;      /* of each type; default 20 */
    /* of all types: workload_extractor, or null */
    const struct sherd_extractor *extractor;
    uint32_t mailbox_max; /* these two as in sherd_entity_type */
    uint64_t idle_ms;
    uint32_t slow_stop_ms; /* longest end of an entity with a stop message; default 2000 */
    bool has_no_types;    /* no entity types, and no clients */
    uint32_t callers;      /* plain actors of each node that send to each other; 0: none */
    bool callers_start;    /* they start entities, too */
    /* Time that one entity in sixteen takes to stop, if longer than slow_stop_ms; 0: no such entity. */
    uint32_t stubborn_ms;
    bool event_versions;       /* events have several versions, and old ones are upcast */
    uint32_t event_rejections; /* with them: entities reject one of so many events; 0: none */
    uint32_t snapshot_every;   /* events from one snapshot of an entity to the next; 0: none */
    uint32_t snapshots_kept;   /* of each entity; 0: the default */
    bool snapshot_trims;       /* they replace events, */
    uint64_t snapshot_margin;  /* but for so many */
    bool type_strategies;      /* some types choose how their entities are passivated */
    uint32_t recoveries_max;   /* of each node at a time, as in its settings */
    /* The kind of each type, by its index; all zero: least shards. custom: the strategy of
     * ALLOCATION_CUSTOM, lent for life. */
    enum allocation_kind allocations[WORKLOAD_TYPE_COUNT];
    const struct sherd_allocation_strategy *custom;
};

/* Names shards by texts, and finds the entity of a tell. */
extern const struct sherd_extractor workload_extractor;

/* Null members are skipped, except violation and now. */
struct workload_hooks {
    void *user;
    check_violation *violation;
    uint64_t (*now)(void *user); /* ns, for reports */
    /* Whether others may consider a running node gone: given up, or leaving. Null: never. */
    bool (*is_parting)(void *user, uint32_t node);
    /* A client of that node heard that an entity stored an event. type and id are texts; lent. */
    void (*acknowledged)(void *user, uint32_t node, const char *type,
                         const char *id, uint64_t seq, uint32_t event_type,
                         struct slice event);
    /* An entity has handled something. */
    void (*runs)(void *user, uint32_t node, const char *type, struct slice id);
    /* A persistent entity started with that many stored events, of that hash (check_recovery_fold),
     * and from the snapshot with that number (0: none). As above. */
    void (*recovered)(void *user, uint32_t node, const char *type,
                      const char *id, uint64_t events, uint64_t snapshot, uint64_t hash);
};

struct workload_counts {
    uint64_t ops[WORKLOAD_OP_COUNT];
    uint64_t asks;
    uint64_t answers;
    uint64_t no_answers[SHERD_REASON_COUNT];
    uint64_t asks_dropped; /* their asker ended with its node */
    uint64_t skipped;      /* too many asks were open */
    uint64_t acknowledged;
    uint64_t started;      /* incarnations of entities */
    uint64_t watches;
    uint64_t terminated;
    uint64_t undelivered;  /* SHERD_UNDELIVERED that clients got */
    uint64_t timers;       /* timers that entities got */
    uint64_t jobs;         /* started */
    uint64_t jobs_heard;   /* results that entities got */
    uint64_t clients;      /* ever started */
    uint64_t calls;        /* acts of callers */
    uint64_t calls_passed; /* messages that they passed on */
    uint64_t calls_stopped; /* actors that they stopped */
};

/* check is lent for life; settings and hooks are copied. Free the nodes before the workload. */
struct workload *workload_new(const struct workload_settings *settings,
                              const struct workload_hooks *hooks,
                              struct check_message *check);
void workload_free(struct workload *workload);
/* The types of the workload's nodes; lent for life. */
const struct sherd_entity_type *workload_types(const struct workload *workload,
                                               uint32_t *count);
const struct workload_settings *workload_settings_of(
    const struct workload *workload); /* with the defaults filled in; lent */
/* Nodes that start from now on have that many shards of each type; none lives at the call. */
void workload_set_shards(struct workload *workload, uint32_t count);
struct check_message *workload_check(const struct workload *workload);

/* ---- nodes ---- */

void workload_node_started(struct workload *workload, uint32_t node,
                           uint64_t uid);
void workload_node_ended(struct workload *workload, uint32_t node,
                         enum check_end end);
/* A message ends undelivered at that node; before check_message's call. body: lent. */
void workload_message_ended(struct workload *workload, uint32_t node,
                            struct slice body);
/* A line of a node's log, after its turn. text: lent. */
void workload_line(struct workload *workload, uint32_t node, const char *text);
/* The behavior of a client to spawn on a started node; *init: the bytes that it gets. */
const struct sherd_behavior *workload_client(struct workload *workload,
                                             uint32_t node,
                                             struct sherd_bytes *init);

/* The same for a caller; *init: the node's number, lent. */
const struct sherd_behavior *workload_caller(const struct workload *workload,
                                             const uint32_t *node,
                                             struct sherd_bytes *init);

/* ---- a run ---- */

void workload_stop(struct workload *workload); /* clients send no more */
void workload_resume(struct workload *workload);
/* entities-answer: until the workload resumes, its stopped clients ask that many entities of each
 * type until each has replied. Returns the ns that one remaining client needs to ask each once. */
uint64_t workload_roll_begin(struct workload *workload, uint32_t count);
/* How many have not replied; text (size bytes) has the first. */
uint32_t workload_roll_missing(const struct workload *workload, char *text,
                               size_t size);
/* no ask is open, and each watcher of an ended actor has its notice */
bool workload_idle(struct workload *workload);
/* After a stop, when all had its time: open asks, watches and timers are violations. Returns their
 * number. */
uint64_t workload_drained(struct workload *workload);
/* Checks a node's status, between its turns. buffer_size and lanes as in its settings. */
void workload_status(struct workload *workload, uint32_t node,
                     const struct sherd_status *status, uint32_t buffer_size,
                     uint32_t lanes);
struct workload_counts workload_counts(const struct workload *workload);
/* Both counts as a few lines of text; freed with mem_free. */
char *workload_report(const struct workload *workload);

#endif
