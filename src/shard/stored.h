/* Converts a coordinator's stored state to bytes and back: Akka's coordinator state (serializer 13,
 * manifest AA), and the fences (docs/protocol/shard.md).
 *
 * A JVM would drop fences from inside the state. So they have a key of their own and are an array
 * of bytes: a JVM's replicator knows this type, merges it by its register and gossips it whole.
 * Both values are gzip, written in parts (base/gzip.h): one allocation among thousands of shards
 * packs its own part only. */
#ifndef SHERD_SHARD_STORED_H
#define SHERD_SHARD_STORED_H

#include "base/bytes.h"
#include "base/fence.h"
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
void stored_term_put(struct buf *buf, uint64_t term);

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
    const struct shard_hosted *fences;
    uint32_t fence_count;
    void *memory;
};

/* Reads both values; each may be empty, which means nothing is stored. Leaves out invalid ids and
 * refs, and everything beyond the limits. Returns false if a value is malformed; then there is
 * nothing to free. */
bool stored_read(struct stored *stored, struct slice state,
                 struct slice fences);
void stored_fini(struct stored *stored);

#endif
