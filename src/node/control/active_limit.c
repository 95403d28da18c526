/* Divides the limit of a region's active entities among the shards that this node owns. */
#include "node/control/control.h"

static bool has_limit(const struct active_limit *limit)
{
    return limit->entities != UINT32_MAX || limit->bytes != UINT64_MAX;
}

void control_limit_init(struct control *control, uint32_t index)
{
    const struct sherd_entity_type *type = &control->machine->settings->types[index];
    struct active_limit *limit = &control->types[index].active_limit;

    limit->entities = type->active_entity_limit ? type->active_entity_limit : UINT32_MAX;
    limit->bytes = type->active_byte_limit ? type->active_byte_limit : UINT64_MAX;
}

/* As in Akka the parts are then zero. */
static void warn_of_small_limit(struct control *control, uint32_t index, uint32_t shards)
{
    const struct type_names *names = &control->machine->node->names[index];
    struct control_type *type = &control->types[index];
    uint32_t limit = type->active_limit.entities;

    if (limit >= shards || names->remembers || type->is_limit_told)
        return;
    type->is_limit_told = true;
    trace_put(control->machine->trace, TRACE_WARNING, "region",
              "limit of active entities is below the number of shards: each entity is passivated "
              "after its messages, and loses state that is not persistent type=%s "
              "key=active-entity-limit limit=%u shards=%u "
              "hint=\"raise the limit to several entities for each shard\"",
              names->name, (unsigned)limit, (unsigned)shards);
}

void control_divide_limit(struct control *control, uint32_t index)
{
    struct control_type *type = &control->types[index];
    struct active_limit limit = type->active_limit;
    uint32_t shards = region_shards(type->region);
    struct mail_content content;

    shards = shards ? shards : 1;
    if (shards == type->active_limit_shards ||
        (!has_limit(&limit) && !type->active_limit_shards))
        return;
    warn_of_small_limit(control, index, shards);
    type->active_limit_shards = has_limit(&limit) ? shards : 0;
    if (limit.entities != UINT32_MAX)
        limit.entities /= shards;
    if (limit.bytes != UINT64_MAX)
        limit.bytes /= shards;
    content = mail_for_type(index, MAIL(active_limit, .limit = limit));
    outputs_post_lanes(&control->machine->outputs, &content);
}

void control_set_limit(struct control *control, uint32_t index, struct active_limit limit)
{
    struct control_type *type = &control->types[index];
    bool had_limit = has_limit(&type->active_limit);

    type->active_limit = limit;
    /* A different number makes the next call send the limit again. */
    type->active_limit_shards = had_limit ? UINT32_MAX : 0;
    control_divide_limit(control, index);
}
