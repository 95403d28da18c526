/* Reads from several replicas. Results are merged into the local table, which then has the answer.
 * Other replicas converge by gossip. */
#include "base/mark.h"
#include "ddata/replicator_inside.h"

static void end(struct replicator *replicator, struct aggregator *aggregator,
                bool is_good)
{
    struct entry *entry = entry_find(replicator, aggregator->key);
    enum replicator_answer answer = REPLICATOR_GET_FAILURE;

    key_use(replicator, aggregator->key, replicator->wall_ms);
    is_good = is_good && !aggregator->has_nack;
    if (key_is_held(replicator, aggregator->key))
        answer = is_good && hold_look(replicator, aggregator->key, 0)
                     ? REPLICATOR_SUCCESS
                     : REPLICATOR_HELD;
    else if (is_good && !entry)
        answer = REPLICATOR_NOT_FOUND;
    else if (is_good)
        answer = entry_is_there(entry) ? REPLICATOR_SUCCESS
                                       : REPLICATOR_DELETED;
    news_answer(replicator, aggregator->token, answer, aggregator->key);
    aggregator_end(replicator, aggregator);
}

static void send(struct replicator *replicator,
                 const struct aggregator *aggregator, uint32_t first,
                 uint32_t count, struct outbox *outbox)
{
    struct message_entry part = { .key = aggregator->key };
    struct buf payload = { 0 };

    message_put(&payload,
                &(struct message){ .kind = MESSAGE_READ,
                                   .entries = &part,
                                   .count = 1,
                                   .from = replicator->replicas.self });
    aggregator_send(replicator, aggregator, first, count, MESSAGE_READ,
                    buf_slice(&payload), outbox);
    buf_fini(&payload);
}

void read_begin(struct replicator *replicator, struct aggregator *aggregator,
                struct outbox *outbox)
{
    aggregator->is_read = true;
    if (aggregator_lacks_nodes(aggregator)) {
        end(replicator, aggregator, false);
        return;
    }
    if ((int64_t)aggregator->remaining <= aggregator->done_when) {
        end(replicator, aggregator, true);
        return;
    }
    send(replicator, aggregator, 0, aggregator->primary_count, outbox);
}

void read_receive(struct replicator *replicator, struct aggregator *aggregator,
                  const struct inbound *inbound, const struct message *message,
                  struct outbox *outbox)
{
    struct target *target =
        aggregator_target(aggregator, &inbound->from.address);
    struct envelope envelope = { 0 };
    size_t size = 0;

    if (!target) {
        replicator->counters.not_asked++;
        return;
    }
    if (message->count) {
        size = message->entries[0].bytes.size;
        if (!envelope_decode(message->entries[0].bytes, &envelope)) {
            replicator->counters.malformed++;
            return;
        }
        origin_label(replicator, aggregator->key, &envelope,
                     &(struct arrived){ .from = &target->node,
                                        .way = ORIGIN_READ,
                                        .size = size });
        SOMETIMES("a read brings a key that was not here",
                  !entry_find(replicator, aggregator->key));
    }
    if (hold_take(replicator, aggregator->key, &target->node, &envelope,
                  &size) &&
        envelope.value &&
        !take_entry(replicator, aggregator->key, &envelope, size, NULL,
                    outbox))
        aggregator->has_nack = true;
    envelope_fini(&envelope);
    if (!inbound->sender.size)
        return; /* a part of the answer */
    aggregator_done(aggregator, target);
    if ((int64_t)aggregator->remaining <= aggregator->done_when)
        end(replicator, aggregator, true);
}

void read_secondary(struct replicator *replicator,
                    struct aggregator *aggregator, struct outbox *outbox)
{
    SOMETIMES("a read asks replicas beyond the first ones",
              aggregator->secondary_count);
    send(replicator, aggregator, aggregator->primary_count,
         aggregator->secondary_count, outbox);
}

void read_timeout(struct replicator *replicator,
                  struct aggregator *aggregator)
{
    REACHED("a read ends without enough answers");
    end(replicator, aggregator, false);
}
