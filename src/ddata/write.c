/* Writes to several replicas. The local table has the value already, and keeps it after a
 * failure. */
#include "base/mark.h"
#include "ddata/replicator_inside.h"

static enum replicator_answer answer_of(const struct aggregator *aggregator,
                                        bool is_timeout)
{
    bool lacks_nodes = aggregator_lacks_nodes(aggregator);
    enum own_store own_store = aggregator->own_store;

    /* Stricter than Akka, where other replicas compensate for the local durable file. */
    if (own_store == OWN_STORE_REFUSED)
        return REPLICATOR_STORE_FAILURE;
    if ((int64_t)aggregator->remaining <= aggregator->done_when &&
        !lacks_nodes && own_store != OWN_STORE_SILENT)
        return REPLICATOR_SUCCESS;
    if (is_timeout || lacks_nodes || !aggregator->has_nack ||
        own_store == OWN_STORE_UNUSED)
        return aggregator->is_delete ? REPLICATOR_DELETE_FAILURE
                                     : REPLICATOR_UPDATE_TIMEOUT;
    return REPLICATOR_STORE_FAILURE;
}

static void end(struct replicator *replicator, struct aggregator *aggregator,
                bool is_timeout)
{
    news_answer(replicator, aggregator->token,
                answer_of(aggregator, is_timeout), aggregator->key);
    aggregator_end(replicator, aggregator);
}

static void look(struct replicator *replicator, struct aggregator *aggregator)
{
    if (aggregator->own_store == OWN_STORE_SILENT)
        return;
    if ((int64_t)aggregator->remaining <= aggregator->done_when ||
        !aggregator->silent || aggregator_lacks_nodes(aggregator))
        end(replicator, aggregator, false);
}

/* The current value, which contains the write. False: it cannot be sent, or has expired. */
static bool put_whole(struct replicator *replicator,
                      const struct aggregator *aggregator, struct buf *payload)
{
    struct entry *entry = entry_find(replicator, aggregator->key);
    struct message_entry part = { .key = aggregator->key };
    struct buf bytes = { 0 };

    if (!entry)
        return false;
    envelope_encode(&bytes, opaque_base(&entry->envelope), NULL,
                    ENVELOPE_WHOLE);
    part.bytes = buf_slice(&bytes);
    message_put(payload, &(struct message){ .kind = MESSAGE_WRITE,
                                            .entries = &part,
                                            .count = 1,
                                            .from = replicator->replicas.self });
    buf_fini(&bytes);
    return is_sendable(replicator, payload->size);
}

/* Deltas that need causal delivery have their own message; others are written like values. */
static void put_delta(struct replicator *replicator,
                      const struct aggregator *aggregator,
                      const struct dd_value *delta, int64_t version,
                      struct buf *payload)
{
    const struct entry *entry = entry_find(replicator, aggregator->key);
    struct message_entry part = { .key = aggregator->key,
                                  .from = version,
                                  .to = version };
    struct buf bytes = { 0 };

    delta_encode(replicator, entry, delta, &bytes);
    part.bytes = buf_slice(&bytes);
    message_put(payload,
                &(struct message){ .kind = aggregator->has_delta
                                               ? MESSAGE_DELTAS
                                               : MESSAGE_WRITE,
                                   .entries = &part,
                                   .count = 1,
                                   .from = replicator->replicas.self,
                                   .reply = true });
    buf_fini(&bytes);
}

void write_begin(struct replicator *replicator, struct aggregator *aggregator,
                 const struct dd_value *delta, int64_t version,
                 struct outbox *outbox)
{
    struct buf payload = { 0 };
    bool is_sent = false;

    if (delta) {
        aggregator->has_delta = dd_needs_causal_delivery(delta);
        put_delta(replicator, aggregator, delta, version, &payload);
        is_sent = is_sendable(replicator, payload.size);
    }
    if (!is_sent) { /* the compressed whole may be smaller than the change */
        aggregator->has_delta = false;
        buf_clear(&payload);
        is_sent = put_whole(replicator, aggregator, &payload);
    }
    if (is_sent)
        aggregator_send(replicator, aggregator, 0, aggregator->primary_count,
                        aggregator->has_delta ? MESSAGE_DELTAS : MESSAGE_WRITE,
                        buf_slice(&payload), outbox);
    buf_fini(&payload);
    look(replicator, aggregator);
}

static void send_whole(struct replicator *replicator,
                       const struct aggregator *aggregator, uint32_t first,
                       uint32_t count, struct outbox *outbox)
{
    struct buf payload = { 0 };

    if (count && put_whole(replicator, aggregator, &payload))
        aggregator_send(replicator, aggregator, first, count, MESSAGE_WRITE,
                        buf_slice(&payload), outbox);
    buf_fini(&payload);
}

void write_receive(struct replicator *replicator,
                   struct aggregator *aggregator,
                   const struct inbound *inbound, enum message_kind kind,
                   struct outbox *outbox)
{
    struct target *target =
        aggregator_target(aggregator, &inbound->from.address);

    if (!target) {
        replicator->counters.not_asked++;
        return;
    }
    if (kind == MESSAGE_DELTA_NACK) {
        replicator->counters.full_resends++;
        REACHED("a replica that cannot take a delta gets the whole value");
        send_whole(replicator, aggregator,
                   (uint32_t)(target - aggregator->targets), 1, outbox);
        return;
    }
    if (kind == MESSAGE_WRITE_ACK) {
        aggregator_done(aggregator, target);
    } else if (!target->has_nacked) {
        target->has_nacked = aggregator->has_nack = true;
        if (!target->is_done)
            aggregator->silent--;
    }
    look(replicator, aggregator);
}

void write_stored(struct replicator *replicator, struct aggregator *aggregator,
                  bool is_good)
{
    aggregator->own_store = is_good ? OWN_STORE_HAS_IT : OWN_STORE_REFUSED;
    SOMETIMES("the local disk refuses a write that replicas have confirmed",
              !is_good && aggregator->remaining < aggregator->count);
    look(replicator, aggregator);
}

/* Deltas stay in order only with one update at a time; replicas that refused one get the whole
 * value. */
void write_secondary(struct replicator *replicator,
                     struct aggregator *aggregator, struct outbox *outbox)
{
    uint32_t first = aggregator->has_delta ? 0 : aggregator->primary_count;
    uint32_t end_at = aggregator->primary_count + aggregator->secondary_count;

    SOMETIMES("a write asks replicas beyond the first ones",
              aggregator->secondary_count);
    if (aggregator->has_delta)
        replicator->counters.full_resends++;
    send_whole(replicator, aggregator, first, end_at - first, outbox);
}

void write_timeout(struct replicator *replicator,
                   struct aggregator *aggregator)
{
    REACHED("a write ends without enough answers");
    SOMETIMES("a write times out before the local disk has answered",
              aggregator->own_store == OWN_STORE_SILENT);
    end(replicator, aggregator, true);
}
