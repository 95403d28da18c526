/* Dispatches received messages, and sends messages to peers. */
#include "base/check.h"
#include "ddata/replicator_inside.h"

/* Each round sends the values that a peer lacks. For a slow peer they would pile up before other
 * messages, so they may be dropped: its next status lacks them again. A status is never dropped,
 * because it continues earlier chunks. */
static enum repeats repeats_of(enum message_kind kind)
{
    return kind == MESSAGE_GOSSIP ? REPEATS_VALUES : REPEATS_NOT;
}

void send_peer(struct replicator *replicator, const struct node_id *to,
               struct slice sender, enum message_kind kind,
               struct slice payload, struct outbox *outbox)
{
    outbox_put(outbox,
               &(struct outbound){
                   .to = *to,
                   .recipient = path_plain(buf_slice(&replicator->path)),
                   .sender = sender,
                   .manifest = slice_text(message_manifest(kind)),
                   .payload = payload,
                   .serializer = REPLICATOR_SERIALIZER,
                   .stream = STREAM_ORDINARY,
                   .selection = true,
                   .repeats = repeats_of(kind),
               });
}

void send_answer(struct replicator *replicator, const struct node_id *to,
                 struct slice recipient, enum message_kind kind,
                 struct slice payload, struct outbox *outbox)
{
    if (!recipient.size)
        return;
    outbox_put(outbox, &(struct outbound){
                           .to = *to,
                           .recipient = recipient,
                           .sender = buf_slice(&replicator->path),
                           .manifest = slice_text(message_manifest(kind)),
                           .payload = payload,
                           .serializer = REPLICATOR_SERIALIZER,
                           .stream = STREAM_ORDINARY,
                           .repeats = repeats_of(kind),
                       });
}

bool is_sendable(struct replicator *replicator, size_t size)
{
    if (size + MESSAGE_OVERHEAD <= replicator->settings.frame_size)
        return true;
    replicator->counters.unsent++;
    return false;
}

bool take_entry(struct replicator *replicator, struct slice key,
                struct envelope *envelope, size_t size,
                const struct inbound *inbound, struct outbox *outbox)
{
    struct entry *entry = entry_merge(replicator, key, envelope, size);
    enum message_kind answer = MESSAGE_WRITE_NACK;

    if (entry) {
        replicator->counters.merges++;
        hold_end(replicator, entry);
        answer = MESSAGE_WRITE_ACK;
    }
    if (entry && entry->is_durable) {
        struct storing storing = { .purpose = DURABLE_FOR_PEER };

        if (inbound) {
            storing.to = inbound->from;
            storing.recipient = inbound->sender;
        }
        if (durable_store_entry(replicator, entry, inbound ? &storing : NULL))
            return true; /* answered later */
        answer = MESSAGE_WRITE_NACK;
    }
    if (inbound)
        send_answer(replicator, &inbound->from, inbound->sender, answer,
                    slice_of(NULL, 0), outbox);
    return entry != NULL;
}

static void drop_malformed(struct replicator *replicator,
                           const struct inbound *inbound)
{
    char text[ADDRESS_TEXT_MAX];

    replicator->counters.malformed++;
    if (!replicator->has_logged_malformed)
        trace_put(replicator->trace, TRACE_WARNING, "ddata",
                  "unreadable message of a member dropped; further ones are "
                  "only counted from=%s hint=\"run a compatible version there\"",
                  address_text(&inbound->from.address, text, sizeof text));
    replicator->has_logged_malformed = true;
}

static void receive_write(struct replicator *replicator,
                          const struct inbound *inbound,
                          const struct message *message,
                          struct outbox *outbox)
{
    const struct message_entry *part = &message->entries[0];
    struct envelope envelope = { 0 };
    size_t size = part->bytes.size;

    if (!envelope_decode(part->bytes, &envelope)) {
        drop_malformed(replicator, inbound);
        return;
    }
    /* No answer while the key is damaged and held (held.c): this replica does not count. */
    if (hold_is_part(replicator, part->key, envelope.value))
        replicator->counters.held++;
    else if (hold_take(replicator, part->key, &inbound->from, &envelope,
                       &size))
        (void)take_entry(replicator, part->key, &envelope, size, inbound,
                         outbox); /* answered there */
    key_use(replicator, part->key, replicator->wall_ms);
    envelope_fini(&envelope);
}

static void receive_read(struct replicator *replicator,
                         const struct inbound *inbound,
                         const struct message *message,
                         struct outbox *outbox)
{
    const struct entry *entry =
        entry_find(replicator, message->entries[0].key);
    struct message_entry part = { .from = 0 };
    struct message result = { .kind = MESSAGE_READ_RESULT };
    struct buf bytes = { 0 };
    struct buf payload = { 0 };

    /* "None" would count as this replica's answer. */
    if (key_is_held(replicator, message->entries[0].key)) {
        replicator->counters.held++;
        return;
    }
    if (entry) {
        envelope_encode(&bytes, &entry->envelope, NULL, ENVELOPE_WHOLE);
        part.bytes = buf_slice(&bytes);
        result.entries = &part;
        result.count = 1;
    }
    message_put(&payload, &result);
    if (is_sendable(replicator, payload.size))
        send_answer(replicator, &inbound->from, inbound->sender,
                    MESSAGE_READ_RESULT, buf_slice(&payload), outbox);
    buf_fini(&bytes);
    buf_fini(&payload);
}

static bool is_answer(enum message_kind kind)
{
    return kind == MESSAGE_WRITE_ACK || kind == MESSAGE_WRITE_NACK ||
           kind == MESSAGE_DELTA_NACK || kind == MESSAGE_READ_RESULT;
}

static void receive_answer(struct replicator *replicator,
                           const struct inbound *inbound,
                           const struct message *message,
                           struct outbox *outbox)
{
    struct aggregator *aggregator =
        aggregator_of(replicator, inbound->recipient);

    if (!aggregator ||
        aggregator->is_read != (message->kind == MESSAGE_READ_RESULT))
        replicator->counters.late++;
    else if (aggregator->is_read)
        read_receive(replicator, aggregator, inbound, message, outbox);
    else
        write_receive(replicator, aggregator, inbound, message->kind, outbox);
}

/* The sender and the addressed incarnation decide whether a message is accepted. */
static bool is_taken(struct replicator *replicator,
                     const struct message *message)
{
    const struct replicas *replicas = &replicator->replicas;

    if (message->has_to_uid && message->to_uid != replicas->self.uid) {
        replicator->counters.other_uid++;
        return false;
    }
    if (message->from.uid && !replicas_know(replicas, &message->from)) {
        replicator->counters.strangers++;
        return false;
    }
    return true;
}

static void receive_request(struct replicator *replicator,
                            const struct inbound *inbound,
                            struct message *message, struct outbox *outbox)
{
    if (!slice_equal(inbound->recipient,
                     path_plain(buf_slice(&replicator->path)))) {
        replicator->counters.late++;
        return;
    }
    if (replicator->is_loading) {
        replicator->counters.loading++;
        return;
    }
    if (!is_taken(replicator, message))
        return;
    switch (message->kind) {
    case MESSAGE_WRITE:
        receive_write(replicator, inbound, message, outbox);
        return;
    case MESSAGE_READ:
        receive_read(replicator, inbound, message, outbox);
        return;
    case MESSAGE_STATUS:
    case MESSAGE_GOSSIP:
        arrive_receive(replicator, inbound, message, outbox);
        return;
    case MESSAGE_DELTAS:
        deltas_receive(replicator, inbound, message, outbox);
        return;
    case MESSAGE_WRITE_ACK:
    case MESSAGE_WRITE_NACK:
    case MESSAGE_DELTA_NACK:
    case MESSAGE_READ_RESULT:
    case MESSAGE_CLIENT:
    case MESSAGE_UNKNOWN:
        break;
    }
    check(!"a request");
}

void replicator_receive(struct replicator *replicator, uint64_t now,
                        const struct inbound *inbound, struct outbox *outbox)
{
    enum message_kind kind = message_kind_of(inbound->manifest);
    struct message message;

    (void)now;
    if (replicator->has_ended) {
        replicator->counters.ended++;
        return;
    }
    if (kind == MESSAGE_CLIENT || kind == MESSAGE_UNKNOWN) {
        replicator->counters.clients += kind == MESSAGE_CLIENT;
        replicator->counters.unknown += kind == MESSAGE_UNKNOWN;
        return;
    }
    if (!message_get(kind, inbound->payload, &message))
        drop_malformed(replicator, inbound);
    else if (is_answer(kind))
        receive_answer(replicator, inbound, &message, outbox);
    else
        receive_request(replicator, inbound, &message, outbox);
    message_fini(&message);
}
