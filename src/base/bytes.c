/* Implements growable buffers and cursors, and validates UTF-8. */
#include "base/bytes.h"

#include "base/check.h"

bool text_is_valid(struct slice text)
{
    size_t at = 0;

    while (at < text.size) {
        uint8_t lead = text.data[at++];
        unsigned more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        uint32_t point = more ? lead & (0x3fu >> more) : lead;

        if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 ||
            text.size - at < more)
            return false;
        for (unsigned i = 0; i < more; i++, at++) {
            if ((text.data[at] & 0xc0) != 0x80)
                return false;
            point = point << 6 | (text.data[at] & 0x3f);
        }
        if ((more == 2 && point < 0x800) || (more == 3 && point < 0x10000) ||
            point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
            return false;
    }
    return true;
}

void buf_fini(struct buf *buf)
{
    mem_free(buf->data);
    *buf = (struct buf){ 0 };
}

void buf_clear(struct buf *buf)
{
    buf->size = 0;
}

uint8_t *buf_grow(struct buf *buf, size_t size)
{
    check(size <= SIZE_MAX / 4 && buf->size <= SIZE_MAX / 4);
    if (buf->capacity - buf->size < size) {
        size_t capacity = buf->capacity ? buf->capacity : 64;

        while (capacity - buf->size < size)
            capacity *= 2;
        buf->data = mem_resize(buf->data, capacity);
        buf->capacity = capacity;
    }
    return buf->data + buf->size;
}

void buf_put(struct buf *buf, const void *data, size_t size)
{
    if (!size)
        return;
    memcpy(buf_reserve(buf, size), data, size);
    buf->size += size;
}

void buf_put_slice(struct buf *buf, struct slice slice)
{
    buf_put(buf, slice.data, slice.size);
}

void buf_put_text(struct buf *buf, const char *text)
{
    buf_put(buf, text, strlen(text));
}

static void put_number(struct buf *buf, uint64_t value, unsigned size)
{
    uint8_t *at = buf_reserve(buf, size);

    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> (8 * i));
    buf->size += size;
}

void buf_put_u8(struct buf *buf, uint8_t value)
{
    put_number(buf, value, 1);
}

void buf_put_u16(struct buf *buf, uint16_t value)
{
    put_number(buf, value, 2);
}

void buf_put_u32(struct buf *buf, uint32_t value)
{
    put_number(buf, value, 4);
}

void buf_put_u64(struct buf *buf, uint64_t value)
{
    put_number(buf, value, 8);
}

void buf_put_varint(struct buf *buf, uint64_t value)
{
    uint8_t *at = buf_reserve(buf, 10);

    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    buf->size = (size_t)(at - buf->data);
}

void buf_take(struct buf *buf, size_t size)
{
    check(size <= buf->size);
    if (size && size < buf->size)
        memmove(buf->data, buf->data + size, buf->size - size);
    buf->size -= size;
}

static uint64_t take_number(struct cursor *cursor, unsigned size)
{
    uint64_t value = 0;

    if (cursor->failed || cursor_left(cursor) < size) {
        cursor->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)cursor->at[i] << (8 * i);
    cursor->at += size;
    return value;
}

uint8_t cursor_u8(struct cursor *cursor)
{
    return (uint8_t)take_number(cursor, 1);
}

uint16_t cursor_u16(struct cursor *cursor)
{
    return (uint16_t)take_number(cursor, 2);
}

uint32_t cursor_u32(struct cursor *cursor)
{
    return (uint32_t)take_number(cursor, 4);
}

uint64_t cursor_u64(struct cursor *cursor)
{
    return take_number(cursor, 8);
}

uint64_t cursor_varint(struct cursor *cursor)
{
    const uint8_t *at = cursor->at;
    uint64_t value = 0;

    for (unsigned shift = 0; !cursor->failed && shift < 70 && at < cursor->end;
         shift += 7) {
        uint8_t byte = *at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            cursor->at = at;
            return value;
        }
    }
    cursor->failed = true;
    return 0;
}

struct slice cursor_slice(struct cursor *cursor, size_t size)
{
    struct slice slice = { 0 };

    if (cursor->failed || cursor_left(cursor) < size) {
        cursor->failed = true;
        return slice;
    }
    slice = slice_of(cursor->at, size);
    cursor->at += size;
    return slice;
}
