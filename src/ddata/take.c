/* Merges a received entry into the table, stores it if it is durable, and answers its sender. */
#include "ddata/replicator_inside.h"

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
