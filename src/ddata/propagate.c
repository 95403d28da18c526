/* Sends each round's deltas, and applies received ones in their writer's order. */
#include "base/check.h"
#include "base/mark.h"
#include "ddata/replicator_inside.h"

#define ENTRY_OVERHEAD 64 /* bytes beside key and envelope */

/* A message of deltas being filled. */
struct filling {
    const struct node_id *to;
    VEC(struct message_entry) entries;
    struct buf bytes; /* all envelopes */
    size_t size;
};

static void flush(struct replicator *replicator, struct filling *filling,
                  struct outbox *outbox)
{
    const uint8_t *at = filling->bytes.data;
    struct buf payload = { 0 };

    if (!filling->entries.count)
        return;
    for (uint32_t i = 0; i < filling->entries.count; i++) {
        filling->entries.items[i].bytes.data = at;
        at += filling->entries.items[i].bytes.size;
    }
    message_put(&payload, &(struct message){
                              .kind = MESSAGE_DELTAS,
                              .entries = filling->entries.items,
                              .count = filling->entries.count,
                              .from = replicator->replicas.self,
                          });
    if (is_sendable(replicator, payload.size))
        send_peer(replicator, filling->to, buf_slice(&replicator->path),
                  MESSAGE_DELTAS, buf_slice(&payload), outbox);
    buf_fini(&payload);
    buf_clear(&filling->bytes);
    filling->entries.count = 0;
    filling->size = 0;
}

static bool has_taken_over(const struct pruning *pruning)
{
    for (uint32_t i = 0; i < pruning->marks.count; i++)
        if (pruning->marks.items[i].is_own)
            return true;
    return false;
}

/* A counter's delta may be older than a pruning here, or contain only one half, but carries the
 * marker. Then the node's whole count is sent, with what it took over. */
void delta_encode(const struct replicator *replicator,
                  const struct entry *entry, const struct dd_value *delta,
                  struct buf *bytes)
{
    struct dd_value *counted = NULL;

    if (has_taken_over(&entry->envelope.pruning))
        counted = dd_counted_by(entry->envelope.value,
                                &replicator->replicas.self);
    SOMETIMES("a counter's delta includes the amounts of a pruned member", counted);
    envelope_encode(bytes, &entry->envelope, counted ? counted : delta,
                    envelope_form_of(delta));
    dd_free(counted);
}

/* With pruning markers: the receiver may not have pruned what the delta changes. */
static void fill(struct replicator *replicator, struct filling *filling,
                 const struct delta_group *group, struct outbox *outbox)
{
    const struct entry *entry = entry_find(replicator, group->key);
    struct message_entry part = { .key = group->key,
                                  .from = group->from,
                                  .to = group->to };
    struct buf bytes = { 0 };
    size_t size;

    delta_encode(replicator, entry, group->value, &bytes);
    size = bytes.size + group->key.size + ENTRY_OVERHEAD;
    if (filling->size + size + MESSAGE_OVERHEAD >
        replicator->settings.frame_size)
        flush(replicator, filling, outbox);
    part.bytes.size = bytes.size;
    buf_put_slice(&filling->bytes, buf_slice(&bytes));
    buf_fini(&bytes);
    vec_push(&filling->entries, part);
    filling->size += size;
}

typedef VEC(struct node_id) node_list;

/* Reachable replicas, in order. */
static void list_nodes(const struct replicas *replicas, node_list *nodes)
{
    for (uint32_t i = 0; i < replicas->items.count; i++) {
        const struct replica *replica = &replicas->items.items[i];

        if (replica_is_gossiped(replica) && replica->is_reachable)
            vec_push(nodes, kept_member_node(&replica->peer));
    }
}

void deltas_tick(struct replicator *replicator, struct outbox *outbox)
{
    struct deltas *deltas = &replicator->deltas;
    struct filling filling = { 0 };
    node_list nodes = { 0 };
    uint32_t first;
    uint32_t count;

    if (!deltas->active.count)
        return;
    list_nodes(&replicator->replicas, &nodes);
    count = deltas_begin(deltas, nodes.count, &first);
    for (uint32_t i = 0; i < count; i++) {
        struct delta_group group;
        uint32_t at = 0;
        uint32_t slot;

        filling.to = &nodes.items[(first + i) % nodes.count];
        slot = deltas_slot(deltas, filling.to);
        while (deltas_next(deltas, slot, &at, &group))
            if (group.value)
                fill(replicator, &filling, &group, outbox);
        flush(replicator, &filling, outbox);
    }
    if (deltas_clean_due(deltas))
        deltas_clean(deltas, nodes.items, nodes.count);
    vec_fini(&filling.entries);
    buf_fini(&filling.bytes);
    vec_fini(&nodes);
}

static void answer(struct replicator *replicator,
                   const struct inbound *inbound, enum message_kind kind,
                   struct outbox *outbox)
{
    send_answer(replicator, &inbound->from, inbound->sender, kind,
                slice_of(NULL, 0), outbox);
}

/* The writer sends the whole value if it waits for an answer; otherwise gossip brings it. */
static void miss(struct replicator *replicator, const struct inbound *inbound,
                 const struct message *message, struct outbox *outbox)
{
    replicator->counters.delta_gaps++;
    if (message->reply)
        answer(replicator, inbound, MESSAGE_DELTA_NACK, outbox);
}

/* The first copy may not be stored yet, so a durable key is acknowledged after it is stored. */
static void answer_again(struct replicator *replicator,
                         const struct inbound *inbound, struct entry *entry,
                         struct outbox *outbox)
{
    struct storing storing = { .purpose = DURABLE_FOR_PEER,
                               .to = inbound->from,
                               .recipient = inbound->sender };

    if (!entry->is_durable)
        answer(replicator, inbound, MESSAGE_WRITE_ACK, outbox);
    else if (!durable_store_entry(replicator, entry, &storing))
        answer(replicator, inbound, MESSAGE_WRITE_NACK, outbox);
}

/* A late message of a removed member: one side may have pruned what it changes. */
static bool is_of_removed(const struct replicator *replicator,
                          const struct message *message)
{
    if (replicas_is_removed(&replicator->replicas, &message->from))
        return true;
    for (uint32_t i = 0; i < message->count; i++) {
        const struct entry *entry =
            entry_find(replicator, message->entries[i].key);

        if (entry &&
            pruning_find(&entry->envelope.pruning, &message->from))
            return true;
    }
    return false;
}

/* True if the writer has pruned a member that is not pruned here. The delta may lack what it took
 * over, and the marker alone would delete the part here. */
static bool is_ahead(const struct entry *entry,
                     const struct envelope *envelope)
{
    for (uint32_t i = 0; i < envelope->pruning.marks.count; i++) {
        const struct pruning_mark *theirs = &envelope->pruning.marks.items[i];
        const struct pruning_mark *mine =
            entry ? pruning_find(&entry->envelope.pruning, &theirs->removed)
                  : NULL;

        if (theirs->is_performed && !(mine && mine->is_performed))
            return true;
    }
    return false;
}

/* True if an ordered delta is the next one; otherwise answers it. */
static bool is_next(struct replicator *replicator,
                    const struct inbound *inbound,
                    const struct message *message,
                    const struct message_entry *part,
                    const struct envelope *envelope, struct outbox *outbox)
{
    struct entry *entry = entry_find(replicator, part->key);
    int64_t current =
        entry ? versions_get(&entry->envelope.versions, &message->from) : 0;

    if (current >= part->to) {
        replicator->counters.deltas_repeated++;
        REACHED("a delta arrives twice");
        if (message->reply)
            answer_again(replicator, inbound, entry, outbox); /* it exists: numbers start at 1 */
        return false;
    }
    SOMETIMES("a delta arrives from a member that has pruned more",
              is_ahead(entry, envelope));
    if (part->from > current + 1 || is_ahead(entry, envelope)) {
        REACHED("a delta arrives while an earlier one is missing");
        miss(replicator, inbound, message, outbox);
        return false;
    }
    return true;
}

/* Deltas of other implementations contain such markers. */
static void forget_begun(struct pruning *pruning)
{
    for (uint32_t i = pruning->marks.count; i-- > 0;)
        if (!pruning->marks.items[i].is_performed)
            pruning_take(pruning, &pruning->marks.items[i].removed);
}

static bool is_taken(struct replicator *replicator,
                     const struct inbound *inbound,
                     const struct message *message,
                     const struct message_entry *part,
                     struct envelope *envelope, struct outbox *outbox)
{
    if (!dd_needs_causal_delivery(envelope->value))
        return true;
    if (!is_next(replicator, inbound, message, part, envelope, outbox))
        return false;
    versions_fini(&envelope->versions);
    versions_set(&envelope->versions, &message->from, part->to);
    return true;
}

/* True for a change of a value that does not merge here. */
static bool is_opaque(const struct replicator *replicator, struct slice key,
                      const struct envelope *envelope)
{
    const struct entry *entry = entry_find(replicator, key);

    return (entry && entry->envelope.origin) || dd_find_opaque(envelope->value);
}

static void receive_one(struct replicator *replicator,
                        const struct inbound *inbound,
                        const struct message *message,
                        const struct message_entry *part,
                        struct outbox *outbox)
{
    struct envelope envelope = { 0 };

    if (key_is_held(replicator, part->key)) {
        key_use(replicator, part->key, replicator->wall_ms);
        miss(replicator, inbound, message, outbox);
        return;
    }
    if (!envelope_decode(part->bytes, &envelope)) {
        replicator->counters.malformed++;
        return;
    }
    forget_begun(&envelope.pruning);
    if (is_opaque(replicator, part->key, &envelope)) {
        replicator->counters.opaque_deltas++;
        if (message->reply)
            answer(replicator, inbound, MESSAGE_DELTA_NACK, outbox);
    } else if (is_taken(replicator, inbound, message, part, &envelope, outbox) &&
        take_entry(replicator, part->key, &envelope, part->bytes.size,
                   message->reply ? inbound : NULL, outbox))
        replicator->counters.deltas_applied++;
    key_use(replicator, part->key, replicator->wall_ms);
    envelope_fini(&envelope);
}

void deltas_receive(struct replicator *replicator,
                    const struct inbound *inbound,
                    const struct message *message, struct outbox *outbox)
{
    if (replicator->settings.deltas_off) {
        replicator->counters.deltas_refused++;
        if (message->reply)
            answer(replicator, inbound, MESSAGE_DELTA_NACK, outbox);
        return;
    }
    if (is_of_removed(replicator, message)) {
        replicator->counters.removed++;
        REACHED("a delta arrives from a removed member");
        return;
    }
    for (uint32_t i = 0; i < message->count; i++)
        receive_one(replicator, inbound, message, &message->entries[i],
                    outbox);
}
