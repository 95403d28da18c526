/* Checks requests to allocation strategies of a program, and compares the homes of shards with what
 * a strategy promises.
 *
 *   allocation-ends-once  a coordinator's request ends once: by an answer, or because it is given
 *                         up in time. A shard, or the moves of a type, has one open request
 *   location-honoured     a shard with a location is there, if a region is
 *   shard-balance         a shard is where consistent hashing or the program puts it
 *
 * The last two are for calm clusters; the caller computes what the strategy wants. */
#ifndef SHERD_SIM_CHECK_ALLOCATION_H
#define SHERD_SIM_CHECK_ALLOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/probe.h"
#include "shard/allocation_ring.h"

#define CHECK_ALLOCATION_OPEN_NS 60000000000ull

struct verdict;
struct check_allocation;

struct check_allocation *check_allocation_new(struct verdict *verdict); /* lent for life */
void check_allocation_free(struct check_allocation *check);

/* ---- requests ---- */

/* Sets the time after which an open request is a violation. Default CHECK_ALLOCATION_OPEN_NS. */
void check_allocation_limit(struct check_allocation *check, uint64_t limit);
void check_allocation_probe(struct check_allocation *check, uint64_t now,
                            uint32_t node, const struct probe *probe);
void check_allocation_node_ended(struct check_allocation *check, uint32_t node);
/* The node was paused for so long. */
void check_allocation_paused(struct check_allocation *check, uint32_t node,
                             uint64_t time);
/* Judges requests that are open for too long. Every few seconds is enough. */
void check_allocation_look(struct check_allocation *check, uint64_t now);

struct check_allocation_counts {
    uint64_t asked;
    uint64_t ended[PROBE_ALLOCATION_COUNT]; /* by enum probe_allocation */
};
struct check_allocation_counts
check_allocation_counts(const struct check_allocation *check);

/* ---- homes ---- */

struct check_allocation_home {
    int32_t shard;
    struct address address; /* of its region */
};

/* Finds where a strategy wants the shard, as an index of the regions; false: anywhere. */
typedef bool check_allocation_wanted(const void *arg, int32_t shard,
                                     const struct address *regions,
                                     uint32_t count, uint32_t *wanted);

/* Whether each home is as wanted. regions: sorted. False: text (size bytes) has the first other
 * one. */
bool check_allocation_holds(const struct check_allocation_home *homes,
                            uint32_t home_count, const struct address *regions,
                            uint32_t count, check_allocation_wanted *wanted,
                            const void *arg, char *text, size_t size);

/* Consistent hashing: makes the ring of sorted regions, which is the argument of the function.
 * load_bound: below 1: none. */
void check_allocation_ring_make(struct allocation_ring *ring,
                                const struct address *regions, uint32_t count,
                                uint32_t shards, double load_bound);
check_allocation_wanted check_allocation_by_ring;

#endif
