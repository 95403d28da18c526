/* Stores the entities' events in several versions, as programs of several releases do. */
#include "sim/workload/workload_inside.h"

/* Version 0 becomes two events, version 1 one of version 2. */
static const char *to(uint32_t type, uint32_t version, struct sherd_bytes event,
                      struct sherd_events *newer)
{
    const uint8_t *bytes = event.data;

    if (type != EVENT_TYPE || event.size != EVENT_SIZE)
        return "the simulator has stored no such event";
    if (version == 1) {
        sherd_events_add(newer, EVENT_TYPE, EVENT_VERSION, event);
        return NULL;
    }
    sherd_events_add(newer, EVENT_HALF, 0, (struct sherd_bytes){ bytes, EVENT_SIZE / 2 });
    sherd_events_add(newer, EVENT_REST, 0,
                     (struct sherd_bytes){ bytes + EVENT_SIZE / 2, EVENT_SIZE / 2 });
    return NULL;
}

const struct sherd_upcast workload_upcast = { EVENT_TYPE, EVENT_VERSION, to };

void workload_persist(struct workload *workload, struct sherd_ctx *ctx, struct slice event)
{
    uint32_t version = workload->settings.event_versions
                           ? (uint32_t)rng_below(&workload->rng, EVENT_VERSION + 1)
                           : 0;

    sherd_persist_version(ctx, EVENT_TYPE, version,
                          (struct sherd_bytes){ event.data, event.size });
}

bool workload_rejects(struct workload *workload)
{
    return workload && workload->settings.event_rejections && !workload->is_stopped &&
           !rng_below(&workload->rng, workload->settings.event_rejections);
}
