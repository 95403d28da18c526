/* Processes received statuses and gossips in order, one at a time, each in as many steps as it
 * needs. Waiting ones are kept as bytes up to a limit; later rounds repeat dropped ones. */
#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

static void begin(struct replicator *replicator, const struct node_id *from,
                  struct slice sender, struct message *message)
{
    if (message->kind == MESSAGE_STATUS)
        compare_begin(replicator, from, sender, message);
    else
        gossip_begin(replicator, from, sender, message);
}

bool arrive_is_busy(const struct replicator *replicator)
{
    return replicator->comparison.is_on || replicator->taking.is_on;
}

static void drop_kept(struct replicator *replicator, uint32_t index)
{
    struct arrival *arrival = &replicator->arrivals.items[index];

    replicator->arrival_bytes -= arrival->payload.size;
    buf_fini(&arrival->sender);
    buf_fini(&arrival->payload);
    vec_remove(&replicator->arrivals, index);
}

static void keep(struct replicator *replicator, const struct inbound *inbound,
                 enum message_kind kind)
{
    struct arrival arrival = { .kind = kind, .from = inbound->from };

    buf_put_slice(&arrival.sender, inbound->sender);
    buf_put_slice(&arrival.payload, inbound->payload);
    replicator->arrival_bytes += arrival.payload.size;
    vec_push(&replicator->arrivals, arrival);
    while (replicator->arrivals.count > REPLICATOR_ARRIVALS_MAX ||
           replicator->arrival_bytes > REPLICATOR_ARRIVAL_BYTES_MAX) {
        replicator->counters.gossip_dropped++;
        drop_kept(replicator, 0);
    }
    BOUNDED("gossips that wait for those before them",
            replicator->arrivals.count, REPLICATOR_ARRIVALS_MAX);
    BOUNDED("bytes of gossips that wait for those before them",
            replicator->arrival_bytes, REPLICATOR_ARRIVAL_BYTES_MAX);
}

static void begin_next(struct replicator *replicator)
{
    const struct arrival *arrival;
    struct message message;

    if (!replicator->arrivals.count)
        return;
    arrival = &replicator->arrivals.items[0];
    /* it was decoded before */
    check(message_get(arrival->kind, buf_slice(&arrival->payload), &message));
    begin(replicator, &arrival->from, buf_slice(&arrival->sender), &message);
    drop_kept(replicator, 0);
}

void arrive_go_on(struct replicator *replicator, struct outbox *outbox)
{
    while (arrive_is_busy(replicator) &&
           (replicator->comparison.is_on ? compare_go_on(replicator, outbox)
                                         : gossip_take(replicator, outbox)))
        begin_next(replicator);
}

void arrive_receive(struct replicator *replicator,
                    const struct inbound *inbound, struct message *message,
                    struct outbox *outbox)
{
    replicator->counters.statuses += message->kind == MESSAGE_STATUS;
    replicator->counters.gossips += message->kind == MESSAGE_GOSSIP;
    if (arrive_is_busy(replicator)) {
        keep(replicator, inbound, message->kind);
        return;
    }
    begin(replicator, &inbound->from, inbound->sender, message);
    arrive_go_on(replicator, outbox);
}

static bool is_from(const struct node_id *from, const struct node_id *node)
{
    return !node || node_equal(from, node);
}

void arrive_forget(struct replicator *replicator, const struct node_id *node)
{
    for (uint32_t i = replicator->arrivals.count; i-- > 0;)
        if (is_from(&replicator->arrivals.items[i].from, node))
            drop_kept(replicator, i);
    if (replicator->comparison.is_on &&
        is_from(&replicator->comparison.answer.to, node))
        compare_end(replicator);
    if (replicator->taking.is_on &&
        is_from(&replicator->taking.answer.to, node))
        gossip_end(replicator);
    if (!arrive_is_busy(replicator))
        begin_next(replicator);
}
