/* Declares actors and entities, which a program writes, and all that they call.
 *
 * An actor is a state (a struct) and one function, `receive`, which gets one
 * message at a time. An entity is an actor with a type and an id. It runs in
 * at most one place of the cluster, unless a living node is declared dead.
 * Every function here that takes a `ctx` may be called only inside the call of
 * receive that was given that ctx. Actors run on lanes, the library's threads.
 * A turn is one round of a lane: it handles what has arrived and then writes.
 * *Lent* data is valid until receive returns; *copied* data stays the caller's.
 * Guides: docs/guide/concepts.md, docs/guide/entities-and-persistence.md. */
#ifndef SHERD_ACTOR_H
#define SHERD_ACTOR_H

#include <stddef.h>
#include <stdint.h>

#include <sherd/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The context of one call of receive. */
struct sherd_ctx;

/* Bytes that the library does not interpret. Lent, unless a function says
 * otherwise. `data` may be null when `size` is 0. */
struct sherd_bytes {
    const void *data; /* the first byte */
    size_t size;      /* in bytes */
};

/* Names one incarnation of an actor. It is a value: copy it, compare it, keep
 * it, send it in a body. All zero names nobody. After the incarnation has
 * ended, messages to it end as SHERD_REASON_NO_SUCH_ACTOR.
 *
 * The ref of a JVM actor is valid only on the node that got it. A lane keeps
 * the latest 16,384 of them. */
struct sherd_ref {
    uint64_t node;  /* the uid of the node's incarnation */
    uint64_t actor; /* the lane, the slot and the generation there */
};

/* ---- messages ---- */

/* The kind of a message. The comments name the fields of sherd_msg that it
 * sets. */
enum sherd_kind {
    /* A tell or an ask: msg, body, sender. */
    SHERD_MESSAGE,
    /* The first message of every incarnation. A persistent entity has been
     * recovered by then. body: what sherd_spawn was given. */
    SHERD_STARTED,
    /* The last message: sherd_stop, passivation, hand-off, the end of the node.
     * An entity with a stop_msg gets that instead (sherd/system.h). */
    SHERD_STOPPING,
    /* A timer has run out: tag. */
    SHERD_TIMER,
    /* The answer to an ask: tag of the ask, msg, body, sender. */
    SHERD_ANSWER,
    /* An ask ended without an answer: tag, reason, stage, where. body: a text
     * that says why the entity could not be recovered, or nothing. */
    SHERD_NO_ANSWER,
    /* A tell of this actor was not delivered: msg, reason, body as above. It
     * comes only if the behavior wants it, and not for a message that was lost
     * with a link to another node. */
    SHERD_UNDELIVERED,
    /* A watched actor has ended, or its node was removed: sender. */
    SHERD_TERMINATED,
    /* Events of the cluster: sherd/cluster.h. msg. */
    SHERD_CLUSTER,
    /* A phase of the shutdown has begun: sherd/shutdown.h. msg: the phase. */
    SHERD_SHUTDOWN,
    /* Distributed data, an answer or a change: sherd/ddata.h. msg, tag. */
    SHERD_DATA,
    /* A job has ended: sherd/job.h. tag, sender. */
    SHERD_JOB,
    /* A delivery of this entity has ended: sherd/delivery.h. msg. */
    SHERD_DELIVERY
};

/* One message. All of it is lent. */
struct sherd_msg {
    enum sherd_kind kind;     /* which of the following fields are set */
    /* The application's number of the message, below SHERD_NUMBERS_END. */
    uint32_t msg;
    uint32_t tag;             /* the number that this actor gave the call */
    enum sherd_reason reason; /* why there is no answer or delivery */
    enum sherd_stage stage;   /* how far the ask's message had come */
    struct sherd_ref sender;  /* all zero: no actor has sent it */
    /* The library frees it after receive returns. Aligned to 8 bytes. */
    struct sherd_bytes body;
    const char *where; /* the node asked, "host:port", or "" */
};

/* ---- behavior ---- */

/* The image of a state, which `save` writes. */
struct sherd_out;

/* The result of receive: what becomes of the actor. */
enum sherd_next {
    /* The next message. */
    SHERD_CONTINUE,
    /* The end of this incarnation. The next message to an entity's id starts
     * the entity again. */
    SHERD_STOP,
    /* The end, because the state is wrong. The log names the actor; an asker
     * without an answer gets SHERD_REASON_HANDLER_FAILED. An entity with
     * waiting messages starts again. If its start fails too, it waits before
     * the next one: about 0.2 s, then longer, up to about 10 s. */
    SHERD_FAIL
};

/* The definition of an actor. The library copies the struct; the functions and
 * the name must stay valid until sherd_close returns. */
struct sherd_behavior {
    /* For the log and the status. */
    const char *name;
    /* The size of the state. `self` points to this many bytes, zeroed before
     * the first message and aligned to 16 bytes, enough for every C type. */
    size_t state_size;
    /* Handles one message. Required. It runs on the actor's lane, one of the
     * library's threads, always the same for one incarnation. It must not
     * block: slow work is a job (sherd/job.h). A call that takes more than
     * 100 ms is logged and counted (sherd.slow-handler.report-after). */
    enum sherd_next (*receive)(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg);
    /* Applies one event to the state. An entity that has this function, or
     * apply_checked, is persistent. sherd_persist and recovery call it, on the
     * lane. It must change nothing but `self`. The event is lent until apply
     * returns; it may have any alignment. */
    void (*apply)(void *self, uint32_t type, struct sherd_bytes event);
    /* Frees what the state owns, not the state itself. May be null. It runs
     * once for each incarnation, after the last message, on the lane. For what
     * sherd_halt has left it runs in sherd_close, without a SHERD_STOPPING. */
    void (*release)(void *self);
    /* 1: this actor gets SHERD_UNDELIVERED messages. 0: they are counted. */
    int wants_undelivered;
    /* Does what apply does, and may reject the event: one of an unknown type,
     * or one that does not fit the state. Set this or apply, not both.
     *
     * Result: null, or why it is rejected: a text, copied at once, of which
     * about 120 bytes are kept.
     * If a stored event is rejected, the entity does not start. Its callers get
     * SHERD_REASON_RECOVERY_FAILED with that text as the body of their
     * SHERD_NO_ANSWER or SHERD_UNDELIVERED. The entity tries again after about
     * 0.2 s, then later, up to about 10 s; until then further callers get the
     * text at once. If the event of sherd_persist is rejected, it is not
     * stored, and the entity ends as if the journal had refused the event. */
    const char *(*apply_checked)(void *self, uint32_t type,
                                 struct sherd_bytes event);
    /* Writes the whole state of a persistent entity as one image, a snapshot,
     * with sherd_out_put. Recovery then begins with it instead of the first
     * event. It runs on the lane, between two messages, and reads `self` only.
     * The image depends on the events alone: it has nothing that a timer or a
     * message has set. May be null: no snapshots.
     *
     * Result: 0. Else there is no snapshot this time, and the log says so.
     * The entity does not wait: the image is taken at once, and is stored after
     * its events. A snapshot that cannot be stored is counted and logged. */
    int (*save)(const void *self, struct sherd_out *out);
    /* Fills the zeroed state with an image that save has written, of this
     * program or an older one. Required with save. It runs on the lane.
     *
     * version: the save_version of its writer, at most the present one.
     * image: lent, with any alignment.
     * Result: 0. Else `release` frees what load has set, the state is zeroed,
     * and an older snapshot follows, then all events. If events were deleted,
     * the entity does not start (SHERD_REASON_RECOVERY_FAILED). */
    int (*load)(void *self, uint32_t version, struct sherd_bytes image);
    /* The version of what save writes. An older program refuses the image. */
    uint32_t save_version;
    /* Events from one snapshot to the next; 0: only save_now asks for them. An
     * entity adds up to a quarter, by its id, so that not all save at once. A
     * recovery that reads so many events ends with a snapshot. */
    uint32_t save_every;
    /* Asks for a snapshot by its result after an event was applied: 1 or 0. May
     * be null. It runs on the lane, and reads only. */
    int (*save_now)(const void *self, uint32_t type, struct sherd_bytes event);
    /* 1: this actor also gets messages whose ask has run out of time while they
     * waited. 0: from 0.3 s after that time on, or earlier, they end
     * undelivered, as SHERD_REASON_EXPIRED. A message from another node has the
     * time that was left when it was sent: its way, and its wait until a
     * blocked lane reads it, are not counted. JVM nodes do not tell the time of
     * their asks. */
    int wants_expired;
};

/* Adds bytes to the image of a state. Copies them.
 *
 * Threads: only in the call of save that was given `out`.
 * Limits: sherd.journal.snapshot-size-max bytes in all, at most
 * SHERD_SNAPSHOT_MAX; then there is no snapshot. */
SHERD_API void sherd_out_put(struct sherd_out *out, struct sherd_bytes bytes);

/* ---- sending ---- */

/* Sends a message to an actor, at most once. Two messages from one actor to
 * another arrive in the order in which they were sent.
 *
 * to: nobody and ended incarnations are fine; the message is undelivered then.
 * msg: the application's own number.
 * body: copied, at most SHERD_BODY_MAX bytes.
 * Result: none. A message that is not delivered is counted by its reason.
 * Limits: 1,000,000 messages wait for one actor, mailbox_max for one entity,
 * and 1 GiB of messages for one lane; then SHERD_REASON_MAILBOX_FULL. The same
 * rules hold for all functions that send. */
SHERD_API void sherd_tell(struct sherd_ctx *ctx, struct sherd_ref to,
                          uint32_t msg, struct sherd_bytes body);

/* Sends a message to an entity, at most once, wherever its shard lives. An
 * entity that does not run is started.
 *
 * Messages from one lane to one entity arrive in order, also while the shard
 * moves: they wait for the new home on their sender's node. A message that
 * could only arrive after a later one ends as SHERD_REASON_HANDED_OFF.
 * docs/guide/concepts.md tells the life of a message.
 *
 * type: a registered type, or NAME@DATA_CENTER for another data center.
 * id: 1 to SHERD_ID_MAX bytes. Both are texts, copied.
 * body: as for sherd_tell. */
SHERD_API void sherd_entity_tell(struct sherd_ctx *ctx, const char *type,
                                 const char *id, uint32_t msg,
                                 struct sherd_bytes body);

/* Send a message and ask for an answer: exactly one SHERD_ANSWER or
 * SHERD_NO_ANSWER with this tag follows.
 *
 * tag: comes back with the answer; the actor chooses it.
 * timeout_ms: 1 to 3,600,000; other values are moved into that range.
 * The rest is as for sherd_tell and sherd_entity_tell.
 *
 * An ask belongs to this incarnation. After its end a late answer is counted as
 * SHERD_REASON_ASKER_GONE. An entity with open asks is not passivated for
 * idleness.
 * Limits: one actor has at most 65,535 open asks and jobs; one more ends at
 * once as SHERD_REASON_BUFFER_FULL. */
SHERD_API void sherd_ask(struct sherd_ctx *ctx, struct sherd_ref to,
                         uint32_t msg, struct sherd_bytes body, uint32_t tag,
                         uint64_t timeout_ms);
SHERD_API void sherd_entity_ask(struct sherd_ctx *ctx, const char *type,
                                const char *id, uint32_t msg,
                                struct sherd_bytes body, uint32_t tag,
                                uint64_t timeout_ms);

/* Ask as above, for a caller that prefers a failure to a wait. The ask ends as
 * SHERD_REASON_UNREACHABLE at once if the receiver's node is an unreachable
 * member of the cluster (sherd/cluster.h), or becomes one before it answers. In
 * the first case the message is not sent; in the second it may be handled.
 * `where` names the node.
 *
 * An ask whose shard has no known home waits as usual, and so does one to
 * another data center. Unreachable is a guess: the node may only be slow, and
 * be reachable again soon. */
SHERD_API void sherd_ask_or_fail(struct sherd_ctx *ctx, struct sherd_ref to,
                                 uint32_t msg, struct sherd_bytes body,
                                 uint32_t tag, uint64_t timeout_ms);
SHERD_API void sherd_entity_ask_or_fail(struct sherd_ctx *ctx,
                                        const char *type, const char *id,
                                        uint32_t msg, struct sherd_bytes body,
                                        uint32_t tag, uint64_t timeout_ms);

/* Starts an entity that does not run, without a message and without an answer.
 * Sent at most once, in order with the tells to it.
 *
 * type, id: as for sherd_entity_tell. An unknown type and a wrong id are
 * ignored. sherd_entity_start_ask tells when the entity runs. */
SHERD_API void sherd_entity_start(struct sherd_ctx *ctx, const char *type,
                                  const char *id);

/* Starts an entity as above, and asks to be told: exactly one SHERD_ANSWER or
 * SHERD_NO_ANSWER with this tag follows. The answer means that the entity runs,
 * and that the start of a remembered entity is stored. Its msg is 0, and its
 * body is the id of the entity's shard. In Akka this is StartEntity with its
 * StartEntityAck.
 *
 * The rest is as for sherd_entity_ask. */
SHERD_API void sherd_entity_start_ask(struct sherd_ctx *ctx, const char *type,
                                      const char *id, uint32_t tag,
                                      uint64_t timeout_ms);

/* Sends a message to a type's region, whose extractor finds the entity
 * (sherd/extractor.h). The extractor runs in this call; a message that it does
 * not handle ends as SHERD_REASON_NOT_EXTRACTED. The rest is as for
 * sherd_entity_tell and sherd_entity_ask. */
SHERD_API void sherd_region_tell(struct sherd_ctx *ctx, const char *type,
                                 uint32_t msg, struct sherd_bytes body);
SHERD_API void sherd_region_ask(struct sherd_ctx *ctx, const char *type,
                                uint32_t msg, struct sherd_bytes body,
                                uint32_t tag, uint64_t timeout_ms);

/* Sends a message to an actor of any node by its path. Answers come with a
 * sender; its ref is cheaper from then on.
 *
 * path: as JVM nodes write it, "akka://System@host:port/user/name", with or
 * without "#uid"; at most SHERD_PATH_MAX bytes, copied. A text that is no path
 * ends as SHERD_REASON_NO_SUCH_ACTOR, an unknown node as
 * SHERD_REASON_NODE_GONE.
 * body: as for sherd_tell. */
SHERD_API void sherd_path_tell(struct sherd_ctx *ctx, const char *path,
                               uint32_t msg, struct sherd_bytes body);

/* ---- answering ---- */

/* Answers the message that is being handled, a SHERD_MESSAGE or SHERD_JOB. The
 * answer to a tell is a message to the sender.
 *
 * body: as for sherd_tell. An answer that is too large ends the ask as
 * SHERD_REASON_TOO_LARGE.
 * A second answer, and an answer to nobody, are dropped and counted
 * (SHERD_REPLIES_DROPPED). */
SHERD_API void sherd_reply(struct sherd_ctx *ctx, uint32_t msg,
                           struct sherd_bytes body);

/* The address of an answer that is due. It is a value: keep it in the state.
 * All zero: no answer is due. */
struct sherd_question {
    struct sherd_ref asker; /* the receiver of the answer */
    uint64_t number;        /* the ask's; 0: it was a tell */
};

/* Takes the answer over from sherd_reply, to give it later with sherd_answer,
 * in any call of this incarnation. The asker's time-out goes on.
 *
 * Result: all zero, if the message came from nobody or is answered already. */
SHERD_API struct sherd_question sherd_reply_later(struct sherd_ctx *ctx);

/* Answers a question as sherd_reply does, and sets *question to zero. An
 * answer to an all-zero question is dropped and counted. */
SHERD_API void sherd_answer(struct sherd_ctx *ctx,
                            struct sherd_question *question, uint32_t msg,
                            struct sherd_bytes body);

/* Passes the SHERD_MESSAGE that is being handled on to another actor, with its
 * sender and its ask. It counts as this actor's answer. */
SHERD_API void sherd_forward(struct sherd_ctx *ctx, struct sherd_ref to);

/* ---- this actor ---- */

/* Returns this incarnation's ref. */
SHERD_API struct sherd_ref sherd_self(const struct sherd_ctx *ctx);
/* Returns the entity's id, lent, with a zero byte after it. A plain actor has
 * an empty id. */
SHERD_API struct sherd_bytes sherd_id(const struct sherd_ctx *ctx);
/* Returns the entity's type, lent. A plain actor has its behavior's name. */
SHERD_API const char *sherd_type(const struct sherd_ctx *ctx);
/* Returns the id of the entity's shard, lent, with a zero byte after it: a
 * number such as "-17", or what the type's extractor chose. A plain actor has
 * an empty one. */
SHERD_API const char *sherd_shard_id(const struct sherd_ctx *ctx);
/* Returns the time of this turn of the lane in milliseconds, by a clock that
 * never goes back. */
SHERD_API uint64_t sherd_now(const struct sherd_ctx *ctx);
/* Returns the time of this turn as milliseconds since 1970, by the wall
 * clock. */
SHERD_API int64_t sherd_wall(const struct sherd_ctx *ctx);

/* ---- timers ---- */

/* Sends SHERD_TIMER with this tag to this actor, once, after delay_ms
 * milliseconds. A timer with the same tag is replaced. Timers end with the
 * incarnation.
 *
 * Limits: 1,024 timers of one actor; 4,194,304 timers and open asks of a lane.
 * A timer beyond them never runs out, and the log has an error. */
SHERD_API void sherd_timer(struct sherd_ctx *ctx, uint32_t tag,
                           uint64_t delay_ms);
/* Cancels a timer. A tag without a timer is ignored. */
SHERD_API void sherd_timer_cancel(struct sherd_ctx *ctx, uint32_t tag);

/* ---- other actors ---- */

/* Starts a plain actor on this lane.
 *
 * behavior: copied. init: the body of its SHERD_STARTED message, copied, at
 * most SHERD_BODY_MAX bytes.
 * Result: its ref, which is valid immediately; all zero, if init is too large,
 * the node is closing, or a limit is reached.
 *
 * If a persistent entity calls it, the actor begins when the entity's events
 * are durable. If they cannot be stored, the actor ends without having run.
 * Limits: a lane has 16,777,215 actors and entities and 4,096 behaviors. The
 * log has an error. */
SHERD_API struct sherd_ref sherd_spawn(struct sherd_ctx *ctx,
                                       const struct sherd_behavior *behavior,
                                       struct sherd_bytes init);

/* Starts a plain actor with a name. JVM nodes reach it by the path
 * "PROTOCOL://SYSTEM@HOST:PORT/user/NAME", also through an ActorSelection, and
 * see this path as its sender. So does sherd_path_tell on any node.
 *
 * name: 1 to SHERD_NAME_MAX letters, digits and signs of "-_.$+:@&=,!~';", not
 * with "$" in front, not "a" or "w" with 16 hexadecimal digits. Copied.
 * The rest is as for sherd_spawn; also all zero, if the name is not valid.
 *
 * The actor begins when its node has reserved the name, within a few turns.
 * If an actor of the node has the name, or the node has 16,384 names, the new
 * actor ends without having run. The log has a warning then, and a watcher gets
 * SHERD_TERMINATED. A name is free again when its actor has ended. Messages
 * by the name before and after that end as SHERD_REASON_NO_SUCH_ACTOR, those
 * through an ActorSelection as SHERD_REASON_NO_MATCH. */
SHERD_API struct sherd_ref
sherd_spawn_named(struct sherd_ctx *ctx, const char *name,
                  const struct sherd_behavior *behavior,
                  struct sherd_bytes init);

/* Asks an actor to end: it gets SHERD_STOPPING, an entity its stop_msg, after
 * the messages that it already has. */
SHERD_API void sherd_stop(struct sherd_ctx *ctx, struct sherd_ref actor);

/* Watches an actor: exactly one SHERD_TERMINATED follows when the actor ends,
 * does not exist, or its node is removed.
 *
 * Limits: 4,194,304 watches by and of the actors of a lane. One more has no
 * effect, and the log has an error. */
SHERD_API void sherd_watch(struct sherd_ctx *ctx, struct sherd_ref actor);
/* Ends a watch. */
SHERD_API void sherd_unwatch(struct sherd_ctx *ctx, struct sherd_ref actor);

/* ---- entities ---- */

/* Ends this incarnation of an entity after the messages that it already has:
 * it gets its stop_msg or SHERD_STOPPING. Later messages wait in the same
 * mailbox and start the next incarnation. A remembered entity is forgotten.
 * A plain actor's call is ignored. */
SHERD_API void sherd_passivate(struct sherd_ctx *ctx);

/* Reports how many bytes an entity holds beside its state, such as what it has
 * allocated, for the limit of bytes (sherd_set_active_limit).
 *
 * bytes: the present total, not a difference; rounded up to KiB. Each
 * incarnation begins with 0. A plain actor's call is ignored. The first call of
 * an incarnation may cost 128 bytes of the lane's memory. */
SHERD_API void sherd_entity_bytes(struct sherd_ctx *ctx, uint64_t bytes);

/* Stores an event of a persistent entity, and calls apply with it at once.
 *
 * The entity's effects wait until the event is durable: messages, answers,
 * jobs, new actors and calls of distributed data. Timers, log lines and
 * sherd_shutdown_done do not wait. If the event cannot be stored, the entity
 * ends, its effects are dropped, the askers get SHERD_REASON_NOT_STORED, and
 * the entity recovers from the journal. A durable event survives the end of the
 * process. It survives the loss of the host only as far as the journal's file
 * does: see sherd_options.journal.
 *
 * A call of receive stores all or nothing: its events, and what
 * sherd/delivery.h stores with them. If one of its events is refused, none is
 * stored. An event is refused if it has a wrong type or size, or if
 * apply_checked rejects it. The SHERD_NO_ANSWER then has the cause as its body.
 * Events of earlier calls stay: the entity ends when they are durable, and
 * their askers get their answers.
 *
 * type: the application's number of the kind of event, below SHERD_NUMBERS_END;
 * others cannot be stored. event: copied.
 * Limits: an event above SHERD_BODY_MAX bytes cannot be stored. An entity with
 * 1,000 events, 1 MiB of events or 10,000 effects that wait gets no message
 * until some are durable. An actor without apply and apply_checked cannot store
 * anything. Its type can be registered, because it may never store. When it
 * does, the event is refused: the log and the asker get the name of the type
 * and what is missing. */
SHERD_API void sherd_persist(struct sherd_ctx *ctx, uint32_t type,
                             struct sherd_bytes event);

/* Stores an event as sherd_persist does, with the version of its format.
 *
 * version: the application's; sherd_persist is version 0. An older version than
 * the present one (struct sherd_upcast) is upcast before it is applied; a newer
 * one is rejected. */
SHERD_API void sherd_persist_version(struct sherd_ctx *ctx, uint32_t type,
                                     uint32_t version,
                                     struct sherd_bytes event);

/* Returns the number of this entity's events, stored or being stored. Those of
 * sherd/delivery.h count, too. */
SHERD_API uint64_t sherd_sequence(const struct sherd_ctx *ctx);

/* Returns the number of the event whose snapshot is the newest one that this
 * incarnation has stored or was recovered from; 0: there is none. */
SHERD_API uint64_t sherd_snapshot_sequence(const struct sherd_ctx *ctx);

/* ---- events of older formats ---- */

/* The events that an upcaster makes. */
struct sherd_events;

/* Adds a copy of an event to those that replace an older one. It may be of an
 * older version, too: then it is upcast next.
 *
 * Threads: only in the call of `to` that was given `newer`.
 * Limits: 1,000 events and 1 MiB for one stored event, then it is rejected. */
SHERD_API void sherd_events_add(struct sherd_events *newer, uint32_t type,
                                uint32_t version, struct sherd_bytes event);

/* The present version of one type of event, and how older ones become it.
 * sherd_entity_type.upcasts lists them. A type of event that is not listed has
 * version 0. An event of a newer version is rejected: a newer program wrote
 * it. */
struct sherd_upcast {
    uint32_t type;    /* of the event */
    uint32_t version; /* the only one that apply gets */
    /* Turns an event of an older version into none, one or several newer ones.
     * It runs before apply, when events are read and in sherd_persist; the
     * journal keeps what was stored. It must depend on nothing but its
     * arguments. Up to 16 upcasts may follow each other. May be null: then
     * older versions are rejected.
     *
     * event: lent, with any alignment.
     * Result: null, or why the event is rejected, as apply_checked's. */
    const char *(*to)(uint32_t type, uint32_t version,
                      struct sherd_bytes event, struct sherd_events *newer);
};

/* ---- log ---- */

/* How much a line of the log matters. sherd_options.log_level, sherd_log and
 * the log function use this scale: a smaller number matters more. */
enum sherd_log_level {
    SHERD_LOG_ERROR = 1, /* something failed */
    SHERD_LOG_WARNING,   /* something may fail, or needs an operator */
    SHERD_LOG_INFO,      /* normal work that an operator wants to see */
    SHERD_LOG_DEBUG      /* details for a developer */
};

/* Writes a line to the log, with this actor's type, shard and id.
 *
 * level: a value below SHERD_LOG_ERROR counts as SHERD_LOG_ERROR, a value above
 * SHERD_LOG_DEBUG as SHERD_LOG_DEBUG.
 * format: as for printf, "what happened key=%s". The text of an argument after
 * `key=` stays one value, quoted if needed. Texts from outside the program
 * belong only there.
 * Limits: text after about 1,000 bytes is cut. */
SHERD_API void sherd_log(struct sherd_ctx *ctx, enum sherd_log_level level,
                         const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- limits ---- */

/* Messages and events from this number on are the library's own. */
#define SHERD_NUMBERS_END UINT32_C(0xffffffc0)

#define SHERD_ID_MAX 255   /* bytes of an entity's id */
#define SHERD_TYPE_MAX 127 /* bytes of an entity type's name */
#define SHERD_PATH_MAX 255 /* bytes of a path: sherd_path_tell */
#define SHERD_NAME_MAX 127 /* bytes of an actor's name: sherd_spawn_named */

/* Bytes of an event, and of a message's body. A larger body ends as
 * SHERD_REASON_TOO_LARGE, unless akka.remote.artery.large-message-destinations
 * of this node names the receiver's path. Such a body has its own connection
 * and may have maximum-large-frame-size less 16 KiB, by default 2,080,768
 * bytes. Paths: an actor's is "/user/a" and the 16 hexadecimal digits of
 * sherd_ref.actor, or "/user/NAME"; an entity's is "/system/sharding/TYPE";
 * that of an ask begins with "/temp/". */
#define SHERD_BODY_MAX 200000

#define SHERD_SNAPSHOT_MAX 16777216 /* bytes of a snapshot's image */

#ifdef __cplusplus
}
#endif

#endif
