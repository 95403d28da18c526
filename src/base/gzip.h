/* Writes gzip (RFC 1952) as the JDK does, and inflates with a limit, for the cores whose messages
 * are compressed.
 * Deflate's output depends on zlib's parameters, and some digests cover compressed bytes. So the
 * parameters are the JDK's: level 6, a window of 32 KiB, operating system 0xff. */
#ifndef SHERD_BASE_GZIP_H
#define SHERD_BASE_GZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

void gzip_deflate(struct buf *packed, struct slice bytes); /* appends */
/* Appends a member that holds the bytes uncompressed, for bytes that are compressed already. */
void gzip_store(struct buf *packed, struct slice bytes);
bool gzip_is(struct slice bytes); /* do they begin as a member does? */
/* Appends the inflated bytes of one gzip member. False when it is malformed or inflates to more
 * than size_max; the buffer then holds rubbish, at most size_max + 16 KiB. is_large may be null;
 * set if the size is the reason. */
bool gzip_inflate(struct buf *bytes, struct slice packed, size_t size_max,
                  bool *is_large);

/* A separately compressed part of a gzip member: when a large text changes in one place, only that
 * part is compressed again. Zero is an empty one. A part costs a few bytes and cannot refer to
 * earlier parts. */
struct gzip_part {
    struct buf packed;
    uint64_t crc;
    size_t size; /* of the bytes before compression */
};

void gzip_part_set(struct gzip_part *part, struct slice bytes);
void gzip_part_fini(struct gzip_part *part);
/* Appends a member that inflates to the parts' bytes in order. */
void gzip_begin(struct buf *packed);
void gzip_join(struct buf *packed, struct gzip_part *sum,
               const struct gzip_part *part); /* sum: zero at first */
void gzip_end(struct buf *packed, const struct gzip_part *sum);

#endif
