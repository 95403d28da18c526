/* Compresses gossip with gzip, and limits the memory of decoding before a hostile message can use
 * it. */
#ifndef SHERD_MEMBER_GOSSIP_PACK_H
#define SHERD_MEMBER_GOSSIP_PACK_H

#include <stdbool.h>

#include <protobuf-c/protobuf-c.h>

#include "base/bytes.h"

/* Appends the gzip of the bytes (RFC 1952). */
void gossip_pack_deflate(struct buf *packed, struct slice bytes);
/* Appends what one gzip member inflates to. False: malformed, or beyond MEMBER_INFLATE_SIZE_MAX or
 * MEMBER_INFLATE_RATIO_MAX; the buffer's content is then undefined. */
bool gossip_pack_inflate(struct buf *bytes, struct slice packed);

/* Appends a part of a deflate stream, without a gzip frame. A part before the last ends at a byte,
 * and later parts do not refer to it. digits: bytes at its beginning that are random digits. */
void gossip_pack_part(struct buf *packed, struct slice bytes, size_t digits,
               bool is_last);

#define PACK_MARKS_MAX 2

/* Ends of the parts before the last. */
struct gossip_pack_marks {
    struct {
        size_t packed;
        size_t size; /* inflated */
    } at[PACK_MARKS_MAX];
    uint32_t count; /* may exceed PACK_MARKS_MAX */
};

/* Appends the `size` bytes that the parts inflate to, and sets the marks. False: malformed, or
 * another size. The caller limits the size. */
bool gossip_pack_inflate_parts(struct buf *bytes, struct slice packed, size_t size,
                        struct gossip_pack_marks *marks);

/* Memory for one decoded message: handed out from blocks, freed at once, refused beyond a limit. */
struct arena {
    /* pass its address to a protobuf-c unpack; do not free the message */
    ProtobufCAllocator allocator;
    struct arena_block *blocks;
    size_t used; /* bytes of the first block */
    size_t size; /* bytes of all blocks */
    size_t size_max;
};

void arena_init(struct arena *arena, size_t size_max); /* The arena must not move. */
void arena_fini(struct arena *arena);

#endif
