/* Runs everything that lives on one lane: actors, entities, mailboxes, asks, timers, watches, and
 * the memory of messages.
 *
 * A pure single-threaded machine. Each turn the node calls actors_step, delivers messages, calls
 * actors_run, and then drains out and news, in this order, until both are empty. An *actor* in these
 * calls is the u64 of a ref (lane, generation, slot). A call for one that has ended is ignored.
 *
 * A slot outlives its incarnations: messages to an entity wait in one mailbox during recovery,
 * passivation, failure and restart. The order of one sender's messages to one receiver is always
 * kept.
 *
 * Effects wait for durability (docs/decisions/009-effects-wait-for-durability.md): sherd_persist
 * gives the event to the journal, and all that the entity then sends, and its end, stays here until
 * actors_durable reaches the event's position. */
#ifndef SHERD_ACTOR_ACTORS_H
#define SHERD_ACTOR_ACTORS_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/actor.h>
#include <sherd/delivery.h>
#include <sherd/shutdown.h>
#include <sherd/system.h>

#include "actor/cluster.h"
#include "actor/job.h"
#include "actor/message.h"
#include "base/bytes.h"
#include "base/event.h"
#include "base/figures.h"
#include "base/outbox.h"
#include "base/probe.h"
#include "base/shard_rule.h"
#include "base/timers.h"
#include "base/trace.h"

struct actors;
struct passivation_settings; /* actor/passivation/strategy.h */
struct service_defaults; /* actor/services.h */

#define EVENT_REFUSED UINT64_MAX /* in place of a position */

/* The destination of a message. */
struct destination {
    uint16_t type;        /* an entity's; TYPE_NONE: to an actor */
    struct sherd_ref ref;
    uint64_t ask;         /* the ask there that this message answers; 0 = no answer */
    struct slice path;    /* the path of an actor; empty: `ref` counts */
};

/* The state of an entity for the journal. */
struct actors_snapshot {
    uint32_t version; /* sherd_behavior.save_version */
    struct slice part; /* the library's */
    struct slice image;
    uint32_t keep;
    bool deletes_events;
    uint64_t keep_events;
};

/* Times are milliseconds; 0 = the defaults of limits.h. */
struct delivery_settings {
    uint64_t repeat_ms;     /* until the first repetition; doubles */
    uint64_t repeat_max_ms;
    uint64_t give_up_ms;    /* a delivery without an answer ends */
    uint64_t forget_ms;     /* a receiver may forget a silent sender; longer than give_up_ms */
    uint32_t commands_max;  /* kept for an entity */
    uint64_t commands_ms;   /* for so long */
};

struct actors_settings {
    uint32_t lane;  /* from 0; also the lane of the refs made here */
    uint32_t lanes;
    uint64_t node;  /* UID of the node's incarnation, not 0 */
    const char *data_center; /* the node's; lent; null: none, for tests */
    uint64_t seed;  /* for the jitter of back-off */
    struct trace *trace;     /* may be null */
    struct probes *probes;   /* may be null */
    /* monotonic ns; null: slow handlers are not measured, and runs end by budget alone */
    uint64_t (*clock)(void);
    /* ns; slower handlers are reported; 0: HANDLER_SLOW_NS, UINT64_MAX: none */
    uint64_t slow_handler;
    bool is_verbose; /* logs each message to an entity at debug */
    uint64_t now;            /* monotonic ns at the start */
    const struct identity *identity; /* completes addresses; lent; null only in tests */
    const struct service_defaults *services; /* actor/services.h; lent; null: Akka's */
    uint64_t locations_ms; /* limit of a read of shards' locations; 0: 5 s */
    /* delay before a remembered entity that ended by itself restarts; 0: ENTITY_RESTART_MS */
    uint64_t restart_ms;
    /* ns between two looks for idle entities of types that do not say; 0: an eighth of their time */
    uint64_t idle_interval;
    /* Largest body to a destination that is large; 0: no destination is. Called only for bodies
     * above SHERD_BODY_MAX. */
    uint32_t large_max;
    bool (*is_large)(void *user, const struct destination *destination);
    struct delivery_settings delivery;
    uint32_t long_replay; /* a recovery of so many events is reported; 0: none */
    uint32_t snapshot_max; /* bytes of an image; 0: JOURNAL_SNAPSHOT_SIZE_MAX */
    /* Appends an event of a persistent entity to the journal, which copies it, and returns its
     * position; these grow, and others may use numbers between them. EVENT_REFUSED: it is not
     * stored, and actors_store_failed follows. Called by sherd_persist, so that effects know at
     * once for which position they wait. Null only if no type persists. */
    uint64_t (*append)(void *user, uint64_t actor, struct entity_event event);
    /* Takes back the events after number `seq` of the actor's stream. They were appended in the call
     * of receive that ends now, which also stored an event that was refused. Null only if no type
     * persists. */
    void (*take_back)(void *user, uint64_t actor, uint64_t seq);
    /* Stores a snapshot of a persistent entity after its last event; the journal copies the image.
     * Null only if no type has snapshots. */
    void (*save)(void *user, uint64_t actor, const struct actors_snapshot *snapshot);
    void *user; /* argument of these functions */
    /* Limits; 0 = the defaults of limits.h. */
    uint64_t waiting_bytes_max; /* message memory, ACTOR_WAITING_BYTES_MAX */
    uint32_t slots_max;         /* actors and entities, ACTOR_SLOTS_MAX */
    uint32_t asks_max;          /* open asks and timers, ACTOR_ASKS_MAX */
    uint32_t watches_max;       /* ACTOR_WATCHES_MAX */
};

/* Replaces limits that are 0 or too high by those of limits.h, as actors_new does. */
void actors_limits(struct actors_settings *settings);
struct actors *actors_new(const struct actors_settings *settings);
/* Shutdown has two steps, because lanes hold each other's messages: close all lanes and end what
 * the node holds; then free all lanes. Closing releases states without messages and ends all
 * messages here as SHERD_REASON_SHUTTING_DOWN, without notices. Null is allowed. */
void actors_close(struct actors *actors);
void actors_free(struct actors *actors);
/* Declares an entity type or proxy under an index below ACTOR_TYPES_MAX, the same on all lanes.
 * Zero in idle_ms, mailbox_max and shards means the defaults of limits.h. Copies all but texts and
 * functions. */
void actors_add_type(struct actors *actors, uint16_t index,
                     const struct sherd_entity_type *type);
/* Sets how the entities of a type find their shard; Akka's hash at first. Copied, with its names
 * lent. */
void actors_set_rule(struct actors *actors, uint16_t type, const struct shard_rule *rule);
/* No actor runs any more from that time on: a lease of entities here is over. Needs settings.clock;
 * it is read once for about 64 messages. NEVER: no limit. */
void actors_set_end_of_leases(struct actors *actors, uint64_t until);

/* Leases of actors: a holder, itself an actor, binds another one, which ends at once with the lease
 * (actor/services.h). provider: a number; until: end of the time in which the lease is certain. At
 * most USER_SINGLETONS_MAX of a node. Call these outside of actors_run. */
void actors_lease_granted(struct actors *actors, uint64_t holder, uint32_t provider, uint64_t until);
void actors_leases_extended(struct actors *actors, uint32_t provider, uint64_t until);
void actors_leases_lost(struct actors *actors, uint32_t provider); /* all of the provider */
void actors_leases_end_all(struct actors *actors);
/* Ends the bound actors whose time is over. Returns the first end of the others, or NEVER. */
uint64_t actors_leases_look(struct actors *actors, uint64_t now);
/* The limit of the active entities of each shard; UINT32_MAX, UINT64_MAX: none. */
struct active_limit {
    uint32_t entities;
    /* State, what entities report by sherd_entity_bytes, and the bodies in mailboxes. The entity
     * that was used last stays. */
    uint64_t bytes;
};

/* Sets how entities of a type are chosen that are too many; settings lent until actors_free. The
 * limits are none at first. Ignored for a type that remembers its entities, and for daemons. */
void actors_set_passivation(struct actors *actors, uint16_t type,
                            const struct passivation_settings *settings);
/* Changes the limit of the type's shards here, and passivates what is too much. */
void actors_set_active_limit(struct actors *actors, uint16_t type,
                             struct active_limit limit);
uint16_t actors_type(const struct actors *actors, struct slice name); /* TYPE_NONE when unknown */

/* --- memory of messages --- */

/* Makes a TELL to a ref; the caller sets to, msg, sender, ask. Copies the body. */
struct message *actors_message(struct actors *actors, struct slice body);
/* Makes a TELL to an entity. Copies the id of 1 to SHERD_ID_MAX bytes; sets the hash, not the
 * shard. */
struct message *actors_entity_message(struct actors *actors, uint16_t type,
                                      struct slice id, struct slice body);
/* Frees a message, given; one of another lane joins the chain for its owner. Counts nothing: for
 * notices and for messages written to a link. */
void actors_message_free(struct actors *actors, struct message *message);
/* Takes the messages of `lane` that were freed here, linked by next, given, to carry them there;
 * null when none. */
struct message *actors_take_returns(struct actors *actors, uint32_t lane);
void actors_give_returns(struct actors *actors, struct message *chain);

/* --- in --- */

/* Delivers a message of any kind, given, to a ref of this lane. Ends it if the actor has ended. */
void actors_deliver(struct actors *actors, struct message *message);
/* Delivers messages, given, in order, to entities of shards started here, and starts absent
 * entities. Batches of 64 to 128 are best. Messages of shards that are absent or stop come out by
 * actors_take_out. */
void actors_deliver_entities(struct actors *actors, struct message **messages,
                             uint32_t count);
/* Starts a plain actor for the node or a thread of the program; copies init. */
struct sherd_ref actors_spawn(struct actors *actors,
                              const struct sherd_behavior *behavior,
                              struct slice init);
/* Reserves the ref of an actor that actors_spawn_reserved starts later; nobody at a limit. Messages
 * to it wait. It does not count as an actor. */
struct sherd_ref actors_reserve(struct actors *actors);
/* Starts the actor of a reserved ref; empty name: none. False: a limit is reached; messages to the
 * ref end as to an actor that has ended. */
bool actors_spawn_reserved(struct actors *actors, uint64_t actor,
                           struct slice name,
                           const struct sherd_behavior *behavior,
                           struct slice init);
/* Whether an actor may have that name: sherd_spawn_named. */
bool actor_name_is_valid(struct slice name);
/* Starts an actor with a valid name. It begins after ACTORS_NAME and actors_named. If the running
 * actor's events are not durable, ACTORS_NAME waits for them. */
struct sherd_ref actors_spawn_named(struct actors *actors, struct slice name,
                                    const struct sherd_behavior *behavior,
                                    struct slice init);
/* Answers ACTORS_NAME; false: the actor ends without having run. Ignored when late. */
void actors_named(struct actors *actors, uint64_t actor, bool is_granted);
/* Ends a message, given, that the node cannot deliver: counts it and notifies its sender (NO_ANSWER
 * to an ask, UNDELIVERED if wanted), here or by actors_take_out. A WATCH that ends as NODE_GONE or
 * NO_SUCH_ACTOR is answered by TERMINATED. */
void actors_undelivered(struct actors *actors, struct message *message,
                        enum sherd_reason reason);
/* Likewise while the node shuts down: counts it, notifies nobody. Given. */
void actors_message_end(struct actors *actors, struct message *message,
                        enum sherd_reason reason);

/* --- a turn --- */

/* Fires due timers, asks, idle entities, shard deadlines and back-offs; sets the turn's time. */
void actors_step(struct actors *actors, uint64_t now, int64_t wall_ms);
/* Runs actors in FIFO order: at most 64 messages of one at a time, about `budget` in all. With a
 * clock it ends after 1 ms; after a slower batch it reads the clock after each message. Returns the
 * number of handled messages. */
uint32_t actors_run(struct actors *actors, uint64_t now, int64_t wall_ms,
                    uint32_t budget);
bool actors_runnable(const struct actors *actors); /* another actors_run has something to do */
/* Latest time to call actors_step; NEVER if not needed. */
uint64_t actors_deadline(const struct actors *actors);

/* --- out --- */

/* Takes the next message, given, that is not for an actor of this lane; null when none. It goes to
 * a ref elsewhere, or to an entity (with hash and shard set) whose shard is not open here. In order
 * of emission, but `returned` messages precede all others that the node buffers for their shard. */
struct message *actors_take_out(struct actors *actors);

enum actors_news_kind {
    /* actor, shard, id: replay its events, then call actors_recovered or actors_recovery_failed */
    ACTORS_REQUEST_REPLAY,
    ACTORS_FORGET, /* actor: a persistent incarnation has ended, and all its events are settled */
    /* an actor of the lane wants the cluster's state: call actors_cluster, see cluster.h */
    ACTORS_REQUEST_CLUSTER,
    ACTORS_TASK,      /* actor, phase, name: it has a shutdown task */
    ACTORS_TASK_DONE, /* actor, phase */
    /* actor, follow, key: it subscribes to a data key. For the lane's first subscriber call
     * actors_data_changed now and on changes; for others report the present value to this actor */
    ACTORS_FOLLOW_KEY,
    ACTORS_UNFOLLOW_KEY, /* key: it lost its last subscriber here */
    /* actor, shard, id: of a type that remembers: store its start, then call actors_remembered */
    ACTORS_REMEMBER,
    /* likewise; it has ended permanently: store that, then call actors_forgotten */
    ACTORS_FORGET_STORED,
    ACTORS_NAME,     /* actor, name: it wants this name; call actors_named */
    ACTORS_NAME_END, /* actor: it has ended, and needs its name no more */
    /* shard: after actors_shard_stop; its last entity has ended and the shard is absent */
    ACTORS_SHARD_EMPTY,
};

struct actors_news_shard {
    uint16_t type;
    int32_t number;
    bool has_snapshots; /* ACTORS_REQUEST_REPLAY: of this type */
};

/* Values of some kinds. The comment at the kind names the member that is set. */
union actors_news_values {
    struct actors_news_shard shard;
    struct {
        uint32_t tag;
        bool is_first; /* of the lane's subscribers to the key */
    } follow;
    enum sherd_phase phase;
};

struct actors_news {
    enum actors_news_kind kind;
    union actors_news_values values;
    uint64_t actor;
    /* at most SHERD_ID_MAX bytes, lent until the next call */
    union {
        struct slice text; /* any of these */
        struct slice id;   /* of an entity */
        struct slice key;
        struct slice name;
    };
};

bool actors_next_news(struct actors *actors, struct actors_news *news);

/* --- shards --- */

/* Makes this lane the shard's home: its entities may start. Repeating is harmless. */
void actors_shard_start(struct actors *actors, uint16_t type, int32_t shard);
/* Sets whether messages from this lane's actors go straight to mailboxes of the shard, without
 * coming out. Off when a shard starts. The node opens it when it buffers nothing for the shard,
 * and closes it before it buffers. actors_shard_stop closes it. */
void actors_shard_open(struct actors *actors, uint16_t type, int32_t shard,
                       bool open);
/* Starts a hand-off: every entity gets its stop message after the messages it has; later ones come
 * out by actors_take_out, in order. At the deadline (ns; NEVER: none; a second call may set an
 * earlier one) the remaining entities end, and their waiting messages come out as `returned`.
 * ACTORS_SHARD_EMPTY follows, at once if there are no entities. */
void actors_shard_stop(struct actors *actors, uint16_t type, int32_t shard,
                       uint64_t deadline);
/* Ends all entities of the shard at once, because another owner exists. Drops their effects that
 * wait for durability, gives askers of such replies SHERD_REASON_FENCED, and returns waiting
 * messages as `returned`. No ACTORS_SHARD_EMPTY follows. */
void actors_shard_fenced(struct actors *actors, uint16_t type, int32_t shard);
/* The same because the shard lost its lease: SHERD_REASON_LEASE_LOST. */
void actors_shard_unleased(struct actors *actors, uint16_t type, int32_t shard);
uint32_t actors_shard_entities(const struct actors *actors, uint16_t type,
                               int32_t shard); /* slots in use */
/* Lists the ids of a shard's entities; start with *at = 0. False at the end. Id lent until the next
 * call. */
bool actors_shard_next_entity(struct actors *actors, uint16_t type,
                              int32_t shard, uint32_t *at, struct slice *id);
/* Stops every plain actor and every shard when the node shuts down; ends those left at the
 * deadline. */
void actors_stop_all(struct actors *actors, uint64_t deadline);
uint32_t actors_alive(const struct actors *actors); /* slots in use */

/* --- remembered entities (sherd_entity_type.remember) --- */

/* Its start is stored: its first incarnation begins. This and the next two calls are ignored when
 * late. */
void actors_remembered(struct actors *actors, uint64_t actor);
/* It cannot be remembered: its waiting messages end as SHERD_REASON_BUFFER_FULL. */
void actors_not_remembered(struct actors *actors, uint64_t actor);
/* Its stop is stored: it is released, or, if messages arrived meanwhile, starts again by
 * ACTORS_REMEMBER. */
void actors_forgotten(struct actors *actors, uint64_t actor);
/* Starts a remembered entity of a shard started here, without a message, unless it runs. Returns
 * the actor; 0: not started. */
uint64_t actors_entity_start(struct actors *actors, uint16_t type,
                             int32_t shard, struct slice id);
/* Whether that incarnation waits for its events, or for the end of them. */
bool actors_is_recovering(const struct actors *actors, uint64_t actor);

/* --- persistence --- */

/* Replays an event between ACTORS_REQUEST_REPLAY and actors_recovered or actors_recovery_failed.
 * Event lent. False: the entity rejects it, and its recovery has ended as in
 * actors_recovery_failed; until its back-off is over, further messages end at once. */
bool actors_replay_event(struct actors *actors, uint64_t actor, uint64_t seq,
                         struct entity_event event);
/* Gives an entity that recovers its state after the event `seq`, before the events after it. Lent.
 * Null, or why the entity refuses it: its state is as before then. */
const char *actors_replay_snapshot(struct actors *actors, uint64_t actor, uint64_t seq,
                                   uint32_t version, struct slice part, struct slice image);
/* The snapshot of its event `seq` is stored. */
void actors_snapshot_saved(struct actors *actors, uint64_t actor, uint64_t seq);
void actors_recovered(struct actors *actors, uint64_t actor,
                      uint64_t highest_seq);
/* Ends its waiting messages as SHERD_REASON_RECOVERY_FAILED with the text; later ones retry after a back-off of
 * 0.2 to 10 s. */
void actors_recovery_failed(struct actors *actors, uint64_t actor,
                            const char *text);
/* Each event appended up to this position is durable, or actors_store_failed was called for its
 * entity. */
void actors_durable(struct actors *actors, uint64_t position);
/* An event of this incarnation could not be stored. Its waiting effects are dropped, askers of
 * waiting replies get the reason (NOT_STORED or FENCED), and it ends without another message. It
 * recovers if messages wait, unless FENCED: actors_shard_fenced follows. */
void actors_store_failed(struct actors *actors, uint64_t actor,
                         enum sherd_reason reason);
/* Sets whether the journal has room for events; without it no persistent entity runs. Initially
 * true. */
void actors_set_storing_room(struct actors *actors, bool room);

/* --- asks, watches, nodes --- */

/* Returns a number for a node's name, for `where` of an unanswered ask; one UID has one number. 0
 * when the table (ACTOR_PEERS_MAX) is full. Copies text. */
uint16_t actors_peer(struct actors *actors, uint64_t node, const char *text);
/* Records how far the message of an ask of this lane has come, when the node buffers or sends it.
 * Unknown asks are ignored. */
void actors_ask_stage(struct actors *actors, uint64_t ask,
                      enum sherd_stage stage, uint16_t peer);
/* Returns where the message of a remote ask is: RECOVERING or QUEUED while it waits, DELIVERED once
 * read, NONE if the entity is absent or more than ACTOR_LOOK_MAX messages stand before it. hash:
 * hash_bytes of the id. */
enum sherd_stage actors_asked_stage(const struct actors *actors, uint16_t type,
                                    uint64_t hash, struct sherd_ref sender,
                                    uint64_t ask);
/* The node's incarnation was removed: watched actors there are TERMINATED, watchers there are
 * dropped, asks that were SENT, RECOVERING or QUEUED there end with SHERD_REASON_NODE_GONE. */
void actors_node_gone(struct actors *actors, uint64_t node);
/* The node is unreachable: such asks that may fail end with SHERD_REASON_UNREACHABLE. */
void actors_node_unreachable(struct actors *actors, uint64_t node);
bool actors_ask_is_open(const struct actors *actors, uint64_t ask); /* of this lane */
/* True for an ask of this lane that ends at once if the receiver's node is unreachable. */
bool actors_ask_may_fail(const struct actors *actors, uint64_t ask);

/* Reports a change or initial state of the cluster. Lent. */
void actors_cluster(struct actors *actors, const struct cluster_change *change);
/* Whether a plain actor that may run has unhandled cluster events. Walks subscribers' mailboxes. */
bool actors_cluster_unheard(const struct actors *actors);

/* Makes a distributed data call for the running actor; `tag` marks the answer. It comes out by
 * actors_take_out as a MESSAGE_CALL, after its cause is durable. False: the body, lent, is larger
 * than SHERD_BODY_MAX. */
bool actors_call(struct sherd_ctx *ctx, uint32_t verb, uint32_t tag,
                 struct slice body);
/* Answers a call that cannot be made. */
void actors_call_refused(struct sherd_ctx *ctx, uint32_t what, uint32_t tag,
                         struct slice body);
/* Sends an actor an enum sherd_data_message. Ignored if the incarnation has ended. Body lent. */
void actors_data(struct actors *actors, uint64_t actor, uint32_t what,
                 uint32_t tag, struct slice body);
void actors_data_changed(struct actors *actors, const char *key, uint32_t what,
                         struct slice body);
/* Unsubscribes one subscriber of the key, or with actor 0 all, and notifies them
 * (SHERD_DATA_REFUSED). */
void actors_data_refused(struct actors *actors, uint64_t actor,
                         const char *key);

/* Takes the job out of a MESSAGE_JOB, given, which comes out by actors_take_out once its cause
 * is durable. */
struct job *actors_job_take(struct actors *actors, struct message *message);
/* The function of a job of this lane, given, has returned: its actor is notified, or its asker if
 * that incarnation has ended. */
void actors_job_done(struct actors *actors, struct job *job);

/* --- actors that act for threads of the program (actor/outside.c) --- */

/* Sends an actor a SHERD_TIMER with the tag 0, which no limit refuses; its callers limit their
 * number. Ignored if the incarnation has ended. */
void actors_wake(struct actors *actors, uint64_t actor);
void actors_wake_self(struct sherd_ctx *ctx);
/* Returns the number of the ask that the running actor made last; 0: it was refused. */
uint64_t actors_asked(const struct sherd_ctx *ctx);
/* Ends an ask of the running actor without a message. Its answer may already be in the mailbox. An
 * ask that has ended is ignored. */
void actors_ask_drop(struct sherd_ctx *ctx, uint64_t ask);

/* Notifies an actor of a shutdown phase in which it has a task; false when it has ended. */
bool actors_phase(struct actors *actors, uint64_t actor, uint32_t phase);
bool actors_is_alive(const struct actors *actors, uint64_t actor);

/* --- status --- */

struct actors_status {
    /* messages made here; sent + arrived = delivered + undelivered + left + waiting */
    uint64_t sent;
    uint64_t arrived;   /* given by the node */
    uint64_t delivered;
    uint64_t left;      /* taken by actors_take_out */
    uint64_t waiting;   /* in mailboxes, waiting for durability, or not taken yet */
    uint64_t message_bytes; /* made for messages */
    uint64_t undelivered[SHERD_REASON_COUNT];
    uint64_t undelivered_total;
    uint64_t events;
    uint64_t held;      /* effects that wait for durability */
    uint64_t replies_dropped; /* second answers, and answers without an asker */
    uint64_t timers_refused;  /* at the limits */
    uint64_t watches_refused;
    uint64_t spawns_refused;
    uint64_t subscribers_refused;
    uint64_t data_missed; /* a full mailbox refused changes: the value follows instead */
    /* a full mailbox refused changes: the state follows instead */
    uint64_t cluster_missed;
    uint64_t peers_refused;   /* answers from these nodes have no `where` */
    uint64_t store_failures;
    uint64_t rejected;        /* events that their entities rejected */
    uint64_t long_replays;
    uint64_t snapshots_failed; /* save failed, or the image is too large */
    uint64_t handlers_failed; /* by SHERD_FAIL */
    uint64_t asks_late[SHERD_STAGE_COUNT]; /* timed out, by stage */
    uint64_t surplus;         /* entities passivated because of a limit */
    uint64_t slow_handlers;
    uint64_t deliveries;          /* begun here */
    uint64_t deliveries_refused;  /* by sherd_deliver */
    uint64_t deliveries_repeated; /* transmissions */
    uint64_t deliveries_ended[SHERD_DELIVERY_GIVEN_UP + 1]; /* by enum sherd_delivery_end */
    uint64_t deliveries_handled;  /* by receivers here */
    uint64_t deliveries_again;    /* repetitions that receivers here did not need */
    uint64_t delivery_events;     /* of the library */
    uint64_t commands;            /* sherd_once: new ones */
    uint64_t commands_again;
    uint64_t deliveries_open;
    uint64_t jobs;            /* started: heard + orphaned + open */
    uint64_t jobs_heard;      /* reported to their actors */
    uint64_t jobs_orphaned;   /* ended without their actors, or dropped with them */
    uint64_t jobs_refused;    /* at the limits */
    uint64_t ignored;         /* calls for ended actors or asks */
    uint32_t actors;    /* plain ones */
    uint32_t entities;
    uint32_t asks;
    uint32_t jobs_open;
    uint32_t timers;
    uint32_t watches;
    uint32_t subscribers;
    uint32_t cluster_roles; /* roles with a leader */
    uint32_t runnable;
    uint64_t memory;    /* malloc'ed for slots, tables, slabs */
};

void actors_status(const struct actors *actors, struct actors_status *status);
/* Counts this lane's message bytes in use anywhere by walking the free lists: for leak tests. */
uint64_t actors_messages_in_use(const struct actors *actors);
uint32_t actors_type_entities(const struct actors *actors, uint16_t type);
/* Sets the figures of its incarnations and handlers. */
void actors_type_figures(const struct actors *actors, uint16_t type, struct type_figures *figures);

#endif
