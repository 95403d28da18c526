/* Tests regions, coordinators and singleton managers of a few nodes on a random network, while
 * nodes join, leave and crash. The test plays lanes and store: a shard starts after its claim, and
 * stops on its order.
 *
 * At every step no two living nodes run a shard. At the end every requested shard runs, every node
 * that knows a home knows the right one, and shards are balanced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "shard/coordinator.h"
#include "shard/region.h"
#include "shard/shard_id.h"
#include "singleton/singleton.h"

#define NODES_MAX 6
#define SHARDS 12
#define MEMBERSHIP NODES_MAX /* channels that belong to no node */
#define LANE (NODES_MAX + 1)
#define MANAGER "/system/sharding/TCoordinator"
#define COORDINATOR MANAGER "/singleton/coordinator"
#define REGION "/system/sharding/T#1"

enum what {
    DELIVER,
    VIEW,    /* a node sees a new status */
    TERM,    /* the store answers */
    KEPT,    /* distributed data answers */
    STARTED, /* a lane has claimed and started it */
    HELD,
    DRAINED,
    TURN /* timers, traffic, leaving; every 10 ms */
};

struct event {
    enum what what;
    int node;
    struct inbound inbound; /* points into text */
    uint8_t *text;
    struct member_info peer;
    bool is_removed;
    uint64_t term;
    struct coordinator_request request; /* points into text */
    struct coordinator *asker; /* may have gone */
    int32_t shard;
    struct fence fence;
    struct attempt attempt;
};

enum leaving { STAYS, STOPS_REGION, LEAVES, EXITS, GONE };

struct node {
    struct identity identity;
    struct outbox outbox;
    struct region *region;
    struct singleton *singleton;
    struct coordinator *coordinator;
    struct member_info view[NODES_MAX];
    bool knows[NODES_MAX];
    bool is_alive;
    bool is_region_stopped;
    bool has_exited;
    enum leaving leaving;
    uint64_t leaving_at;
    struct fence owned[SHARDS];   /* 0 = not running */
    struct attempt drain[SHARDS]; /* number 0 = none */
};

struct cluster {
    struct rng rng;
    uint64_t now;
    struct timers timers;
    VEC(struct event *) events;
    struct node nodes[NODES_MAX];
    int count;
    /* time of the last event; after the nodes: membership, lanes */
    uint64_t channel[NODES_MAX + 2][NODES_MAX];
    struct fence stored[SHARDS];
    struct buf state; /* stored in distributed data */
    struct buf fences;
    bool is_wanted[SHARDS];
    uint64_t term;
    uint64_t delay_ms; /* longest delay of a message */
};

static uint64_t chance(struct cluster *cluster, uint64_t below)
{
    return rng_below(&cluster->rng, below);
}

static void put(struct cluster *cluster, int channel, int node,
                struct event event, uint64_t delay)
{
    struct event *copy = mem_alloc(sizeof *copy);
    uint64_t at = cluster->now + delay;

    if (channel >= 0) {
        uint64_t *last = &cluster->channel[channel][node];

        at = at < *last ? *last : at;
        *last = at;
    }
    *copy = event;
    copy->node = node;
    vec_push(&cluster->events, copy);
    timers_put(&cluster->timers, at, 0, cluster->events.count - 1, 0);
}

static void send(struct cluster *cluster, int from, const struct outbound *out)
{
    struct event event = { .what = DELIVER };
    size_t size = out->recipient.size + out->sender.size +
                  out->manifest.size + out->payload.size;
    uint8_t *at = mem_alloc(size + 1);
    const struct slice parts[] = { out->recipient, out->sender, out->manifest,
                                   out->payload };
    struct slice copies[4];
    int to = (int)out->to.uid - 100;

    event.text = at;
    for (int i = 0; i < 4; i++) {
        if (parts[i].size)
            memcpy(at, parts[i].data, parts[i].size);
        copies[i] = slice_of(at, parts[i].size);
        at += parts[i].size;
    }
    event.inbound = (struct inbound){
        .from = cluster->nodes[from].identity.node,
        .recipient = path_plain(copies[0]),
        .sender = copies[1],
        .manifest = copies[2],
        .payload = copies[3],
        .serializer = out->serializer,
    };
    if (!out->to.uid) /* the port tells the node */
        to = out->to.address.port - 2550;
    put(cluster, from, to, event, chance(cluster, cluster->delay_ms) * MS);
}

static struct coordinator_settings settings = { .rebalance_interval_ms = 1000,
                                                .absolute_limit = 4,
                                                .relative_limit = 1.0,
                                                .handoff_timeout_ms = 8000,
                                                .shard_start_timeout_ms =
                                                    1000 };

static void start_coordinator(struct cluster *cluster, int n)
{
    struct node *node = &cluster->nodes[n];

    check(!node->coordinator);
    node->coordinator = coordinator_new(
        &(struct coordinator_options){ .identity = &node->identity,
                                       .type = "T",
                                       .settings = settings,
                                       .seed = chance(cluster, 1000) },
        cluster->now);
    for (int i = 0; i < cluster->count; i++)
        if (node->knows[i])
            coordinator_peer(node->coordinator, cluster->now, &node->view[i],
                             &node->outbox);
}

static void keep(struct buf *buf, struct slice bytes)
{
    if (!bytes.size)
        return;
    buf_clear(buf);
    buf_put_slice(buf, bytes);
}

/* A write may be stored before its answer, and is stored after it. One in ten is not confirmed: it
 * may be stored or not. */
static void take_requests(struct cluster *cluster, int n)
{
    struct node *node = &cluster->nodes[n];
    struct event event = { .what = KEPT, .asker = node->coordinator };

    while (node->coordinator &&
           coordinator_next_request(node->coordinator, &event.request)) {
        struct coordinator_request *request = &event.request;

        if (chance(cluster, 2)) {
            keep(&cluster->state, request->state);
            keep(&cluster->fences, request->fences);
        }
        event.text = mem_alloc(request->state.size + request->fences.size + 1);
        memcpy(event.text, request->state.data ? request->state.data : event.text,
               request->state.size);
        memcpy(event.text + request->state.size,
               request->fences.data ? request->fences.data : event.text,
               request->fences.size);
        request->state.data = event.text;
        request->fences.data = event.text + request->state.size;
        put(cluster, -1, n, event, chance(cluster, 60) * MS);
    }
}

static void answer_request(struct cluster *cluster, struct node *node,
                           const struct event *event)
{
    const struct coordinator_request *request = &event->request;
    bool is_good = chance(cluster, 10) > 0;

    if (!node->coordinator || node->coordinator != event->asker)
        return;
    if (request->kind == COORDINATOR_REQUEST_READ) {
        coordinator_read(node->coordinator, cluster->now, request->ticket, is_good,
                         buf_slice(&cluster->state),
                         buf_slice(&cluster->fences), &node->outbox);
        return;
    }
    if (is_good) {
        keep(&cluster->state, request->state);
        keep(&cluster->fences, request->fences);
    }
    coordinator_written(node->coordinator, cluster->now, request->ticket, is_good,
                        &node->outbox);
}

static void take_coordinator_news(struct cluster *cluster, int n)
{
    struct node *node = &cluster->nodes[n];
    struct coordinator_news news;

    while (node->coordinator &&
           coordinator_next_news(node->coordinator, &news)) {
        if (news.kind == COORDINATOR_NEWS_NEEDS_TERM) {
            put(cluster, -1, n,
                (struct event){ .what = TERM, .term = ++cluster->term },
                chance(cluster, 50) * MS);
        } else if (news.kind == COORDINATOR_NEWS_STOP_REGION) {
            region_shutdown(node->region, cluster->now, NEVER);
        } else if (news.kind == COORDINATOR_NEWS_STOPPED) {
            coordinator_free(node->coordinator);
            node->coordinator = NULL;
            singleton_stopped(node->singleton, cluster->now, &node->outbox);
        }
    }
    if (node->coordinator)
        coordinator_verify(node->coordinator);
}

static void take_singleton_news(struct cluster *cluster, int n)
{
    struct node *node = &cluster->nodes[n];
    enum singleton_news news;

    while (singleton_next_news(node->singleton, &news)) {
        if (news == SINGLETON_NEWS_START)
            start_coordinator(cluster, n);
        else if (news == SINGLETON_NEWS_STOP)
            coordinator_stop(node->coordinator, cluster->now, &node->outbox);
        else if (news == SINGLETON_NEWS_EXIT_DONE)
            node->has_exited = true;
    }
}

static void take_region_news(struct cluster *cluster, int n)
{
    struct node *node = &cluster->nodes[n];
    struct region_news news;

    while (region_next_news(node->region, &news)) {
        struct event event = { .shard = news.shard,
                               .fence = news.fence,
                               .attempt = news.attempt };

        switch (news.kind) {
        case REGION_HOST:
            event.what = STARTED;
            node->drain[news.shard].number = 0;
            put(cluster, LANE, n, event, chance(cluster, 30) * MS);
            break;
        case REGION_HOLD:
            event.what = HELD;
            put(cluster, LANE, n, event, chance(cluster, 5) * MS);
            break;
        case REGION_DRAIN:
            event.what = DRAINED;
            node->drain[news.shard] = news.attempt;
            put(cluster, LANE, n, event, chance(cluster, 60) * MS);
            break;
        case REGION_LOST: {
            struct fence fence = node->owned[news.shard];

            node->owned[news.shard] = (struct fence){ 0, 0 };
            region_shard_fenced(node->region, cluster->now, news.shard, fence);
            break;
        }
        case REGION_STOPPED:
            node->is_region_stopped = true;
            break;
        default:
            break;
        }
    }
}

static void pump(struct cluster *cluster, int n)
{
    struct node *node = &cluster->nodes[n];
    struct outbound out;

    for (int i = 0; i < 4; i++) {
        take_region_news(cluster, n);
        take_singleton_news(cluster, n);
        take_coordinator_news(cluster, n);
        take_requests(cluster, n);
    }
    while (outbox_next(&node->outbox, &out))
        send(cluster, n, &out);
}

/* All members, itself included, see it sooner or later. */
static void publish(struct cluster *cluster, int n, enum member_status status)
{
    struct event event = { .what = VIEW,
                           .is_removed = status == MEMBER_REMOVED,
                           .peer = { .node = cluster->nodes[n].identity.node,
                                     .up_number = n + 1,
                                     .status = status,
                                     .reachable = true,
                                     .has_role = true } };

    for (int i = 0; i < cluster->count; i++)
        put(cluster, MEMBERSHIP, i, event, chance(cluster, 200) * MS);
}

static void join(struct cluster *cluster)
{
    int n = cluster->count++;
    struct node *node = &cluster->nodes[n];

    node->identity = (struct identity){ "akka",
                                        "S",
                                        { { .port = (uint16_t)(2550 + n) },
                                          100 + (uint64_t)n } };
    snprintf(node->identity.node.address.host, HOST_MAX, "h");
    node->is_alive = true;
    node->region = region_new(&(struct region_options){
        .self = &node->identity,
        .outbox = &node->outbox,
        .type = "T",
        .path = REGION,
        .coordinator_path = COORDINATOR,
        .shard_count = SHARDS,
        .lanes = 1,
        .persists = true,
        .handoff_timeout = 8 * SECOND });
    node->singleton = singleton_new(
        &(struct singleton_options){ .identity = &node->identity,
                                     .path = MANAGER,
                                     .seed = (uint64_t)n },
        cluster->now);
    for (int i = 0; i < n; i++) {
        const struct node *other = &cluster->nodes[i];

        if (other->is_alive) { /* its first gossip */
            struct event event = { .what = VIEW,
                                   .peer = { .node = other->identity.node,
                                             .up_number = i + 1,
                                             .status =
                                                 other->leaving == LEAVES
                                                     ? MEMBER_LEAVING
                                                 : other->leaving == EXITS
                                                     ? MEMBER_EXITING
                                                     : MEMBER_UP,
                                             .reachable = true,
                                             .has_role = true } };
            put(cluster, MEMBERSHIP, n, event, 0);
        }
    }
    publish(cluster, n, MEMBER_UP);
}

static void see(struct cluster *cluster, int n, const struct event *event)
{
    struct node *node = &cluster->nodes[n];
    int m = (int)event->peer.node.uid - 100;

    node->view[m] = event->peer;
    node->knows[m] = !event->is_removed;
    if (event->is_removed) {
        singleton_peer_removed(node->singleton, cluster->now,
                               &event->peer.node, false);
        if (node->coordinator)
            coordinator_peer_removed(node->coordinator, cluster->now,
                                     &event->peer.node, &node->outbox);
        region_peer_removed(node->region, cluster->now, &event->peer.node);
    } else {
        singleton_peer(node->singleton, cluster->now, &event->peer);
        if (node->coordinator)
            coordinator_peer(node->coordinator, cluster->now, &event->peer,
                             &node->outbox);
        region_peer(node->region, cluster->now, &event->peer);
    }
    if (node->knows[n]) /* a view that contains itself */
        singleton_peers_done(node->singleton, cluster->now, &node->outbox);
    if (m == n && event->peer.status == MEMBER_EXITING)
        singleton_exit(node->singleton, cluster->now, &node->outbox);
}

static void deliver(struct cluster *cluster, int n,
                    const struct inbound *inbound)
{
    struct node *node = &cluster->nodes[n];

    if (inbound->serializer == SINGLETON_SERIALIZER) {
        singleton_receive(node->singleton, cluster->now, inbound,
                          &node->outbox);
    } else if (slice_is(inbound->recipient, COORDINATOR)) {
        if (node->coordinator)
            coordinator_receive(node->coordinator, cluster->now, inbound,
                                &node->outbox);
    } else if (slice_is(inbound->recipient, SHARDING_PATH)) {
        struct shard_message query;

        assert_true(shard_message_read(&query, inbound->serializer,
                                       inbound->manifest, inbound->payload));
        region_asked(node->region, cluster->now, inbound, query.fence.term);
        shard_message_fini(&query);
    } else {
        assert_true(region_receive(node->region, cluster->now, inbound));
    }
}

/* A lane's claim in the store, then the start: the only place where a shard starts. */
static void start_shard(struct cluster *cluster, int n,
                        const struct event *event)
{
    struct node *node = &cluster->nodes[n];
    struct fence *stored = &cluster->stored[event->shard];

    if (fence_compare(event->fence, *stored) < 0) {
        node->owned[event->shard] = (struct fence){ 0, 0 };
        region_shard_fenced(node->region, cluster->now, event->shard,
                            event->fence);
        return;
    }
    *stored = event->fence;
    node->owned[event->shard] = event->fence;
    for (int i = 0; i < cluster->count; i++) {
        if (i == n || !cluster->nodes[i].is_alive ||
            !cluster->nodes[i].owned[event->shard].epoch)
            continue;
        fail_msg("shard %d runs on %d (%llu, %llu) and %d (%llu, %llu)",
                 event->shard, i,
                 (unsigned long long)cluster->nodes[i].owned[event->shard].term,
                 (unsigned long long)
                     cluster->nodes[i].owned[event->shard].epoch,
                 n, (unsigned long long)event->fence.term,
                 (unsigned long long)event->fence.epoch);
    }
    region_shard_started(node->region, cluster->now, event->shard,
                         event->fence);
}

static void take_turn(struct cluster *cluster, int n)
{
    struct node *node = &cluster->nodes[n];
    int32_t shard = (int32_t)chance(cluster, SHARDS);
    struct node_id home;
    struct fence fence;

    if (singleton_deadline(node->singleton) <= cluster->now)
        singleton_step(node->singleton, cluster->now, &node->outbox);
    if (node->coordinator &&
        coordinator_deadline(node->coordinator) <= cluster->now)
        coordinator_step(node->coordinator, cluster->now, &node->outbox);
    if (region_deadline(node->region) <= cluster->now)
        region_tick(node->region, cluster->now);
    if (node->leaving == STAYS && chance(cluster, 5) == 0 &&
        !region_home(node->region, shard, &home, &fence)) {
        cluster->is_wanted[shard] = true;
        region_request_home(node->region, cluster->now, 0, shard);
    }
    if (cluster->now < node->leaving_at)
        return;
    if (node->leaving == STOPS_REGION && node->is_region_stopped) {
        node->leaving = LEAVES;
        node->leaving_at = cluster->now + 200 * MS;
        publish(cluster, n, MEMBER_LEAVING);
    } else if (node->leaving == LEAVES) {
        node->leaving = EXITS;
        node->leaving_at = cluster->now + 200 * MS;
        publish(cluster, n, MEMBER_EXITING);
    } else if (node->leaving == EXITS && node->has_exited) {
        node->leaving = GONE;
        node->is_alive = false;
        publish(cluster, n, MEMBER_REMOVED);
    }
}

static void handle(struct cluster *cluster, struct event *event)
{
    struct node *node = &cluster->nodes[event->node];
    int32_t shard = event->shard;

    if (!node->is_alive)
        return;
    switch (event->what) {
    case DELIVER:
        deliver(cluster, event->node, &event->inbound);
        break;
    case VIEW:
        see(cluster, event->node, event);
        break;
    case TERM:
        if (node->coordinator)
            coordinator_term(node->coordinator, cluster->now, event->term,
                             &node->outbox);
        break;
    case KEPT:
        answer_request(cluster, node, event);
        break;
    case STARTED:
        start_shard(cluster, event->node, event);
        break;
    case HELD:
        region_lane_held(node->region, cluster->now, 0, shard, event->attempt);
        break;
    case DRAINED:
        if (attempt_compare(node->drain[shard], event->attempt))
            break; /* hosted again */
        node->owned[shard] = (struct fence){ 0, 0 };
        region_shard_stopped(node->region, cluster->now, shard,
                             event->attempt, true, NULL);
        break;
    case TURN:
        take_turn(cluster, event->node);
        put(cluster, -1, event->node, (struct event){ .what = TURN }, 10 * MS);
        break;
    }
    pump(cluster, event->node);
}

static void run(struct cluster *cluster, uint64_t ms)
{
    uint64_t end = cluster->now + ms * MS;
    struct timer timer;

    while (timers_deadline(&cluster->timers) <= end &&
           timers_take(&cluster->timers, end, &timer)) {
        struct event *event = cluster->events.items[timer.id];

        cluster->events.items[timer.id] = NULL;
        cluster->now = timer.at;
        handle(cluster, event);
        mem_free(event->text);
        mem_free(event);
    }
    cluster->now = end;
}

static void add(struct cluster *cluster)
{
    join(cluster);
    put(cluster, -1, cluster->count - 1, (struct event){ .what = TURN },
        chance(cluster, 10) * MS);
}

static void leave(struct cluster *cluster, int n)
{
    struct node *node = &cluster->nodes[n];

    node->leaving = STOPS_REGION;
    region_shutdown(node->region, cluster->now, NEVER);
    region_lane_waiting(node->region, cluster->now, 0, 0);
    pump(cluster, n);
}

static void crash(struct cluster *cluster, int n)
{
    cluster->nodes[n].is_alive = false;
    cluster->nodes[n].leaving = GONE;
    publish(cluster, n, MEMBER_DOWN);
    run(cluster, 500);
    publish(cluster, n, MEMBER_REMOVED);
}

static int alive(const struct cluster *cluster)
{
    int count = 0;

    for (int n = 0; n < cluster->count; n++)
        count += cluster->nodes[n].is_alive;
    return count;
}

static struct cluster *cluster_of(uint64_t seed, int count)
{
    struct cluster *cluster = mem_alloc(sizeof *cluster);

    rng_init(&cluster->rng, seed);
    cluster->now = SECOND;
    cluster->delay_ms = seed % 2 ? 300 : 20;
    for (int n = 0; n < count; n++)
        add(cluster);
    return cluster;
}

static void verify_end(struct cluster *cluster, uint64_t seed)
{
    int coordinators = 0;
    int least = SHARDS;
    int most = 0;
    int wanted = 0;

    for (int n = 0; n < cluster->count; n++) {
        const struct node *node = &cluster->nodes[n];
        int owned = 0;

        if (!node->is_alive)
            continue;
        coordinators += node->coordinator != NULL &&
                        coordinator_is_active(node->coordinator);
        for (int s = 0; s < SHARDS; s++)
            owned += node->owned[s].epoch != 0;
        least = owned < least ? owned : least;
        most = owned > most ? owned : most;
    }
    assert_int_equal(coordinators, 1);
    for (int s = 0; s < SHARDS; s++) {
        int owner = -1;

        wanted += cluster->is_wanted[s];
        for (int n = 0; n < cluster->count; n++)
            if (cluster->nodes[n].is_alive &&
                cluster->nodes[n].owned[s].epoch)
                owner = n;
        if (cluster->is_wanted[s] && owner < 0)
            fail_msg("shard %d runs nowhere, seed %llu", s,
                     (unsigned long long)seed);
        for (int n = 0; n < cluster->count; n++) {
            struct node_id home;
            struct fence fence;

            if (!cluster->nodes[n].is_alive ||
                !region_home(cluster->nodes[n].region, s, &home, &fence))
                continue;
            if (home.address.port != 2550 + owner)
                fail_msg("node %d thinks shard %d is at %u, not %d, seed %llu",
                         n, s, home.address.port, owner,
                         (unsigned long long)seed);
        }
    }
    assert_int_equal(wanted, SHARDS);
    assert_true(most - least <= 1);
}

static void cluster_free(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->events.count; i++) {
        if (cluster->events.items[i])
            mem_free(cluster->events.items[i]->text);
        mem_free(cluster->events.items[i]);
    }
    for (int n = 0; n < cluster->count; n++) {
        region_free(cluster->nodes[n].region);
        singleton_free(cluster->nodes[n].singleton);
        coordinator_free(cluster->nodes[n].coordinator);
        outbox_fini(&cluster->nodes[n].outbox);
    }
    vec_fini(&cluster->events);
    buf_fini(&cluster->state);
    buf_fini(&cluster->fences);
    timers_fini(&cluster->timers);
    mem_free(cluster);
}

static void a_cluster_spreads_its_shards(void **state)
{
    (void)state;

    for (uint64_t seed = 0; seed < 20; seed++) {
        struct cluster *cluster = cluster_of(seed, 3);

        run(cluster, 5000);
        add(cluster);
        run(cluster, 10000);
        verify_end(cluster, seed);
        cluster_free(cluster);
    }
}

static void leaving_moves_shards_and_coordinators(void **state)
{
    (void)state;

    for (uint64_t seed = 0; seed < 40; seed++) {
        struct cluster *cluster = cluster_of(seed, 4);

        run(cluster, 3000);
        leave(cluster, (int)(seed % 2));
        run(cluster, 500 + 40 * seed);
        if (seed % 3 == 0)
            leave(cluster, 2);
        run(cluster, 20000);
        assert_int_equal(alive(cluster), seed % 3 == 0 ? 2 : 3);
        verify_end(cluster, seed);
        cluster_free(cluster);
    }
}

static void crashes_move_shards_and_coordinators(void **state)
{
    (void)state;

    for (uint64_t seed = 0; seed < 40; seed++) {
        struct cluster *cluster = cluster_of(seed, 4);

        run(cluster, 800 + 70 * seed);
        crash(cluster, (int)(seed % 3));
        run(cluster, 60 * seed);
        if (seed % 2)
            add(cluster);
        run(cluster, 30000);
        verify_end(cluster, seed);
        cluster_free(cluster);
    }
}

static void random_changes_keep_one_owner(void **state)
{
    (void)state;

    for (uint64_t seed = 0; seed < 150; seed++) {
        struct cluster *cluster =
            cluster_of(seed, 2 + (int)(seed % 3));

        for (int i = 0; i < 6; i++) {
            int n = (int)chance(cluster, (uint64_t)cluster->count);

            run(cluster, chance(cluster, 4000));
            if (chance(cluster, 2) && cluster->count < NODES_MAX)
                add(cluster);
            else if (alive(cluster) > 2 &&
                     cluster->nodes[n].leaving == STAYS) {
                if (chance(cluster, 2))
                    leave(cluster, n);
                else
                    crash(cluster, n);
            }
        }
        run(cluster, 60000);
        verify_end(cluster, seed);
        cluster_free(cluster);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_spreads_its_shards),
        cmocka_unit_test(leaving_moves_shards_and_coordinators),
        cmocka_unit_test(crashes_move_shards_and_coordinators),
        cmocka_unit_test(random_changes_keep_one_owner),
    };

    return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
