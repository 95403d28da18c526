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
/* Takes a waiting effect, which its list has lost, off the counts. */
void effects_uncount(struct actors *actors, struct extra *extra, const struct message *message);
void effects_persist(struct actors *actors, uint32_t index, struct slot *slot,
                     struct entity_event event);
/* Appends an event of the running entity to its stream, without applying it. */
void effects_append(struct actors *actors, uint32_t index, struct slot *slot,
                    const struct entity_event *event);
/* The event cannot be stored: no event of this call is stored, and the incarnation ends when receive
 * returns. Its effects until then wait and are dropped. why: for the log and for askers; copied. */
void effects_refuse_event(struct sherd_ctx *ctx, const char *why);
/* The same for an actor that cannot store anything. */
void effects_refuse_plain(struct sherd_ctx *ctx);
/* Takes back the events of the call that had one refused. Returns whether events of earlier calls are
 * on their way. */
bool effects_take_back(struct actors *actors, uint32_t index, struct slot *slot);
/* Whether it is at a limit of its events or effects. */
bool slot_is_blocked(const struct actors *actors, const struct slot *slot);

/* --- durable.c --- */
/* why: the body of the notices to askers; "": none. The next one's, too. */
void effects_drop_held(struct actors *actors, struct slot *slot, enum sherd_reason reason,
                       const char *why);
void effects_store_failed(struct actors *actors, uint32_t index, struct slot *slot,
                          enum sherd_reason reason, const char *why);
/* Ends the incarnation whose last call had an event refused: at once, or when the events of earlier
 * calls are durable. */
void effects_refused(struct actors *actors, uint32_t index, struct slot *slot);


#endif
