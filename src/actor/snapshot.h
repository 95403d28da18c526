/* Declares when an entity's snapshot is due, and how it is taken and loaded. */
#ifndef SHERD_ACTOR_SNAPSHOT_H
#define SHERD_ACTOR_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/event.h"

struct actors;
struct sherd_behavior;
struct slot;

/* Whether a snapshot of an entity whose behavior has `save` is due after its last event. event: that
 * one, applied, or null after a recovery. */
bool snapshot_is_due(const struct actors *actors, const struct slot *slot,
                     const struct entity_event *event);
/* Writes the state into `image`, which the caller frees. Null, or why it cannot. */
const char *snapshot_image(const struct sherd_behavior *face, const void *self, size_t size_max,
                           struct buf *image);
/* Takes the state of an entity after a message, unless it is not good, and passes it to the journal. */
void snapshot_take(struct actors *actors, uint32_t index, struct slot *slot, bool is_good);
/* Null, or why it is refused: the state is zeroed again then. */
const char *snapshot_load(struct actors *actors, struct slot *slot, uint64_t seq,
                          uint32_t version, struct slice part, struct slice image);

#endif
