/* Records which node lives on which side of a cut, and judges both sides. */
#include "sim/check/check_split.h"

#include <string.h>

#include "base/address.h"
#include "base/check.h"
#include "base/timers.h"
#include "sim/world/net.h"
#include "sim/world/verdict.h"
#include "sim/world/world.h"

#define TICKS (2 * SECOND) /* a resolver ticks each second */
#define DRIFT 16 /* clocks may be wrong by that part of a time */

/* The coordinator of a type is at the oldest member. */
static uint32_t find_oldest(struct world *world, uint32_t nodes)
{
    struct sherd_status status = world_status(world, 0);
    uint32_t oldest = nodes;
    char text[ADDRESS_TEXT_MAX];

    for (uint32_t i = 0; i < nodes && status.type_count; i++)
        if (strcmp(status.types[0].coordinator,
                   address_text(
                       &world_node(world, i)->settings.identity.node.address,
                       text, sizeof text)) == 0)
            oldest = i;
    world_status_fini(&status);
    return oldest;
}

/* Nothing was new before the cut, so a resolver cannot have waited since before it. It decides at
 * the tick after stable-after without a change. Clocks drift. */
static bool can_be_unstable(const struct split *split, uint32_t node)
{
    const struct resolver_settings *settings =
        &world_node(split->world, node)->settings.resolver;
    uint64_t now = world_now(split->world);
    uint64_t least = settings->stable_after + settings->unstable_after;
    uint64_t most = split->heard + settings->stable_after + TICKS;

    return now - split->cut_at >= least - least / DRIFT &&
           now - split->changed_at[split->side[node]] <= most + most / DRIFT;
}

static void probe(void *user, uint32_t node, uint32_t machine,
                  const struct probe *probe)
{
    struct split *split = user;

    (void)machine;
    if (probe->kind == PROBE_UNSTABLE && split->cut_at && node < split->nodes &&
        can_be_unstable(split, node))
        split->is_unstable[split->side[node]] = true;
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct split *split = user;

    (void)crashed;
    (void)error;
    if (node < split->nodes)
        split->changed_at[split->side[node]] = world_now(split->world);
}

void split_draw(struct split *split, struct world *world, uint32_t nodes,
                struct rng *rng)
{
    const struct world_observer observer = { .user = split,
                                             .node_ended = node_ended,
                                             .probe = probe };

    check(nodes > 1);
    *split = (struct split){ .nodes = nodes, .world = world };
    split->side = mem_alloc(nodes * sizeof *split->side);
    split->life = mem_alloc(nodes * sizeof *split->life);
    while (!split->count[SPLIT_LEFT] || !split->count[SPLIT_RIGHT]) {
        memset(split->count, 0, sizeof split->count);
        for (uint32_t i = 0; i < nodes; i++) {
            split->side[i] = (enum split_side)rng_below(rng, 2);
            split->count[split->side[i]]++;
        }
    }
    for (uint32_t i = 0; i < nodes; i++)
        split->life[i] = world_node(world, i)->life;
    split->oldest = find_oldest(world, nodes);
    world_observe(world, &observer);
}

void split_fini(struct split *split)
{
    mem_free(split->side);
    mem_free(split->life);
    *split = (struct split){ 0 };
}

void split_cut(struct split *split, struct world *world, bool on)
{
    if (on)
        split->cut_at = split->changed_at[SPLIT_LEFT] =
            split->changed_at[SPLIT_RIGHT] = world_now(world);
    for (uint32_t i = 0; i < split->nodes; i++)
        for (uint32_t j = 0; j < split->nodes; j++)
            if (split->side[i] != split->side[j])
                net_cut(world, i, j, NET_BOTH, on);
}

static bool goes_on(const struct split *split, struct world *world,
                    uint32_t node)
{
    const struct world_node *place = world_node(world, node);

    return place->node && place->is_up && place->life == split->life[node];
}

static enum split_side other(enum split_side side)
{
    return side == SPLIT_LEFT ? SPLIT_RIGHT : SPLIT_LEFT;
}

static enum split_side larger(const struct split *split,
                              const struct world *world)
{
    const struct address *lowest = NULL;
    enum split_side side = SPLIT_LEFT;

    if (split->count[SPLIT_LEFT] != split->count[SPLIT_RIGHT])
        return split->count[SPLIT_LEFT] > split->count[SPLIT_RIGHT]
                   ? SPLIT_LEFT
                   : SPLIT_RIGHT;
    for (uint32_t i = 0; i < split->nodes; i++) {
        const struct address *address =
            &world_node(world, i)->settings.identity.node.address;

        if (lowest && address_compare(lowest, address) < 0)
            continue;
        lowest = address;
        side = split->side[i];
    }
    return side;
}

/* An oldest member that is alone ends if the other side has more than one node. */
static enum split_side with_oldest(const struct split *split)
{
    enum split_side side = split->side[split->oldest];

    return split->count[side] == 1 && split->count[other(side)] > 1
               ? other(side)
               : side;
}

static bool has_its_side(const struct split *split, struct world *world,
                         uint32_t node)
{
    struct sherd_status status = world_status(world, node);
    uint32_t found = 0;
    bool agrees = status.member_count == split->count[split->side[node]];

    for (uint32_t i = 0; i < status.member_count; i++)
        for (uint32_t j = 0; j < split->nodes; j++)
            found += split->side[j] == split->side[node] &&
                     status.members[i].uid ==
                         world_node(world, j)->settings.identity.node.uid;
    agrees &= found == status.member_count;
    world_status_fini(&status);
    return agrees;
}

static void judge_kept(const struct split *split, struct world *world,
                       struct verdict *verdict, enum strategy_kind kind,
                       enum split_side side)
{
    for (uint32_t i = 0; i < split->nodes; i++) {
        if (split->side[i] != side)
            continue;
        if (!goes_on(split, world, i))
            violation(verdict, "healthy-node-stays", i,
                      "%s keeps its side of a partition, %u of %u nodes, and "
                      "it has ended",
                      strategy_text(kind), split->count[side], split->nodes);
        else if (!has_its_side(split, world, i))
            violation(verdict, "no-split-brain", i,
                      "%s keeps its side of a partition, %u of %u nodes, and "
                      "it has other members",
                      strategy_text(kind), split->count[side], split->nodes);
    }
}

/* No node may live on that side. */
static void judge_ended(const struct split *split, struct world *world,
                        struct verdict *verdict, enum strategy_kind kind,
                        enum split_side side)
{
    for (uint32_t i = 0; i < split->nodes; i++)
        if (split->side[i] == side && goes_on(split, world, i))
            violation(verdict, "no-split-brain", i,
                      "%s keeps no side of a partition, and one of %u nodes "
                      "of %u goes on",
                      strategy_text(kind), split->count[side], split->nodes);
}

static bool has_quorum(const struct split *split, enum split_side side)
{
    return split->count[side] >= split->nodes / 2 + 1;
}

/* With lease-majority either side may get the lease. If it then finds nothing stable, both have
 * ended. */
static bool is_excused(const struct split *split, enum strategy_kind kind,
                       enum split_side kept)
{
    return split->is_unstable[kept] ||
           (kind == STRATEGY_LEASE_MAJORITY && split->is_unstable[other(kept)]);
}

void split_judge(const struct split *split, struct world *world,
                 struct verdict *verdict, enum strategy_kind kind)
{
    uint32_t living[2] = { 0, 0 };
    uint32_t first[2] = { 0, 0 };
    enum split_side kept;

    for (uint32_t i = 0; i < split->nodes; i++) {
        enum split_side side = split->side[i];

        if (!goes_on(split, world, i))
            continue;
        if (!living[side]++)
            first[side] = i;
    }
    if (living[SPLIT_LEFT] && living[SPLIT_RIGHT]) {
        violation(verdict, "no-split-brain", first[SPLIT_LEFT],
                  "both sides of a partition go on under %s: here %u of %u, "
                  "and %u of %u with node %u",
                  strategy_text(kind), living[SPLIT_LEFT],
                  split->count[SPLIT_LEFT], living[SPLIT_RIGHT],
                  split->count[SPLIT_RIGHT], first[SPLIT_RIGHT]);
        return;
    }
    kept = living[SPLIT_LEFT] ? SPLIT_LEFT : SPLIT_RIGHT;
    if (kind == STRATEGY_DOWN_ALL ||
        (kind == STRATEGY_STATIC_QUORUM && !has_quorum(split, SPLIT_LEFT) &&
         !has_quorum(split, SPLIT_RIGHT))) {
        judge_ended(split, world, verdict, kind, kept);
        return;
    }
    if (kind == STRATEGY_STATIC_QUORUM)
        kept = has_quorum(split, SPLIT_LEFT) ? SPLIT_LEFT : SPLIT_RIGHT;
    else if (kind == STRATEGY_KEEP_MAJORITY)
        kept = larger(split, world);
    else if (kind == STRATEGY_KEEP_OLDEST && split->oldest < split->nodes)
        kept = with_oldest(split);
    if (!is_excused(split, kind, kept))
        judge_kept(split, world, verdict, kind, kept);
}
