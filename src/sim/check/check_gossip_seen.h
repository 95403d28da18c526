/* Checks the rule leader-actions. A leader changes members when all of them have seen its gossip
 * version. The checker verifies that the leader holds that version, and that each member that it
 * counts has held the version, with equal content, in its present incarnation.
 *
 * A later version does not count: a node that skips a version has not seen it, as in Akka.
 *
 * The checker remembers which nodes have held a version: for every version that some node holds
 * now, and for the newest others, at most CHECK_SEEN_MAX in all. It excuses a leader whose version
 * may be one that the checker has forgotten. */
#ifndef SHERD_SIM_CHECK_GOSSIP_SEEN_H
#define SHERD_SIM_CHECK_GOSSIP_SEEN_H

#include "base/probe.h"
#include "sim/check/facts.h"

/* When full, the older half is forgotten, except versions that nodes hold. */
#define CHECK_SEEN_MAX 4096

struct verdict;
struct check_gossip_seen;

struct check_gossip_seen_counts {
    uint64_t held;      /* times a node came to hold one */
    uint64_t judged;    /* members that a leader counted */
    uint64_t excused;   /* those of them with a version that may be forgotten */
    uint64_t forgotten; /* versions */
    uint64_t kept;      /* versions */
};

struct check_gossip_seen *check_gossip_seen_new(struct verdict *verdict); /* lent for life */
void check_gossip_seen_free(struct check_gossip_seen *check); /* null is fine */

void check_gossip_seen_node_started(struct check_gossip_seen *check, uint32_t node,
                             uint64_t uid);
void check_gossip_seen_node_ended(struct check_gossip_seen *check, uint32_t node);
void check_gossip_seen_probe(struct check_gossip_seen *check, uint32_t node,
                      const struct probe *probe);
struct check_gossip_seen_counts check_gossip_seen_counts(const struct check_gossip_seen *check);

#endif
