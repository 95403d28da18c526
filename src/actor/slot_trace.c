/* Writes log lines about an actor, with its type, shard and id. */
#include "actor/inside.h"

const char *slot_type(const struct actors *actors, const struct slot *slot)
{
    const struct behavior *behavior = behavior_of(actors, slot);

    if (behavior->type != TYPE_NONE)
        return actors->types[behavior->type].name;
    return behavior->face.name ? behavior->face.name : "";
}

void slot_trace(const struct actors *actors, const struct slot *slot,
                enum trace_level level, const char *text)
{
    struct trace *trace = actors->settings.trace;
    struct slice id = slot_id(slot);

    if (slot->flags & FLAG_ENTITY)
        trace_put(trace, level, "actor", "%s type=%s shard=%d id=%.*s", text,
                  slot_type(actors, slot),
                  actors->rows.items[slot->row].shard, (int)id.size,
                  (const char *)id.data);
    else
        trace_put(trace, level, "actor", "%s actor=%s", text,
                  slot_type(actors, slot));
}

void slot_trace_why(const struct actors *actors, const struct slot *slot,
                    const char *text, const char *why)
{
    struct slice id = slot_id(slot);

    if (slot->flags & FLAG_ENTITY)
        trace_put(actors->settings.trace, TRACE_WARNING, "actor",
                  "%s type=%s shard=%d why=\"%s\" id=%.*s", text,
                  slot_type(actors, slot), actors->rows.items[slot->row].shard,
                  why, (int)id.size, (const char *)id.data);
    else
        trace_put(actors->settings.trace, TRACE_WARNING, "actor",
                  "%s actor=%s why=\"%s\"", text, slot_type(actors, slot),
                  why);
}
