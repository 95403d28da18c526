/* Moves one shard off its home, with one state machine for each move. Every region and proxy holds
 * the shard and acknowledges, then the owner stops it. Part of the coordinator, called by its files
 * only.
 *
 * Every attempt has a number, so an answer to an earlier attempt is never considered an answer to
 * this one. */
#ifndef SHERD_SHARD_HANDOFF_H
#define SHERD_SHARD_HANDOFF_H

#include "shard/coordinator_state.h"

/* Starts a hand-off. The shard has a home and no hand-off. Returns false if too many are in
 * progress. */
bool handoff_start(struct coordinator *coordinator, uint64_t now,
                   struct shard *shard, struct outbox *outbox);
/* Handles BeginHandOffAck, ShardStopped and a failed hand-off. */
void handoff_receive(struct coordinator *coordinator, uint64_t now,
                     const struct inbound *inbound,
                     const struct shard_message *message,
                     struct outbox *outbox);
/* A member is reachable again, and earlier messages to it may be lost. Repeats them at the next
 * tick, with pauses as at the beginning. */
void handoff_hurry(struct coordinator *coordinator);
/* The members have changed: retries failed hand-offs with the next rebalance. */
void handoff_soon(struct coordinator *coordinator);
/* Repeats messages, once in a query interval, because they may be lost with a connection. Regions
 * that have not answered get them after 2, 4, 8 and so on intervals. While the owner waits for
 * markers, the regions that hold the shard are asked to send theirs again. A region of this library
 * recognizes the attempt and acts once. A JVM is not asked twice. */
void handoff_ask_again(struct coordinator *coordinator, struct outbox *outbox);
void handoff_timeout(struct coordinator *coordinator, uint64_t now,
                     uint64_t attempt, struct outbox *outbox);
/* Ends the hand-off without any effect. Null is allowed. */
void handoff_cancel(struct coordinator *coordinator, struct shard *shard);
/* A region hosts nothing any more: ends its own hand-offs. */
void handoff_home_gone(struct coordinator *coordinator,
                       const struct registrant *region);
/* A region has gone: no hand-off waits for it any more, and its own hand-offs end. */
void handoff_region_gone(struct coordinator *coordinator, uint64_t now,
                         const struct registrant *region, struct outbox *outbox);
/* Continues to send BeginHandOff to regions, as far as there is room. */
void handoff_tell_on(struct coordinator *coordinator, struct outbox *outbox);
/* Starts the hand-offs that regions in graceful shutdown still need. */
void handoff_fill(struct coordinator *coordinator, uint64_t now,
                  struct outbox *outbox);

#endif
