/* Defines the states to reach after the faults (docs/invariants.md, Liveness), and their time
 * limits. The limits follow from the nodes' settings: a cluster that gossips every 3 s cannot agree
 * in 2 s. */
#ifndef SHERD_SIM_CHECK_CONVERGENCE_H
#define SHERD_SIM_CHECK_CONVERGENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/seed/options.h"

struct world;
struct check_liveness;

/* member-convergence: ns from the end of the faults. */
uint64_t quiet_agree_bound(const struct options *options);
/* ns more if only the resolver can down dead nodes. */
uint64_t quiet_resolve_bound(const struct options *options);
/* homes-available: ns from that agreement until each type has a coordinator that all know, and
 * requests for homes are answered; later, from a request on. */
uint64_t quiet_coordinate_bound(const struct options *options);
/* entities-answer: ns from then on, without the time to ask. */
uint64_t quiet_answer_bound(const struct options *options);
/* ns for agreement at the end of the faults, which is not judged; other limits build on it. */
uint64_t quiet_converge_bound(const struct options *options);
/* ns more after permanent deaths. A node watches only a few others, so in a row of dead ones in the
 * ring the next is watched when the one before is unreachable. */
uint64_t quiet_bury_bound(const struct options *options);
/* ns until a leaving node has ended: all phases of its shutdown. */
uint64_t quiet_leave_bound(const struct options *options);

/* ns until every message and ask has ended without new ones: hand-offs, stops of entities, asks. */
uint64_t quiet_drain_bound(const struct options *options);
/* ns more with slow journals for that many open messages: entities recover before they answer, a
 * few at a time. */
uint64_t quiet_recover_bound(const struct options *options, uint64_t open);

/* ns from a cut until the side that is not kept has ended: detection, the resolver's waits, the
 * ends of its nodes. */
uint64_t quiet_split_bound(const struct options *options);
/* ns from a change until all know it: detection, and four rounds of gossip. */
uint64_t quiet_hear_bound(const struct options *options);
/* Whether all nodes learn of several deaths and decisions before a resolver finds the cluster
 * unstable and downs all. */
bool quiet_is_patient(const struct options *options);

/* ns from then until `count` remembered entities of all types live, at worst one after the
 * other. */
uint64_t quiet_remember_bound(const struct options *options, uint64_t count);

/* homes-available, once member-convergence holds: each type has one active coordinator in each data
 * center, which every node there knows. False: text has what is missing. */
bool quiet_coordinated(struct world *world, const struct check_liveness *live,
                       uint32_t centers, char *text, size_t size);
/* Whether nodes can tell a slow heartbeat from a dead node. If not, members seem lost now and
 * then. */
bool quiet_is_steady(const struct options *options);

/* ns until nodes that agree on the members have all reported the version as seen: ten rounds of
 * gossip. Also until parts of downed nodes may start elsewhere. */
uint64_t quiet_settle_bound(const struct options *options);

/* member-convergence: each live node is up and sees exactly the live ones, up and reachable, in one
 * gossip version. False: text has one that differs. *first: the node to ask first; set to that one,
 * because it may still differ. */
bool quiet_converged(struct world *world, uint32_t *first, char *text,
                     size_t size);
/* Checks only that last part. */
bool quiet_same_version(struct world *world, uint32_t *first, char *text,
                        size_t size);
/* Whether each node that is up reaches all members in its view, and none is leaving: then the
 * leader can move members up. */
bool quiet_rests(struct world *world);

#endif
