/* Writes domain events as server-sent events, as Akka Management's route does. */
#include <inttypes.h>
#include <stdio.h>

#include "mgmt/akka.h"
#include "mgmt/json.h"

struct event_row {
    const char *name; /* Akka's class */
    uint32_t kinds;
    bool is_single; /* the name of one kind, not of a parent */
};

#define ONE(name, kind) { name, SHERD_EVENT(kind), true }
/* Akka's stream has no events of a cluster that prepares for its end. */
#define MEMBER_KINDS                                                                                  \
    (SHERD_EVENTS_MEMBERS & ~(SHERD_EVENT(SHERD_MEMBER_PREPARING_FOR_SHUTDOWN) |                      \
                              SHERD_EVENT(SHERD_MEMBER_READY_FOR_SHUTDOWN)))

static const struct event_row rows[] = {
    ONE("MemberJoined", SHERD_MEMBER_JOINED),
    ONE("MemberWeaklyUp", SHERD_MEMBER_WEAKLY_UP),
    ONE("MemberUp", SHERD_MEMBER_UP),
    ONE("MemberLeft", SHERD_MEMBER_LEFT),
    ONE("MemberExited", SHERD_MEMBER_EXITED),
    ONE("MemberDowned", SHERD_MEMBER_DOWNED),
    ONE("MemberRemoved", SHERD_MEMBER_REMOVED),
    ONE("LeaderChanged", SHERD_LEADER_CHANGED),
    ONE("RoleLeaderChanged", SHERD_ROLE_LEADER_CHANGED),
    ONE("ClusterShuttingDown", SHERD_CLUSTER_SHUTTING_DOWN),
    ONE("UnreachableMember", SHERD_MEMBER_UNREACHABLE),
    ONE("ReachableMember", SHERD_MEMBER_REACHABLE),
    ONE("UnreachableDataCenter", SHERD_DATA_CENTER_UNREACHABLE),
    ONE("ReachableDataCenter", SHERD_DATA_CENTER_REACHABLE),
    { "MemberEvent", MEMBER_KINDS, false },
    { "ReachabilityEvent", SHERD_EVENTS_REACHABILITY, false },
    { "DataCenterReachabilityEvent", SHERD_EVENTS_DATA_CENTERS, false },
    { "ClusterDomainEvent",
      MEMBER_KINDS | SHERD_EVENTS_REACHABILITY | SHERD_EVENTS_DATA_CENTERS |
          SHERD_EVENT(SHERD_LEADER_CHANGED) | SHERD_EVENT(SHERD_ROLE_LEADER_CHANGED) |
          SHERD_EVENT(SHERD_CLUSTER_SHUTTING_DOWN),
      false },
};

#define ROWS (sizeof rows / sizeof rows[0])

uint32_t akka_events(struct slice type)
{
    for (size_t i = 0; i < ROWS; i++)
        if (slice_is(type, rows[i].name))
            return rows[i].kinds;
    return 0;
}

static const char *name_of(enum sherd_cluster_event_kind kind)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].is_single && rows[i].kinds == SHERD_EVENT(kind))
            return rows[i].name;
    return NULL;
}

static void put_name(struct buf *buf, const char *name)
{
    json_next(buf);
    json_text(buf, name);
    buf_put_u8(buf, ':');
}

static void put_address(struct buf *buf, const struct akka_names *names, const char *address)
{
    put_name(buf, "address");
    buf_put_u8(buf, '"');
    akka_address(buf, names, address); /* an address has nothing to escape */
    buf_put_u8(buf, '"');
}

static void put_member(struct buf *buf, const struct akka_names *names,
                       const struct sherd_cluster_member *member)
{
    char uid[24];

    put_name(buf, "member");
    buf_put_u8(buf, '{');
    json_field(buf, "dataCenter", member->data_center);
    put_name(buf, "roles");
    akka_roles(buf, member->roles, member->data_center);
    json_field(buf, "status", akka_status(member->status));
    put_name(buf, "uniqueAddress");
    buf_put_u8(buf, '{');
    put_address(buf, names, member->address);
    put_name(buf, "longUid");
    (void)snprintf(uid, sizeof uid, "%" PRId64, (int64_t)member->uid);
    buf_put_text(buf, uid);
    buf_put_text(buf, "}}");
}

static void put_fields(struct buf *buf, const struct akka_names *names,
                       const struct sherd_cluster_event *event)
{
    switch (event->kind) {
    case SHERD_LEADER_CHANGED:
    case SHERD_ROLE_LEADER_CHANGED:
        if (*event->member.address)
            put_address(buf, names, event->member.address);
        if (event->kind == SHERD_ROLE_LEADER_CHANGED)
            json_field(buf, "role", event->role);
        break;
    case SHERD_DATA_CENTER_UNREACHABLE:
    case SHERD_DATA_CENTER_REACHABLE:
        json_field(buf, "dataCenter", event->member.data_center);
        break;
    case SHERD_CLUSTER_SHUTTING_DOWN:
        break;
    default:
        put_member(buf, names, &event->member);
        if (event->kind == SHERD_MEMBER_REMOVED)
            json_field(buf, "previousStatus", akka_status(event->previous));
        break;
    }
}

bool akka_event(struct buf *buf, const struct akka_names *names, const struct sherd_cluster_event *event)
{
    const char *name = name_of(event->kind);

    if (!name)
        return false;
    buf_put_text(buf, "data:{");
    put_fields(buf, names, event);
    json_field(buf, "type", name);
    buf_put_text(buf, "}\nevent:");
    buf_put_text(buf, name);
    buf_put_text(buf, "\n\n");
    return true;
}

uint32_t akka_subscription(uint32_t kinds)
{
    return kinds & SHERD_EVENT(SHERD_ROLE_LEADER_CHANGED) ? kinds | SHERD_EVENT(SHERD_LEADER_CHANGED) : kinds;
}

void akka_stream_event(struct buf *buf, const struct akka_names *names, uint32_t kinds,
                       const struct sherd_cluster_event *event)
{
    struct sherd_cluster_event of_center = *event;
    char role[256];

    if (kinds >> event->kind & 1)
        (void)akka_event(buf, names, event); /* kinds without a text were not asked for */
    if (event->kind != SHERD_LEADER_CHANGED || !(kinds & SHERD_EVENT(SHERD_ROLE_LEADER_CHANGED)))
        return;
    (void)snprintf(role, sizeof role, "dc-%s", names->data_center);
    of_center.kind = SHERD_ROLE_LEADER_CHANGED;
    of_center.role = role;
    (void)akka_event(buf, names, &of_center); /* it has a text */
}
