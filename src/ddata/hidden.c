/* Keeps the table of hidden keys: this node's parts of expired keys. expire.c fills it. */
#include "ddata/replicator_inside.h"

void hidden_give_back(struct replicator *replicator, struct hidden *hidden)
{
    replicator->hidden_bytes -= hidden->size;
    hidden->size = 0;
    envelope_fini(&hidden->envelope);
}

int64_t hidden_version(const struct replicator *replicator, struct slice key)
{
    const struct hidden *hidden = map_get(&replicator->hidden, key);

    return hidden ? hidden->version : 0;
}

void hidden_drop(struct replicator *replicator, struct slice key)
{
    struct hidden *hidden = map_take(&replicator->hidden, key);

    if (!hidden)
        return;
    hidden_give_back(replicator, hidden);
    mem_free(hidden);
}

void hidden_fini(struct replicator *replicator)
{
    struct map_entry item;

    for (uint32_t at = 0; map_next(&replicator->hidden, &at, &item);)
        hidden_drop(replicator, item.key);
    map_fini(&replicator->hidden);
}
