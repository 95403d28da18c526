/* Implements the network and the stores of the tests. */
#include "cluster.h"

#include <stdio.h>

#include "base/check.h"

#define DELAY_MIN (200 * UINT64_C(1000))
#define DELAY_SPREAD (4 * MS)
#define PORT 2551

const struct consistency local = { .level = CONSISTENCY_LOCAL };

struct consistency to_count(uint32_t count, uint64_t timeout_ms)
{
    return (struct consistency){ CONSISTENCY_COUNT, count, 0, timeout_ms };
}

struct consistency to_majority(uint64_t timeout_ms)
{
    return (struct consistency){ CONSISTENCY_MAJORITY, 0, 0, timeout_ms };
}

struct consistency to_all(uint64_t timeout_ms)
{
    return (struct consistency){ CONSISTENCY_ALL, 0, 0, timeout_ms };
}

struct cluster *cluster_new(uint64_t seed)
{
    struct cluster *cluster = mem_alloc(sizeof *cluster);

    rng_init(&cluster->rng, seed);
    cluster->now = 1 * SECOND;
    return cluster;
}

static void free_flying(struct flying *flying)
{
    if (flying)
        buf_fini(&flying->bytes);
    mem_free(flying);
}

static void forget(struct replica_node *node)
{
    replicator_free(node->replicator);
    node->replicator = NULL;
    for (uint32_t i = 0; i < node->answered.count; i++)
        dd_free(node->answered.items[i].value);
    for (uint32_t i = 0; i < node->told.count; i++)
        dd_free(node->told.items[i].value);
    vec_fini(&node->answered);
    vec_fini(&node->told);
    vec_fini(&node->modify);
}

void cluster_free(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        struct replica_node *node = &cluster->nodes[i];

        forget(node);
        for (uint32_t k = 0; k < node->store.count; k++)
            buf_fini(&node->store.items[k].bytes);
        vec_fini(&node->store);
    }
    for (uint32_t i = 0; i < cluster->flying.count; i++)
        free_flying(cluster->flying.items[i]);
    vec_fini(&cluster->flying);
    timers_fini(&cluster->arrivals);
    mem_free(cluster);
}

static void send(struct cluster *cluster, uint32_t from,
                 const struct outbound *out)
{
    uint32_t to = (uint32_t)out->to.address.port - PORT;
    uint64_t at =
        cluster->now + DELAY_MIN + rng_below(&cluster->rng, DELAY_SPREAD);
    struct flying *flying;

    check(out->serializer == REPLICATOR_SERIALIZER && out->manifest.size == 1);
    cluster->sent++;
    cluster->sent_of[out->manifest.data[0]]++;
    if (to >= cluster->count || !cluster->nodes[to].replicator ||
        cluster->nodes[from].side != cluster->nodes[to].side ||
        out->manifest.data[0] == (uint8_t)cluster->dropped ||
        rng_below(&cluster->rng, 100) < cluster->loss_percent)
        return;
    if (cluster->is_ordered && at <= cluster->last_arrival[from][to])
        at = cluster->last_arrival[from][to] + 1;
    cluster->last_arrival[from][to] = at;
    flying = mem_alloc(sizeof *flying);
    flying->from = from;
    flying->from_uid = cluster->nodes[from].identity.node.uid;
    flying->to = to;
    flying->to_uid = out->to.uid;
    buf_put_slice(&flying->bytes, out->sender);
    buf_put_slice(&flying->bytes, path_plain(out->recipient));
    buf_put_slice(&flying->bytes, out->manifest);
    buf_put_slice(&flying->bytes, out->payload);
    flying->sizes[0] = out->sender.size;
    flying->sizes[1] = path_plain(out->recipient).size;
    flying->sizes[2] = out->manifest.size;
    flying->sizes[3] = out->payload.size;
    timers_put(&cluster->arrivals, at, 0, cluster->flying.count, 0);
    vec_push(&cluster->flying, flying);
}

static void store(struct replica_node *node, const struct replicator_news *news)
{
    struct stored *found = NULL;

    for (uint32_t i = 0; i < node->store.count; i++)
        if (slice_is(news->key, node->store.items[i].key))
            found = &node->store.items[i];
    if (!found) {
        struct stored fresh = { .writes = 0 };

        check(news->key.size < sizeof fresh.key);
        memcpy(fresh.key, news->key.data, news->key.size);
        vec_push(&node->store, fresh);
        found = &node->store.items[node->store.count - 1];
    }
    found->writes++;
    buf_clear(&found->bytes);
    buf_put_slice(&found->bytes, news->bytes);
}

static void forget_stored(struct replica_node *node, struct slice key)
{
    for (uint32_t i = node->store.count; i-- > 0;) {
        if (!slice_is(key, node->store.items[i].key))
            continue;
        buf_fini(&node->store.items[i].bytes);
        vec_remove(&node->store, i);
    }
}

static void keep_news(struct cluster *cluster, struct replica_node *node,
                      const struct replicator_news *news)
{
    struct told told = { .token = news->token, .kind = news->kind };

    switch (news->kind) {
    case REPLICATOR_NEWS_ANSWER:
        vec_push(&node->answered,
                 ((struct answered){
                     news->token, news->answer,
                     news->value ? dd_copy(news->value) : NULL,
                     cluster->now }));
        break;
    case REPLICATOR_NEWS_CHANGED:
    case REPLICATOR_NEWS_REMOVED:
    case REPLICATOR_NEWS_EXPIRED:
        check(news->key.size < sizeof told.key);
        memcpy(told.key, news->key.data, news->key.size);
        told.value = news->value ? dd_copy(news->value) : NULL;
        vec_push(&node->told, told);
        break;
    case REPLICATOR_NEWS_MODIFY:
        vec_push(&node->modify, news->token);
        break;
    case REPLICATOR_NEWS_STORE:
        if (node->mood == STORE_GOOD)
            store(node, news);
        break;
    case REPLICATOR_NEWS_FORGET:
        forget_stored(node, news->key);
        break;
    case REPLICATOR_NEWS_ENDED:
        node->has_ended = true;
        break;
    }
}

/* Reads all news, answers for the store, sends. */
static void flush(struct cluster *cluster, uint32_t index,
                  struct outbox *outbox)
{
    struct replica_node *node = &cluster->nodes[index];
    VEC(uint64_t) tickets = { 0 };
    struct replicator_news news;
    struct outbound out;

    do {
        while (tickets.count)
            replicator_stored(node->replicator, cluster->now,
                              tickets.items[--tickets.count],
                              node->mood == STORE_GOOD, outbox);
        while (replicator_next_news(node->replicator, &news)) {
            keep_news(cluster, node, &news);
            if (news.kind == REPLICATOR_NEWS_STORE && news.ticket &&
                node->mood != STORE_SILENT)
                vec_push(&tickets, news.ticket);
        }
    } while (tickets.count);
    vec_fini(&tickets);
    while (outbox_next(outbox, &out))
        send(cluster, index, &out);
}

static void tell_wall(struct cluster *cluster, uint32_t index)
{
    replicator_wall(cluster->nodes[index].replicator,
                    CLUSTER_WALL_MS + (int64_t)(cluster->now / MS));
}

static void create(struct cluster *cluster, uint32_t index)
{
    struct replica_node *node = &cluster->nodes[index];
    struct outbox outbox = { 0 };

    node->identity.node.uid = rng_next(&cluster->rng) | 1;
    node->writer = (struct dd_writer){ .node = node->identity.node };
    node->has_ended = false;
    node->replicator = replicator_new(
        &(struct replicator_options){
            .identity = &node->identity,
            .path = CLUSTER_PATH,
            .settings = cluster->settings,
            .durable_keys = cluster->durable_keys,
            .durable_key_count = cluster->durable_key_count,
            .expiries = cluster->expiries,
            .expiry_count = cluster->expiry_count,
            .writer = &node->writer,
            .seed = rng_next(&cluster->rng),
        },
        cluster->now);
    tell_wall(cluster, index);
    if (cluster->durable_key_count) {
        for (uint32_t i = 0; i < node->store.count; i++)
            replicator_load(node->replicator, cluster->now,
                            slice_text(node->store.items[i].key),
                            buf_slice(&node->store.items[i].bytes));
        replicator_loaded(node->replicator, cluster->now, true, &outbox);
    }
    flush(cluster, index, &outbox);
    outbox_fini(&outbox);
}

void cluster_peer(struct cluster *cluster, uint32_t index, uint32_t of,
                  enum member_status status, bool is_reachable)
{
    const struct replica_node *other = &cluster->nodes[of];

    replicator_peer(cluster->nodes[index].replicator, cluster->now,
                    &(struct member_info){
                        .node = other->identity.node,
                        .up_number = status == MEMBER_JOINING ||
                                             status == MEMBER_WEAKLY_UP
                                         ? INT32_MAX
                                         : other->up_number,
                        .status = status,
                        .reachable = is_reachable,
                        .has_role = true,
                    });
}

static void introduce(struct cluster *cluster, uint32_t index)
{
    cluster->nodes[index].up_number = (int32_t)index + 1;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (!cluster->nodes[i].replicator)
            continue;
        cluster_peer(cluster, index, i, MEMBER_UP, true);
        if (i != index)
            cluster_peer(cluster, i, index, MEMBER_UP, true);
    }
}

uint32_t cluster_add(struct cluster *cluster)
{
    uint32_t index = cluster->count++;
    struct replica_node *node = &cluster->nodes[index];

    check(index < CLUSTER_NODES_MAX);
    node->identity = (struct identity){ .protocol = "akka", .system = "Test" };
    check(address_set(&node->identity.node.address, "10.0.0.1", 8,
                      PORT + index));
    create(cluster, index);
    introduce(cluster, index);
    return index;
}

struct cluster *cluster_of(uint64_t seed, uint32_t count)
{
    struct cluster *cluster = cluster_new(seed);

    for (uint32_t i = 0; i < count; i++)
        (void)cluster_add(cluster);
    return cluster;
}

void cluster_remove(struct cluster *cluster, uint32_t index)
{
    struct node_id node = cluster->nodes[index].identity.node;

    forget(&cluster->nodes[index]);
    for (uint32_t i = 0; i < cluster->count; i++)
        if (cluster->nodes[i].replicator)
            replicator_peer_removed(cluster->nodes[i].replicator, cluster->now,
                                    &node);
}

void cluster_restart(struct cluster *cluster, uint32_t index)
{
    cluster_remove(cluster, index);
    create(cluster, index);
    introduce(cluster, index);
}

void cluster_split(struct cluster *cluster, uint32_t first_count)
{
    for (uint32_t i = 0; i < cluster->count; i++)
        cluster->nodes[i].side = i < first_count ? 0 : 1;
    for (uint32_t i = 0; i < cluster->count; i++)
        for (uint32_t k = 0; k < cluster->count; k++)
            if (cluster->nodes[i].side != cluster->nodes[k].side)
                cluster_peer(cluster, i, k, MEMBER_UP, false);
}

void cluster_heal(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->count; i++)
        cluster->nodes[i].side = 0;
    for (uint32_t i = 0; i < cluster->count; i++)
        for (uint32_t k = 0; k < cluster->count; k++)
            if (i != k && cluster->nodes[i].replicator &&
                cluster->nodes[k].replicator)
                cluster_peer(cluster, i, k, MEMBER_UP, true);
}

void cluster_hand_over(struct cluster *cluster, uint32_t index,
                       const struct inbound *inbound)
{
    struct outbox outbox = { 0 };

    tell_wall(cluster, index);
    replicator_receive(cluster->nodes[index].replicator, cluster->now, inbound,
                       &outbox);
    flush(cluster, index, &outbox);
    outbox_fini(&outbox);
}

static void arrive(struct cluster *cluster, struct flying *flying)
{
    struct replica_node *to = &cluster->nodes[flying->to];
    struct inbound inbound = {
        .from = cluster->nodes[flying->from].identity.node,
        .serializer = REPLICATOR_SERIALIZER,
    };
    const uint8_t *at = flying->bytes.data;

    inbound.from.uid = flying->from_uid;
    inbound.sender = slice_of(at, flying->sizes[0]);
    inbound.recipient = slice_of(at += flying->sizes[0], flying->sizes[1]);
    inbound.manifest = slice_of(at += flying->sizes[1], flying->sizes[2]);
    inbound.payload = slice_of(at += flying->sizes[2], flying->sizes[3]);
    if (to->replicator && (!flying->to_uid ||
                           flying->to_uid == to->identity.node.uid)) {
        check(replicator_is_recipient(to->replicator, inbound.recipient));
        (cluster->deliver ? cluster->deliver
                          : cluster_hand_over)(cluster, flying->to, &inbound);
    }
    free_flying(flying);
}

void cluster_inject(struct cluster *cluster, uint32_t from, uint32_t to,
                    const char *recipient, const char *manifest,
                    struct slice payload)
{
    cluster_hand_over(cluster, to,
                      &(struct inbound){
                          .from = cluster->nodes[from].identity.node,
                          .sender = slice_text(CLUSTER_PATH "#1"),
                          .recipient = slice_text(recipient),
                          .manifest = slice_text(manifest),
                          .payload = payload,
                          .serializer = REPLICATOR_SERIALIZER,
                      });
}

static uint64_t next_at(const struct cluster *cluster, uint32_t *index)
{
    uint64_t at = NEVER;

    for (uint32_t i = 0; i < cluster->count; i++) {
        uint64_t deadline;

        if (!cluster->nodes[i].replicator)
            continue;
        deadline = replicator_deadline(cluster->nodes[i].replicator);
        if (deadline < at) {
            at = deadline;
            *index = i;
        }
    }
    return at;
}

void cluster_run(struct cluster *cluster, uint64_t duration)
{
    uint64_t end = cluster->now + duration;

    for (;;) {
        uint32_t index = 0;
        uint64_t step_at = next_at(cluster, &index);
        uint64_t arrival_at = timers_deadline(&cluster->arrivals);
        struct outbox outbox = { 0 };
        struct timer timer;

        if (step_at > end && arrival_at > end)
            break;
        if (arrival_at <= step_at) {
            cluster->now = arrival_at;
            check(timers_take(&cluster->arrivals, arrival_at, &timer));
            arrive(cluster, cluster->flying.items[timer.id]);
            cluster->flying.items[timer.id] = NULL;
            continue;
        }
        if (step_at > cluster->now) /* otherwise more work is due at once */
            cluster->now = step_at;
        tell_wall(cluster, index);
        replicator_step(cluster->nodes[index].replicator, cluster->now,
                        &outbox);
        flush(cluster, index, &outbox);
        outbox_fini(&outbox);
    }
    cluster->now = end;
}

static bool has_all_of(const struct replicator *left,
                       const struct replicator *right)
{
    struct slice key;
    uint32_t at = 0;

    while (replicator_next_key(right, &at, &key)) {
        const struct dd_value *value = replicator_look(left, key);

        if (!value || !dd_equal(value, replicator_look(right, key)))
            return false;
    }
    return true;
}

bool cluster_is_same(struct cluster *cluster)
{
    const struct replicator *first = NULL;

    for (uint32_t i = 0; i < cluster->count; i++) {
        const struct replicator *other = cluster->nodes[i].replicator;

        if (!other)
            continue;
        if (!first)
            first = other;
        else if (!has_all_of(first, other) || !has_all_of(other, first))
            return false;
    }
    return true;
}

bool cluster_converge(struct cluster *cluster, uint64_t limit)
{
    uint64_t end = cluster->now + limit;

    while (cluster->now < end && !cluster_is_same(cluster))
        cluster_run(cluster, 100 * MS);
    return cluster_is_same(cluster);
}

static uint64_t begin(struct cluster *cluster, uint32_t index)
{
    tell_wall(cluster, index);
    return ++cluster->token;
}

uint64_t do_get(struct cluster *cluster, uint32_t index, const char *key,
                struct consistency consistency)
{
    uint64_t token = begin(cluster, index);
    struct outbox outbox = { 0 };

    replicator_get(cluster->nodes[index].replicator, cluster->now, token,
                   slice_text(key), &consistency, &outbox);
    flush(cluster, index, &outbox);
    outbox_fini(&outbox);
    return token;
}

uint64_t do_delete(struct cluster *cluster, uint32_t index, const char *key,
                   struct consistency consistency)
{
    uint64_t token = begin(cluster, index);
    struct outbox outbox = { 0 };

    replicator_delete(cluster->nodes[index].replicator, cluster->now, token,
                      slice_text(key), &consistency, &outbox);
    flush(cluster, index, &outbox);
    outbox_fini(&outbox);
    return token;
}

/* A copy of the present value, or a new one; null: the command has ended. */
static struct dd_value *begin_update(struct cluster *cluster, uint32_t index,
                                     uint64_t token, const char *key,
                                     enum dd_kind kind, struct outbox *outbox)
{
    const struct dd_value *current;

    if (replicator_update_begin(cluster->nodes[index].replicator, cluster->now,
                                token, slice_text(key), &current,
                                outbox) != REPLICATOR_MODIFY) {
        flush(cluster, index, outbox);
        outbox_fini(outbox);
        return NULL;
    }
    return current ? dd_copy(current) : dd_new(kind);
}

static void end_update(struct cluster *cluster, uint32_t index, uint64_t token,
                       const char *key, struct dd_value *value,
                       const struct consistency *consistency,
                       struct outbox *outbox)
{
    replicator_update(cluster->nodes[index].replicator, cluster->now, token,
                      slice_text(key), value, consistency, outbox);
    flush(cluster, index, outbox);
    outbox_fini(outbox);
}

uint64_t do_put(struct cluster *cluster, uint32_t index, const char *key,
                struct dd_value *value, struct consistency consistency)
{
    uint64_t token = begin(cluster, index);
    struct outbox outbox = { 0 };
    struct dd_value *current =
        begin_update(cluster, index, token, key, DD_FLAG, &outbox);

    if (current)
        end_update(cluster, index, token, key, value, &consistency, &outbox);
    else
        dd_free(value);
    dd_free(current);
    return token;
}

uint64_t do_count(struct cluster *cluster, uint32_t index, const char *key,
                  uint64_t amount, struct consistency consistency)
{
    uint64_t token = begin(cluster, index);
    struct outbox outbox = { 0 };
    struct dd_value *value =
        begin_update(cluster, index, token, key, DD_GCOUNTER, &outbox);

    if (!value)
        return token;
    dd_gcounter_add(value, &cluster->nodes[index].identity.node, amount);
    end_update(cluster, index, token, key, value, &consistency, &outbox);
    return token;
}

uint64_t do_add(struct cluster *cluster, uint32_t index, const char *key,
                const char *element, struct consistency consistency)
{
    uint64_t token = begin(cluster, index);
    struct outbox outbox = { 0 };
    struct dd_element item = dd_text(element);
    struct dd_value *value =
        begin_update(cluster, index, token, key, DD_ORSET, &outbox);

    if (!value)
        return token;
    dd_orset_add(value, &cluster->nodes[index].writer, &item);
    end_update(cluster, index, token, key, value, &consistency, &outbox);
    return token;
}

uint64_t do_remove(struct cluster *cluster, uint32_t index, const char *key,
                   const char *element, struct consistency consistency)
{
    uint64_t token = begin(cluster, index);
    struct outbox outbox = { 0 };
    struct dd_element item = dd_text(element);
    struct dd_value *value =
        begin_update(cluster, index, token, key, DD_ORSET, &outbox);

    if (!value)
        return token;
    dd_orset_remove(value, &cluster->nodes[index].writer, &item);
    end_update(cluster, index, token, key, value, &consistency, &outbox);
    return token;
}

uint64_t do_change(struct cluster *cluster, uint32_t index, const char *key,
                   enum dd_kind kind, change_value *change, uint32_t number,
                   struct consistency consistency)
{
    uint64_t token = begin(cluster, index);
    struct outbox outbox = { 0 };
    struct dd_value *value =
        begin_update(cluster, index, token, key, kind, &outbox);

    if (!value)
        return token;
    change(value, &cluster->nodes[index].writer, number);
    end_update(cluster, index, token, key, value, &consistency, &outbox);
    return token;
}

const struct answered *answer_of(const struct cluster *cluster,
                                 uint32_t index, uint64_t token)
{
    const struct replica_node *node = &cluster->nodes[index];
    const struct answered *found = NULL;

    for (uint32_t i = 0; i < node->answered.count; i++) {
        if (node->answered.items[i].token != token)
            continue;
        check(!found); /* exactly one */
        found = &node->answered.items[i];
    }
    return found;
}

bool is_answered(const struct cluster *cluster, uint32_t index, uint64_t token,
                 enum replicator_answer answer)
{
    const struct answered *found = answer_of(cluster, index, token);

    return found && found->answer == answer;
}

const struct dd_value *value_at(const struct cluster *cluster, uint32_t index,
                                const char *key)
{
    return replicator_look(cluster->nodes[index].replicator, slice_text(key));
}

uint64_t count_at(const struct cluster *cluster, uint32_t index,
                  const char *key)
{
    const struct dd_value *value = value_at(cluster, index, key);

    return value ? dd_gcounter_get(value).low : 0;
}

bool has_at(const struct cluster *cluster, uint32_t index, const char *key,
            const char *element)
{
    const struct dd_value *value = value_at(cluster, index, key);
    struct dd_element item = dd_text(element);

    return value && dd_set_has(value, &item);
}

uint32_t size_at(const struct cluster *cluster, uint32_t index,
                 const char *key)
{
    const struct dd_value *value = value_at(cluster, index, key);

    return value ? dd_set_count(value) : 0;
}

const struct replicator_counters *counters_at(const struct cluster *cluster,
                                              uint32_t index)
{
    return replicator_counters(cluster->nodes[index].replicator);
}
