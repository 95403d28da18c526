/* Keeps the deltas that some replicas have not been sent. */
#include "ddata/deltas.h"

#include "base/bound.h"
#include "base/limits.h"
#include "base/mark.h"
#include "base/sorted.h"

#define SLICE_MIN 2
#define SLICE_MAX 10

void deltas_init(struct deltas *deltas, uint32_t size_max)
{
    *deltas = (struct deltas){ .size_max = size_max };
    deltas->active.is_lent = true;
}

void deltas_fini(struct deltas *deltas)
{
    check(!deltas->active.count);
    for (uint32_t i = 0; i < deltas->slots.count; i++)
        mem_free(deltas->slots.items[i].address);
    map_fini(&deltas->active);
    vec_fini(&deltas->slots);
}

/* Drops the first ones. */
static void drop_items(struct delta_log *log, uint32_t count)
{
    if (!count)
        return;
    for (uint32_t i = 0; i < count; i++)
        dd_free(log->items.items[i].value);
    log->items.count -= count;
    memmove(log->items.items, log->items.items + count,
            log->items.count * sizeof *log->items.items);
}

static void drop_group(struct delta_log *log)
{
    dd_free(log->group);
    log->group = NULL;
    log->group_from = log->group_to = 0;
}

void deltas_put(struct deltas *deltas, struct delta_log *log, struct slice key,
                struct dd_value *delta)
{
    struct delta item = { ++log->version, delta };

    if (log->items.count >= REPLICATOR_DELTAS_MAX) {
        /* Some replica misses all of them. A change without a delta replaces them, so the replica
         * waits for gossip. */
        deltas->lost += log->items.count;
        drop_items(log, log->items.count);
        dd_free(delta);
        item.value = NULL;
    }
    vec_push(&log->items, item);
    BOUNDED("deltas of a key", log->items.count, REPLICATOR_DELTAS_MAX);
    if (log->items.count == 1)
        (void)map_put(&deltas->active, key, log);
}

void deltas_drop(struct deltas *deltas, struct delta_log *log, struct slice key)
{
    if (log->items.count)
        (void)map_take(&deltas->active, key);
    drop_items(log, log->items.count);
    drop_group(log);
    vec_fini(&log->items);
    vec_fini(&log->sent);
    *log = (struct delta_log){ 0 };
}

uint32_t deltas_slice_size(uint32_t count)
{
    uint32_t size = count / DELTA_ROUNDS_DIVISOR + 1;

    if (size < SLICE_MIN)
        size = SLICE_MIN;
    if (size > SLICE_MAX)
        size = SLICE_MAX;
    return size < count ? size : count;
}

uint32_t deltas_begin(struct deltas *deltas, uint32_t count, uint32_t *first)
{
    uint32_t size = deltas_slice_size(count);

    deltas->round++;
    *first = size < count ? (uint32_t)(deltas->next % count) : 0;
    deltas->next += size;
    return size;
}

static bool is_of(const struct delta_node *slot, const struct node_id *node)
{
    return slot->address && slot->uid == node->uid &&
           kept_address_equal(slot->address, &node->address);
}

uint32_t deltas_slot(struct deltas *deltas, const struct node_id *node)
{
    uint32_t unused = deltas->slots.count;

    for (uint32_t i = 0; i < deltas->slots.count; i++) {
        const struct delta_node *slot = &deltas->slots.items[i];

        if (is_of(slot, node))
            return i;
        if (!slot->address && i < unused)
            unused = i;
    }
    if (unused == deltas->slots.count) {
        vec_grow(&deltas->slots);
        deltas->slots.count++;
    }
    deltas->slots.items[unused] =
        (struct delta_node){ node->uid, address_keep(&node->address) };
    return unused;
}

static int64_t sent_to(const struct delta_log *log, uint32_t slot)
{
    return slot < log->sent.count ? log->sent.items[slot] : 0;
}

static void set_sent(struct delta_log *log, uint32_t slot, int64_t version)
{
    while (log->sent.count <= slot)
        vec_push(&log->sent, 0);
    log->sent.items[slot] = version;
}

static uint32_t place_after(const struct delta_log *log, int64_t version)
{
    const struct delta *items = log->items.items;

    /* The index of the first item after `version`. Versions have no gaps. */
    if (!log->items.count || version < items[0].version)
        return 0;
    version -= items[0].version - 1;
    return version < log->items.count ? (uint32_t)version : log->items.count;
}

/* Merges the items from `first` to the last in order. Null: one has no delta, or the result is too
 * large; a single one may have any size. */
static struct dd_value *group_of(const struct delta_log *log, uint32_t first,
                                 uint32_t size_max)
{
    struct dd_value *group = NULL;

    for (uint32_t i = first; i < log->items.count; i++)
        if (!log->items.items[i].value)
            return NULL;
    group = dd_copy(log->items.items[first].value);
    for (uint32_t i = first + 1; i < log->items.count; i++) {
        enum dd_merged merged = dd_merge(group, log->items.items[i].value);

        if ((merged != DD_CHANGED && merged != DD_UNCHANGED) ||
            dd_delta_size(group) >= size_max) {
            REACHED("deltas are too large together: gossip sends the values");
            dd_free(group);
            return NULL;
        }
    }
    return group;
}

bool deltas_next(struct deltas *deltas, uint32_t slot, uint32_t *at,
                 struct delta_group *group)
{
    struct map_entry entry;

    while (map_next(&deltas->active, at, &entry)) {
        struct delta_log *log = entry.value;
        uint32_t first = place_after(log, sent_to(log, slot));

        if (first == log->items.count)
            continue;
        group->key = entry.key;
        group->from = log->items.items[first].version;
        group->to = log->version;
        group->log = log;
        if (log->group_from != group->from || log->group_to != group->to) {
            drop_group(log);
            log->group = group_of(log, first, deltas->size_max);
            log->group_from = group->from;
            log->group_to = group->to;
        }
        group->value = log->group;
        set_sent(log, slot, group->to);
        return true;
    }
    return false;
}

bool deltas_clean_due(const struct deltas *deltas)
{
    return deltas->round % DELTA_ROUNDS_DIVISOR == 0;
}

static int node_order(const void *item, const void *key)
{
    return node_compare(item, key);
}

/* Fewer than replicas if one was never sent anything. */
static uint32_t slots_of(const struct deltas *deltas,
                         const struct node_id *nodes, uint32_t count,
                         uint32_t *slots)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < deltas->slots.count; i++) {
        const struct delta_node *slot = &deltas->slots.items[i];
        struct node_id node;
        uint32_t at;

        if (!slot->address)
            continue;
        node = (struct node_id){ address_again(slot->address), slot->uid };
        at = sorted_place(nodes, count, sizeof *nodes, node_order, &node);
        if (at < count && node_equal(&nodes[at], &node))
            slots[found++] = i;
    }
    return found;
}

void deltas_clean(struct deltas *deltas, const struct node_id *nodes,
                  uint32_t count)
{
    uint32_t *slots = mem_alloc(count * sizeof *slots);
    struct map_entry entry;
    uint32_t at = 0;

    if (slots_of(deltas, nodes, count, slots) < count) {
        mem_free(slots);
        return;
    }
    while (map_next(&deltas->active, &at, &entry)) {
        struct delta_log *log = entry.value;
        int64_t least = log->version;

        for (uint32_t i = 0; i < count; i++)
            if (sent_to(log, slots[i]) < least)
                least = sent_to(log, slots[i]);
        drop_items(log, place_after(log, least));
        if (!log->items.count) {
            drop_group(log);
            vec_fini(&log->sent); /* new replicas were sent nothing */
            (void)map_take(&deltas->active, entry.key);
        }
    }
    mem_free(slots);
}

static void forget_slot(struct deltas *deltas, uint32_t slot)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&deltas->active, &at, &entry)) {
        struct delta_log *log = entry.value;

        if (slot < log->sent.count)
            log->sent.items[slot] = 0;
    }
}

void deltas_remove(struct deltas *deltas, const struct node_id *node)
{
    for (uint32_t i = 0; i < deltas->slots.count; i++) {
        struct delta_node *slot = &deltas->slots.items[i];

        if (!is_of(slot, node))
            continue;
        mem_free(slot->address);
        slot->address = NULL;
        forget_slot(deltas, i);
        return;
    }
}
