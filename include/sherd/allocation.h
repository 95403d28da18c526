/* Decides which node hosts a shard: strategies of a program, and locations that
 * a program sets.
 *
 * The coordinator of a type gives each shard to a region: a node that hosts the
 * type. sherd_entity_type.allocation names the strategy that it follows:
 *
 *   "least-shard"         the region with the fewest shards, as in Akka
 *   "consistent-hashing"  the region that follows the shard on a hash ring, as
 *                         in Pekko
 *   "external"            the region at the location that a program has set
 *   "custom"              the region that functions of the program choose
 *
 * All nodes that host a type need the same strategy, since any of them may
 * become the coordinator's. Guide: docs/guide/allocation.md; program:
 * examples/allocation.c. */
#ifndef SHERD_ALLOCATION_H
#define SHERD_ALLOCATION_H

#include <sherd/actor.h>
#include <sherd/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sherd_system;
struct sherd_value;

/* Returns the shard of an entity, as nodes and JVM nodes compute it: from
 * -(shards - 1) to shards - 1. It is negative for one id in 2^32.
 *
 * id: a text. shards: the number of shards of its type, 1 to 20,000.
 * Threads: any. */
SHERD_API int32_t sherd_shard_of(const char *id, uint32_t shards);

/* ---- strategies of a program ---- */

/* A shard of a region. */
struct sherd_allocation_shard {
    int32_t shard; /* its number */
    int moving;    /* 1: it is on its way to another region */
    /* Its text, if the type's extractor names shards with texts; else null. The
     * number is then one that this node gave it. */
    const char *shard_id;
};

/* A region, and the member of the cluster it is on. */
struct sherd_allocation_region {
    struct sherd_cluster_member member; /* address, version, roles, status */
    const struct sherd_allocation_shard *shards; /* in order of allocation */
    uint32_t shard_count;                        /* entries of shards */
    int leaving; /* 1: it hands off its shards and takes none */
};

/* A question of the coordinator. Everything in it is lent for the call. */
struct sherd_allocation_request {
    uint64_t number;  /* names the request in a later answer; never 0 */
    const char *type; /* the entity type */
    int32_t shard;    /* allocate: the shard that needs a region */
    const char *shard_id; /* its text, as in sherd_allocation_shard */
    /* allocate: the region whose node asked for the shard first, an index of
     * regions. -1: that node hosts none, or the shard starts by itself. */
    int requester;
    /* allocate: how often this shard was asked for in vain, one after the
     * other, because the answer was late or not valid. */
    uint32_t tries;
    /* 1: all members of the data center are reachable, none of them is joining,
     * and all regions have one app-version. The strategies of the library move
     * shards only then, except for the external one. */
    int calm;
    /* allocate: those that take shards. rebalance: all. At least one. In order
     * of their registration, which differs from coordinator to coordinator. */
    const struct sherd_allocation_region *regions;
    uint32_t region_count; /* entries of regions */
};

/* Results of a strategy's functions in place of an answer. */
enum sherd_allocation_result {
    SHERD_ALLOCATION_LATER = -1,  /* sherd_allocation_answer follows */
    SHERD_ALLOCATION_DEFAULT = -2 /* as the strategy "least-shard" */
};

/* The functions of a strategy. They run on the control thread of the node with
 * the coordinator, one at a time for each system. Heartbeats use this thread,
 * too: the functions return within a millisecond, do not block, and leave slow
 * work to SHERD_ALLOCATION_LATER. */
struct sherd_allocation_strategy {
    /* Chooses the region of a shard that has none. Required.
     *
     * Result: an index of request->regions, or enum sherd_allocation_result.
     * Any other number is refused with a line in the log, and the shard is
     * asked for again a second later. */
    int (*allocate)(void *user, const struct sherd_allocation_request *request);
    /* Chooses shards that leave their region, every rebalance-interval. Then
     * allocate chooses their new one, which may be the same. Null: none.
     *
     * shards: filled; it has room for every shard of the regions.
     * Result: their number, or enum sherd_allocation_result. Numbers of shards
     * that have no region or move already are ignored. */
    int (*rebalance)(void *user, const struct sherd_allocation_request *request,
                     int32_t *shards);
    /* The first argument of both. */
    void *user;
    /* Milliseconds within which a later answer must come, 1 to 3,600,000;
     * default 5,000. After that the request is given up, and the log says so. A
     * shard is then asked for again, with a new number. */
    uint64_t timeout_ms;
};

/* A later answer. */
struct sherd_allocation_choice {
    uint64_t request; /* its number */
    /* allocate: the address of one of its regions, "host:port" or a full one;
     * null: the default, as SHERD_ALLOCATION_DEFAULT. */
    const char *address;
    /* rebalance: the shards, at most 10,000. */
    const int32_t *shards;
    uint32_t shard_count; /* entries of shards */
};

/* Answer a request for which the strategy returned SHERD_ALLOCATION_LATER, on
 * the node where it was asked. A shard has one open request at a time, and a
 * type one for its moves. Each ends once: by the first answer, or because it is
 * given up. It is given up at its time limit, when another region reports the
 * shard, and when the coordinator ends: the next one, perhaps on another node,
 * asks anew. An answer that comes after that has no effect.
 *
 * An address at which no region takes shards is refused: the log says so, and
 * the shard is asked for again a second later.
 *
 * choice: copied.
 * Result: 0: it is on its way; SHERD_EINVAL: the address is none, or too many
 * shards; SHERD_EFULL; SHERD_ESTATE.
 * Threads: the first one in receive; the second one any, from sherd_start
 * on. */
SHERD_API SHERD_MUST_USE int
sherd_allocation_answer(struct sherd_ctx *ctx,
                        const struct sherd_allocation_choice *choice);
SHERD_API SHERD_MUST_USE int
sherd_system_allocation_answer(struct sherd_system *system,
                               const struct sherd_allocation_choice *choice);

/* ---- locations of shards ---- */

/* With the strategy "external" a shard goes to the node at its location. While
 * it has none, or no region is there, it goes to the node that asked for it
 * first. A shard that is elsewhere moves at the next rebalance-interval, if a
 * region is there and all members of the data center are reachable.
 *
 * The locations of a type are one key of distributed data, as in Akka: an
 * LWW_MAP under "external-sharding-" and the type's name, from the shard to
 * "akka://System@host:port", both TEXT. So JVM nodes can set them, too, and
 * every node may, also one without the type. A later write wins. Replicas keep
 * them as long as one member lives, or on disk if the key is durable.
 *
 * Calls are made in receive, and answered as those of sherd/ddata.h: by one
 * SHERD_DATA message with the tag. */

/* The place that the program wants for a shard. */
struct sherd_shard_location {
    int32_t shard; /* its number: sherd_shard_of */
    /* The node's, "host:port" or full; null: takes the location back. */
    const char *address;
    /* The shard's text, 1 to SHERD_SHARD_MAX bytes, if the type's extractor
     * names shards with texts. Then the number is ignored. Else null. */
    const char *shard_id;
};

/* Sets locations of a type's shards, all in one change. Answered
 * SHERD_DATA_UPDATED once this member has them; they spread by themselves.
 *
 * type: its name. locations: copied.
 * Result: 0; SHERD_EINVAL: no type, an address or a shard_id is none, or the
 * count is not 1 to 1,000. Then nothing was sent and no answer comes.
 * Limits: a frame bounds the value: some thousand shards. Beyond that the
 * answer is SHERD_DATA_TOO_LARGE, and nothing is changed. */
SHERD_API SHERD_MUST_USE int
sherd_locations_set(struct sherd_ctx *ctx, const char *type,
                    const struct sherd_shard_location *locations,
                    uint32_t count, uint32_t tag);

/* Reads the locations of a type from a majority of the members. Answered
 * SHERD_DATA_FOUND (sherd_data_value), SHERD_DATA_NOT_FOUND if none was ever
 * set, SHERD_DATA_TIMEOUT after external-shard-allocation-strategy
 * .client-timeout.
 *
 * type: its name.
 * Result: 0; SHERD_EINVAL: no type. */
SHERD_API SHERD_MUST_USE int sherd_locations_get(struct sherd_ctx *ctx,
                                                 const char *type,
                                                 uint32_t tag);

/* Gets the next location of a value. Entries that are none are left out.
 *
 * at: 0 for the first; the call moves it on. shard: its number. address: the
 * full text, lent as long as the value.
 * Result: 1; 0: there is no further one.
 * Threads: any. */
SHERD_API int sherd_location_next(const struct sherd_value *value, uint32_t *at,
                                  int32_t *shard, struct sherd_bytes *address);
/* The same for a type whose extractor names shards with texts. shard_id: the
 * text, lent as the address. */
SHERD_API int sherd_location_next_id(const struct sherd_value *value,
                                     uint32_t *at, struct sherd_bytes *shard_id,
                                     struct sherd_bytes *address);

#ifdef __cplusplus
}
#endif

#endif
