/* Defines the mail between the machines of one node: the fields of each kind, and the queues of
 * mail that waits for the driver.
 *
 * A struct mail_content is the inside of a `struct mail`: fixed in size, copied, with at most two
 * pointers, which its holder owns. */
#ifndef SHERD_NODE_MAIL_H
#define SHERD_NODE_MAIL_H

#include "base/fence.h"
#include "base/vec.h"
#include "node/node.h"

/* Name; from -> to; meaning of the fields. */
#define MAIL_KINDS(X) \
    /* ---- between lanes ---- */ \
    /* body: chain of struct message, given, for actors and entities of the reader */ \
    X(MAIL_MESSAGES) \
    /* body: chain of struct message in memory of the reader */ \
    X(MAIL_RETURNS) \
    /* type, shard, fence, a: attempt, b: uid, lane: the last message of that lane for the \
     * shard */ \
    X(MAIL_MARKER) \
    /* a: ask of the reader, b: uid of the node where its message waits, count: enum \
     * sherd_stage */ \
    X(MAIL_STAGE) \
    \
    /* ---- lane -> control ---- */ \
    /* body: struct carried, given: an envelope that is not for actors */ \
    X(MAIL_FRAME) \
    /* body: struct handshake, given */ \
    X(MAIL_HANDSHAKE) \
    /* a: uid that ends */ \
    X(MAIL_TERMINATING) \
    /* type, shard; a: 1 = a home is known, but suspected to be wrong */ \
    X(MAIL_REQUEST_HOME) \
    /* type, shard, fence, a: attempt: the lane buffers messages and has sent its marker */ \
    X(MAIL_HELD) \
    /* type, shard, fence */ \
    X(MAIL_STARTED) \
    /* type, shard, fence, a: attempt, b: 1 = stopped, 0 = the hand-off failed; more: reason, a \
     * literal */ \
    X(MAIL_STOPPED) \
    /* type, shard, fence; a: the highest term that the journal is known to have, 0 = none */ \
    X(MAIL_FENCED) \
    /* type, a: messages of the type that wait in this lane, lane */ \
    X(MAIL_WAITING) \
    /* body: struct watching, given; a: 1 watch, 0 unwatch, 2 terminated; b: it existed */ \
    X(MAIL_WATCH) \
    /* lane: one of its actors subscribes to the cluster */ \
    X(MAIL_FOLLOW) \
    /* lane, a: actor, count: enum sherd_phase, body: its name, given: a task in the node's \
     * shutdown */ \
    X(MAIL_TASK) \
    /* a: actor, count: phase */ \
    X(MAIL_TASK_DONE) \
    /* a: actor, b: tag, count: enum data_verb, body: struct buf of data_call_put, given */ \
    X(MAIL_DATA_CALL) \
    /* a: actor, b: tag, body: struct buf, given: a key; count: enum follow */ \
    X(MAIL_DATA_FOLLOW) \
    /* type, shard, a: ticket, count: enum remember_verb, body: struct buf, given, or null: \
     * records of a write */ \
    X(MAIL_REMEMBER) \
    /* body: struct node_id, given: no answer from there for long, and messages wait */ \
    X(MAIL_SUSPECT) \
    \
    /* ---- control -> every lane, or one ---- */ \
    /* body: struct node_id, given; a: capabilities, b: order, count: its lanes; an incarnation \
     * is at its address */ \
    X(MAIL_CONTACT) \
    /* body: struct node_id, given: that incarnation is leaving */ \
    X(MAIL_LEAVES) \
    /* body: struct node_id, given: that incarnation left the cluster; a: 1 = gracefully, so \
     * its frames are accepted until MAIL_OVER */ \
    X(MAIL_GONE) \
    /* body: struct node_id, given: its frames are no longer accepted */ \
    X(MAIL_OVER) \
    /* body: struct node_id, given: the answer to MAIL_SUSPECT: it is no member */ \
    X(MAIL_NO_MEMBER) \
    /* body: struct node_id, given; lane, a: generation of the link that was answered, b: order \
     * of the answer's connection */ \
    X(MAIL_ANSWERED) \
    /* body: struct node_id, given; more: struct buf, given; count: enum table_kind: a peer's \
     * table */ \
    X(MAIL_TABLE) \
    /* body: struct buf, given: refs of this node's table, each with a 16-bit length; count: \
     * enum table_kind */ \
    X(MAIL_OWN_TABLE) \
    /* type, shard; body: struct node_id, given: its home */ \
    X(MAIL_ROUTE) \
    /* type, shard */ \
    X(MAIL_FORGET) \
    /* type, shard, fence, a: attempt; body: struct node_id of the owner, given, or null: \
     * unknown */ \
    X(MAIL_HOLD) \
    /* type, shard: waiting messages end, as in Akka: the coordinator uses no markers */ \
    X(MAIL_DROP) \
    /* type, shard, fence */ \
    X(MAIL_HOST) \
    /* type, shard, fence, a: attempt, b: deadline; body: struct owing array, given; count */ \
    X(MAIL_DRAIN) \
    /* type, shard, fence: an orphan shard, above the type's number of shards; its remembered \
     * entities must move */ \
    X(MAIL_ORPHAN) \
    /* type: the coordinator that asked to move them is gone */ \
    X(MAIL_ORPHANS_END) \
    /* type, shard, fence: another node has the shard under that newer fence */ \
    X(MAIL_LOST) \
    /* type, a: uid of a removed node: after the drains that name it */ \
    X(MAIL_OWES_NOTHING) \
    /* type, a: 1 = known, 0 = none: sets the stage of asks that wait */ \
    X(MAIL_COORDINATOR) \
    /* type: answer MAIL_WAITING */ \
    X(MAIL_COUNT_WAITING) \
    /* body: struct watching, given; a: as in MAIL_WATCH: from another node */ \
    X(MAIL_WATCHED) \
    /* body: struct naming, given: from another lane, before messages with that name */ \
    X(MAIL_NAMED) \
    /* body: struct identifying, given; a: actor of the lane, which answers */ \
    X(MAIL_IDENTIFY) \
    /* body: struct cluster_change, given: for actors that subscribed by MAIL_FOLLOW */ \
    X(MAIL_CLUSTER) \
    /* a: actor, b: tag, count: enum sherd_data_message, body: struct buf, given: the message's */ \
    X(MAIL_DATA_ANSWER) \
    /* count, body: the same, for all subscribers of the key */ \
    X(MAIL_DATA_CHANGED) \
    /* type, shard, a: ticket, b: 1 = done, count: as requested, body: struct buf, given: a \
     * record of the ids that were read, or of starts without room, or null; more: reason of a \
     * failure, a literal; REMEMBER_CHANGED: a: which key, body: its ids */ \
    X(MAIL_REMEMBERED) \
    /* a: actor, 0: all of them, body: the same: they do not subscribe to it */ \
    X(MAIL_DATA_REFUSED) \
    /* a: actor, count: phase: its task begins */ \
    X(MAIL_PHASE) \
    /* the node was downed, and its tasks run: entities end at once, and none begins any more */ \
    X(MAIL_DOWNED) \
    /* the node ends: stop all actors; a: 1 = at once, but actors still handle the cluster's \
     * last events */ \
    X(MAIL_END) \
    /* lane -> control: no actor is left */ \
    X(MAIL_ENDED) \
    \
    /* ---- program's thread -> lane or control ---- */ \
    /* body: struct spawning, given */ \
    X(MAIL_SPAWN) \
    /* body: struct tell_content, given */ \
    X(MAIL_TELL) \
    /* count: enum node_command; body: struct address, given, or null; a: the first phase of \
     * NODE_LEAVE */ \
    X(MAIL_COMMAND) \
    /* body: struct status_part, given */ \
    X(MAIL_STATUS)

enum mail_kind {
#define X(name) name,
    MAIL_KINDS(X)
#undef X
};

struct mail_content {
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

_Static_assert(sizeof(struct mail_content) == sizeof(struct mail),
               "the content fills the mail");

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
    REMEMBER_CHANGED  /* only in MAIL_REMEMBERED: other nodes have changed a key of the shard */
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

/* A message from a thread of the program: to a ref, or to an entity if id is not empty. */
struct tell_content {
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

/* Copies the content; what it points to is given. */
void mail_post(struct mail_queue *queue, const struct mail_content *content);
void mail_queue_fini(struct mail_queue *queue); /* with everything that the mail points to */

static inline struct mail_content mail_open(const struct mail *mail)
{
    struct mail_content content;

    memcpy(&content, mail, sizeof content);
    return content;
}

/* Frees what it points to. Messages in a lane's memory stay with the lane, which must still
 * exist. */
void mail_content_free(struct mail_content *content);

#endif
