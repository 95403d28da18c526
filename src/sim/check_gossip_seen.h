/* Checks leader-actions: a leader that changes members because all have seen its gossip version
 * holds that version, and each member that it counts has held it, with equal content, in this
 * incarnation.
 *
 * A later version does not count: a node that skips a version has not seen it, as in Akka.
 *
 * The checker knows the holders of all versions that nodes hold, and of the newest ones,
 * CHECK_SEEN_MAX at most. A version that may be a forgotten one is marked and not judged; any other
 * is. */
#ifndef SHERD_SIM_CHECK_GOSSIP_SEEN_H
#define SHERD_SIM_CHECK_GOSSIP_SEEN_H

#include "base/probe.h"
#include "sim/facts.h"

#define CHECK_SEEN_MAX 4096 /* when full, the older half goes, but not versions that nodes hold */

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
