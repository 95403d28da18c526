/* Keeps answers and notices until the node takes them. */
#include "ddata/replicator_inside.h"

void news_put(struct replicator *replicator, const struct news_item *item,
              struct slice key, struct slice bytes)
{
    struct news_item kept = *item;
    uintptr_t at =
        (uintptr_t)key.data - (uintptr_t)replicator->news_texts.data;

    /* The key may lie in the news just read. */
    if (key.size)
        (void)buf_reserve(&replicator->news_texts, key.size + bytes.size);
    if (key.size && at < replicator->news_texts.size)
        key.data = replicator->news_texts.data + at;
    kept.at = replicator->news_texts.size;
    kept.key_size = key.size;
    kept.bytes_size = bytes.size;
    buf_put_slice(&replicator->news_texts, key);
    buf_put_slice(&replicator->news_texts, bytes);
    vec_push(&replicator->news, kept);
}

void news_answer(struct replicator *replicator, uint64_t token,
                 enum replicator_answer answer, struct slice key)
{
    news_put(replicator,
             &(struct news_item){ .kind = REPLICATOR_NEWS_ANSWER,
                                  .token = token,
                                  .answer = answer },
             key, slice_of(NULL, 0));
}
