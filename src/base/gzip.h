/* gzip (RFC 1952) as the JDK writes it, and inflating with a limit. Called by the cores whose messages are packed.
 *
 * Deflate's output is a matter of zlib's parameters, and some digests are over packed bytes (wire 4.5, 6.4): so
 * these are the JDK's, level 6, a window of 32 KiB, 0xff as the operating system. */
#ifndef SHERD_BASE_GZIP_H
#define SHERD_BASE_GZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

void gzip_deflate(struct buf *packed, struct slice bytes); /* appended */
/* Appends a member that inflates to the bytes and holds them as they are: for what is packed already. */
void gzip_store(struct buf *packed, struct slice bytes);
bool gzip_is(struct slice bytes); /* they begin as a member does */
/* Appends what one gzip member inflates to. False when it is malformed, or inflates to more than size_max; then the
 * buffer holds rubbish, at most size_max and 16 KiB of it. is_large, null or: set when it is the size. */
bool gzip_inflate(struct buf *bytes, struct slice packed, size_t size_max,
                  bool *is_large);

/* A part of a gzip member that is packed by itself: of a large text that changes in one place only that is packed again. Zero is an
 * empty one. It costs a few bytes, and what deflate would find in earlier parts. */
struct gzip_part {
    struct buf packed;
    uint64_t crc;
    size_t size; /* of the bytes */
};

void gzip_part_set(struct gzip_part *part, struct slice bytes);
void gzip_part_fini(struct gzip_part *part);
/* The member, appended: what it inflates to are the parts' bytes in order. */
void gzip_begin(struct buf *packed);
void gzip_join(struct buf *packed, struct gzip_part *sum,
               const struct gzip_part *part); /* sum: zero at first */
void gzip_end(struct buf *packed, const struct gzip_part *sum);

#endif
