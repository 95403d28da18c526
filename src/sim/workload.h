/* Workloads: entities and client actors that make traffic of every kind, and know what must become of it.
 *
 * They are ordinary behaviors of sherd/actor.h on production nodes. Every message and answer carries a token (token.h) and is
 * told to the checker of messages; what else the actors can see for themselves is checked here:
 *
 *   ask    each ask of a living asker ends exactly once, with an answer or without; that its time is over not before its
 *          time-out, and then before what runs out later
 *   watch  SHERD_TERMINATED comes exactly once for each watch of an actor that ended, and never after an unwatch, nor of an actor
 *          that lives, unless its node or the watcher's is given up or on its way out
 *   same-incarnation    timers, answers and the ends of jobs belong to the incarnation that asked for them
 *   timer  a timer that is set, and neither cancelled nor replaced, comes not before it is due by its node's clock, and before
 *          what is due later, or its incarnation ends
 *   job    a job is run at most once, not before its event is stored, and is released when its node or its actor has ended;
 *          an actor that lives hears of its end
 *   faithful-replay    a recovered entity has applied as many events as are stored, and those
 *   bounded-buffers     what waits in a region is within its buffer
 *   undelivered  who wants to hear of what is not delivered is told of each such message that has not left its node
 *   stopping  an entity that neither persists nor is remembered is told before it is ended, unless its time is over or its node gone
 *   body   a message has the body that was sent
 *   stop   an actor that is stopped is given all that it was told before, and ends
 *   right-receiver    an entity that answers is the one that was asked
 *
 * Behaviors are constants without a user pointer, so there is one workload of a process at a time: workload_new to
 * workload_free. All decisions come from its own seed. Who drives a world tells it of nodes (workload_world.h does). */
#ifndef SHERD_SIM_WORKLOAD_H
#define SHERD_SIM_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/sherd.h>

#include "base/bytes.h"
#include "sim/check_message.h"

struct workload;

/* What clients do: name, text. */
#define WORKLOAD_OPS(X)                                                        \
    X(WORKLOAD_TELL, "tell")           /* a message to an entity: streams in order (W2) */ \
    X(WORKLOAD_ECHO, "echo")           /* an ask; the entity says who it is */ \
    X(WORKLOAD_COUNT, "count")         /* an ask; the entity stores an event, then acknowledges (W1) */ \
    X(WORKLOAD_PASSIVATE, "passivate") /* an ask; the entity passivates itself (W8) */ \
    X(WORKLOAD_FAIL, "fail")           /* a message on which the handler fails (W8) */ \
    X(WORKLOAD_STOP, "stop")           /* a message on which the entity ends (W8) */ \
    X(WORKLOAD_TIMER, "timer")         /* a message on which the entity sets, replaces and cancels timers */ \
    X(WORKLOAD_WATCH, "watch")         /* an ask for the entity's ref, which is watched then */ \
    X(WORKLOAD_TALK, "talk")           /* a message on which the entity tells and asks another one */ \
    X(WORKLOAD_STORM, "storm")         /* messages to many entities of unknown shards at once (W10) */ \
    X(WORKLOAD_NARROW, "narrow")       /* for a while all clients talk to entities of one shard (W10) */ \
    X(WORKLOAD_JOB, "job")             /* an ask; the entity stores an event or not, starts a job, and answers when that is done */

#define X(name, text) name,
enum workload_op { WORKLOAD_OPS(X) WORKLOAD_OP_COUNT };
#undef X

const char *workload_op_text(enum workload_op op); /* a constant */

/* The entity types: name, its name in the cluster, whether it persists, whether it has a stop message (that it obeys late), whether it is
 * remembered (W7). */
#define WORKLOAD_TYPES(X)                                                      \
    X(WORKLOAD_STREAM, "stream", false, false, false)                          \
    X(WORKLOAD_COUNTER, "counter", true, false, false)                         \
    X(WORKLOAD_RESTLESS, "restless", false, true, false)                       \
    X(WORKLOAD_VAULT, "vault", true, true, false)                              \
    X(WORKLOAD_KEEPER, "keeper", false, false, true)                           \
    X(WORKLOAD_LEDGER, "ledger", true, true, true)

#define X(name, text, persists, stops, remembers) name,
enum workload_type { WORKLOAD_TYPES(X) WORKLOAD_TYPE_COUNT };
#undef X

/* Zero is a default for each. */
struct workload_settings {
    uint64_t seed;
    uint32_t weights[WORKLOAD_OP_COUNT]; /* how often each op is drawn, relative to the others; all zero: a mix of all */
    uint32_t types;       /* a set of 1 << enum workload_type; 0: all that are not remembered */
    uint32_t ids;         /* entities of each type that are talked to; default 100 */
    uint32_t kept_ids;    /* the same of types that are remembered, at most; default 64 */
    bool skewed;          /* a few of them get most of the traffic, else all alike */
    uint32_t clients;     /* on each node, over its lanes; default 2 */
    uint64_t interval_ms; /* mean time between two bursts of a client; default 100 */
    uint32_t burst_max;   /* ops in one; default 4 */
    uint32_t body_max;    /* bytes of a body without its token, at most; most are short; default 200 */
    uint32_t ask_ms_max;  /* the longest time-out of asks; default 10,000 */
    uint32_t storm;       /* messages of one storm; default 500 */
    uint32_t shards;      /* of each type; default 20 */
    uint32_t mailbox_max; /* as sherd_entity_type's, each with the library's default */
    uint64_t idle_ms;
    uint32_t slow_stop_ms; /* how long at most an entity with a stop message takes to end; default 2000 */
    bool has_no_types;    /* no entity types, and no clients */
    uint32_t callers;      /* plain actors of each node that talk to each other, and so on; 0: none */
    bool callers_start;    /* they start entities, too */
    uint32_t stubborn_ms;  /* the same of one in sixteen, when that is longer; 0: none of them */
};

/* Who is told. null members are skipped, but for violation and now. */
struct workload_hooks {
    void *user;
    check_violation *violation;
    uint64_t (*now)(void *user); /* ns, for reports */
    /* May others take that node, which runs, for gone? It was given up, or is on its way out. Null: none. */
    bool (*is_parting)(void *user, uint32_t node);
    /* A client of that node has heard that an entity stored an event. type and id are texts; lent. */
    void (*acknowledged)(void *user, uint32_t node, const char *type,
                         const char *id, uint64_t seq, uint32_t event_type,
                         struct slice event);
    /* An entity of a type that persists has started, with so many events stored; hash: of those that it was given
     * (check_recovery_fold). As before. */
    void (*recovered)(void *user, uint32_t node, const char *type,
                      const char *id, uint64_t events, uint64_t hash);
};

struct workload_counts {
    uint64_t ops[WORKLOAD_OP_COUNT];
    uint64_t asks;
    uint64_t answers;
    uint64_t no_answers[SHERD_REASON_COUNT];
    uint64_t asks_dropped; /* their asker ended with its node */
    uint64_t skipped;      /* not asked: too many were open */
    uint64_t acknowledged;
    uint64_t started;      /* incarnations of entities */
    uint64_t watches;
    uint64_t terminated;
    uint64_t undelivered;  /* SHERD_UNDELIVERED that clients heard */
    uint64_t timers;       /* that entities were given */
    uint64_t jobs;         /* started */
    uint64_t jobs_heard;   /* whose ends entities were given */
    uint64_t clients;      /* ever started */
    uint64_t calls;        /* acts of callers */
    uint64_t calls_passed; /* messages that they passed on */
    uint64_t calls_stopped; /* actors that they stopped */
};

/* check: lent for life; settings and hooks copied. Free the nodes first. */
struct workload *workload_new(const struct workload_settings *settings,
                              const struct workload_hooks *hooks,
                              struct check_message *check);
void workload_free(struct workload *workload);
/* The types that the workload's nodes must have; lent for life. */
const struct sherd_entity_type *workload_types(const struct workload *workload,
                                               uint32_t *count);
const struct workload_settings *workload_settings_of(
    const struct workload *workload); /* with the defaults filled in; lent */
/* Nodes that start from now on have so many shards of each type; none lives. */
void workload_set_shards(struct workload *workload, uint32_t count);
struct check_message *workload_check(const struct workload *workload);

/* ---- nodes ---- */

void workload_node_started(struct workload *workload, uint32_t node,
                           uint64_t uid);
void workload_node_ended(struct workload *workload, uint32_t node,
                         enum check_end end);
/* A message was not delivered and ends at that node; before the checker of messages is told. body: lent. */
void workload_message_ended(struct workload *workload, uint32_t node,
                            struct slice body);
/* A node's log has a line, behind the turn that wrote it. text: lent. */
void workload_line(struct workload *workload, uint32_t node, const char *text);
/* What a client is made of, to be spawned on a node that was started: behavior, and in *init the bytes that it is given. */
const struct sherd_behavior *workload_client(struct workload *workload,
                                             uint32_t node,
                                             struct sherd_bytes *init);

/* The same of a caller: *init has the node's number, lent. */
const struct sherd_behavior *workload_caller(const struct workload *workload,
                                             const uint32_t *node,
                                             struct sherd_bytes *init);

/* ---- a run ---- */

void workload_stop(struct workload *workload); /* clients send nothing more */
void workload_resume(struct workload *workload);
/* entities-answer: while it is stopped, clients ask so many entities of each type, each until it has answered, from now until the workload
 * goes on. How long it may take until each was asked once, where one client is left; ns. */
uint64_t workload_roll_begin(struct workload *workload, uint32_t count);
/* How many have not answered; the first of them in text (size bytes). */
uint32_t workload_roll_missing(const struct workload *workload, char *text,
                               size_t size);
bool workload_idle(struct workload *workload); /* no ask is open, no watcher of an ended actor waits for its notice */
/* After a stop, when everything had its time: asks, watches and timers that are still open are violations. Returns how many. */
uint64_t workload_drained(struct workload *workload);
/* A node's status, at any time between its turns. buffer_size and lanes as in its settings. */
void workload_status(struct workload *workload, uint32_t node,
                     const struct sherd_status *status, uint32_t buffer_size,
                     uint32_t lanes);
struct workload_counts workload_counts(const struct workload *workload);
/* The counts and the checker's as text, a few lines; given, to be freed with mem_free. */
char *workload_report(const struct workload *workload);

#endif
