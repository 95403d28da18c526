/* Checks coordinator-state in the replicas, at each write and read of a coordinator's state. A
 * confirmed write is on the required number of replicas. A read from R of N replicas returns each
 * value that more than N - R of them had at its begin. So it returns every confirmed write if W + R
 * > N of the same members.
 *
 * A replica with a later value counts as having the earlier one. Nodes outside (facts.h) are not
 * judged. check_state_store.h judges the content. */
#ifndef SHERD_SIM_CHECK_STATE_QUORUM_H
#define SHERD_SIM_CHECK_STATE_QUORUM_H

#include "base/probe.h"
#include "sim/check/facts.h"

struct verdict;
struct check_state_quorum;

#define CHECK_KEPT_NEVER INT64_MIN

enum kept_key { KEPT_STATE, KEPT_FENCES, KEPT_KEYS };

/* The replicas that a node asks. */
struct kept_quorum {
    uint32_t members; /* replicas that count, its own included; 0: it has none */
    uint32_t needed;  /* of them */
    uint64_t signature; /* equal for equal members */
};

/* A key of a node's replica. */
struct kept_value {
    int64_t written; /* the later wins; CHECK_KEPT_NEVER: none */
    bool is_own;     /* written by that node's own coordinator */
};

/* Reads replicas at this moment. Types are those of the probes. */
struct kept_replicas {
    void *user;
    uint32_t (*nodes)(void *user); /* node indexes are below it */
    struct kept_value (*value)(void *user, uint32_t node, uint16_t type,
                               enum kept_key key);
    struct kept_quorum (*quorum)(void *user, uint32_t node, bool is_read);
    /* whether it asks the other; true for itself */
    bool (*counts)(void *user, uint32_t node, uint32_t other);
};

struct check_state_quorum_counts {
    uint64_t writes; /* confirmed, with a look at the replicas */
    uint64_t reads;  /* reads that had to return a value */
};

/* All is lent for life, except replicas, which is copied. */
struct check_state_quorum *check_state_quorum_new(struct verdict *verdict,
                                  const struct check_safety *safety,
                                  const struct kept_replicas *replicas);
void check_state_quorum_free(struct check_state_quorum *check); /* null is fine */
void check_state_quorum_node_ended(struct check_state_quorum *check, uint32_t node);
void check_state_quorum_probe(struct check_state_quorum *check, uint32_t node,
                      const struct probe *probe);
/* Whether the node's last read must return the value that was confirmed last before it. Not if most
 * replicas with it have left since, with a small majority. */
bool check_state_quorum_is_bound(struct check_state_quorum *check, uint32_t node,
                         uint16_t type);
struct check_state_quorum_counts
check_state_quorum_counts(const struct check_state_quorum *check);

#endif
