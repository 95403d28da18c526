/* The checker of balance: where no coordinator finds anything to move, the shards of a type are spread as evenly as its allocation
 * strategy says (behaviour 15.2, 15.3).
 *
 *   balance   by the newer algorithm each region has as many shards as are its part, rounded up, or one less; by the older one no region
 *             has more than another by more than the threshold
 *
 * So it is where all regions are of members that are up, can be reached and have one version: the runner asks when that is so, and no shard
 * has moved for two looks of each coordinator. */
#ifndef SHERD_SIM_CHECK_BALANCE_H
#define SHERD_SIM_CHECK_BALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct options;
struct verdict;
struct world;

struct check_balance_limits {
    uint32_t absolute_limit; /* 0: the older algorithm */
    uint32_t threshold;      /* of the older one */
};

/* Of one type: the shards of each of its regions, one at least. False with what is wrong in text (size bytes). */
bool check_balance_holds(const struct check_balance_limits *limits,
                         const uint32_t *shards, uint32_t regions, char *text,
                         size_t size);
/* Of all types, each data center by itself: what the nodes that live say that they host. Between two turns of the world. */
void check_balance_judge(struct verdict *verdict, struct world *world,
                         const struct options *options);

#endif
