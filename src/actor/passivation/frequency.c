/* Orders entities by how often they were used, and within the same number by their last use.
 *
 * With dynamic aging the number counts from the priority of the last victim, so entities that were
 * popular long ago fall behind those that are popular now. */
#include "actor/passivation/area.h"

#include "base/check.h"

static inline struct bucket *bucket_at(struct area *area, uint32_t index)
{
    return &area->buckets.items[index];
}

/* Makes an empty bucket between two neighbours. */
static uint32_t bucket_new(struct area *area, uint64_t priority, uint32_t lower,
                           uint32_t higher)
{
    struct bucket bucket = { .priority = priority, .lower = lower, .higher = higher };
    uint32_t index = area->bucket_free;

    if (index) {
        area->bucket_free = bucket_at(area, index)->higher;
        *bucket_at(area, index) = bucket;
    } else {
        if (area->buckets.count == 0)
            vec_push(&area->buckets, (struct bucket){ 0 });
        index = area->buckets.count;
        vec_push(&area->buckets, bucket);
    }
    if (lower)
        bucket_at(area, lower)->higher = index;
    else
        area->lowest = index;
    if (higher)
        bucket_at(area, higher)->lower = index;
    return index;
}

static void bucket_free(struct area *area, uint32_t index)
{
    struct bucket *bucket = bucket_at(area, index);

    if (bucket->lower)
        bucket_at(area, bucket->lower)->higher = bucket->higher;
    else
        area->lowest = bucket->higher;
    if (bucket->higher)
        bucket_at(area, bucket->higher)->lower = bucket->lower;
    bucket->higher = area->bucket_free;
    area->bucket_free = index;
}

/* Returns the bucket of a priority, which is made if absent. The search begins at `at`, whose
 * priority is not above, or 0: at the lowest. */
static uint32_t bucket_for(struct area *area, uint64_t priority, uint32_t at)
{
    uint32_t lower = 0;

    if (!at)
        at = area->lowest;
    while (at && bucket_at(area, at)->priority < priority) {
        lower = at;
        at = bucket_at(area, at)->higher;
    }
    if (at && bucket_at(area, at)->priority == priority)
        return at;
    return bucket_new(area, priority, lower, at);
}

static void append(struct area *area, struct ranks *ranks, uint32_t index, uint32_t slot)
{
    struct bucket *bucket = bucket_at(area, index);
    struct rank *rank = &ranks->items[slot];

    rank_set_list(rank, index);
    rank_set_previous(rank, bucket->last);
    rank_set_next(rank, 0);
    if (bucket->last)
        rank_set_next(&ranks->items[bucket->last], slot);
    else
        bucket->first = slot;
    bucket->last = slot;
}

static void unlink_slot(struct area *area, struct ranks *ranks, uint32_t slot)
{
    struct rank *rank = &ranks->items[slot];
    uint32_t index = rank->list;
    struct bucket *bucket = bucket_at(area, index);

    if (rank->previous)
        ranks->items[rank->previous].next = rank->next;
    else
        bucket->first = rank->next;
    if (rank->next)
        ranks->items[rank->next].previous = rank->previous;
    else
        bucket->last = rank->previous;
    if (!bucket->first)
        bucket_free(area, index);
}

/* Returns the priority after one more use. */
static uint64_t next_priority(const struct area *area, struct rank *rank, uint64_t priority)
{
    uint32_t accesses;

    if (!area->settings->is_aging)
        return priority + 1;
    accesses = rank_accesses(rank);
    if (accesses < RANK_ACCESSES_FULL)
        accesses++;
    rank_set_accesses(rank, accesses);
    return accesses + area->age > priority ? accesses + area->age : priority;
}

void frequency_use(struct area *area, struct ranks *ranks, uint32_t slot)
{
    struct rank *rank = &ranks->items[slot];
    uint64_t priority;
    uint32_t target;

    if (rank->area == RANK_NONE) {
        rank->area = area->id & 3;
        area->size++;
        rank_set_accesses(rank, 1);
        append(area, ranks, bucket_for(area, 1 + area->age, 0), slot);
        return;
    }
    priority = next_priority(area, rank, bucket_at(area, rank->list)->priority);
    target = bucket_for(area, priority, rank->list);
    unlink_slot(area, ranks, slot);
    if (target == rank->list && !bucket_at(area, target)->first)
        target = bucket_for(area, priority, 0); /* its bucket was freed */
    append(area, ranks, target, slot);
}

void frequency_remove(struct area *area, struct ranks *ranks, uint32_t slot)
{
    unlink_slot(area, ranks, slot);
    ranks->items[slot].area = RANK_NONE;
    area->size--;
}

void frequency_trim(struct area *area, struct ranks *ranks, uint32_t kept,
                    struct slots *out)
{
    while (area->size > kept) {
        const struct bucket *bucket = bucket_at(area, area->lowest);
        uint32_t slot = bucket->first;

        if (area->settings->is_aging)
            area->age = bucket->priority;
        frequency_remove(area, ranks, slot);
        vec_push(out, slot);
    }
}
