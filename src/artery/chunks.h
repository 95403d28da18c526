/* Keeps frames that wait for a connection in large chunks, so that one write carries hundreds.
 *
 * Whole frames follow each other, none in two chunks. Written bytes leave from the front. A frame
 * that was written in part stays until it is whole, or starts again (chunks_rewind). link.c, the
 * caller, checks the limits. */
#ifndef SHERD_ARTERY_CHUNKS_H
#define SHERD_ARTERY_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum { FRAME_LENGTH_SIZE = 4 }; /* before each frame, little-endian */

struct chunk {
    struct chunk *next;
    struct buf bytes; /* reserved once: never moves while it has frames */
    size_t at;        /* first frame not written whole */
    size_t written;   /* bytes; at <= written <= bytes.size */
    uint32_t frames;  /* from `at` on */
};

struct chunks {
    struct chunk *head;
    struct chunk *tail;
    struct chunk *spare;
    uint32_t next_size; /* least size of the next chunk */
    uint32_t frames;
    uint32_t size;      /* bytes that wait */
    bool keeps_room;    /* keeps a chunk when empty: more will come */
};

void chunks_init(struct chunks *chunks, bool keeps_room);
void chunks_fini(struct chunks *chunks);

/* Adds a tail with room for `size` bytes. For chunks_room. */
void chunks_grow(struct chunks *chunks, size_t size);

/* Room for the next frame of at most `size` bytes, lent until the next call. chunks_put counts the
 * frame. */
static inline struct buf *chunks_room(struct chunks *chunks, size_t size)
{
    struct chunk *tail = chunks->tail;

    if (!tail || tail->bytes.capacity - tail->bytes.size < size)
        chunks_grow(chunks, size);
    return &chunks->tail->bytes;
}

/* A whole frame of `size` bytes, its length included, now ends the tail. */
static inline void chunks_put(struct chunks *chunks, size_t size)
{
    chunks->tail->frames++;
    chunks->frames++;
    chunks->size += (uint32_t)size;
}

/* The number in a frame's first four bytes. */
static inline uint32_t frame_length(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

/* The first unwritten bytes, lent until the next call; there must be frames. */
struct slice chunks_pending(struct chunks *chunks);
/* Removes written bytes; returns how many frames became whole. */
uint32_t chunks_wrote(struct chunks *chunks, size_t size);
/* Whether a frame was written in part. */
bool chunks_is_inside(const struct chunks *chunks);
/* Starts that frame again from its beginning. */
void chunks_rewind(struct chunks *chunks);

/* Removes the first frame and copies it. There must be one. */
void chunks_take(struct chunks *chunks, struct buf *frame);
/* Calls `call` for each frame that was not written whole, with its length. */
void chunks_each(const struct chunks *chunks,
                 void (*call)(void *context, struct slice frame), void *context);
/* Returns how many it dropped. */
uint32_t chunks_clear(struct chunks *chunks);

#endif
