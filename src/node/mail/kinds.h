/* Defines the kinds of mail between the machines of one node, and what a piece of mail of each kind
 * contains.
 *
 * Kind, entity type, shard and sending lane are common to all kinds (mail.h). The receiver or the
 * holder frees the pointers in `own`. Every other pointer is lent for ever, such as a literal. */
#ifndef SHERD_NODE_MAIL_KINDS_H
#define SHERD_NODE_MAIL_KINDS_H

#include <sherd/ddata.h>
#include <sherd/error.h>
#include <sherd/shutdown.h>

#include "actor/actors.h"
#include "actor/data_call.h"
#include "artery/table.h"
#include "base/fence.h"
#include "base/outbox.h"
#include "base/proof.h"
#include "lease/group.h"
#include "node/node.h"
#include "shard/attempt.h"

/* Lists every kind with the name of its struct, by sender and receiver. NONE: it has only the
 * common fields. LENT: it owns nothing. OWNS: its struct has `own`. */
#define MAIL_KINDS(NONE, LENT, OWNS) \
    /* ---- between lanes ---- */ \
    OWNS(MAIL_MESSAGES, messages) \
    OWNS(MAIL_RETURNS, returns) \
    LENT(MAIL_MARKER, marker) \
    LENT(MAIL_STAGE, stage) \
    OWNS(MAIL_NAMED, named) \
    \
    /* ---- lane -> control ---- */ \
    OWNS(MAIL_FRAME, frame) \
    OWNS(MAIL_HANDSHAKE, handshake) \
    LENT(MAIL_TERMINATING, terminating) \
    LENT(MAIL_REQUEST_HOME, request_home) \
    LENT(MAIL_HELD, held) \
    LENT(MAIL_STARTED, started) \
    LENT(MAIL_STOPPED, stopped) \
    LENT(MAIL_FENCED, fenced) \
    NONE(MAIL_OTHER_STORE, other_store) /* type: the coordinator has another journal */ \
    LENT(MAIL_WAITING, waiting) \
    OWNS(MAIL_WATCH, watch) \
    NONE(MAIL_FOLLOW, follow) /* one of the lane's actors subscribes to the cluster */ \
    OWNS(MAIL_TASK, task) \
    LENT(MAIL_TASK_DONE, task_done) \
    OWNS(MAIL_NAME, name) \
    LENT(MAIL_NAME_SEEN, name_seen) \
    LENT(MAIL_NAME_END, name_end) \
    OWNS(MAIL_DATA_CALL, data_call) \
    OWNS(MAIL_DATA_FOLLOW, data_follow) \
    OWNS(MAIL_REMEMBER, remember) \
    LENT(MAIL_LEASE, lease) \
    OWNS(MAIL_SUSPECT, suspect) \
    OWNS(MAIL_LOOKED, looked) \
    OWNS(MAIL_LOOK_REPLY, look_reply) \
    NONE(MAIL_TYPE_ADDED, type_added) /* type: answers MAIL_ADD_TYPE */ \
    NONE(MAIL_TYPE_OPENED, type_opened) /* type: answers MAIL_OPEN_TYPE */ \
    NONE(MAIL_ENDED, ended) /* no actor is left on the lane */ \
    \
    /* ---- control -> every lane, or one ---- */ \
    OWNS(MAIL_PEER, peer) \
    OWNS(MAIL_LEAVES, leaves) \
    OWNS(MAIL_REACH, reach) \
    OWNS(MAIL_GONE, gone) \
    OWNS(MAIL_OVER, over) \
    OWNS(MAIL_STRANGER, stranger) \
    OWNS(MAIL_NO_MEMBER, no_member) \
    OWNS(MAIL_ANSWERED, answered) \
    OWNS(MAIL_TABLE, table) \
    OWNS(MAIL_ROUTE, route) \
    NONE(MAIL_FORGET, forget) /* type, shard: its home is unknown */ \
    OWNS(MAIL_HOLD, hold) \
    /* type, shard: waiting messages end, as in Akka: the coordinator uses no markers */ \
    NONE(MAIL_DROP, drop) \
    LENT(MAIL_HOST, host) \
    OWNS(MAIL_DRAIN, drain) \
    LENT(MAIL_ORPHAN, orphan) \
    /* type: the coordinator that asked to move orphan shards is gone */ \
    NONE(MAIL_ORPHANS_END, orphans_end) \
    LENT(MAIL_LOST, lost) \
    LENT(MAIL_OWES_NOTHING, owes_nothing) \
    LENT(MAIL_COORDINATOR, coordinator) \
    LENT(MAIL_ACTIVE_LIMIT, active_limit) \
    NONE(MAIL_COUNT_WAITING, count_waiting) /* type: answer MAIL_WAITING */ \
    OWNS(MAIL_WATCHED, watched) \
    OWNS(MAIL_IDENTIFY, identify) \
    OWNS(MAIL_CLUSTER, cluster) \
    OWNS(MAIL_DATA_ANSWER, data_answer) \
    OWNS(MAIL_DATA_CHANGED, data_changed) \
    OWNS(MAIL_DATA_REFUSED, data_refused) \
    OWNS(MAIL_REMEMBERED, remembered) \
    LENT(MAIL_LEASED, leased) \
    OWNS(MAIL_REMEMBER_CHANGED, remember_changed) \
    LENT(MAIL_LOOK, look) \
    OWNS(MAIL_LOOK_ASKED, look_asked) \
    NONE(MAIL_ADD_TYPE, add_type) /* type: take its messages */ \
    NONE(MAIL_OPEN_TYPE, open_type) /* type: every lane has it, so actors may use it */ \
    LENT(MAIL_PHASE, phase) \
    OWNS(MAIL_NAME_KNOWN, name_known) \
    LENT(MAIL_NAME_ANSWER, name_answer) \
    LENT(MAIL_NAME_GONE, name_gone) \
    /* the node was downed, and its tasks run: entities end at once, and none begins any more */ \
    NONE(MAIL_DOWNED, downed) \
    LENT(MAIL_END, end) \
    \
    /* ---- program's thread -> lane or control ---- */ \
    OWNS(MAIL_SPAWN, spawn) \
    OWNS(MAIL_TELL, tell) \
    OWNS(MAIL_COMMAND, command) \
    LENT(MAIL_REGION_LIMIT, region_limit) \
    OWNS(MAIL_ALLOCATION, allocation) \
    OWNS(MAIL_QUERY, query) \
    OWNS(MAIL_LOOK_CALL, look_call) \
    LENT(MAIL_LOOK_CANCEL, look_cancel) \
    OWNS(MAIL_OPERATE_CALL, operate_call) \
    OWNS(MAIL_TYPE_CALL, type_call) \
    OWNS(MAIL_STATUS, status) \
    LENT(MAIL_WAKE, wake)

struct envelope;
struct handshake;
struct message;
struct owing;
struct cluster_change;

/* ---- between lanes ---- */

/* Messages for actors and entities of the reader. */
struct mail_messages {
    struct {
        struct message *first; /* of a chain */
    } own;
};

/* Messages whose memory belongs to the reader. */
struct mail_returns {
    struct {
        struct message *first; /* of a chain */
    } own;
};

/* The last message of a lane for the shard, in its hand-off. */
struct mail_marker {
    struct attempt attempt;
    uint64_t uid;  /* the node of the lane */
    uint32_t lane; /* the one that sends no more */
};

/* How far an ask of the reader has come. */
struct mail_stage {
    uint64_t ask;
    uint64_t uid; /* the node where its message waits */
    enum sherd_stage stage;
};

/* A path of an actor on another node, from another lane, before messages with that name. */
struct naming {
    uint64_t node;
    struct buf path;
};

struct mail_named {
    struct {
        struct naming *naming;
    } own;
};

/* ---- lane -> control ---- */

/* An envelope that is not for actors, with its bytes. The lane has checked its sender's handshake. */
struct mail_frame {
    enum stream stream;
    struct {
        struct envelope *envelope; /* of envelope_keep */
    } own;
};

struct mail_handshake {
    bool is_claim; /* its connection waits, see inlet_claim */
    struct {
        struct handshake *handshake;
    } own;
};

/* An actor system ends. */
struct mail_terminating {
    uint64_t uid;
};

/* Type, shard. */
struct mail_request_home {
    bool is_suspect; /* a home is known, but suspected to be wrong */
};

/* Type, shard: the lane buffers messages and has sent its marker. */
struct mail_held {
    struct attempt attempt;
};

/* Type, shard. */
struct mail_started {
    struct fence fence;
};

/* Type, shard. */
struct mail_stopped {
    struct attempt attempt;
    const char *reason; /* a literal */
    bool is_stopped;    /* false: the hand-off failed */
};

/* Type, shard. */
struct mail_fenced {
    struct fence fence;
    uint64_t stored_term; /* the highest that the journal is known to have, 0 = none */
};

/* Type. */
struct mail_waiting {
    uint64_t count; /* messages of the type that wait in this lane */
};

enum watch_verb { WATCH_STOP, WATCH_START, WATCH_TERMINATED };

/* A watch between an actor here and one elsewhere, in either direction. */
struct watching {
    struct node_id peer;
    struct sherd_ref watchee;
    struct sherd_ref watcher;
    struct buf watchee_text; /* whole literals if they came from outside; else empty */
    struct buf watcher_text;
};

struct mail_watch {
    enum watch_verb verb;
    bool has_existed; /* TERMINATED: the watchee */
    struct {
        struct watching *watching;
    } own;
};

/* A task in the node's shutdown. */
struct mail_task {
    uint64_t actor;
    enum sherd_phase phase;
    struct {
        char *name;
    } own;
};

struct mail_task_done {
    uint64_t actor;
    enum sherd_phase phase;
};

/* An actor wants a name. Control answers MAIL_NAME_ANSWER when every lane has it, or at once if it
 * cannot have it. */
struct mail_name {
    uint64_t actor;
    struct {
        struct buf *text;
    } own;
};

/* The lane has a name, as told by MAIL_NAME_KNOWN. */
struct mail_name_seen {
    uint64_t actor;
};

/* An actor that wanted a name has ended. */
struct mail_name_end {
    uint64_t actor;
};

/* A task as lane and control keep it. */
struct task {
    uint64_t actor;
    enum sherd_phase phase;
    uint32_t lane;
    char *name; /* on control; owned */
};

struct mail_data_call {
    uint64_t actor;
    uint64_t tag;
    enum data_verb verb;
    struct {
        struct buf *bytes; /* of data_call_put */
    } own;
};

/* A lane's request about a key of distributed data. */
enum follow {
    FOLLOW_NO_MORE, /* no actor subscribes any more */
    FOLLOW_FIRST,   /* report the value now, and then each change */
    FOLLOW_TOO      /* the lane subscribes already: report the value to this actor */
};

struct mail_data_follow {
    uint64_t actor;
    uint64_t tag;
    enum follow follow;
    struct {
        struct buf *key;
    } own;
};

/* A lane's request about a shard's entities in distributed data. */
enum remember_verb {
    REMEMBER_READ,
    REMEMBER_STORE,
    REMEMBER_FOLLOW, /* the read has been taken in: report the value, then changes of other nodes */
    REMEMBER_GIVE_UP /* the shard is gone: this ticket needs no answer */
};

/* Type, shard. */
struct mail_remember {
    uint64_t ticket;
    enum remember_verb verb;
    struct {
        struct buf *records; /* STORE: of a write; else null */
    } own;
};

/* Type, shard: takes the shard's lease, or gives it up. */
struct mail_lease {
    uint32_t ticket; /* of the answer */
    bool is_given_up;
};

/* The node has not answered for long, and messages wait. */
struct mail_suspect {
    struct {
        struct node_id *node;
    } own;
};

/* How a record of MAIL_LOOKED gives a shard's entities. */
enum look_ids {
    LOOK_COUNT,    /* their number alone, as asked */
    LOOK_HAS_IDS,
    LOOK_TOO_LARGE /* their ids have no room */
};

/* Type: answers MAIL_LOOK. */
struct mail_looked {
    uint64_t number;
    struct {
        struct buf *records; /* of the lane's shards: query_answer_lane reads them */
    } own;
};

/* An answer of the lane to this node's own look. */
struct mail_look_reply {
    struct {
        struct buf *payload; /* of a look_reply */
    } own;
};

/* ---- control -> every lane, or one ---- */

/* An incarnation is at its address. */
struct mail_peer {
    uint64_t capabilities;
    uint64_t order;
    uint32_t lanes;  /* of the node */
    bool is_verdict; /* as in peers_heard */
    struct {
        struct node_id *node;
    } own;
};

/* The incarnation is leaving. */
struct mail_leaves {
    struct {
        struct node_id *node;
    } own;
};

/* The members can no longer reach the incarnation, or can again. */
struct mail_reach {
    bool is_reachable;
    struct {
        struct node_id *node;
    } own;
};

/* The incarnation left the cluster. */
struct mail_gone {
    bool is_heard; /* it left gracefully, so its frames are accepted until MAIL_OVER */
    struct {
        struct node_id *node;
    } own;
};

/* The node's frames are no longer accepted. */
struct mail_over {
    struct {
        struct node_id *node;
    } own;
};

/* Control has forgotten a node that never answered and is no member. */
struct mail_stranger {
    bool has_watches; /* it has sent system messages */
    struct {
        struct node_id *node;
    } own;
};

/* Answers MAIL_SUSPECT: the node is no member. */
struct mail_no_member {
    struct {
        struct node_id *node;
    } own;
};

/* The node answered a handshake. */
struct mail_answered {
    uint64_t generation; /* of the link that was answered */
    uint32_t lane;       /* of the link */
    struct {
        struct node_id *node;
    } own;
};

/* A peer's table. */
struct mail_table {
    enum table_kind kind;
    struct {
        struct node_id *node;
        struct buf *payload;
    } own;
};

/* Type, shard. */
struct mail_route {
    struct {
        struct node_id *home;
    } own;
};

/* Type, shard: buffer messages, and send the marker. */
struct mail_hold {
    struct attempt attempt;
    struct {
        struct node_id *owner; /* null: unknown */
    } own;
};

/* Type, shard. */
struct mail_host {
    struct fence fence;
    struct proof proof; /* the coordinator's */
};

/* Type, shard. */
struct mail_drain {
    struct attempt attempt;
    uint64_t deadline;
    uint32_t count;
    struct {
        struct owing *owing; /* an array */
    } own;
};

/* Type, shard: an orphan shard, above the type's number of shards. Its remembered entities must
 * move. */
struct mail_orphan {
    struct fence fence;
};

/* Type, shard: another node has the shard under that newer fence. */
struct mail_lost {
    struct fence fence;
};

/* Type: the node was removed; sent after the drains that name it. */
struct mail_owes_nothing {
    uint64_t uid;
};

/* Type: sets the stage of asks that wait. */
struct mail_coordinator {
    bool is_known;
};

/* Type: the limit of each of its shards. */
struct mail_active_limit {
    struct active_limit limit;
};

/* From another node. */
struct mail_watched {
    enum watch_verb verb;
    struct {
        struct watching *watching;
    } own;
};

/* A received Identify message of Akka. */
struct identifying {
    struct node_id from;
    struct buf path; /* of the actor, as the asker calls it */
    struct buf sender;
    struct buf payload;
};

/* The lane answers. */
struct mail_identify {
    uint64_t actor; /* of the lane */
    struct {
        struct identifying *identifying;
    } own;
};

/* For actors that subscribed by MAIL_FOLLOW. */
struct mail_cluster {
    struct {
        struct cluster_change *change;
    } own;
};

struct mail_data_answer {
    uint64_t actor;
    uint64_t tag;
    enum sherd_data_message msg;
    struct {
        struct buf *body;
    } own;
};

/* For all subscribers of the key. */
struct mail_data_changed {
    enum sherd_data_message msg;
    struct {
        struct buf *body; /* the key, with a zero byte, and the value */
    } own;
};

/* The actor does not subscribe to the key. */
struct mail_data_refused {
    uint64_t actor; /* 0: all of them */
    struct {
        struct buf *body; /* as in mail_data_changed */
    } own;
};

/* Type, shard: answers MAIL_REMEMBER. */
struct mail_remembered {
    uint64_t ticket;
    const char *reason; /* a literal; null: done */
    enum remember_verb verb; /* READ, STORE */
    struct {
        struct buf *record; /* READ: the ids; STORE: starts without room; or null */
    } own;
};

/* Type, shard: answers MAIL_LEASE. EXTENDED, LOST: all leases at the provider. With an actor GRANTED
 * is about the singleton of this keeper. */
struct mail_leased {
    uint64_t actor;
    enum lease_group_news_kind kind;
    enum lease_provider_kind provider;
    uint32_t ticket;
    bool is_unknown;
    uint64_t until;
};

/* Type, shard: other nodes have changed a key of the shard. */
struct mail_remember_changed {
    uint32_t key;
    struct {
        struct buf *ids; /* a record of starts */
    } own;
};

/* Type: count or name the entities of each shard. */
struct mail_look {
    uint64_t number; /* of the query */
    bool wants_ids;
};

/* A node asks for a part of a look. */
struct look_asked {
    struct node_id from;
    struct buf payload; /* of a look_request that control has read */
};

struct mail_look_asked {
    struct {
        struct look_asked *asked;
    } own;
};

/* The actor's task begins. */
struct mail_phase {
    uint64_t actor;
    enum sherd_phase phase;
};

/* The lane answers MAIL_NAME_SEEN. */
struct mail_name_known {
    uint64_t actor;
    struct {
        struct buf *text;
    } own;
};

struct mail_name_answer {
    uint64_t actor;
    bool is_granted;
};

/* The actor of a name has ended. */
struct mail_name_gone {
    uint64_t actor;
};

/* The node ends: stop all actors. */
struct mail_end {
    bool is_at_once; /* but actors still handle the cluster's last events */
};

/* ---- program's thread -> lane or control ---- */

struct spawning {
    struct sherd_behavior behavior;
    struct sherd_ref ref; /* reserved; nobody: none */
    struct buf name; /* empty: none */
    struct buf init;
    /* called with init when this is freed, unless the actor has started; null: nothing */
    void (*unstarted)(struct sherd_bytes init);
};

struct mail_spawn {
    struct {
        struct spawning *spawning;
    } own;
};

/* A message from a thread of the program: to a ref, or to an entity if id is not empty. */
struct tell_content {
    struct sherd_ref to;
    uint32_t type;
    uint32_t msg;
    struct buf id;
    struct buf body;
};

struct mail_tell {
    struct {
        struct tell_content *content;
    } own;
};

struct mail_command {
    enum node_command command;
    enum sherd_phase from; /* LEAVE: the first phase */
    struct {
        struct address *address; /* or null */
    } own;
};

/* Type: the limit of its region on this node. */
struct mail_region_limit {
    struct active_limit limit;
};

/* An answer to a request of a coordinator for an allocation. */
struct mail_allocation {
    struct {
        struct buf *bytes; /* of allocation_call_put */
    } own;
};

/* Type. */
struct mail_query {
    struct {
        struct query_part *part;
    } own;
};

/* A program's look. */
struct mail_look_call {
    struct {
        struct look_call *call;
    } own;
};

struct mail_look_cancel {
    uint64_t number; /* of a look_call */
};

/* A program's operation. */
struct mail_operate_call {
    struct {
        struct operate_call *call;
    } own;
};

/* Type. */
struct mail_type_call {
    struct {
        struct type_part *part;
    } own;
};

struct mail_status {
    struct {
        struct status_part *part;
    } own;
};

/* For an actor that acts for threads of the program: actors_wake. */
struct mail_wake {
    uint64_t actor;
};

#endif
