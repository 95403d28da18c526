/* Tracks the members that hold the same data. */
#include "ddata/replicas.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "base/sorted.h"

static int replica_order(const void *item, const void *key)
{
    const struct replica *replica = item;
    const struct node_id *node = key;
    int order = kept_address_compare(replica->peer.address, &node->address);

    if (order)
        return order;
    return (int64_t)replica->peer.uid < (int64_t)node->uid
               ? -1
               : replica->peer.uid != node->uid;
}

void replicas_init(struct replicas *replicas, const struct node_id *self,
                   uint64_t now)
{
    *replicas = (struct replicas){ .self = *self, .clock_at = now };
    replicas->self_status = MEMBER_JOINING;
}

void replicas_fini(struct replicas *replicas)
{
    for (uint32_t i = 0; i < replicas->items.count; i++)
        kept_member_fini(&replicas->items.items[i].peer);
    vec_fini(&replicas->items);
    vec_fini(&replicas->removed);
}

static struct replica *find(const struct replicas *replicas,
                            const struct node_id *node)
{
    uint32_t at = sorted_vec_place(&replicas->items, replica_order, node);

    return at < replicas->items.count &&
                   kept_member_is(&replicas->items.items[at].peer, node)
               ? &replicas->items.items[at]
               : NULL;
}

const struct replica *replicas_find(const struct replicas *replicas,
                                    const struct node_id *node)
{
    return find(replicas, node);
}

/* A leaving or down member keeps its group, since its data may still be needed. */
static enum replica_group group_of(const struct replica *replica,
                                   const struct member_info *peer)
{
    if (peer->up_number != INT32_MAX)
        return REPLICA_UP;
    if (peer->status == MEMBER_WEAKLY_UP)
        return REPLICA_WEAKLY_UP;
    return replica ? (enum replica_group)replica->group : REPLICA_JOINING;
}

static void count(struct replicas *replicas, const struct replica *replica,
                  bool is_more)
{
    uint32_t one = is_more ? 1 : UINT32_MAX;

    if (replica->group == REPLICA_UP)
        replicas->up_count += one;
    if (!replica->is_reachable)
        replicas->unreachable_count += one;
}

static uint32_t removed_place(const struct replicas *replicas,
                              const struct node_id *node)
{
    uint32_t at = 0;

    while (at < replicas->removed.count &&
           !node_equal(&replicas->removed.items[at].node, node))
        at++;
    return at;
}

/* A member's data may arrive before the news of it. Akka then prunes it while it lives. */
static void forget_found(struct replicas *replicas, const struct node_id *node)
{
    uint32_t at = removed_place(replicas, node);

    if (at == replicas->removed.count || !replicas->removed.items[at].is_found)
        return;
    REACHED("a member's data arrived before the gossip that adds it");
    vec_remove(&replicas->removed, at);
}

void replicas_put(struct replicas *replicas, const struct member_info *peer)
{
    struct replica *replica;

    if (node_equal(&peer->node, &replicas->self)) {
        replicas->self_status = peer->status;
        replicas->self_has_role = peer->has_role;
        return;
    }
    if (!peer->has_role)
        return;
    replica = find(replicas, &peer->node);
    if (replica) {
        count(replicas, replica, false);
    } else {
        uint32_t at =
            sorted_vec_place(&replicas->items, replica_order, &peer->node);

        if (replicas->items.count >= REPLICATOR_MEMBERS_MAX) {
            replicas->refused++;
            return;
        }
        vec_grow(&replicas->items);
        replica = &replicas->items.items[at];
        memmove(replica + 1, replica,
                (replicas->items.count++ - at) * sizeof *replica);
        *replica = (struct replica){ .group = REPLICA_JOINING };
        forget_found(replicas, &peer->node);
    }
    kept_member_set(&replica->peer, peer);
    replica->group = (uint8_t)group_of(replica, peer);
    replica->is_reachable = peer->reachable;
    count(replicas, replica, true);
}

static void note(struct replicas *replicas, const struct node_id *node,
                 bool is_found)
{
    uint32_t at = removed_place(replicas, node);

    if (at < replicas->removed.count) {
        replicas->removed.items[at].at = replicas->clock;
        return;
    }
    if (replicas->removed.count >= REPLICATOR_REMOVED_MAX) {
        vec_remove(&replicas->removed, 0);
        replicas->forgotten++;
    }
    vec_push(&replicas->removed, ((struct removed_replica){
                                     *node, replicas->clock, is_found }));
}

bool replicas_remove(struct replicas *replicas, const struct node_id *node)
{
    struct replica *replica = find(replicas, node);
    uint32_t at;

    if (!replica)
        return false;
    at = (uint32_t)(replica - replicas->items.items);
    count(replicas, replica, false);
    kept_member_fini(&replica->peer);
    vec_remove(&replicas->items, at);
    note(replicas, node, false);
    return true;
}

void replicas_tick(struct replicas *replicas, uint64_t now)
{
    if (!replicas->unreachable_count)
        replicas->clock += now - replicas->clock_at;
    replicas->clock_at = now;
}

bool replicas_know(const struct replicas *replicas, const struct node_id *node)
{
    return find(replicas, node) || node_equal(node, &replicas->self);
}

uint32_t replicas_gossiped_count(const struct replicas *replicas)
{
    uint32_t count_of = 0;

    for (uint32_t i = 0; i < replicas->items.count; i++)
        count_of += replica_is_gossiped(&replicas->items.items[i]);
    return count_of;
}

/* Members that are up, leaving or preparing for shutdown come first, by address. */
static bool comes_first(uint8_t status)
{
    return status == MEMBER_UP || status == MEMBER_LEAVING ||
           status == MEMBER_PREPARING_FOR_SHUTDOWN ||
           status == MEMBER_READY_FOR_SHUTDOWN;
}

bool replicas_leads(const struct replicas *replicas)
{
    if (replicas->self_status != MEMBER_UP || !replicas->self_has_role)
        return false;
    for (uint32_t i = 0; i < replicas->items.count; i++) {
        const struct replica *replica = &replicas->items.items[i];

        if (replica_order(replica, &replicas->self) > 0)
            return true;
        if (comes_first(replica->peer.status))
            return false;
    }
    return true;
}

bool replicas_is_removed(const struct replicas *replicas,
                         const struct node_id *node)
{
    return removed_place(replicas, node) < replicas->removed.count;
}

bool replicas_is_gone(const struct replicas *replicas,
                      const struct node_id *node, uint64_t wait)
{
    uint32_t at = removed_place(replicas, node);

    if (replicas_know(replicas, node))
        return false;
    return at == replicas->removed.count ||
           replicas->removed.items[at].is_found ||
           replicas->clock - replicas->removed.items[at].at > wait;
}

bool replicas_is_long_gone(const struct replicas *replicas,
                           const struct node_id *node, uint64_t wait)
{
    uint32_t at = removed_place(replicas, node);

    return !replicas_know(replicas, node) && at < replicas->removed.count &&
           replicas->clock - replicas->removed.items[at].at > wait;
}

void replicas_note_found(struct replicas *replicas, const struct node_id *node)
{
    note(replicas, node, true);
}

void replicas_forget_removed(struct replicas *replicas,
                             const struct node_id *node)
{
    uint32_t at = removed_place(replicas, node);

    if (at < replicas->removed.count)
        vec_remove(&replicas->removed, at);
}
