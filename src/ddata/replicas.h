/* Tracks the members with the replicator's roles. Members that are up or later count for reads and
 * writes; weakly up ones also get gossip; messages of joining ones are accepted. */
#ifndef SHERD_DDATA_REPLICAS_H
#define SHERD_DDATA_REPLICAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/member_info.h"
#include "base/vec.h"

enum replica_group {
    REPLICA_JOINING,
    REPLICA_WEAKLY_UP,
    REPLICA_UP /* or later: leaving, exiting, or down after being up */
};

struct replica {
    struct kept_member peer;
    uint8_t group; /* enum replica_group */
    bool is_reachable;
};

struct removed_replica {
    struct node_id node;
    uint64_t at; /* ns of replicas.clock */
    bool is_found; /* only found in data: perhaps a member that this node does not know yet */
};

/* Zero, then replicas_init. */
struct replicas {
    struct node_id self;
    enum member_status self_status;
    bool self_has_role;
    VEC(struct replica) items; /* others with the roles, by unique address */
    VEC(struct removed_replica) removed; /* in order of removal */
    uint32_t up_count;
    uint32_t unreachable_count;
    uint64_t clock;    /* ns during which all were reachable */
    uint64_t clock_at; /* time of its last advance */
    uint64_t forgotten; /* removed ones dropped at REPLICATOR_REMOVED_MAX */
    uint64_t refused;   /* members refused at REPLICATOR_MEMBERS_MAX */
};

void replicas_init(struct replicas *replicas, const struct node_id *self,
                   uint64_t now);
void replicas_fini(struct replicas *replicas);

/* Lent. A member that was only found in data is removed no longer. */
void replicas_put(struct replicas *replicas, const struct member_info *peer);
/* True if it was a member; then it is recorded as removed. */
bool replicas_remove(struct replicas *replicas, const struct node_id *node);
void replicas_tick(struct replicas *replicas, uint64_t now); /* advances the clock */

const struct replica *replicas_find(const struct replicas *replicas,
                                    const struct node_id *node);
/* True for all members, and for this node. */
bool replicas_know(const struct replicas *replicas, const struct node_id *node);
static inline bool replica_is_gossiped(const struct replica *replica)
{
    return replica->group != REPLICA_JOINING;
}
uint32_t replicas_gossiped_count(const struct replicas *replicas);

/* True if this node starts pruning: it is up, and first by address of all members with the roles,
 * in any data center. */
bool replicas_leads(const struct replicas *replicas);
bool replicas_is_removed(const struct replicas *replicas,
                         const struct node_id *node);
/* True if the node is no member, for longer than `wait` by the clock or without a recorded
 * removal. */
bool replicas_is_gone(const struct replicas *replicas,
                      const struct node_id *node, uint64_t wait);
/* True if it is no member, and was recorded, as removed or found, longer than `wait` ago. */
bool replicas_is_long_gone(const struct replicas *replicas,
                           const struct node_id *node, uint64_t wait);
void replicas_note_found(struct replicas *replicas,
                         const struct node_id *node); /* in data, not a member */
void replicas_forget_removed(struct replicas *replicas,
                             const struct node_id *node);

#endif
