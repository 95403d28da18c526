/* Defines the states that the cluster must reach after the faults end, and the time limit of each
 * (docs/invariants.md, Liveness).
 *
 * The runner stops the faults, lets the world run, and asks here. The limits follow from the nodes'
 * settings: a cluster that gossips every 3 s cannot agree in 2 s. */
#ifndef SHERD_SIM_CHECK_QUIET_H
#define SHERD_SIM_CHECK_QUIET_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/options.h"

struct world;
struct check_live;

/* member-convergence: ns from the end of the faults until all nodes must agree on the members. */
uint64_t quiet_agree_bound(const struct options *options);
/* ns more if only the resolver can down dead nodes. */
uint64_t quiet_resolve_bound(const struct options *options);
/* homes-available: ns from that agreement until each type has a coordinator that all nodes know,
 * and each requested home is answered. Later in the quiet phase: ns from a request for a home to
 * its answer. */
uint64_t quiet_coordinate_bound(const struct options *options);
/* entities-answer: ns from then until each asked entity must have answered, without the time to
 * ask. */
uint64_t quiet_answer_bound(const struct options *options);
/* ns in which nodes may agree at the end of the faults. It is not judged, and other limits build on
 * it. */
uint64_t quiet_converge_bound(const struct options *options);
/* ns more after nodes died permanently. A node watches only a few others. In a row of dead nodes in
 * the ring, the watch of the next one begins when the one before is known to be unreachable. */
uint64_t quiet_bury_bound(const struct options *options);
/* ns until a leaving node must have ended: all phases of its shutdown. */
uint64_t quiet_leave_bound(const struct options *options);

/* ns until every message and ask must have ended without new ones: hand-offs, stops of entities,
 * asks. */
uint64_t quiet_drain_bound(const struct options *options);
/* ns more that slow stores need for that many open messages. An entity recovers before it answers,
 * and only a few recover at a time. */
uint64_t quiet_recover_bound(const struct options *options, uint64_t open);

/* ns from a cut until the side that is not kept must have ended: detection, the resolver's waits,
 * and the end of its nodes. */
uint64_t quiet_split_bound(const struct options *options);
/* ns from a change until all nodes have heard of it: detection, and four rounds of gossip. */
uint64_t quiet_hear_bound(const struct options *options);
/* Whether all nodes hear of several deaths and the decisions on them before a resolver considers
 * the cluster unstable and downs all. */
bool quiet_is_patient(const struct options *options);

/* ns from then until all remembered entities live: `count` entities of all types, in the worst case
 * one after the other. */
uint64_t quiet_remember_bound(const struct options *options, uint64_t count);

/* homes-available: each type has one active coordinator in each data center, and every node there
 * knows it. Call it once member-convergence holds. If false, text has what is missing. */
bool quiet_coordinated(struct world *world, const struct check_live *live,
                       uint32_t centers, char *text, size_t size);
/* Whether nodes can tell a slow heartbeat from a dead node. If not, members occasionally seem lost
 * forever. */
bool quiet_is_steady(const struct options *options);

/* ns until nodes that agree on the members have all reported to each other that they have seen the
 * version: ten rounds of gossip. Also until parts of downed nodes may start elsewhere. */
uint64_t quiet_settle_bound(const struct options *options);

/* member-convergence: every live node is up, sees exactly the live nodes as up and reachable, and
 * all hold one gossip version. If false, text has the node that differs. *first: the node to ask
 * first; set to the one that differs, because it is the likeliest to differ again. */
bool quiet_converged(struct world *world, uint32_t *first, char *text,
                     size_t size);
/* Checks only that last part. */
bool quiet_same_version(struct world *world, uint32_t *first, char *text,
                        size_t size);
/* Whether each node that is up reaches all members that it sees, and none of them is leaving. Then
 * nothing keeps the leader from moving members up. */
bool quiet_rests(struct world *world);

#endif
