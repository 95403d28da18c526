/* Writes and reads fields in protobuf's form, for messages that are too small for generated code:
 * numbers and bytes. Zero and empty fields are not written. */
#ifndef SHERD_BASE_FIELDS_H
#define SHERD_BASE_FIELDS_H

#include "base/bytes.h"

#define FIELD_VARINT 0u
#define FIELD_BYTES 2u

static inline void field_put_number(struct buf *buf, uint32_t field, uint64_t value)
{
    if (!value)
        return;
    buf_put_varint(buf, field << 3 | FIELD_VARINT);
    buf_put_varint(buf, value);
}

static inline void field_put_bytes(struct buf *buf, uint32_t field, struct slice bytes)
{
    if (!bytes.size)
        return;
    buf_put_varint(buf, field << 3 | FIELD_BYTES);
    buf_put_varint(buf, bytes.size);
    buf_put_slice(buf, bytes);
}

struct field {
    uint64_t number;
    uint64_t value;     /* of a number */
    struct slice bytes; /* else; lent */
};

/* Takes the next field. False at the end, or malformed (cursor->failed). */
static inline bool field_next(struct cursor *cursor, struct field *field)
{
    uint64_t tag;

    if (!cursor_left(cursor) || cursor->failed)
        return false;
    tag = cursor_varint(cursor);
    *field = (struct field){ .number = tag >> 3 };
    if ((tag & 7) > FIELD_BYTES || (tag & 7) == 1) {
        cursor->failed = true;
        return false;
    }
    field->value = cursor_varint(cursor);
    if ((tag & 7) == FIELD_BYTES) {
        field->bytes = cursor_slice(cursor, field->value);
        field->value = 0;
    }
    return !cursor->failed;
}

#endif
