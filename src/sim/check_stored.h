/* The checker of what coordinators store of their state, by their probes.
 *
 *   coordinator-state  a home is told only when a write that has it was confirmed; a write has the homes, with their fences, that its coordinator had
 *        when it was sent; along the confirmed writes of a type terms do not go back, nor does a shard's fence, and what one coordinator
 *        has stored of it stays; what a coordinator writes first has no fence below, or without, that which it read, and a higher term
 *
 * Nodes outside (facts.h) bind nobody inside. The bytes of a large state are read once in several writes only. That a term is taken once,
 * and that a shard has one home, is check_coordinator.h. Fed with facts in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_STORED_H
#define SHERD_SIM_CHECK_STORED_H

#include "base/probe.h"
#include "sim/facts.h"

struct verdict;
struct check_stored;

struct check_stored_counts {
    uint64_t reads;
    uint64_t writes;  /* confirmed */
    uint64_t decoded; /* of those that were sent, read byte by byte */
    uint64_t told;    /* homes */
};

/* All is lent for life. */
struct check_stored *check_stored_new(struct verdict *verdict,
                                      const struct check_safety *safety);
void check_stored_free(struct check_stored *check); /* null is fine */
void check_stored_node_started(struct check_stored *check, uint32_t node);
/* Kinds that are not its own are ignored. */
void check_stored_probe(struct check_stored *check, uint32_t node,
                        const struct probe *probe);
/* What was confirmed of fences is not asked of the next writes: their coordinator need not have read it. */
void check_stored_forget(struct check_stored *check, uint16_t type);
struct check_stored_counts check_stored_counts(const struct check_stored *check);

#endif
