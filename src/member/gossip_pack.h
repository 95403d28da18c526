/* gzip for gossip, and memory for decoding with a limit: what a hostile message may cost is bounded before it is
 * spent. */
#ifndef SHERD_MEMBER_GOSSIP_PACK_H
#define SHERD_MEMBER_GOSSIP_PACK_H

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "base/bytes.h"

/* Appends the gzip of the bytes (RFC 1952). */
void gossip_pack_deflate(struct buf *packed, struct slice bytes);
/* Appends what one gzip member inflates to. False when it is malformed, or passes MEMBER_INFLATE_SIZE_MAX or
 * MEMBER_INFLATE_RATIO_MAX; then the buffer holds rubbish. */
bool gossip_pack_inflate(struct buf *bytes, struct slice packed);

/* A stream in parts, without the frame of gzip: a part that is not the last ends at a byte, and what follows does not
 * refer to it. Appended. digits: so many bytes at its beginning are digits of random numbers. */
void gossip_pack_part(struct buf *packed, struct slice bytes, size_t digits,
               bool is_last);

#define PACK_MARKS_MAX 2

/* Where parts end that are not the last. */
struct gossip_pack_marks {
    struct {
        size_t packed;
        size_t size; /* inflated */
    } at[PACK_MARKS_MAX];
    uint32_t count; /* may be more than those that are kept */
};

/* Appends the `size` bytes that parts inflate to, and says where they end; false when they are malformed or not so
 * many. Whoever calls limits the size. */
bool gossip_pack_inflate_parts(struct buf *bytes, struct slice packed, size_t size,
                        struct gossip_pack_marks *marks);

/* Memory for one decoded message: handed out from blocks, freed all at once, refused beyond a limit. */
struct arena {
    ProtobufCAllocator allocator; /* give its address to a protobuf-c unpack; do not free the message */
    struct arena_block *blocks;
    size_t used; /* bytes of the first block */
    size_t size; /* bytes of all blocks */
    size_t size_max;
};

void arena_init(struct arena *arena, size_t size_max); /* the arena must stay where it is */
void arena_fini(struct arena *arena);

#endif
