/* Spreads large work over several steps: a value sent to many replicas, and digests computed after
 * many changes.
 *
 * A write of 64 KB to a majority of a thousand replicas copies 32 MB. A status message that this
 * node sends or receives needs the digest of every changed value, and a digest needs the packed,
 * deflated value. A message that waits for a later step keeps its place in the order. */
#include "base/check.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

#define DEFLATION 16 /* cost of deflating a byte, in hashed bytes */
/* more for each value: zlib clears 268 KB for it, which takes 4 us, or 70 with new memory from the
 * system */
#define DEFLATION_BASE 512

void replicator_room_fill(struct replicator_room *room)
{
    *room = (struct replicator_room){ REPLICATOR_STEP_MESSAGES,
                                      REPLICATOR_STEP_BYTES,
                                      REPLICATOR_STEP_DIGESTED };
}

static void spend(uint32_t *room, size_t cost)
{
    *room -= cost < *room ? (uint32_t)cost : *room;
}

/* ---- one message to several ---- */

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
        spend(&room->messages, 1);
        spend(&room->bytes, payload.size);
    }
    buf_fini(&sender);
    return first;
}

/* Ended aggregators send nothing more. */
static void send_on(struct replicator *replicator, struct outbox *outbox)
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
        send_on(replicator, outbox);
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

/* ---- digests ---- */

static size_t cost_of(const struct entry *entry)
{
    return entry->envelope.value && dd_deflates(entry->envelope.value)
               ? (entry->size + DEFLATION_BASE) * DEFLATION
               : entry->size;
}

bool room_is_spent(struct replicator *replicator, size_t cost)
{
    if (!replicator->room->digested)
        return false;
    spend(&replicator->room->digested, cost);
    return true;
}

bool room_is_taken(struct replicator *replicator, const struct entry *entry)
{
    return room_is_spent(replicator, cost_of(entry));
}

bool room_is_spent_on(struct replicator *replicator, size_t size)
{
    return room_is_spent(replicator, size * DEFLATION);
}

/* ---- steps ---- */

bool replicator_waits(const struct replicator *replicator)
{
    return replicator->sendings.count || replicator->round.is_waiting ||
           replicator->is_pruning || replicator->expiring.is_on ||
           arrive_is_busy(replicator);
}

static void round_go_on(struct replicator *replicator, struct outbox *outbox)
{
    if (replicator->round.is_waiting)
        gossip_go_on(replicator, outbox);
}

/* Each replicator that shares a room processes at least one value. This node's status and
 * received gossip alternate as first, so that neither blocks the other. Pruning is last, with at
 * least one entry. */
void turns_step(struct replicator *replicator, struct outbox *outbox)
{
    bool is_round_first = replicator->is_round_first;

    replicator_room_fill(&replicator->own_room);
    expire_go_on(replicator);
    if (!replicator->room->digested)
        replicator->room->digested = 1;
    send_on(replicator, outbox);
    replicator->is_round_first = !is_round_first;
    if (is_round_first)
        round_go_on(replicator, outbox);
    arrive_go_on(replicator, outbox);
    if (!is_round_first)
        round_go_on(replicator, outbox);
    prune_go_on(replicator);
}

void turns_forget(struct replicator *replicator, const struct node_id *node)
{
    if (node_equal(&replicator->round.to, node))
        replicator->round.is_waiting = false;
    arrive_forget(replicator, node);
}

void turns_end(struct replicator *replicator)
{
    for (uint32_t i = 0; i < replicator->sendings.count; i++)
        buf_fini(&replicator->sendings.items[i].payload);
    vec_fini(&replicator->sendings);
    replicator->sending_bytes = 0;
    replicator->round.is_waiting = replicator->is_pruning = false;
    replicator->expiring.is_on = false;
    arrive_forget(replicator, NULL);
    vec_fini(&replicator->arrivals);
}
