/* Handles bytes: lent slices, a growable buffer for writing, a cursor for reading.
 * Numbers are little endian; varints are protobuf's. The first read past a cursor's end sets
 * `failed` and returns zero, as do all later reads. So a decoder checks once, at the end. */
#ifndef SHERD_BASE_BYTES_H
#define SHERD_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Lent bytes: valid for as long as the call that gave them says. */
struct slice {
    const uint8_t *data;
    size_t size;
};

static inline struct slice slice_of(const void *data, size_t size)
{
    return (struct slice){ data, size };
}

static inline struct slice slice_text(const char *text)
{
    return (struct slice){ (const uint8_t *)text, text ? strlen(text) : 0 };
}

static inline bool slice_equal(struct slice left, struct slice right)
{
    return left.size == right.size &&
           (left.size == 0 || memcmp(left.data, right.data, left.size) == 0);
}

static inline bool slice_is(struct slice slice, const char *text)
{
    return slice_equal(slice, slice_text(text));
}

bool text_is_valid(struct slice text); /* is it UTF-8? */

/* Inline for short pieces such as ids, where a call would cost more than the work. */
static inline bool bytes_same(const uint8_t *left, const uint8_t *right,
                              size_t size)
{
    uint64_t a;
    uint64_t b;

    if (size < 8) {
        for (size_t i = 0; i < size; i++)
            if (left[i] != right[i])
                return false;
        return true;
    }
    for (size_t i = 0; i < size - 8; i += 8) {
        memcpy(&a, left + i, 8);
        memcpy(&b, right + i, 8);
        if (a != b)
            return false;
    }
    memcpy(&a, left + size - 8, 8); /* may overlap the word before */
    memcpy(&b, right + size - 8, 8);
    return a == b;
}

static inline void bytes_copy(uint8_t *to, const uint8_t *from, size_t size)
{
    uint64_t first, last;
    uint32_t first_four, last_four;
    uint16_t first_two, last_two;

    /* Two pieces from both ends, which may overlap: no loop. */
    if (size > 16) {
        memcpy(to, from, size);
    } else if (size >= 8) {
        memcpy(&first, from, 8);
        memcpy(&last, from + size - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + size - 8, &last, 8);
    } else if (size >= 4) {
        memcpy(&first_four, from, 4);
        memcpy(&last_four, from + size - 4, 4);
        memcpy(to, &first_four, 4);
        memcpy(to + size - 4, &last_four, 4);
    } else if (size >= 2) {
        memcpy(&first_two, from, 2);
        memcpy(&last_two, from + size - 2, 2);
        memcpy(to, &first_two, 2);
        memcpy(to + size - 2, &last_two, 2);
    } else if (size) {
        to[0] = from[0];
    }
}

/* A buffer that grows by doubling. Zero is an empty one. The caller limits buf.size. */
struct buf {
    uint8_t *data;
    size_t size;     /* written */
    size_t capacity; /* allocated */
};

void buf_fini(struct buf *buf); /* leaves it empty and usable */
void buf_clear(struct buf *buf); /* keeps the memory */
uint8_t *buf_grow(struct buf *buf, size_t size); /* buf_reserve when room is missing */

/* Makes room for size bytes beyond buf->size. */
static inline uint8_t *buf_reserve(struct buf *buf, size_t size)
{
    return buf->capacity - buf->size >= size ? buf->data + buf->size
                                             : buf_grow(buf, size);
}

void buf_put(struct buf *buf, const void *data, size_t size);
void buf_put_slice(struct buf *buf, struct slice slice);
void buf_put_text(struct buf *buf, const char *text); /* without the zero byte */
void buf_put_u8(struct buf *buf, uint8_t value);
void buf_put_u16(struct buf *buf, uint16_t value); /* little endian, as the next two */
void buf_put_u32(struct buf *buf, uint32_t value);
void buf_put_u64(struct buf *buf, uint64_t value);
void buf_put_varint(struct buf *buf, uint64_t value);
void buf_take(struct buf *buf, size_t size); /* drops bytes from the front */

static inline struct slice buf_slice(const struct buf *buf)
{
    return (struct slice){ buf->data, buf->size };
}

/* Reads forward over lent bytes. */
struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool failed; /* a read passed the end, or a varint had more than ten bytes */
};

static inline struct cursor cursor_of(struct slice slice)
{
    return (struct cursor){ slice.data, slice.data ? slice.data + slice.size : NULL,
                            false };
}

static inline size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

uint8_t cursor_u8(struct cursor *cursor);
uint16_t cursor_u16(struct cursor *cursor);
uint32_t cursor_u32(struct cursor *cursor);
uint64_t cursor_u64(struct cursor *cursor);
uint64_t cursor_varint(struct cursor *cursor);
/* Lent from the same bytes; empty on failure. */
struct slice cursor_slice(struct cursor *cursor, size_t size);

#endif
