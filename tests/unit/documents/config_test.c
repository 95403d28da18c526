/* Compares docs/guide/configuration.md with the table of keys (src/config).
 * Each key with an effect has a row with its type, choices, default and meaning. Each key without
 * effect matches a pattern of the last table.
 *
 * A key in the document may have one list in braces, `a.{b,c}.d`. Then defaults stand in the same
 * order, or one stands for all; the cells of types and meanings contain those of each key. `*` is
 * one name and a last `**` is any rest. A row with a star for many keys has no default; the row of
 * a single key comes before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"

#define CELLS 4
#define ROWS_MAX 512

enum cell { KEY, TYPE, DEFAULT, ABOUT };

struct row {
    struct slice cells[CELLS];
    bool is_used;
};

struct rows {
    struct row items[ROWS_MAX];
    uint32_t count;
};

static char document[256 * 1024];

/* ---- the document ---- */

static struct slice part(const char *from, const char *to)
{
    return slice_of((const uint8_t *)from, (size_t)(to - from));
}

static const char *begin(struct slice text)
{
    return (const char *)text.data;
}

/* Cuts the cells of "| a | b |". */
static void cut_cells(struct row *row, const char *line, const char *end)
{
    const char *at = line + 2;

    memset(row, 0, sizeof *row);
    for (int i = 0; i < CELLS && at < end; i++) {
        const char *bar = strstr(at, " |");

        if (!bar || bar > end)
            break;
        row->cells[i] = part(at, bar);
        at = bar + 3;
    }
    row->cells[KEY] = slice_of(row->cells[KEY].data + 1,
                               row->cells[KEY].size - 2); /* without the back-ticks */
}

/* Reads the rows that begin with a key, in the section with this heading. */
static void read_rows(struct rows *rows, const char *heading)
{
    const char *line = strstr(document, heading);
    const char *end;

    rows->count = 0;
    if (!line)
        fail_msg("%s has no heading \"%s\"", CONFIG_MD, heading);
    for (line = strchr(line + 1, '\n'); line; line = end) {
        end = strchr(++line, '\n');
        if (strncmp(line, "## ", 3) == 0)
            return;
        if (!end || strncmp(line, "| `", 3) != 0)
            continue;
        assert_true(rows->count < ROWS_MAX);
        cut_cells(&rows->items[rows->count++], line, end);
    }
}

/* ---- keys and patterns ---- */

#define PATTERN_MAX 512

/* Expands a pattern's list in braces to its item with this number; false if there are fewer. */
static bool expand(struct slice pattern, uint32_t number, char *text)
{
    const char *end = begin(pattern) + pattern.size;
    const char *open = memchr(begin(pattern), '{', pattern.size);
    const char *name, *close;

    assert_true(pattern.size < PATTERN_MAX);
    if (!open)
        open = close = name = end;
    else
        close = strchr(name = open + 1, '}');
    for (; number && name < close; number--)
        name += strcspn(name, ",}") + 1;
    if (number || name > close)
        return false;
    (void)snprintf(text, PATTERN_MAX, "%.*s%.*s%.*s",
                   (int)(open - begin(pattern)), begin(pattern),
                   open < end ? (int)strcspn(name, ",}") : 0, name,
                   open < end ? (int)(end - close - 1) : 0,
                   open < end ? close + 1 : close);
    return true;
}

/* Does the key match the pattern's stars? */
static bool matches(const char *pattern, const char *key)
{
    for (; *pattern && *key; pattern++) {
        if (strcmp(pattern, "**") == 0)
            return true;
        if (*pattern == '*')
            key += strcspn(key, ".");
        else if (*pattern != *key++)
            return false;
    }
    return !*pattern && !*key;
}

/* Returns the row that names the key, else the first that matches it; at: index of the name in its
 * list. */
static struct row *find_row(struct rows *rows, const char *key, uint32_t *at,
                            bool *is_exact)
{
    struct row *found = NULL;
    char pattern[PATTERN_MAX];

    for (uint32_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];

        for (*at = 0; expand(row->cells[KEY], *at, pattern); ++*at) {
            *is_exact = strcmp(pattern, key) == 0;
            if (*is_exact)
                return row;
            if (!found && matches(pattern, key))
                found = row;
        }
    }
    return found;
}

/* ---- the cells of a row ---- */

static void expect_part(const struct row *row, enum cell cell,
                        const struct config_row *key, const char *expected)
{
    struct slice text = row->cells[cell];
    size_t size = strlen(expected);

    for (size_t i = 0; i + size <= text.size; i++)
        if (memcmp(text.data + i, expected, size) == 0)
            return;
    fail_msg("%s: the row of %s should have: %s", CONFIG_MD, key->key,
             expected);
}

static void put_words(struct buf *type, const char *words)
{
    buf_put_text(type, " (");
    for (; *words; words++) {
        if (*words == '|')
            buf_put_text(type, ", ");
        else
            buf_put_u8(type, (uint8_t)*words);
    }
    buf_put_u8(type, ')');
}

static void check_type(const struct row *row, const struct config_row *key)
{
    struct buf type = { 0 };

    buf_put_text(&type, key->type);
    if (key->words && key->words[0] != '|')
        put_words(&type, key->words);
    buf_put_u8(&type, 0);
    expect_part(row, TYPE, key, (const char *)type.data);
    buf_fini(&type);
}

/* Returns the default with this number in a cell of several, "`a`, empty, `b`", or the only one. */
static struct slice default_at(struct slice cell, uint32_t number)
{
    const char *at = begin(cell), *end = at + cell.size;
    struct slice first = { 0 };

    for (uint32_t i = 0; at < end; i++) {
        const char *close = *at == '`' ? strchr(at + 1, '`') : NULL;
        const char *next = close ? close + 1 : at + strlen("empty");
        struct slice found = close ? part(at + 1, close) : part(at, at);

        if (i == 0)
            first = found;
        if (i == number)
            return found;
        at = next + 2; /* a comma and a blank */
    }
    return first;
}

static bool is_same(struct slice text, const char *other, size_t size)
{
    return text.size == size && memcmp(text.data, other, size) == 0;
}

static void check_default(const struct row *row, const struct config_row *key,
                          uint32_t number)
{
    struct slice found = default_at(row->cells[DEFAULT], number);

    if (!is_same(found, key->value, strlen(key->value)))
        fail_msg("%s: the default of %s is %s", CONFIG_MD, key->key,
                 key->value[0] ? key->value : "empty");
}

static struct rows effective, ineffective, chosen;

static void each_key_with_an_effect_has_its_row(void **state)
{
    struct config_row key;
    uint32_t at = 0, number;
    bool is_exact;

    (void)state;
    read_rows(&effective, "\n## All keys");
    while (config_next_row(&at, &key)) {
        struct row *row;

        if (!key.has_effect)
            continue;
        row = find_row(&effective, key.key, &number, &is_exact);
        if (!row)
            fail_msg("%s has no row for %s", CONFIG_MD, key.key);
        row->is_used = true;
        if (!is_exact)
            continue;
        check_type(row, &key);
        check_default(row, &key, number);
        expect_part(row, ABOUT, &key, key.about);
    }
    for (uint32_t i = 0; i < effective.count; i++)
        if (!effective.items[i].is_used)
            fail_msg("%s: no such key has an effect: %.*s", CONFIG_MD,
                     (int)effective.items[i].cells[KEY].size,
                     begin(effective.items[i].cells[KEY]));
}

static void each_key_without_effect_is_named(void **state)
{
    struct config_row key;
    uint32_t at = 0, number;
    bool is_exact;

    (void)state;
    read_rows(&ineffective, "\n## Keys without effect");
    while (config_next_row(&at, &key)) {
        struct row *row;

        if (key.has_effect)
            continue;
        row = find_row(&ineffective, key.key, &number, &is_exact);
        if (!row)
            fail_msg("%s does not say that %s has no effect", CONFIG_MD,
                     key.key);
        row->is_used = true;
    }
    for (uint32_t i = 0; i < ineffective.count; i++)
        if (!ineffective.items[i].is_used)
            fail_msg("%s: no such key is without effect: %.*s", CONFIG_MD,
                     (int)ineffective.items[i].cells[KEY].size,
                     begin(ineffective.items[i].cells[KEY]));
}

static void the_chosen_keys_have_their_defaults(void **state)
{
    struct config_row key;
    uint32_t at = 0, number;
    bool is_exact;

    (void)state;
    read_rows(&chosen, "\n## Fifteen keys");
    assert_int_equal(chosen.count, 15);
    while (config_next_row(&at, &key)) {
        struct row *row = find_row(&chosen, key.key, &number, &is_exact);

        if (!row || !is_exact)
            continue;
        row->is_used = true;
        assert_true(key.has_effect);
        row->cells[DEFAULT] = row->cells[TYPE]; /* this table has no types */
        check_default(row, &key, number);
    }
    for (uint32_t i = 0; i < chosen.count; i++)
        assert_true(chosen.items[i].is_used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_with_an_effect_has_its_row),
        cmocka_unit_test(each_key_without_effect_is_named),
        cmocka_unit_test(the_chosen_keys_have_their_defaults),
    };
    FILE *file = fopen(CONFIG_MD, "rb");

    if (!file ||
        fread(document, 1, sizeof document - 1, file) >= sizeof document - 1) {
        fprintf(stderr, "cannot read %s\n", CONFIG_MD);
        return 1;
    }
    (void)fclose(file); /* only read */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
