/* Writes log lines about an actor, with its type, shard and id. */
#include <stdio.h>

#include "actor/inside.h"

const char *slot_type(const struct actors *actors, const struct slot *slot)
{
    const struct behavior *behavior = behavior_of(actors, slot);

    if (behavior->type != TYPE_NONE)
        return actors->types[behavior->type].name;
    return behavior->face.name ? behavior->face.name : "";
}

struct slice slot_shard(const struct actors *actors, const struct slot *slot,
                        char text[SHARD_TEXT_MAX])
{
    const struct row *row = &actors->rows.items[slot->row];

    return shard_name(actors->types[row->type].rule.names, row->shard, text);
}

void slot_trace(const struct actors *actors, const struct slot *slot,
                enum trace_level level, const char *text)
{
    struct trace *trace = actors->settings.trace;
    struct slice id = slot_id(slot);
    char number[SHARD_TEXT_MAX];

    if (slot->flags & FLAG_ENTITY)
        trace_put(trace, level, "actor", "%s type=%s shard=%s id=%.*s", text,
                  slot_type(actors, slot),
                  (const char *)slot_shard(actors, slot, number).data,
                  (int)id.size, (const char *)id.data);
    else
        trace_put(trace, level, "actor", "%s actor=%s", text,
                  slot_type(actors, slot));
}

void slot_trace_message(const struct actors *actors, const struct slot *slot, uint32_t msg)
{
    char text[40];

    (void)snprintf(text, sizeof text, "message handled msg=%u", (unsigned)msg); /* fits */
    slot_trace(actors, slot, TRACE_DEBUG, text);
}

void slot_trace_why(const struct actors *actors, const struct slot *slot,
                    const char *text, const char *why)
{
    struct slice id = slot_id(slot);
    char number[SHARD_TEXT_MAX];

    if (slot->flags & FLAG_ENTITY)
        trace_put(actors->settings.trace, TRACE_WARNING, "actor",
                  "%s type=%s shard=%s why=\"%s\" id=%.*s", text,
                  slot_type(actors, slot),
                  (const char *)slot_shard(actors, slot, number).data, why, (int)id.size, (const char *)id.data);
    else
        trace_put(actors->settings.trace, TRACE_WARNING, "actor",
                  "%s actor=%s why=\"%s\"", text, slot_type(actors, slot),
                  why);
}
