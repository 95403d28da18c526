/* Declares the types of entities, and interns the behaviors of actors. */
#include "actor/inside.h"

#include "base/daemon_id.h"

#define IDLE_TICKS_MOST 1024u

static bool same(const struct sherd_behavior *left,
                 const struct sherd_behavior *right)
{
    return left->receive == right->receive && left->apply == right->apply &&
           left->release == right->release && left->name == right->name &&
           left->state_size == right->state_size &&
           left->wants_undelivered == right->wants_undelivered &&
           left->apply_checked == right->apply_checked &&
           left->save == right->save && left->load == right->load &&
           left->save_version == right->save_version &&
           left->save_every == right->save_every && left->save_now == right->save_now;
}

uint16_t behavior_intern(struct actors *actors, const struct sherd_behavior *face,
                      uint16_t type)
{
    struct behavior behavior = { .face = *face,
                                 .mailbox_max = ACTOR_MAILBOX_MAX,
                                 .type = type };
    uint32_t count = actors->behaviors.count;

    check(face->receive || type != TYPE_NONE); /* entities of a proxy live elsewhere */
    if (type == TYPE_NONE) {
        uint16_t last = actors->behavior_last;

        if (last < count && actors->behaviors.items[last].type == TYPE_NONE &&
            same(&actors->behaviors.items[last].face, face))
            return last;
        for (uint32_t i = 0; i < count; i++)
            if (actors->behaviors.items[i].type == TYPE_NONE &&
                same(&actors->behaviors.items[i].face, face)) {
                actors->behavior_last = (uint16_t)i;
                return (uint16_t)i;
            }
    }
    if (count >= ACTOR_BEHAVIORS_MAX)
        return TYPE_NONE;
    vec_push(&actors->behaviors, behavior);
    return (uint16_t)count;
}

/* Makes all types up to this index. */
static struct type *type_at(struct actors *actors, uint16_t index)
{
    check(index < ACTOR_TYPES_MAX);
    if (index >= actors->type_count) {
        uint32_t more = index + 1u - actors->type_count;

        actors->types = mem_resize(actors->types,
                                   (index + 1u) * sizeof *actors->types);
        memset(actors->types + actors->type_count, 0,
               more * sizeof *actors->types);
        actors->type_count = (uint16_t)(index + 1);
    }
    return &actors->types[index];
}

/* The ticks of idle time are an eighth of it, or shorter if looks are more frequent. */
static void make_ticks(struct actors *actors, struct behavior *behavior, uint64_t idle_ms)
{
    uint64_t interval = behavior->idle_interval;
    uint64_t ticks = interval ? idle_ms * MS / interval : 0;

    ticks = ticks < 8 ? 8 : ticks > IDLE_TICKS_MOST ? IDLE_TICKS_MOST : ticks;
    behavior->idle_ticks = (uint16_t)ticks;
    behavior->tick_ns = idle_ms * MS / ticks;
    if (behavior->tick_ns < MS)
        behavior->tick_ns = MS;
    if (actors->tick_ns == 0 || behavior->tick_ns < actors->tick_ns)
        actors->tick_ns = behavior->tick_ns;
    behavior->tick = (uint16_t)(actors->now / behavior->tick_ns);
    behavior->looked = behavior->tick;
}

void actors_add_type(struct actors *actors, uint16_t index,
                     const struct sherd_entity_type *type)
{
    struct type *known = type_at(actors, index);
    struct behavior *behavior;
    size_t size = strlen(type->name);

    check(!known->known && size > 0 && size <= SHERD_TYPE_MAX);
    known->known = true;
    memcpy(known->name, type->name, size + 1);
    known->stop_msg = type->stop_msg;
    known->remembers = type->remember > 0;
    known->upcasts = type->upcasts;
    known->upcast_count = type->upcast_count;
    known->keep_snapshots = type->keep_snapshots ? type->keep_snapshots : SNAPSHOTS_KEPT;
    known->deletes_events = type->delete_events > 0;
    known->keep_events = type->keep_events;
    known->is_daemon = daemon_type_is(type->name);
    known->shards = type->shards ? type->shards : ENTITY_SHARDS;
    known->rule.shards = known->shards;
    known->behavior = behavior_intern(actors, &type->behavior, index);
    check(known->behavior != TYPE_NONE);
    behavior = &actors->behaviors.items[known->behavior];
    behavior->mailbox_max =
        type->mailbox_max ? type->mailbox_max : ENTITY_MAILBOX_MAX;
    behavior->idle_interval = type->passivation && type->passivation->idle_interval_ms
                                  ? type->passivation->idle_interval_ms * MS
                                  : actors->settings.idle_interval;
    if (type->idle_ms < UINT64_MAX / MS)
        make_ticks(actors, behavior, type->idle_ms ? type->idle_ms : ENTITY_IDLE_MS);
}

void actors_set_rule(struct actors *actors, uint16_t type, const struct shard_rule *rule)
{
    check(type_at(actors, type)->shards == rule->shards);
    type_at(actors, type)->rule = *rule;
}

uint16_t actors_type(const struct actors *actors, struct slice name)
{
    for (uint16_t i = 0; i < actors->type_count; i++)
        if (actors->types[i].known && slice_is(name, actors->types[i].name))
            return i;
    return TYPE_NONE;
}

void actors_type_figures(const struct actors *actors, uint16_t type, struct type_figures *figures)
{
    if (type >= actors->type_count)
        return;
    *figures = actors->types[type].figures;
}

uint32_t actors_type_entities(const struct actors *actors, uint16_t type)
{
    return type < actors->type_count ? actors->types[type].running : 0;
}
