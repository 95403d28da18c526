/* Queues the news of the lane's actors for the node. */
#include "actor/inside.h"

void slot_news_put(struct actors *actors, enum actors_news_kind kind, uint16_t type,
              int32_t shard, uint64_t actor, struct slice id)
{
    struct news_item item = { .kind = kind,
                              .type = type,
                              .id_size = (uint8_t)id.size,
                              .shard = shard,
                              .actor = actor };

    if (id.size)
        item.id = mem_copy(id.data, id.size);
    vec_push(&actors->news, item);
}

bool actors_next_news(struct actors *actors, struct actors_news *news)
{
    struct news_item *item;

    if (actors->news_head == actors->news.count) {
        actors->news_head = actors->news.count = 0;
        return false;
    }
    item = &actors->news.items[actors->news_head++];
    news->kind = item->kind;
    news->type = item->type;
    news->shard = item->shard;
    news->actor = item->actor;
    if (item->id_size)
        memcpy(actors->news_id, item->id, item->id_size);
    actors->news_id[item->id_size] = 0;
    news->id = slice_of(actors->news_id, item->id_size);
    mem_free(item->id);
    item->id = NULL;
    return true;
}
