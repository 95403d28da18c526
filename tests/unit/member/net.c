/* Runs the network of the tests: a heap of arrivals, and the step that comes next. */
#include "net.h"

#include <stdio.h>

#include "base/check.h"

#define DELAY_MIN (200 * UINT64_C(1000))
#define DELAY_SPREAD (4 * MS)

struct net *net_new(uint64_t seed)
{
    struct net *net = mem_alloc(sizeof *net);

    rng_init(&net->rng, seed);
    net->now = 1 * SECOND;
    net->hand_over = true;
    return net;
}

static void free_message(struct net_message *message)
{
    if (message)
        buf_fini(&message->bytes);
    mem_free(message);
}

void net_free(struct net *net)
{
    for (uint32_t i = 0; i < net->count; i++) {
        member_free(net->nodes[i].member);
        vec_fini(&net->nodes[i].news);
    }
    for (uint32_t i = 0; i < net->flying.count; i++)
        free_message(net->flying.items[i]);
    vec_fini(&net->flying);
    timers_fini(&net->arrivals);
    mem_free(net);
}

struct address net_address(uint32_t index)
{
    struct address address;

    check(address_set(&address, "10.0.0.1", 8, 2551 + index));
    return address;
}

void net_add(struct net *net, uint32_t index,
             const struct member_settings *settings)
{
    struct net_node *node = &net->nodes[index];
    struct member_settings own = { 0 };
    struct address seeds[2] = { net_address(0), net_address(1) };

    if (settings)
        own = *settings;
    if (!own.seed_count && !own.finds_seeds) {
        own.seeds = seeds;
        own.seed_count = 2;
    }
    member_free(node->member);
    node->identity = (struct identity){
        .protocol = "akka",
        .system = "Test",
        .node = { net_address(index), rng_next(&net->rng) | 1 },
    };
    node->is_dead = false;
    node->news.count = 0;
    node->member =
        member_new(&node->identity, &own, rng_next(&net->rng), net->trace);
    if (index >= net->count)
        net->count = index + 1;
}

static uint64_t wall_ms(const struct net *net)
{
    return NET_WALL_MS + net->now / MS;
}

static void send(struct net *net, uint32_t from, const struct outbound *out)
{
    uint32_t to = (uint32_t)out->to.address.port - 2551;
    struct net_message *message;
    uint64_t at = net->now + DELAY_MIN + rng_below(&net->rng, DELAY_SPREAD);

    net->sent++;
    if (net->tap)
        net->tap(net, from, to, out);
    net->sent_bytes += out->payload.size;
    net->sent_gossip += slice_is(out->manifest, "GE");
    if (to >= net->count || net->cut[from] != net->cut[to] ||
        rng_below(&net->rng, 100) < net->loss_percent)
        return;
    message = mem_alloc(sizeof *message);
    message->from = net->nodes[from].identity.node;
    message->to = to;
    message->to_node = out->to;
    message->serializer = out->serializer;
    buf_put_slice(&message->bytes, out->sender);
    buf_put_slice(&message->bytes, out->recipient);
    buf_put_slice(&message->bytes, out->manifest);
    buf_put_slice(&message->bytes, out->payload);
    message->sizes[0] = out->sender.size;
    message->sizes[1] = out->recipient.size;
    message->sizes[2] = out->manifest.size;
    message->sizes[3] = out->payload.size;
    timers_put(&net->arrivals, at, 0, net->flying.count, 0);
    vec_push(&net->flying, message);
}

void net_flush(struct net *net, uint32_t index, struct outbox *outbox)
{
    struct net_node *node = &net->nodes[index];
    struct outbound out;
    struct member_news news;
    bool done = false;

    while (member_next_news(node->member, &news)) {
        struct net_news kept = {
            .at = net->now,
            .kind = news.kind,
            .status = news.view ? news.view->status : MEMBER_REMOVED,
            .previous = news.previous,
            .port = news.node.address.port,
            .uid = news.node.uid,
        };

        (void)snprintf(kept.detail, sizeof kept.detail, "%s",
                       news.detail); /* may be cut */
        vec_push(&node->news, kept);
        done = done || news.kind == MEMBER_NEWS_SELF_EXITING;
    }
    if (done && net->hand_over) {
        member_exiting_done(node->member, net->now, outbox);
        net_flush(net, index, outbox);
        return;
    }
    while (outbox_next(outbox, &out))
        send(net, index, &out);
}

void net_start(struct net *net, uint32_t index)
{
    struct outbox outbox = { 0 };

    member_start(net->nodes[index].member, net->now, wall_ms(net), &outbox);
    net_flush(net, index, &outbox);
    outbox_fini(&outbox);
}

void net_crash(struct net *net, uint32_t index)
{
    net->nodes[index].is_dead = true;
}

static bool is_running(const struct net_node *node)
{
    return node->member && !node->is_dead;
}

static void arrive(struct net *net, uint64_t id, struct outbox *outbox)
{
    struct net_message *message = net->flying.items[id];
    struct net_node *to = &net->nodes[message->to];
    const uint8_t *at = message->bytes.data;
    struct inbound inbound = {
        .from = message->from,
        .serializer = message->serializer,
    };

    net->flying.items[id] = NULL;
    inbound.sender = slice_of(at, message->sizes[0]);
    inbound.recipient = slice_of(at += message->sizes[0], message->sizes[1]);
    inbound.manifest = slice_of(at += message->sizes[1], message->sizes[2]);
    inbound.payload = slice_of(at += message->sizes[2], message->sizes[3]);
    if (is_running(to) && !net->deaf[message->to] &&
        (!message->to_node.uid ||
         message->to_node.uid == to->identity.node.uid)) {
        member_receive(to->member, net->now, wall_ms(net), &inbound, outbox);
        net_flush(net, message->to, outbox);
    }
    free_message(message);
}

static uint64_t next_deadline(const struct net *net, uint32_t *index)
{
    uint64_t at = NEVER;

    for (uint32_t i = 0; i < net->count; i++) {
        uint64_t own = is_running(&net->nodes[i])
                           ? member_deadline(net->nodes[i].member)
                           : NEVER;

        if (own < at) {
            at = own;
            *index = i;
        }
    }
    return at;
}

void net_run(struct net *net, uint64_t duration)
{
    uint64_t end = net->now + duration;
    struct outbox outbox = { 0 };
    struct timer timer;

    for (;;) {
        uint32_t index = 0;
        uint64_t step_at = next_deadline(net, &index);
        uint64_t arrival_at = timers_deadline(&net->arrivals);
        uint64_t at = step_at < arrival_at ? step_at : arrival_at;

        if (at > end)
            break;
        if (at > net->now)
            net->now = at;
        if (arrival_at <= step_at) {
            check(timers_take(&net->arrivals, net->now, &timer));
            arrive(net, timer.id, &outbox);
        } else {
            member_step(net->nodes[index].member, net->now, wall_ms(net),
                        &outbox);
            net_flush(net, index, &outbox);
        }
    }
    if (!net->arrivals.count)
        net->flying.count = 0;
    net->now = end;
    outbox_fini(&outbox);
}

static bool sees_all(const struct net *net, const struct member *member,
                     uint32_t living)
{
    if (!member_is_in(member) || member_count(member) != living)
        return false;
    for (uint32_t i = 0; i < net->count; i++) {
        const struct net_node *other = &net->nodes[i];
        const struct member_view *view;

        if (!is_running(other) || member_is_stopped(other->member))
            continue;
        view = member_find(member, &other->identity.node);
        if (!view || view->status != MEMBER_UP || !view->reachable ||
            !view->seen)
            return false;
    }
    return true;
}

bool net_is_converged(const struct net *net)
{
    uint32_t living = 0;

    for (uint32_t i = 0; i < net->count; i++)
        living += is_running(&net->nodes[i]) &&
                  !member_is_stopped(net->nodes[i].member);
    for (uint32_t i = 0; i < net->count; i++)
        if (is_running(&net->nodes[i]) &&
            !member_is_stopped(net->nodes[i].member) &&
            !sees_all(net, net->nodes[i].member, living))
            return false;
    return living > 0;
}

bool net_converge(struct net *net, uint64_t limit)
{
    uint64_t end = net->now + limit;

    while (net->now < end) {
        if (net_is_converged(net))
            return true;
        net_run(net, 100 * MS);
    }
    return net_is_converged(net);
}

uint32_t net_told(const struct net *net, uint32_t index,
                  enum member_news_kind kind, uint16_t port)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < net->nodes[index].news.count; i++) {
        const struct net_news *news = &net->nodes[index].news.items[i];

        count += news->kind == kind && (!port || news->port == port);
    }
    return count;
}
