/* Removes keys that no node has used for a time, by the wall clock. Commands for a key are uses,
 * here or, as statuses and gossips report, elsewhere.
 *
 * Another node may have used the key unheard. Then this node's new counts would be below its old
 * ones, and its new versions would claim that it has seen all that it ever put. A merge would lose
 * the counts, or the others' elements. So this node's part is hidden: out of the table, invisible,
 * and the base of its next change. It is dropped after all members were reachable for
 * max-pruning-dissemination, and none named the key.
 *
 * The hidden part of a counter is only this node's share. Another member may have expired the key
 * earlier and restarted its share, which an old copy from here would cover.
 *
 * A pass takes many steps: 100,000 keys may expire at once. */
#include "base/bound.h"
#include "base/limits.h"
#include "base/mark.h"
#include "ddata/replicator_inside.h"

/* keys checked in a step, in half a ms; not limited by the room, because expired keys must not be
 * sent */
#define STEP_LOOKS 8192
#define FORGET_LOOKS 32 /* removing a key costs as much */

/* ---- hidden keys ---- */

static bool is_written_here(const struct replicator *replicator,
                            const struct entry *entry)
{
    const struct node_id *self = &replicator->replicas.self;

    for (uint32_t i = 0;
         entry_is_there(entry) && i < opaque_count(&entry->envelope); i++)
        if (dd_needs_pruning(opaque_look(&entry->envelope, i)->value, self))
            return true;
    return false;
}

/* Hides no versions, which other nodes may have restarted meanwhile. Hides no markers of other
 * nodes, which would delete, elsewhere, shares that the part lacks. True: something was left
 * out. */
static bool take_own(const struct replicator *replicator,
                     const struct entry *entry, struct envelope *own)
{
    envelope_copy(own, &entry->envelope);
    versions_fini(&own->versions);
    if (!dd_leave_count(own->value, &replicator->replicas.self))
        return false;
    pruning_leave_own(&own->pruning);
    return true;
}

/* False: two types, or too large together. */
static bool merge(const struct replicator *replicator, struct hidden *hidden,
                  struct envelope *own)
{
    return envelope_is_merged(
               envelope_join(replicator, &hidden->envelope, own)) &&
           envelope_fits(replicator, &hidden->envelope);
}

/* Merges with a part hidden before. If they do not fit, the new one stays, as others have it. */
static void keep(struct replicator *replicator, struct hidden *hidden,
                 const struct entry *entry)
{
    struct envelope own = { 0 };
    bool is_whole;

    if (!hidden->envelope.value && !is_written_here(replicator, entry))
        return;
    is_whole = !take_own(replicator, entry, &own);
    replicator->hidden_bytes -= hidden->size;
    hidden->size = 0;
    if (!hidden->envelope.value || !merge(replicator, hidden, &own)) {
        envelope_fini(&hidden->envelope);
        hidden->envelope = own;
        hidden->size = is_whole ? entry->size : envelope_size(replicator, &own);
    } else {
        hidden->size = envelope_size(replicator, &hidden->envelope);
        envelope_fini(&own);
    }
    replicator->hidden_bytes += hidden->size;
}

static bool has_room(struct replicator *replicator, const struct entry *entry)
{
    if (replicator->hidden.count < REPLICATOR_HIDDEN_MAX &&
        replicator->hidden_bytes + entry->size <= REPLICATOR_HIDDEN_BYTES_MAX)
        return true;
    replicator->counters.unforgotten++;
    return false;
}

/* Before an entry is removed. False: no room; it must stay. */
static bool hide(struct replicator *replicator, struct entry *entry)
{
    struct hidden *hidden = map_get(&replicator->hidden, entry->key);

    if (!hidden && !entry->log.version && !is_written_here(replicator, entry))
        return true;
    if (!has_room(replicator, entry))
        return false;
    if (!hidden) {
        hidden = mem_alloc(sizeof *hidden);
        (void)map_put(&replicator->hidden, entry->key, hidden);
        BOUNDED("keys that are hidden", replicator->hidden.count,
                REPLICATOR_HIDDEN_MAX);
    }
    keep(replicator, hidden, entry);
    if (entry->log.version)
        hidden->version = entry->log.version;
    hidden->used_ms = entry->used_ms;
    hidden->at = replicator->steady_ticks;
    return true;
}

bool expire_refuses(struct replicator *replicator, struct slice key,
                    int64_t used_ms)
{
    struct hidden *hidden;

    if (!expire_is_over(replicator, key, used_ms))
        return false;
    replicator->counters.stale++;
    hidden = map_get(&replicator->hidden, key);
    if (hidden)
        hidden->at = replicator->steady_ticks;
    return true;
}

bool hidden_show(struct replicator *replicator, struct slice key)
{
    struct hidden *hidden = map_get(&replicator->hidden, key);
    bool was_there = entry_find(replicator, key) != NULL;
    struct envelope envelope = { 0 };
    struct entry *entry;

    if (!hidden || !hidden->envelope.value)
        return true;
    REACHED("a change restores the hidden value of an expired key");
    SOMETIMES("other members have given the key back", was_there);
    envelope_copy(&envelope, &hidden->envelope);
    entry = entry_merge(replicator, key, &envelope, hidden->size);
    envelope_fini(&envelope);
    if (!entry && !was_there)
        return false;
    /* If they do not fit together, the others' value stays. */
    entry_use(replicator, entry, hidden->used_ms);
    hidden_give_back(replicator, hidden);
    hidden->is_alone = !was_there;
    return true;
}

void hidden_back(struct replicator *replicator, struct slice key)
{
    struct hidden *hidden = map_get(&replicator->hidden, key);
    struct entry *entry = entry_find(replicator, key);

    if (!hidden || !hidden->is_alone)
        return;
    REACHED("an update without effect hides the key again");
    keep(replicator, hidden, entry);
    hidden->is_alone = false;
    notify_forget(replicator, entry);
    entry_forget(replicator, entry);
}

/* Like forget_if_over, returns its cost in looks. */
static uint32_t drop_if_nobody_has(struct replicator *replicator,
                                   struct slice key,
                                   const struct hidden *hidden)
{
    uint64_t wait = replicator->settings.pruning_dissemination_ms /
                    replicator->settings.gossip_interval_ms;
    struct entry *entry;

    if (replicator->steady_ticks - hidden->at <= wait)
        return 1;
    entry = entry_find(replicator, key);
    if (entry && !entry->log.version)
        entry->log.version = hidden->version; /* others gave it back with this number */
    hidden_drop(replicator, key);
    return FORGET_LOOKS;
}

static uint32_t forget_if_over(struct replicator *replicator,
                               struct entry *entry)
{
    if (!entry_is_over(replicator, entry) || !hide(replicator, entry))
        return 1;
    REACHED("an unused key expires");
    replicator->counters.expired++;
    probes_put(replicator->probes,
               &(struct probe){ .kind = PROBE_DATA_FORGOTTEN,
                                .type = PROBE_TYPE_NONE,
                                .bytes = entry->key });
    notify_forget(replicator, entry);
    notify_expired(replicator, entry);
    if (entry->is_durable)
        durable_forget(replicator, entry->key);
    entry_forget(replicator, entry);
    return FORGET_LOOKS;
}

void expire_go_on(struct replicator *replicator)
{
    struct expiring *expiring = &replicator->expiring;
    struct map_entry item;
    uint32_t looks = 0;

    while (expiring->is_on && looks < STEP_LOOKS) {
        if (map_next(&replicator->hidden, &expiring->hidden_at, &item))
            looks += drop_if_nobody_has(replicator, item.key, item.value);
        else if (map_next(&replicator->entries, &expiring->at, &item))
            looks += forget_if_over(replicator, item.value);
        else
            expiring->is_on = false;
    }
}

/* Counts ticks, not time, because a suspended node hears nothing. An unfinished pass continues. */
void expire_tick(struct replicator *replicator)
{
    if (!replicator->expiries.count)
        return;
    replicator->steady_ticks += !replicator->replicas.unreachable_count;
    hold_tick(replicator);
    if (!replicator->expiring.is_on)
        replicator->expiring = (struct expiring){ .is_on = true };
    expire_go_on(replicator);
}
