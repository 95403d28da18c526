/* Limits the active entities of shards: counts uses and passivates what is too much.
 *
 * An entity has a rank from its start until it begins to stop. A message to an entity that stops
 * counts when the next incarnation starts. */
#include "actor/inside.h"

#include "actor/passivation/strategy.h"
#include "base/mark.h"

static bool has_limit(const struct type *type)
{
    return type->passivation &&
           (type->limit.entities != UINT32_MAX || type->limit.bytes != UINT64_MAX);
}

/* Returns what the entity counts for, without its mailbox. */
static uint64_t bytes_of(const struct actors *actors, const struct slot *slot)
{
    const struct extra *extra = extra_of(actors, slot);

    return behavior_of(actors, slot)->face.state_size +
           (extra ? (uint64_t)extra->own_kib * 1024 : 0);
}

/* Returns the limit of a shard's entities. A limit of bytes is one, too: each entity has a state. */
static uint32_t entities_max(const struct actors *actors, const struct type *type)
{
    uint64_t size = actors->behaviors.items[type->behavior].face.state_size;
    uint64_t most = size ? type->limit.bytes / size : UINT64_MAX;

    most = most ? most : 1;
    return most < type->limit.entities ? (uint32_t)most : type->limit.entities;
}

static uint32_t hash_of(const void *user, uint32_t index)
{
    const struct actors *actors = user;

    return (uint32_t)hash_java(slot_id(slot_at(actors, index)));
}

/* Reports an entity that counts no more, before its last message. */
static void probe_leaving(struct actors *actors, uint32_t index, const struct slot *slot)
{
    const struct row *row = &actors->rows.items[slot->row];
    struct probe probe = { .kind = PROBE_ENTITY_LEAVING };

    if (!actors->settings.probes)
        return;
    probe.type = row->type;
    probe.shard = row->shard;
    probe.first = slot_ref(actors, slot, index).actor;
    probe.bytes = slot_id(slot);
    probes_put(actors->settings.probes, &probe);
}

/* Reports the limit of a shard; UINT32_MAX is none. */
static void probe_limit(struct actors *actors, const struct row *row, uint32_t limit)
{
    struct probe probe = { .kind = PROBE_ACTIVE_LIMIT };

    if (!actors->settings.probes)
        return;
    probe.type = row->type;
    probe.shard = row->shard;
    probe.first = limit;
    for (uint32_t i = 1; i < actors->rows.count; i++)
        probe.second += actors->rows.items[i].state != ROW_FREE &&
                        actors->rows.items[i].type == row->type;
    probes_put(actors->settings.probes, &probe);
}

void active_end(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct row *row = &actors->rows.items[slot->row];

    strategy_remove(row->strategy, index);
    slot->is_ranked = 0;
    probe_leaving(actors, index, slot);
    if (actors->counts_bytes)
        active_uncount(row, bytes_of(actors, slot));
}

/* Passivates an entity that the strategy has taken off its books. */
static void passivate(struct actors *actors, uint32_t index)
{
    struct slot *slot = slot_at(actors, index);

    slot->is_ranked = 0;
    if (actors->counts_bytes)
        active_uncount(&actors->rows.items[slot->row], bytes_of(actors, slot));
    check(!slot_is_leaving(slot));
    SOMETIMES("a limit passivates an entity that recovers", slot->status == SLOT_RECOVERING);
    SOMETIMES("a limit passivates an entity with messages", slot->last != NULL);
    actors->counts.surplus++;
    slot->leaving = LEAVES_SURPLUS;
    probe_leaving(actors, index, slot);
    mailbox_mark(actors, index, slot);
}

static void passivate_all(struct actors *actors, uint32_t count)
{
    check(count == actors->ranks->passivated.count);
    for (uint32_t i = 0; i < count; i++)
        passivate(actors, actors->ranks->passivated.items[i]);
}

/* Passivates until the shard's bytes are within the limit, but not `kept`. */
static void keep_bytes(struct actors *actors, const struct row *row, uint32_t kept)
{
    uint64_t limit = actors->types[row->type].limit.bytes;
    uint32_t index;

    while (row->bytes > limit && (index = strategy_evict(row->strategy, kept)) != 0)
        passivate(actors, index);
}

void active_use(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct row *row = &actors->rows.items[slot->row];

    if (!slot_has_incarnation(slot) || slot_is_leaving(slot))
        return;
    if (actors->counts_bytes && !slot->is_ranked)
        row->bytes += bytes_of(actors, slot);
    slot->is_ranked = 1; /* before the victims: it may be one */
    passivate_all(actors, strategy_use(row->strategy, index));
    if (actors->counts_bytes)
        keep_bytes(actors, row, index);
}

void active_report(struct actors *actors, struct slot *slot, uint64_t bytes)
{
    struct row *row = &actors->rows.items[slot->row];
    uint64_t before = bytes_of(actors, slot);

    if (bytes == 0 && !slot->extra)
        return;
    bytes = bytes / 1024 + (bytes % 1024 > 0);
    slot_extra(actors, slot)->own_kib = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    if (!slot->is_ranked || !actors->counts_bytes)
        return;
    active_uncount(row, before);
    row->bytes += bytes_of(actors, slot);
    keep_bytes(actors, row, (uint32_t)actors->ctx.index);
}

static void begin(struct actors *actors, struct row *row)
{
    const struct type *type = &actors->types[row->type];

    if (!actors->ranks) {
        actors->ranks = mem_alloc(sizeof *actors->ranks);
        actors->ranks->hash = hash_of;
        actors->ranks->user = actors;
    }
    row->bytes = 0;
    row->strategy =
        strategy_new(type->passivation, actors->ranks, entities_max(actors, type));
}

void active_begin(struct actors *actors, struct row *row)
{
    if (!has_limit(&actors->types[row->type]))
        return;
    begin(actors, row);
    probe_limit(actors, row, actors->types[row->type].limit.entities);
}

void active_stop(struct actors *actors, struct row *row)
{
    if (!row->strategy)
        return;
    for (uint32_t i = 0; i < row->slots.count; i++)
        slot_at(actors, row->slots.items[i])->is_ranked = 0;
    strategy_free(row->strategy);
    row->strategy = NULL;
    probe_limit(actors, row, UINT32_MAX);
}

void active_fini(struct actors *actors)
{
    for (uint32_t i = 0; i < actors->rows.count; i++)
        strategy_free(actors->rows.items[i].strategy);
    if (actors->ranks)
        ranks_fini(actors->ranks);
    mem_free(actors->ranks);
}

void actors_set_passivation(struct actors *actors, uint16_t type,
                            const struct passivation_settings *settings)
{
    struct type *known = &actors->types[type];

    check(type < actors->type_count && known->known);
    check(!known->rows);
    known->limit = (struct active_limit){ UINT32_MAX, UINT64_MAX };
    if (!known->remembers && !known->is_daemon)
        known->passivation = settings;
}

/* Ranks the entities that started before there was a limit. */
static void begin_late(struct actors *actors, uint32_t at)
{
    begin(actors, &actors->rows.items[at]);
    for (uint32_t i = 0; i < actors->rows.items[at].slots.count; i++) {
        uint32_t index = actors->rows.items[at].slots.items[i];
        struct slot *slot = slot_at(actors, index);

        if (slot_has_incarnation(slot) && slot_is_leaving(slot))
            probe_leaving(actors, index, slot);
        active_use(actors, index, slot);
    }
    probe_limit(actors, &actors->rows.items[at],
                actors->types[actors->rows.items[at].type].limit.entities);
}

void active_limit_row(struct actors *actors, uint32_t at)
{
    struct row *row = &actors->rows.items[at];
    const struct type *type = &actors->types[row->type];

    if (!has_limit(type)) {
        active_stop(actors, row);
    } else if (!row->strategy) {
        begin_late(actors, at);
    } else {
        passivate_all(actors, strategy_set_limit(row->strategy, entities_max(actors, type)));
        if (actors->counts_bytes)
            keep_bytes(actors, row, 0);
        probe_limit(actors, row, type->limit.entities);
    }
}
