/* Moves shards because operators ask for it: keeps the operations of one coordinator, and follows the
 * hand-offs that they begin (handoff.h). Part of the coordinator; docs/protocol/operations.md has the
 * states. */
#ifndef SHERD_SHARD_OPERATIONS_H
#define SHERD_SHARD_OPERATIONS_H

#include "shard/coordinator_state.h"

void operations_drop(struct coordinator *coordinator); /* the coordinator ends */
/* Begins, follows and ends operations, after everything else of a step. */
void operations_follow(struct coordinator *coordinator, uint64_t now, struct outbox *outbox);
/* The region to which an operation moves the shard, if it takes shards; else null. */
struct registrant *operations_wish(const struct coordinator *coordinator,
                                   const struct shard *shard);
/* A rebalance must leave the shard where it is. */
bool operations_hold(const struct coordinator *coordinator, const struct shard *shard,
                     uint64_t now);

#endif
