/* What others change of remembered entities in distributed data, on control (behaviour 19.3): the type's set of shards, for its coordinator,
 * and the keys of the shards that are here, for their lanes. A removal that comes late, of a node that had a shard before, takes away who
 * has been started from that shard's keys since; its lane stores it again (shard/remember.h, remember_changed). The reference does not. */
#ifndef SHERD_NODE_REMEMBER_EVENTS_H
#define SHERD_NODE_REMEMBER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct control;
struct letter;
struct replicator_news;

/* The type's set of shards, which members that were not there at its read may add to by gossip. */
void remember_follow_list(struct control *control, uint32_t type);
/* LETTER_REMEMBER: from when a shard's read has been taken in, which takes several keys and turns, until it is given up the lane is told of its
 * keys: soon how they are, then of each change by others. */
void remember_follow_letter(struct control *control, uint32_t lane,
                            const struct letter *letter);
/* One of those has changed. */
void remember_follow_news(struct control *control,
                          const struct replicator_news *news);

#endif
