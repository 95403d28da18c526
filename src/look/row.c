/* Implements row.h. */
#include "look/row.h"

#include "base/check.h"
#include "base/limits.h"

#define FIELD_BYTES 1u /* the lowest bit of a field's number: bytes follow, not a number */

void look_rows_fini(struct look_rows *rows)
{
    buf_fini(&rows->bytes);
    *rows = (struct look_rows){ .count = 0 };
}

void look_row_begin(struct look_rows *rows)
{
    rows->begin = rows->bytes.size;
    buf_put_u16(&rows->bytes, 0);
}

void look_put(struct look_rows *rows, uint32_t column, uint64_t value)
{
    buf_put_varint(&rows->bytes, (uint64_t)column << 1);
    buf_put_varint(&rows->bytes, value);
}

/* Cuts before a byte that continues a character. */
static size_t cut(struct slice text, size_t max)
{
    size_t size = text.size < max ? text.size : max;

    while (size && size < text.size && (text.data[size] & 0xc0) == 0x80)
        size--;
    return size;
}

void look_put_bytes(struct look_rows *rows, uint32_t column, struct slice bytes)
{
    size_t size = cut(bytes, LOOK_TEXT_MAX);

    if (!size)
        return;
    buf_put_varint(&rows->bytes, (uint64_t)column << 1 | FIELD_BYTES);
    buf_put_varint(&rows->bytes, size);
    buf_put(&rows->bytes, bytes.data, size);
}

void look_put_text(struct look_rows *rows, uint32_t column, const char *text)
{
    look_put_bytes(rows, column, slice_text(text));
}

void look_row_end(struct look_rows *rows)
{
    size_t size = rows->bytes.size - rows->begin - 2;

    check(size <= UINT16_MAX); /* of at most SHERD_LOOK_COLUMNS_MAX fields */
    rows->bytes.data[rows->begin] = (uint8_t)size;
    rows->bytes.data[rows->begin + 1] = (uint8_t)(size >> 8);
    rows->count++;
}

void look_row_drop(struct look_rows *rows)
{
    rows->bytes.size = rows->begin;
}

bool look_row_next(struct cursor *cursor, struct slice *row)
{
    if (!cursor_left(cursor) || cursor->failed)
        return false;
    *row = cursor_slice(cursor, cursor_u16(cursor));
    return !cursor->failed;
}

bool look_row_read(enum sherd_look_kind kind, struct slice row,
                   struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX])
{
    struct cursor cursor = cursor_of(row);
    uint32_t count = look_column_count(kind);

    memset(values, 0, SHERD_LOOK_COLUMNS_MAX * sizeof *values);
    while (cursor_left(&cursor) && !cursor.failed) {
        uint64_t field = cursor_varint(&cursor);
        uint64_t value = cursor_varint(&cursor);
        bool is_bytes = (field & FIELD_BYTES) != 0;
        struct slice bytes = { NULL, 0 };

        if (is_bytes && value > LOOK_TEXT_MAX)
            return false;
        if (is_bytes)
            bytes = cursor_slice(&cursor, value);
        field >>= 1;
        if (field >= count)
            continue; /* a newer node's */
        if (is_bytes != look_column_is_bytes(kind, (uint32_t)field))
            return false;
        values[field] = (struct sherd_look_value){ .is_known = 1,
                                                   .number = is_bytes ? 0 : value,
                                                   .bytes = { bytes.data, bytes.size } };
    }
    return !cursor.failed;
}

void look_put_values(struct look_rows *rows, enum sherd_look_kind kind,
                     const struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX])
{
    for (uint32_t i = 0; i < look_column_count(kind); i++) {
        if (!values[i].is_known)
            continue;
        if (look_column_is_bytes(kind, i))
            look_put_bytes(rows, i, slice_of(values[i].bytes.data, values[i].bytes.size));
        else
            look_put(rows, i, values[i].number);
    }
}
