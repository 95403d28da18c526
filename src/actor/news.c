/* Queues the news of the lane's actors for the node. */
#include "actor/inside.h"

void slot_news_put(struct actors *actors, const struct actors_news *news)
{
    struct news_item item = { .kind = news->kind,
                              .values = news->values,
                              .text_size = (uint8_t)news->text.size,
                              .actor = news->actor };

    if (news->text.size)
        item.text = mem_copy(news->text.data, news->text.size);
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
    news->values = item->values;
    news->actor = item->actor;
    if (item->text_size)
        memcpy(actors->news_text, item->text, item->text_size);
    actors->news_text[item->text_size] = 0;
    news->text = slice_of(actors->news_text, item->text_size);
    mem_free(item->text);
    item->text = NULL;
    return true;
}
