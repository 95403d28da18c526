/* Passes entries to the durable file, and keeps what follows its answers. */
#include "base/bound.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

void storing_free(struct storing *storing)
{
    mem_free((void *)(uintptr_t)storing->recipient.data);
    mem_free(storing);
}

static void put_news(struct replicator *replicator, const struct entry *entry,
                     uint64_t ticket)
{
    struct buf bytes = { 0 };

    envelope_encode(&bytes, &entry->envelope, NULL, ENVELOPE_STORED);
    news_put(replicator,
             &(struct news_item){ .kind = REPLICATOR_NEWS_STORE,
                                  .ticket = ticket },
             entry->key, buf_slice(&bytes));
    buf_fini(&bytes);
}

bool durable_store_entry(struct replicator *replicator, struct entry *entry,
               const struct storing *storing)
{
    struct storing *kept;

    if (!storing) {
        put_news(replicator, entry, 0);
        return true;
    }
    if (replicator->storing.count >= REPLICATOR_STORES_MAX) {
        replicator->counters.stores_refused++;
        put_news(replicator, entry, 0);
        return false;
    }
    kept = mem_alloc(sizeof *kept);
    *kept = *storing;
    if (storing->recipient.size)
        kept->recipient.data =
            mem_copy(storing->recipient.data, storing->recipient.size);
    replicator->ticket++;
    (void)map_put(&replicator->storing, map_u64(&replicator->ticket), kept);
    BOUNDED("keys that are being stored", replicator->storing.count,
            REPLICATOR_STORES_MAX);
    put_news(replicator, entry, replicator->ticket);
    return true;
}

void durable_forget(struct replicator *replicator, struct slice key)
{
    news_put(replicator,
             &(struct news_item){ .kind = REPLICATOR_NEWS_FORGET }, key,
             slice_of(NULL, 0));
}

/* Answers all commands that wait for the durable file: the replicator stops. */
void durable_fini(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    while (map_next(&replicator->storing, &at, &item)) {
        struct storing *storing = item.value;

        if (storing->purpose == DURABLE_FOR_COMMAND)
            news_answer(replicator, storing->id, REPLICATOR_STOPPED,
                        slice_of(NULL, 0));
        storing_free(storing);
    }
    map_fini(&replicator->storing);
}
