/* The checker of what is left of a cluster that a partition cuts in two, when its nodes have a split brain resolver.
 *
 *   no-split-brain  of two sides one goes on at most
 *   healthy-node-stays   the side that the strategy keeps goes on, whole: keep-majority the larger one, of equal ones that with the lowest address;
 *        keep-oldest that with the oldest member, or the other one where that is alone; lease-majority either; static-quorum that with
 *        more than half of the nodes. Where that has no side, and under down-all, nobody goes on (no-split-brain)
 *
 * Asked of one clean cut through a cluster that agreed, with nothing else going wrong, where detectors see all whom they shall within
 * stable-after: there a strategy promises it. Where a resolver of that side says that nothing was stable for too long, and downs all, healthy-node-stays is not
 * asked, if that can be: so long has passed since the cut, and by what the world did and its detectors need something was new to it within
 * stable-after. */
#ifndef SHERD_SIM_CHECK_SPLIT_H
#define SHERD_SIM_CHECK_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "resolver/strategy.h"

struct verdict;
struct world;

enum split_side { SPLIT_LEFT, SPLIT_RIGHT };

struct split {
    uint32_t nodes;        /* all of which live */
    enum split_side *side; /* of each; given to split_fini */
    uint32_t *life;
    bool is_unstable[2];   /* a resolver of that side said so, and could */
    uint64_t cut_at;       /* the world's time; 0: not yet */
    uint64_t changed_at[2]; /* the cut, or the last end of a node of that side */
    uint64_t heard;        /* ns until all who live have heard of a change; set after split_draw */
    struct world *world;   /* lent */
    uint32_t count[2]; /* of each side, at least 1 */
    uint32_t oldest;   /* the node; nodes: not known */
};

/* Draws two sides of a world whose nodes all live and agree. Lent to the world for life: it tells what its nodes find until split_fini. */
void split_draw(struct split *split, struct world *world, uint32_t nodes,
                struct rng *rng);
void split_fini(struct split *split);
/* Cuts all paths between the sides, or heals them. */
void split_cut(struct split *split, struct world *world, bool on);
/* Before it is healed, when detection, the strategy's waits and the ends of who is downed had their time. */
void split_judge(const struct split *split, struct world *world,
                 struct verdict *verdict, enum strategy_kind kind);

#endif
