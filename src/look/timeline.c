/* Implements timeline.h. */
#include "look/timeline.h"

void timeline_fini(struct timeline *timeline)
{
    vec_fini(&timeline->decisions);
}

void timeline_put(struct timeline *timeline, uint32_t max, uint64_t *number,
                  const struct timeline_event *decision)
{
    uint32_t most = max ? max : TIMELINE_MAX;
    struct timeline_event *place;

    if (timeline->decisions.count < most)
        vec_push(&timeline->decisions, *decision);
    place = &timeline->decisions.items[timeline->count++ % most];
    *place = *decision;
    place->number = ++*number;
}

const struct timeline_event *timeline_at(const struct timeline *timeline, uint32_t index)
{
    uint32_t kept = timeline->decisions.count;

    if (index >= kept)
        return NULL;
    return &timeline->decisions.items[(timeline->count - 1 - index) % kept];
}
