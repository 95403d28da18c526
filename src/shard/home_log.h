/* Logs where shards are allocated and moved: a line for each, or sums for many at once.
 * Part of the coordinator, called by its files only. */
#ifndef SHERD_SHARD_HOME_LOG_H
#define SHERD_SHARD_HOME_LOG_H

#include "shard/coordinator_state.h"

/* The shard's home ends for that reason: remembers its node until the next home. */
void home_log_ended(struct coordinator *coordinator, struct shard *shard,
                    enum probe_home why);
/* After home_log_ended: the home ended by a hand-off of that duration, in ns. */
void home_log_handed_off(struct shard *shard, uint64_t duration);
/* The shard has its next home. many: others get theirs in the same step. */
void home_log_allocated(struct coordinator *coordinator, struct shard *shard,
                        bool many);
/* The last of many has its home. Logs the sums now, unless this query interval has its lines. */
void home_log_placed(struct coordinator *coordinator);
/* Logs the sums: in each query interval, and at the coordinator's end. */
void home_log_flush(struct coordinator *coordinator);
void home_log_fini(struct home_log *log);
void home_log_handing_off(const struct coordinator *coordinator,
                          const struct handoff *handoff);

#endif
