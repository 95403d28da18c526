/* Checks coordinator-state in the states that coordinators store, by their probes. A home is
 * announced after a confirmed write with it. A write has the homes and fences of its coordinator.
 * Along a type's confirmed writes neither terms nor a shard's fence go back, and a coordinator's
 * stored fences stay. A coordinator's first write has a higher term than the state that it read,
 * and has all of its fences, none lower.
 *
 * Nodes outside (facts.h) do not bind nodes inside. The bytes of a large state are read only in
 * some writes. check_coordinator.h judges that a term is taken once and a shard has one home. */
#ifndef SHERD_SIM_CHECK_STATE_STORE_H
#define SHERD_SIM_CHECK_STATE_STORE_H

#include "base/probe.h"
#include "sim/check/facts.h"

struct verdict;
struct check_state_store;

struct check_state_store_counts {
    uint64_t reads;
    uint64_t writes;  /* confirmed */
    uint64_t decoded; /* those sent that were read byte by byte */
    uint64_t told;    /* homes */
};

/* All is lent for life. */
struct check_state_store *check_state_store_new(struct verdict *verdict,
                                                const struct check_safety *safety);
void check_state_store_free(struct check_state_store *check); /* null is fine */
void check_state_store_node_started(struct check_state_store *check, uint32_t node);
void check_state_store_probe(struct check_state_store *check, uint32_t node,
                             const struct probe *probe);
/* The next writes need not have the fences confirmed before: their coordinator may not have read
 * them. */
void check_state_store_forget(struct check_state_store *check, uint16_t type);
struct check_state_store_counts
check_state_store_counts(const struct check_state_store *check);

#endif
