/* Turns JSON into texts, measures columns, and prints. Texts of entities and programs are untrusted. */
#include "sherd-rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CELL_SIZE 256
#define COLUMNS_MAX 24
#define FIELD_SIZE 80

/* ---- texts ---- */

void rows_clean(const char *text, char *to, size_t size)
{
    size_t length = 0;

    for (; *text && length + 5 < size; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte >= 0x20 && byte != 0x7f && byte != '\\')
            to[length++] = (char)byte;
        else
            length += (size_t)snprintf(to + length, size - length, "\\x%02x", byte);
    }
    if (*text && size > 4) {
        memcpy(to + length, "...", 3);
        length += 3;
    }
    to[length] = 0;
}

void rows_span(int64_t ms, char *to, size_t size)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = { { 86400000, "d" }, { 3600000, "h" }, { 60000, "m" } };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ms >= 2 * units[i].ms) {
            (void)snprintf(to, size, "%" PRId64 "%s", ms / units[i].ms, units[i].unit);
            return;
        }
    if (ms >= 10000)
        (void)snprintf(to, size, "%" PRId64 "s", ms / 1000);
    else if (ms >= 1000)
        (void)snprintf(to, size, "%" PRId64 ".%" PRId64 "s", ms / 1000, ms % 1000 / 100);
    else
        (void)snprintf(to, size, "%" PRId64 "ms", ms);
}

static const json_t *field_of(const json_t *row, const char *field)
{
    char name[FIELD_SIZE];

    while (row && field) {
        const char *dot = strchr(field, '.');
        size_t size = dot ? (size_t)(dot - field) : strlen(field);

        (void)snprintf(name, sizeof name, "%.*s", (int)size, field);
        row = json_object_get(row, name);
        field = dot ? dot + 1 : NULL;
    }
    return row;
}

static void put_list(const json_t *list, char *to, size_t size)
{
    size_t length = 0, index;
    json_t *item;

    *to = 0;
    json_array_foreach(list, index, item)
        if (json_is_string(item) && length + 2 < size) {
            if (index)
                to[length++] = ',';
            rows_clean(json_string_value(item), to + length, size - length);
            length += strlen(to + length);
        }
    if (!length)
        (void)snprintf(to, size, "-");
}

static void put_value(const json_t *value, enum rows_form form, char *to, size_t size)
{
    if (!value || json_is_null(value))
        (void)snprintf(to, size, "-");
    else if (json_is_string(value) && form == ROWS_TIME && json_string_length(value) >= 19)
        (void)snprintf(to, size, "%.12s", json_string_value(value) + 11);
    else if (json_is_string(value))
        rows_clean(json_string_value(value), to, size);
    else if (json_is_integer(value) && form == ROWS_SPAN)
        rows_span(json_integer_value(value), to, size);
    else if (json_is_integer(value))
        (void)snprintf(to, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(to, size, "%.3g", json_real_value(value));
    else if (json_is_boolean(value))
        (void)snprintf(to, size, "%s", json_is_true(value) ? "yes" : "no");
    else if (json_is_array(value))
        put_list(value, to, size);
    else
        (void)snprintf(to, size, "{...}");
    if (!*to)
        (void)snprintf(to, size, "\"\"");
}

static void put_cell(const struct rows_column *column, const json_t *row, char *to, size_t size)
{
    const json_t *value = field_of(row, column->field);
    const json_t *bytes = column->form == ROWS_ID && !value ? json_object_get(row, "idHex") : NULL;

    if (bytes) {
        (void)snprintf(to, size, "0x");
        put_value(bytes, ROWS_TEXT, to + 2, size - 2);
    } else {
        put_value(value, column->form, to, size);
    }
}

/* ---- tables ---- */

/* Characters that a terminal shows, without looking at wide ones. */
static int width_of(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_cell(const struct rows_column *column, const char *text, int width, bool is_last)
{
    int missing = width - width_of(text);
    bool is_right = column->form == ROWS_NUMBER || column->form == ROWS_SPAN;

    (void)printf("%*s%s", is_right ? missing : 0, "", text);
    if (!is_last)
        (void)printf("%*s", (is_right ? 0 : missing) + 2, "");
}

void rows_print(const struct rows_column *columns, const json_t *items)
{
    int widths[COLUMNS_MAX] = { 0 }, count = 0;
    char cell[CELL_SIZE];
    size_t index;
    const json_t *row;

    for (; columns[count].title && count < COLUMNS_MAX; count++) {
        widths[count] = width_of(columns[count].title);
        json_array_foreach(items, index, row) {
            put_cell(&columns[count], row, cell, sizeof cell);
            if (widths[count] < width_of(cell))
                widths[count] = width_of(cell);
        }
    }
    for (int i = 0; i < count; i++)
        print_cell(&columns[i], columns[i].title, widths[i], i + 1 == count);
    (void)putchar('\n');
    json_array_foreach(items, index, row) {
        for (int i = 0; i < count; i++) {
            put_cell(&columns[i], row, cell, sizeof cell);
            print_cell(&columns[i], cell, widths[i], i + 1 == count);
        }
        (void)putchar('\n');
    }
}

/* ---- objects ---- */

/* A table with a column for each plain field of the first row. */
static void print_list(const char *name, const json_t *items)
{
    struct rows_column columns[COLUMNS_MAX + 1] = { { 0 } };
    const json_t *first = json_array_get(items, 0);
    const char *key;
    const json_t *value;
    int count = 0;

    json_object_foreach((json_t *)(uintptr_t)first, key, value)
        if (count < COLUMNS_MAX && !json_is_object(value) && !json_is_array(value)) {
            columns[count] = (struct rows_column){
                key, key, json_is_number(value) ? ROWS_NUMBER : strcmp(key, "id") == 0 ? ROWS_ID : ROWS_TEXT
            };
            count++;
        }
    (void)printf("\n%s\n", name);
    if (count)
        rows_print(columns, items);
}

static bool is_list(const json_t *value)
{
    return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

static enum rows_form form_of(const char *key)
{
    size_t size = strlen(key);

    return size > 2 && strcmp(key + size - 2, "Ms") == 0 ? ROWS_SPAN : ROWS_TEXT;
}

static void print_fields(const char *prefix, const json_t *object)
{
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        char name[FIELD_SIZE], text[CELL_SIZE];

        if (is_list(value) || strcmp(key, "partial") == 0 || strcmp(key, "nodes") == 0)
            continue;
        (void)snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key); /* may be cut */
        if (json_is_object(value)) {
            print_fields(name, value);
            continue;
        }
        put_value(value, form_of(key), text, sizeof text);
        (void)printf("%-24s %s\n", name, text);
    }
}

void rows_print_object(const json_t *object)
{
    const char *key;
    const json_t *value;

    print_fields("", object);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        if (is_list(value) && strcmp(key, "nodes") != 0)
            print_list(key, value);
}

enum cmd_exit rows_missing(const json_t *answer)
{
    const json_t *nodes = json_object_get(answer, "nodes");
    size_t index;
    const json_t *part;

    if (!json_is_true(json_object_get(answer, "partial")))
        return CMD_GOOD;
    json_array_foreach(nodes, index, part) {
        const char *state = json_string_value(json_object_get(part, "state"));
        const char *node = json_string_value(json_object_get(part, "node"));

        if (state && node && strcmp(state, "ok") != 0)
            (void)cmd_fail(CMD_PARTIAL, "%.80s is missing: %.40s", node, state);
    }
    return CMD_PARTIAL;
}
