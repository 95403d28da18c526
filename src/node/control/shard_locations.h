/* Reads the locations of shards from the users' distributed data: a map from shard to address under
 * one key of the type, as Akka's ExternalShardAllocationStrategy has it. */
#ifndef SHERD_NODE_SHARD_LOCATIONS_H
#define SHERD_NODE_SHARD_LOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct control;
struct coordinator;
struct dd_value;
struct replicator_news;

/* A subscriber's token: this and the type's index. */
#define SHARD_LOCATIONS_TOKEN (UINT64_C(1) << 62)

void shard_locations_key_put(const struct control *control, uint32_t index,
                             struct buf *key);
/* Replaces the coordinator's locations by those of the value; null: there is none. */
void shard_locations_take(struct coordinator *coordinator,
                          const struct dd_value *map);
bool shard_locations_has(uint64_t token); /* such a token */
void shard_locations_news(struct control *control,
                          const struct replicator_news *news);

#endif
