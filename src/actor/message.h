/* Declares a message between actors: made once, handed from owner to owner by pointer, freed once.
 *
 * Its memory comes from the slabs of the lane that made it (memory.c). When another lane frees it,
 * it joins a chain that returns by mail. Large messages and those of the program's threads are
 * malloc'ed and freed anywhere. The body follows the header (8-aligned). The id of an entity target
 * follows the body, with a zero byte.
 *
 * The node reads and writes the header freely, except size_class, owner, body_size and id_size. */
#ifndef SHERD_ACTOR_MESSAGE_H
#define SHERD_ACTOR_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/actor.h>

#include "base/bytes.h"

/* Kinds of messages between actors, lanes and nodes: name, text. Those from MESSAGE_STARTED on stay
 * inside a lane. */
#define MESSAGE_KINDS(X)                                                       \
    X(MESSAGE_TELL, "message")           /* of a user; ask != 0: wants an answer */ \
    X(MESSAGE_ANSWER, "answer")          /* to: the asker, ask: its number */  \
    X(MESSAGE_NO_ANSWER, "no answer")    /* to, ask, reason, stage, peer */    \
    X(MESSAGE_UNDELIVERED, "undelivered") /* to: sender of a failed tell; msg, reason */ \
    X(MESSAGE_TERMINATED, "terminated")  /* to: a watcher; sender: the watched actor */ \
    X(MESSAGE_WATCH, "watch")            /* to: the watched actor; sender: the watcher */ \
    X(MESSAGE_UNWATCH, "unwatch")        /* likewise */                        \
    X(MESSAGE_STOP, "stop")              /* to: an actor, which ends */     \
    /* to: an entity, which starts if absent; nothing is delivered */ \
    X(MESSAGE_START, "start entity") \
    /* to: sender of START; body: id, msg: type, ask: shard */ \
    X(MESSAGE_START_ACK, "start entity, acknowledged") \
    X(MESSAGE_STARTED, "started")        /* mailbox: init of sherd_spawn; effect: it may start */ \
    X(MESSAGE_TIMER, "timer")            /* tag */                             \
    /* mark in a mailbox; the next incarnation begins behind it */ \
    X(MESSAGE_STOPPING, "stopping") \
    X(MESSAGE_CLUSTER, "cluster")        /* msg, body: events for a subscriber */ \
    X(MESSAGE_SHUTDOWN, "shutdown")      /* msg: the phase */                  \
    X(MESSAGE_DATA, "data")              /* of distributed data; msg, ask: the tag, body */ \
    X(MESSAGE_CALL, "call")              /* to: the node, which reads it; msg, ask, body */ \
    /* to: the node; body: address of a struct job, given; sender, ask: asker */ \
    X(MESSAGE_JOB, "job") \
    X(MESSAGE_JOB_DONE, "job done")      /* likewise, in the mailbox of the job's actor */ \
    X(MESSAGE_WAKE, "wake")              /* actors_wake */ \
    X(MESSAGE_REPEAT, "repeat deliveries") /* some are due */

#define X(name, text) name,
enum message_kind { MESSAGE_KINDS(X) MESSAGE_KIND_COUNT };
#undef X

const char *message_kind_text(enum message_kind kind);

#define MESSAGE_OWNER_NONE 0xff /* malloc'ed: no lane's */
#define TYPE_NONE UINT16_MAX    /* type index of a message to a ref */

struct message {
    struct message *next;
    uint8_t kind;         /* enum message_kind */
    uint8_t reason;       /* enum sherd_reason */
    uint8_t stage;        /* enum sherd_stage; of NO_ANSWER */
    /* 1: it came out of a mailbox here: older than all that the node buffers for its shard, except
     * other returned ones */
    uint8_t returned;
    uint16_t type;    /* index of the entity's type, TYPE_NONE = to a ref */
    /* bytes of the entity's id, or of a path when type == TYPE_NONE and `to` is MESSAGE_TO_PATH; 0
     * = to a ref */
    uint8_t id_size;
    uint8_t wants_undelivered; /* the sender wants UNDELIVERED */
    uint32_t msg;
    uint32_t body_size;
    union {
        struct sherd_ref to; /* type == TYPE_NONE */
        struct {
            uint64_t hash;
            int32_t shard;  /* valid when has_shard */
            uint8_t has_shard; /* set in everything that actors_take_out returns */
        } entity;
    };
    struct sherd_ref sender; /* from outside actors: 0, 0 */
    /* the sender's number of the ask, 0 = none; in the asker's mailbox, and of TIMER: the tag */
    uint64_t ask;
    uint64_t at;   /* the node: buffered since, ns; inside actors/: the position it waits for */
    uint16_t peer; /* NO_ANSWER: where it was sent (actors_peer); 0 = nowhere */
    uint8_t size_class;
    uint8_t owner;      /* the lane that owns its memory, or MESSAGE_OWNER_NONE */
    uint8_t hops;       /* how often nodes passed it on; the node limits it */
    /* the node's; 1: another lane, or another Sherd node, sent it here: it goes no further */
    uint8_t arrived;
    uint16_t expires; /* an ask: when its time is over, by message_expiry; 0: never */
    uint8_t data[]; /* body, id, zero byte */
};

/* No ref: the node finds the actor that the path names. */
#define MESSAGE_TO_PATH ((struct sherd_ref){ 0, 1 })
/* This node itself. */
#define MESSAGE_TO_NODE ((struct sherd_ref){ 0, 2 })

static inline bool message_to_entity(const struct message *message)
{
    return message->type != TYPE_NONE;
}

/* Whether it is a user's message or answer, which conservation counts. The other kinds are
 * notices. */
static inline bool message_counts(const struct message *message)
{
    return message->kind <= MESSAGE_ANSWER;
}

static inline struct slice message_body(const struct message *message)
{
    return slice_of(message->data, message->body_size);
}

/* The body as an extractor sees it: without data for a start of an entity. */
static inline struct slice message_said(const struct message *message)
{
    return message->kind == MESSAGE_START ? slice_of(NULL, 0) : message_body(message);
}

/* The entity's id, or the path; a zero byte follows it. */
static inline struct slice message_id(const struct message *message)
{
    return slice_of(message->data + message->body_size, message->id_size);
}

#define EXPIRY_MS 128 /* unit of `expires`: 16 bits hold the longest ask twice */

static inline uint16_t expiry_tick(uint64_t now)
{
    return (uint16_t)(now / 1000000 / EXPIRY_MS);
}

/* `expires` for a time limit that begins at `now` (ns of this node): up to 256 ms later. */
static inline uint16_t message_expiry(uint64_t now, uint64_t timeout_ms)
{
    uint16_t tick = (uint16_t)((now / 1000000 + timeout_ms) / EXPIRY_MS + 1);

    return tick ? tick : 1;
}

static inline bool message_is_expired(const struct message *message, uint64_t now)
{
    return message->expires && (int16_t)(uint16_t)(expiry_tick(now) - message->expires) >= 0;
}

/* The time until then for another node, at least one unit; 0: it does not expire. */
static inline uint32_t message_left_ms(const struct message *message, uint64_t now)
{
    int16_t left = (int16_t)(uint16_t)(message->expires - expiry_tick(now));

    if (!message->expires)
        return 0;
    return EXPIRY_MS * (uint32_t)(left > 1 ? left : 1);
}

/* Makes a TELL that belongs to no lane, on any thread. Copies body and id; an empty id and
 * TYPE_NONE mean a ref (set `to`). Sets hash. The caller has checked body (FRAME_LARGE_SIZE_MAX)
 * and id (SHERD_ID_MAX). */
struct message *message_new_heap(uint16_t type, struct slice id,
                                    struct slice body);
/* Frees such a message, or any at shutdown, when the slabs of its owner may be gone (then it is
 * left to them). */
void message_free_heap(struct message *message);

/* Composes a ref's actor: lane, generation of the slot, slot. */
static inline uint64_t actor_id_make(uint32_t lane, uint32_t generation,
                                     uint32_t slot)
{
    return (uint64_t)lane << 56 | (uint64_t)generation << 32 | slot;
}

static inline uint32_t actor_id_lane(uint64_t actor)
{
    return (uint32_t)(actor >> 56);
}

static inline uint32_t actor_id_generation(uint64_t actor)
{
    return (uint32_t)(actor >> 32) & 0xffffff;
}

static inline uint32_t actor_id_slot(uint64_t actor)
{
    return (uint32_t)actor;
}

static inline bool ref_is_nobody(struct sherd_ref ref)
{
    return ref.node == 0 && ref.actor == 0;
}

static inline bool ref_equal(struct sherd_ref left, struct sherd_ref right)
{
    return left.node == right.node && left.actor == right.actor;
}

#endif
