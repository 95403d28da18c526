/* Checks remembered-entities against a model of the stored entities and the live ones.
 *
 * In the journal an entity of a remembering type starts after its start is stored, without a later
 * stored stop. In the quiet phase exactly the stored ones live. Both hold apart from entities of which a
 * server lost the last start or stop, until the next one is stored.
 *
 * In distributed data (docs/decisions/015-remembered-entities-in-distributed-data.md) there is no
 * single journal and no fence:
 *   - An entity starts when its node's own replica has it, or another node has sent its stop.
 *   - A stored write is on the required number of replicas.
 *   - In the quiet phase all replicas are equal and have each live entity, whatever stops were sent
 *     before it began.
 *   - An entity with a stored start and no later stop is present and lives. It may be lost when a
 *     node's end left no replica with it, and no disk with it comes back.
 *   - After all nodes return from their disks, the same entities are present, and from then on
 *     exactly these live.
 *
 * So requested changes are stored: an unstored live entity would end with its shard, and a stored
 * passivated one would return. Nodes outside (facts.h) may start outdated entities; their fences
 * keep them from storing that. The journal calls the checker as its observer, and the driver of a
 * world passes probes. */
#ifndef SHERD_SIM_CHECK_REMEMBER_H
#define SHERD_SIM_CHECK_REMEMBER_H

#include <sherd/sherd.h>

#include "base/probe.h"
#include "sim/world/disk_backend.h"
#include "sim/check/facts.h"

struct check_remember;
struct verdict;

/* Reads replicas of distributed data at this moment. */
struct remember_replicas {
    void *user;
    uint32_t (*nodes)(void *user);                /* node indexes are below it */
    bool (*is_there)(void *user, uint32_t node); /* it lives, and its replica can be read */
    /* Whether its replica has the entity; false without one. */
    bool (*has)(void *user, uint32_t node, uint32_t type, int32_t shard,
                struct slice id);
    /* Whether the node's disk has the entity. */
    bool (*is_kept)(void *user, uint32_t node, uint32_t type, int32_t shard,
                    struct slice id);
    /* Replicas that a write of that node needs, and a signature of the members that count. */
    uint32_t (*needed)(void *user, uint32_t node, uint64_t *signature);
};

struct check_remember_counts {
    uint64_t records; /* of remembered entities; writes in distributed data */
    uint64_t bases;   /* those of them that are bases */
    uint64_t starts;  /* of remembered entities in the whole run */
    uint64_t judged;  /* in the quiet phase, summed over all checks */
};

/* types: those of the nodes, in their order. All is lent for life. */
struct check_remember *check_remember_new(struct verdict *verdict,
                                          const struct sherd_entity_type *types,
                                          uint32_t count);
void check_remember_free(struct check_remember *check); /* null is fine */
/* Entities are kept in distributed data. Copied; call it before the first probe. */
void check_remember_in_data(struct check_remember *check,
                            const struct remember_replicas *replicas);
/* Sets which nodes are outside (facts.h), lent for life; null: none ever is. */
void check_remember_safety(struct check_remember *check,
                           const struct check_safety *safety);
/* The observer for disk_backend_observe. Set it before the journal's first request. */
struct disk_backend_observer
check_remember_observer(struct check_remember *check);

void check_remember_probe(struct check_remember *check, uint32_t node,
                          const struct probe *probe);
void check_remember_node_ended(struct check_remember *check, uint32_t node);

/* In the quiet phase: whether exactly the stored ones live. False: text (size bytes) names one. */
bool check_remember_agrees(struct check_remember *check, char *text,
                           size_t size);
/* In distributed data: more replicas ended than a read may miss, so entities may be lost. */
void check_remember_lost(struct check_remember *check);
/* In distributed data, in the quiet phase, after agreement: all nodes end, return from their disks,
 * and have no more faults. */
void check_remember_restarts(struct check_remember *check);
/* In the journal: types have that many shards from now on, and in the quiet phase each entity is
 * stored in its own shard. */
void check_remember_shards(struct check_remember *check, uint32_t shards);
struct check_remember_counts
check_remember_counts(const struct check_remember *check);

#endif
