/* Passes entries to the durable file, takes its answers and its entries, and keeps commands until
 * loading ends. */
#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

static void free_storing(struct storing *storing)
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

void replicator_stored(struct replicator *replicator, uint64_t now,
                       uint64_t ticket, bool is_good, struct outbox *outbox)
{
    struct storing *storing =
        map_take(&replicator->storing, map_u64(&ticket));
    struct aggregator *aggregator;

    (void)now;
    if (!storing)
        return;
    switch (storing->purpose) {
    case DURABLE_FOR_COMMAND:
        news_answer(replicator, storing->id,
                    is_good ? REPLICATOR_SUCCESS : REPLICATOR_STORE_FAILURE,
                    slice_of(NULL, 0));
        break;
    case DURABLE_FOR_AGGREGATOR:
        aggregator = aggregator_by_id(replicator, storing->id);
        if (aggregator)
            write_stored(replicator, aggregator, is_good);
        break;
    case DURABLE_FOR_PEER:
        send_answer(replicator, &storing->to, storing->recipient,
                    is_good ? MESSAGE_WRITE_ACK : MESSAGE_WRITE_NACK,
                    slice_of(NULL, 0), outbox);
        break;
    }
    free_storing(storing);
}

bool replicator_is_durable(const struct replicator *replicator,
                           struct slice key)
{
    return key_is_durable(replicator, key);
}

static void tell_unloaded(struct replicator *replicator, struct slice key,
                          const char *why)
{
    replicator->counters.unloaded++;
    trace_put(replicator->trace, TRACE_ERROR, "ddata",
              "durable key not loaded, other members' value is used "
              "why=\"%s\" hint=\"use fewer or smaller keys, or check the disk\" "
              "key=\"%.*s\"",
              why, (int)key.size, (const char *)key.data);
}

void replicator_load(struct replicator *replicator, uint64_t now,
                     struct slice key, struct slice bytes)
{
    struct envelope envelope = { 0 };
    struct buf again = { 0 };
    struct entry *entry;

    (void)now;
    if (replicator->has_ended)
        return;
    check(replicator->is_loading);
    if (!envelope_decode(bytes, &envelope)) {
        tell_unloaded(replicator, key, "it cannot be read");
        return;
    }
    entry = entry_merge(replicator, key, &envelope, bytes.size);
    envelope_fini(&envelope);
    if (!entry) {
        tell_unloaded(replicator, key, "there is no room for it");
        return;
    }
    /* otherwise a key that no node uses would never expire */
    entry_use(replicator, entry, replicator->wall_ms);
    envelope_encode(&again, &entry->envelope, NULL, ENVELOPE_STORED);
    if (!slice_equal(buf_slice(&again), bytes))
        put_news(replicator, entry, 0);
    buf_fini(&again);
}

bool durable_must_wait(const struct replicator *replicator, uint64_t token)
{
    if (replicator->waiting_head == replicator->waiting.count)
        return replicator->is_loading;
    return !replicator->is_modifying ||
           replicator->waiting.items[replicator->waiting_head].token != token;
}

bool durable_wait(struct replicator *replicator, const struct waiting *waiting)
{
    struct waiting kept = *waiting;

    if (replicator->waiting.count - replicator->waiting_head >=
            REPLICATOR_WAITING_MAX ||
        waiting->key.size > REPLICATOR_KEY_SIZE_MAX)
        return false;
    kept.key.data = mem_copy(waiting->key.data, waiting->key.size);
    vec_push(&replicator->waiting, kept);
    BOUNDED("commands that wait for durable keys",
            replicator->waiting.count - replicator->waiting_head,
            REPLICATOR_WAITING_MAX);
    return true;
}

static void drop_first(struct replicator *replicator)
{
    mem_free((void *)(uintptr_t)
                 replicator->waiting.items[replicator->waiting_head]
                     .key.data);
    replicator->waiting_head++;
    if (replicator->waiting_head == replicator->waiting.count)
        replicator->waiting_head = replicator->waiting.count = 0;
}

/* Runs waiting commands in order up to an update, since later ones may need its result. */
static void go_on(struct replicator *replicator, uint64_t now,
                  struct outbox *outbox)
{
    while (replicator->waiting_head < replicator->waiting.count) {
        const struct waiting *first =
            &replicator->waiting.items[replicator->waiting_head];

        switch (first->kind) {
        case WAITING_UPDATE:
            replicator->is_modifying = true;
            news_put(replicator,
                     &(struct news_item){ .kind = REPLICATOR_NEWS_MODIFY,
                                          .token = first->token },
                     first->key, slice_of(NULL, 0));
            return;
        case WAITING_GET:
            command_get(replicator, now, first->token, first->key,
                        &first->consistency, outbox);
            break;
        case WAITING_SHOW:
            command_show(replicator, first->token, first->key);
            break;
        case WAITING_DELETE:
            command_delete(replicator, now, first->token, first->key,
                           &first->consistency, outbox);
            break;
        case WAITING_RELEASE:
            command_release(replicator, first->token, first->key);
            break;
        }
        drop_first(replicator);
    }
}

void durable_modified(struct replicator *replicator, uint64_t now,
                    struct outbox *outbox)
{
    if (!replicator->is_modifying)
        return;
    replicator->is_modifying = false;
    drop_first(replicator);
    go_on(replicator, now, outbox);
}

void replicator_loaded(struct replicator *replicator, uint64_t now,
                       bool is_good, struct outbox *outbox)
{
    if (!replicator->is_loading)
        return;
    if (!is_good) {
        replicator_end(replicator);
        return;
    }
    replicator->is_loading = false;
    go_on(replicator, now, outbox);
    notify_flush(replicator);
}

void replicator_store_lost(struct replicator *replicator)
{
    replicator_end(replicator);
}

/* Answers all waiting commands: the replicator stops. */
void durable_fini(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    while (replicator->waiting_head < replicator->waiting.count) {
        const struct waiting *first =
            &replicator->waiting.items[replicator->waiting_head];

        news_answer(replicator, first->token, REPLICATOR_STOPPED, first->key);
        drop_first(replicator);
    }
    replicator->is_modifying = false;
    vec_fini(&replicator->waiting);
    while (map_next(&replicator->storing, &at, &item)) {
        struct storing *storing = item.value;

        if (storing->purpose == DURABLE_FOR_COMMAND)
            news_answer(replicator, storing->id, REPLICATOR_STOPPED,
                        slice_of(NULL, 0));
        free_storing(storing);
    }
    map_fini(&replicator->storing);
}
