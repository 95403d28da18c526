/* Checks the rule shard-balance: a coordinator that has nothing to move has spread its shards
 * evenly.
 *
 * With the newer allocation algorithm each region has its share of the shards, rounded up, or one
 * shard less. With the older one two regions differ by at most the threshold.
 *
 * The caller waits until all regions belong to members that are up, reachable and of one
 * app-version, and until no shard has moved for two rebalance ticks of each coordinator. */
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
    uint32_t threshold;      /* for the older algorithm */
};

/* Judges one type by the shards of each of its regions, at least one. False: text (size bytes) has
 * the reason. */
bool check_balance_holds(const struct check_balance_limits *limits,
                         const uint32_t *shards, uint32_t regions, char *text,
                         size_t size);
/* Judges all types with the strategy least-shard by the shards that live nodes report, each data center by itself. Between two
 * turns of the world. */
void check_balance_judge(struct verdict *verdict, struct world *world,
                         const struct options *options);

#endif
