/* Implements json.h. */
#include "mgmt/json.h"

#include <inttypes.h>
#include <stdio.h>

static void put_byte(struct buf *buf, uint8_t byte)
{
    static const char plain[] = "\b\f\n\r\t";
    static const char letters[] = "bfnrt";
    const char *at = byte ? strchr(plain, byte) : NULL;
    char text[8];

    if (byte == '"' || byte == '\\') {
        buf_put_u8(buf, '\\');
        buf_put_u8(buf, byte);
    } else if (at) {
        buf_put_u8(buf, '\\');
        buf_put_u8(buf, (uint8_t)letters[at - plain]);
    } else if (byte < ' ') {
        (void)snprintf(text, sizeof text, "\\u%04x", (unsigned)byte);
        buf_put_text(buf, text);
    } else {
        buf_put_u8(buf, byte);
    }
}

void json_slice(struct buf *buf, struct slice text)
{
    buf_put_u8(buf, '"');
    for (size_t i = 0; i < text.size; i++)
        put_byte(buf, text.data[i]);
    buf_put_u8(buf, '"');
}

void json_text(struct buf *buf, const char *text)
{
    json_slice(buf, slice_text(text));
}

void json_next(struct buf *buf)
{
    uint8_t last = buf->size ? buf->data[buf->size - 1] : '[';

    if (last != '{' && last != '[' && last != ':')
        buf_put_u8(buf, ',');
}

void json_field(struct buf *buf, const char *name, const char *text)
{
    json_next(buf);
    json_text(buf, name);
    buf_put_u8(buf, ':');
    json_text(buf, text);
}

void json_number(struct buf *buf, uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    buf_put_text(buf, text);
}
