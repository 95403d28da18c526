/* The checker of who has seen which version of the gossip: what a leader takes for seen has been held.
 *
 *   leader-actions  a leader that changes members because all have seen its version holds that version itself, and each member that it takes for one that has
 *        seen it has held that very version, saying the same, in its life
 *
 * A later version does not do: who has seen one was told of that one (behaviour 2.3), and a node that goes on to the next one without it is not
 * among those who have seen it, in the reference neither.
 *
 * Which lives have held a version is kept of all that some node holds now, and of the last ones to be held first: CHECK_SEEN_MAX at most. Of
 * others it is forgotten. A version that may be one of these when it is held again is marked so, and who is said to have seen it is not judged; any
 * other is judged, however many were forgotten.
 *
 * Fed with facts in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_GOSSIP_SEEN_H
#define SHERD_SIM_CHECK_GOSSIP_SEEN_H

#include "base/probe.h"
#include "sim/facts.h"

#define CHECK_SEEN_MAX 4096 /* versions; when there are so many the older half goes, but what is held */

struct verdict;
struct check_gossip_seen;

struct check_gossip_seen_counts {
    uint64_t held;      /* a node has come to hold a version */
    uint64_t judged;    /* members that a leader took for such as have seen its version */
    uint64_t excused;   /* of these: of versions that may have been forgotten meanwhile */
    uint64_t forgotten; /* versions */
    uint64_t kept;      /* versions */
};

struct check_gossip_seen *check_gossip_seen_new(struct verdict *verdict); /* lent for life */
void check_gossip_seen_free(struct check_gossip_seen *check); /* null is fine */

void check_gossip_seen_node_started(struct check_gossip_seen *check, uint32_t node,
                             uint64_t uid);
void check_gossip_seen_node_ended(struct check_gossip_seen *check, uint32_t node);
/* Kinds that are not its own are ignored. */
void check_gossip_seen_probe(struct check_gossip_seen *check, uint32_t node,
                      const struct probe *probe);
struct check_gossip_seen_counts check_gossip_seen_counts(const struct check_gossip_seen *check);

#endif
