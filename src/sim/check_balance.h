/* Checks shard-balance: the shards of a type are spread as evenly as its allocation strategy
 * promises.
 *
 * With the newer algorithm each region has its share of the shards, rounded up, or one less. With
 * the older one no two regions differ by more than the threshold.
 *
 * The runner calls this only when all regions belong to members that are up, reachable and of one
 * version, and when no shard has moved for two ticks of each coordinator. */
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

/* Judges one type by the shards of each of its regions; there is at least one region. Returns false
 * with the reason in text (size bytes). */
bool check_balance_holds(const struct check_balance_limits *limits,
                         const uint32_t *shards, uint32_t regions, char *text,
                         size_t size);
/* Judges all types in each data center, by the shards that the live nodes say they host. Call it
 * between two turns of the world. */
void check_balance_judge(struct verdict *verdict, struct world *world,
                         const struct options *options);

#endif
