/* The checker of remembered entities, against a model of its own: what is stored of each shard, record by record, and who lives.
 *
 *   remembered-entities   an entity of a type that remembers begins to live only when its start is stored, and its stop is not; in the quiet those that are
 *        stored live, each of them, and nobody else
 *
 * Where they are kept in distributed data there is no one store, and no fence
 * (docs/decisions/015-remembered-entities-in-distributed-data.md). Then it is:
 *
 *   remembered-entities   an entity begins to live only when its node's own replica has it, unless another node has sent its stop; a write is stored when as
 *        many replicas as shall have it do; in the quiet all replicas have the same, and whose start was stored and whose stop was not sent
 *        since is there, and lives, unless at a node's end no other one had it, and none comes back whose disk has it; who lives is there, whatever
 *        stops were sent before it began; what was there then is there again when all come back from their disks, and from then on those that
 *        are there live, each of them, and nobody else
 *
 * That what is stored is what was asked for follows from both: who lives and is not stored would be gone with its shard, who is stored
 * and was passivated would be back. That none lives twice is single-activation (check_entity.h). Who calls: the store, as its observer; who drives a
 * world, with its probes. Nodes that are outside (facts.h) may start entities of the past: their fences keep them from storing it. */
#ifndef SHERD_SIM_CHECK_REMEMBER_H
#define SHERD_SIM_CHECK_REMEMBER_H

#include <sherd/sherd.h>

#include "base/probe.h"
#include "sim/disk_backend.h"
#include "sim/facts.h"

struct check_remember;
struct verdict;

/* Who looks into the replicas of distributed data, at this moment. */
struct remember_replicas {
    void *user;
    uint32_t (*nodes)(void *user);                /* their indexes are below it */
    bool (*is_there)(void *user, uint32_t node); /* it lives, and its replica can be looked into */
    /* Is the entity among those that the node's replica has? False also where there is no such replica. */
    bool (*has)(void *user, uint32_t node, uint32_t type, int32_t shard,
                struct slice id);
    /* Is it among those that the node's disk has? */
    bool (*is_kept)(void *user, uint32_t node, uint32_t type, int32_t shard,
                    struct slice id);
    /* How many replicas a write of that node needs, and a signature of who counts. */
    uint32_t (*needed)(void *user, uint32_t node, uint64_t *signature);
};

struct check_remember_counts {
    uint64_t records; /* stored, of what is remembered; in distributed data writes */
    uint64_t bases;   /* of them */
    uint64_t starts;  /* of entities that are remembered, ever */
    uint64_t judged;  /* entities that were looked for in the quiet, each time */
};

/* The types as the nodes have them, in their order. All is lent for life. */
struct check_remember *check_remember_new(struct verdict *verdict,
                                          const struct sherd_entity_type *types,
                                          uint32_t count);
void check_remember_free(struct check_remember *check); /* null is fine */
/* They are kept in distributed data. Copied; before the first probe. */
void check_remember_in_data(struct check_remember *check,
                            const struct remember_replicas *replicas);
/* Which nodes are outside (facts.h), lent for life; null: none ever is. */
void check_remember_safety(struct check_remember *check,
                           const struct check_safety *safety);
/* What to give to disk_backend_observe, before the store's first request. */
struct disk_backend_observer
check_remember_observer(struct check_remember *check);

/* Kinds that are not its own are ignored. */
void check_remember_probe(struct check_remember *check, uint32_t node,
                          const struct probe *probe);
void check_remember_node_ended(struct check_remember *check, uint32_t node);

/* In the quiet: do those live that are stored, and nobody else? False: text (size bytes) says who does not, or does. */
bool check_remember_agrees(struct check_remember *check, char *text,
                           size_t size);
/* In distributed data: more replicas were lost than a read must miss; what was stored may be gone. */
void check_remember_lost(struct check_remember *check);
/* In distributed data, in the quiet, when they agree: all end now, and come back from their disks, and nothing goes wrong any more. */
void check_remember_restarts(struct check_remember *check);
/* In the journal: from now on the types have so many shards. In the quiet, whoever is stored is stored in the shard to which it belongs. */
void check_remember_shards(struct check_remember *check, uint32_t shards);
struct check_remember_counts
check_remember_counts(const struct check_remember *check);

#endif
