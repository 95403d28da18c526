/* Actors: what users write. Entities and plain actors have this one face.
 *
 * An actor is a struct of state and one function, `receive`, which is called with one message at a time, always on the
 * lane (thread) that the actor lives on. Start, stop, timers, answers and failures are messages too. Everything that an
 * actor does goes through the `ctx` that receive is given; a ctx is valid during that call only.
 *
 * Words: *lent* = valid until the call returns; *copied* = the library took a copy. Ids and bodies are bytes that the
 * library does not interpret. Seeds: the classic and the typed sharding manual. */
#ifndef SHERD_ACTOR_H
#define SHERD_ACTOR_H

#include <stddef.h>
#include <stdint.h>

#include <sherd/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHERD_ID_MAX 255      /* bytes of an entity id */
#define SHERD_TYPE_MAX 127    /* bytes of an entity type's name */
#define SHERD_PATH_MAX 255    /* bytes of another actor's path */
#define SHERD_BODY_MAX 200000 /* bytes of an event, or of a message's body, but to a large destination: see sherd_tell */

struct sherd_ctx;

/* Bytes of any meaning; lent unless a function says otherwise. */
struct sherd_bytes {
    const void *data;
    size_t size;
};

/* An actor's name as a value: copy it, compare it, keep it, send it in a body. It means one incarnation: when that has
 * ended, messages to it end as SHERD_REASON_NO_SUCH_ACTOR. All zero = nobody. An actor of a JVM node has one too, by its path; it
 * is for the node that read the path alone, which keeps the last 16,384 of them. */
struct sherd_ref {
    uint64_t node;  /* the uid of the node's incarnation */
    uint64_t actor; /* lane, slot and generation on it */
};

/* What a message is. */
enum sherd_kind {
    SHERD_MESSAGE,     /* sent by a tell or an ask; `msg`, `body`, `sender` */
    SHERD_STARTED,     /* the first message of every incarnation; a persistent entity has been recovered by then. `body`: what
                          sherd_spawn was given */
    SHERD_STOPPING,    /* the last one: hand-off, passivation, sherd_stop, the node's end (see stop_msg) */
    SHERD_TIMER,       /* a timer ran out; `tag` */
    SHERD_ANSWER,      /* the answer to an ask; `tag` of the ask, `msg`, `body` */
    SHERD_NO_ANSWER,   /* an ask ended without one; `tag`, `reason`, `stage`, `where` */
    SHERD_UNDELIVERED, /* a tell of this actor was not delivered; `msg`, `reason`; only if the behavior wants them */
    SHERD_TERMINATED,  /* a watched actor has ended or its node was removed; `sender` is the watched ref */
    SHERD_CLUSTER,     /* what a subscriber hears of the cluster: sherd/cluster.h */
    SHERD_SHUTDOWN,    /* a phase of the node's end has begun in which this actor has a task; `msg`: sherd/shutdown.h */
    SHERD_DATA,        /* an answer of distributed data, or a value that has changed: sherd/ddata.h; `msg`, `tag` */
    SHERD_JOB          /* a job has ended: sherd/job.h; `tag`, `sender` */
};

struct sherd_msg {
    enum sherd_kind kind;
    uint32_t msg;             /* the application's number of the message */
    uint32_t tag;             /* of the timer, ask, job, or call of distributed data */
    enum sherd_reason reason; /* of NO_ANSWER and UNDELIVERED */
    enum sherd_stage stage;   /* of NO_ANSWER */
    struct sherd_ref sender;  /* nobody when sent from outside an actor */
    struct sherd_bytes body;  /* lent */
    const char *where;        /* of NO_ANSWER: the node it was sent to, "host:port", or ""; lent */
};

/* What an actor wants after a message. */
enum sherd_next {
    SHERD_CONTINUE,
    SHERD_STOP, /* end this incarnation; an entity is started again by the next message to its id */
    SHERD_FAIL  /* something is wrong with the state: end it; an entity with waiting messages starts anew, after a while that grows where it fails again and again. Logged */
};

/* The whole of an actor. Copied at registration; the functions and texts must live as long as the system. */
struct sherd_behavior {
    const char *name;  /* for logs and status */
    size_t state_size; /* `self` points to this many bytes, zeroed before the first message */
    /* Handles one message. Never blocks: what takes long is a job (sherd/job.h). A handler that takes longer than 100 ms is
     * reported in the log and counted (slow-handler.report-after, SHERD_HANDLERS_SLOW). Required. */
    enum sherd_next (*receive)(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg);
    /* Applies one event to the state: used by sherd_persist and by replay alike, so it only changes `self`. Its presence
     * makes an entity persistent. */
    void (*apply)(void *self, uint32_t type, struct sherd_bytes event);
    /* Frees what the state owns; called once after the last message of every incarnation. May be null. */
    void (*release)(void *self);
    int wants_undelivered; /* 1: SHERD_UNDELIVERED messages are sent to this actor; 0: they are only counted */
};

/* This actor. */
SHERD_API struct sherd_ref sherd_self(const struct sherd_ctx *ctx);
/* The entity's id (lent for this call of receive, with a zero byte behind it) and its type; a plain actor has an empty id and
 * its behavior's name. */
SHERD_API struct sherd_bytes sherd_id(const struct sherd_ctx *ctx);
SHERD_API const char *sherd_type(const struct sherd_ctx *ctx);
/* Monotonic milliseconds of this turn; wall-clock milliseconds since 1970 of this turn. */
SHERD_API uint64_t sherd_now(const struct sherd_ctx *ctx);
SHERD_API int64_t sherd_wall(const struct sherd_ctx *ctx);

/* Sends a message to an actor, at most once, in order between two actors. Body copied. A body above SHERD_BODY_MAX is
 * not sent and ends as SHERD_REASON_TOO_LARGE, unless akka.remote.artery.large-message-destinations of this node names the path of
 * whom it is for: it may have 16 KiB less than maximum-large-frame-size then, 2,080,768 bytes by default, and goes by a connection of
 * its own. An actor's path is "/user/a" and the 16 hexadecimal digits of sherd_ref's `actor`, an entity's "/system/sharding/TYPE", that
 * of who waits for an answer begins with "/temp/". A message to an actor for which 1,000,000 messages wait (an entity: mailbox_max), or to a
 * lane whose waiting messages take 1 GiB, as SHERD_REASON_MAILBOX_FULL. The same rules hold for all senders below. */
SHERD_API void sherd_tell(struct sherd_ctx *ctx, struct sherd_ref to,
                          uint32_t msg, struct sherd_bytes body);
/* Sends to the entity (type, id), which is started if it is not running, wherever its shard lives. Order is kept from
 * this lane's region to the entity, across look-up, hand-off and restart; a message that could only arrive behind a later
 * one ends as SHERD_REASON_HANDED_OFF. type and id: texts with a zero byte, copied. */
SHERD_API void sherd_entity_tell(struct sherd_ctx *ctx, const char *type,
                                 const char *id, uint32_t msg,
                                 struct sherd_bytes body);
/* Sends to an actor of any node by its path as JVM nodes write it, "akka://System@host:port/user/name", with or without "#uid"; its
 * answers have a sender, whose ref is cheaper from then on. Ends as SHERD_REASON_NO_SUCH_ACTOR when it is no path, or longer than
 * SHERD_PATH_MAX; as SHERD_REASON_NODE_GONE when no node at that address is known. path: a text with a zero byte, copied. */
SHERD_API void sherd_path_tell(struct sherd_ctx *ctx, const char *path,
                               uint32_t msg, struct sherd_bytes body);
/* Asks: exactly one SHERD_ANSWER or SHERD_NO_ANSWER with this tag comes back, at the latest after timeout_ms (1 to
 * 3,600,000). An ask belongs to this incarnation: when it ends the ask is closed and a late answer is counted as
 * SHERD_REASON_ASKER_GONE. An entity with open asks is not passivated for idleness. Of more than 65,535 open asks and jobs of an actor
 * those above end at once, as SHERD_REASON_BUFFER_FULL. */
SHERD_API void sherd_ask(struct sherd_ctx *ctx, struct sherd_ref to,
                         uint32_t msg, struct sherd_bytes body, uint32_t tag,
                         uint64_t timeout_ms);
SHERD_API void sherd_entity_ask(struct sherd_ctx *ctx, const char *type,
                                const char *id, uint32_t msg,
                                struct sherd_bytes body, uint32_t tag,
                                uint64_t timeout_ms);
/* Starts the entity (type, id), wherever its shard lives, if it does not run: without a message, and without an answer; sent at most once,
 * in order with what is told to it. Who wants to know that it runs asks it something (sherd_entity_ask), which starts it, too: an answer says more than
 * that a start was begun, since it comes when the entity has recovered, and where it is remembered when that is stored. An unknown type and an id that is empty or too long are
 * ignored. */
SHERD_API void sherd_entity_start(struct sherd_ctx *ctx, const char *type,
                                  const char *id);
/* Answers the message that is being handled: to an ask it is the answer, to a tell a message to the sender. A second
 * answer, or one to nobody, is dropped and counted. */
SHERD_API void sherd_reply(struct sherd_ctx *ctx, uint32_t msg,
                           struct sherd_bytes body);
/* Who waits for the answer to a message, as a value to be kept in `self`. All zero: nobody. */
struct sherd_question {
    struct sherd_ref asker;
    uint64_t number; /* of the ask; 0: it was a tell */
};
/* Takes over the answer to the message that is being handled: sherd_reply does not answer it any more, sherd_answer does, in any later
 * call of this incarnation. Whoever asked waits meanwhile, for as long as its ask does; one that is never answered ends as
 * SHERD_REASON_TIMEOUT. Nobody when the message has its answer already or came from nobody. */
SHERD_API struct sherd_question sherd_reply_later(struct sherd_ctx *ctx);
/* Answers as sherd_reply does, and makes *question nobody's; to nobody it is dropped and counted. */
SHERD_API void sherd_answer(struct sherd_ctx *ctx,
                            struct sherd_question *question, uint32_t msg,
                            struct sherd_bytes body);
/* Passes the message that is being handled on, unchanged, with its sender and its ask. */
SHERD_API void sherd_forward(struct sherd_ctx *ctx, struct sherd_ref to);

/* Sends SHERD_TIMER with this tag to this actor after delay_ms; the same tag again replaces the timer. An actor has at most 1,024
 * timers, and all of a lane have 4,194,304 timers and open asks together: one more never runs out, and an error in the log says so. */
SHERD_API void sherd_timer(struct sherd_ctx *ctx, uint32_t tag,
                           uint64_t delay_ms);
SHERD_API void sherd_timer_cancel(struct sherd_ctx *ctx, uint32_t tag);

/* Starts a plain actor on this lane. `init` becomes the body of its SHERD_STARTED message; copied. Its ref is good at once. That of a
 * persistent entity begins when what the entity has persisted is durable (sherd_persist): then it gets what waits for it; it ends
 * without having run, its state only released, when that cannot be stored. Nobody when it is refused: `init` is above SHERD_BODY_MAX,
 * the node is closing, or, with an error in the log, the lane has 16,777,215 actors and entities, or knows 4,096 different behaviors. */
SHERD_API struct sherd_ref sherd_spawn(struct sherd_ctx *ctx,
                                       const struct sherd_behavior *behavior,
                                       struct sherd_bytes init);
/* Asks an actor to end: it gets SHERD_STOPPING after the messages it already has. */
SHERD_API void sherd_stop(struct sherd_ctx *ctx, struct sherd_ref actor);
/* Exactly one SHERD_TERMINATED follows when that actor ends, does not exist, or its node is removed. A lane has at most 4,194,304
 * watches by and of its actors: one more is none, and an error in the log says so. */
SHERD_API void sherd_watch(struct sherd_ctx *ctx, struct sherd_ref actor);
SHERD_API void sherd_unwatch(struct sherd_ctx *ctx, struct sherd_ref actor);

/* Entities only. Ends this incarnation: it gets its stop message after the messages it already has; messages that arrive
 * meanwhile wait in the same mailbox and start the next incarnation. */
SHERD_API void sherd_passivate(struct sherd_ctx *ctx);
/* Persistent entities only. Stores an event and applies it at once by apply(self, type, event). Everything that this
 * entity sends afterwards leaves it only when the event is durable, and the jobs and actors that it starts begin then; if it cannot
 * be stored the entity ends, those effects are dropped, open asks of others get SHERD_REASON_NOT_STORED, and the entity recovers
 * from the journal. */
SHERD_API void sherd_persist(struct sherd_ctx *ctx, uint32_t type,
                             struct sherd_bytes event);
/* Number of events of this entity so far, stored or being stored. */
SHERD_API uint64_t sherd_sequence(const struct sherd_ctx *ctx);

/* How much a log line matters. options.log_level, sherd_log and the log
 * function use this one scale: a smaller number matters more. */
enum sherd_log_level {
    SHERD_LOG_ERROR = 1, /* something failed */
    SHERD_LOG_WARNING,   /* something may fail, or needs an operator */
    SHERD_LOG_INFO,      /* what an operator wants to see of normal work */
    SHERD_LOG_DEBUG      /* details for a developer */
};

/* Writes a line to the log with this actor's type, shard and id; printf's
 * format. level: below SHERD_LOG_ERROR counts as SHERD_LOG_ERROR, above
 * SHERD_LOG_DEBUG as SHERD_LOG_DEBUG. What the format has behind `key=` stays
 * one value, in quotes if it must be; other texts from outside do not belong
 * there. */
SHERD_API void sherd_log(struct sherd_ctx *ctx, enum sherd_log_level level,
                         const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif
