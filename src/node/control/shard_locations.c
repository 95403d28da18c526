/* Passes the locations of shards from the users' distributed data to coordinators. */
#include "node/control/shard_locations.h"

#include "ddata/item.h"
#include "node/control/control.h"

void shard_locations_key_put(const struct control *control, uint32_t index,
                             struct buf *key)
{
    buf_put_text(key, "external-sharding-"); /* akka.cluster.sharding.external */
    buf_put_text(key, control->machine->node->names[index].type);
}

/* As in a JVM's map from text to text. */
void shard_locations_take(struct coordinator *coordinator,
                          const struct dd_value *map)
{
    const struct dd_value *value;
    struct dd_element key;

    coordinator_locations_forget(coordinator);
    if (!map || dd_kind_of(map) != DD_LWWMAP)
        return;
    for (uint32_t at = 0; dd_map_next(map, &at, &key, &value);) {
        struct sherd_item item = item_of_other(dd_register_get(value));

        if (key.kind == DD_TEXT && item.kind == SHERD_ITEM_TEXT)
            coordinator_location(coordinator, key.text,
                                 slice_of(item.text.data, item.text.size));
    }
}

bool shard_locations_has(uint64_t token)
{
    return (token & SHARD_LOCATIONS_TOKEN) != 0;
}

void shard_locations_news(struct control *control,
                          const struct replicator_news *news)
{
    uint64_t index = news->token & ~SHARD_LOCATIONS_TOKEN;

    if (control->types[index].coordinator)
        shard_locations_take(control->types[index].coordinator,
                             news->kind == REPLICATOR_NEWS_CHANGED ? news->value
                                                                   : NULL);
}
