/* Defines the mail between the machines of one node: the fields of each kind, and the queues of
 * mail that waits for the driver.
 *
 * A struct letter is the inside of a `struct mail`: fixed in size, copied, with at most two
 * pointers, which its holder owns. */
#ifndef SHERD_NODE_MAIL_H
#define SHERD_NODE_MAIL_H

#include "base/fence.h"
#include "base/vec.h"
#include "node/node.h"

/* Name; from -> to; meaning of the fields. */
#define LETTERS(X) \
    /* ---- between lanes ---- */ \
    /* body: chain of struct message, given, for actors and entities of the reader */ \
    X(LETTER_MESSAGES) \
    /* body: chain of struct message in memory of the reader */ \
    X(LETTER_RETURNS) \
    /* type, shard, fence, a: attempt, b: uid, lane: the last message of that lane for the \
     * shard */ \
    X(LETTER_MARKER) \
    /* a: ask of the reader, b: uid of the node where its message waits, count: enum \
     * sherd_stage */ \
    X(LETTER_STAGE) \
    \
    /* ---- lane -> control ---- */ \
    /* body: struct carried, given: an envelope that is not for actors */ \
    X(LETTER_FRAME) \
    /* body: struct handshake, given */ \
    X(LETTER_HANDSHAKE) \
    /* a: uid that ends */ \
    X(LETTER_TERMINATING) \
    /* type, shard; a: 1 = a home is known, but suspected to be wrong */ \
    X(LETTER_WANT_HOME) \
    /* type, shard, fence, a: attempt: the lane holds and has sent its marker */ \
    X(LETTER_HELD) \
    /* type, shard, fence */ \
    X(LETTER_STARTED) \
    /* type, shard, fence, a: attempt, b: 1 = stopped, 0 = the hand-off failed; more: reason, a \
     * literal */ \
    X(LETTER_STOPPED) \
    /* type, shard, fence; a: the highest term that the store is known to have, 0 = none */ \
    X(LETTER_FENCED) \
    /* type, a: messages of the type that wait in this lane, lane */ \
    X(LETTER_WAITING) \
    /* body: struct watching, given; a: 1 watch, 0 unwatch, 2 terminated; b: it existed */ \
    X(LETTER_WATCH) \
    /* lane: one of its actors subscribes to the cluster */ \
    X(LETTER_FOLLOW) \
    /* lane, a: actor, count: enum sherd_phase, body: its name, given: a task in the node's \
     * shutdown */ \
    X(LETTER_TASK) \
    /* a: actor, count: phase */ \
    X(LETTER_TASK_DONE) \
    /* a: actor, b: tag, count: enum data_verb, body: struct buf of data_call_put, given */ \
    X(LETTER_DATA_CALL) \
    /* a: actor, b: tag, body: struct buf, given: a key; count: enum follow */ \
    X(LETTER_DATA_FOLLOW) \
    /* type, shard, a: ticket, count: enum remember_verb, body: struct buf, given, or null: \
     * records of a write */ \
    X(LETTER_REMEMBER) \
    /* body: struct node_id, given: no answer from there for long, and messages wait */ \
    X(LETTER_DOUBT) \
    \
    /* ---- control -> every lane, or one ---- */ \
    /* body: struct node_id, given; a: capabilities, b: order, count: its lanes; an incarnation \
     * is at its address */ \
    X(LETTER_CONTACT) \
    /* body: struct node_id, given: that incarnation is leaving */ \
    X(LETTER_LEAVES) \
    /* body: struct node_id, given: that incarnation left the cluster; a: 1 = gracefully, so \
     * its frames are accepted until LETTER_OVER */ \
    X(LETTER_GONE) \
    /* body: struct node_id, given: its frames are no longer accepted */ \
    X(LETTER_OVER) \
    /* body: struct node_id, given: the answer to LETTER_DOUBT: it is no member */ \
    X(LETTER_STRANGER) \
    /* body: struct node_id, given; lane, a: generation of the link that was answered, b: order \
     * of the answer's connection */ \
    X(LETTER_ANSWERED) \
    /* body: struct node_id, given; more: struct buf, given; count: enum table_kind: a peer's \
     * table */ \
    X(LETTER_TABLE) \
    /* body: struct buf, given: refs of this node's table, each with a 16-bit length; count: \
     * enum table_kind */ \
    X(LETTER_OWN_TABLE) \
    /* type, shard; body: struct node_id, given: its home */ \
    X(LETTER_ROUTE) \
    /* type, shard */ \
    X(LETTER_FORGET) \
    /* type, shard, fence, a: attempt; body: struct node_id of the owner, given, or null: \
     * unknown */ \
    X(LETTER_HOLD) \
    /* type, shard: waiting messages end, as in Akka: the coordinator uses no markers */ \
    X(LETTER_DROP) \
    /* type, shard, fence */ \
    X(LETTER_HOST) \
    /* type, shard, fence, a: attempt, b: deadline; body: struct owing array, given; count */ \
    X(LETTER_DRAIN) \
    /* type, shard, fence: an orphan shard, above the type's number of shards; its remembered \
     * entities must move */ \
    X(LETTER_STRAY) \
    /* type: the coordinator that asked to move them is gone */ \
    X(LETTER_STRAYS_END) \
    /* type, shard, fence: another node has the shard under that newer fence */ \
    X(LETTER_LOST) \
    /* type, a: uid of a removed node: after the drains that name it */ \
    X(LETTER_OWES_NOTHING) \
    /* type, a: 1 = known, 0 = none: sets the stage of asks that wait */ \
    X(LETTER_COORDINATOR) \
    /* type: answer LETTER_WAITING */ \
    X(LETTER_COUNT_WAITING) \
    /* body: struct watching, given; a: as in LETTER_WATCH: from another node */ \
    X(LETTER_WATCHED) \
    /* body: struct naming, given: from another lane, before messages with that name */ \
    X(LETTER_NAMED) \
    /* body: struct identifying, given; a: actor of the lane, which answers */ \
    X(LETTER_IDENTIFY) \
    /* body: struct cluster_change, given: for actors that subscribed by LETTER_FOLLOW */ \
    X(LETTER_CLUSTER) \
    /* a: actor, b: tag, count: enum sherd_data_message, body: struct buf, given: the message's */ \
    X(LETTER_DATA_ANSWER) \
    /* count, body: the same, for all subscribers of the key */ \
    X(LETTER_DATA_CHANGED) \
    /* type, shard, a: ticket, b: 1 = done, count: as requested, body: struct buf, given: a \
     * record of the ids that were read, or of starts without room, or null; more: reason of a \
     * failure, a literal; REMEMBER_CHANGED: a: which key, body: its ids */ \
    X(LETTER_REMEMBERED) \
    /* a: actor, 0: all of them, body: the same: they do not subscribe to it */ \
    X(LETTER_DATA_REFUSED) \
    /* a: actor, count: phase: its task begins */ \
    X(LETTER_PHASE) \
    /* the node was downed, and its tasks run: entities end at once, and none begins any more */ \
    X(LETTER_DOWNED) \
    /* the node ends: stop all actors; a: 1 = at once, but actors still handle the cluster's \
     * last events */ \
    X(LETTER_END) \
    /* lane -> control: no actor is left */ \
    X(LETTER_ENDED) \
    \
    /* ---- foreign thread -> lane or control ---- */ \
    /* body: struct spawning, given */ \
    X(LETTER_SPAWN) \
    /* body: struct telling, given */ \
    X(LETTER_TELL) \
    /* count: enum node_command; body: struct address, given, or null; a: the first phase of \
     * NODE_LEAVE */ \
    X(LETTER_COMMAND) \
    /* body: struct status_part, given */ \
    X(LETTER_STATUS)

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

/* A lane's request about a key of distributed data. */
enum follow {
    FOLLOW_NO_MORE, /* no actor subscribes any more */
    FOLLOW_FIRST,   /* report the value now, and then each change */
    FOLLOW_TOO      /* the lane subscribes already: report the value to this actor */
};

/* A lane's request about a shard's entities in distributed data. */
enum remember_verb {
    REMEMBER_READ,
    REMEMBER_STORE,
    REMEMBER_FOLLOW, /* the read has been taken in: report the value, then changes of other nodes */
    REMEMBER_GIVE_UP, /* the shard is gone: this ticket needs no answer */
    REMEMBER_CHANGED  /* only in LETTER_REMEMBERED: other nodes have changed a key of the shard */
};

/* An envelope on its way to another machine. */
struct carried {
    struct buf frame;
    enum stream stream;
};

/* A watch between an actor here and one elsewhere, in either direction. */
struct watching {
    struct node_id peer;
    struct sherd_ref watchee;
    struct sherd_ref watcher;
    struct buf watchee_text; /* whole literals if they came from outside; else empty */
    struct buf watcher_text;
};

/* A received Identify message of Akka. */
struct identifying {
    struct node_id from;
    struct buf path; /* of the actor, as the asker calls it */
    struct buf sender;
    struct buf payload;
};

struct naming {
    uint64_t node;
    struct buf path;
};

struct spawning {
    struct sherd_behavior behavior;
    struct buf init;
};

/* A message from a foreign thread: to a ref, or to an entity if id is not empty. */
struct telling {
    struct sherd_ref to;
    uint32_t type;
    uint32_t msg;
    struct buf id;
    struct buf body;
};

struct task {
    uint64_t actor;
    uint32_t phase;
    uint32_t lane;
    char *name; /* on control; owned */
};

struct mail_queue {
    VEC(struct mail) mail;
    uint32_t head;
};

/* Copies the letter; what it points to is given. */
void mail_post(struct mail_queue *queue, const struct letter *letter);
void mail_queue_fini(struct mail_queue *queue); /* with everything that the mail points to */

static inline struct letter mail_open(const struct mail *mail)
{
    struct letter letter;

    memcpy(&letter, mail, sizeof letter);
    return letter;
}

/* Frees what it points to. Messages in a lane's memory stay with the lane, which must still
 * exist. */
void letter_free(struct letter *letter);

#endif
