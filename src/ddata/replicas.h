/* Who holds the same data: the members with the replicator's roles, as a replicator sees them (behaviour 13.2).
 *
 * Told by the node, translated to base/peer.h. Up-or-later members count for reads and writes; weakly up ones are
 * gossiped to as well; joining ones are only known, so that what they send is taken. */
#ifndef SHERD_DDATA_REPLICAS_H
#define SHERD_DDATA_REPLICAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/peer.h"
#include "base/vec.h"

enum replica_group {
    REPLICA_JOINING,
    REPLICA_WEAKLY_UP,
    REPLICA_UP /* or later: leaving, exiting, down after it was up */
};

struct replica {
    struct kept_peer peer;
    uint8_t group; /* enum replica_group */
    bool is_reachable;
};

struct removed_replica {
    struct node_id node;
    uint64_t at; /* ns of replicas.clock */
    bool is_found; /* only in data: it may also be a member that this node has not heard of yet */
};

/* Zero, then replicas_init. */
struct replicas {
    struct node_id self;
    enum peer_status self_status;
    bool self_has_role;
    VEC(struct replica) items; /* others with the role, by unique address */
    VEC(struct removed_replica) removed; /* in order of removal */
    uint32_t up_count;
    uint32_t unreachable_count;
    uint64_t clock;    /* ns that passed while everybody was reachable */
    uint64_t clock_at; /* when it was advanced */
    uint64_t forgotten; /* removed ones dropped at REPLICATOR_REMOVED_MAX */
    uint64_t refused;   /* members not kept, at REPLICATOR_MEMBERS_MAX */
};

void replicas_init(struct replicas *replicas, const struct node_id *self,
                   uint64_t now);
void replicas_fini(struct replicas *replicas);

/* Lent. Who was only found in data until then has not been removed. */
void replicas_put(struct replicas *replicas, const struct peer *peer);
/* True when it was one of them; then it is remembered as removed. */
bool replicas_remove(struct replicas *replicas, const struct node_id *node);
void replicas_tick(struct replicas *replicas, uint64_t now); /* advances the clock */

const struct replica *replicas_find(const struct replicas *replicas,
                                    const struct node_id *node);
/* Is what this node sends taken? Every member but those that are removed or unheard of; the own node too. */
bool replicas_know(const struct replicas *replicas, const struct node_id *node);
/* Does it count for gossip: up or later, or weakly up? */
static inline bool replica_is_gossiped(const struct replica *replica)
{
    return replica->group != REPLICA_JOINING;
}
uint32_t replicas_gossiped_count(const struct replicas *replicas);

/* Does this node start the pruning? The head of all with the role, whatever the data center, and up. */
bool replicas_leads(const struct replicas *replicas);
bool replicas_is_removed(const struct replicas *replicas,
                         const struct node_id *node);
/* Is it no member, and was none for longer than that, by the clock? Also one whose removal was never seen. */
bool replicas_is_gone(const struct replicas *replicas,
                      const struct node_id *node, uint64_t wait);
/* Is it known to be none of them for longer than that, however it became known? */
bool replicas_is_long_gone(const struct replicas *replicas,
                           const struct node_id *node, uint64_t wait);
void replicas_note_found(struct replicas *replicas,
                         const struct node_id *node); /* in data, not a member; at the clock's time */
void replicas_forget_removed(struct replicas *replicas,
                             const struct node_id *node);

#endif
