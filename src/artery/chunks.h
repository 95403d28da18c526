/* Frames that wait for a connection, in large chunks, so that one write carries hundreds.
 *
 * Whole frames stand one behind the other, none in two chunks. What is written goes from the front; a frame of which only a
 * part was written is kept until it is whole, or begins anew (chunks_rewind). Called by link.c, which sees to the limits. */
#ifndef SHERD_ARTERY_CHUNKS_H
#define SHERD_ARTERY_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum { FRAME_LENGTH_SIZE = 4 }; /* before each frame, little-endian */

struct chunk {
    struct chunk *next;
    struct buf bytes; /* reserved once: never moves while frames are in it */
    size_t at;        /* first frame not written whole */
    size_t written;   /* bytes written; at <= written <= bytes.size */
    uint32_t frames;  /* from `at` on */
};

struct chunks {
    struct chunk *head;
    struct chunk *tail;
    struct chunk *spare;
    uint32_t next_size; /* of the next chunk, at least */
    uint32_t frames;    /* waiting */
    uint32_t size;      /* bytes of them */
    bool keeps_room;    /* when it is empty: more is to come */
};

void chunks_init(struct chunks *chunks, bool keeps_room);
void chunks_fini(struct chunks *chunks);

/* A new tail with room for so many bytes. For chunks_room. */
void chunks_grow(struct chunks *chunks, size_t size);

/* Where the next frame is to be put; room for `size` bytes. Lent until the next call. What is put counts with chunks_put. */
static inline struct buf *chunks_room(struct chunks *chunks, size_t size)
{
    struct chunk *tail = chunks->tail;

    if (!tail || tail->bytes.capacity - tail->bytes.size < size)
        chunks_grow(chunks, size);
    return &chunks->tail->bytes;
}

/* A whole frame of so many bytes, its length included, now ends the tail. */
static inline void chunks_put(struct chunks *chunks, size_t size)
{
    chunks->tail->frames++;
    chunks->frames++;
    chunks->size += (uint32_t)size;
}

/* The number of a frame's first four bytes. */
static inline uint32_t frame_length(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

/* The first bytes that are not written; there are some frames. Lent until the next call. */
struct slice chunks_pending(struct chunks *chunks);
/* So many of the pending bytes were written; returns how many frames became whole. */
uint32_t chunks_wrote(struct chunks *chunks, size_t size);
/* Is a part of a frame written, and not all of it? */
bool chunks_is_inside(const struct chunks *chunks);
/* That frame is to be written from its beginning. */
void chunks_rewind(struct chunks *chunks);

/* Takes the first frame away and copies it. There is one. */
void chunks_take(struct chunks *chunks, struct buf *frame);
/* Calls for each frame that was not written whole, with its length. */
void chunks_each(const struct chunks *chunks,
                 void (*call)(void *context, struct slice frame), void *context);
/* Drops all; returns how many. */
uint32_t chunks_clear(struct chunks *chunks);

#endif
