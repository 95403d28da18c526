/* Looks at the shards of an entity type, on this node and in the cluster, and
 * moves them away from this node.
 *
 * A region is the part of a type on one node. The answers are Akka's: other
 * nodes and JVM programs may ask a region the same by message
 * (GetShardRegionState, GetShardRegionStats, GetClusterShardingStats,
 * GetCurrentRegions). An answer is no snapshot: entities come and go while it
 * is collected. */
#ifndef SHERD_SHARDING_H
#define SHERD_SHARDING_H

#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A shard, as its region described it. */
struct sherd_shard {
    const char *id;                /* its id, such as "-17" */
    uint64_t entity_count;         /* entities in it, also those that stop */
    const char *const *entity_ids; /* their ids; null if counts were asked */
};

/* A region that hosts shards. */
struct sherd_region {
    char address[128];          /* "host:port" of its node */
    struct sherd_shard *shards; /* those that it described */
    uint32_t shard_count;       /* entries of shards */
    /* Ids of hosted shards that it did not describe: their lane did not answer
     * in time, or the answer was too large. */
    const char *const *failed;
    uint32_t failed_count; /* entries of failed */
};

/* An answer. sherd_regions_free frees it. */
struct sherd_regions {
    struct sherd_region *regions; /* those that answered */
    uint32_t region_count;        /* entries of regions */
    int has_coordinator; /* 1: this node knows the coordinator of the type */
    void *memory;        /* the library's */
};

/* Shuts down this node's region of a type: its shards move to other nodes, and
 * no message is lost. Then the node only sends to the type, until it ends. If
 * no other node hosts the type, its entities stop, and messages wait for a
 * region.
 *
 * type: its name. done: called once, on a thread of the library or in
 * sherd_close, which it must not block. result: 0: the region has stopped, or
 * akka.coordinated-shutdown's time limit of the phase
 * cluster-sharding-shutdown-region was reached, which the log says;
 * SHERD_ESTATE: the node ended before. user: its argument.
 * Result: 0; SHERD_EINVAL; SHERD_ENOTYPE; SHERD_EFULL: 64 calls are waiting;
 * SHERD_ESTATE. Unless it is 0, done is not called.
 * Threads: any, from sherd_start on. */
SHERD_API SHERD_MUST_USE int
sherd_region_shutdown(struct sherd_system *system, const char *type,
                      void (*done)(void *user, int result), void *user);

/* Ask about a type. Each call waits for its answer.
 *
 * type: its name; a region in another data center is NAME@DATA_CENTER.
 * timeout_ms: 0 is akka.cluster.sharding.shard-region-query-timeout (3 s), and
 * 2 s more for sherd_get_cluster_stats; at most an hour.
 * regions: filled; on failure there is nothing to free.
 * Result: 0; SHERD_EINVAL; SHERD_ENOTYPE; SHERD_ETIME; SHERD_EFULL: 64 calls
 * are waiting; SHERD_ESTATE.
 * Threads: threads of the program and jobs, from sherd_start on. Not in
 * receive. */

/* This node's region: its shards with the ids of their entities. A proxy has no
 * shards. Shards whose lane is late are in `failed`, so the call does not end
 * with SHERD_ETIME for them. Ids above 16 MiB for each lane are left out, with
 * their whole shard in `failed`. */
SHERD_API SHERD_MUST_USE int
sherd_get_region_state(struct sherd_system *system, const char *type,
                       uint32_t timeout_ms, struct sherd_regions *regions);
/* The same without the ids. */
SHERD_API SHERD_MUST_USE int
sherd_get_region_stats(struct sherd_system *system, const char *type,
                       uint32_t timeout_ms, struct sherd_regions *regions);
/* All regions, with the counts of their shards. A region waits for its lanes
 * for the shard-region-query-timeout of its node. Then shards whose lane is
 * late are in `failed`. A shorter timeout_ms ends before that. SHERD_ETIME: a
 * region or the coordinator did not answer in time. Without a coordinator the
 * answer is empty. */
SHERD_API SHERD_MUST_USE int
sherd_get_cluster_stats(struct sherd_system *system, const char *type,
                        uint32_t timeout_ms, struct sherd_regions *regions);
/* All regions, without shards. Without a coordinator the answer is empty. */
SHERD_API SHERD_MUST_USE int
sherd_get_regions(struct sherd_system *system, const char *type,
                  uint32_t timeout_ms, struct sherd_regions *regions);

/* Frees an answer and zeroes it. Null is fine.
 * Threads: any. */
SHERD_API void sherd_regions_free(struct sherd_regions *regions);

#ifdef __cplusplus
}
#endif

#endif
