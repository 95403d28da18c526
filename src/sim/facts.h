/* What the checkers of probes have in common: a table of values made at their first mention, and which nodes may overlap. */
#ifndef SHERD_SIM_FACTS_H
#define SHERD_SIM_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define CHECK_NODES_MAX 1024 /* indexes of nodes are below it */

/* Nodes that the cluster has given up while they lived: until they end themselves they may run what runs elsewhere, too. What
 * they overlap with is measured, not judged. All false: a run that keeps to the assumptions. */
/* Types of different data centers are different ones for the checkers: node n is in number n modulo `centers`. */
#define FACT_TYPES_MAX 256 /* of one data center */
static inline uint16_t fact_type(uint32_t centers, uint32_t node,
                                 uint16_t type)
{
    return centers < 2 ? type
                       : (uint16_t)(type + node % centers * FACT_TYPES_MAX);
}

struct check_safety {
    bool outside[CHECK_NODES_MAX];
};

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
