/* Hashes bytes for tables, and texts as a JVM does. No decision depends on hash_bytes. */
#ifndef SHERD_BASE_HASH_H
#define SHERD_BASE_HASH_H

#include <stdint.h>

#include "base/bytes.h"

uint64_t hash_bytes(struct slice bytes); /* xxHash3, for tables and checksums */
/* java.lang.String.hashCode of UTF-8; invalid bytes count as U+FFFD. */
int32_t hash_java(struct slice text);
uint32_t hash_murmur2(struct slice bytes); /* Kafka's murmur2, seed 0x9747b28c */

/* Akka's default extractor: |hash_java(id)| % shards. |-2^31| is -2^31, so the result may be
 * negative. */
int32_t hash_shard(struct slice id, uint32_t shards);
int32_t hash_shard_of(int32_t hash, uint32_t shards); /* the same from the id's hash_java */
/* Akka's Murmur2MessageExtractor: Kafka's default partition of the id. */
int32_t hash_murmur2_shard(struct slice id, uint32_t shards);

#endif
