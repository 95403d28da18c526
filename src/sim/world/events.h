/* Keeps the future events of a world in a heap with the key (time, tie). The tie is drawn, so
 * simultaneous events have another order in another seed.
 *
 * An event is part of its owner. It is in the heap, in one list of parked events, or nowhere.
 * Dropping a parked event costs nothing. */
#ifndef SHERD_SIM_WORLD_EVENTS_H
#define SHERD_SIM_WORLD_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"

/* The first member of its owner, or found by its kind. Zero is an event that is nowhere. */
struct event {
    uint16_t kind;  /* the owner's */
    uint16_t fetched; /* the owner's: steps of fetching its memory */
    uint32_t place; /* 0: nowhere, EVENT_PARKED, else the index in the heap + 1 */
    union {
        uint64_t at;           /* ns; not while it is parked */
        struct parked *parked;
    };
};

#define EVENT_PARKED UINT32_MAX

/* Created when an event is parked, because most never are. */
struct parked {
    struct event *event;
    struct event_list *list;
    struct parked *next;
    struct parked *before;
};

/* Events that wait for something without a time: a paused node, a cut path. Zero is an empty
 * list. */
struct event_list {
    struct parked *first;
    struct parked *last;
    uint64_t ever; /* events parked here so far */
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
void events_fini(struct events *events); /* the owners keep the events */
/* Sets an event's time, wherever it is, and draws a tie. */
void events_put(struct events *events, struct event *event, uint64_t at);
void events_drop(struct events *events, struct event *event);
/* Takes the earliest event due until then; null if none is. */
struct event *events_take(struct events *events, uint64_t until);
uint64_t events_deadline(const struct events *events); /* or NEVER */
/* Returns an event that will probably be taken soon; index 0 is the next. Null: there is none. */
#define EVENTS_NEAR 5
static inline struct event *events_near(const struct events *events,
                                        uint32_t index)
{
    return index < events->count ? events->heap[index].event : NULL;
}

/* The event must be nowhere. */
void events_park(struct event_list *list, struct event *event);
/* Takes the first event; null if there is none. */
struct event *events_unpark(struct event_list *list);

static inline bool event_waits(const struct event *event)
{
    return event->place != 0;
}

#endif
