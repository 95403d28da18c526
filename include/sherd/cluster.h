/* The cluster as actors see it: its members, who is reachable, who leads, and every change of that as a message.
 *
 * An actor subscribes; it is first told the state, then each change, in order, as messages of kind SHERD_CLUSTER. Each carries
 * one or more events, read with sherd_cluster_next:
 *
 *   case SHERD_CLUSTER:
 *       while (sherd_cluster_next(msg, &at, &event))
 *           if (event.kind == SHERD_MEMBER_UP)
 *               printf("%s is up\n", event.member.address);
 *
 * What a node sees is its own view: others may see the same a moment earlier or later. One change of the view is told in this
 * order: removals, changes of status (both by address), unreachable, reachable, the same of data centers, leader, leaders of
 * roles. A member that is unreachable is still a member: what ran there may still run, until it is removed.
 * Each change is told; but where more changes at once than is told in a turn (64), as in a large cluster of which a part dies, a member may
 * change again before it was told: then the outcome is told alone, and the counter SHERD_CHANGES_FOLDED grows.
 *
 * Each data center (akka.cluster.multi-data-center.self-data-center) has its own leader, its own coordinators and shards, and its
 * own reachability: a member of another data center is never told unreachable, but its data center is, when the way there or the
 * member that is asked seems to be gone. That has no further effect: nobody is downed across data centers, and both go on. */
#ifndef SHERD_CLUSTER_H
#define SHERD_CLUSTER_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sherd_member_status {
    SHERD_JOINING,
    SHERD_UP,
    SHERD_LEAVING,
    SHERD_EXITING,
    SHERD_DOWN,
    SHERD_REMOVED,
    SHERD_WEAKLY_UP, /* as up, but not agreed on yet: hosts no shards and no singletons */
    SHERD_PREPARING_FOR_SHUTDOWN, /* of the whole cluster */
    SHERD_READY_FOR_SHUTDOWN
};

/* What happened: name, text. */
#define SHERD_CLUSTER_EVENTS(X)                                                \
    X(SHERD_MEMBER_JOINED, "joined")                                           \
    X(SHERD_MEMBER_WEAKLY_UP, "weakly up")                                     \
    X(SHERD_MEMBER_UP, "up")                                                   \
    X(SHERD_MEMBER_LEFT, "left")     /* it wants to leave: status leaving */   \
    X(SHERD_MEMBER_EXITED, "exited") /* it is leaving: status exiting */       \
    X(SHERD_MEMBER_DOWNED, "downed") /* declared dead */                       \
    X(SHERD_MEMBER_PREPARING_FOR_SHUTDOWN, "preparing for shutdown")           \
    X(SHERD_MEMBER_READY_FOR_SHUTDOWN, "ready for shutdown")                   \
    X(SHERD_MEMBER_REMOVED, "removed") /* see previous: after down or after exiting */ \
    X(SHERD_MEMBER_UNREACHABLE, "unreachable") /* never this node itself, nor of another data center */ \
    X(SHERD_MEMBER_REACHABLE, "reachable") /* again */                         \
    X(SHERD_DATA_CENTER_UNREACHABLE, "data center unreachable") /* another one: a member there does not answer */ \
    X(SHERD_DATA_CENTER_REACHABLE, "data center reachable") /* again: all that are asked do */ \
    X(SHERD_LEADER_CHANGED, "leader")                                          \
    X(SHERD_ROLE_LEADER_CHANGED, "role leader") /* see role */                 \
    X(SHERD_CLUSTER_SHUTTING_DOWN, "shutting down") /* this node is out, also as one that was never in, or that was downed, whose entities end without hearing it; the removal of every member follows, and that nobody leads */

enum sherd_cluster_event_kind {
#define X(name, text) name,
    SHERD_CLUSTER_EVENTS(X)
#undef X
        SHERD_CLUSTER_EVENT_COUNT
};

SHERD_API const char *
sherd_cluster_event_text(enum sherd_cluster_event_kind kind); /* "up"; a literal */

/* Sets of kinds of events, to be joined by |. */
#define SHERD_EVENT(kind) (UINT32_C(1) << (kind))
#define SHERD_EVENTS_MEMBERS (SHERD_EVENT(SHERD_MEMBER_REMOVED + 1) - 1)
#define SHERD_EVENTS_REACHABILITY                                              \
    (SHERD_EVENT(SHERD_MEMBER_UNREACHABLE) |                                   \
     SHERD_EVENT(SHERD_MEMBER_REACHABLE))
#define SHERD_EVENTS_DATA_CENTERS                                              \
    (SHERD_EVENT(SHERD_DATA_CENTER_UNREACHABLE) |                              \
     SHERD_EVENT(SHERD_DATA_CENTER_REACHABLE))
#define SHERD_EVENTS_ALL (SHERD_EVENT(SHERD_CLUSTER_EVENT_COUNT) - 1)

/* Texts are lent as long as the message. */
struct sherd_cluster_member {
    const char *address; /* "host:port"; "" = there is none */
    uint64_t uid;        /* of its incarnation */
    enum sherd_member_status status;
    uint32_t up_number; /* 0 before it was up; of two members of one data center the one with the smaller number is older */
    int reachable;
    int self; /* 1: this node */
    int seen; /* of a state: it has seen the version of the membership that this node has; all have = they agree. Of a change: 0 */
    const char *app_version;
    const char *data_center;
    const char *roles; /* one text after the other, each with its zero byte; an empty one ends them */
};

struct sherd_cluster_event {
    enum sherd_cluster_event_kind kind;
    struct sherd_cluster_member member; /* of LEADER and ROLE_LEADER: the leader, if any; of DATA_CENTER_...: no member, only data_center */
    enum sherd_member_status previous;  /* of REMOVED: its last status before */
    const char *role; /* of ROLE_LEADER; else "" */
};

/* As `msg` of a SHERD_CLUSTER message. */
enum sherd_cluster_message {
    SHERD_CLUSTER_STATE = 1, /* all of the state: for each member the event of its status, then UNREACHABLE for those, data centers, LEADER and
                                ROLE_LEADER; when this node is out, SHUTTING_DOWN alone. Of some thousand members it is several messages */
    SHERD_CLUSTER_STATE_END, /* the same, and it is the whole or the last part */
    SHERD_CLUSTER_CHANGE     /* one event */
};

enum sherd_cluster_first {
    SHERD_STATE_FIRST, /* a SHERD_CLUSTER_STATE_END with the present state whatever `events` says, then changes */
    SHERD_EVENTS_FIRST /* what of the present state is in `events`, as changes: as if the actor had been there from the start */
};

/* Subscribes the running actor to a set of events until this incarnation ends; a second call adds to the set, and tells the
 * state again. On a node that is in no cluster yet the state has no members. An actor whose mailbox was full, also in the midst
 * of SHERD_EVENTS_FIRST, hears the state anew when there is room. SHERD_EINVAL: not a set of events; SHERD_EFULL: too many
 * subscribers on this lane. */
SHERD_API SHERD_MUST_USE int
sherd_cluster_subscribe(struct sherd_ctx *ctx, uint32_t events,
                        enum sherd_cluster_first first);
/* Takes events out of the set; what is in the mailbox already still arrives. */
SHERD_API void sherd_cluster_unsubscribe(struct sherd_ctx *ctx,
                                         uint32_t events);
/* The next event of a SHERD_CLUSTER message, lent; *at is 0 at first. 0 when there is none left. */
SHERD_API int sherd_cluster_next(const struct sherd_msg *msg, size_t *at,
                                 struct sherd_cluster_event *event);
/* 1 when the member has the role. */
SHERD_API int sherd_cluster_has_role(const struct sherd_cluster_member *member,
                                     const char *role);

#ifdef __cplusplus
}
#endif

#endif
