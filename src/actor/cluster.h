/* Declares the cluster changes that the node gives a lane by actors_cluster, for its view and its
 * subscribers (sherd/cluster.h).
 *
 * A lane receives none until it asks by ACTORS_REQUEST_CLUSTER. Then it receives the state,
 * CLUSTER_SEEN and CLUSTER_IN_STEP. When it asks again, it receives the last two anew. */
#ifndef SHERD_ACTOR_CLUSTER_H
#define SHERD_ACTOR_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/cluster.h>

#include "base/address.h"

enum cluster_change_kind {
    CLUSTER_MEMBER,      /* a member is new, or its status or up number has changed */
    CLUSTER_REMOVED,     /* with its last status before */
    CLUSTER_UNREACHABLE,
    CLUSTER_REACHABLE,
    CLUSTER_CENTER_UNREACHABLE, /* texts: another data center's name */
    CLUSTER_CENTER_REACHABLE,
    CLUSTER_LEADER,      /* UID 0 = none */
    CLUSTER_ROLE_LEADER, /* texts: the role */
    /* texts: a cluster_seen for each member, by node: the members that have seen the version */
    CLUSTER_SEEN,
    CLUSTER_IN_STEP, /* the present state is complete; from here on subscribers receive changes */
    /* this node has left the cluster permanently; afterwards only IN_STEP has a meaning */
    CLUSTER_STOPPED
};

/* An entry of CLUSTER_SEEN; not aligned there. */
struct cluster_seen {
    uint64_t uid;
    uint64_t seen;
};

/* A member as last reported to the lane. */
struct cluster_member {
    struct node_id node;
    enum sherd_member_status status;
    uint32_t up_number;
    bool is_self;
    bool is_unreachable;
    bool seen; /* in the last CLUSTER_SEEN; changes do not carry it */
    uint32_t texts_size;
    char *texts; /* owned: version, data center, roles, an empty one */
};

/* One change, followed in memory by member.texts_size bytes of texts; member.texts is null. A
 * change without news is ignored. */
struct cluster_change {
    enum cluster_change_kind kind;
    struct cluster_member member; /* at least its node, where the kind has one */
    /* MEMBER: version, data center, each role, and an empty text; ROLE_LEADER: the role;
     * CENTER_...: its name */
    char texts[];
};

#endif
