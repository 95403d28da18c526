/* Applies the replacement policy of an area. */
#include "actor/passivation/area.h"

#include "base/check.h"

void area_init(struct area *area, const struct area_settings *settings, enum rank_area id)
{
    *area = (struct area){ .settings = settings, .id = id };
    if (settings->policy == PASSIVATION_NONE ||
        settings->policy == PASSIVATION_LEAST_FREQUENT)
        return;
    check(settings->levels <= PASSIVATION_LEVELS_MAX);
    area->levels = settings->policy == PASSIVATION_LEAST_RECENT && settings->levels > 1
                       ? settings->levels
                       : 1;
    area->segments = mem_alloc(area->levels * sizeof *area->segments);
}

static void forget(struct ranks *ranks, uint32_t first)
{
    for (uint32_t slot = first; slot; slot = ranks->items[slot].next)
        ranks->items[slot].area = RANK_NONE;
}

void area_fini(struct area *area, struct ranks *ranks)
{
    for (uint32_t i = 0; i < area->levels; i++)
        forget(ranks, area->segments[i].first);
    for (uint32_t i = area->lowest; i; i = area->buckets.items[i].higher)
        forget(ranks, area->buckets.items[i].first);
    mem_free(area->segments);
    vec_fini(&area->buckets);
    *area = (struct area){ 0 };
}

/* Trims for a use. The excess is found before the use, so that dynamic aging counts it. */
static void use_frequent(struct area *area, struct ranks *ranks, uint32_t slot,
                         struct slots *out)
{
    bool was_active = ranks_have(ranks, slot);
    uint32_t room = was_active ? area->limit : area->limit - (area->limit > 0);

    frequency_trim(area, ranks, room, out);
    if (was_active && !ranks_have(ranks, slot))
        return; /* it is a victim itself */
    frequency_use(area, ranks, slot);
}

void area_use(struct area *area, struct ranks *ranks, uint32_t slot, struct slots *out)
{
    switch (area->settings->policy) {
    case PASSIVATION_LEAST_RECENT:
        recency_use(area, ranks, slot);
        recency_trim(area, ranks, out);
        break;
    case PASSIVATION_MOST_RECENT:
        recency_use(area, ranks, slot);
        recency_trim_recent(area, ranks, slot, out);
        break;
    case PASSIVATION_LEAST_FREQUENT:
        use_frequent(area, ranks, slot, out);
        break;
    default: /* no window: each new entity leaves it at once */
        vec_push(out, slot);
        break;
    }
}

void area_set_limit(struct area *area, struct ranks *ranks, uint32_t limit,
                    struct slots *out)
{
    area->limit = limit;
    switch (area->settings->policy) {
    case PASSIVATION_LEAST_RECENT:
        recency_set_limits(area);
        recency_trim(area, ranks, out);
        break;
    case PASSIVATION_MOST_RECENT:
        recency_trim_recent(area, ranks, 0, out);
        break;
    case PASSIVATION_LEAST_FREQUENT:
        frequency_trim(area, ranks, limit, out);
        break;
    default:
        break;
    }
}

uint32_t area_select(const struct area *area)
{
    switch (area->settings->policy) {
    case PASSIVATION_LEAST_RECENT:
        return area->segments[0].first;
    case PASSIVATION_MOST_RECENT:
        return area->segments[0].last;
    case PASSIVATION_LEAST_FREQUENT:
        return area->lowest ? area->buckets.items[area->lowest].first : 0;
    default:
        return 0;
    }
}

static uint32_t other_recent(const struct area *area, const struct ranks *ranks,
                             uint32_t kept)
{
    bool is_newest = area->settings->policy == PASSIVATION_MOST_RECENT;

    for (uint32_t i = 0; i < area->levels; i++) {
        const struct segment *segment = &area->segments[i];
        uint32_t slot = is_newest ? segment->last : segment->first;

        if (slot && slot == kept)
            slot = is_newest ? ranks->items[slot].previous : ranks->items[slot].next;
        if (slot)
            return slot;
    }
    return 0;
}

uint32_t area_select_other(const struct area *area, const struct ranks *ranks,
                           uint32_t kept)
{
    if (area->settings->policy != PASSIVATION_LEAST_FREQUENT)
        return other_recent(area, ranks, kept);
    for (uint32_t i = area->lowest; i; i = area->buckets.items[i].higher) {
        uint32_t slot = area->buckets.items[i].first;

        if (slot == kept)
            slot = ranks->items[slot].next;
        if (slot)
            return slot;
    }
    return 0;
}

void area_remove(struct area *area, struct ranks *ranks, uint32_t slot)
{
    if (area->settings->policy == PASSIVATION_LEAST_FREQUENT)
        frequency_remove(area, ranks, slot);
    else
        recency_remove(area, ranks, slot);
}
