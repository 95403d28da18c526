/* Says in the log where shards are allocated and moved: one line for each, or one for many that are allocated together.
 * Part of the coordinator, called by its files only. */
#ifndef SHERD_SHARD_HOME_LOG_H
#define SHERD_SHARD_HOME_LOG_H

#include "shard/coordinator_state.h"

/* The shard's home ends, for that reason: remembers the node for the next line. */
void home_log_ended(struct coordinator *coordinator, struct shard *shard,
                    enum probe_home why);
/* The shard got the home that it has now. many: others get theirs in the same step. */
void home_log_allocated(struct coordinator *coordinator, struct shard *shard,
                        bool many);
/* Logs how many shards got no line of their own. At the end of such a step, and once in a query interval. */
void home_log_flush(struct coordinator *coordinator);
void home_log_handing_off(const struct coordinator *coordinator,
                          const struct handoff *handoff);
/* A hand-off ended well; its shard has its old home yet. */
void home_log_handed_off(const struct coordinator *coordinator, uint64_t now,
                         const struct handoff *handoff);

#endif
