/* Passes stored shards to their coordinator, and orphan shards to the lanes that move their entities
 * (lane/orphan_shards.c). */
#include "node/control/control.h"

#include "base/limits.h"
#include "shard/shard_id.h"

void control_remembered(struct control *control, uint32_t type,
                        struct slice id, uint64_t term,
                        struct remembered_shards *counts)
{
    struct machine *machine = control->machine;
    struct mail_content content;
    int32_t shard;

    if (coordinator_remembered(control->types[type].coordinator, id))
        return;
    if (shard_names_of(control, type) ||
        !shard_parse(id, &shard) || shard >= SHARDS_MAX ||
        shard <= -SHARDS_MAX) {
        counts->unknown++;
        return;
    }
    counts->orphans++;
    content = mail_for_shard(type, shard, MAIL(orphan, .fence = { term, 1 }));
    outputs_post(&machine->outputs,
                 1 + shard_lane(type, shard, machine->settings->lanes), &content);
}

void control_remembered_all(struct control *control, uint32_t type,
                            const struct remembered_shards *counts)
{
    const struct type_names *names = &control->machine->node->names[type];

    if (counts->orphans)
        trace_put(control->machine->trace, TRACE_INFO, "coordinator",
                  "stored shards above number-of-shards: their remembered "
                  "entities move to other shards type=%s number-of-shards=%u "
                  "count=%u",
                  names->name, names->shards, counts->orphans);
    if (counts->unknown)
        trace_put(control->machine->trace, TRACE_WARNING, "coordinator",
                  "stored shards have ids that the type cannot have: their entities "
                  "do not start type=%s count=%u "
                  "hint=\"give the type the extractor that named them, and enough shards\"",
                  names->name, counts->unknown);
}

void control_orphan_shards_end(struct control *control, uint32_t type)
{
    struct mail_content content = mail_for_type(type, mail_orphans_end_new());

    if (control->machine->node->names[type].remembers)
        outputs_post_lanes(&control->machine->outputs, &content);
}
