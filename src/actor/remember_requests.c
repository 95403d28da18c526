/* Requests that the node stores the start or stop of a remembered entity, and restarts an entity that
 * has ended by itself. While a start or stop is stored, messages wait in the mailbox. */
#include "actor/inside.h"

#include "base/mark.h"

static void ask(struct actors *actors, enum actors_news_kind kind,
                uint32_t index, struct slot *slot)
{
    const struct row *row = &actors->rows.items[slot->row];

    slot_news_put(actors, &(struct actors_news){
                              .kind = kind,
                              .values.shard = { .type = row->type, .number = row->shard },
                              .actor = slot_ref(actors, slot, index).actor,
                              .id = slot_id(slot) });
}

void entity_remember(struct actors *actors, uint32_t index, struct slot *slot)
{
    slot->status = SLOT_REMEMBERING;
    ask(actors, ACTORS_REMEMBER, index, slot);
}

void entity_forget_stored(struct actors *actors, uint32_t index,
                          struct slot *slot)
{
    slot->status = SLOT_FORGETTING;
    ask(actors, ACTORS_FORGET_STORED, index, slot);
}

void entity_restart(struct actors *actors, uint32_t index, struct slot *slot)
{
    slot->generation++; /* invalidates the timer it waited for */
    incarnation_start(actors, index, slot);
}

void entity_restart_later(struct actors *actors, uint32_t index,
                          struct slot *slot)
{
    uint64_t delay = actors->settings.restart_ms ? actors->settings.restart_ms
                                                 : ENTITY_RESTART_MS;
    uint32_t entry = entry_new(
        actors, delay < ACTOR_ASK_MS_MAX ? delay : ACTOR_ASK_MS_MAX);

    REACHED("a remembered entity has ended by itself");
    slot->status = SLOT_RESTARTING;
    if (entry == 0) { /* too many timers: it starts at once */
        entity_restart(actors, index, slot);
        return;
    }
    entry_at(actors, entry)->kind = ENTRY_BACKOFF;
    entry_at(actors, entry)->slot = index;
    entry_at(actors, entry)->generation = slot->generation;
}
