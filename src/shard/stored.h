/* Converts a coordinator's stored state and fences to bytes and back (docs/protocol/shard.md).
 *
 * A JVM would drop fences inside Akka's state, so they have a key of their own. Its value is an
 * array of bytes, which a JVM's replicator merges and gossips whole. Both values are gzip in parts
 * (base/gzip.h), so one allocation packs its own part only. */
#ifndef SHERD_SHARD_STORED_H
#define SHERD_SHARD_STORED_H

#include "base/bytes.h"
#include "base/fence.h"
#include "base/proof.h"
#include "shard/wire.h"

#define STORED_STATE_MANIFEST "AA"
#define STORED_FENCES_SERIALIZER 4 /* Akka's serializer for byte arrays; no manifest */

/* Append the keys, without a zero byte: "<type>CoordinatorState", "<type>Fences". The type's name
 * is not encoded. */
void stored_state_key_put(struct buf *buf, const char *type);
void stored_fences_key_put(struct buf *buf, const char *type);

/* Append the contents of parts. */
void stored_home_put(struct buf *buf, struct slice shard, struct slice region);
void stored_region_put(struct buf *buf, struct slice region, bool is_proxy);
void stored_fence_put(struct buf *buf, struct slice shard, struct fence fence);
void stored_term_put(struct buf *buf, struct proof proof); /* its value may be 0 */
void stored_pause_put(struct buf *buf, struct slice pause); /* empty: nothing */

/* The values that were read. `memory` lends everything until stored_fini. */
struct stored {
    const struct shard_home *homes; /* without fences */
    uint32_t home_count;
    const struct slice *regions; /* refs */
    uint32_t region_count;
    const struct slice *proxies;
    uint32_t proxy_count;
    const struct slice *unallocated; /* shards */
    uint32_t unallocated_count;
    uint64_t term;
    uint64_t proof; /* of the term; 0: none */
    struct slice pause; /* rebalances are paused, for this reason; empty: they are not */
    const struct shard_hosted *fences;
    uint32_t fence_count;
    void *memory;
};

/* Reads both values; an empty one means nothing is stored. Leaves out invalid texts and everything
 * beyond the limits. Returns false for a malformed value; then there is nothing to free. */
bool stored_read(struct stored *stored, struct slice state,
                 struct slice fences);
void stored_fini(struct stored *stored);

#endif
