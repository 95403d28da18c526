/* What a coordinator keeps in distributed data, as bytes: its state as Akka's coordinators read and write it (serializer 13, manifest
 * AA; wire 6.5, 7.3), and the fences, which a JVM would not pass on inside of it: they stand under a key of their own, as an array
 * of bytes, a type that a JVM's replicator knows, merges by its register and gossips whole.
 *
 * Both are gzip. They are written in parts (base/gzip.h): one allocation among thousands of shards packs its part only. */
#ifndef SHERD_SHARD_STORED_H
#define SHERD_SHARD_STORED_H

#include "base/bytes.h"
#include "base/fence.h"
#include "shard/wire.h"

#define STORED_STATE_MANIFEST "AA"
#define STORED_FENCES_SERIALIZER 4 /* Akka's of byte arrays; no manifest */

/* Keys, appended without a zero byte: "<type>CoordinatorState", "<type>Fences". The type's name as it is, not encoded. */
void stored_state_key_put(struct buf *buf, const char *type);
void stored_fences_key_put(struct buf *buf, const char *type);

/* What stands in parts; appended. */
void stored_home_put(struct buf *buf, struct slice shard, struct slice region);
void stored_region_put(struct buf *buf, struct slice region, bool is_proxy);
void stored_fence_put(struct buf *buf, struct slice shard, struct fence fence);
void stored_term_put(struct buf *buf, uint64_t term);

/* What was read: all is lent by `memory` until stored_fini. */
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

/* Each may be empty: nothing is stored. Homes and regions with ids or refs that cannot be are left out, as are those beyond the limits
 * in number. False: one of them is not what it should be; then there is nothing to free. */
bool stored_read(struct stored *stored, struct slice state,
                 struct slice fences);
void stored_fini(struct stored *stored);

#endif
