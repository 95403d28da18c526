/* The checker of where coordinators' states are: looks into the replicas at each write and read of one.
 *
 *   coordinator-state  a write is confirmed when as many replicas as shall have it do; a read of R of N replicas has what was in N - R + 1 of them when
 *        it began, and so what was confirmed before, as long as W + R > N of the same members
 *
 * A replica that has a later value counts as one that has the earlier, too: of two values of a key the later stays. Nodes outside
 * (facts.h) are not judged. What stands in a state is check_stored.h. Fed with facts in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_QUORUM_H
#define SHERD_SIM_CHECK_QUORUM_H

#include "base/probe.h"
#include "sim/facts.h"

struct verdict;
struct check_quorum;

#define CHECK_KEPT_NEVER INT64_MIN

/* A coordinator keeps two keys. */
enum kept_key { KEPT_STATE, KEPT_FENCES, KEPT_KEYS };

/* Whom a node asks for a write, or a read, of a coordinator's state. */
struct kept_quorum {
    uint32_t members; /* that count, itself among them; 0: it has no replica */
    uint32_t needed;  /* of them */
    uint64_t signature; /* the same one: the same members */
};

/* A key of a node's replica. */
struct kept_value {
    int64_t written; /* its time, of which later ones win; CHECK_KEPT_NEVER: there is none */
    bool is_own;     /* by that node's own coordinator */
};

/* Who looks into the replicas, at this moment. Types as they come with the probes. */
struct kept_replicas {
    void *user;
    uint32_t (*nodes)(void *user); /* their indexes are below it */
    struct kept_value (*value)(void *user, uint32_t node, uint16_t type,
                               enum kept_key key);
    struct kept_quorum (*quorum)(void *user, uint32_t node, bool is_read);
    bool (*counts)(void *user, uint32_t node, uint32_t other); /* does the first one ask that one? Itself: yes */
};

struct check_quorum_counts {
    uint64_t writes; /* confirmed, of which the replicas were looked at */
    uint64_t reads;  /* that had to have something */
};

/* All is lent for life, but the replicas: copied. */
struct check_quorum *check_quorum_new(struct verdict *verdict,
                                  const struct check_safety *safety,
                                  const struct kept_replicas *replicas);
void check_quorum_free(struct check_quorum *check); /* null is fine */
void check_quorum_node_ended(struct check_quorum *check, uint32_t node);
/* Kinds that are not its own are ignored. */
void check_quorum_probe(struct check_quorum *check, uint32_t node,
                      const struct probe *probe);
/* Was what was confirmed last when that node's coordinator began its last read in so many of the replicas that count that the read must have
 * it? It need not where most of those that had it have left since, with a small majority. */
bool check_quorum_is_bound(struct check_quorum *check, uint32_t node,
                         uint16_t type);
struct check_quorum_counts check_quorum_counts(const struct check_quorum *check);

#endif
