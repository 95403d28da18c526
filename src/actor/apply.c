/* Turns stored events of older formats into newer ones, and passes events to apply. */
#include "actor/apply.h"

#include <stdio.h>

#include "actor/inside.h"
#include "base/mark.h"

/* An event that an upcaster made. */
struct newer {
    struct newer *next;
    struct entity_event event; /* its payload is data */
    uint32_t steps;            /* upcasts from the stored event to it */
    uint8_t data[];
};

/* All that becomes of one stored event. */
struct sherd_events {
    struct newer *waiting;       /* in order */
    struct newer *first, **last; /* of the upcast that runs */
    uint32_t steps;              /* of that upcast's events */
    uint32_t count;
    uint64_t bytes;
    const char *fault;
};

SHERD_API void sherd_events_add(struct sherd_events *newer, uint32_t type, uint32_t version,
                                struct sherd_bytes event)
{
    struct newer *made;

    if (newer->count >= UPCAST_EVENTS_MAX ||
        event.size > UPCAST_BYTES_MAX - newer->bytes) {
        REACHED("an upcaster makes too many events");
        newer->fault = "the upcaster made more than 1,000 events, or 1 MiB of events";
        return;
    }
    newer->count++;
    newer->bytes += event.size;
    made = mem_alloc(sizeof *made + event.size);
    bytes_copy(made->data, event.data, event.size);
    made->next = NULL;
    made->event = (struct entity_event){ type, version, slice_of(made->data, event.size) };
    made->steps = newer->steps;
    *newer->last = made;
    newer->last = &made->next;
}

static void free_list(struct newer *newer)
{
    while (newer) {
        struct newer *next = newer->next;

        mem_free(newer);
        newer = next;
    }
}

static const struct sherd_upcast *upcast_of(const struct event_code *code, uint32_t event_type)
{
    for (uint32_t i = 0; i < code->upcast_count; i++)
        if (code->upcasts[i].type == event_type)
            return &code->upcasts[i];
    return NULL;
}

static struct sherd_bytes bytes_of(const struct entity_event *event)
{
    return (struct sherd_bytes){ event->payload.data, event->payload.size };
}

/* Returns null, or why the entity rejects the event. */
static const char *apply(struct event_code *code, const struct entity_event *event)
{
    code->applied++;
    if (code->face->apply_checked)
        return code->face->apply_checked(code->self, event->type, bytes_of(event));
    code->face->apply(code->self, event->type, bytes_of(event));
    return NULL;
}

/* Puts the events in place of `event`, which is of an older version. */
static const char *upcast(const struct sherd_upcast *by, const struct entity_event *event,
                          uint32_t steps, struct sherd_events *events)
{
    const char *fault;

    if (!by->to)
        return "its version is older than this program's, and its type has no function `to`";
    if (steps >= UPCAST_STEPS_MAX)
        return "it takes more than 16 upcasts";
    events->first = NULL;
    events->last = &events->first;
    events->steps = steps + 1;
    fault = by->to(event->type, event->version, bytes_of(event), events);
    *events->last = events->waiting;
    events->waiting = events->first;
    return fault ? fault : events->fault;
}

/* Applies an event of the present version, and upcasts one of an older version. */
static const char *take(struct event_code *code, const struct entity_event *event, uint32_t steps,
                        struct sherd_events *events)
{
    const struct sherd_upcast *by = upcast_of(code, event->type);
    uint32_t present = by ? by->version : 0;

    SOMETIMES("an event has a version", event->version > 0);
    if (event->version == present)
        return apply(code, event);
    if (event->version > present)
        return "a newer program wrote it: this one does not know the version";
    return upcast(by, event, steps, events);
}

static const char *take_all(struct event_code *code, const struct entity_event *event)
{
    struct sherd_events events = { 0 };
    const char *fault = event->type >= SHERD_NUMBERS_END /* the library's */
                            ? NULL
                            : take(code, event, 0, &events);

    while (!fault && events.waiting) {
        struct newer *next = events.waiting;

        events.waiting = next->next;
        fault = take(code, &next->event, next->steps, &events);
        mem_free(next);
    }
    free_list(events.waiting);
    return fault;
}

void event_fault(char *why, uint64_t seq, const struct entity_event *event, const char *fault)
{
    (void)snprintf(why, EVENT_FAULT_MAX, "event %llu (type %u, version %u, %zu bytes) rejected: %s",
                   (unsigned long long)seq, event->type, event->version,
                   event->payload.size, fault); /* may be cut */
}

bool event_take(struct event_code *code, uint64_t seq, const struct entity_event *event, char *why)
{
    const char *fault = take_all(code, event);

    if (!fault)
        return true;
    event_fault(why, seq, event, fault);
    return false;
}

bool event_apply(struct actors *actors, const struct slot *slot, uint64_t seq,
                 const struct entity_event *event, char *why)
{
    const struct behavior *behavior = behavior_of(actors, slot);
    const struct type *type = &actors->types[behavior->type];
    struct event_code code = { .face = &behavior->face,
                               .self = slot->state ? slot->state : actors->nothing,
                               .upcasts = type->upcasts,
                               .upcast_count = type->upcast_count };

    return event_take(&code, seq, event, why);
}
