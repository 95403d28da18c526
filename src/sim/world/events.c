/* Implements a 4-ary heap in which each event knows its index. */
#include "sim/world/events.h"

#include "base/check.h"
#include "base/timers.h"

#define WAYS 4

static bool before(const struct event_entry *left,
                   const struct event_entry *right)
{
    return left->at != right->at ? left->at < right->at
                                 : left->tie < right->tie;
}

static void set(struct events *events, uint32_t index,
                const struct event_entry *entry)
{
    events->heap[index] = *entry;
    entry->event->place = index + 1;
}

static void settle_down(struct events *events, uint32_t index,
                        const struct event_entry *entry)
{
    for (;;) {
        uint32_t least = index * WAYS + 1;
        uint32_t end = least + WAYS;

        if (least >= events->count)
            break;
        end = end < events->count ? end : events->count;
        for (uint32_t i = least + 1; i < end; i++)
            if (before(&events->heap[i], &events->heap[least]))
                least = i;
        if (!before(&events->heap[least], entry))
            break;
        set(events, index, &events->heap[least]);
        index = least;
    }
    set(events, index, entry);
}

/* Finds the place of an entry, starting with a hole at index. */
static void settle(struct events *events, uint32_t index,
                   struct event_entry entry)
{
    if (!index || !before(&entry, &events->heap[(index - 1) / WAYS])) {
        settle_down(events, index, &entry);
        return;
    }
    do {
        set(events, index, &events->heap[(index - 1) / WAYS]);
        index = (index - 1) / WAYS;
    } while (index && before(&entry, &events->heap[(index - 1) / WAYS]));
    set(events, index, &entry);
}

void events_init(struct events *events, struct rng rng)
{
    *events = (struct events){ .rng = rng };
}

void events_fini(struct events *events)
{
    mem_free(events->heap);
    *events = (struct events){ 0 };
}

static void leave_list(struct event *event)
{
    struct parked *parked = event->parked;
    struct event_list *list = parked->list;

    *(parked->before ? &parked->before->next : &list->first) = parked->next;
    *(parked->next ? &parked->next->before : &list->last) = parked->before;
    mem_free(parked);
    event->place = 0;
    event->at = 0; /* it was parked when its time had come */
}

void events_put(struct events *events, struct event *event, uint64_t at)
{
    struct event_entry entry = { at, rng_next(&events->rng), event };

    if (event->place && event->place != EVENT_PARKED) {
        event->at = at;
        settle(events, event->place - 1, entry);
        return;
    }
    events_drop(events, event);
    event->at = at;
    if (events->count == events->capacity) {
        events->capacity = events->capacity ? events->capacity * 2 : 64;
        events->heap = mem_resize(events->heap,
                                  events->capacity * sizeof *events->heap);
    }
    events->count++;
    settle(events, events->count - 1, entry);
}

void events_drop(struct events *events, struct event *event)
{
    uint32_t index = event->place - 1;

    if (!event->place)
        return;
    if (event->place == EVENT_PARKED) {
        leave_list(event);
        return;
    }
    event->place = 0;
    if (index != --events->count)
        settle(events, index, events->heap[events->count]);
}

struct event *events_take(struct events *events, uint64_t until)
{
    struct event *event;

    if (!events->count || events->heap[0].at > until)
        return NULL;
    event = events->heap[0].event;
    event->fetched = 0;
    events_drop(events, event);
    return event;
}

uint64_t events_deadline(const struct events *events)
{
    return events->count ? events->heap[0].at : NEVER;
}

void events_park(struct event_list *list, struct event *event)
{
    struct parked *parked = mem_alloc(sizeof *parked);

    check(!event->place);
    event->place = EVENT_PARKED;
    event->parked = parked;
    parked->event = event;
    parked->list = list;
    list->ever++;
    parked->before = list->last;
    *(list->last ? &list->last->next : &list->first) = parked;
    list->last = parked;
}

struct event *events_unpark(struct event_list *list)
{
    struct event *event = list->first ? list->first->event : NULL;

    if (!event)
        return NULL;
    leave_list(event);
    return event;
}
