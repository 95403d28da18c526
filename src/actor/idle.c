/* Passivates idle entities. */
#include "actor/deliver.h"

#include "base/mark.h"

#define SCAN_SLOTS 4096u /* slots scanned in one step: 256 KiB */

void entity_ticks(struct actors *actors)
{
    if (actors->tick_ns == 0 || actors->now < actors->tick_at)
        return;
    actors->tick_at = actors->now + actors->tick_ns;
    for (uint32_t i = 0; i < actors->behaviors.count; i++) {
        struct behavior *behavior = &actors->behaviors.items[i];

        if (!behavior->tick_ns)
            continue;
        behavior->tick = (uint16_t)(actors->now / behavior->tick_ns);
        if (actors->now < behavior->look_at)
            continue;
        behavior->looked = behavior->tick;
        behavior->look_at = actors->now + behavior->idle_interval;
    }
}

/* Whether it was idle for too long at the last look, and has nothing to read, no open ask,
 * job or delivery, and no effect that waits. */
static bool is_idle(const struct actors *actors, const struct slot *slot)
{
    const struct behavior *behavior = behavior_of(actors, slot);

    return slot->status == SLOT_ALIVE && (slot->flags & FLAG_ENTITY) &&
           !(slot->flags & (FLAG_MARKED | FLAG_UNDURABLE | FLAG_STARTED_DUE)) &&
           !slot->last && slot->asks == 0 && behavior->tick_ns &&
           !delivery_is_busy(actors, slot) &&
           (int16_t)(uint16_t)(behavior->looked - slot->touched) > behavior->idle_ticks;
}

void entity_scan(struct actors *actors)
{
    uint32_t parts = actors->slot_used / SCAN_SLOTS + 1;
    uint32_t end;

    if (actors->tick_ns == 0 || actors->now < actors->scan_time)
        return;
    actors->scan_time = actors->now + actors->tick_ns / parts;
    if (actors->scan_next >= actors->slot_used)
        actors->scan_next = 1;
    end = actors->scan_next + SCAN_SLOTS;
    if (end > actors->slot_used)
        end = actors->slot_used;
    for (; actors->scan_next < end; actors->scan_next++) {
        struct slot *slot = slot_at(actors, actors->scan_next);

        SOMETIMES("an idle entity is passivated", is_idle(actors, slot));
        if (!is_idle(actors, slot))
            continue;
        slot->leaving = LEAVES_IDLE;
        mailbox_mark(actors, actors->scan_next, slot);
    }
}

uint64_t entity_scan_deadline(const struct actors *actors)
{
    return actors->tick_ns && actors->counts.entities ? actors->scan_time
                                                      : NEVER;
}

void entity_passivate(struct actors *actors, uint32_t index, struct slot *slot)
{
    if (slot->status != SLOT_ALIVE)
        return;
    slot->leaving = LEAVES_FOR_GOOD;
    if (!(slot->flags & FLAG_MARKED))
        mailbox_mark(actors, index, slot);
}
