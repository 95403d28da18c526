/* Holds what the probe checkers share: tables of facts, and the nodes that may overlap. A checker
 * gets facts in the order in which they happened, ignores probes of other kinds, and knows neither
 * worlds nor nodes. */
#ifndef SHERD_SIM_CHECK_FACTS_H
#define SHERD_SIM_CHECK_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define CHECK_NODES_MAX 1024 /* node indexes are below it */

/* The checkers treat types of different data centers as different. Node n is in center n modulo
 * `centers`. */
#define FACT_TYPES_MAX 256 /* types of one data center */
static inline uint16_t fact_type(uint32_t centers, uint32_t node,
                                 uint16_t type)
{
    return centers < 2 ? type
                       : (uint16_t)(type + node % centers * FACT_TYPES_MAX);
}

/* Nodes outside: the cluster gave them up while they live (outside_nodes.h). Until such a node ends
 * or is late, what runs there may also run elsewhere; that is measured, not judged. */
struct check_safety {
    bool outside[CHECK_NODES_MAX];
    /* it saw itself down so long ago that nothing may run there any more */
    bool late[CHECK_NODES_MAX];
    /* Whether two nodes see each other as members. An excuse does not hold between them. Null: no
     * two do. */
    bool (*are_together)(void *user, uint32_t node, uint32_t other);
    void *user; /* lent for life */
};

/* Whether the node may run what also runs elsewhere. Null safety: no node may. */
static inline bool safety_may_overlap(const struct check_safety *safety,
                                      uint32_t node)
{
    return safety && safety->outside[node] && !safety->late[node];
}

/* Whether the same thing may run on both nodes. */
static inline bool safety_excuses(const struct check_safety *safety,
                                  uint32_t node, uint32_t other)
{
    return (safety_may_overlap(safety, node) ||
            safety_may_overlap(safety, other)) &&
           !(safety->are_together &&
             safety->are_together(safety->user, node, other));
}

/* Up to three numbers as a key. It has no padding, so equal keys have equal bytes. */
struct fact_key {
    uint64_t words[3];
};

/* The key of a shard. Negative numbers are shards, too. */
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
void *facts_find(const struct map *map, struct fact_key key); /* null if it was never mentioned */
void facts_fini(struct map *map); /* frees the values, too */

#endif
