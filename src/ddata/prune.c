/* Prunes removed members while all are reachable. A pass over all entries takes many steps; the
 * next pass finds entries that move. */
#include "ddata/replicator_inside.h"

#include "base/limits.h"
#include "base/mark.h"

/* Costs of checking an entry, and each node in it, in hashed bytes. */
#define LOOK_COST 128
#define NODE_COST 64

static void add_owners(const struct pruning *pruning, struct dd_nodes *nodes)
{
    for (uint32_t i = 0; i < pruning->marks.count; i++)
        if (!pruning->marks.items[i].is_performed)
            dd_nodes_add(nodes, &pruning->marks.items[i].owner);
}

/* True if the owner's marker wins over one of `self`, also where only addresses are compared. */
static bool is_before(const struct node_id *owner, const struct node_id *self)
{
    return address_compare(&owner->address, &self->address) <= 0;
}

static void begin(struct replicator *replicator, struct entry *entry,
                  const struct node_id *removed)
{
    const struct node_id *self = &replicator->replicas.self;
    const struct pruning *pruning = &entry->envelope.pruning;
    const struct pruning_mark *mark = pruning_find(pruning, removed);

    if (mark ? mark->is_performed || is_before(&mark->owner, self)
             : pruning->marks.count >= REPLICATOR_PRUNING_MAX)
        return;
    if (!dd_needs_pruning(entry->envelope.value, removed))
        return;
    REACHED("pruning of a removed member begins");
    envelope_prune_begin(&entry->envelope, removed, self);
    entry_set(replicator, entry, false);
}

/* Finds nodes that are no members but left data in the entry, or began to prune it. Members removed
 * before this node joined are known only by that. Does not loop over removed members: there may be
 * a thousand, and 100,000 keys. nodes: scratch memory. */
static void find_removed(struct replicator *replicator, struct entry *entry,
                         struct dd_nodes *nodes)
{
    struct replicas *replicas = &replicator->replicas;
    uint64_t wait = replicator->settings.pruning_dissemination_ms * MS;

    nodes->items.count = 0;
    dd_add_modified_by(entry->envelope.value, nodes);
    add_owners(&entry->envelope.pruning, nodes);
    (void)room_is_spent(replicator, nodes->items.count * NODE_COST); /* spent even without room */
    for (uint32_t i = 0; i < nodes->items.count; i++) {
        const struct node_id *node = &nodes->items.items[i];

        if (replicas_know(replicas, node))
            continue;
        if (replicas_is_long_gone(replicas, node, wait)) {
            begin(replicator, entry, node);
        } else if (!replicas_is_removed(replicas, node)) {
            REACHED("data contains an entry of an unknown member");
            replicas_note_found(replicas, node);
            replicator->counters.forgotten = replicas->forgotten;
        }
    }
}

static bool is_seen_by_all(const struct replicator *replicator,
                           const struct pruning_mark *mark)
{
    const struct replicas *replicas = &replicator->replicas;

    for (uint32_t i = 0; i < replicas->items.count; i++) {
        const struct replica *replica = &replicas->items.items[i];
        const struct address address = address_again(replica->peer.address);

        if (replica_is_gossiped(replica) && !pruning_is_seen(mark, &address))
            return false;
    }
    return true;
}

/* This node performs its own markers and, as leader, those of removed owners. With a new marker, as
 * Akka makes, the old one would return with every gossip. Addresses that saw a marker count for any
 * owner. The wait covers the owner's last pruning. */
static bool is_ours(const struct replicator *replicator,
                    const struct pruning_mark *mark, uint64_t wait)
{
    const struct replicas *replicas = &replicator->replicas;

    if (node_equal(&mark->owner, &replicas->self))
        return true;
    return replicas_leads(replicas) &&
           replicas_is_long_gone(replicas, &mark->owner, wait);
}

/* Elements added again get a number without a delta. A later delta alone would claim that they were
 * seen, and replicas that have not pruned would drop them. (Members of this library wait for the
 * whole value; JVMs do not.) */
static void leave_gap(struct replicator *replicator, struct entry *entry)
{
    struct dd_value *delta = dd_take_delta(entry->envelope.value);

    if (delta && dd_needs_causal_delivery(delta) &&
        !replicator->settings.deltas_off) {
        entry_count_deltas(replicator, entry);
        deltas_put(&replicator->deltas, &entry->log, entry->key, NULL);
        replicator->counters.deltas_lost = replicator->deltas.lost;
    }
    dd_free(delta);
}

/* Skips markers for members, and for nodes removed recently: a node that did not know the member
 * may have made one. */
static void perform(struct replicator *replicator, struct entry *entry)
{
    uint64_t wait = replicator->settings.pruning_dissemination_ms * MS;
    uint64_t kept_ms = entry->is_durable
                           ? replicator->settings.durable_pruning_marker_ms
                           : replicator->settings.pruning_marker_ms;
    bool is_changed = false;

    for (uint32_t i = 0; i < entry->envelope.pruning.marks.count; i++) {
        const struct pruning_mark *mark =
            &entry->envelope.pruning.marks.items[i];

        if (mark->is_performed ||
            !is_ours(replicator, mark, wait) ||
            !replicas_is_gone(&replicator->replicas, &mark->removed, wait) ||
            !is_seen_by_all(replicator, mark))
            continue;
        SOMETIMES("a member finishes the pruning that a removed one began",
                  !node_equal(&mark->owner, &replicator->replicas.self));
        envelope_prune(&entry->envelope, &mark->removed, replicator->writer,
                       replicator->wall_ms + (int64_t)kept_ms);
        entry->envelope.pruning.marks.items[i].is_pekko =
            strcmp(replicator->identity->protocol, "pekko") == 0;
        replicator->counters.pruned++;
        REACHED("a member is pruned");
        is_changed = true;
    }
    if (!is_changed)
        return;
    (void)room_is_taken(replicator, entry); /* taken even without room */
    leave_gap(replicator, entry);
    entry_set(replicator, entry, true);
    if (entry->is_durable)
        (void)durable_store_entry(replicator, entry, NULL); /* no caller waits */
}

static void drop_obsolete(struct replicator *replicator, struct entry *entry)
{
    struct pruning *pruning = &entry->envelope.pruning;
    bool is_changed = false;

    for (uint32_t i = pruning->marks.count; i-- > 0;) {
        struct node_id removed = pruning->marks.items[i].removed;

        if (!pruning->marks.items[i].is_performed ||
            pruning->marks.items[i].obsolete_at > replicator->wall_ms)
            continue;
        REACHED("a pruning mark expires");
        replicas_forget_removed(&replicator->replicas, &removed);
        pruning_take(pruning, &removed);
        is_changed = true;
    }
    if (is_changed)
        entry_set(replicator, entry, false);
}

void prune_go_on(struct replicator *replicator)
{
    struct dd_nodes nodes = { 0 };
    struct map_entry item;
    bool is_first = true;

    if (replicator->replicas.unreachable_count)
        replicator->is_pruning = false;
    while (replicator->is_pruning &&
           (room_is_spent(replicator, LOOK_COST) || is_first)) {
        struct entry *entry;

        is_first = false;
        replicator->is_pruning =
            map_next(&replicator->entries, &replicator->prune_at, &item);
        entry = replicator->is_pruning ? item.value : NULL;
        if (!entry_is_there(entry) || entry->envelope.origin)
            continue; /* a value that does not merge here is pruned elsewhere */
        if (replicas_leads(&replicator->replicas))
            find_removed(replicator, entry, &nodes);
        perform(replicator, entry);
        drop_obsolete(replicator, entry);
    }
    vec_fini(&nodes.items);
}

/* An unfinished pass continues. */
void prune_tick(struct replicator *replicator)
{
    if (!replicator->is_pruning)
        replicator->prune_at = 0;
    replicator->is_pruning = true;
    prune_go_on(replicator);
}
