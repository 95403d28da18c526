/* Compresses and decompresses with limits, and provides the arena into which protobuf-c decodes. */
#include "member/gossip_pack.h"

#include <stdalign.h>
#include <zlib.h>

#include "base/check.h"
#include "base/gzip.h"
#include "base/limits.h"

#define WINDOW_MIN 9          /* zlib: logarithms of the window's size */
#define WINDOW_MAX 15
#define GZIP 16               /* zlib: added to the window for gzip framing */
/* from here on time matters more than a fourteenth of the size */
#define FAST_SIZE_MIN ((size_t)4 * 1024)
#define FLUSH_SIZE 64         /* bytes that flushes may add */
#define BLOCK_END 128         /* zlib: at a block's end, no bits left */
#define BLOCK_SIZE_MIN ((size_t)512)  /* fits a heartbeat; further blocks double */
#define ALIGNMENT (alignof(max_align_t))

/* A window as large as the bytes. zlib clears tables of its size, which is most of the work for a
 * small gossip. */
static int window_for(size_t size)
{
    int window = WINDOW_MIN;

    while (window < WINDOW_MAX && (size_t)1 << window < size)
        window++;
    return window;
}

/* The first bytes repeat nothing. Searching them would be most of the work. */
static void deflate_digits(z_stream *stream, size_t digits, int level)
{
    if (!digits)
        return;
    stream->avail_in = (uInt)digits;
    check(deflate(stream, Z_NO_FLUSH) == Z_OK);
    check(deflateParams(stream, level, Z_DEFAULT_STRATEGY) == Z_OK &&
          !stream->avail_in);
}

/* digits: as gossip_pack_part. bits: of the window, with zlib's framing. */
static void deflate_all(struct buf *packed, struct slice bytes, size_t digits,
                        int bits, int flush)
{
    int level =
        bytes.size < FAST_SIZE_MIN ? Z_DEFAULT_COMPRESSION : Z_BEST_SPEED;
    z_stream stream = { 0 };
    size_t bound;
    int result;

    check(deflateInit2(&stream, level, Z_DEFLATED, bits,
                       window_for(bytes.size) - (WINDOW_MAX - 8),
                       digits ? Z_HUFFMAN_ONLY : Z_DEFAULT_STRATEGY) == Z_OK);
    bound = deflateBound(&stream, bytes.size) + FLUSH_SIZE;
    stream.next_in = (uint8_t *)(uintptr_t)bytes.data;
    stream.next_out = buf_reserve(packed, bound);
    stream.avail_out = (uInt)bound;
    deflate_digits(&stream, digits, level);
    stream.avail_in = (uInt)(bytes.size - digits);
    result = deflate(&stream, flush);
    check(result == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) &&
          !stream.avail_in && stream.avail_out);
    packed->size += bound - stream.avail_out;
    (void)deflateEnd(
        &stream); /* fails only before the stream's end */
}

void gossip_pack_deflate(struct buf *packed, struct slice bytes)
{
    deflate_all(packed, bytes, 0, window_for(bytes.size) + GZIP, Z_FINISH);
}

void gossip_pack_part(struct buf *packed, struct slice bytes, size_t digits,
               bool is_last)
{
    deflate_all(packed, bytes, digits, -window_for(bytes.size),
                is_last ? Z_FINISH : Z_FULL_FLUSH);
}

/* At the end of an empty stored block, with no bits of the next: the end of a full flush. */
static bool is_mark(const z_stream *stream, struct slice packed)
{
    static const uint8_t mark[] = { 0, 0, 0xff, 0xff };
    size_t done = packed.size - stream->avail_in;

    return stream->data_type == BLOCK_END && done >= sizeof mark &&
           !memcmp(packed.data + done - sizeof mark, mark, sizeof mark);
}

bool gossip_pack_inflate_parts(struct buf *bytes, struct slice packed, size_t size,
                        struct gossip_pack_marks *marks)
{
    z_stream stream = { 0 };
    int result = Z_OK;
    bool complete;

    *marks = (struct gossip_pack_marks){ .count = 0 };
    if (packed.size >= MEMBER_INFLATE_SIZE_MAX ||
        size >= MEMBER_INFLATE_SIZE_MAX)
        return false;
    check(inflateInit2(&stream, -WINDOW_MAX) == Z_OK);
    stream.next_in = (uint8_t *)(uintptr_t)packed.data;
    stream.avail_in = (uInt)packed.size;
    stream.next_out = buf_reserve(bytes, size + 1);
    stream.avail_out = (uInt)size + 1;
    while (result == Z_OK && stream.avail_out) {
        result = inflate(&stream, Z_BLOCK);
        if (result != Z_OK || !is_mark(&stream, packed))
            continue;
        if (marks->count < PACK_MARKS_MAX) {
            marks->at[marks->count].packed = packed.size - stream.avail_in;
            marks->at[marks->count].size = size + 1 - stream.avail_out;
        }
        marks->count++;
    }
    bytes->size += size + 1 - stream.avail_out;
    complete = result == Z_STREAM_END && !stream.avail_in &&
               stream.avail_out == 1;
    (void)inflateEnd(&stream); /* fails only for an uninitialized stream */
    return complete;
}

bool gossip_pack_inflate(struct buf *bytes, struct slice packed)
{
    size_t limit = packed.size < MEMBER_INFLATE_SIZE_MAX
                       ? packed.size * MEMBER_INFLATE_RATIO_MAX
                       : 0;

    if (limit < MEMBER_INFLATE_SIZE_FREE)
        limit = MEMBER_INFLATE_SIZE_FREE;
    if (limit > MEMBER_INFLATE_SIZE_MAX)
        limit = MEMBER_INFLATE_SIZE_MAX;
    return gzip_inflate(bytes, packed, limit, NULL);
}

struct arena_block {
    struct arena_block *next;
    size_t size; /* bytes after the header */
};

#define BLOCK_HEADER_SIZE                                                      \
    ((sizeof(struct arena_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

static void *arena_alloc(void *data, size_t size)
{
    struct arena *arena = data;
    size_t left = arena->blocks ? arena->blocks->size - arena->used : 0;
    void *memory;

    if (size > arena->size_max)
        return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > left) {
        size_t block_size =
            arena->size > BLOCK_SIZE_MIN ? arena->size : BLOCK_SIZE_MIN;
        struct arena_block *block;

        if (block_size < size)
            block_size = size;
        if (block_size > arena->size_max - arena->size)
            return NULL;
        block = mem_alloc(BLOCK_HEADER_SIZE + block_size);
        block->next = arena->blocks;
        block->size = block_size;
        arena->blocks = block;
        arena->used = 0;
        arena->size += block_size;
    }
    memory = (uint8_t *)arena->blocks + BLOCK_HEADER_SIZE + arena->used;
    arena->used += size;
    return memory;
}

static void arena_free(void *data, void *memory)
{
    (void)data;
    (void)memory; /* freed with the arena */
}

void arena_init(struct arena *arena, size_t size_max)
{
    *arena = (struct arena){
        .allocator = { arena_alloc, arena_free, arena },
        .size_max = size_max,
    };
}

void arena_fini(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;

        mem_free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = arena->size = 0;
}
