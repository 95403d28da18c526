/* Checks remembered-entities against a model of the stored records of each shard and of the live
 * entities.
 *
 * In the journal:
 *   - An entity of a type that remembers starts only after its start is stored, without a later
 *     stored stop.
 *   - In the quiet phase exactly the stored entities live.
 *
 * In distributed data there is no single store and no fence
 * (docs/decisions/015-remembered-entities-in-distributed-data.md):
 *   - An entity starts only when its node's own replica has it, or another node has sent its stop.
 *   - A write is stored when the required number of replicas has it.
 *   - In the quiet phase all replicas have the same entities, and a live entity is among them,
 *     regardless of stops that were sent before it began.
 *   - An entity whose start was stored, and whose stop was not sent since, is present and lives.
 *     The exception is a node's end after which no replica had it and no node whose disk has it
 *     comes back.
 *   - After all nodes return from their disks, the same entities are present as before. From then
 *     on exactly these live.
 *
 * Both rules together show that the requested changes are stored: a live entity that is not stored
 * would end with its shard, and a stored entity that was passivated would come back.
 * single-activation (check_entity.h) covers entities that live twice. Nodes outside (facts.h) may
 * start outdated entities; their fences keep them from storing that. The store calls this as its
 * observer, and the driver of a world passes its probes. */
#ifndef SHERD_SIM_CHECK_REMEMBER_H
#define SHERD_SIM_CHECK_REMEMBER_H

#include <sherd/sherd.h>

#include "base/probe.h"
#include "sim/disk_backend.h"
#include "sim/facts.h"

struct check_remember;
struct verdict;

/* Gives access to the replicas of distributed data at this moment. */
struct remember_replicas {
    void *user;
    uint32_t (*nodes)(void *user);                /* node indexes are below it */
    bool (*is_there)(void *user, uint32_t node); /* it lives, and its replica can be read */
    /* Whether the node's replica has the entity. False also without such a replica. */
    bool (*has)(void *user, uint32_t node, uint32_t type, int32_t shard,
                struct slice id);
    /* Whether the node's disk has the entity. */
    bool (*is_kept)(void *user, uint32_t node, uint32_t type, int32_t shard,
                    struct slice id);
    /* Returns how many replicas a write of that node needs, and a signature of the members that
     * count. */
    uint32_t (*needed)(void *user, uint32_t node, uint64_t *signature);
};

struct check_remember_counts {
    uint64_t records; /* stored records of remembered entities; writes in distributed data */
    uint64_t bases;   /* those of them that are bases */
    uint64_t starts;  /* of remembered entities in the whole run */
    uint64_t judged;  /* entities checked in the quiet phase, summed over all checks */
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
/* The observer for disk_backend_observe. Set it before the store's first request. */
struct disk_backend_observer
check_remember_observer(struct check_remember *check);

/* Ignores other kinds of probes. */
void check_remember_probe(struct check_remember *check, uint32_t node,
                          const struct probe *probe);
void check_remember_node_ended(struct check_remember *check, uint32_t node);

/* In the quiet phase: whether exactly the stored entities live. If false, text (size bytes) names
 * one that differs. */
bool check_remember_agrees(struct check_remember *check, char *text,
                           size_t size);
/* In distributed data: more replicas ended than a read may miss, so stored entities may be lost. */
void check_remember_lost(struct check_remember *check);
/* In distributed data, in the quiet phase, after agreement: all nodes end now and return from their
 * disks, without faults from then on. */
void check_remember_restarts(struct check_remember *check);
/* In the journal: the types have that many shards from now on. In the quiet phase each stored
 * entity is in the shard to which it belongs. */
void check_remember_shards(struct check_remember *check, uint32_t shards);
struct check_remember_counts
check_remember_counts(const struct check_remember *check);

#endif
