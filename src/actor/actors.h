/* Everything that lives on one lane: actors, entities, mailboxes, asks, timers, watches, and the memory of messages.
 *
 * A pure single-threaded machine. The node gives it messages (deliver), runs it, and then drains: messages that leave
 * (actors_take_out), events to store (actors_next_event), news (actors_next_news). An *actor* in these calls is
 * the u64 of a ref (lane, generation, slot); one that has ended in the meantime is ignored.
 *
 * A slot outlives its incarnations: messages to an entity wait in one mailbox across recovery, passivation, failure and
 * restart. Order of one sender's messages to one receiver is kept everywhere.
 *
 *   each turn:  actors_step(now); actors_deliver...; actors_run; then drain out, events, news (in this order) until all are empty.
 *
 * Effects wait for durability (ARCHITECTURE, "Effects wait for durability"): after sherd_persist all that an entity
 * sends, and its end, stays here until actors_durable reaches the event's position. */
#ifndef SHERD_ACTOR_ACTORS_H
#define SHERD_ACTOR_ACTORS_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/actor.h>
#include <sherd/system.h>

#include "actor/cluster.h"
#include "actor/job.h"
#include "actor/message.h"
#include "base/bytes.h"
#include "base/probe.h"
#include "base/timers.h"
#include "base/trace.h"

struct actors;

/* Where a message goes. */
struct destination {
    uint16_t type;        /* of an entity; TYPE_NONE: to an actor */
    struct sherd_ref ref; /* the actor */
    uint64_t ask;         /* what waits for this answer there; 0 = it is none */
    struct slice path;    /* or the actor that this names; empty: the ref's */
};

struct actors_settings {
    uint32_t lane;  /* this lane, from 0; the lane of the refs made here */
    uint32_t lanes;
    uint64_t node;  /* uid of the node's incarnation, not 0 */
    uint64_t seed;  /* for the jitter of back-off */
    struct trace *trace;     /* lent for life; may be null */
    struct probes *probes;   /* the same */
    uint64_t (*clock)(void); /* monotonic ns: slow handlers are reported; null: not measured, runs end by budget alone */
    uint64_t slow_handler;   /* ns; handlers that take longer are reported; 0: HANDLER_SLOW_NS, UINT64_MAX: none is */
    uint64_t now;            /* monotonic ns at birth */
    uint64_t restart_ms;     /* a remembered entity that ended by itself starts again after it; 0: ENTITY_RESTART_MS */
    /* Bytes of a body above SHERD_BODY_MAX, to destinations that are large; 0: none is. is_large is asked of no other bodies. */
    uint32_t large_max;
    bool (*is_large)(void *user, const struct destination *destination);
    void *user; /* its */
    /* Limits; 0 = those of limits.h. */
    uint64_t waiting_bytes_max; /* memory of messages, ACTOR_WAITING_BYTES_MAX */
    uint32_t slots_max;         /* actors and entities, ACTOR_SLOTS_MAX */
    uint32_t asks_max;          /* open asks and timers, ACTOR_ASKS_MAX */
    uint32_t watches_max;       /* ACTOR_WATCHES_MAX */
};

/* Puts the limits of limits.h in place of those that are 0 or above them: what actors_new works with. */
void actors_limits(struct actors_settings *settings);
struct actors *actors_new(const struct actors_settings *settings);
/* The end, in two steps because lanes hold each other's messages: first close all lanes (states are released without
 * messages, all messages held here end as SHERD_REASON_SHUTTING_DOWN and nobody is told), and end what the node holds; then
 * free all lanes. Null is fine. */
void actors_close(struct actors *actors);
void actors_free(struct actors *actors);
/* Declares an entity type under an index that is the same on all lanes, below ACTOR_TYPES_MAX. type->idle_ms,
 * mailbox_max and shards of 0 mean the defaults of limits.h. Copied, but for texts and functions. Proxies too. */
void actors_add_type(struct actors *actors, uint16_t index,
                     const struct sherd_entity_type *type);
uint16_t actors_type(const struct actors *actors, struct slice name); /* TYPE_NONE when unknown */

/* --- memory of messages --- */

/* A message of kind TELL to a ref; the caller sets to, msg, sender, ask. Body copied, at most FRAME_LARGE_SIZE_MAX. */
struct message *actors_message(struct actors *actors, struct slice body);
/* The same to an entity; id of 1 to SHERD_ID_MAX bytes, copied; hash is set, shard is not. */
struct message *actors_entity_message(struct actors *actors, uint16_t type,
                                      struct slice id, struct slice body);
/* Frees a message, given. That of another lane goes to the chain for its owner. Counts nothing: for notices and for
 * messages that were written to a link. */
void actors_message_free(struct actors *actors, struct message *message);
/* Messages of `lane` that were freed here, linked by next; null when none. To be carried home, given. */
struct message *actors_take_returns(struct actors *actors, uint32_t lane);
void actors_give_returns(struct actors *actors, struct message *chain);

/* --- in --- */

/* Brings a message of any kind to a ref of this lane, given. A message to an actor that has ended ends here. */
void actors_deliver(struct actors *actors, struct message *message);
/* Brings messages to entities of shards that were started here, given, in order: a batch of any size, best 64 to 128. An
 * entity that is absent is started. Messages of shards that are not here, or stopping, come back by actors_take_out. */
void actors_deliver_entities(struct actors *actors, struct message **messages,
                             uint32_t count);
/* Starts a plain actor for the node or a foreign thread; init copied. */
struct sherd_ref actors_spawn(struct actors *actors,
                              const struct sherd_behavior *behavior,
                              struct slice init);
/* Ends a message that the node cannot deliver: counted, and its sender is told (NO_ANSWER to an ask, UNDELIVERED if it wants
 * that), here or by actors_take_out. A WATCH that ends as NODE_GONE or NO_SUCH_ACTOR is answered by TERMINATED. Given. */
void actors_undelivered(struct actors *actors, struct message *message,
                        enum sherd_reason reason);
/* The same at the node's end: counted, nobody is told. Given. */
void actors_message_end(struct actors *actors, struct message *message,
                        enum sherd_reason reason);

/* --- a turn --- */

/* Fires what is due: timers, asks, idle entities, deadlines of shards, back-off. Sets the time of this turn. */
void actors_step(struct actors *actors, uint64_t now, int64_t wall_ms);
/* Runs actors in FIFO order, at most 64 messages of one at a time, about `budget` messages in all. With a clock it ends
 * after 1 ms, too, and after a piece of that which took longer the clock is read after each message. Returns the number of messages handled. */
uint32_t actors_run(struct actors *actors, uint64_t now, int64_t wall_ms,
                    uint32_t budget);
bool actors_runnable(const struct actors *actors); /* another actors_run has something to do */
uint64_t actors_deadline(const struct actors *actors); /* when to call actors_step at the latest; NEVER if not needed */

/* --- out --- */

/* The next message that is not for an actor of this lane: to refs elsewhere, and to entities (with hash and shard set)
 * whose shard is not open here. In order of emission, except that `returned` messages belong before all others that the
 * node holds for their shard; given; null when none. */
struct message *actors_take_out(struct actors *actors);

struct actors_event {
    uint64_t actor;    /* the entity that persisted it */
    uint64_t position; /* counted over this lane from 1 */
    uint64_t seq;      /* number of the event in its entity, from 1 */
    uint32_t event_type;
    uint16_t type;
    int32_t shard;
    struct slice id;    /* lent until the next call on actors */
    struct slice event; /* the same */
};

/* The next event to store, in order of positions; false when none. Applied to the state already. */
bool actors_next_event(struct actors *actors, struct actors_event *event);

enum actors_news_kind {
    ACTORS_WANT_REPLAY, /* actor, type, shard, id: replay its events, then actors_recovered or actors_recovery_failed */
    ACTORS_FORGET,      /* actor: a persistent incarnation has ended, all of its events are settled */
    ACTORS_WANT_CLUSTER, /* an actor of the lane wants the cluster's state: call actors_cluster, see cluster.h */
    ACTORS_TASK,       /* actor, type: enum sherd_phase, id: its name: a task in the node's end */
    ACTORS_TASK_DONE,  /* actor, type: the phase */
    ACTORS_FOLLOW_KEY, /* actor, shard: the tag, id: a key of distributed data that it wants to hear of; type 1: the first one of the
                          lane: call actors_data_changed from now on, also with the present value; 0: tell this one the present value */
    ACTORS_UNFOLLOW_KEY, /* id: the key, of which nobody of the lane wants to hear any more */
    ACTORS_REMEMBER,   /* actor, type, shard, id: of a type that remembers: store that it starts, then actors_remembered */
    ACTORS_FORGET_STORED, /* the same: it has ended for good: store that, then actors_forgotten */
    ACTORS_SHARD_EMPTY, /* type, shard: after actors_shard_stop; its last entity has ended and the shard is gone from here */
};

struct actors_news {
    enum actors_news_kind kind;
    uint16_t type;
    int32_t shard;
    uint64_t actor;
    struct slice id; /* lent until the next call on actors */
};

bool actors_next_news(struct actors *actors, struct actors_news *news); /* in order; false when none */

/* --- shards --- */

/* The shard's home is this lane: its entities may be started. Twice is fine. */
void actors_shard_start(struct actors *actors, uint16_t type, int32_t shard);
/* Open: what actors of this lane send to entities of this shard goes straight to their mailboxes and does not
 * come out. Off when a shard starts; the node opens it when it holds nothing for the shard, and closes it before it begins to
 * hold. actors_shard_stop closes. */
void actors_shard_open(struct actors *actors, uint16_t type, int32_t shard,
                       bool open);
/* Hand-off: every entity gets its stop message after the messages it already has; what comes later comes out
 * again by actors_take_out, in order. At the deadline (ns; NEVER: none; a second call may set an
 * earlier one) those left are ended; what waits for them comes out as
 * `returned`. Then ACTORS_SHARD_EMPTY, at once when there are no entities. */
void actors_shard_stop(struct actors *actors, uint16_t type, int32_t shard,
                       uint64_t deadline);
/* Another owner exists: ends all entities of the shard at once. None of their held effects leaves, askers of held replies get
 * SHERD_REASON_FENCED, and waiting messages come out again by actors_take_out, `returned`. No ACTORS_SHARD_EMPTY follows. */
void actors_shard_fenced(struct actors *actors, uint16_t type, int32_t shard);
uint32_t actors_shard_entities(const struct actors *actors, uint16_t type,
                               int32_t shard); /* slots in use: running, recovering, ending */
/* The ids of a shard's entities, one by one; start with *at = 0. False at the end. Id lent until the next call. */
bool actors_shard_next_entity(struct actors *actors, uint16_t type,
                              int32_t shard, uint32_t *at, struct slice *id);
/* The node's end: every plain actor and every shard is stopped; those left at the deadline are ended. */
void actors_stop_all(struct actors *actors, uint64_t deadline);
uint32_t actors_alive(const struct actors *actors); /* slots in use */

/* --- remembered entities (sherd_entity_type.remember) --- */

/* Its start is stored: its first incarnation begins. An answer that comes too late is ignored, as are those of the next two. */
void actors_remembered(struct actors *actors, uint64_t actor);
/* It cannot be remembered: what waits for it ends as SHERD_REASON_BUFFER_FULL. */
void actors_not_remembered(struct actors *actors, uint64_t actor);
/* Its stop is stored: it is gone, or starts anew for what came meanwhile, by ACTORS_REMEMBER. */
void actors_forgotten(struct actors *actors, uint64_t actor);
/* Starts a remembered entity of a shard that was started here, without a message, unless it runs. Returns the actor; 0: it was not
 * started. */
uint64_t actors_entity_start(struct actors *actors, uint16_t type,
                             int32_t shard, struct slice id);
/* Does that incarnation wait for its events, or for the end of them? */
bool actors_is_recovering(const struct actors *actors, uint64_t actor);

/* --- persistence --- */

/* Replay of one entity between ACTORS_WANT_REPLAY and one of the two ends. Event lent. */
void actors_replay_event(struct actors *actors, uint64_t actor, uint64_t seq,
                         uint32_t event_type, struct slice event);
void actors_recovered(struct actors *actors, uint64_t actor,
                      uint64_t highest_seq);
/* Its waiting messages end with SHERD_REASON_RECOVERY_FAILED; later ones try again after a back-off of 0.2 to 10 s. */
void actors_recovery_failed(struct actors *actors, uint64_t actor,
                            const char *text);
/* Every event up to this position is durable, or its entity has been told to actors_store_failed before. */
void actors_durable(struct actors *actors, uint64_t position);
/* An event of this incarnation could not be stored: its held effects die, askers of held replies get the reason
 * (NOT_STORED or FENCED), it ends without another message, and recovers if messages wait (not when FENCED: actors_shard_fenced
 * follows). */
void actors_store_failed(struct actors *actors, uint64_t actor,
                         enum sherd_reason reason);
/* Persistent entities of this lane run only while the journal has room for events. True at birth. */
void actors_set_storing_room(struct actors *actors, bool room);

/* --- asks, watches, nodes --- */

/* A number for a node's name, for `where` of an ask without an answer. text copied; the same uid gives the same number.
 * 0 when the table (ACTOR_PEERS_MAX) is full. */
uint16_t actors_peer(struct actors *actors, uint64_t node, const char *text);
/* How far the message of an ask of this lane has come; to be set when the node holds or sends a message with
 * ask != 0 whose sender is of this lane. Unknown asks are ignored. */
void actors_ask_stage(struct actors *actors, uint64_t ask,
                      enum sherd_stage stage, uint16_t peer);
/* Where the message of an ask from elsewhere is that an entity of this lane was given: RECOVERING or QUEUED while it waits there,
 * DELIVERED once read; NONE: it stands behind more than ACTOR_LOOK_MAX others, or the entity is not here. hash: hash_bytes of the
 * id. */
enum sherd_stage actors_asked_stage(const struct actors *actors, uint16_t type,
                                    uint64_t hash, struct sherd_ref sender,
                                    uint64_t ask);
/* The node's incarnation was removed: watched actors there are TERMINATED, watchers there are dropped, asks that were SENT
 * there, or are RECOVERING or QUEUED there, end with SHERD_REASON_NODE_GONE. */
void actors_node_gone(struct actors *actors, uint64_t node);

/* The cluster has changed, or is told for the first time. Lent. */
void actors_cluster(struct actors *actors, const struct cluster_change *change);
/* Is there a plain actor that may run and has not handled all that it was told of the cluster? Walks subscribers' mailboxes. */
bool actors_cluster_unheard(const struct actors *actors);

/* Distributed data. A call of the running actor, with an answer's tag: comes out by actors_take_out as a MESSAGE_CALL, held back like
 * every effect. False: the body, lent, is larger than SHERD_BODY_MAX. */
bool actors_call(struct sherd_ctx *ctx, uint32_t verb, uint32_t tag,
                 struct slice body);
/* The answer to a call that cannot be made. */
void actors_call_refused(struct sherd_ctx *ctx, uint32_t what, uint32_t tag,
                         struct slice body);
/* Tells an actor; what: enum sherd_data_message. An incarnation that has ended hears nothing. Body lent. */
void actors_data(struct actors *actors, uint64_t actor, uint32_t what,
                 uint32_t tag, struct slice body);
/* Tells all that follow the key. */
void actors_data_changed(struct actors *actors, const char *key, uint32_t what,
                         struct slice body);
/* Tells one that follows the key, or with actor 0 all, that it does not (SHERD_DATA_REFUSED), and drops it. */
void actors_data_refused(struct actors *actors, uint64_t actor,
                         const char *key);

/* Jobs. One of the running actor comes out by actors_take_out as a MESSAGE_JOB, held back like every effect; this takes it out of
 * the message, which is given. */
struct job *actors_job_take(struct actors *actors, struct message *message);
/* The function of a job of this lane has returned: its actor is told, or who asked it, if that incarnation has ended. Given. */
void actors_job_done(struct actors *actors, struct job *job);

/* A phase of the node's end has begun in which the actor has a task: it is told; false when it has ended. */
bool actors_phase(struct actors *actors, uint64_t actor, uint32_t phase);
bool actors_is_alive(const struct actors *actors, uint64_t actor); /* that incarnation has not ended */

/* --- to look at --- */

struct actors_status {
    uint64_t sent;      /* messages made here; sent + arrived = delivered + undelivered + left + waiting */
    uint64_t arrived;   /* given by the node */
    uint64_t delivered; /* handed to receive */
    uint64_t left;      /* taken by actors_take_out */
    uint64_t waiting;   /* in mailboxes, held, or not taken yet */
    uint64_t message_bytes; /* memory made for messages */
    uint64_t undelivered[SHERD_REASON_COUNT];
    uint64_t undelivered_total;
    uint64_t events;    /* persisted */
    uint64_t held;      /* effects that wait for durability */
    uint64_t replies_dropped; /* second answers and answers to nobody */
    uint64_t timers_refused;  /* at the limits */
    uint64_t watches_refused;
    uint64_t spawns_refused;
    uint64_t subscribers_refused;
    uint64_t data_missed;     /* changes of distributed data that a full mailbox did not take: the value follows instead */
    uint64_t cluster_missed;  /* changes that a full mailbox did not take: the state follows instead */
    uint64_t peers_refused;   /* names of nodes: answers from there say nowhere */
    uint64_t store_failures;  /* incarnations that ended so */
    uint64_t handlers_failed; /* SHERD_FAIL */
    uint64_t slow_handlers;   /* above the setting */
    uint64_t jobs;            /* started: heard + unheard + open */
    uint64_t jobs_heard;      /* their ends were told to their actors */
    uint64_t jobs_unheard;    /* ended without their actors, or were dropped with them */
    uint64_t jobs_refused;    /* at the limits */
    uint64_t ignored;         /* calls for actors or asks that are gone */
    uint32_t actors;    /* plain actors */
    uint32_t entities;  /* slots of entities in use */
    uint32_t asks;      /* open */
    uint32_t jobs_open;
    uint32_t timers;    /* set */
    uint32_t watches;
    uint32_t subscribers;
    uint32_t cluster_roles; /* that somebody leads */
    uint32_t runnable;
    uint64_t memory;    /* bytes taken from malloc for slots, tables, slabs */
};

void actors_status(const struct actors *actors, struct actors_status *status);
/* Bytes of this lane's messages that are in use anywhere, found by walking the free lists: for tests of leaks. */
uint64_t actors_messages_in_use(const struct actors *actors);
uint32_t actors_type_entities(const struct actors *actors, uint16_t type); /* incarnations running */

#endif
