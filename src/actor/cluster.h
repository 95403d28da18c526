/* What a lane is told of the cluster for its actors: the node gives changes to actors_cluster, which keeps a view of them and
 * tells subscribers (sherd/cluster.h, behaviour 7). A lane is told nothing until it asks by ACTORS_WANT_CLUSTER: then the
 * state, who has seen it, and that it is in step. When it asks again it is told the last two anew. */
#ifndef SHERD_ACTOR_CLUSTER_H
#define SHERD_ACTOR_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/cluster.h>

#include "base/address.h"

enum cluster_change_kind {
    CLUSTER_MEMBER,      /* a member is new, or its status or up number is another one */
    CLUSTER_REMOVED,     /* previous */
    CLUSTER_UNREACHABLE,
    CLUSTER_REACHABLE,
    CLUSTER_CENTER_UNREACHABLE, /* texts: another data center's name */
    CLUSTER_CENTER_REACHABLE,   /* the same */
    CLUSTER_LEADER,      /* node: uid 0 = none */
    CLUSTER_ROLE_LEADER, /* the same; texts: the role */
    CLUSTER_SEEN,        /* texts: who has seen the membership's version, a cluster_seen for each member, by node */
    CLUSTER_IN_STEP,     /* all of the present state has been told; from here on subscribers hear of changes */
    CLUSTER_STOPPED      /* this node is out of the cluster for good; of what is said behind it only IN_STEP means anything */
};

/* An entry of CLUSTER_SEEN; not aligned there. */
struct cluster_seen {
    uint64_t uid;
    uint64_t seen; /* 0 or 1 */
};

/* One change; the memory behind it holds texts_size bytes of texts. What says nothing new is ignored. */
struct cluster_change {
    enum cluster_change_kind kind;
    struct node_id node;
    enum sherd_member_status status;
    enum sherd_member_status previous;
    uint32_t up_number; /* 0 = none */
    bool is_self;
    uint32_t texts_size;
    char texts[]; /* MEMBER: version, data center, then each role, and an empty text; ROLE_LEADER: the role; CENTER_...: its name */
};

#endif
