/* Sends actors the state of the cluster and each change: members, reachability,
 * leaders.
 *
 * An actor subscribes. It gets the present state first, then each change, in
 * order, as messages of the kind SHERD_CLUSTER. Texts in them are lent: they
 * live as long as the message. A node sees its own view; other nodes may see
 * the same a moment earlier or later. Guide: docs/guide/concepts.md. */
#ifndef SHERD_CLUSTER_H
#define SHERD_CLUSTER_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An example; examples/members.c is a whole program:
 *
 *   case SHERD_STARTED:
 *       return sherd_cluster_subscribe(ctx, SHERD_EVENTS_MEMBERS,
 *                                      SHERD_EVENTS_FIRST)
 *                  ? SHERD_FAIL : SHERD_CONTINUE;
 *   case SHERD_CLUSTER:
 *       for (size_t at = 0; sherd_cluster_next(msg, &at, &event);)
 *           if (event.kind == SHERD_MEMBER_UP)
 *               printf("%s is up\n", event.member.address);
 */

/* ---- events ---- */

/* The status of a member. */
enum sherd_member_status {
    SHERD_JOINING,                /* it has asked to be a member */
    SHERD_UP,                     /* it is a member, and hosts shards */
    SHERD_LEAVING,                /* it wants to leave */
    SHERD_EXITING,                /* it is about to be removed */
    SHERD_DOWN,                   /* it was declared dead */
    SHERD_REMOVED,                /* it is no member any more */
    SHERD_WEAKLY_UP,              /* up without agreement: hosts no shards */
    SHERD_PREPARING_FOR_SHUTDOWN, /* the whole cluster is about to end */
    SHERD_READY_FOR_SHUTDOWN      /* the same, and this member is ready */
};

/* The kinds of events: name, text. */
#define SHERD_CLUSTER_EVENTS(X)                                                \
    /* The status of a member has become joining, weakly up, up. */            \
    X(SHERD_MEMBER_JOINED, "joined")                                           \
    X(SHERD_MEMBER_WEAKLY_UP, "weakly up")                                     \
    X(SHERD_MEMBER_UP, "up")                                                   \
    /* It wants to leave: leaving. */                                          \
    X(SHERD_MEMBER_LEFT, "left")                                               \
    /* It is about to be removed: exiting. */                                  \
    X(SHERD_MEMBER_EXITED, "exited")                                           \
    /* It was declared dead: down. */                                          \
    X(SHERD_MEMBER_DOWNED, "downed")                                           \
    /* The whole cluster ends: sherd_prepare_shutdown. */                      \
    X(SHERD_MEMBER_PREPARING_FOR_SHUTDOWN, "preparing for shutdown")           \
    X(SHERD_MEMBER_READY_FOR_SHUTDOWN, "ready for shutdown")                   \
    /* It is no member any more. `previous` is down or exiting. */             \
    X(SHERD_MEMBER_REMOVED, "removed")                                         \
    /* Its heartbeats do not come, or come again. Never about this node, nor   \
     * about a member of another data center. An unreachable member is still   \
     * a member: what ran there may still run, until it is removed. */         \
    X(SHERD_MEMBER_UNREACHABLE, "unreachable")                                 \
    X(SHERD_MEMBER_REACHABLE, "reachable")                                     \
    /* Another data center: a member there does not answer; all do again. */   \
    X(SHERD_DATA_CENTER_UNREACHABLE, "data center unreachable")                \
    X(SHERD_DATA_CENTER_REACHABLE, "data center reachable")                    \
    /* Another member leads, or none. The second is about one `role`. */       \
    X(SHERD_LEADER_CHANGED, "leader")                                          \
    X(SHERD_ROLE_LEADER_CHANGED, "role leader")                                \
    /* This node is no member any more, or never was one. The removal of each  \
     * member follows, and that nobody leads. Entities of a downed node end    \
     * without this event. */                                                  \
    X(SHERD_CLUSTER_SHUTTING_DOWN, "shutting down")

enum sherd_cluster_event_kind {
#define X(name, text) name,
    SHERD_CLUSTER_EVENTS(X)
#undef X
        SHERD_CLUSTER_EVENT_COUNT
};

/* Returns the text of a kind of event, such as "up": a constant.
 * Threads: any. */
SHERD_API const char *
sherd_cluster_event_text(enum sherd_cluster_event_kind kind);

/* A member. */
struct sherd_cluster_member {
    const char *address;             /* "host:port"; "": there is none */
    uint64_t uid;                    /* of its incarnation */
    enum sherd_member_status status; /* its status */
    /* 0 before it was up. In one data center the member with the smaller number
     * is older. */
    uint32_t up_number;
    int reachable; /* 1: its heartbeats come */
    int self;      /* 1: it is this node */
    /* 1 in a state, if the member has this node's version of the membership.
     * When all members have, they agree. 0 in a change. */
    int seen;
    const char *app_version; /* akka.cluster.app-version there */
    const char *data_center; /* the data center it is in */
    /* Texts one after the other, each with its zero byte; an empty one ends
     * them: sherd_cluster_has_role. */
    const char *roles;
};

/* One event. */
struct sherd_cluster_event {
    enum sherd_cluster_event_kind kind; /* the kind */
    /* The member it is about. LEADER and ROLE_LEADER have the leader, if there
     * is one. DATA_CENTER_... have only data_center. */
    struct sherd_cluster_member member;
    enum sherd_member_status previous; /* of REMOVED: its last status before */
    const char *role;                  /* of ROLE_LEADER; else "" */
};

/* ---- subscribing ---- */

/* Sets of kinds of events. Combine them with |. */
#define SHERD_EVENT(kind) (UINT32_C(1) << (kind))
#define SHERD_EVENTS_MEMBERS (SHERD_EVENT(SHERD_MEMBER_REMOVED + 1) - 1)
#define SHERD_EVENTS_REACHABILITY                                              \
    (SHERD_EVENT(SHERD_MEMBER_UNREACHABLE) |                                   \
     SHERD_EVENT(SHERD_MEMBER_REACHABLE))
#define SHERD_EVENTS_DATA_CENTERS                                              \
    (SHERD_EVENT(SHERD_DATA_CENTER_UNREACHABLE) |                              \
     SHERD_EVENT(SHERD_DATA_CENTER_REACHABLE))
#define SHERD_EVENTS_ALL (SHERD_EVENT(SHERD_CLUSTER_EVENT_COUNT) - 1)

/* The `msg` of a SHERD_CLUSTER message. */
enum sherd_cluster_message {
    /* A part of the present state: for each member the event of its status,
     * then unreachable members, data centers, leaders. On a node that is out:
     * SHUTTING_DOWN alone. Some thousand members make several messages. */
    SHERD_CLUSTER_STATE = 1,
    /* The same, and it is the whole state or its last part. */
    SHERD_CLUSTER_STATE_END,
    /* One event. */
    SHERD_CLUSTER_CHANGE
};

/* How the present state comes at first. */
enum sherd_cluster_first {
    /* As SHERD_CLUSTER_STATE and _END, whatever the set of events is. */
    SHERD_STATE_FIRST,
    /* As changes, those in the set: as if the actor had been there before. */
    SHERD_EVENTS_FIRST
};

/* Subscribes this actor to events until this incarnation ends. A second call
 * adds to the set, and the present state comes again.
 *
 * events: a set, SHERD_EVENTS_... or SHERD_EVENT(kind), combined with |.
 * Result: 0; SHERD_EINVAL: no set of events; SHERD_EFULL: too many subscribers.
 *
 * The events of one change come in this order: removals, then changes of
 * status, then reachability, then data centers, then leaders. Removals and
 * changes of status are sorted by address; unreachable comes before reachable,
 * and the leader before leaders of roles. On a node that is in no cluster yet
 * the state has no members. An actor whose mailbox was full gets the state anew
 * when there is room.
 * Limits: 4,096 subscribers on a lane. A node tells 64 changes in a turn. If
 * more happens, and a member changes again before its turn, only the outcome
 * is told (SHERD_CHANGES_MERGED). */
SHERD_API SHERD_MUST_USE int
sherd_cluster_subscribe(struct sherd_ctx *ctx, uint32_t events,
                        enum sherd_cluster_first first);

/* Takes events out of the set. Those in the mailbox still arrive. */
SHERD_API void sherd_cluster_unsubscribe(struct sherd_ctx *ctx,
                                         uint32_t events);

/* Reads the next event of a SHERD_CLUSTER message.
 *
 * at: 0 for the first event; the call moves it on. event: filled; lent.
 * Result: 1; 0: there is no further event.
 * Threads: any, while the message is valid. */
SHERD_API int sherd_cluster_next(const struct sherd_msg *msg, size_t *at,
                                 struct sherd_cluster_event *event);

/* Returns 1 if the member has the role, else 0.
 * Threads: any, while the member's texts are valid. */
SHERD_API int sherd_cluster_has_role(const struct sherd_cluster_member *member,
                                     const char *role);

/* Data centers. Each (akka.cluster.multi-data-center.self-data-center) has its
 * own leader, coordinators and shards, and its own reachability. An unreachable
 * data center has no further effect: no member is downed across data centers,
 * and both go on. */

#ifdef __cplusplus
}
#endif

#endif
