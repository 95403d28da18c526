/* Declares how an entity takes one event.
 *
 * A program rejects an event by the result of a second function, apply_checked: a C compiler then sees
 * that each path returns an answer, and programs with `void apply` stay as they are. A call such as
 * sherd_reject(text) inside apply would need a context there, and code after it would go on with a
 * state that is wrong. */
#ifndef SHERD_ACTOR_APPLY_H
#define SHERD_ACTOR_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/event.h"
#include "base/limits.h"

struct actors;
struct slot;
struct sherd_behavior;
struct sherd_upcast;

/* The code and state of one entity. All of it is lent. */
struct event_code {
    const struct sherd_behavior *face;
    void *self;
    const struct sherd_upcast *upcasts;
    uint32_t upcast_count;
    uint64_t applied; /* out: calls of apply */
};

/* As event_apply, without actors. */
bool event_take(struct event_code *code, uint64_t seq, const struct entity_event *event, char *why);

/* Upcasts the event of a persistent entity, and applies all that comes of it. False: the entity
 * rejects it, and its state may be half changed; `why` (EVENT_FAULT_MAX bytes) says which event and
 * why. */
bool event_apply(struct actors *actors, const struct slot *slot, uint64_t seq,
                 const struct entity_event *event, char *why);
/* Writes why an event is rejected, with which one it is (EVENT_FAULT_MAX bytes). */
void event_fault(char *why, uint64_t seq, const struct entity_event *event, const char *fault);

#endif
