/* Checks which incarnations of entities live, by the probes around their callbacks.
 *
 *   active-limit       a shard has at most as many active entities as its limit, and one more while
 *                      that one starts; the limits of a lane's shards are at most their region's.
 *                      Entities that have begun to stop do not count
 *   single-activation  an entity has one live incarnation, and lives only where its shard is
 *                      hosted. An overlap with a node outside (facts.h) that is not late is
 *                      measured; one node never has two
 *   handoff-safety     a shard is not reported as ended where its entities live
 *   downed-node-stops  a node that must stop has no live entity after its time limit */
#ifndef SHERD_SIM_CHECK_ENTITY_H
#define SHERD_SIM_CHECK_ENTITY_H

#include "base/probe.h"
#include "sim/check/facts.h"

#define CHECK_STOP_NS 10000000000ull /* T_stop: default of check_entity_new's stop_ns */

struct verdict;
struct check_entity;

struct check_entity_counts {
    uint64_t started;     /* incarnations */
    uint64_t live;
    uint64_t overlaps;    /* times that an entity lived twice, once on a node outside */
    uint64_t overlap_ns;  /* total duration */
    uint64_t overlap_ns_max;
};

/* verdict and safety are lent for life. stop_ns: T_stop; 0: CHECK_STOP_NS. */
struct check_entity *check_entity_new(struct verdict *verdict,
                                      const struct check_safety *safety,
                                      uint64_t stop_ns);
void check_entity_free(struct check_entity *check);
/* The limit of a region's active entities, on all nodes and for all types that have one. */
void check_entity_active_limit(struct check_entity *check, uint64_t limit);

/* now: the world's time, ns. */
void check_entity_probe(struct check_entity *check, uint64_t now,
                        uint32_t node, const struct probe *probe);
void check_entity_node_started(struct check_entity *check, uint32_t node,
                               uint64_t uid);
void check_entity_node_ended(struct check_entity *check, uint64_t now,
                             uint32_t node);
/* The node did not run for `duration`: its entities get that much more time to stop. */
void check_entity_paused(struct check_entity *check, uint32_t node,
                         uint64_t duration);
/* Judges deadlines. At every probe and at the end. */
void check_entity_look(struct check_entity *check, uint64_t now);
struct check_entity_counts
check_entity_counts(const struct check_entity *check);

#endif
