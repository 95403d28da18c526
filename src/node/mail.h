/* Mail between the machines of one node: what each kind carries, and the queues of those that wait for the driver.
 *
 * A letter is the inside of a `struct mail`: fixed in size, copied, with at most two pointers that belong to whoever holds
 * it. Kinds that cross from one core to another stand with the names of the news and verbs they connect. */
#ifndef SHERD_NODE_MAIL_H
#define SHERD_NODE_MAIL_H

#include "base/fence.h"
#include "base/vec.h"
#include "node/node.h"

/* name; from -> to; what the fields are */
#define LETTERS(X)                                                             \
    /* between lanes */                                                        \
    X(LETTER_MESSAGES) /* body: chain of struct message, given, for actors and entities of the reader */ \
    X(LETTER_RETURNS)  /* body: chain of struct message that the reader's memory owns */ \
    X(LETTER_MARKER)   /* type, shard, fence, a: attempt, b: uid, lane: the last of that lane for the shard */ \
    X(LETTER_STAGE)    /* a: ask of the reader, b: uid of the node where its message waits, count: enum sherd_stage */ \
    /* lane -> control */                                                      \
    X(LETTER_FRAME)     /* body: struct carried, given: an envelope that is not for actors */ \
    X(LETTER_HANDSHAKE) /* body: struct handshake, given */                    \
    X(LETTER_TERMINATING) /* a: uid that ends */                               \
    X(LETTER_WANT_HOME) /* type, shard; a: 1 = a home is known, and doubted */ \
    X(LETTER_HELD)      /* type, shard, fence, a: attempt: the lane holds and has sent its marker */ \
    X(LETTER_STARTED)   /* type, shard, fence */                               \
    X(LETTER_STOPPED)   /* type, shard, fence, a: attempt, b: 1 = stopped, 0 = the hand-off failed; more: reason, a literal */ \
    X(LETTER_FENCED)    /* type, shard, fence; a: the highest term that the store is known to have, 0 = none */ \
    X(LETTER_WAITING)   /* type, a: messages that wait in this lane for the type, lane */ \
    X(LETTER_WATCH)     /* body: struct watching, given; a: 1 watch, 0 unwatch, 2 terminated; b: it was there */ \
    X(LETTER_FOLLOW)    /* lane: an actor of it wants to hear of the cluster */ \
    X(LETTER_TASK)      /* lane, a: actor, count: enum sherd_phase, body: its name, given: a task in the node's end */ \
    X(LETTER_TASK_DONE) /* a: actor, count: phase */                           \
    X(LETTER_DATA_CALL) /* a: actor, b: tag, count: enum data_verb, body: struct buf of data_call_put, given */ \
    X(LETTER_DATA_FOLLOW) /* a: actor, b: tag, body: struct buf, given: a key; count: enum follow */ \
    X(LETTER_REMEMBER) /* type, shard, a: ticket, count: enum remember_verb, body: struct buf, given, or null: records of a write */ \
    X(LETTER_DOUBT)     /* body: struct node_id, given: nobody answers there for long, and messages wait */ \
    /* control -> every lane, or one */                                        \
    X(LETTER_CONTACT)  /* body: struct node_id, given; a: capabilities, b: order, count: its lanes; an incarnation is at its address */ \
    X(LETTER_LEAVES)   /* body: struct node_id, given: that incarnation is on its way out */ \
    X(LETTER_GONE)     /* body: struct node_id, given: that incarnation left the cluster; a: by itself, so that it is heard until LETTER_OVER */ \
    X(LETTER_OVER)     /* body: struct node_id, given: it is not heard any more */ \
    X(LETTER_STRANGER) /* body: struct node_id, given: the answer to LETTER_DOUBT: it is no member */ \
    X(LETTER_ANSWERED) /* body: struct node_id, given; lane, a: generation of the link that was answered, b: order of the answer's connection */ \
    X(LETTER_TABLE)    /* body: struct node_id, given; more: struct buf, given; count: enum table_kind: a peer's table */ \
    X(LETTER_OWN_TABLE) /* body: struct buf, given: refs of the own table, each with a 16-bit length; count: enum table_kind */ \
    X(LETTER_ROUTE)    /* type, shard; body: struct node_id, given: its home */ \
    X(LETTER_FORGET)   /* type, shard */                                       \
    X(LETTER_HOLD)     /* type, shard, fence, a: attempt; body: struct node_id of the owner, given, or null: unknown */ \
    X(LETTER_DROP)     /* type, shard: Akka's rule for what waited */          \
    X(LETTER_HOST)     /* type, shard, fence */                                \
    X(LETTER_DRAIN)    /* type, shard, fence, a: attempt, b: deadline; body: struct owing array, given; count */ \
    X(LETTER_STRAY)    /* type, shard, fence: it is above the type's number of shards: what it remembers is to be moved */ \
    X(LETTER_STRAYS_END) /* type: the coordinator, for which that was done, is gone */ \
    X(LETTER_LOST)     /* type, shard, fence: another node has the shard under that newer fence */ \
    X(LETTER_OWES_NOTHING) /* type, a: uid of a removed node: behind the drains that name it */ \
    X(LETTER_COORDINATOR) /* type, a: 1 = known, 0 = none: the stage of asks that wait */ \
    X(LETTER_COUNT_WAITING) /* type: answer LETTER_WAITING */                  \
    X(LETTER_WATCHED)  /* body: struct watching, given; a: as LETTER_WATCH: from another node */ \
    X(LETTER_NAMED)    /* body: struct naming, given: from another lane, before messages of that name */ \
    X(LETTER_IDENTIFY) /* body: struct identifying, given; a: actor of the lane, which answers */ \
    X(LETTER_CLUSTER)  /* body: struct cluster_change, given: for those that sent LETTER_FOLLOW */ \
    X(LETTER_DATA_ANSWER) /* a: actor, b: tag, count: enum sherd_data_message, body: struct buf, given: the message's */ \
    X(LETTER_DATA_CHANGED) /* count, body: the same, for all that follow the key */ \
    X(LETTER_REMEMBERED) /* type, shard, a: ticket, b: 1 = done, count: as asked, body: struct buf, given: a record of what was read, or of \
                          * starts that there is no place for, or null; more: why not, a literal; REMEMBER_CHANGED: a: which key, body: what it has */ \
    X(LETTER_DATA_REFUSED) /* a: actor, 0: all of them, body: the same: they do not follow it */ \
    X(LETTER_PHASE)    /* a: actor, count: phase: its task begins */           \
    X(LETTER_DOWNED)   /* the node was declared dead, and its tasks run: entities end at once, none begins any more */ \
    X(LETTER_END)      /* the node ends: stop all actors; a: 1 = at once, but actors hear of the cluster's end */ \
    X(LETTER_ENDED)    /* lane -> control: no actor is left */                 \
    /* foreign thread -> lane or control */                                    \
    X(LETTER_SPAWN)   /* body: struct spawning, given */                       \
    X(LETTER_TELL)    /* body: struct telling, given */                        \
    X(LETTER_COMMAND) /* count: enum node_command; body: struct address, given, or null; a: of NODE_LEAVE the first phase */ \
    X(LETTER_STATUS)  /* body: struct status_part, given */

enum letter_kind {
#define X(name) name,
    LETTERS(X)
#undef X
};

struct letter {
    uint16_t kind;
    uint16_t type; /* index of the entity type */
    int32_t shard;
    struct fence fence;
    uint64_t a;
    uint64_t b;
    void *body;
    void *more;
    uint32_t count;
    uint32_t lane;
};

_Static_assert(sizeof(struct letter) == sizeof(struct mail),
               "a letter is the inside of a mail");

/* What a lane wants to hear of a key of distributed data. */
enum follow {
    FOLLOW_NO_MORE, /* nobody there wants to hear of it */
    FOLLOW_FIRST,   /* tell the lane of it from now on, as it is now first */
    FOLLOW_TOO      /* the lane is told already: tell this actor how it is now */
};

/* What a lane wants of the entities that a shard remembers in distributed data. */
enum remember_verb {
    REMEMBER_READ,
    REMEMBER_STORE,
    REMEMBER_FOLLOW, /* what was read has been taken in: how it is now, and then what others change */
    REMEMBER_GIVE_UP, /* the shard is gone: what was asked for with this ticket is not tried again, and not answered */
    REMEMBER_CHANGED  /* only in LETTER_REMEMBERED: others have changed a key of a shard that was read */
};

/* An envelope carried whole from the lane that read it. */
struct carried {
    struct buf frame;
    enum stream stream;
};

/* A watch of an actor elsewhere, by an actor here, or the other way round. */
struct watching {
    struct node_id peer;
    struct sherd_ref watchee;
    struct sherd_ref watcher;
    struct buf watchee_text; /* whole literals when they came from outside; else empty */
    struct buf watcher_text;
};

/* Somebody asks whether an actor is there (wire 4.2): what asked, as it came. */
struct identifying {
    struct node_id from;
    struct buf path; /* of the actor, as the asker calls it */
    struct buf sender;
    struct buf payload;
};

/* An actor of a JVM node. */
struct naming {
    uint64_t node;
    struct buf path;
};

struct spawning {
    struct sherd_behavior behavior;
    struct buf init;
};

/* A message from a foreign thread: to a ref, or to an entity when id is not empty. */
struct telling {
    struct sherd_ref to;
    uint32_t type;
    uint32_t msg;
    struct buf id;
    struct buf body;
};

/* A task of an actor in the node's end. */
struct task {
    uint64_t actor;
    uint32_t phase;
    uint32_t lane;
    char *name; /* on control; owned */
};

/* Mail to one machine that the driver has not taken. */
struct mail_queue {
    VEC(struct mail) mail;
    uint32_t head;
};

void mail_post(struct mail_queue *queue, const struct letter *letter); /* copied; what it points to is given */
void mail_queue_fini(struct mail_queue *queue); /* frees what the mail points to */

static inline struct letter mail_open(const struct mail *mail)
{
    struct letter letter;

    memcpy(&letter, mail, sizeof letter);
    return letter;
}

/* Frees what a letter points to. Messages that lie in a lane's memory are left to it; it must be there still. */
void letter_free(struct letter *letter);

#endif
