/* Dispatches received messages. */
#include "base/check.h"
#include "ddata/replicator_inside.h"

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

/* Akka names the actors of writes and reads in their order. */
static uint64_t number_of(const struct replicator *replicator,
                          const struct inbound *inbound)
{
    uint64_t id;

    return aggregator_id_of(replicator, path_plain(inbound->sender), &id)
               ? id + 1
               : 0;
}

/* True if the value may be a change only, which cannot be told from a state here. Such a type has
 * versions; a map's change has a manifest of its own. */
static bool may_be_change(const struct inbound *inbound,
                          const struct envelope *envelope)
{
    return dd_kind_of(envelope->value) == DD_OPAQUE && !envelope->origin &&
           versions_get(&envelope->versions, &inbound->from) > 0;
}

/* Several values that do not merge here: the writer merges them sooner if it is asked. */
static void ask_to_merge(struct replicator *replicator, struct slice key,
                         const struct inbound *inbound, struct outbox *outbox)
{
    struct entry *entry = entry_find(replicator, key);

    if (!entry || !entry->envelope.siblings.count ||
        entry->asked == replicator->gossip_ticks)
        return;
    entry->asked = replicator->gossip_ticks;
    pull_ask(replicator, key, &inbound->from, outbox);
}

static void receive_write(struct replicator *replicator,
                          const struct inbound *inbound,
                          const struct message *message,
                          struct outbox *outbox)
{
    const struct message_entry *part = &message->entries[0];
    struct envelope envelope = { 0 };
    struct arrived arrived = { .from = &inbound->from,
                               .way = ORIGIN_WRITE,
                               .size = part->bytes.size };
    size_t size = part->bytes.size;
    bool is_change;

    if (!envelope_decode(part->bytes, &envelope)) {
        drop_malformed(replicator, inbound);
        return;
    }
    is_change = may_be_change(inbound, &envelope);
    arrived.number = number_of(replicator, inbound);
    origin_label(replicator, part->key, &envelope, &arrived);
    /* No answer while the key is damaged and held (held.c): this replica does not count. */
    if (hold_is_part(replicator, part->key, envelope.value) ||
        (is_change && key_is_held(replicator, part->key)))
        replicator->counters.held++;
    else if (is_change)
        pull_begin(replicator, part->key, inbound,
                   versions_get(&envelope.versions, &inbound->from), outbox);
    else if (hold_take(replicator, part->key, &inbound->from, &envelope,
                       &size))
        (void)take_entry(replicator, part->key, &envelope, size, inbound,
                         outbox); /* answered there */
    ask_to_merge(replicator, part->key, inbound, outbox);
    key_use(replicator, part->key, replicator->wall_ms);
    envelope_fini(&envelope);
}

typedef void send_function(struct replicator *replicator,
                           const struct node_id *to, struct slice recipient,
                           enum message_kind kind, struct slice payload,
                           struct outbox *outbox);

/* envelope: null if there is none. */
static void send_result(struct replicator *replicator,
                        const struct inbound *inbound,
                        const struct envelope *envelope, send_function *send,
                        struct outbox *outbox)
{
    struct message_entry part = { .from = 0 };
    struct message result = { .kind = MESSAGE_READ_RESULT };
    struct buf bytes = { 0 };
    struct buf payload = { 0 };

    if (envelope) {
        envelope_encode(&bytes, envelope, NULL, ENVELOPE_WHOLE);
        part.bytes = buf_slice(&bytes);
        result.entries = &part;
        result.count = 1;
    }
    message_put(&payload, &result);
    if (is_sendable(replicator, payload.size))
        send(replicator, &inbound->from, inbound->sender, MESSAGE_READ_RESULT,
             buf_slice(&payload), outbox);
    buf_fini(&bytes);
    buf_fini(&payload);
}

static void receive_read(struct replicator *replicator,
                         const struct inbound *inbound,
                         const struct message *message,
                         struct outbox *outbox)
{
    const struct entry *entry =
        entry_find(replicator, message->entries[0].key);

    /* "None" would count as this replica's answer. */
    if (key_is_held(replicator, message->entries[0].key)) {
        replicator->counters.held++;
        return;
    }
    /* The reader merges all values before the last one counts as the answer. */
    for (uint32_t i = entry ? opaque_count(&entry->envelope) : 1; i-- > 1;)
        send_result(replicator, inbound, opaque_look(&entry->envelope, i),
                    send_part, outbox);
    send_result(replicator, inbound, entry ? &entry->envelope : NULL,
                send_answer, outbox);
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
