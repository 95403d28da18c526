/* Follows what other nodes change in remembered entities in distributed data, on control: the
 * type's set of shards, for its coordinator, and keys of owned shards, for their lanes.
 *
 * A late removal, by a former owner of the shard, can remove entities that started since. The
 * shard's lane then stores them again (remember_changed in shard/remember.h). Akka does not. */
#ifndef SHERD_NODE_REMEMBER_EVENTS_H
#define SHERD_NODE_REMEMBER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct control;
struct mail_content;
struct replicator_news;

/* Subscribes to the type's set of shards: members that the read missed may add to it. */
void remember_follow_list(struct control *control, uint32_t type);
/* Takes MAIL_REMEMBER. After a read, which takes several keys and turns, the lane hears of its
 * keys until it gives them up: first the values, then each change by others. */
void remember_events_mail(struct control *control, uint32_t lane,
                            const struct mail_content *content);
void remember_follow_news(struct control *control,
                          const struct replicator_news *news);

#endif
