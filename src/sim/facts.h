/* What the checkers of probes have in common: a table of values made at their first mention, and which nodes may overlap. */
#ifndef SHERD_SIM_FACTS_H
#define SHERD_SIM_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define CHECK_NODES_MAX 1024 /* indexes of nodes are below it */

/* Types of different data centers are different ones for the checkers: node n is in number n modulo `centers`. */
#define FACT_TYPES_MAX 256 /* of one data center */
static inline uint16_t fact_type(uint32_t centers, uint32_t node,
                                 uint16_t type)
{
    return centers < 2 ? type
                       : (uint16_t)(type + node % centers * FACT_TYPES_MAX);
}

/* Nodes that the cluster has given up while they lived (check_outside.h): until they end themselves, or are late, they may run what runs
 * elsewhere, too. What they overlap with is measured, not judged. All false: a run that keeps to the assumptions. */
struct check_safety {
    bool outside[CHECK_NODES_MAX];
    bool late[CHECK_NODES_MAX]; /* has seen itself down for so long that nothing may run there any more */
    /* Are two nodes members for each other? Then what excuses one of them from the rest excuses neither from the other. Null: none are. */
    bool (*are_together)(void *user, uint32_t node, uint32_t other);
    void *user; /* lent for life */
};

/* May a node run what runs elsewhere, too? Null safety: none may. */
static inline bool safety_may_overlap(const struct check_safety *safety,
                                      uint32_t node)
{
    return safety && safety->outside[node] && !safety->late[node];
}

/* May the same run on both? */
static inline bool safety_excuses(const struct check_safety *safety,
                                  uint32_t node, uint32_t other)
{
    return (safety_may_overlap(safety, node) ||
            safety_may_overlap(safety, other)) &&
           !(safety->are_together &&
             safety->are_together(safety->user, node, other));
}

/* Up to three numbers as a key: no padding, so that equal keys are equal bytes. */
struct fact_key {
    uint64_t words[3];
};

/* Of a shard: negative numbers are shards, too. */
static inline uint64_t fact_shard(uint16_t type, int32_t shard)
{
    return (uint64_t)type << 32 | (uint32_t)shard;
}

static inline uint16_t fact_shard_type(uint64_t shard)
{
    return (uint16_t)(shard >> 32);
}

/* The value of that key: `size` bytes, zero at first. Lent until facts_fini. */
void *facts_of(struct map *map, struct fact_key key, size_t size);
void *facts_find(const struct map *map, struct fact_key key); /* null when it was never mentioned */
void facts_fini(struct map *map); /* frees the values, too */

#endif
