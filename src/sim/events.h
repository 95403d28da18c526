/* What is to come in a world: a heap of events keyed (time, tie). The tie is drawn, so that what happens at the same time
 * happens in another order in another seed.
 *
 * An event is a part of what it is about (a pipe, a machine's turn) and is in the heap, in one list of parked events, or
 * nowhere. Moving and dropping it costs the logarithm of the heap's size, or nothing when it is parked. */
#ifndef SHERD_SIM_EVENTS_H
#define SHERD_SIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* Zero is one that is nowhere. The first member of its owner, or found by its kind. */
struct event {
    uint16_t kind;  /* the owner's */
    uint16_t fetched; /* the owner's: steps of fetching its memory that were made, 0 when it is taken */
    uint32_t place; /* 0: nowhere, EVENT_PARKED, else the index in the heap + 1 */
    union {
        uint64_t at;           /* ns, of the world's time; not of one that is parked */
        struct parked *parked; /* where it stands */
    };
};

#define EVENT_PARKED UINT32_MAX

/* An event's place in a list: made when it is parked, as most never are. */
struct parked {
    struct event *event;
    struct event_list *list;
    struct parked *next;
    struct parked *before;
};

/* Events that wait for something without a time: a node that is paused, a path that is cut. Zero is an empty one. */
struct event_list {
    struct parked *first;
    struct parked *last;
    uint64_t ever; /* events that were parked here so far */
};

struct event_entry {
    uint64_t at;
    uint64_t tie;
    struct event *event;
};

struct events {
    struct event_entry *heap;
    uint32_t count;
    uint32_t capacity;
    struct rng rng; /* of the ties */
};

void events_init(struct events *events, struct rng rng);
void events_fini(struct events *events); /* the events are their owners' */
/* Sets an event's time, wherever it was before; draws a tie. */
void events_put(struct events *events, struct event *event, uint64_t at);
void events_drop(struct events *events, struct event *event); /* it is nowhere from then on */
/* Takes the earliest event that is due until then; null when none is. */
struct event *events_take(struct events *events, uint64_t until);
uint64_t events_deadline(const struct events *events); /* NEVER when there is none */
/* Those that will probably be taken next: of index 0 the very next one, up to EVENTS_NEAR - 1 one of the few after it. Null: there is none. */
#define EVENTS_NEAR 5
static inline struct event *events_near(const struct events *events,
                                        uint32_t index)
{
    return index < events->count ? events->heap[index].event : NULL;
}

/* Puts an event that is nowhere at a list's end. */
void events_park(struct event_list *list, struct event *event);
/* Takes the first one from a list; null when it is empty. */
struct event *events_unpark(struct event_list *list);

static inline bool event_waits(const struct event *event)
{
    return event->place != 0;
}

#endif
