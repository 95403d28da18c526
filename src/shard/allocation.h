/* Names the allocation strategies, and chooses regions for new shards and shards to move by Akka's
 * two least-shard algorithms, as pure functions. Ties follow the order of the regions. */
#ifndef SHERD_SHARD_ALLOCATION_H
#define SHERD_SHARD_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/member_info.h"

/* Strategies with their names in settings. */
#define ALLOCATION_KINDS(X)                                                    \
    X(ALLOCATION_LEAST_SHARD, "least-shard")                                   \
    X(ALLOCATION_CONSISTENT_HASHING, "consistent-hashing") /* allocation_ring.h */ \
    X(ALLOCATION_EXTERNAL, "external") /* at locations that programs set */    \
    X(ALLOCATION_CUSTOM, "custom")     /* by functions of the program */

#define X(name, text) name,
enum allocation_kind { ALLOCATION_KINDS(X) ALLOCATION_KIND_COUNT };
#undef X

const char *allocation_kind_text(enum allocation_kind kind);

struct allocation_shard {
    struct slice id;
    uint32_t shard; /* the caller's number for it */
    bool is_moving; /* a hand-off is in progress */
};

struct allocation_region {
    uint32_t region; /* the caller's number for it */
    enum member_status status;
    struct member_version version;
    bool is_leaving; /* it hands off its shards */
    const struct allocation_shard *shards; /* in order of allocation; lent */
    uint32_t shard_count;
};

struct allocation_limits {
    uint32_t absolute_limit;   /* 0 = the old algorithm */
    double relative_limit;     /* share of all shards */
    uint32_t threshold;        /* old algorithm: a smaller difference causes no move */
    uint32_t simultaneous_max; /* old algorithm */
};

#define ALLOCATION_NONE UINT32_MAX

/* Returns the best region for a new shard, or ALLOCATION_NONE. */
uint32_t allocation_choose(const struct allocation_region *regions,
                           uint32_t count);

/* Whether regions of several versions exist, as during a rolling update. */
bool allocation_is_mixed(const struct allocation_region *regions,
                         uint32_t count);

/* Writes the shards that should move to `chosen`, which has room for all, and returns their count.
 * moving: all hand-offs in progress. is_calm: every member of the data center is reachable and none
 * is joining. Versions are compared here. */
uint32_t allocation_rebalance(const struct allocation_limits *limits,
                              const struct allocation_region *regions,
                              uint32_t count, uint32_t moving, bool is_calm,
                              uint32_t *chosen);

#endif
