/* Deflates with the JDK's parameters and inflates in steps with a limit. */
#include "base/gzip.h"

#include <zlib.h>

#include "base/check.h"

#define LEVEL 6 /* java.util.zip.Deflater's default */
#define WINDOW 15
#define WINDOW_MIN 9 /* zlib's minimum for raw deflate */
#define LOOKAHEAD 262 /* bytes at the window's end without matches (zlib: MIN_LOOKAHEAD) */
#define MEMORY_LEVEL 8
#define MEMORY_BITS 6 /* zlib ends a block after 2^(level + 6) symbols */
#define GZIP 16 /* zlib: added to the window for gzip framing */
#define SYSTEM_AT 9 /* gzip header: offset of the operating system */
#define SYSTEM_UNKNOWN 0xff
#define FLUSH_SIZE 16 /* a flush and spare room: otherwise zlib may have more output */
#define STEP_SIZE ((size_t)16 * 1024) /* of inflated bytes */
#define RATIO_MAX ((size_t)1032) /* deflate's maximum */
#define TRAILER_SIZE ((size_t)8) /* crc and size */
#define STORED_MAX ((size_t)65535) /* bytes of a stored block */

void gzip_deflate(struct buf *packed, struct slice bytes)
{
    z_stream stream = { 0 };
    uint8_t *start;
    size_t bound;

    check(bytes.size < UINT32_MAX / 2);
    check(deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW + GZIP, MEMORY_LEVEL,
                       Z_DEFAULT_STRATEGY) == Z_OK);
    bound = deflateBound(&stream, bytes.size);
    start = buf_reserve(packed, bound);
    stream.next_in = (uint8_t *)(uintptr_t)bytes.data;
    stream.avail_in = (uInt)bytes.size;
    stream.next_out = start;
    stream.avail_out = (uInt)bound;
    check(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    start[SYSTEM_AT] = SYSTEM_UNKNOWN;
    packed->size += bound - stream.avail_out;
    (void)deflateEnd(
        &stream);
}

/* The size in the trailer, if possible, plus one byte: inflate then ends in one step and allocates
 * no window. */
static size_t first_step(struct slice packed, size_t size_max)
{
    size_t step = 0;

    if (packed.size < TRAILER_SIZE)
        return STEP_SIZE;
    for (size_t i = 0; i < 4; i++)
        step |= (size_t)packed.data[packed.size - 4 + i] << 8 * i;
    if (step > packed.size * RATIO_MAX || step > size_max)
        return STEP_SIZE; /* a false size, or one to be refused */
    return step + 1;
}

/* Inflates until the stream ends, the input ends or the limit is passed. */
static bool inflate_all(z_stream *stream, size_t step, struct buf *bytes,
                        size_t size_max, bool *is_large)
{
    size_t start = bytes->size;
    int flush = Z_FINISH; /* this single step should reach the end */
    int result = Z_OK;

    while (result == Z_OK) {
        size_t done;

        stream->next_out = buf_reserve(bytes, step);
        stream->avail_out = (uInt)step;
        result = inflate(stream, flush);
        if (flush == Z_FINISH && result == Z_BUF_ERROR)
            result = Z_OK;
        done = step - stream->avail_out;
        bytes->size += done;
        if (bytes->size - start > size_max) {
            if (is_large)
                *is_large = true;
            return false;
        }
        if (result == Z_OK && !done && !stream->avail_in)
            return false;
        flush = Z_NO_FLUSH;
        step = STEP_SIZE;
    }
    return result == Z_STREAM_END && !stream->avail_in;
}

bool gzip_inflate(struct buf *bytes, struct slice packed, size_t size_max,
                  bool *is_large)
{
    z_stream stream = { 0 };
    bool complete;

    if (is_large)
        *is_large = false;
    if (!packed.size || packed.size > UINT32_MAX / 2)
        return false;
    check(inflateInit2(&stream, WINDOW + GZIP) == Z_OK);
    stream.next_in = (uint8_t *)(uintptr_t)packed.data;
    stream.avail_in = (uInt)packed.size;
    complete = inflate_all(&stream, first_step(packed, size_max), bytes,
                           size_max, is_large);
    (void)inflateEnd(&stream);
    return complete;
}

/* Returns the smallest number from least to most whose power of two is at least size. */
static int bits_for(size_t size, int least, int most)
{
    int bits = least;

    while (bits < most && (size_t)1 << bits < size)
        bits++;
    return bits;
}

/* zlib first clears its tables, 64 KiB by default, which takes longer than packing a small part. So
 * a part gets only what its size needs, in one block. */
void gzip_part_set(struct gzip_part *part, struct slice bytes)
{
    int window = bits_for(bytes.size + LOOKAHEAD, WINDOW_MIN, WINDOW);
    int memory = bits_for(bytes.size + 1, MEMORY_BITS + 1,
                          MEMORY_BITS + MEMORY_LEVEL) -
                 MEMORY_BITS;
    z_stream stream = { 0 };
    size_t bound;

    check(bytes.size < UINT32_MAX / 2);
    check(deflateInit2(&stream, LEVEL, Z_DEFLATED, -window, memory,
                       Z_DEFAULT_STRATEGY) == Z_OK);
    bound = deflateBound(&stream, bytes.size) + FLUSH_SIZE;
    buf_clear(&part->packed);
    stream.next_in = (uint8_t *)(uintptr_t)bytes.data;
    stream.avail_in = (uInt)bytes.size;
    stream.next_out = buf_reserve(&part->packed, bound);
    stream.avail_out = (uInt)bound;
    check(deflate(&stream, Z_FULL_FLUSH) == Z_OK || !bytes.size);
    check(!stream.avail_in && stream.avail_out);
    part->packed.size = bound - stream.avail_out;
    (void)deflateEnd(&stream);
    part->crc = crc32(0, bytes.data, (uInt)bytes.size);
    part->size = bytes.size;
}

void gzip_part_fini(struct gzip_part *part)
{
    buf_fini(&part->packed);
}

bool gzip_is(struct slice bytes)
{
    static const uint8_t start[] = { 0x1f, 0x8b, Z_DEFLATED };

    return bytes.size > sizeof start + TRAILER_SIZE &&
           !memcmp(bytes.data, start, sizeof start);
}

void gzip_store(struct buf *packed, struct slice bytes)
{
    check(bytes.size < UINT32_MAX / 2);
    gzip_begin(packed);
    for (size_t at = 0; at < bytes.size; at += STORED_MAX) {
        size_t left = bytes.size - at;
        uint16_t size = (uint16_t)(left < STORED_MAX ? left : STORED_MAX);

        buf_put_u8(packed, 0); /* a stored block, not the last (RFC 1951, 3.2.4) */
        buf_put_u16(packed, size);
        buf_put_u16(packed, (uint16_t)~size);
        buf_put(packed, bytes.data + at, size);
    }
    gzip_end(packed, &(struct gzip_part){
                         .crc = crc32(0, bytes.data, (uInt)bytes.size),
                         .size = bytes.size });
}

void gzip_begin(struct buf *packed)
{
    static const uint8_t header[] = { 0x1f, 0x8b, Z_DEFLATED, 0, 0, 0,
                                      0,    0,    0,          SYSTEM_UNKNOWN };

    buf_put(packed, header, sizeof header);
}

void gzip_join(struct buf *packed, struct gzip_part *sum,
               const struct gzip_part *part)
{
    buf_put_slice(packed, buf_slice(&part->packed));
    sum->crc = sum->size ? crc32_combine((uLong)sum->crc, (uLong)part->crc,
                                         (z_off_t)part->size)
                         : part->crc;
    sum->size += part->size;
}

void gzip_end(struct buf *packed, const struct gzip_part *sum)
{
    static const uint8_t last[] = { 3, 0 }; /* an empty last block */

    buf_put(packed, last, sizeof last);
    buf_put_u32(packed, (uint32_t)sum->crc);
    buf_put_u32(packed, (uint32_t)sum->size);
}
