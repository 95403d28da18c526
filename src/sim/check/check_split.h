/* Checks the nodes that remain after a partition cuts a cluster with a split brain resolver in two.
 *
 *   no-split-brain      at most one side goes on; none where the strategy keeps none
 *   healthy-node-stays  the side that the strategy keeps goes on whole
 *
 * Kept sides:
 *   keep-majority   the larger one; of equal ones that with the lowest address
 *   keep-oldest     the one with the oldest member; the other one if the oldest is alone and that
 *                   is larger
 *   lease-majority  either
 *   static-quorum   the one with more than half of the nodes, if any
 *   down-all        none
 *
 * The cut is clean, the cluster agreed before, no other faults happen, and detectors notice all
 * within stable-after. A side may end if its resolver finds nothing stable for too long, at a time
 * when that is possible. */
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
    uint32_t nodes;        /* all of them live */
    enum split_side *side; /* of each node; split_fini frees it */
    uint32_t *life;
    bool is_unstable[2];   /* its resolver found nothing stable, at a possible time */
    uint64_t cut_at;       /* time of the world; 0: not yet */
    uint64_t changed_at[2]; /* time of the cut, or of the last end of a node of that side */
    uint64_t heard;        /* ns until all live nodes know a change; set after split_draw */
    struct world *world;   /* lent */
    uint32_t count[2]; /* nodes of each side, at least 1 */
    uint32_t oldest;   /* index of the node; `nodes`: unknown */
};

/* Draws two sides of a world whose nodes all live and agree. The struct observes the world until
 * split_fini. */
void split_draw(struct split *split, struct world *world, uint32_t nodes,
                struct rng *rng);
void split_fini(struct split *split);
/* Cuts all paths between the sides, or heals them. */
void split_cut(struct split *split, struct world *world, bool on);
/* Judges both sides before the cut is healed, after the time for detection, the strategy's waits
 * and the ends of downed nodes. */
void split_judge(const struct split *split, struct world *world,
                 struct verdict *verdict, enum strategy_kind kind);

#endif
