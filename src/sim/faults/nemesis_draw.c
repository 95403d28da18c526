/* Draws the faults of a seed. It tracks which nodes live by its own plan, and plans only the return
 * of a dead node. */
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/timers.h"
#include "sim/world/clock.h"
#include "sim/faults/nemesis.h"
#include "sim/world/net.h"
#include "sim/seed/streams.h"

#define HOUR (UINT64_C(3600) * SECOND)
#define DAY (24 * HOUR)

struct drawer {
    const struct options *options;
    struct schedule *schedule;
    struct rng rng;
    uint64_t now;
    uint32_t nodes;
    /* when a dead node comes back; 0: it lives; NEVER: never */
    uint64_t back_at[SCHEDULE_NODES_MAX];
};

static uint64_t below(struct drawer *drawer, uint64_t limit)
{
    return rng_below(&drawer->rng, limit);
}

static uint64_t between(struct drawer *drawer, uint64_t low, uint64_t high)
{
    return low + below(drawer, high - low + 1);
}

/* Whole ms are easy to read. */
static uint64_t a_while(struct drawer *drawer, uint64_t mean)
{
    uint64_t drawn = stream_delay(&drawer->rng, 10 * MS, mean);

    return drawn / MS * MS;
}

static uint64_t fault_length(struct drawer *drawer)
{
    uint64_t mean = drawer->options->value[OPTION_FAULT_LENGTH] * SECOND;

    if (mean < SECOND)
        mean = SECOND;
    return a_while(drawer, below(drawer, 10) ? mean : 10 * mean);
}

static bool lives(struct drawer *drawer, uint32_t node)
{
    return drawer->now >= drawer->back_at[node];
}

/* Draws a living node. False if only one lives, which is spared. */
static bool draw_victim(struct drawer *drawer, uint32_t *victim)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < drawer->nodes; i++)
        count += lives(drawer, i);
    if (count < 2)
        return false;
    do
        *victim = (uint32_t)below(drawer, drawer->nodes);
    while (!lives(drawer, *victim));
    return true;
}

static struct fault fault_now(struct drawer *drawer, enum fault_verb verb)
{
    struct fault fault;

    memset(&fault, 0, sizeof fault);
    fault.at = drawer->now;
    fault.verb = verb;
    fault.streams = NET_BOTH;
    return fault;
}

static void add(struct drawer *drawer, struct fault fault)
{
    schedule_add(drawer->schedule, fault);
}

static void add_node(struct drawer *drawer, uint64_t at, enum fault_verb verb,
                     uint32_t node)
{
    struct fault fault = fault_now(drawer, verb);

    fault.at = at;
    fault.node = node;
    add(drawer, fault);
}

/* ---- nodes ---- */

/* Plans the return of a node that died at `at`: at once, soon, late after an operator downed it, or
 * never. */
static void comes_back(struct drawer *drawer, uint32_t node, uint64_t at)
{
    uint64_t back = at;

    switch (below(drawer, 8)) {
    case 0:
    case 1:
        back += MS;
        break;
    case 2:
    case 3:
    case 4:
        back += between(drawer, 0, 30000) * MS;
        break;
    case 5:
    case 6:
        add_node(drawer, at + between(drawer, 1000, 60000) * MS,
                 FAULT_VERB_DOWN, node);
        back += between(drawer, 30000, 600000) * MS;
        break;
    default:
        add_node(drawer, at + between(drawer, 1000, 60000) * MS,
                 FAULT_VERB_DOWN, node);
        drawer->back_at[node] = NEVER;
        return;
    }
    drawer->back_at[node] = back;
    add_node(drawer, back, FAULT_VERB_START, node);
}

static void draw_crash(struct drawer *drawer)
{
    uint32_t node;

    if (!draw_victim(drawer, &node))
        return;
    add_node(drawer, drawer->now, FAULT_VERB_CRASH, node);
    comes_back(drawer, node, drawer->now);
}

/* A leaving node needs time for its shards, so it is started later, and again in case it was not
 * over. */
static void draw_leave(struct drawer *drawer, bool is_killed)
{
    uint64_t end = drawer->now + between(drawer, 60000, 300000) * MS;
    uint32_t node;

    if (!draw_victim(drawer, &node))
        return;
    add_node(drawer, drawer->now, FAULT_VERB_LEAVE, node);
    if (is_killed) {
        end = drawer->now + a_while(drawer, 3 * SECOND);
        add_node(drawer, end, FAULT_VERB_CRASH, node);
        comes_back(drawer, node, end);
        return;
    }
    add_node(drawer, end, FAULT_VERB_START, node);
    add_node(drawer, end + 120 * SECOND, FAULT_VERB_START, node);
    drawer->back_at[node] = end + 120 * SECOND;
}

/* In runs of zombies the node may be downed meanwhile. It then ends and is started again. */
static void may_be_downed(struct drawer *drawer, uint32_t node,
                          uint64_t length)
{
    struct fault down = fault_now(drawer, FAULT_VERB_DOWN);

    if (!drawer->options->value[OPTION_ZOMBIES] || length < 10 * SECOND ||
        below(drawer, 2))
        return;
    down.at += between(drawer, 5000, length / MS) * MS;
    down.node = node;
    down.zombie = true;
    add(drawer, down);
    drawer->back_at[node] = drawer->now + length + 120 * SECOND;
    add_node(drawer, drawer->back_at[node], FAULT_VERB_START, node);
}

static void draw_still(struct drawer *drawer)
{
    struct fault fault = fault_now(drawer, FAULT_VERB_PAUSE);

    if (!draw_victim(drawer, &fault.node))
        return;
    fault.length = fault_length(drawer);
    add(drawer, fault);
    may_be_downed(drawer, fault.node, fault.length);
}

/* An operator's mistake: a healthy node is downed, ends and is started again. In half of the cases
 * a second one follows. */
static void draw_down_alive(struct drawer *drawer)
{
    uint64_t begin = drawer->now;
    uint64_t count = between(drawer, 1, 2);

    for (uint64_t i = 0; i < count; i++) {
        struct fault fault = fault_now(drawer, FAULT_VERB_DOWN);
        uint64_t back = drawer->now + between(drawer, 15000, 60000) * MS;

        if (!draw_victim(drawer, &fault.node))
            break;
        fault.zombie = true;
        add(drawer, fault);
        add_node(drawer, back, FAULT_VERB_START, fault.node);
        drawer->back_at[fault.node] = back;
        drawer->now += between(drawer, 0, 3000) * MS;
    }
    drawer->now = begin;
}

/* Finds the node that has lived longest by the plan, the first of equals. False if only one
 * lives. */
static bool find_oldest(struct drawer *drawer, uint32_t *oldest)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < drawer->nodes; i++) {
        if (!lives(drawer, i))
            continue;
        if (!count || drawer->back_at[i] < drawer->back_at[*oldest])
            *oldest = i;
        count++;
    }
    return count > 1;
}

/* With pauses, a leaving node may pause: the others skip it, and its entities still run. */
static void may_fall_asleep(struct drawer *drawer, uint32_t node)
{
    struct fault fault = fault_now(drawer, FAULT_VERB_PAUSE);

    if (!drawer->options->value[OPTION_STILL] || below(drawer, 2))
        return;
    fault.at += between(drawer, 500, 5000) * MS;
    fault.node = node;
    fault.length = between(drawer, 5000, 20000) * MS;
    add(drawer, fault);
}

/* Plans as many starts as it may take until the node has ended. */
static void add_starts(struct drawer *drawer, uint32_t node, uint64_t at,
                       uint64_t count, uint64_t apart)
{
    for (uint64_t i = 0; i < count; i++)
        add_node(drawer, at + apart * i, FAULT_VERB_START, node);
    drawer->back_at[node] = at;
}

/* A hasty rolling restart: the oldest leaves, soon the next one, and each comes back soon. */
static void draw_leave_oldest(struct drawer *drawer)
{
    uint64_t begin = drawer->now;
    uint64_t count = between(drawer, 1, 3);

    for (uint64_t i = 0; i < count; i++) {
        uint64_t back = drawer->now + between(drawer, 5000, 30000) * MS;
        uint32_t node = 0;

        if (!find_oldest(drawer, &node))
            break;
        add_node(drawer, drawer->now, FAULT_VERB_LEAVE, node);
        may_fall_asleep(drawer, node);
        add_starts(drawer, node, back, 3, 10 * SECOND);
        drawer->now += between(drawer, 0, 5000) * MS;
    }
    drawer->now = begin;
}

/* Some nodes leave shortly after each other and start again at once, so joining nodes see others
 * leave and join. */
static void draw_restart(struct drawer *drawer)
{
    uint64_t begin = drawer->now;
    uint64_t count = drawer->nodes > 1 ? between(drawer, 1, drawer->nodes - 1) : 0;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t back = drawer->now + between(drawer, 1000, 8000) * MS;
        uint32_t node;

        if (!draw_victim(drawer, &node))
            break;
        add_node(drawer, drawer->now, FAULT_VERB_LEAVE, node);
        add_starts(drawer, node, back, 4, 5 * SECOND);
        drawer->now += between(drawer, 0, 5000) * MS;
    }
    drawer->now = begin;
}

/* A node ends and starts again within a second, several times in a row: gracefully, or by crashes.
 * So its next incarnation comes before the others have noticed the end of the last one. */
static void draw_rapid(struct drawer *drawer)
{
    uint64_t begin = drawer->now;
    uint64_t count = between(drawer, 1, 3);
    uint32_t node;

    if (!draw_victim(drawer, &node))
        return;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t after = between(drawer, 1, 999) * MS;

        if (below(drawer, 2)) {
            add_node(drawer, drawer->now, FAULT_VERB_CRASH, node);
            add_node(drawer, drawer->now + after, FAULT_VERB_START, node);
        } else {
            struct fault fault = fault_now(drawer, FAULT_VERB_RESTART);

            fault.node = node;
            fault.amount = (int64_t)after;
            add(drawer, fault);
        }
        drawer->now += between(drawer, 1000, 6000) * MS;
    }
    drawer->back_at[node] = drawer->now;
    drawer->now = begin;
}

/* A power failure of machines, or of their network: several nodes die at nearly the same time. They
 * are drawn, or the oldest, which hold state that only some nodes hold. */
static void draw_crash_several(struct drawer *drawer)
{
    uint64_t begin = drawer->now;
    uint64_t count = drawer->nodes > 1 ? between(drawer, 2, drawer->nodes) : 0;
    bool are_oldest = below(drawer, 2);

    for (uint64_t i = 0; i < count; i++) {
        uint32_t node = 0;

        if (are_oldest ? !find_oldest(drawer, &node)
                       : !draw_victim(drawer, &node))
            break;
        add_node(drawer, drawer->now, FAULT_VERB_CRASH, node);
        comes_back(drawer, node, drawer->now);
        drawer->now += between(drawer, 0, 300) * MS;
    }
    drawer->now = begin;
}

/* The machine is off within NEMESIS_OFF_WITHIN. */
static void draw_power_off(struct drawer *drawer)
{
    uint32_t node;

    if (!draw_victim(drawer, &node))
        return;
    add_node(drawer, drawer->now, FAULT_VERB_POWER_OFF, node);
    comes_back(drawer, node, drawer->now + NEMESIS_OFF_WITHIN);
}

/* A node dies, and a node of another cluster has its address for a while. */
static void draw_foreign(struct drawer *drawer)
{
    struct fault fault = fault_now(drawer, FAULT_VERB_FOREIGN);

    if (!draw_victim(drawer, &fault.node))
        return;
    add_node(drawer, drawer->now, FAULT_VERB_CRASH, fault.node);
    fault.at += between(drawer, 100, 20000) * MS;
    fault.length = between(drawer, 5000, 60000) * MS;
    add(drawer, fault);
    comes_back(drawer, fault.node, fault.at + fault.length);
}

/* It lasts until the node gives up on the strangers. */
static void draw_strangers(struct drawer *drawer, enum fault_verb verb)
{
    struct fault fault = fault_now(drawer, verb);

    if (!draw_victim(drawer, &fault.node))
        return;
    fault.length = between(drawer, 6000, 20000) * MS;
    add(drawer, fault);
}

/* Half of them are long enough that leases expire. */
static void draw_lease_cut(struct drawer *drawer)
{
    struct fault fault = fault_now(drawer, FAULT_VERB_LEASE_CUT);
    uint64_t ttl = drawer->options->value[OPTION_LEASE_TTL];

    if (!draw_victim(drawer, &fault.node))
        return;
    fault.length = below(drawer, 2) ? fault_length(drawer) : between(drawer, ttl, 3 * ttl) * MS;
    add(drawer, fault);
}

static void draw_node_fault(struct drawer *drawer, enum fault_verb verb,
                            int64_t amount)
{
    struct fault fault = fault_now(drawer, verb);

    if (!draw_victim(drawer, &fault.node))
        return;
    fault.amount = amount;
    fault.length = verb == FAULT_VERB_WALL ? 0 : fault_length(drawer);
    add(drawer, fault);
}

static void put_node(struct fault_nodes *nodes, uint32_t node)
{
    nodes->items =
        mem_resize(nodes->items, (nodes->count + 1) * sizeof *nodes->items);
    nodes->items[nodes->count++] = node;
}

/* A fault of accepting connections. The node's connections break at once, so new ones are
 * opened. */
static void draw_door(struct drawer *drawer, enum fault_verb verb,
                      int64_t amount)
{
    struct fault fault = fault_now(drawer, verb);
    struct fault reset = fault_now(drawer, FAULT_VERB_RESET);

    if (!draw_victim(drawer, &fault.node))
        return;
    fault.amount = amount;
    fault.length = fault_length(drawer);
    add(drawer, fault);
    put_node(&reset.left, fault.node);
    reset.right.all = true;
    reset.both_ways = true;
    reset.at += MS;
    add(drawer, reset);
}

/* ---- paths ---- */

/* Puts each node on one of two sides, at least one on each. A bridge is on neither. */
static void draw_sides(struct drawer *drawer, struct fault *fault, bool bridge)
{
    uint64_t share = between(drawer, 1, 9);
    uint32_t spared =
        bridge ? (uint32_t)below(drawer, drawer->nodes) : UINT32_MAX;
    uint32_t first = (uint32_t)below(drawer, drawer->nodes);
    uint32_t last = (uint32_t)below(drawer, drawer->nodes - 1);

    last += last >= first;
    for (uint32_t i = 0; i < drawer->nodes; i++) {
        bool left = below(drawer, 10) < share;

        if (i == first || (i != last && i != spared && left))
            put_node(&fault->left, i);
        else if (i == last || i != spared)
            put_node(&fault->right, i);
    }
}

static void draw_pair(struct drawer *drawer, struct fault *fault)
{
    uint32_t first = (uint32_t)below(drawer, drawer->nodes);
    uint32_t last = (uint32_t)below(drawer, drawer->nodes - 1);

    put_node(&fault->left, first);
    put_node(&fault->right, last + (last >= first));
}

static void draw_streams(struct drawer *drawer, struct fault *fault)
{
    uint64_t part = below(drawer, 8);

    fault->both_ways = below(drawer, 4) != 0;
    fault->streams = part == 0   ? NET_CONTROL
                     : part == 1 ? NET_ORDINARY
                                 : NET_BOTH;
}

static bool isolate(struct drawer *drawer, struct fault *fault)
{
    uint32_t node;

    if (!draw_victim(drawer, &node))
        return false;
    put_node(&fault->left, node);
    for (uint32_t i = 0; i < drawer->nodes; i++)
        if (i != node)
            put_node(&fault->right, i);
    may_be_downed(drawer, node, fault->length);
    return true;
}

/* Each node is cut off from the next but one of the ring. */
static void draw_ring(struct drawer *drawer, const struct fault *like)
{
    for (uint32_t i = 0; i < drawer->nodes; i++) {
        struct fault fault = *like;

        put_node(&fault.left, i);
        put_node(&fault.right, (i + 2) % drawer->nodes);
        fault.both_ways = true;
        add(drawer, fault);
    }
}

/* One data center does not see the others. */
static void draw_center(struct drawer *drawer, struct fault *fault)
{
    uint32_t centers = (uint32_t)drawer->options->value[OPTION_CENTERS];
    uint32_t center = (uint32_t)below(drawer, centers);

    for (uint32_t i = 0; i < drawer->nodes; i++)
        put_node(i % centers == center ? &fault->left : &fault->right, i);
    fault->both_ways = true;
}

static void draw_cut(struct drawer *drawer)
{
    struct fault fault = fault_now(drawer, FAULT_VERB_CUT);

    if (drawer->nodes < 2)
        return;
    fault.length = fault_length(drawer);
    draw_streams(drawer, &fault);
    if (drawer->options->value[OPTION_CENTERS] > 1 && below(drawer, 2)) {
        draw_center(drawer, &fault);
        add(drawer, fault);
        return;
    }
    switch (below(drawer, 6)) {
    case 0:
        if (!isolate(drawer, &fault))
            return;
        break;
    case 1: /* two nodes do not see each other, all others see both */
        draw_pair(drawer, &fault);
        break;
    case 2:
        draw_sides(drawer, &fault, true);
        break;
    case 3:
        if (drawer->nodes > 4) {
            draw_ring(drawer, &fault);
            return;
        }
        draw_pair(drawer, &fault);
        break;
    default:
        draw_sides(drawer, &fault, false);
        break;
    }
    add(drawer, fault);
}

static void draw_flap(struct drawer *drawer)
{
    struct fault fault = fault_now(drawer, FAULT_VERB_FLAP);

    if (drawer->nodes < 2)
        return;
    draw_streams(drawer, &fault);
    if (below(drawer, 2))
        draw_pair(drawer, &fault);
    else
        draw_sides(drawer, &fault, false);
    fault.every = between(drawer, 2000, 15000) * MS;
    fault.length = fault.every * between(drawer, 2, 30);
    add(drawer, fault);
}

/* Stops one path. Everything arrives at once when it is over. */
static void draw_path(struct drawer *drawer, enum fault_verb verb,
                      bool both_ways, uint64_t length, uint64_t by)
{
    struct fault fault = fault_now(drawer, verb);

    if (drawer->nodes < 2)
        return;
    draw_pair(drawer, &fault);
    fault.both_ways = both_ways;
    fault.length = length;
    fault.amount = (int64_t)by;
    add(drawer, fault);
}

/* One draw after the other, because compilers choose the order of arguments. */
static void draw_slow_link(struct drawer *drawer)
{
    bool both_ways = below(drawer, 2);
    uint64_t length = fault_length(drawer);
    uint64_t by = between(drawer, 10, 2000) * MS;

    draw_path(drawer, FAULT_VERB_DELAY, both_ways, length, by);
}

/* A random set of paths stops one after the other and comes back in another order (FoundationDB's
 * swizzle-clog). */
static void draw_swizzle(struct drawer *drawer)
{
    uint64_t begin = drawer->now;
    uint64_t end = begin + fault_length(drawer) + 10 * SECOND;
    uint64_t count = between(drawer, 2, 6);

    for (uint64_t i = 0; i < count; i++) {
        drawer->now = begin + below(drawer, 5000) * MS;
        draw_path(drawer, FAULT_VERB_CLOG, false,
                  end - drawer->now + below(drawer, 5000) * MS, 0);
    }
    drawer->now = begin;
}

/* ---- storage ---- */

static void draw_disk(struct drawer *drawer, enum fault_verb verb)
{
    struct fault fault = fault_now(drawer, verb);

    if (verb != FAULT_VERB_DISK_SYNC && verb != FAULT_VERB_POWER)
        fault.length = fault_length(drawer);
    add(drawer, fault);
}

/* ---- the plan ---- */

static int64_t draw_shift(struct drawer *drawer)
{
    static const uint64_t most[] = { SECOND, 60 * SECOND, HOUR, DAY };
    int64_t shift =
        (int64_t)(between(drawer, 1, most[below(drawer, 4)] / MS) * MS);

    return below(drawer, 2) ? shift : -shift;
}

static int64_t draw_rate(struct drawer *drawer)
{
    static const uint64_t most[] = { 1000, 10000, 50000 };
    int64_t by = (int64_t)between(drawer, 1, most[below(drawer, 3)]);

    return (int64_t)CLOCK_RATE + (below(drawer, 2) ? by : -by);
}

/* flat: one case for each kind of fault */
static void draw_fault(struct drawer *drawer, enum sim_option kind)
{
    switch (kind) {
    case OPTION_CRASH:
        draw_crash(drawer);
        break;
    case OPTION_LEAVE:
    case OPTION_LEAVE_KILL:
        draw_leave(drawer, kind == OPTION_LEAVE_KILL);
        break;
    case OPTION_STILL:
        draw_still(drawer);
        break;
    case OPTION_SLOW:
        draw_node_fault(drawer, FAULT_VERB_SLOW,
                        (int64_t)between(drawer, 10, 1000));
        break;
    case OPTION_WALL:
        draw_node_fault(drawer, FAULT_VERB_WALL, draw_shift(drawer));
        break;
    case OPTION_DRIFT:
        draw_node_fault(drawer, FAULT_VERB_DRIFT, draw_rate(drawer));
        break;
    case OPTION_CUT:
        draw_cut(drawer);
        break;
    case OPTION_FLAP:
        draw_flap(drawer);
        break;
    case OPTION_CLOG:
        draw_path(drawer, FAULT_VERB_CLOG, false,
                  a_while(drawer, 5 * SECOND), 0);
        break;
    case OPTION_SWIZZLE:
        draw_swizzle(drawer);
        break;
    case OPTION_RESET:
        draw_path(drawer, FAULT_VERB_RESET, true, 0, 0);
        break;
    case OPTION_HALF_OPEN:
        draw_path(drawer, FAULT_VERB_HALF_OPEN, false, 0, 0);
        break;
    case OPTION_REFUSE:
        draw_door(drawer, FAULT_VERB_REFUSE, 0);
        break;
    case OPTION_SLOW_ACCEPT:
        draw_door(drawer, FAULT_VERB_SLOW_ACCEPT,
                  (int64_t)(between(drawer, 10, 8000) * MS));
        break;
    case OPTION_BLACK_HOLE:
        draw_door(drawer, FAULT_VERB_BLACK_HOLE, 0);
        break;
    case OPTION_SLOW_LINK:
        draw_slow_link(drawer);
        break;
    case OPTION_DISK_STALL:
        draw_disk(drawer, FAULT_VERB_DISK_STALL);
        break;
    case OPTION_DISK_ERROR:
        draw_disk(drawer, FAULT_VERB_DISK_ERROR);
        break;
    case OPTION_DISK_FULL:
        draw_disk(drawer, FAULT_VERB_DISK_FULL);
        break;
    case OPTION_DISK_SYNC:
        draw_disk(drawer, FAULT_VERB_DISK_SYNC);
        break;
    case OPTION_POWER:
        draw_disk(drawer, FAULT_VERB_POWER);
        break;
    case OPTION_DOWN_ALIVE:
        draw_down_alive(drawer);
        break;
    case OPTION_LEAVE_OLDEST:
        draw_leave_oldest(drawer);
        break;
    case OPTION_RESTART:
        draw_restart(drawer);
        break;
    case OPTION_CRASH_SEVERAL:
        draw_crash_several(drawer);
        break;
    case OPTION_FOREIGN:
        draw_foreign(drawer);
        break;
    case OPTION_FAKE_JOINS:
        draw_strangers(drawer, FAULT_VERB_FAKE_JOINS);
        break;
    case OPTION_FLOOD:
        draw_strangers(drawer, FAULT_VERB_FLOOD);
        break;
    case OPTION_POWER_OFF:
        draw_power_off(drawer);
        break;
    case OPTION_LEASE_CUT:
        draw_lease_cut(drawer);
        break;
    case OPTION_RAPID:
        draw_rapid(drawer);
        break;
    default:
        check(!"not a fault");
    }
}

static uint64_t weight_of(const struct drawer *drawer, uint32_t option)
{
    return option_is_fault((enum sim_option)option)
               ? drawer->options->value[option]
               : 0;
}

/* Draws one kind, with the weights as probabilities. */
static enum sim_option draw_kind(struct drawer *drawer, uint64_t weights)
{
    uint64_t part = below(drawer, weights);
    uint32_t kind = OPTION_CRASH;

    while (part >= weight_of(drawer, kind))
        part -= weight_of(drawer, kind++);
    return (enum sim_option)kind;
}

void nemesis_draw(const struct options *options, struct schedule *schedule)
{
    struct drawer *drawer = mem_alloc(sizeof *drawer);
    uint64_t end = options->value[OPTION_LENGTH] * SECOND;
    uint64_t weights = 0;

    drawer->options = options;
    drawer->schedule = schedule;
    drawer->rng = stream_rng(options->seed, STREAM_NEMESIS, 0);
    drawer->nodes = (uint32_t)options->value[OPTION_NODES];
    for (uint32_t i = OPTION_CRASH; i < OPTION_COUNT; i++)
        weights += weight_of(drawer, i);
    while (weights && options->value[OPTION_FAULTS]) {
        drawer->now +=
            a_while(drawer, HOUR / options->value[OPTION_FAULTS]);
        if (drawer->now >= end ||
            schedule->faults.count >= SCHEDULE_FAULTS_MAX / 2)
            break;
        draw_fault(drawer, draw_kind(drawer, weights));
    }
    mem_free(drawer);
}
