/* Moves one shard off its home: every region and proxy buffers for it, then the owner stops it.
 * Part of the coordinator.
 *
 * Each attempt has a number, so answers to an earlier one do not count. */
#ifndef SHERD_SHARD_HANDOFF_H
#define SHERD_SHARD_HANDOFF_H

#include "shard/coordinator_state.h"

/* For a shard with a home and no hand-off. False if too many are in progress. */
bool handoff_start(struct coordinator *coordinator, uint64_t now,
                   struct shard *shard, struct outbox *outbox);
void handoff_receive(struct coordinator *coordinator, uint64_t now,
                     const struct inbound *inbound,
                     const struct shard_message *message,
                     struct outbox *outbox);
/* A member is reachable again, and messages to it may be lost: repeats them at the next tick, then
 * with pauses as at the beginning. */
void handoff_hurry(struct coordinator *coordinator);
/* The region was acknowledged. Before that it may have ignored BeginHandOffs: it gets them again. */
void handoff_greeted(struct coordinator *coordinator,
                     struct registrant *region);
/* The members have changed: the next rebalance retries failed moves. */
void handoff_soon(struct coordinator *coordinator);
/* Repeats messages that a lost connection may have dropped, after 2, 4, 8 and so on query
 * intervals. While the owner waits for markers, the regions that buffer for the shard must send
 * theirs again. A region of this library recognizes the attempt; a JVM is not asked twice. */
void handoff_ask_again(struct coordinator *coordinator, struct outbox *outbox);
void handoff_timeout(struct coordinator *coordinator, uint64_t now,
                     uint64_t attempt, struct outbox *outbox);
/* Ends it without effect. Null is allowed. */
void handoff_cancel(struct coordinator *coordinator, struct shard *shard);
/* Ends the hand-offs of a region that hosts nothing any more. */
void handoff_home_gone(struct coordinator *coordinator,
                       const struct registrant *region);
/* The region is gone: no hand-off waits for it, and its own hand-offs end. */
void handoff_region_gone(struct coordinator *coordinator, uint64_t now,
                         const struct registrant *region, struct outbox *outbox);
/* Sends outstanding BeginHandOffs as far as there is room. */
void handoff_tell_on(struct coordinator *coordinator, struct outbox *outbox);
/* Starts hand-offs that regions in graceful shutdown still need. */
void handoff_fill(struct coordinator *coordinator, uint64_t now,
                  struct outbox *outbox);

#endif
