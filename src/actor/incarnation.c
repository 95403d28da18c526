/* Starts incarnations, and frees their states. */
#include "actor/deliver.h"

/* Reports an incarnation before its first callback and after its last. */
static void probe_entity(struct actors *actors, enum probe_kind kind,
                         uint32_t index, const struct slot *slot)
{
    const struct row *row = &actors->rows.items[slot->row];
    struct probe probe = { .kind = kind };

    probe.type = row->type;
    probe.shard = row->shard;
    probe.first = slot_ref(actors, slot, index).actor;
    probe.bytes = slot_id(slot);
    probes_put(actors->settings.probes, &probe);
}

static void recover(struct actors *actors, uint32_t index, struct slot *slot)
{
    const struct row *row = &actors->rows.items[slot->row];
    struct extra *extra = slot_extra(actors, slot);

    extra->seq = 0;
    extra->tried_seq = 0;
    extra->saved_seq = 0;
    extra->recover_at = actors->now;
    extra->replayed = 0;
    slot_news_put(actors, &(struct actors_news){
                              .kind = ACTORS_REQUEST_REPLAY,
                              .values.shard = { row->type, row->shard,
                                                behavior_of(actors, slot)->face.load != NULL },
                              .actor = slot_ref(actors, slot, index).actor,
                              .id = slot_id(slot) });
}

void incarnation_start(struct actors *actors, uint32_t index, struct slot *slot)
{
    const struct behavior *behavior = behavior_of(actors, slot);

    check(!slot->state);
    if (slot->generation == 0xffffff)
        slot->generation = 1;
    slot->state = slot_state_new(actors, behavior->face.state_size);
    slot->flags |= FLAG_STARTED_DUE;
    slot->leaving = LEAVES_BY_ITSELF;
    slot->touched = behavior->tick;
    slot->asks = 0;
    if (slot->extra)
        extra_of(actors, slot)->own_kib = 0;
    if (slot->flags & FLAG_ENTITY) {
        actors->types[behavior->type].running++;
        actors->types[behavior->type].figures.starts++;
    }
    if (actors->settings.probes && (slot->flags & FLAG_ENTITY))
        probe_entity(actors, PROBE_ENTITY_STARTED, index, slot);
    if (slot->flags & FLAG_PERSISTENT) {
        slot->status = SLOT_RECOVERING;
        recover(actors, index, slot);
        return;
    }
    slot->status = SLOT_ALIVE;
    if (slot->flags & FLAG_ENTITY &&
        trace_on(actors->settings.trace, TRACE_DEBUG))
        slot_trace(actors, slot, TRACE_DEBUG, "entity started");
    slot_queue(actors, index, slot);
}

void slot_start_now(struct actors *actors, struct message *started)
{
    struct slot *slot = slot_of(actors, started->to.actor);

    if (slot_is_spawned_later(slot) && started->body_size) {
        slot_news_put(actors,
                      &(struct actors_news){ .kind = ACTORS_NAME,
                                             .actor = started->to.actor,
                                             .name = message_body(started) });
    } else if (slot_is_spawned_later(slot)) {
        slot->status = SLOT_ALIVE;
        slot_queue(actors, actor_id_slot(started->to.actor), slot);
    }
    message_free(actors, started);
}

void incarnation_release(struct actors *actors, uint32_t index,
                         struct slot *slot)
{
    const struct sherd_behavior *face = &behavior_of(actors, slot)->face;

    delivery_drop(actors, slot);
    if (face->release)
        face->release(slot->state ? slot->state : actors->nothing);
    slot_state_free(actors, slot->state, face->state_size);
    slot->state = NULL;
    if (actors->settings.probes && (slot->flags & FLAG_ENTITY))
        probe_entity(actors, PROBE_ENTITY_STOPPED, index, slot);
}
