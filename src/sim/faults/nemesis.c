/* Starts and ends the faults of a schedule. Overlapping faults are counted, so their effect ends
 * with the last. */
#include "sim/faults/nemesis.h"

#include <string.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/world/clock.h"
#include "sim/world/net.h"
#include "sim/world/world.h"

#define SOON (30 * SECOND)

enum moment { MOMENT_BEGIN, MOMENT_END, MOMENT_FLIP };

/* Numbers of running faults at a place, by kind. */
struct hold {
    uint32_t counts[FAULT_VERBS];
};

/* The same for a path. */
struct path_hold {
    uint16_t cuts[2]; /* of each stream */
    uint16_t clogs;
    uint16_t delays;
};

struct nemesis {
    struct world *world;
    const struct schedule *schedule;
    struct nemesis_hands hands;
    uint32_t nodes;
    uint64_t begin;
    uint64_t delay_min, delay_mean; /* of a path without fault */
    struct timers timers;
    struct hold *holds;
    struct path_hold *paths; /* from * nodes + to */
    uint32_t disk[FAULT_VERBS]; /* running faults of the disks */
    bool *goes_on;  /* of each fault: it runs */
    bool *is_cut;   /* of each flapping fault: it cuts now */
    uint64_t counts[FAULT_VERBS];
    uint64_t *harm_before; /* of each fault: its counter before it began */
    uint64_t hits[FAULT_VERBS]; /* connections hit by immediate faults */
    struct nemesis_effect effects[FAULT_VERBS];
    struct nemesis_kinds kinds;
    struct nemesis_cells cells[FAULT_VERBS];
    uint64_t *died_at; /* of each node: its last crash; 0: none */
    uint64_t skipped;
};

static const struct world_node *place(const struct nemesis *nemesis,
                                      uint32_t node)
{
    return world_node(nemesis->world, node);
}

static bool lives(const struct nemesis *nemesis, uint32_t node)
{
    return node < nemesis->nodes && place(nemesis, node)->node;
}

/* ---- paths ---- */

static struct path_hold *path_hold(struct nemesis *nemesis, uint32_t from,
                                   uint32_t to)
{
    return &nemesis->paths[(size_t)from * nemesis->nodes + to];
}

/* Returns true at the first begin and at the last end. */
static bool turns(uint16_t *count, bool on)
{
    return on ? (*count)++ == 0 : --*count == 0;
}

/* Counts the path's cuts; it heals after the last one. */
static void hold_path(struct nemesis *nemesis, uint32_t from, uint32_t to,
                      uint32_t streams, bool on)
{
    uint16_t *counts = path_hold(nemesis, from, to)->cuts;
    uint32_t changed = 0;

    for (uint32_t i = 0; i < 2; i++) {
        if (!(streams & 1u << i))
            continue;
        if (turns(&counts[i], on))
            changed |= 1u << i;
    }
    if (changed)
        net_cut(nemesis->world, from, to, (enum net_streams)changed, on);
}

typedef void on_path(struct nemesis *nemesis, const struct fault *fault,
                     uint32_t from, uint32_t to, bool on);

static uint32_t count_of(const struct nemesis *nemesis,
                         const struct fault_nodes *nodes)
{
    return nodes->all ? nemesis->nodes : nodes->count;
}

static uint32_t node_of(const struct fault_nodes *nodes, uint32_t index)
{
    return nodes->all ? index : nodes->items[index];
}

static void each_path(struct nemesis *nemesis, const struct fault *fault,
                      bool on, on_path *act)
{
    for (uint32_t i = 0; i < count_of(nemesis, &fault->left); i++) {
        for (uint32_t j = 0; j < count_of(nemesis, &fault->right); j++) {
            uint32_t from = node_of(&fault->left, i);
            uint32_t to = node_of(&fault->right, j);

            if (from == to || from >= nemesis->nodes || to >= nemesis->nodes)
                continue;
            act(nemesis, fault, from, to, on);
            if (fault->both_ways)
                act(nemesis, fault, to, from, on);
        }
    }
}

static void cut(struct nemesis *nemesis, const struct fault *fault,
                uint32_t from, uint32_t to, bool on)
{
    hold_path(nemesis, from, to, fault->streams, on);
}

/* Applies an immediate fault to a path. */
static void hit_path(struct nemesis *nemesis, const struct fault *fault,
                     uint32_t from, uint32_t to, bool on)
{
    (void)on;
    if (fault->verb == FAULT_VERB_RESET)
        nemesis->hits[fault->verb] += net_reset(nemesis->world, from, to);
    else
        nemesis->hits[fault->verb] += net_half_open(nemesis->world, from, to);
}

static void clog_path(struct nemesis *nemesis, const struct fault *fault,
                      uint32_t from, uint32_t to, bool on)
{
    (void)fault;
    if (turns(&path_hold(nemesis, from, to)->clogs, on))
        net_clog(nemesis->world, from, to,
                 on ? NEVER : world_now(nemesis->world));
}

/* The latest fault decides the delay until all are over. */
static void slow_path(struct nemesis *nemesis, const struct fault *fault,
                      uint32_t from, uint32_t to, bool on)
{
    bool turned = turns(&path_hold(nemesis, from, to)->delays, on);

    if (on || turned)
        net_delay(nemesis->world, from, to, nemesis->delay_min,
                  nemesis->delay_mean + (on ? (uint64_t)fault->amount : 0));
}

static void flip(struct nemesis *nemesis, uint32_t index)
{
    const struct fault *fault = &nemesis->schedule->faults.items[index];

    nemesis->is_cut[index] = !nemesis->is_cut[index];
    each_path(nemesis, fault, nemesis->is_cut[index], cut);
    timers_put(&nemesis->timers, world_now(nemesis->world) + fault->every,
               MOMENT_FLIP, index, 0);
}

/* ---- nodes ---- */

static void set_node(struct nemesis *nemesis, const struct fault *fault,
                     bool on)
{
    struct world *world = nemesis->world;
    uint32_t node = fault->node;

    switch (fault->verb) {
    case FAULT_VERB_PAUSE:
        if (lives(nemesis, node))
            world_pause(world, node, on);
        break;
    case FAULT_VERB_SLOW:
        world_slow(world, node, on ? (uint32_t)fault->amount : 0);
        break;
    case FAULT_VERB_DRIFT:
        world_drift(world, node, on ? (uint32_t)fault->amount : CLOCK_RATE);
        break;
    case FAULT_VERB_REFUSE:
        net_refuse(world, node, on);
        break;
    case FAULT_VERB_SLOW_ACCEPT:
        net_slow_accept(world, node, on ? (uint64_t)fault->amount : 0);
        break;
    case FAULT_VERB_BLACK_HOLE:
        net_black_hole(world, node, on);
        break;
    case FAULT_VERB_LEASE_CUT:
        world_cut_leases(world, node, on);
        break;
    default:
        check(!"not a verb of a node with an end");
    }
}

/* The latest fault decides the amount until all are over. */
static bool hold_node(struct nemesis *nemesis, const struct fault *fault,
                      bool on)
{
    uint32_t *count;

    if (fault->node >= nemesis->nodes)
        return false;
    count = &nemesis->holds[fault->node].counts[fault->verb];
    *count += on ? 1 : UINT32_MAX;
    if (on || !*count)
        set_node(nemesis, fault, on);
    return true;
}

static bool hold_disk(struct nemesis *nemesis, enum fault_verb verb, bool on)
{
    uint32_t *count = &nemesis->disk[verb];

    *count += on ? 1 : UINT32_MAX;
    return (on || !*count) &&
           nemesis->hands.disk(nemesis->hands.user, verb, on);
}

static void start(struct nemesis *nemesis, uint32_t node)
{
    nemesis->hands.start(nemesis->hands.user, node);
    if (nemesis->holds[node].counts[FAULT_VERB_PAUSE])
        world_pause(nemesis->world, node, true);
}

/* The next node after it that is up downs the node, so the operator varies. */
static bool down(struct nemesis *nemesis, uint32_t node)
{
    for (uint32_t i = 1; i < nemesis->nodes; i++) {
        uint32_t other = (node + i) % nemesis->nodes;
        const struct world_node *by = place(nemesis, other);

        if (!by->node || !by->is_up || by->is_paused)
            continue;
        nemesis->hands.down(nemesis->hands.user, other, node);
        return true;
    }
    return false;
}

/* ---- effects ---- */

/* X(id, unit of nemesis_effect.harm) */
#define EFFECT_LIST(X)                                                         \
    X(CRASH, "nodes ended")                                                    \
    X(START, "nodes started")                                                    \
    X(LEAVE, "nodes ended by themselves")                                      \
    X(DOWN, "members downed")                                                  \
    X(PAUSE, "inputs and turns held")                                          \
    X(SLOW, "slow turns")                                                      \
    X(WALL, "clocks of live nodes")                                             \
    X(DRIFT, "clocks of live nodes")                                            \
    X(CUT, "held")                                                             \
    X(FLAP, "held")                                                            \
    X(CLOG, "held")                                                            \
    X(DELAY, "slowed")                                                         \
    X(RESET, "connections with bytes in flight")                            \
    X(HALF_OPEN, "connections")                                                \
    X(REFUSE, "calls refused")                                                 \
    X(SLOW_ACCEPT, "calls slowed")                                             \
    X(BLACK_HOLE, "calls unanswered")                                          \
    X(DISK_STALL, "stalls")                                                    \
    X(DISK_ERROR, "errors")                                                    \
    X(DISK_FULL, "writes refused")                                             \
    X(DISK_SYNC, "syncs failed")                                               \
    X(POWER, "losses of power")                                                \
    X(POWER_OFF, "writes cut off")                                             \
    X(FOREIGN, "handshakes refused")                                           \
    X(FAKE_JOINS, "joins refused")                                             \
    X(FLOOD, "strangers forgotten")                                            \
    X(LEASE_CUT, "answers lost")                                               \
    X(RESTART, "nodes ended by themselves")

static const char *const effect_texts[FAULT_VERBS] = {
#define X(id, text) [FAULT_VERB_##id] = (text),
    EFFECT_LIST(X)
#undef X
};

const char *nemesis_effect_text(enum fault_verb verb)
{
    return effect_texts[verb];
}

static void add_held(struct nemesis *nemesis, const struct fault *fault,
                     uint32_t from, uint32_t to, bool on)
{
    (void)on;
    nemesis->hits[fault->verb] += net_harm(nemesis->world, from, to).held;
}

static void add_slowed(struct nemesis *nemesis, const struct fault *fault,
                       uint32_t from, uint32_t to, bool on)
{
    (void)on;
    nemesis->hits[fault->verb] += net_harm(nemesis->world, from, to).slowed;
}

static uint64_t harm_of_paths(struct nemesis *nemesis,
                              const struct fault *fault)
{
    nemesis->hits[fault->verb] = 0;
    each_path(nemesis, fault, true,
              fault->verb == FAULT_VERB_DELAY ? add_slowed : add_held);
    return nemesis->hits[fault->verb];
}

/* flat: one case for each verb. The counter of the fault's effect, which is compared with its
 * beginning. */
static uint64_t harm_of(struct nemesis *nemesis, const struct fault *fault)
{
    struct world_harm harm = world_harm(nemesis->world, fault->node);

    switch (fault->verb) {
    case FAULT_VERB_CRASH:
        return !lives(nemesis, fault->node);
    case FAULT_VERB_START:
    case FAULT_VERB_WALL:
    case FAULT_VERB_DRIFT:
        return lives(nemesis, fault->node);
    case FAULT_VERB_LEAVE:
    case FAULT_VERB_RESTART:
        return harm.ended;
    case FAULT_VERB_PAUSE:
        return harm.held;
    case FAULT_VERB_SLOW:
        return harm.slow_turns;
    case FAULT_VERB_REFUSE:
        return harm.refused;
    case FAULT_VERB_SLOW_ACCEPT:
        return harm.slow_calls;
    case FAULT_VERB_BLACK_HOLE:
        return harm.unanswered;
    case FAULT_VERB_LEASE_CUT:
        return harm.lease_answers;
    case FAULT_VERB_CUT:
    case FAULT_VERB_FLAP:
    case FAULT_VERB_CLOG:
    case FAULT_VERB_DELAY:
        return harm_of_paths(nemesis, fault);
    case FAULT_VERB_RESET:
    case FAULT_VERB_HALF_OPEN:
        return nemesis->hits[fault->verb];
    case FAULT_VERB_DOWN:
    case FAULT_VERB_DISK_STALL:
    case FAULT_VERB_DISK_ERROR:
    case FAULT_VERB_DISK_FULL:
    case FAULT_VERB_DISK_SYNC:
    case FAULT_VERB_POWER:
    case FAULT_VERB_POWER_OFF:
    case FAULT_VERB_FOREIGN:
    case FAULT_VERB_FAKE_JOINS:
    case FAULT_VERB_FLOOD:
        return nemesis->hands.harm(nemesis->hands.user, fault->verb);
    case FAULT_VERBS:
        break;
    }
    return 0;
}

/* A wrong clock counts at once: nodes that run then, or at the end, read it. */
static uint64_t harm_before(struct nemesis *nemesis, const struct fault *fault)
{
    return fault->verb == FAULT_VERB_WALL || fault->verb == FAULT_VERB_DRIFT
               ? 0
               : harm_of(nemesis, fault);
}

static bool is_at_once(enum fault_verb verb)
{
    return verb == FAULT_VERB_CRASH || verb == FAULT_VERB_START ||
           verb == FAULT_VERB_WALL || verb == FAULT_VERB_RESET ||
           verb == FAULT_VERB_HALF_OPEN || verb == FAULT_VERB_POWER;
}

/* Once for each fault, at its end. A slow fault without an end counts when all faults are over, and
 * so do others of its kind. */
static void count_effect(struct nemesis *nemesis, uint32_t index)
{
    const struct fault *fault = &nemesis->schedule->faults.items[index];
    struct nemesis_effect *effect = &nemesis->effects[fault->verb];
    uint64_t harm =
        harm_of(nemesis, fault) - nemesis->harm_before[index];

    if (!fault->length && !is_at_once(fault->verb))
        harm = harm > 0;
    effect->faults += harm > 0;
    effect->harm += harm;
}

struct nemesis_effect nemesis_effect(const struct nemesis *nemesis,
                                     enum fault_verb verb)
{
    return nemesis->effects[verb];
}

/* ---- begin and end ---- */

/* flat: one case for each verb. Returns false if it does not apply. */
static bool begin(struct nemesis *nemesis, const struct fault *fault)
{
    bool is_alive = lives(nemesis, fault->node);

    switch (fault->verb) {
    case FAULT_VERB_CRASH:
        if (is_alive)
            world_crash(nemesis->world, fault->node);
        return is_alive;
    case FAULT_VERB_START:
        if (is_alive || fault->node >= nemesis->nodes)
            return false;
        start(nemesis, fault->node);
        return true;
    case FAULT_VERB_LEAVE:
        if (is_alive)
            world_leave(nemesis->world, fault->node);
        return is_alive;
    case FAULT_VERB_RESTART:
        if (is_alive)
            nemesis->hands.restart(nemesis->hands.user, fault->node,
                                   (uint64_t)fault->amount, true);
        return is_alive;
    case FAULT_VERB_DOWN:
        return fault->node < nemesis->nodes &&
               place(nemesis, fault->node)->life &&
               (fault->zombie || !is_alive) && down(nemesis, fault->node);
    case FAULT_VERB_PAUSE:
    case FAULT_VERB_SLOW:
    case FAULT_VERB_DRIFT:
    case FAULT_VERB_REFUSE:
    case FAULT_VERB_SLOW_ACCEPT:
    case FAULT_VERB_BLACK_HOLE:
    case FAULT_VERB_LEASE_CUT:
        return hold_node(nemesis, fault, true);
    case FAULT_VERB_WALL:
        if (fault->node < nemesis->nodes)
            world_wall_jump(nemesis->world, fault->node,
                            fault->amount / (int64_t)MS);
        return fault->node < nemesis->nodes;
    case FAULT_VERB_CUT:
        each_path(nemesis, fault, true, cut);
        return true;
    case FAULT_VERB_CLOG:
        each_path(nemesis, fault, true, clog_path);
        return true;
    case FAULT_VERB_RESET:
    case FAULT_VERB_HALF_OPEN:
        each_path(nemesis, fault, true, hit_path);
        return true;
    case FAULT_VERB_DELAY:
        each_path(nemesis, fault, true, slow_path);
        return true;
    case FAULT_VERB_FLAP:
        flip(nemesis, (uint32_t)(fault - nemesis->schedule->faults.items));
        return true;
    case FAULT_VERB_DISK_STALL:
    case FAULT_VERB_DISK_ERROR:
    case FAULT_VERB_DISK_FULL:
        return hold_disk(nemesis, fault->verb, true);
    case FAULT_VERB_DISK_SYNC:
    case FAULT_VERB_POWER:
        return nemesis->hands.disk(nemesis->hands.user, fault->verb, true);
    case FAULT_VERB_POWER_OFF:
        if (is_alive)
            nemesis->hands.power_off(nemesis->hands.user, fault->node);
        return is_alive;
    case FAULT_VERB_FOREIGN:
        return !is_alive && fault->node < nemesis->nodes &&
               nemesis->hands.foreign(nemesis->hands.user, fault->node, true);
    case FAULT_VERB_FAKE_JOINS:
        if (is_alive)
            nemesis->hands.fake_joins(nemesis->hands.user, fault->node);
        return is_alive;
    case FAULT_VERB_FLOOD:
        if (is_alive)
            nemesis->hands.flood(nemesis->hands.user, fault->node);
        return is_alive;
    case FAULT_VERBS:
        break;
    }
    return false;
}

static void end(struct nemesis *nemesis, uint32_t index)
{
    const struct fault *fault = &nemesis->schedule->faults.items[index];

    nemesis->goes_on[index] = false;
    if (!is_at_once(fault->verb))
        count_effect(nemesis, index);
    switch (fault->verb) {
    case FAULT_VERB_PAUSE:
    case FAULT_VERB_SLOW:
    case FAULT_VERB_DRIFT:
    case FAULT_VERB_REFUSE:
    case FAULT_VERB_SLOW_ACCEPT:
    case FAULT_VERB_BLACK_HOLE:
    case FAULT_VERB_LEASE_CUT:
        (void)hold_node(nemesis, fault, false);
        break;
    case FAULT_VERB_CUT:
        each_path(nemesis, fault, false, cut);
        break;
    case FAULT_VERB_CLOG:
        each_path(nemesis, fault, false, clog_path);
        break;
    case FAULT_VERB_DELAY:
        each_path(nemesis, fault, false, slow_path);
        break;
    case FAULT_VERB_FLAP:
        if (nemesis->is_cut[index])
            each_path(nemesis, fault, false, cut);
        break;
    case FAULT_VERB_DISK_STALL:
    case FAULT_VERB_DISK_ERROR:
    case FAULT_VERB_DISK_FULL:
        (void)hold_disk(nemesis, fault->verb, false);
        break;
    case FAULT_VERB_FOREIGN:
        (void)nemesis->hands.foreign(nemesis->hands.user, fault->node, false);
        break;
    case FAULT_VERB_RESTART:
        nemesis->hands.restart(nemesis->hands.user, fault->node, 0, false);
        break;
    default:
        break;
    }
}

static void count_partition(struct nemesis *nemesis, const struct fault *fault)
{
    uint32_t left = count_of(nemesis, &fault->left);
    uint32_t right = count_of(nemesis, &fault->right);

    nemesis->kinds.one_way += !fault->both_ways;
    nemesis->kinds.part += fault->streams != NET_BOTH;
    nemesis->kinds.pair += left == 1 && right == 1 && nemesis->nodes > 2;
    nemesis->kinds.isolated += (left == 1 || right == 1) &&
                               left + right == nemesis->nodes;
}

static void count_kinds(struct nemesis *nemesis, const struct fault *fault)
{
    uint64_t now = world_now(nemesis->world);

    nemesis->counts[fault->verb]++;
    if (fault->verb == FAULT_VERB_CUT || fault->verb == FAULT_VERB_FLAP)
        count_partition(nemesis, fault);
    if (fault->verb == FAULT_VERB_CRASH)
        nemesis->died_at[fault->node] = now;
    if (fault->verb == FAULT_VERB_START && nemesis->died_at[fault->node] &&
        now - nemesis->died_at[fault->node] <= SOON)
        nemesis->kinds.soon++;
    if (fault->verb == FAULT_VERB_DOWN && lives(nemesis, fault->node)) {
        nemesis->kinds.zombies++;
        nemesis->kinds.asleep += place(nemesis, fault->node)->is_paused;
    }
}

/* Whether the fault affects that node. Faults of the disks affect all. */
static bool strikes(const struct fault *fault, uint32_t node)
{
    const struct fault_nodes *const ends[] = { &fault->left, &fault->right };
    uint32_t parts = fault_verb_parts(fault->verb);

    if (parts & FAULT_NODE)
        return fault->node == node;
    if (!(parts & FAULT_PATHS))
        return true;
    for (int i = 0; i < 2; i++) {
        if (ends[i]->all)
            return true;
        for (uint32_t j = 0; j < ends[i]->count; j++)
            if (ends[i]->items[j] == node)
                return true;
    }
    return false;
}

/* Call it before the fault begins: a crashed node has no state. */
static struct nemesis_cells cells_of(const struct nemesis *nemesis,
                                     const struct fault *fault)
{
    struct nemesis_cells cells = { 0, 0 };

    for (uint32_t i = 0; nemesis->hands.states && i < nemesis->nodes; i++) {
        uint64_t states = nemesis->hands.states(nemesis->hands.user, i);

        cells.met |= states;
        if (strikes(fault, i))
            cells.struck |= states;
    }
    return cells;
}

struct nemesis_cells nemesis_cells(const struct nemesis *nemesis,
                                   enum fault_verb verb)
{
    return nemesis->cells[verb];
}

static void happen(struct nemesis *nemesis, uint32_t index)
{
    const struct fault *fault = &nemesis->schedule->faults.items[index];
    struct nemesis_cells cells = cells_of(nemesis, fault);

    nemesis->harm_before[index] = harm_before(nemesis, fault);
    if (!begin(nemesis, fault)) {
        nemesis->skipped++;
        return;
    }
    nemesis->cells[fault->verb].met |= cells.met;
    nemesis->cells[fault->verb].struck |= cells.struck;
    if (is_at_once(fault->verb))
        count_effect(nemesis, index);
    count_kinds(nemesis, fault);
    nemesis->goes_on[index] = true;
    if (fault->length)
        timers_put(&nemesis->timers,
                   world_now(nemesis->world) + fault->length, MOMENT_END,
                   index, 0);
}

void nemesis_step(struct nemesis *nemesis)
{
    struct timer timer;

    while (timers_take(&nemesis->timers, world_now(nemesis->world), &timer)) {
        uint32_t index = (uint32_t)timer.id;

        if (timer.kind == MOMENT_BEGIN)
            happen(nemesis, index);
        else if (!nemesis->goes_on[index])
            continue;
        else if (timer.kind == MOMENT_END)
            end(nemesis, index);
        else
            flip(nemesis, index);
    }
}

uint64_t nemesis_deadline(const struct nemesis *nemesis)
{
    return timers_deadline(&nemesis->timers);
}

void nemesis_end(struct nemesis *nemesis)
{
    timers_fini(&nemesis->timers);
    for (uint32_t i = 0; i < nemesis->schedule->faults.count; i++)
        if (nemesis->goes_on[i])
            end(nemesis, i);
}

uint64_t nemesis_count(const struct nemesis *nemesis, enum fault_verb verb)
{
    return nemesis->counts[verb];
}

struct nemesis_kinds nemesis_kinds(const struct nemesis *nemesis)
{
    return nemesis->kinds;
}

uint64_t nemesis_skipped(const struct nemesis *nemesis)
{
    return nemesis->skipped;
}

struct nemesis *nemesis_new(struct world *world,
                            const struct schedule *schedule, uint32_t nodes,
                            const struct nemesis_hands *hands)
{
    struct nemesis *nemesis = mem_alloc(sizeof *nemesis);
    uint32_t count = schedule->faults.count;

    nemesis->world = world;
    nemesis->schedule = schedule;
    nemesis->hands = *hands;
    nemesis->nodes = nodes;
    nemesis->begin = world_now(world);
    nemesis->delay_min = hands->delay_min;
    nemesis->delay_mean = hands->delay_mean;
    nemesis->died_at = mem_alloc(nodes * sizeof *nemesis->died_at);
    nemesis->holds = mem_alloc(nodes * sizeof *nemesis->holds);
    nemesis->paths =
        mem_alloc((size_t)nodes * nodes * sizeof *nemesis->paths);
    nemesis->goes_on = mem_alloc(count * sizeof *nemesis->goes_on);
    nemesis->is_cut = mem_alloc(count * sizeof *nemesis->is_cut);
    nemesis->harm_before = mem_alloc(count * sizeof *nemesis->harm_before);
    for (uint32_t i = 0; i < count; i++)
        timers_put(&nemesis->timers,
                   nemesis->begin + schedule->faults.items[i].at,
                   MOMENT_BEGIN, i, 0);
    return nemesis;
}

void nemesis_free(struct nemesis *nemesis)
{
    if (!nemesis)
        return;
    timers_fini(&nemesis->timers);
    mem_free(nemesis->died_at);
    mem_free(nemesis->holds);
    mem_free(nemesis->paths);
    mem_free(nemesis->goes_on);
    mem_free(nemesis->is_cut);
    mem_free(nemesis->harm_before);
    mem_free(nemesis);
}
