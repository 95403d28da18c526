/* Implements protobuf's fields. */
#include "ddata/proto.h"

bool proto_next(struct cursor *cursor, struct proto_field *field)
{
    uint64_t tag;

    if (cursor->failed || !cursor_left(cursor))
        return false;
    tag = cursor_varint(cursor);
    *field = (struct proto_field){ .number = (uint32_t)(tag >> 3),
                                   .type = (enum proto_type)(tag & 7) };
    if (!field->number || tag > UINT32_MAX)
        cursor->failed = true;
    switch (field->type) {
    case PROTO_VARINT:
        field->value = cursor_varint(cursor);
        break;
    case PROTO_FIXED64:
        field->value = cursor_u64(cursor);
        break;
    case PROTO_FIXED32:
        field->value = cursor_u32(cursor);
        break;
    case PROTO_BYTES:
        field->value = cursor_varint(cursor);
        field->bytes = cursor_slice(cursor, (size_t)field->value);
        break;
    default: /* a group, or invalid */
        cursor->failed = true;
        break;
    }
    return !cursor->failed;
}

static void put_tag(struct buf *buf, uint32_t number, enum proto_type type)
{
    buf_put_varint(buf, (uint64_t)number << 3 | type);
}

void proto_put_varint(struct buf *buf, uint32_t number, uint64_t value)
{
    put_tag(buf, number, PROTO_VARINT);
    buf_put_varint(buf, value);
}

void proto_put_fixed32(struct buf *buf, uint32_t number, uint32_t value)
{
    put_tag(buf, number, PROTO_FIXED32);
    buf_put_u32(buf, value);
}

void proto_put_bytes(struct buf *buf, uint32_t number, struct slice bytes)
{
    put_tag(buf, number, PROTO_BYTES);
    buf_put_varint(buf, bytes.size);
    buf_put_slice(buf, bytes);
}

size_t proto_open(struct buf *buf, uint32_t number)
{
    put_tag(buf, number, PROTO_BYTES);
    buf_put_u8(buf, 0); /* most sizes are below 128 */
    return buf->size;
}

void proto_close(struct buf *buf, size_t start)
{
    size_t size = buf->size - start;
    uint8_t text[10];
    struct buf varint = { text, 0, sizeof text };

    buf_put_varint(&varint, size);
    if (varint.size > 1) {
        (void)buf_reserve(buf, varint.size - 1); /* reserves only */
        memmove(buf->data + start + varint.size - 1, buf->data + start, size);
        buf->size += varint.size - 1;
    }
    memcpy(buf->data + start - 1, text, varint.size);
}
