/* Checks the nodes that remain after a partition cuts a cluster with a split brain resolver in two.
 *
 *   no-split-brain      at most one side goes on, and no side where the strategy keeps none
 *   healthy-node-stays  the side that the strategy keeps goes on whole
 *
 * The strategies keep these sides:
 *   keep-majority    the larger side; of equal sides the one with the lowest address
 *   keep-oldest      the side with the oldest member; the other side if the oldest is alone
 *   lease-majority   either side
 *   static-quorum    the side with more than half of the nodes, if there is one
 *   down-all         no side
 *
 * The check covers one clean cut through a cluster that agreed, without other faults. Failure
 * detectors must notice all unreachable nodes within stable-after; only then does a strategy
 * promise this. If a resolver says that nothing was stable for too long and downs all,
 * healthy-node-stays is not checked for its side. The excuse holds only if the timing since the cut
 * makes it possible. */
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
    /* a resolver of that side said that nothing was stable, at a possible time */
    bool is_unstable[2];
    uint64_t cut_at;       /* time of the world; 0: not yet */
    uint64_t changed_at[2]; /* time of the cut, or of the last end of a node of that side */
    uint64_t heard;        /* ns until all live nodes know of a change; set after split_draw */
    struct world *world;   /* lent */
    uint32_t count[2]; /* nodes of each side, at least 1 */
    uint32_t oldest;   /* index of the node; `nodes`: unknown */
};

/* Draws two sides of a world whose nodes all live and agree. The struct observes the world until
 * split_fini, so it must outlive that. */
void split_draw(struct split *split, struct world *world, uint32_t nodes,
                struct rng *rng);
void split_fini(struct split *split);
/* Cuts all paths between the sides, or heals them. */
void split_cut(struct split *split, struct world *world, bool on);
/* Judges both sides. Call it before the cut is healed, after the time for detection, for the
 * strategy's waits and for the end of downed nodes. */
void split_judge(const struct split *split, struct world *world,
                 struct verdict *verdict, enum strategy_kind kind);

#endif
