/* Takes the durable file's answers and its entries. */
#include "base/check.h"
#include "ddata/replicator_inside.h"

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
    storing_free(storing);
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
    if (!envelope_decode_stored(bytes, &envelope)) {
        tell_unloaded(replicator, key, "it cannot be read");
        return;
    }
    origin_hide_type(replicator, key, &envelope);
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
        (void)durable_store_entry(replicator, entry, NULL); /* no caller waits */
    buf_fini(&again);
}
