/* Asks members for their states of single keys. A JVM's write of a type with deltas contains only
 * the change, which cannot be told from a state here: it is acknowledged when the state has come. */
#include "base/bound.h"
#include "base/hash.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

#define PULL_TICKS 15 /* rounds of gossip, then the writer does not wait either */

/* As in Akka: the remainder of a signed division without its sign. */
static uint32_t chunk_of(struct slice key)
{
    int32_t rest = hash_java(key) % INT32_MAX;

    return (uint32_t)(rest < 0 ? -rest : rest);
}

/* A status of a part of the keys that has, nearly always, only this one, with a digest that
 * differs. */
void pull_ask(struct replicator *replicator, struct slice key,
              const struct node_id *to, struct outbox *outbox)
{
    static const uint8_t none[1] = { 0xff };
    struct message_entry entry = { .key = key,
                                   .bytes = slice_of(none, sizeof none) };
    struct message status = { .kind = MESSAGE_STATUS,
                              .entries = &entry,
                              .count = 1,
                              .chunks = INT32_MAX,
                              .has_to_uid = true,
                              .to_uid = to->uid,
                              .has_from_uid = true,
                              .from_uid = replicator->replicas.self.uid };
    struct buf payload = { 0 };

    status.chunk = chunk_of(key);
    message_put(&payload, &status);
    send_peer(replicator, to, buf_slice(&replicator->path), MESSAGE_STATUS,
              buf_slice(&payload), outbox);
    buf_fini(&payload);
}

static void drop_pull(struct replicator *replicator, uint32_t index)
{
    struct pull *pull = &replicator->pulls.items[index];

    mem_free((void *)(uintptr_t)pull->key.data);
    mem_free((void *)(uintptr_t)pull->recipient.data);
    vec_remove(&replicator->pulls, index);
}

static struct slice copy_of(struct slice text)
{
    return slice_of(mem_copy(text.data, text.size), text.size);
}

void pull_begin(struct replicator *replicator, struct slice key,
                const struct inbound *inbound, int64_t version,
                struct outbox *outbox)
{
    struct pull pull = { .from = inbound->from, .version = version };

    if (!inbound->sender.size)
        return;
    if (replicator->pulls.count >= REPLICATOR_PULLS_MAX) {
        replicator->counters.pulls_lost++;
        return;
    }
    pull.key = copy_of(key);
    pull.recipient = copy_of(inbound->sender);
    vec_push(&replicator->pulls, pull);
    BOUNDED("writes that wait for the whole value", replicator->pulls.count,
            REPLICATOR_PULLS_MAX);
    pull_ask(replicator, key, &inbound->from, outbox);
}

static void acknowledge(struct replicator *replicator, struct entry *entry,
                        const struct pull *pull, struct outbox *outbox)
{
    struct storing storing = { .purpose = DURABLE_FOR_PEER,
                               .to = pull->from,
                               .recipient = pull->recipient };

    for (uint32_t i = 0; entry->envelope.origin && i < opaque_count(&entry->envelope); i++) {
        struct origin *origin = opaque_at(&entry->envelope, i)->origin;

        if (node_equal(&origin->node, &pull->from))
            origin->is_acknowledged = true;
    }
    if (entry->is_durable && durable_store_entry(replicator, entry, &storing))
        return; /* answered later */
    send_answer(replicator, &pull->from, pull->recipient,
                entry->is_durable ? MESSAGE_WRITE_NACK : MESSAGE_WRITE_ACK,
                slice_of(NULL, 0), outbox);
}

void pull_end(struct replicator *replicator, struct slice key,
              const struct node_id *from, int64_t version,
              struct outbox *outbox)
{
    struct entry *entry = entry_find(replicator, key);

    for (uint32_t i = replicator->pulls.count; entry && i-- > 0;) {
        const struct pull *pull = &replicator->pulls.items[i];

        if (version < pull->version || !node_equal(&pull->from, from) ||
            !slice_equal(pull->key, key))
            continue;
        acknowledge(replicator, entry, pull, outbox);
        drop_pull(replicator, i);
    }
}

/* Asks once more for what has not come: a message may be lost with a connection. */
void pulls_tick(struct replicator *replicator, struct outbox *outbox)
{
    for (uint32_t i = replicator->pulls.count; i-- > 0;) {
        struct pull *pull = &replicator->pulls.items[i];

        if (++pull->ticks > PULL_TICKS) {
            replicator->counters.pulls_lost++;
            drop_pull(replicator, i);
        } else if (pull->ticks > 1) {
            pull_ask(replicator, pull->key, &pull->from, outbox);
        }
    }
}

void pulls_forget(struct replicator *replicator, const struct node_id *node)
{
    for (uint32_t i = replicator->pulls.count; i-- > 0;)
        if (!node || node_equal(&replicator->pulls.items[i].from, node))
            drop_pull(replicator, i);
    if (!replicator->pulls.count)
        vec_fini(&replicator->pulls);
}
