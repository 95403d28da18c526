/* Moving one shard off its home, a small machine for each (behaviour 14.7): every region and proxy holds the shard and
 * acknowledges, then the owner stops it. Part of the coordinator, called by its files only.
 *
 * Every attempt has a number, so that an answer to an earlier one is never taken for this one's. */
#ifndef SHERD_SHARD_HANDOFF_H
#define SHERD_SHARD_HANDOFF_H

#include "shard/coordinator_state.h"

/* Starts one; the shard has a home and no hand-off. False when too many are in progress. */
bool handoff_start(struct coordinator *coordinator, uint64_t now,
                   struct shard *shard, struct outbox *outbox);
/* BeginHandOffAck, ShardStopped, hand-off failed. */
void handoff_receive(struct coordinator *coordinator, uint64_t now,
                     const struct inbound *inbound,
                     const struct shard_message *message,
                     struct outbox *outbox);
/* A member can be reached again: what was sent there meanwhile may be lost. Asked again at the next tick, and from there as from the
 * beginning. */
void handoff_hurry(struct coordinator *coordinator);
/* The members are others: what has failed is tried again with the next rebalance. */
void handoff_soon(struct coordinator *coordinator);
/* Once in a query interval: who has not answered is asked again after 2, 4, 8 and so on of them, because what was said may be
 * lost with a connection; while the owner waits for markers, those that hold the shard too, who send theirs again. A region of this library
 * knows the attempt and takes it once; a JVM is not asked twice. */
void handoff_ask_again(struct coordinator *coordinator, struct outbox *outbox);
void handoff_timeout(struct coordinator *coordinator, uint64_t now,
                     uint64_t attempt, struct outbox *outbox);
/* Ends it without any effect; null is fine. */
void handoff_cancel(struct coordinator *coordinator, struct shard *shard);
/* A region hosts nothing any more: its own hand-offs end. */
void handoff_home_gone(struct coordinator *coordinator,
                       const struct registrant *region);
/* A region is gone: nobody waits for it. Its own hand-offs end with it. */
void handoff_region_gone(struct coordinator *coordinator, uint64_t now,
                         const struct registrant *region, struct outbox *outbox);
/* Goes on telling regions that hand-offs begin, as many as there is room for. */
void handoff_tell_on(struct coordinator *coordinator, struct outbox *outbox);
/* Starts those that regions in graceful shutdown still need. */
void handoff_fill(struct coordinator *coordinator, uint64_t now,
                  struct outbox *outbox);

#endif
