/* Answers queries about the whole cluster: the regions, and the number of entities of each
 * shard. */
#include "base/limits.h"
#include "shard/coordinator_state.h"

void cluster_stats_drop(struct cluster_query *query)
{
    buf_fini(&query->path);
    buf_fini(&query->texts);
    vec_fini(&query->remaining);
    vec_fini(&query->addresses);
    vec_fini(&query->counts);
    mem_free(query);
}

static void answer_query(struct coordinator *coordinator,
                         struct cluster_query *query, bool is_complete,
                         struct outbox *outbox)
{
    struct shard_message message = { .kind = SHARD_CLUSTER_STATS };
    struct shard_count *counts =
        mem_alloc(query->counts.count * sizeof *counts);

    if (is_complete) { /* Akka answers with nothing if any region timed out */
        for (uint32_t i = 0; i < query->counts.count; i++) {
            const struct query_count *count = &query->counts.items[i];

            counts[i] = (struct shard_count){
                slice_of(query->texts.data + count->offset, count->size),
                count->value, count->region
            };
        }
        message.addresses = query->addresses.items;
        message.address_count = query->addresses.count;
        message.stats = counts;
        message.stat_count = query->counts.count;
    }
    shard_message_send(outbox, &query->node, buf_slice(&query->path),
                       buf_slice(&coordinator->path), &message,
                       coordinator->identity);
    mem_free(counts);
    for (uint32_t i = 0; i < coordinator->queries.count; i++) {
        if (coordinator->queries.items[i] == query) {
            vec_remove(&coordinator->queries, i);
            break;
        }
    }
    cluster_stats_drop(query);
}

void cluster_stats_ask(struct coordinator *coordinator, uint64_t now,
                       const struct inbound *inbound,
                       const struct shard_message *message,
                       struct outbox *outbox)
{
    struct cluster_query *query;
    uint64_t timeout = message->timeout_ns > 0 ? (uint64_t)message->timeout_ns
                                               : 0;

    if (!inbound->sender.size ||
        coordinator->queries.count >= COORDINATOR_QUERIES_MAX) {
        coordinator->counters.dropped_full++;
        return;
    }
    query = mem_alloc(sizeof *query);
    query->node = inbound->from;
    buf_put_slice(&query->path, inbound->sender);
    query->number = ++coordinator->query_number;
    vec_push(&coordinator->queries, query);
    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        struct registrant *region = coordinator->regions.items[i];

        if (region->is_proxy || region->is_terminating ||
            !region->is_registered)
            continue;
        vec_push(&query->remaining, region);
        coordinator_tell(coordinator, region,
                         (struct shard_message){
                             .kind = SHARD_GET_REGION_STATS },
                         outbox);
    }
    if (timeout > 3600 * SECOND)
        timeout = 3600 * SECOND;
    timers_put(&coordinator->timers, now + timeout, TIMER_STATS,
               query->number, 0);
    if (!query->remaining.count)
        answer_query(coordinator, query, true, outbox);
}

static bool take_remaining(struct cluster_query *query,
                           const struct registrant *region)
{
    for (uint32_t i = 0; i < query->remaining.count; i++) {
        if (query->remaining.items[i] == region) {
            vec_remove(&query->remaining, i);
            return true;
        }
    }
    return false;
}

/* Adds a shard of the region that answers. */
static void add_count(struct cluster_query *query, struct slice shard, int32_t value)
{
    struct query_count count = { query->texts.size, shard.size, value,
                                 query->addresses.count };

    buf_put_slice(&query->texts, shard);
    vec_push(&query->counts, count);
}

void cluster_stats_answer(struct coordinator *coordinator,
                          const struct inbound *inbound,
                          const struct shard_message *message,
                          struct outbox *outbox)
{
    struct registrant *region =
        registrant_of(coordinator, &inbound->from, inbound->sender);

    if (!region) {
        coordinator->counters.stranger++;
        return;
    }
    for (uint32_t i = coordinator->queries.count; i-- > 0;) {
        struct cluster_query *query = coordinator->queries.items[i];

        if (!take_remaining(query, region))
            continue;
        for (uint32_t j = 0; j < message->stat_count; j++)
            add_count(query, message->stats[j].key, message->stats[j].value);
        for (uint32_t j = 0; j < message->failed_count; j++)
            add_count(query, message->failed[j], -1);
        vec_push(&query->addresses, region->node.address);
        if (!query->remaining.count)
            answer_query(coordinator, query, true, outbox);
    }
}

void cluster_stats_timeout(struct coordinator *coordinator, uint64_t number,
                           struct outbox *outbox)
{
    for (uint32_t i = 0; i < coordinator->queries.count; i++) {
        if (coordinator->queries.items[i]->number != number)
            continue;
        answer_query(coordinator, coordinator->queries.items[i], false,
                     outbox);
        return;
    }
}

void cluster_stats_forget(struct coordinator *coordinator,
                          const struct registrant *region, struct outbox *outbox)
{
    for (uint32_t i = coordinator->queries.count; i-- > 0;) {
        struct cluster_query *query = coordinator->queries.items[i];

        if (take_remaining(query, region) && !query->remaining.count)
            answer_query(coordinator, query, true, outbox);
    }
}
