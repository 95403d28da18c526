/* Changes the limit of active entities of a type. */
#include "actor/inside.h"

void actors_set_active_limit(struct actors *actors, uint16_t type,
                             struct active_limit limit)
{
    struct type *known = &actors->types[type];

    check(type < actors->type_count && known->known);
    check(!actors->ctx.slot);
    entity_flush(actors);
    if (!known->passivation)
        return;
    known->limit = limit;
    if (limit.bytes != UINT64_MAX)
        actors->counts_bytes = true;
    for (uint32_t i = 1; i < actors->rows.count; i++)
        if (actors->rows.items[i].type == type &&
            (actors->rows.items[i].state == ROW_OPEN ||
             actors->rows.items[i].state == ROW_CLOSED))
            active_limit_row(actors, i);
}
