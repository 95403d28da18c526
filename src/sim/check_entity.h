/* The checker of entities: which incarnations live, by the probes around their callbacks.
 *
 *   single-activation   an entity has at most one live incarnation, unless one of them runs on a node that is outside (facts.h) and not late; then the
 *        overlap is measured. On one node it has never two. It lives only where its shard is hosted
 *   handoff-safety  a shard is not said to be ended where an entity of it lives
 *   downed-node-stops  a node that knows that it must stop has no live entity after a while
 *
 * It is fed with facts in the order in which they happened, and knows neither worlds nor nodes. */
#ifndef SHERD_SIM_CHECK_ENTITY_H
#define SHERD_SIM_CHECK_ENTITY_H

#include "base/probe.h"
#include "sim/facts.h"

#define CHECK_STOP_NS 10000000000ull /* T_stop: default of check_entity_settings.stop_ns */

struct verdict;
struct check_entity;

struct check_entity_counts {
    uint64_t started;     /* incarnations */
    uint64_t live;
    uint64_t overlaps;    /* with a node outside: times that an entity began to live twice */
    uint64_t overlap_ns;  /* how long they did, summed */
    uint64_t overlap_ns_max;
};

/* verdict and safety are lent for life. stop_ns: T_stop; 0 = CHECK_STOP_NS. */
struct check_entity *check_entity_new(struct verdict *verdict,
                                      const struct check_safety *safety,
                                      uint64_t stop_ns);
void check_entity_free(struct check_entity *check);

/* now: the world's time, ns. Kinds that are not its own are ignored. */
void check_entity_probe(struct check_entity *check, uint64_t now,
                        uint32_t node, const struct probe *probe);
void check_entity_node_started(struct check_entity *check, uint32_t node,
                               uint64_t uid);
void check_entity_node_ended(struct check_entity *check, uint64_t now,
                             uint32_t node);
/* The node did not run for so long: its time to stop is longer. */
void check_entity_paused(struct check_entity *check, uint32_t node,
                         uint64_t duration);
/* Looks at the deadlines: often enough, e.g. at every probe and at the end. */
void check_entity_look(struct check_entity *check, uint64_t now);
struct check_entity_counts
check_entity_counts(const struct check_entity *check);

#endif
