/* Counts the work that is allowed until the next step: messages sent to several replicas,
 * and bytes that are copied, packed or unpacked for them and for gossip. */
#include "base/limits.h"
#include "ddata/replicator_inside.h"

#define DEFLATION 16 /* cost of deflating a byte, in hashed bytes */
/* more for each value: zlib clears 268 KB for it, which takes 4 us, or 70 with new memory from the
 * system */
#define DEFLATION_BASE 512

void replicator_room_fill(struct replicator_room *room)
{
    *room = (struct replicator_room){ REPLICATOR_STEP_MESSAGES,
                                      REPLICATOR_STEP_BYTES,
                                      REPLICATOR_STEP_DIGESTED };
}

void room_spend(uint32_t *room, size_t cost)
{
    *room -= cost < *room ? (uint32_t)cost : *room;
}

static size_t cost_of(const struct entry *entry)
{
    return entry->envelope.value && dd_deflates(entry->envelope.value)
               ? (entry->size + DEFLATION_BASE) * DEFLATION
               : entry->size;
}

bool room_is_spent(struct replicator *replicator, size_t cost)
{
    if (!replicator->room->digested)
        return false;
    room_spend(&replicator->room->digested, cost);
    return true;
}

bool room_is_taken(struct replicator *replicator, const struct entry *entry)
{
    return room_is_spent(replicator, cost_of(entry));
}

bool room_is_spent_on(struct replicator *replicator, size_t size)
{
    return room_is_spent(replicator, size * DEFLATION);
}
