/* Fuzzes the region of one node, with the routes and owned shards of two lanes: messages, commands
 * and time. Limits and invariants hold after each step. Every waiting message leaves again. No
 * message enters a shard that does not run. */
#include <stdlib.h>

#include "base/limits.h"
#include "base/timers.h"
#include "shard/place.h"
#include "shard/region.h"
#include "shard/wire.h"

#define SHARDS 3
#define INDEXES (2 * SHARDS - 1)
#define LANES 2
#define WAITING_MAX 16
#define MAIL_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct mail {
    struct region_news news;
    struct owing owing[4];
};

struct lane {
    struct pending_budget budget;
    struct routes routes;
    struct owned_shards hosted;
    struct mail mail[MAIL_MAX]; /* from control, in order */
    uint32_t first;
    uint32_t count;
    bool live[INDEXES];
    struct fence claim[INDEXES]; /* claims that the journal has not answered */
    struct owned_news lease[INDEXES]; /* the same for the lease provider */
};

struct fixture {
    struct cursor in;
    struct identity self;
    struct outbox outbox;
    struct region *region;
    struct lane lanes[LANES];
    uint64_t now;
    uint64_t put;
    uint64_t taken;
    bool stopped;
};

static uint32_t pick(struct fixture *fixture, uint32_t limit)
{
    return cursor_u8(&fixture->in) % limit;
}

static struct lane *owner(struct fixture *fixture, int32_t shard)
{
    return &fixture->lanes[(uint32_t)(shard + SHARDS) % LANES];
}

static uint32_t own(const struct fixture *fixture, const struct lane *lane)
{
    return (uint32_t)(lane - fixture->lanes);
}

static uint32_t index_of(int32_t shard)
{
    int64_t index = shard_index(shard, SHARDS);
    check(index >= 0);
    return (uint32_t)index;
}

static struct pending_item *message(struct fixture *fixture)
{
    struct pending_item *held = mem_alloc(sizeof *held);
    held->size = 1 + pick(fixture, 200);
    fixture->put++;
    return held;
}

static void end(struct fixture *fixture, struct pending_item *held)
{
    fixture->taken++;
    mem_free(held);
}

static void at_place(struct fixture *fixture, struct lane *lane,
                     int32_t shard, enum place place, struct pending_item *held)
{
    bool waits = false;
    if (place == PLACE_ENTITY)
        check(lane->live[index_of(shard)]);
    else if (place == PLACE_WAIT)
        waits = owned_hold(&lane->hosted, fixture->now, shard, held);
    else if (place == PLACE_HOLD)
        waits = routes_hold(&lane->routes, fixture->now, shard, held);
    if (!waits)
        end(fixture, held);
}

static void lane_hosted(struct fixture *fixture, struct lane *lane,
                        const struct owned_news *news)
{
    uint32_t index = index_of(news->shard);
    struct pending_queue boxes = { 0 };
    struct pending_item *held;
    switch (news->kind) {
    case OWNED_CLAIM:
        lane->claim[index] = news->fence;
        break;
    case OWNED_STARTED:
        lane->live[index] = true;
        while ((held = owned_take(&lane->hosted, news->shard)))
            end(fixture, held);
        region_shard_started(fixture->region, fixture->now, news->shard,
                             news->fence);
        break;
    case OWNED_STOPPED:
        check(!lane->live[index] ||
              owned_state(&lane->hosted, news->shard) != OWNED_ABSENT);
        place_stopped(&lane->routes, &lane->hosted, news->shard);
        region_shard_stopped(fixture->region, fixture->now, news->shard,
                             news->attempt, true, NULL);
        break;
    case OWNED_DRAIN_FAILED:
        region_shard_stopped(fixture->region, fixture->now, news->shard,
                             news->attempt, false, news->reason);
        break;
    case OWNED_FENCED:
        held = message(fixture);
        pending_append(&boxes, &(struct pending_queue){ held, held, 1 });
        place_fenced(&lane->routes, &lane->hosted, fixture->now, news->shard,
                     &boxes);
        if (boxes.first)
            end(fixture, boxes.first);
        region_shard_fenced(fixture->region, fixture->now, news->shard,
                            news->fence);
        break;
    case OWNED_LEASE:
    case OWNED_RELEASE:
        lane->lease[index] = *news;
        break;
    case OWNED_LEASE_LOST:
        lane->live[index] = false;
        held = message(fixture);
        pending_append(&boxes, &(struct pending_queue){ held, held, 1 });
        place_returned(&lane->routes, &lane->hosted, fixture->now, news->shard,
                       &boxes);
        if (boxes.first)
            end(fixture, boxes.first);
        owned_entities_stopped(&lane->hosted, fixture->now, news->shard);
        break;
    case OWNED_STOP_ENTITIES:
    case OWNED_KILL_ENTITIES:
        break;
    }
}

static void lane_settle(struct fixture *fixture, struct lane *lane)
{
    struct owned_news owned_news;
    struct routes_news routes_news;
    enum place place;
    struct route route;
    struct pending_item *held;
    for (bool more = true; more;) {
        more = false;
        while (owned_next_news(&lane->hosted, &owned_news)) {
            lane_hosted(fixture, lane, &owned_news);
            more = true;
        }
        while (routes_next_news(&lane->routes, &routes_news)) {
            more = true;
            if (routes_news.kind == ROUTES_REQUEST_HOME) {
                region_request_home(fixture->region, fixture->now,
                                    own(fixture, lane), routes_news.shard);
                continue;
            }
            while ((held = place_flush(&lane->routes, &lane->hosted,
                                       routes_news.shard,
                                       (uint16_t)own(fixture, lane), &place,
                                       &route)))
                at_place(fixture, lane, routes_news.shard, place, held);
        }
    }
    check(lane->budget.count <= lane->budget.count_max);
    check(lane->budget.bytes <= lane->budget.bytes_max);
}

static void put_mail(struct fixture *fixture, struct lane *lane,
                     const struct region_news *news)
{
    struct mail *mail = &lane->mail[(lane->first + lane->count) % MAIL_MAX];
    check(lane->count < MAIL_MAX);
    (void)fixture;
    lane->count++;
    mail->news = *news;
    mail->news.path = mail->news.text = slice_of(NULL, 0);
    check(news->owing_count <= 4);
    if (news->owing_count)
        memcpy(mail->owing, news->owing,
               news->owing_count * sizeof *news->owing);
}

static void region_drain(struct fixture *fixture)
{
    struct region_news news;
    struct outbound out;
    while (region_next_news(fixture->region, &news)) {
        switch (news.kind) {
        case REGION_HOST:
        case REGION_DRAIN:
        case REGION_LOST:
            put_mail(fixture, owner(fixture, news.shard), &news);
            break;
        case REGION_ROUTE:
        case REGION_FORGET:
        case REGION_HOLD:
        case REGION_DROP:
        case REGION_NODE_GONE:
            for (uint32_t i = 0; i < LANES; i++)
                if (news.lane == LANE_ALL || news.lane == i)
                    put_mail(fixture, &fixture->lanes[i], &news);
            break;
        case REGION_STOPPED:
            check(!fixture->stopped);
            fixture->stopped = true;
            break;
        case REGION_COORDINATOR:
        case REGION_REFUSED:
            break;
        }
    }
    while (outbox_next(&fixture->outbox, &out)) {
        struct shard_message sent;
        check(shard_message_read(&sent, out.serializer, out.manifest,
                                 out.payload));
        shard_message_fini(&sent);
    }
}

static void take_mail(struct fixture *fixture, struct lane *lane)
{
    const struct mail *mail = &lane->mail[lane->first];
    const struct region_news *news = &mail->news;
    uint32_t number = own(fixture, lane);
    struct pending_item *held;
    if (!lane->count)
        return;
    lane->first = (lane->first + 1) % MAIL_MAX;
    lane->count--;
    switch (news->kind) {
    case REGION_HOST:
        place_host(&lane->routes, &lane->hosted, fixture->now, news->shard,
                   (uint16_t)number, news->fence);
        break;
    case REGION_ROUTE:
        if (node_equal(&news->node, &fixture->self.node))
            routes_set_local(&lane->routes, news->shard,
                             (uint16_t)own(fixture,
                                           owner(fixture, news->shard)));
        else
            routes_set_remote(&lane->routes, news->shard,
                              news->node.address.port);
        break;
    case REGION_FORGET:
        routes_forget(&lane->routes, news->shard);
        break;
    case REGION_HOLD:
        routes_hold_begin(&lane->routes, news->shard);
        if (node_equal(&news->node, &fixture->self.node))
            owned_marker(&owner(fixture, news->shard)->hosted, fixture->now,
                          news->shard, news->attempt,
                          fixture->self.node.uid, number);
        region_lane_held(fixture->region, fixture->now, number, news->shard,
                         news->attempt);
        break;
    case REGION_DRAIN:
        owned_drain(&lane->hosted, fixture->now, news->shard, news->attempt,
                     mail->owing, news->owing_count, news->deadline);
        break;
    case REGION_LOST:
        owned_lost(&lane->hosted, fixture->now, news->shard, news->fence);
        break;
    case REGION_DROP:
        while ((held = routes_drain(&lane->routes, news->shard)))
            end(fixture, held);
        break;
    case REGION_NODE_GONE:
        routes_peer_gone(&lane->routes, news->node.address.port);
        owned_node_gone(&lane->hosted, fixture->now, news->node.uid);
        break;
    default:
        check(news->kind == REGION_HOST);
    }
}

static struct node_id node(uint32_t number)
{
    struct node_id id = { .uid = 100 + number };
    check(address_set(&id.address, "h", 1, 1 + number));
    return id;
}

static void settle(struct fixture *fixture)
{
    region_drain(fixture);
    for (uint32_t i = 0; i < LANES; i++)
        lane_settle(fixture, &fixture->lanes[i]);
    region_drain(fixture);
}

static const enum shard_message_kind kinds[] = {
    SHARD_REGISTER_ACK, SHARD_HOME,     SHARD_HOST,  SHARD_BEGIN_HAND_OFF,
    SHARD_HAND_OFF,     SHARD_HOMES,    SHARD_REFUSED, SHARD_HOST_STARTED,
    SHARD_DISMISSED
};

static struct slice ref(struct fixture *fixture, struct buf *buf,
                        uint32_t number, const char *path)
{
    struct node_id id = node(number);
    ref_put(buf, &fixture->self, &id.address, slice_text(path));
    return buf_slice(buf);
}

static void receive(struct fixture *fixture, bool is_raw)
{
    char text[SHARD_TEXT_MAX];
    struct buf payload = { 0 };
    struct buf to = { 0 };
    struct shard_owing owing[3];
    struct shard_home home;
    struct shard_message message = { .kind =
                                         kinds[pick(fixture, 9)] };
    struct inbound inbound = { .from = node(pick(fixture, 3)),
                               .sender = slice_text("/system/c#1"),
                               .recipient = slice_text("/system/sharding/T") };
    message.shard = shard_text((int32_t)pick(fixture, 8) - 4, text);
    message.fence = (struct fence){ pick(fixture, 3), pick(fixture, 4) };
    message.attempt = pick(fixture, 4);
    message.idle = message.kind == SHARD_DISMISSED ? 1 + pick(fixture, 2) : 0;
    message.ref = ref(fixture, &to,
                      message.kind == SHARD_REGISTER_ACK
                          ? (uint32_t)(inbound.from.uid - 100)
                          : pick(fixture, 3),
                      "/system/sharding/T#5");
    message.reason = slice_text("why");
    if (message.kind == SHARD_HAND_OFF && message.fence.term) {
        for (uint32_t i = pick(fixture, 4); i > 0; i--)
            owing[message.owing_count++] = (struct shard_owing){
                message.ref, 100 + pick(fixture, 3), pick(fixture, 4)
            };
        message.owing = owing;
    }
    if (message.kind == SHARD_HOMES) {
        home = (struct shard_home){ message.ref, message.shard,
                                    message.fence };
        message.homes = &home;
        message.home_count = 1;
    }
    shard_message_put(&payload, &message, &fixture->self);
    inbound.serializer = shard_message_serializer(message.kind);
    inbound.manifest = slice_text(shard_message_manifest(message.kind));
    inbound.payload = buf_slice(&payload);
    if (is_raw) {
        size_t left = cursor_left(&fixture->in);
        size_t size = pick(fixture, 64);
        inbound.payload =
            cursor_slice(&fixture->in, size < left ? size : left / 2);
    }
    (void)region_receive(fixture->region, fixture->now, &inbound);
    buf_fini(&payload);
    buf_fini(&to);
}

static void membership(struct fixture *fixture)
{
    static const enum member_status statuses[] = { MEMBER_UP, MEMBER_LEAVING,
                                                 MEMBER_EXITING, MEMBER_DOWN };
    uint32_t number = pick(fixture, 4);
    struct member_info peer = { .node = node(number), .has_role = true,
                         .up_number = (int32_t)number };
    peer.status = statuses[pick(fixture, 4)];
    if (pick(fixture, 8) == 0 && number > 0)
        region_peer_removed(fixture->region, fixture->now, &peer.node);
    else
        region_peer(fixture->region, fixture->now, &peer);
}

/* An answer of the lease provider, to the last request or to an earlier one. */
static void lease_verb(struct fixture *fixture, struct lane *lane, int32_t shard)
{
    struct owned_shards *hosted = &lane->hosted;
    uint32_t ticket = lane->lease[index_of(shard)].ticket - (pick(fixture, 4) == 0);
    uint64_t until = fixture->now + (uint64_t)pick(fixture, 100) * SECOND;

    switch (pick(fixture, 8)) {
    case 0:
        owned_lease_denied(hosted, fixture->now, shard, ticket);
        break;
    case 1:
    case 2:
        owned_released(hosted, fixture->now, shard, ticket);
        break;
    case 3:
        owned_leases_lost(hosted, fixture->now);
        break;
    case 4:
        owned_leases_extended(hosted, until);
        break;
    default:
        owned_leased(hosted, fixture->now, shard, ticket, until);
        break;
    }
}

static void lane_verb(struct fixture *fixture)
{
    struct lane *lane = &fixture->lanes[pick(fixture, LANES)];
    uint16_t number = (uint16_t)own(fixture, lane);
    int32_t shard = (int32_t)pick(fixture, INDEXES) - SHARDS + 1;
    uint32_t index = index_of(shard);
    struct lane *owning = owner(fixture, shard);
    struct owned_shards *hosted = &owning->hosted;
    struct attempt attempt = { { 1, 1 }, 1 };
    enum owned_state state = owned_state(hosted, shard);
    struct route route;
    switch (pick(fixture, 8)) {
    case 0:
    case 1:
        at_place(fixture, lane, shard,
                 place_sent(&lane->routes, &lane->hosted, shard, number,
                            &route),
                 message(fixture));
        break;
    case 2:
        at_place(fixture, owning, shard,
                 place_arrived(&owning->routes, hosted, shard,
                               (uint16_t)own(fixture, owning), &route),
                 message(fixture));
        break;
    case 3:
        owned_claimed(hosted, fixture->now, shard, owning->claim[index],
                       owning->claim[index],
                       (enum claim_result)pick(fixture, 3));
        break;
    case 4:
        if (state == OWNED_STOPPING || state == OWNED_FENCED_STOPPING) {
            owning->live[index] = false;
            owned_entities_stopped(hosted, fixture->now, shard);
        }
        break;
    case 5:
        attempt.fence.epoch = pick(fixture, 4);
        attempt.number = pick(fixture, 4);
        owned_marker(hosted, fixture->now, shard, attempt,
                      100 + pick(fixture, 3), pick(fixture, 3));
        break;
    case 6:
        owned_fenced(hosted, fixture->now, shard,
                      (struct fence){ pick(fixture, 3), pick(fixture, 4) });
        break;
    case 7:
        if (hosted->leases && pick(fixture, 4))
            lease_verb(fixture, owning, shard);
        else
            region_lane_waiting(fixture->region, fixture->now, number,
                                lane->budget.count);
        break;
    }
}

static void step(struct fixture *fixture)
{
    switch (pick(fixture, 16)) {
    case 0:
        membership(fixture);
        break;
    case 1:
        fixture->now += (uint64_t)pick(fixture, 64) * SECOND;
        region_tick(fixture->region, fixture->now);
        for (uint32_t i = 0; i < LANES; i++)
            owned_tick(&fixture->lanes[i].hosted, fixture->now);
        break;
    case 2:
        receive(fixture, true);
        break;
    case 3:
        if (pick(fixture, 16) == 0)
            region_shutdown(fixture->region, fixture->now,
                            fixture->now + 100 * SECOND);
        else if (pick(fixture, 32) == 0)
            region_prepare_shutdown(fixture->region, fixture->now);
        else if (pick(fixture, 8) == 0)
            region_coordinator_gone(fixture->region, fixture->now);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        receive(fixture, false);
        break;
    case 8:
    case 9:
    case 10:
        take_mail(fixture, &fixture->lanes[pick(fixture, LANES)]);
        break;
    default:
        lane_verb(fixture);
    }
    settle(fixture);
    for (uint32_t i = 0; i < LANES; i++) /* limits the mail, as the driver does */
        while (fixture->lanes[i].count > MAIL_MAX / 2) {
            take_mail(fixture, &fixture->lanes[i]);
            settle(fixture);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fixture state;
    struct fixture *fixture = &state;
    struct pending_item *held;
    memset(fixture, 0, sizeof *fixture);
    fixture->in = cursor_of(slice_of(data, size));
    fixture->self = (struct identity){ "akka", "S", node(0) };
    fixture->region = region_new(&(struct region_options){
        .self = &fixture->self, .outbox = &fixture->outbox, .type = "T",
        .path = "/system/sharding/T#5",
        .coordinator_path = "/system/sharding/TCoordinator/singleton/coordinator",
        .shard_count = SHARDS, .lanes = LANES });
    for (uint32_t i = 0; i < LANES; i++) {
        struct lane *lane = &fixture->lanes[i];
        pending_budget_init(&lane->budget, WAITING_MAX, 2000, 1);
        routes_init(&lane->routes,
                    &(struct routes_options){ SHARDS, &lane->budget });
        owned_init(&lane->hosted,
                    &(struct owned_options){ .shard_count = SHARDS,
                                              .persists = size % 2,
                                              .leases = size % 4 > 1,
                                              .budget = &lane->budget });
    }
    while (!fixture->in.failed && cursor_left(&fixture->in))
        step(fixture);
    for (uint32_t i = 0; i < LANES; i++) {
        struct lane *lane = &fixture->lanes[i];
        for (int32_t shard = 1 - SHARDS; shard < SHARDS; shard++) {
            struct pending_queue queue = { 0 };
            owned_release(&lane->hosted, shard, &queue);
            routes_prepend(&lane->routes, shard, &queue);
        }
        while ((held = routes_take_any(&lane->routes)))
            end(fixture, held);
        check(lane->budget.count == 0 && lane->budget.bytes == 0);
        routes_fini(&lane->routes);
        owned_fini(&lane->hosted);
    }
    check(fixture->put == fixture->taken);
    region_free(fixture->region);
    outbox_fini(&fixture->outbox);
    return 0;
}
