/* Orders entities by their last use, in one segment or in several.
 *
 * With several segments a used entity rises by one segment. A segment above its limit passes its
 * least recent entity to the segment below. */
#include "actor/passivation/area.h"

void recency_set_limits(struct area *area)
{
    const struct area_settings *settings = area->settings;
    uint32_t others = 0;
    double shares = 0;

    for (uint32_t i = 0; i < area->levels; i++)
        shares += settings->shares[i];
    for (uint32_t i = 1; i < area->levels; i++) {
        double share = shares > 0 ? settings->shares[i] : 1.0 / area->levels;
        uint32_t limit = (uint32_t)(share * area->limit);

        if (limit > area->limit - others) /* shares above 1 in all */
            limit = area->limit - others;
        area->segments[i].limit = limit;
        others += limit;
    }
    area->segments[0].limit = area->limit - others;
}

static inline void append(struct area *area, struct ranks *ranks, uint32_t level,
                          uint32_t slot)
{
    struct segment *segment = &area->segments[level];
    struct rank *rank = &ranks->items[slot];

    rank_set_list(rank, level);
    rank_set_previous(rank, segment->last);
    rank_set_next(rank, 0);
    if (segment->last)
        rank_set_next(&ranks->items[segment->last], slot);
    else
        segment->first = slot;
    segment->last = slot;
    segment->size++;
}

static inline void unlink_slot(struct area *area, struct ranks *ranks, uint32_t slot)
{
    struct rank *rank = &ranks->items[slot];
    struct segment *segment = &area->segments[rank->list];

    if (rank->previous)
        ranks->items[rank->previous].next = rank->next;
    else
        segment->first = rank->next;
    if (rank->next)
        ranks->items[rank->next].previous = rank->previous;
    else
        segment->last = rank->previous;
    segment->size--;
}

/* Passes what is above the limit of a segment to the one below. */
static void demote(struct area *area, struct ranks *ranks, uint32_t level)
{
    struct segment *segment = &area->segments[level];

    while (segment->size > segment->limit) {
        uint32_t slot = segment->first;

        unlink_slot(area, ranks, slot);
        append(area, ranks, level - 1, slot);
    }
}

void recency_use(struct area *area, struct ranks *ranks, uint32_t slot)
{
    struct rank *rank = &ranks->items[slot];
    uint32_t level;

    if (rank->area == RANK_NONE) {
        rank->area = area->id & 3;
        area->size++;
        append(area, ranks, 0, slot);
        return;
    }
    level = rank->list;
    if (level + 1 == area->levels) {
        if (area->segments[level].last == slot)
            return;
        unlink_slot(area, ranks, slot);
        append(area, ranks, level, slot);
        return;
    }
    unlink_slot(area, ranks, slot);
    append(area, ranks, level + 1, slot);
    demote(area, ranks, level + 1);
}

void recency_remove(struct area *area, struct ranks *ranks, uint32_t slot)
{
    unlink_slot(area, ranks, slot);
    ranks->items[slot].area = RANK_NONE;
    area->size--;
}

void recency_trim(struct area *area, struct ranks *ranks, struct slots *out)
{
    if (area->size <= area->limit)
        return;
    for (uint32_t level = area->levels - 1; level > 0; level--)
        demote(area, ranks, level);
    while (area->size > area->limit) {
        uint32_t slot = area->segments[0].first;

        recency_remove(area, ranks, slot);
        vec_push(out, slot);
    }
}

void recency_trim_recent(struct area *area, struct ranks *ranks, uint32_t kept,
                         struct slots *out)
{
    uint32_t slot = area->segments[0].last;

    if (slot && slot == kept)
        slot = ranks->items[slot].previous;
    while (area->size > area->limit && slot) {
        uint32_t next = ranks->items[slot].previous;

        recency_remove(area, ranks, slot);
        vec_push(out, slot);
        slot = next;
    }
}
