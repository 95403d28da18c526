/* What must come about when nothing goes wrong any more, each within its time (reliability: member-convergence to healthy-node-stays, quiet-cluster-rests).
 *
 * The runner stops the faults, lets the world run, and asks here; the bounds follow from the settings of the nodes, since a
 * cluster that gossips every 3 s cannot agree in two. */
#ifndef SHERD_SIM_CHECK_QUIET_H
#define SHERD_SIM_CHECK_QUIET_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/options.h"

struct world;
struct check_live;

/* member-convergence: ns until all nodes must agree on the members when nothing goes wrong any more. */
uint64_t quiet_agree_bound(const struct options *options);
/* ns more when the resolver alone has to down the dead. */
uint64_t quiet_resolve_bound(const struct options *options);
/* homes-available: ns from when they agree until each type has a coordinator that all know, and who asks for a home is told; and later, in the quiet, from when it asks. */
uint64_t quiet_coordinate_bound(const struct options *options);
/* entities-answer: ns from then until who is asked must have answered, besides the time that the asking takes. */
uint64_t quiet_answer_bound(const struct options *options);
/* ns that nodes are given at the end of the faults to agree, which is not judged, and that other bounds are made of. */
uint64_t quiet_converge_bound(const struct options *options);
/* ns that it may take longer when nodes have died for good: a node watches only so many others, and of a row of dead ones in the
 * ring the next when the first is known to be unreachable. */
uint64_t quiet_bury_bound(const struct options *options);
/* ns until a node that leaves must be gone: all phases of its end. */
uint64_t quiet_leave_bound(const struct options *options);

/* ns until every message and ask must have ended once no new ones come: hand-offs, stops of entities, asks. */
uint64_t quiet_drain_bound(const struct options *options);
/* ns beyond it that slow stores need while so many messages are open: an entity recovers before it answers, so many at a time. */
uint64_t quiet_recover_bound(const struct options *options, uint64_t open);

/* ns from a cut until the side that is not kept must have ended: detection, the resolver's waits, and the ends of its nodes. */
uint64_t quiet_split_bound(const struct options *options);
/* ns from a change until all have heard of it: its detection, and four rounds of gossip. */
uint64_t quiet_hear_bound(const struct options *options);
/* Have all heard of some deaths, and of what was decided of them, before a resolver takes that for a picture that does not come to rest, and downs all? */
bool quiet_is_patient(const struct options *options);

/* ns from then until everybody who is remembered lives: `count` entities of all types, one after the other at the worst. */
uint64_t quiet_remember_bound(const struct options *options, uint64_t count);

/* homes-available: of each type one coordinator is active in each of the data centers, and every node there knows it. Once member-convergence holds. False with what is missing in text. */
bool quiet_coordinated(struct world *world, const struct check_live *live,
                       uint32_t centers, char *text, size_t size);
/* Can the nodes tell a slow heartbeat from a dead node? When they cannot, members seem lost once in a while for ever. */
bool quiet_is_steady(const struct options *options);

/* ns until those who agree on the members have all told each other that they have seen it: ten rounds of news. And until what ran
 * on who was downed may start elsewhere. */
uint64_t quiet_settle_bound(const struct options *options);

/* member-convergence: every node that lives is up and sees exactly those that live, up and reachable, and all hold one version of the gossip. False with who differs in text. *first: who is
 * asked first; set to who differed, who is the likeliest to do so still. */
bool quiet_converged(struct world *world, uint32_t *first, char *text,
                     size_t size);
/* The last part of that alone. */
bool quiet_same_version(struct world *world, uint32_t *first, char *text,
                        size_t size);
/* Whoever is up reaches all members that it sees, and none of them is on its way out: nothing keeps the leader from moving members up. */
bool quiet_rests(struct world *world);

#endif
