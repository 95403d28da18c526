/* Writes gzip (RFC 1952) as the JDK does, and inflates with a limit.
 * Some digests cover compressed bytes, which depend on zlib's parameters. So these are the JDK's:
 * level 6, a window of 32 KiB, operating system 0xff. */
#ifndef SHERD_BASE_GZIP_H
#define SHERD_BASE_GZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

void gzip_deflate(struct buf *packed, struct slice bytes); /* appends */
/* Appends a member that holds the bytes uncompressed, for compressed input. */
void gzip_store(struct buf *packed, struct slice bytes);
bool gzip_is(struct slice bytes); /* do they begin as a member does? */
/* Appends one inflated gzip member. False when malformed or above size_max; then up to size_max +
 * 16 KiB of rubbish were appended. is_large (may be null) is set if the size is the reason. */
bool gzip_inflate(struct buf *bytes, struct slice packed, size_t size_max,
                  bool *is_large);

/* A part of a gzip member, compressed by itself: after a change of a large text only its part is
 * compressed again. A part costs a few bytes and cannot refer to earlier parts. Zero is an empty
 * one. */
struct gzip_part {
    struct buf packed;
    uint64_t crc;
    size_t size; /* uncompressed */
};

void gzip_part_set(struct gzip_part *part, struct slice bytes);
void gzip_part_fini(struct gzip_part *part);
/* Appends a member that inflates to the parts' bytes in order. */
void gzip_begin(struct buf *packed);
void gzip_join(struct buf *packed, struct gzip_part *sum,
               const struct gzip_part *part); /* sum: zero at first */
void gzip_end(struct buf *packed, const struct gzip_part *sum);

#endif
