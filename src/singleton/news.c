/* Keeps the news of a singleton until its owner takes them. */
#include "singleton/singleton_state.h"

void singleton_news_put(struct singleton *singleton, enum singleton_news news)
{
    vec_push(&singleton->news, news);
}

bool singleton_next_news(struct singleton *singleton, enum singleton_news *news)
{
    if (singleton->news_head == singleton->news.count) {
        singleton->news_head = singleton->news.count = 0;
        return false;
    }
    *news = singleton->news.items[singleton->news_head++];
    return true;
}

bool singleton_has_news(const struct singleton *singleton)
{
    return singleton->news_head < singleton->news.count;
}
