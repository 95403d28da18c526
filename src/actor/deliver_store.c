/* Keeps the deliveries of entities: replays the library's events, and packs them for snapshots. */
#include "actor/deliver.h"
#include "actor/delivery/handling.h"

struct delivery *delivery_of(struct actors *actors, struct slot *slot)
{
    struct extra *extra = slot_extra(actors, slot);

    if (!extra->delivery)
        extra->delivery = mem_alloc(sizeof *extra->delivery);
    return extra->delivery;
}

uint64_t delivery_wall(const struct actors *actors)
{
    return actors->wall_ms > 0 ? (uint64_t)actors->wall_ms : 0;
}

uint64_t delivery_forgets(const struct actors *actors)
{
    uint64_t wall = delivery_wall(actors);
    uint64_t after = actors->settings.delivery.forget_ms;

    return wall > after ? wall - after : 0;
}

const char *delivery_replay(struct actors *actors, struct slot *slot,
                            const struct entity_event *event)
{
    if (event->version)
        return "a newer library wrote it: this one does not know the version";
    return delivery_apply(delivery_of(actors, slot), event->type, event->payload,
                          actors->settings.delivery.commands_max);
}

void delivery_save(struct actors *actors, const struct slot *slot, struct buf *part)
{
    const struct extra *extra = extra_of(actors, slot);

    if (extra && extra->delivery)
        delivery_image_write(extra->delivery, part, delivery_forgets(actors));
}

bool delivery_load(struct actors *actors, struct slot *slot, struct slice part)
{
    return !part.size || delivery_image_read(delivery_of(actors, slot), part,
                                             actors->settings.delivery.commands_max);
}

void delivery_drop(struct actors *actors, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);

    if (!extra || !extra->delivery)
        return;
    if (extra->delivery->timer)
        entry_free(actors, extra->delivery->timer);
    actors->counts.deliveries_open -= extra->delivery->counted;
    delivery_free(extra->delivery);
    extra->delivery = NULL;
}

bool delivery_is_open(const struct actors *actors, const struct slot *slot)
{
    const struct extra *extra = extra_of(actors, slot);

    return extra && extra->delivery && extra->delivery->outgoing.list.count;
}

bool delivery_is_busy(const struct actors *actors, const struct slot *slot)
{
    const struct extra *extra = extra_of(actors, slot);

    return extra && extra->delivery &&
           (extra->delivery->outgoing.list.count || extra->delivery->incoming.taken);
}

void delivery_passivate(struct actors *actors, struct slot *slot)
{
    extra_of(actors, slot)->delivery->passivates = true;
}

void delivery_due(struct actors *actors, struct slot *slot)
{
    extra_of(actors, slot)->delivery->timer = 0;
}

void delivery_count(struct actors *actors, struct delivery *delivery)
{
    actors->counts.deliveries_open += delivery->outgoing.list.count;
    actors->counts.deliveries_open -= delivery->counted;
    delivery->counted = delivery->outgoing.list.count;
}

void delivery_init(struct actors *actors)
{
    actors->handling = mem_alloc(sizeof *actors->handling);
}

void delivery_fini(struct actors *actors)
{
    buf_fini(&actors->handling->body);
    buf_fini(&actors->handling->command);
    buf_fini(&actors->handling->reply);
    buf_fini(&actors->handling->scratch);
    buf_fini(&actors->handling->name);
    mem_free(actors->handling);
}
