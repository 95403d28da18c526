/* Implements the model of hand-offs: nodes, network, coordinator and checks. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outbox.h"
#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "shard/place.h"
#include "shard/region.h"
#include "shard/wire.h"

#define NODES 3
#define LANES 3
#define SHARDS 4
#define ENTITIES 2 /* of each shard */
#define MACHINES (LANES + 1) /* 0 is control, 1.. lanes */
#define MESSAGES 600
#define REGION_PATH "/system/sharding/T#5"
#define COORDINATOR_PATH "/system/sharding/TCoordinator/singleton/coordinator"
#define COORDINATOR_REF COORDINATOR_PATH "#9"

struct message {
    struct pending_item held;
    uint32_t sender; /* node * LANES + lane */
    uint32_t entity;
    uint32_t number;
    int32_t shard;
};

enum what {
    MAIL_WANT,
    MAIL_HELD,
    MAIL_STARTED,
    MAIL_STOPPED,
    MAIL_FENCED,
    MAIL_WAITING,
    MAIL_NEWS, /* control to lane */
    MAIL_MESSAGE,
    MAIL_MARKER,
    NET_MESSAGE, /* at the lane that reads the link */
    NET_MARKER,
    NET_CONTROL, /* for the region or the coordinator */
    RUN_ENTITY,
    RUN_STOP,
    RUN_CLAIM,
    RUN_SEND,
    RUN_TURN,
    RUN_MOVE,
    RUN_GIVE_UP
};

struct event {
    uint64_t at;
    uint64_t order;
    enum what what;
    uint32_t node;
    uint32_t machine;
    uint32_t from; /* node, or lane */
    int32_t shard;
    struct fence fence;
    struct attempt attempt;
    uint64_t number;
    struct message *message;
    struct region_news news;
    struct owing owing[NODES];
    bool ok;
    /* control messages */
    int32_t serializer;
    char manifest[4];
    char recipient[80];
    char sender[80];
    uint8_t payload[1500];
    size_t size;
};

struct box {
    struct message *items[MESSAGES * NODES * 2];
    uint32_t first;
    uint32_t count;
};

struct lane {
    struct routes routes;
    struct owned_shards hosted;
    struct pending_budget budget;
    struct box boxes[2 * SHARDS]; /* one box for all entities of a shard */
    bool live[2 * SHARDS];
    bool stopping[2 * SHARDS];
    bool waiting_told;
};

struct node {
    struct identity self;
    struct outbox outbox;
    struct region *region;
    struct lane lanes[LANES];
    uint32_t lane_count;
    bool stopped;
    bool gone;
};

struct moving {
    struct fence fence;
    int home; /* node, -1 = none */
    uint64_t attempt;
    bool moving;
    uint32_t acks_left; /* bits of nodes */
    uint32_t holding;   /* nodes that were asked */
    bool stopping;
    uint32_t asking; /* bits of nodes */
    struct fence stored; /* in the fencing store */
};

struct model {
    struct model_options options;
    struct rng rng;
    uint64_t now;
    uint64_t order;
    VEC(struct event *) events; /* a heap */
    uint64_t last[NODES][MACHINES][NODES][MACHINES][2];
    struct node nodes[NODES];
    struct moving shards[2 * SHARDS];
    uint32_t registered; /* bits of nodes */
    uint32_t leaving;
    uint64_t attempt;
    uint32_t skipped; /* sends of a node that left */
    uint32_t next_number[NODES * LANES][2 * SHARDS][ENTITIES];
    uint32_t seen[NODES * LANES][2 * SHARDS][ENTITIES];
    struct model_result result;
};

static void broken(struct model *model, const char *text)
{
    fprintf(stderr, "seed %llu at %llu: %s\n",
            (unsigned long long)model->options.seed,
            (unsigned long long)model->now, text);
    abort();
}

static uint64_t chance(struct model *model, uint64_t limit)
{
    return rng_below(&model->rng, limit);
}

static bool before(const struct event *left, const struct event *right)
{
    return left->at != right->at ? left->at < right->at
                                 : left->order < right->order;
}

static void put(struct model *model, const struct event *event, uint64_t at)
{
    struct event *copy = mem_copy(event, sizeof *event);
    uint32_t i = model->events.count;
    copy->at = at;
    copy->order = model->order++;
    vec_push(&model->events, copy);
    for (; i > 0 && before(copy, model->events.items[(i - 1) / 2]);
         i = (i - 1) / 2)
        model->events.items[i] = model->events.items[(i - 1) / 2];
    model->events.items[i] = copy;
}

static struct event *take(struct model *model)
{
    struct event *first, *last;
    uint32_t i = 0;
    if (!model->events.count)
        return NULL;
    first = model->events.items[0];
    last = model->events.items[--model->events.count];
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= model->events.count)
            break;
        if (child + 1 < model->events.count &&
            before(model->events.items[child + 1], model->events.items[child]))
            child++;
        if (!before(model->events.items[child], last))
            break;
        model->events.items[i] = model->events.items[child];
        i = child;
    }
    model->events.items[i] = last;
    return first;
}

/* Mostly short, sometimes long. */
static uint64_t delay(struct model *model)
{
    return 1 + chance(model, chance(model, 10) ? 50 : 2000);
}

/* Keeps the order on the channel (node, machine) -> (node, machine, kind). */
static void deliver(struct model *model, uint32_t from_node,
                    uint32_t from_machine, struct event *event, int kind)
{
    uint64_t *last = &model->last[from_node][from_machine][event->node]
                                 [event->machine][kind];
    uint64_t at = model->now + delay(model);
    if (at < *last)
        at = *last;
    *last = at;
    put(model, event, at);
}

static uint32_t owner_lane(const struct node *node, int32_t shard)
{
    return (uint32_t)(shard + 100) % node->lane_count;
}

static uint32_t index_of(int32_t shard)
{
    int64_t index = shard_index(shard, SHARDS);
    check(index >= 0);
    return (uint32_t)index;
}

static void drain_lane(struct model *model, uint32_t n, uint32_t l);
static void drain_region(struct model *model, uint32_t n);

static void mail(struct model *model, uint32_t n, uint32_t from, uint32_t to,
                 struct event event)
{
    event.node = n;
    event.machine = to;
    event.from = from - 1;
    deliver(model, n, from, &event, 0);
}

static void refuse(struct model *model, struct message *message)
{
    model->result.refused++;
    free(message);
}

static void into_mailbox(struct model *model, uint32_t n, uint32_t l,
                         struct message *message)
{
    struct lane *lane = &model->nodes[n].lanes[l];
    struct box *box = &lane->boxes[index_of(message->shard)];
    if (!lane->live[index_of(message->shard)])
        broken(model, "a message for a shard that does not run");
    box->items[box->first + box->count++] = message;
    if (box->first + box->count == MESSAGES * NODES * 2)
        broken(model, "the model's mailbox is too small");
    struct event event = { .what = RUN_ENTITY, .node = n, .machine = l + 1,
                           .shard = message->shard };
    put(model, &event, model->now + delay(model));
}

static void process(struct model *model, struct message *message)
{
    uint32_t *seen = &model->seen[message->sender][index_of(message->shard)]
                                 [message->entity];
    if (message->number <= *seen) {
        if (!model->options.fenceless)
            broken(model, "out of order or twice");
        model->result.disordered++;
    } else {
        *seen = message->number;
    }
    model->result.delivered++;
    model->result.digest =
        model->result.digest * 1099511628211u + message->number * 31u +
        message->sender * 7u + (uint32_t)message->shard + model->now;
    free(message);
}

static void send_at(struct model *model, uint32_t n, uint32_t l,
                    enum place place, struct route route,
                    struct message *message)
{
    struct lane *lane = &model->nodes[n].lanes[l];
    struct event event = { .message = message, .shard = message->shard };
    switch (place) {
    case PLACE_ENTITY:
        into_mailbox(model, n, l, message);
        return;
    case PLACE_WAIT:
        if (!owned_hold(&lane->hosted, model->now, message->shard,
                         &message->held))
            refuse(model, message);
        return;
    case PLACE_HOLD:
        if (!routes_hold(&lane->routes, model->now, message->shard,
                         &message->held))
            refuse(model, message);
        return;
    case PLACE_LANE:
        event.what = MAIL_MESSAGE;
        mail(model, n, l + 1, route.lane + 1, event);
        return;
    case PLACE_PEER:
        /* Each lane has its own link; one fixed lane reads it there. */
        event.what = NET_MESSAGE;
        event.node = route.peer;
        event.machine = 1 + l % model->nodes[route.peer].lane_count;
        deliver(model, n, l + 1, &event, 1);
        return;
    case PLACE_INVALID:
        broken(model, "no such shard");
    }
}

static void send_marker(struct model *model, uint32_t n, uint32_t l,
                        const struct region_news *news)
{
    struct event event = { .shard = news->shard,
                           .attempt = news->attempt,
                           .number = model->nodes[n].self.node.uid,
                           .machine = l };
    uint32_t to = (uint32_t)(news->node.address.port - 1);
    if (news->node.address.port == 0)
        return;
    event.ok = false;
    event.fence.epoch = l; /* the sending lane */
    if (to == n) {
        uint32_t owner = owner_lane(&model->nodes[n], news->shard);
        event.what = MAIL_MARKER;
        if (owner == l)
            owned_marker(&model->nodes[n].lanes[l].hosted, model->now,
                          news->shard, news->attempt, event.number, l);
        else
            mail(model, n, l + 1, owner + 1, event);
        return;
    }
    event.what = NET_MARKER;
    event.node = to;
    event.machine = 1 + l % model->nodes[to].lane_count;
    deliver(model, n, l + 1, &event, 1);
}

static void lane_news(struct model *model, uint32_t n, uint32_t l,
                      const struct event *event)
{
    struct lane *lane = &model->nodes[n].lanes[l];
    const struct region_news *news = &event->news;
    struct event answer = { .shard = news->shard, .attempt = news->attempt };
    struct pending_item *held;
    switch (news->kind) {
    case REGION_HOST:
        place_host(&lane->routes, &lane->hosted, model->now, news->shard,
                   (uint16_t)l, news->fence);
        break;
    case REGION_ROUTE:
        if (news->node.address.port == n + 1)
            routes_set_local(&lane->routes, news->shard,
                             (uint16_t)owner_lane(&model->nodes[n],
                                                  news->shard));
        else
            routes_set_remote(&lane->routes, news->shard,
                              news->node.address.port - 1u);
        break;
    case REGION_FORGET:
        routes_forget(&lane->routes, news->shard);
        break;
    case REGION_HOLD:
        routes_hold_begin(&lane->routes, news->shard);
        send_marker(model, n, l, news);
        answer.what = MAIL_HELD;
        mail(model, n, l + 1, 0, answer);
        break;
    case REGION_DRAIN:
        owned_drain(&lane->hosted, model->now, news->shard, news->attempt,
                     event->owing, news->owing_count, UINT64_MAX / 2);
        break;
    case REGION_DROP:
        while ((held = routes_drain(&lane->routes, news->shard))) {
            model->result.dropped++;
            free(held);
        }
        break;
    case REGION_LOST:
        owned_lost(&lane->hosted, model->now, news->shard, news->fence);
        break;
    default:
        broken(model, "news that no lane takes");
    }
}

static void lane_stop(struct model *model, uint32_t n, uint32_t l,
                      int32_t shard)
{
    struct event event = { .what = RUN_STOP, .node = n, .machine = l + 1,
                           .shard = shard };
    model->nodes[n].lanes[l].stopping[index_of(shard)] = true;
    put(model, &event, model->now + delay(model));
}

static void check_live(struct model *model, int32_t shard)
{
    int live = 0;
    for (uint32_t n = 0; n < model->options.nodes; n++)
        for (uint32_t l = 0; l < LANES; l++)
            live += model->nodes[n].lanes[l].live[index_of(shard)];
    if (live > 1)
        broken(model, "two owners");
}

static void hosted_news_at(struct model *model, uint32_t n, uint32_t l,
                           const struct owned_news *news)
{
    struct lane *lane = &model->nodes[n].lanes[l];
    struct event event = { .shard = news->shard, .fence = news->fence,
                           .attempt = news->attempt };
    struct pending_item *held;
    switch (news->kind) {
    case OWNED_CLAIM:
        event.what = RUN_CLAIM;
        event.node = n;
        event.machine = l + 1;
        put(model, &event, model->now + delay(model));
        return;
    case OWNED_STARTED:
        lane->live[index_of(news->shard)] = true;
        lane->stopping[index_of(news->shard)] = false;
        check_live(model, news->shard);
        while ((held = owned_take(&lane->hosted, news->shard)))
            into_mailbox(model, n, l, (struct message *)held);
        event.what = MAIL_STARTED;
        mail(model, n, l + 1, 0, event);
        return;
    case OWNED_STOP_ENTITIES:
        lane_stop(model, n, l, news->shard);
        return;
    case OWNED_STOPPED:
        place_stopped(&lane->routes, &lane->hosted, news->shard);
        event.what = MAIL_STOPPED;
        event.ok = true;
        mail(model, n, l + 1, 0, event);
        return;
    case OWNED_DRAIN_FAILED:
        event.what = MAIL_STOPPED;
        event.ok = false;
        mail(model, n, l + 1, 0, event);
        return;
    case OWNED_KILL_ENTITIES:
        broken(model, "a stop took too long");
        return;
    case OWNED_FENCED:
        broken(model, "fenced off");
        return;
    case OWNED_LEASE:
    case OWNED_RELEASE:
    case OWNED_LEASE_LOST:
        broken(model, "a lease, which the type does not use");
        return;
    }
}

static void drain_lane(struct model *model, uint32_t n, uint32_t l)
{
    struct lane *lane = &model->nodes[n].lanes[l];
    struct owned_news owned_news;
    struct routes_news routes_news;
    bool more = true;
    while (more) {
        more = false;
        if (owned_deadline(&lane->hosted) <= model->now)
            owned_tick(&lane->hosted, model->now);
        while (owned_next_news(&lane->hosted, &owned_news)) {
            hosted_news_at(model, n, l, &owned_news);
            more = true;
        }
        while (routes_next_news(&lane->routes, &routes_news)) {
            more = true;
            if (routes_news.kind == ROUTES_REQUEST_HOME) {
                struct event event = { .what = MAIL_WANT,
                                       .shard = routes_news.shard };
                mail(model, n, l + 1, 0, event);
                continue;
            }
            enum place place;
            struct route route;
            struct pending_item *held;
            while ((held = place_flush(&lane->routes, &lane->hosted,
                                       routes_news.shard, (uint16_t)l, &place,
                                       &route)))
                send_at(model, n, l, place, route, (struct message *)held);
        }
    }
    if (lane->budget.count > lane->budget.count_max)
        broken(model, "above the limit");
    struct event event = { .what = MAIL_WAITING,
                           .number = lane->budget.count };
    if (!lane->waiting_told || !lane->budget.count || lane->budget.count == 1)
        mail(model, n, l + 1, 0, event);
    lane->waiting_told = true;
}

/* The coordinator on the first node. */

static void say(struct model *model, uint32_t to,
                const struct shard_message *message)
{
    struct buf buf = { 0 };
    struct event event = { .what = NET_CONTROL, .node = to, .machine = 0,
                           .from = 0, .serializer =
                               shard_message_serializer(message->kind) };
    shard_message_put(&buf, message, &model->nodes[0].self);
    check(buf.size <= sizeof event.payload);
    memcpy(event.payload, buf.data, buf.size);
    event.size = buf.size;
    (void)snprintf(event.manifest, sizeof event.manifest, "%s",
                   shard_message_manifest(message->kind));
    (void)snprintf(event.recipient, sizeof event.recipient, "%s",
                   "/system/sharding/T");
    (void)snprintf(event.sender, sizeof event.sender, "%s", COORDINATOR_REF);
    buf_fini(&buf);
    deliver(model, 0, 0, &event, 1);
    if (model->options.repeats && chance(model, 2))
        deliver(model, 0, 0, &event, 1);
}

static struct slice node_ref(const struct model *model, uint32_t n, char *text)
{
    struct buf buf = { 0 };
    ref_put(&buf, &model->nodes[n].self, &model->nodes[n].self.node.address,
            slice_text(REGION_PATH));
    memcpy(text, buf.data, buf.size);
    struct slice ref = slice_of(text, buf.size);
    buf_fini(&buf);
    return ref;
}

static void say_shard(struct model *model, uint32_t to,
                      enum shard_message_kind kind, int64_t index)
{
    const struct moving *moving = &model->shards[index];
    char shard[SHARD_TEXT_MAX];
    char ref[200];
    char refs[NODES][200];
    struct shard_owing owing[NODES];
    struct shard_message message = {
        .kind = kind,
        .shard = shard_text((int32_t)index - SHARDS + 1, shard),
        .fence = moving->fence,
        .attempt = moving->attempt
    };
    if (moving->home >= 0)
        message.ref = node_ref(model, (uint32_t)moving->home, ref);
    if (model->options.fenceless) {
        message.fence = (struct fence){ 0, 0 };
        message.attempt = 0;
        if (kind == SHARD_BEGIN_HAND_OFF)
            message.ref = slice_of(NULL, 0);
    } else if (kind == SHARD_HAND_OFF) {
        message.owing = owing;
        for (uint32_t n = 0; n < model->options.nodes; n++) {
            if (moving->holding & 1u << n)
                owing[message.owing_count++] = (struct shard_owing){
                    node_ref(model, n, refs[n]),
                    model->nodes[n].self.node.uid, model->nodes[n].lane_count
                };
        }
    }
    if (kind == SHARD_HOST)
        message.ref = slice_of(NULL, 0);
    say(model, to, &message);
}

static void tell_waiting(struct model *model, int64_t index, bool all)
{
    struct moving *moving = &model->shards[index];
    for (uint32_t n = 0; n < model->options.nodes; n++) {
        if ((all ? model->registered : moving->asking) & 1u << n)
            say_shard(model, n, SHARD_HOME, index);
    }
    moving->asking = 0;
}

static void allocate(struct model *model, int64_t index)
{
    struct moving *moving = &model->shards[index];
    uint32_t hosts = model->options.nodes - model->options.proxy;
    uint32_t n;
    if (!(model->registered & ~model->leaving & ((1u << hosts) - 1)))
        return; /* asked again */
    do {
        n = (uint32_t)chance(model, hosts);
    } while (!(model->registered & 1u << n) || (model->leaving & 1u << n));
    moving->home = (int)n;
    moving->fence = (struct fence){ 1, moving->fence.epoch + 1 };
    say_shard(model, n, SHARD_HOST, index);
    tell_waiting(model, index, chance(model, 2));
}

static void begin_move(struct model *model, int64_t index)
{
    struct moving *moving = &model->shards[index];
    if (moving->home < 0 || moving->moving)
        return;
    moving->moving = true;
    moving->stopping = false;
    moving->attempt = ++model->attempt;
    moving->acks_left = moving->holding = model->registered;
    for (uint32_t n = 0; n < model->options.nodes; n++)
        if (model->registered & 1u << n)
            say_shard(model, n, SHARD_BEGIN_HAND_OFF, index);
    if (model->options.gives_up && !chance(model, 3)) {
        struct event event = { .what = RUN_GIVE_UP, .shard = (int32_t)index,
                               .number = moving->attempt };
        put(model, &event, model->now + chance(model, 9000));
    }
}

static void give_up(struct model *model, int64_t index)
{
    struct moving *moving = &model->shards[index];
    moving->moving = false;
    model->result.given_up++;
    say_shard(model, (uint32_t)moving->home, SHARD_HOST, index);
    tell_waiting(model, index, true);
}

static void held_by(struct model *model, int64_t index, uint32_t from)
{
    struct moving *moving = &model->shards[index];
    moving->acks_left &= ~(1u << from);
    if (moving->acks_left)
        return;
    moving->stopping = true;
    say_shard(model, (uint32_t)moving->home, SHARD_HAND_OFF, index);
}

static void coordinator_hears(struct model *model, uint32_t from,
                              const struct event *event)
{
    struct shard_message message;
    int32_t shard = 0;
    check(shard_message_read(&message, event->serializer,
                             slice_text(event->manifest),
                             slice_of(event->payload, event->size)));
    if (message.shard.size)
        check(shard_parse(message.shard, &shard));
    int64_t index = index_of(shard);
    struct moving *moving = &model->shards[index];
    bool current = moving->moving &&
                   (model->options.fenceless ||
                    (message.attempt == moving->attempt &&
                     !fence_compare(message.fence, moving->fence)));
    switch (message.kind) {
    case SHARD_REGISTER:
    case SHARD_REGISTER_PROXY: {
        struct shard_message ack = { .kind = SHARD_REGISTER_ACK };
        struct buf ref = { 0 };
        model->registered |= 1u << from;
        ref_put(&ref, &model->nodes[0].self,
                &model->nodes[0].self.node.address,
                slice_text(COORDINATOR_REF));
        ack.ref = buf_slice(&ref);
        ack.fence.term = model->options.fenceless ? 0 : 1;
        say(model, from, &ack);
        buf_fini(&ref);
        break;
    }
    case SHARD_GET_HOME:
        moving->asking |= 1u << from;
        if (moving->moving)
            break;
        if (moving->home < 0)
            allocate(model, index);
        else
            tell_waiting(model, index, false);
        break;
    case SHARD_BEGIN_HAND_OFF_ACK:
        if (!current || moving->stopping)
            break;
        held_by(model, index, from);
        break;
    case SHARD_HOST_STOPPED:
        if (!current || !moving->stopping || (int)from != moving->home)
            break;
        model->result.moves++;
        moving->moving = false;
        moving->home = -1;
        allocate(model, index);
        break;
    case SHARD_HAND_OFF_FAILED:
        if (current && (int)from == moving->home)
            give_up(model, index);
        break;
    case SHARD_GRACEFUL_SHUTDOWN: {
        bool homeless = true;
        model->leaving |= 1u << from;
        for (int64_t i = 0; i < 2 * SHARDS - 1; i++) {
            if (model->shards[i].home != (int)from)
                continue;
            homeless = false;
            begin_move(model, i);
        }
        if (message.idle && homeless)
            say(model, from,
                &(struct shard_message){ .kind = SHARD_DISMISSED,
                                         .fence = { 1, 0 },
                                         .idle = message.idle });
        break;
    }
    case SHARD_REGION_STOPPED:
        model->registered &= ~(1u << from);
        for (int64_t i = 0; i < 2 * SHARDS - 1; i++) {
            if (model->shards[i].home == (int)from)
                broken(model, "a region with shards stops");
            if (!model->shards[i].moving || model->shards[i].stopping)
                continue;
            model->shards[i].holding &= ~(1u << from);
            held_by(model, i, from);
        }
        break;
    default:
        break;
    }
    shard_message_fini(&message);
}

static void drain_outbox(struct model *model, uint32_t n)
{
    struct outbound out;
    while (outbox_next(&model->nodes[n].outbox, &out)) {
        struct event event = { .what = NET_CONTROL, .machine = 0, .from = n,
                               .serializer = out.serializer };
        event.node = out.to.address.port - 1u;
        check(out.payload.size <= sizeof event.payload);
        memcpy(event.payload, out.payload.data, out.payload.size);
        event.size = out.payload.size;
        memcpy(event.manifest, out.manifest.data, out.manifest.size);
        memcpy(event.recipient, out.recipient.data,
               path_plain(out.recipient).size);
        memcpy(event.sender, out.sender.data, out.sender.size);
        deliver(model, n, 0, &event, 1);
    }
}

static void drain_region(struct model *model, uint32_t n)
{
    struct node *node = &model->nodes[n];
    struct region_news news;
    while (region_next_news(node->region, &news)) {
        struct event event = { .what = MAIL_NEWS, .news = news };
        if (news.kind == REGION_COORDINATOR)
            continue;
        if (news.kind == REGION_STOPPED) {
            node->stopped = true;
            continue;
        }
        if (news.kind == REGION_DRAIN)
            memcpy(event.owing, news.owing,
                   news.owing_count * sizeof *news.owing);
        event.news.path = slice_of(NULL, 0);
        if (news.kind == REGION_HOST || news.kind == REGION_DRAIN ||
            news.kind == REGION_LOST) {
            mail(model, n, 0, owner_lane(node, news.shard) + 1, event);
            continue;
        }
        for (uint32_t l = 0; l < node->lane_count; l++) {
            if (news.lane == LANE_ALL || news.lane == l)
                mail(model, n, 0, l + 1, event);
        }
    }
    drain_outbox(model, n);
}

static void region_event(struct model *model, const struct event *event)
{
    struct node *node = &model->nodes[event->node];
    struct region *region = node->region;
    switch (event->what) {
    case MAIL_WANT:
        region_request_home(region, model->now, event->from, event->shard);
        break;
    case MAIL_HELD:
        region_lane_held(region, model->now, event->from, event->shard,
                         event->attempt);
        break;
    case MAIL_STARTED:
        region_shard_started(region, model->now, event->shard, event->fence);
        break;
    case MAIL_STOPPED:
        region_shard_stopped(region, model->now, event->shard, event->attempt,
                             event->ok, event->ok ? NULL : "test");
        break;
    case MAIL_WAITING:
        region_lane_waiting(region, model->now, event->from, event->number);
        break;
    case NET_CONTROL: {
        struct inbound inbound = {
            .from = model->nodes[event->from].self.node,
            .sender = slice_text(event->sender),
            .recipient = slice_text(event->recipient),
            .manifest = slice_text(event->manifest),
            .payload = slice_of(event->payload, event->size),
            .serializer = event->serializer
        };
        if (strstr(event->recipient, "Coordinator"))
            coordinator_hears(model, event->from, event);
        else
            check(region_receive(region, model->now, &inbound));
        break;
    }
    default:
        broken(model, "not for control");
    }
    drain_region(model, event->node);
}

static void user_sends(struct model *model, uint32_t n, uint32_t l)
{
    struct lane *lane = &model->nodes[n].lanes[l];
    if (model->nodes[n].stopped) {
        model->skipped++;
        return;
    }
    struct message *message = calloc(1, sizeof *message);
    int64_t index = (int64_t)chance(model, 2 * SHARDS - 1);
    struct route route;
    message->held.size = 100;
    message->shard = (int32_t)index - SHARDS + 1;
    message->sender = n * LANES + l;
    message->entity = (uint32_t)chance(model, ENTITIES);
    message->number =
        ++model->next_number[message->sender][index][message->entity];
    model->result.sent++;
    enum place place = place_sent(&lane->routes, &lane->hosted, message->shard,
                                  (uint16_t)l, &route);
    send_at(model, n, l, place, route, message);
}

static void arrived(struct model *model, uint32_t n, uint32_t l,
                    struct message *message)
{
    struct lane *lane = &model->nodes[n].lanes[l];
    struct route route;
    enum place place = place_arrived(&lane->routes, &lane->hosted,
                                     message->shard, (uint16_t)l, &route);
    send_at(model, n, l, place, route, message);
}

static void run_entity(struct model *model, uint32_t n, uint32_t l,
                       const struct event *event)
{
    struct lane *lane = &model->nodes[n].lanes[l];
    struct box *box = &lane->boxes[index_of(event->shard)];
    if (box->count) {
        process(model, box->items[box->first++]);
        box->count--;
    }
}

static void run_stop(struct model *model, uint32_t n, uint32_t l,
                     const struct event *event)
{
    struct lane *lane = &model->nodes[n].lanes[l];
    int64_t index = index_of(event->shard);
    if (!lane->stopping[index])
        return;
    if (lane->boxes[index].count) {
        put(model, event, model->now + delay(model));
        return;
    }
    lane->boxes[index].first = 0;
    lane->stopping[index] = false;
    lane->live[index] = false;
    owned_entities_stopped(&lane->hosted, model->now, event->shard);
}

static void run_claim(struct model *model, uint32_t n, uint32_t l,
                      const struct event *event)
{
    struct fence *stored = &model->shards[index_of(event->shard)].stored;
    struct fence claimed = event->fence;
    enum claim_result result = CLAIM_OK;
    if (fence_is_none(claimed))
        claimed = (struct fence){ 0, stored->epoch + 1 };
    if (!chance(model, 5))
        result = CLAIM_ERROR;
    else if (fence_compare(claimed, *stored) < 0)
        result = CLAIM_STALE;
    else
        *stored = claimed;
    owned_claimed(&model->nodes[n].lanes[l].hosted, model->now, event->shard,
                   event->fence, claimed, result);
}

static void lane_event(struct model *model, const struct event *event)
{
    uint32_t n = event->node;
    uint32_t l = event->machine - 1;
    struct node *node = &model->nodes[n];
    struct event on = *event;
    uint32_t owner = owner_lane(node, event->shard);
    switch (event->what) {
    case RUN_TURN:
        drain_lane(model, n, l);
        return;
    case MAIL_NEWS:
        lane_news(model, n, l, event);
        break;
    case NET_MESSAGE:
    case MAIL_MESSAGE:
        if (owner == l) {
            arrived(model, n, l, event->message);
        } else {
            on.what = MAIL_MESSAGE;
            mail(model, n, l + 1, owner + 1, on);
        }
        break;
    case NET_MARKER:
    case MAIL_MARKER:
        if (owner == l) {
            owned_marker(&node->lanes[l].hosted, model->now, event->shard,
                          event->attempt, event->number,
                          (uint32_t)event->fence.epoch);
        } else {
            on.what = MAIL_MARKER;
            mail(model, n, l + 1, owner + 1, on);
        }
        break;
    case RUN_ENTITY:
        run_entity(model, n, l, event);
        break;
    case RUN_STOP:
        run_stop(model, n, l, event);
        break;
    case RUN_CLAIM:
        run_claim(model, n, l, event);
        break;
    case RUN_SEND:
        user_sends(model, n, l);
        break;
    default:
        broken(model, "not for a lane");
    }
    /* A machine may take several mails before it drains its news. */
    if (chance(model, 3)) {
        drain_lane(model, n, l);
    } else {
        struct event turn = { .what = RUN_TURN, .node = n, .machine = l + 1 };
        put(model, &turn, model->now + chance(model, 100));
    }
}

static void start(struct model *model)
{
    for (uint32_t n = 0; n < model->options.nodes; n++) {
        struct node *node = &model->nodes[n];
        node->self = (struct identity){ "akka", "S", { .uid = 100 + n } };
        check(address_set(&node->self.node.address, "h", 1, n + 1));
        node->lane_count =
            1 + (uint32_t)chance(model, model->options.lanes_max);
        node->region = region_new(&(struct region_options){
            .self = &node->self, .outbox = &node->outbox, .type = "T",
            .path = REGION_PATH, .coordinator_path = COORDINATOR_PATH,
            .shard_count = SHARDS, .lanes = node->lane_count,
            .is_proxy = model->options.proxy &&
                        n == model->options.nodes - 1,
            .persists = model->options.persists,
            .retry_interval = 5000, .handoff_timeout = 1u << 30 });
        for (uint32_t l = 0; l < node->lane_count; l++) {
            struct lane *lane = &node->lanes[l];
            pending_budget_init(&lane->budget, model->options.count_max, 0,
                             node->lane_count);
            routes_init(&lane->routes,
                        &(struct routes_options){ SHARDS, &lane->budget });
            owned_init(&lane->hosted,
                        &(struct owned_options){
                            .shard_count = SHARDS,
                            .persists = model->options.persists,
                            .stop_timeout = UINT64_MAX / 2,
                            .claim_retry = 500,
                            .budget = &lane->budget });
        }
    }
    for (uint32_t n = 0; n < model->options.nodes; n++) {
        for (uint32_t m = 0; m < model->options.nodes; m++)
            region_peer(model->nodes[n].region, 0,
                        &(struct member_info){ .node = model->nodes[m].self.node,
                                        .up_number = (int32_t)m + 1,
                                        .status = MEMBER_UP,
                                        .has_role = true });
        drain_region(model, n);
    }
    for (uint32_t i = 0; i < MESSAGES; i++) {
        uint32_t n = (uint32_t)chance(model, model->options.nodes);
        struct event event = { .what = RUN_SEND, .node = n };
        event.machine =
            1 + (uint32_t)chance(model, model->nodes[n].lane_count);
        put(model, &event, chance(model, 60000));
    }
    for (uint32_t i = 0; i < 60; i++) {
        struct event event = { .what = RUN_MOVE };
        event.shard = (int32_t)chance(model, 2 * SHARDS - 1);
        put(model, &event, chance(model, 70000));
    }
}

static void run_timers(struct model *model, uint64_t until)
{
    for (uint32_t n = 0; n < model->options.nodes; n++) {
        struct node *node = &model->nodes[n];
        if (region_deadline(node->region) <= until) {
            region_tick(node->region, model->now);
            drain_region(model, n);
        }
        for (uint32_t l = 0; l < node->lane_count; l++) {
            if (owned_deadline(&node->lanes[l].hosted) <= until) {
                owned_tick(&node->lanes[l].hosted, model->now);
                drain_lane(model, n, l);
            }
        }
    }
}

static void finish(struct model *model)
{
    struct model_result *result = &model->result;
    for (uint32_t n = 0; n < model->options.nodes; n++) {
        struct node *node = &model->nodes[n];
        result->stale += region_counters(node->region)->stale;
        for (uint32_t l = 0; l < node->lane_count; l++) {
            struct lane *lane = &node->lanes[l];
            /* Messages that began to wait while the region stopped have no home any more. */
            for (struct pending_item *held;
                 node->stopped && (held = routes_take_any(&lane->routes));)
                refuse(model, (struct message *)held);
            if (lane->budget.count)
                broken(model, "messages still wait");
            for (int64_t i = 0; i < 2 * SHARDS - 1; i++)
                if (lane->boxes[i].count)
                    broken(model, "a mailbox is not empty");
            routes_fini(&lane->routes);
            owned_fini(&lane->hosted);
        }
        region_free(node->region);
        outbox_fini(&node->outbox);
    }
    if (model->options.shuts_down &&
        !model->nodes[model->options.nodes - 1].stopped)
        broken(model, "the shutdown does not end");
    if (result->sent !=
        result->delivered + result->refused + result->dropped)
        broken(model, "messages are lost");
    vec_fini(&model->events);
}

static void step(struct model *model, struct event *event)
{
    struct moving *moving = &model->shards[event->shard >= 0 ? event->shard
                                                             : 0];
    switch (event->what) {
    case RUN_MOVE:
        begin_move(model, event->shard);
        break;
    case RUN_GIVE_UP:
        if (moving->moving && moving->attempt == event->number)
            give_up(model, event->shard);
        break;
    default:
        if (event->machine == 0)
            region_event(model, event);
        else
            lane_event(model, event);
    }
}

/* For a run that hangs. */
static void describe(const struct model *model)
{
    for (uint32_t i = 0; i < 2 * SHARDS - 1; i++) {
        const struct moving *moving = &model->shards[i];
        int32_t shard = (int32_t)i - SHARDS + 1;
        fprintf(stderr,
                "shard %d home=%d moving=%d attempt=%llu acks_left=%x "
                "stopping=%d asking=%x\n",
                shard, moving->home, moving->moving,
                (unsigned long long)moving->attempt, moving->acks_left,
                moving->stopping, moving->asking);
        for (uint32_t n = 0; n < model->options.nodes; n++) {
            for (uint32_t l = 0; l < model->nodes[n].lane_count; l++) {
                const struct lane *lane = &model->nodes[n].lanes[l];
                fprintf(stderr, "  %u/%u route=%s waiting=%u hosted=%s owed=%u\n",
                        n, l,
                        route_state_name(
                            routes_find(&lane->routes, shard).state),
                        routes_waiting(&lane->routes, shard),
                        owned_state_name(owned_state(&lane->hosted, shard)),
                        owned_owed(&lane->hosted, shard));
            }
        }
    }
}

struct model_result model_run(const struct model_options *options)
{
    struct model *model = calloc(1, sizeof *model);
    struct model_result result;
    struct event *event;
    uint64_t quiet = 0;
    model->options = *options;
    rng_init(&model->rng, options->seed);
    for (int64_t i = 0; i < 2 * SHARDS - 1; i++)
        model->shards[i].home = -1;
    start(model);
    bool left = !options->shuts_down;
    while (quiet < 400) {
        event = model->events.count ? model->events.items[0] : NULL;
        uint64_t next = model->now + 100;
        if (event && event->at <= next) {
            event = take(model);
            model->now = event->at;
            step(model, event);
            free(event);
            quiet = 0;
        } else {
            model->now = next;
            quiet += model->result.sent + model->skipped == MESSAGES;
        }
        if (!left && model->now > 30000) {
            left = true;
            uint32_t n = options->nodes - 1;
            region_shutdown(model->nodes[n].region, model->now, NEVER);
            drain_region(model, n);
            for (uint32_t l = 0; l < model->nodes[n].lane_count; l++)
                model->nodes[n].lanes[l].waiting_told = false;
        }
        run_timers(model, model->now);
        if (model->now > 3000000) {
            describe(model);
            broken(model, "it does not become quiet");
        }
    }
    finish(model);
    result = model->result;
    free(model);
    return result;
}
