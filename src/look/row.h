/* Writes and reads rows: those of a part one after the other, each with its size.
 *
 * A row has a field for each column that is known: the column's number, then a number or bytes. A
 * reader skips columns that it does not know. */
#ifndef SHERD_LOOK_ROW_H
#define SHERD_LOOK_ROW_H

#include "base/bytes.h"
#include "look/kinds.h"

/* Rows under construction. Zero is an empty one. */
struct look_rows {
    struct buf bytes;
    uint32_t count;
    size_t begin; /* of the open row */
};

void look_rows_fini(struct look_rows *rows);
void look_row_begin(struct look_rows *rows);
void look_put(struct look_rows *rows, uint32_t column, uint64_t value);
/* Cuts it to LOOK_TEXT_MAX bytes; empty: unknown. Lent. */
void look_put_bytes(struct look_rows *rows, uint32_t column, struct slice bytes);
void look_put_text(struct look_rows *rows, uint32_t column, const char *text); /* null: unknown */
void look_row_end(struct look_rows *rows);
/* Forgets the open row. */
void look_row_drop(struct look_rows *rows);

/* Takes the next row of a part: its fields, lent. False at the end, or malformed (cursor.failed). */
bool look_row_next(struct cursor *cursor, struct slice *row);
/* Reads a row's values, one for each column of the kind; bytes lent. False: malformed. */
bool look_row_read(enum sherd_look_kind kind, struct slice row,
                   struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX]);
/* Writes such values as the fields of the open row. */
void look_put_values(struct look_rows *rows, enum sherd_look_kind kind,
                     const struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX]);

#endif
