/* Checks the states that coordinators store, by their probes.
 *
 *   coordinator-state  a home is announced only after a confirmed write that has it. A write has
 *                      all homes, with their fences, that its coordinator had when it was sent.
 *                      Along the confirmed writes of a type neither terms nor a shard's fence go
 *                      back, and the stored fences of one coordinator stay. A coordinator's first
 *                      write has a higher term than the state that it read, and no shard lacks its
 *                      fence or has a lower one
 *
 * Nodes outside (facts.h) do not bind nodes inside. The bytes of a large state are read only in
 * some writes. check_coordinator.h checks that a term is taken once and that a shard has one home.
 * Facts must arrive in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_STORED_H
#define SHERD_SIM_CHECK_STORED_H

#include "base/probe.h"
#include "sim/facts.h"

struct verdict;
struct check_stored;

struct check_stored_counts {
    uint64_t reads;
    uint64_t writes;  /* confirmed */
    uint64_t decoded; /* sent writes that were read byte by byte */
    uint64_t told;    /* homes */
};

/* All is lent for life. */
struct check_stored *check_stored_new(struct verdict *verdict,
                                      const struct check_safety *safety);
void check_stored_free(struct check_stored *check); /* null is fine */
void check_stored_node_started(struct check_stored *check, uint32_t node);
/* Ignores other kinds of probes. */
void check_stored_probe(struct check_stored *check, uint32_t node,
                        const struct probe *probe);
/* The next writes need not have the fences that were confirmed before, because their coordinator
 * may not have read them. */
void check_stored_forget(struct check_stored *check, uint16_t type);
struct check_stored_counts check_stored_counts(const struct check_stored *check);

#endif
