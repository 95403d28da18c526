/* Implements the table of routes of one lane and the messages that wait for a home. */
#include "shard/route.h"

#include "base/limits.h"
#include "base/vec.h"

void routes_init(struct routes *routes, const struct routes_options *options)
{
    check(options->shard_count > 0 && options->shard_count <= SHARDS_MAX);
    check(options->budget);
    *routes = (struct routes){ 0 };
    routes->shard_count = options->shard_count;
    routes->budget = options->budget;
    size_t size = 2 * (size_t)options->shard_count - 1;
    routes->table = mem_alloc(size * sizeof *routes->table);
    routes->waiting = mem_alloc(size * sizeof *routes->waiting);
}

void routes_fini(struct routes *routes)
{
    if (!routes || !routes->table)
        return;
    for (size_t i = 0; i < 2 * (size_t)routes->shard_count - 1; i++)
        check(!routes->waiting[i]);
    mem_free(routes->table);
    mem_free(routes->waiting);
    mem_free(routes->news);
    *routes = (struct routes){ 0 };
}

static void tell(struct routes *routes, enum routes_news_kind kind,
                 int32_t shard)
{
    if (routes->news_count == routes->news_capacity) {
        routes->news_capacity =
            routes->news_capacity ? routes->news_capacity * 2 : 8;
        routes->news = mem_resize(routes->news, routes->news_capacity *
                                                    sizeof *routes->news);
    }
    routes->news[routes->news_count++] = (struct routes_news){ kind, shard };
}

bool routes_next_news(struct routes *routes, struct routes_news *news)
{
    if (routes->news_first == routes->news_count) {
        routes->news_first = routes->news_count = 0;
        return false;
    }
    *news = routes->news[routes->news_first++];
    return true;
}

/* Counts and returns -1 if there is none. */
static int64_t index_of(struct routes *routes, int32_t shard)
{
    int64_t index = shard_index(shard, routes->shard_count);
    if (index < 0)
        routes->counters.ignored++;
    return index;
}

static struct pending_queue *queue_at(struct routes *routes, int64_t index)
{
    if (!routes->waiting[index])
        routes->waiting[index] = mem_alloc(sizeof **routes->waiting);
    return routes->waiting[index];
}

static void drop_queue_if_empty(struct routes *routes, int64_t index)
{
    if (routes->waiting[index] && routes->waiting[index]->count == 0) {
        mem_free(routes->waiting[index]);
        routes->waiting[index] = NULL;
    }
}

/* Once, because a message waits. */
static void ask(struct routes *routes, int64_t index, int32_t shard)
{
    struct route *route = &routes->table[index];
    if (route->state == ROUTE_UNKNOWN)
        route->state = ROUTE_ASKED;
    else if (route->state != ROUTE_HELD || route->asked)
        return;
    route->asked = true;
    routes->counters.asked++;
    tell(routes, ROUTES_REQUEST_HOME, shard);
}

static void forget(struct routes *routes, int64_t index, int32_t shard)
{
    struct route *route = &routes->table[index];
    if (route->state == ROUTE_HELD || route->state == ROUTE_ASKED)
        return;
    *route = (struct route){ ROUTE_UNKNOWN, ROUTE_UNKNOWN, 0, false, 0 };
    if (routes->waiting[index])
        ask(routes, index, shard);
}

bool routes_hold(struct routes *routes, uint64_t now, int32_t shard,
                 struct pending_item *held)
{
    int64_t index = index_of(routes, shard);
    if (index < 0)
        return false;
    struct pending_queue *queue = queue_at(routes, index);
    bool is_held = pending_put(queue, routes->budget, now, held);
    if (!is_held)
        drop_queue_if_empty(routes, index);
    routes->counters.held += is_held;
    uint8_t state = routes->table[index].state;
    /* A link may have stopped a refused message; otherwise the home is needed for the next ones. */
    if (state == ROUTE_LOCAL || (state == ROUTE_REMOTE && is_held))
        forget(routes, index, shard);
    if (state != ROUTE_REMOTE && state != ROUTE_FLUSHING)
        ask(routes, index, shard);
    return is_held;
}

void routes_release(struct routes *routes, int32_t shard,
                    struct pending_queue *queue)
{
    int64_t index = index_of(routes, shard);
    if (index < 0 || !routes->waiting[index])
        return;
    pending_append(queue, routes->waiting[index]);
    drop_queue_if_empty(routes, index);
    struct route *route = &routes->table[index];
    if (route->state == ROUTE_FLUSHING)
        route->state = route->target;
}

void routes_prepend(struct routes *routes, int32_t shard,
                    struct pending_queue *queue)
{
    int64_t index = index_of(routes, shard);
    check(index >= 0);
    if (queue->count == 0)
        return;
    pending_prepend(queue_at(routes, index), queue);
    struct route *route = &routes->table[index];
    if (route->state == ROUTE_LOCAL || route->state == ROUTE_REMOTE) {
        route->state = ROUTE_FLUSHING;
        tell(routes, ROUTES_FLUSH, shard);
    } else if (route->state != ROUTE_FLUSHING) {
        ask(routes, index, shard);
    }
}

static void set(struct routes *routes, int32_t shard, struct route route)
{
    int64_t index = index_of(routes, shard);
    if (index < 0)
        return;
    if (routes->waiting[index]) {
        bool flushing = routes->table[index].state == ROUTE_FLUSHING;
        route.state = ROUTE_FLUSHING;
        routes->table[index] = route;
        if (!flushing)
            tell(routes, ROUTES_FLUSH, shard);
        return;
    }
    route.state = route.target;
    routes->table[index] = route;
}

void routes_set_local(struct routes *routes, int32_t shard, uint16_t lane)
{
    check(lane < LANES_MAX);
    set(routes, shard,
        (struct route){ ROUTE_LOCAL, ROUTE_LOCAL, (uint8_t)lane, false, 0 });
}

void routes_set_remote(struct routes *routes, int32_t shard, uint32_t peer)
{
    set(routes, shard,
        (struct route){ ROUTE_REMOTE, ROUTE_REMOTE, 0, false, peer });
}

void routes_set_gone(struct routes *routes, int32_t shard)
{
    int64_t index = index_of(routes, shard);
    if (index < 0)
        return;
    uint8_t state = routes->waiting[index] ? ROUTE_ASKED : ROUTE_UNKNOWN;
    routes->table[index] = (struct route){ state, ROUTE_UNKNOWN, 0, false, 0 };
}

void routes_ask_again(struct routes *routes)
{
    for (uint32_t i = 0; i < 2 * routes->shard_count - 1; i++) {
        struct route *route = &routes->table[i];
        if (route->state != ROUTE_ASKED || route->asked)
            continue;
        route->asked = true;
        routes->counters.asked++;
        tell(routes, ROUTES_REQUEST_HOME,
             (int32_t)((int64_t)i - routes->shard_count + 1));
    }
}

void routes_hold_begin(struct routes *routes, int32_t shard)
{
    int64_t index = index_of(routes, shard);
    if (index < 0)
        return;
    struct route *route = &routes->table[index];
    bool asked = route->asked;
    /* Control still has the question. */
    *route = (struct route){ ROUTE_HELD, ROUTE_UNKNOWN, 0, asked, 0 };
    routes->counters.hold_begun++;
    if (routes->waiting[index])
        ask(routes, index, shard);
}

void routes_forget(struct routes *routes, int32_t shard)
{
    int64_t index = index_of(routes, shard);
    if (index >= 0)
        forget(routes, index, shard);
}

void routes_suspect(struct routes *routes, int32_t shard)
{
    int64_t index = index_of(routes, shard);
    if (index < 0 || routes->table[index].state != ROUTE_REMOTE)
        return;
    routes->table[index] =
        (struct route){ ROUTE_ASKED, ROUTE_UNKNOWN, 0, true, 0 };
    routes->counters.asked++;
    tell(routes, ROUTES_DOUBT_HOME, shard);
}

void routes_peer_gone(struct routes *routes, uint32_t peer)
{
    for (uint32_t i = 0; i < 2 * routes->shard_count - 1; i++) {
        const struct route *route = &routes->table[i];
        if (route->target == ROUTE_REMOTE && route->peer == peer)
            forget(routes, i,
                   (int32_t)((int64_t)i - routes->shard_count + 1));
    }
}

static struct pending_item *take(struct routes *routes, int64_t index)
{
    if (!routes->waiting[index])
        return NULL;
    struct pending_item *held = pending_take(routes->waiting[index], routes->budget);
    drop_queue_if_empty(routes, index);
    struct route *route = &routes->table[index];
    if (!routes->waiting[index] && route->state == ROUTE_FLUSHING)
        route->state = route->target;
    return held;
}

struct pending_item *routes_take(struct routes *routes, int32_t shard)
{
    int64_t index = index_of(routes, shard);
    if (index < 0 || routes->table[index].state != ROUTE_FLUSHING)
        return NULL;
    routes->counters.flushed++;
    return take(routes, index);
}

struct pending_item *routes_drain(struct routes *routes, int32_t shard)
{
    int64_t index = index_of(routes, shard);
    struct pending_item *held = index >= 0 ? take(routes, index) : NULL;
    if (held)
        routes->counters.drained++;
    return held;
}

struct pending_item *routes_take_any(struct routes *routes)
{
    for (uint32_t i = 0; i < 2 * routes->shard_count - 1; i++) {
        if (routes->waiting[i]) {
            routes->counters.drained++;
            return take(routes, i);
        }
    }
    return NULL;
}

void routes_take_if(struct routes *routes, pending_test *test, const void *user,
                    struct pending_queue *out)
{
    for (uint32_t i = 0; i < 2 * routes->shard_count - 1; i++) {
        if (!routes->waiting[i] || routes->table[i].state == ROUTE_FLUSHING)
            continue;
        pending_move_if(routes->waiting[i], routes->budget, test, user, out);
        drop_queue_if_empty(routes, i);
    }
}

uint32_t routes_waiting(const struct routes *routes, int32_t shard)
{
    int64_t index = shard_index(shard, routes->shard_count);
    return index >= 0 && routes->waiting[index]
               ? routes->waiting[index]->count
               : 0;
}

const struct pending_item *routes_homeless(const struct routes *routes, int32_t shard)
{
    int64_t index = shard_index(shard, routes->shard_count);
    if (index < 0 || !routes->waiting[index])
        return NULL;
    uint8_t state = routes->table[index].state;
    return state == ROUTE_UNKNOWN || state == ROUTE_ASKED
               ? routes->waiting[index]->first
               : NULL;
}

uint64_t routes_waiting_since(const struct routes *routes, int32_t shard)
{
    int64_t index = shard_index(shard, routes->shard_count);
    return index >= 0 && routes->waiting[index]
               ? routes->waiting[index]->first->since
               : 0;
}

const char *route_state_name(uint8_t state)
{
    static const char *const names[] = { "unknown", "asked", "local",
                                         "remote",  "held",  "flushing",
                                         "invalid" };
    return state < sizeof names / sizeof *names ? names[state] : "invalid";
}
