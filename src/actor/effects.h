/* Declares how effects wait for their events, and what follows when events are lost or rejected. */
#ifndef SHERD_ACTOR_EFFECTS_H
#define SHERD_ACTOR_EFFECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "actor/message.h"
#include "base/event.h"

struct actors;
struct slot;
struct extra;

/* --- persist.c --- */
void effects_hold(struct actors *actors, struct slot *slot, struct message *message); /* given */
/* Takes the first waiting effect; there is one. */
struct message *effects_take_held(struct actors *actors, struct extra *extra);
void effects_persist(struct actors *actors, uint32_t index, struct slot *slot,
                     struct entity_event event);
/* Appends an event of the running entity to its stream, without applying it. */
void effects_append(struct actors *actors, uint32_t index, struct slot *slot,
                    const struct entity_event *event);
/* The event cannot be stored: the incarnation ends when receive returns. Its effects until then wait
 * and are dropped. */
void effects_refuse_event(struct sherd_ctx *ctx);
/* Whether it is at a limit of its events or effects. */
bool slot_is_blocked(const struct actors *actors, const struct slot *slot);

/* --- durable.c --- */
void effects_drop_held(struct actors *actors, struct slot *slot,
               enum sherd_reason reason);
void effects_store_failed(struct actors *actors, uint32_t index, struct slot *slot,
                  enum sherd_reason reason);


#endif
