/* Checks leader-actions: if a leader counts a member as having seen its gossip version, the member
 * has held that version.
 *
 * A leader that changes members because all have seen its version holds that version itself. Each
 * member that it counts as having seen it has held exactly that version with equal content in its
 * incarnation. A later version does not count: a node that reports a version as seen received that
 * one (docs/protocol/gossip.md). In Akka, too, a node that skips a version does not count as having
 * seen it.
 *
 * The checker keeps the holders of all versions that a node holds now, and of the newest ones,
 * CHECK_SEEN_MAX at most. It forgets others. If a node comes to hold a version that may be a
 * forgotten one, that version is marked, and its holders are not judged. All other versions are
 * judged.
 * Facts must arrive in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_GOSSIP_SEEN_H
#define SHERD_SIM_CHECK_GOSSIP_SEEN_H

#include "base/probe.h"
#include "sim/facts.h"

/* versions; when full, the older half goes, except versions that nodes hold */
#define CHECK_SEEN_MAX 4096

struct verdict;
struct check_gossip_seen;

struct check_gossip_seen_counts {
    uint64_t held;      /* times that a node came to hold a version */
    uint64_t judged;    /* members that a leader counted as having seen its version */
    uint64_t excused;   /* those of them whose version may have been forgotten */
    uint64_t forgotten; /* versions */
    uint64_t kept;      /* versions */
};

struct check_gossip_seen *check_gossip_seen_new(struct verdict *verdict); /* lent for life */
void check_gossip_seen_free(struct check_gossip_seen *check); /* null is fine */

void check_gossip_seen_node_started(struct check_gossip_seen *check, uint32_t node,
                             uint64_t uid);
void check_gossip_seen_node_ended(struct check_gossip_seen *check, uint32_t node);
/* Ignores other kinds of probes. */
void check_gossip_seen_probe(struct check_gossip_seen *check, uint32_t node,
                      const struct probe *probe);
struct check_gossip_seen_counts check_gossip_seen_counts(const struct check_gossip_seen *check);

#endif
