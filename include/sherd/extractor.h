/* Chooses the entity and the shard of a message, for one entity type.
 *
 * Without an extractor the sender names the entity, and its shard is Akka's
 * hash of the id. An extractor may use another hash, name shards with texts,
 * and find the entity in a message that was sent to the type's region.
 * sherd_entity_type.extractor sets it; all nodes of the type must use the same.
 * Guide: docs/guide/extractors.md. */
#ifndef SHERD_EXTRACTOR_H
#define SHERD_EXTRACTOR_H

#include <sherd/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a shard's id. */
#define SHERD_SHARD_MAX 255

/* A message and its entity. */
struct sherd_extracted {
    char id[SHERD_ID_MAX + 1]; /* the entity's id, a text */
    uint32_t msg;              /* the number of the message */
    struct sherd_bytes body;   /* its body, lent; data null: no message */
};

/* A hash of the entity's id, modulo sherd_entity_type.shards. */
enum sherd_shard_hash {
    SHERD_SHARD_HASH_JAVA,   /* as Akka's HashCodeMessageExtractor */
    SHERD_SHARD_HASH_MURMUR2 /* as Akka's Murmur2MessageExtractor and Kafka */
};

/* Zero means the default. The functions run on any thread of the library or the
 * program, several at a time. They must be quick, and the same message must
 * always give the same result on all nodes. */
struct sherd_extractor {
    /* The hash that chooses the shard; ignored if `shard` is set. */
    enum sherd_shard_hash hash;
    /* Finds the entity of a message that was sent to the region
     * (sherd_region_tell, or a JVM node without a ShardingEnvelope).
     *
     * message: `id` is empty: write the entity's id, 1 to SHERD_ID_MAX bytes.
     * `msg` and `body` are the message's. They may be changed to what the
     * entity shall get: `body` to a part of itself.
     * Result: 1; 0: the extractor does not handle this message. It ends as
     * SHERD_REASON_NOT_EXTRACTED, as does one with an empty id. */
    int (*entity)(void *user, struct sherd_extracted *message);
    /* Names the shard of an entity.
     *
     * message: the entity's id with the message for it. The body's data is null
     * if there is no message: for a start, a remembered entity, a client's
     * lane. All messages of an entity, and none, must give one shard.
     * Allocation strategies get the text as shard_id (sherd/allocation.h).
     * shard: write the shard's id, 1 to SHERD_SHARD_MAX bytes of UTF-8, with a
     * zero byte. sherd_entity_type.shards limits how many different ids a node
     * may see while it runs.
     * Result: 1; 0: no shard. The message ends as SHERD_REASON_NO_SHARD, as
     * does one with a wrong id or with one id too many. */
    int (*shard)(void *user, const struct sherd_extracted *message,
                 char shard[SHERD_SHARD_MAX + 1]);
    /* The first argument of both functions. It must stay valid until
     * sherd_close returns. */
    void *user;
};

#ifdef __cplusplus
}
#endif

#endif
