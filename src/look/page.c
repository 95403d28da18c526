/* Implements sherd_look_row. */
#include "look/page.h"

#include "base/check.h"
#include "look/row.h"

int sherd_look_row(const struct sherd_look_page *page, uint32_t row,
                   struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX], uint32_t *part)
{
    const struct page_memory *memory = page ? page->memory : NULL;
    struct cursor cursor;
    struct slice fields;

    if (!memory || row >= memory->count)
        return 0;
    cursor = cursor_of(slice_of(memory->rows.data + memory->places[row].at,
                                memory->rows.size - memory->places[row].at));
    check(look_row_next(&cursor, &fields) && look_row_read(memory->kind, fields, values));
    if (part)
        *part = memory->places[row].part;
    return 1;
}
