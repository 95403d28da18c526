/* Sends one message to several replicas, in as many steps as it needs.
 *
 * A write of 64 KB to a majority of a thousand replicas copies 32 MB. */
#include "base/limits.h"
#include "ddata/replicator_inside.h"

/* Returns the first target without room. */
static uint32_t send_some(struct replicator *replicator,
                          const struct aggregator *aggregator, uint32_t first,
                          uint32_t end, enum message_kind kind,
                          struct slice payload, struct outbox *outbox)
{
    struct replicator_room *room = replicator->room;
    struct buf sender = { 0 };

    aggregator_path_put(replicator, aggregator, &sender);
    for (; first < end && room->messages && room->bytes; first++) {
        if (aggregator->targets[first].is_done)
            continue;
        send_peer(replicator, &aggregator->targets[first].node,
                  buf_slice(&sender), kind, payload, outbox);
        room_spend(&room->messages, 1);
        room_spend(&room->bytes, payload.size);
    }
    buf_fini(&sender);
    return first;
}

/* Ended aggregators send nothing more. */
void sendings_go_on(struct replicator *replicator, struct outbox *outbox)
{
    uint32_t done = 0;

    for (; done < replicator->sendings.count; done++) {
        struct sending *sending = &replicator->sendings.items[done];
        const struct aggregator *aggregator =
            aggregator_by_id(replicator, sending->aggregator);

        if (aggregator)
            sending->next =
                send_some(replicator, aggregator, sending->next, sending->end,
                          sending->kind, buf_slice(&sending->payload), outbox);
        if (aggregator && sending->next < sending->end)
            break;
        replicator->sending_bytes -= sending->payload.size;
        buf_fini(&sending->payload);
    }
    if (!done)
        return;
    replicator->sendings.count -= done;
    memmove(replicator->sendings.items, replicator->sendings.items + done,
            replicator->sendings.count * sizeof *replicator->sendings.items);
}

void aggregator_send(struct replicator *replicator,
                     const struct aggregator *aggregator, uint32_t first,
                     uint32_t count, enum message_kind kind,
                     struct slice payload, struct outbox *outbox)
{
    struct sending sending = { .aggregator = aggregator->id,
                               .kind = kind,
                               .end = first + count };

    sending.next = first;
    while (replicator->sending_bytes >= REPLICATOR_SENDING_BYTES_MAX) {
        replicator_room_fill(replicator->room);
        sendings_go_on(replicator, outbox);
    }
    if (!replicator->sendings.count)
        sending.next = send_some(replicator, aggregator, first, sending.end,
                                 kind, payload, outbox);
    if (sending.next == sending.end)
        return;
    buf_put_slice(&sending.payload, payload);
    replicator->sending_bytes += payload.size;
    vec_push(&replicator->sendings, sending);
}

void sendings_end(struct replicator *replicator)
{
    for (uint32_t i = 0; i < replicator->sendings.count; i++)
        buf_fini(&replicator->sendings.items[i].payload);
    vec_fini(&replicator->sendings);
    replicator->sending_bytes = 0;
}
