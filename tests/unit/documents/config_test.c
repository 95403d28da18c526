/* docs/protocol/config.md lists exactly the keys that have an effect, with type, choices, default and meaning of the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"

static char document[256 * 1024];

static void put_words(struct buf *line, const char *words)
{
    buf_put_text(line, " (");
    for (; *words; words++) {
        if (*words == '|')
            buf_put_text(line, ", ");
        else
            buf_put_u8(line, (uint8_t)*words);
    }
    buf_put_u8(line, ')');
}

/* The row as the document has it. */
static void put_row(struct buf *line, const struct config_row *row)
{
    buf_put_text(line, "\n| `");
    buf_put_text(line, row->key);
    buf_put_text(line, "` | ");
    buf_put_text(line, row->type);
    if (row->words && row->words[0] != '|')
        put_words(line, row->words);
    buf_put_text(line, row->value[0] ? " | `" : " | empty");
    buf_put_text(line, row->value);
    buf_put_text(line, row->value[0] ? "` | " : " | ");
    buf_put_text(line, row->about);
    buf_put_text(line, " |\n");
    buf_put_u8(line, 0);
}

static uint32_t count_of(const char *text, const char *part)
{
    uint32_t count = 0;

    while ((text = strstr(text, part)) != NULL) {
        count++;
        text++;
    }
    return count;
}

static void the_document_lists_what_has_an_effect(void **state)
{
    struct config_row row;
    uint32_t at = 0;
    uint32_t rows = 0;

    (void)state;
    while (config_next_row(&at, &row)) {
        struct buf line = { 0 };

        if (!row.has_effect)
            continue;
        rows++;
        put_row(&line, &row);
        if (!strstr(document, (const char *)line.data))
            fail_msg("%s should have:%s", CONFIG_MD, (const char *)line.data);
        buf_fini(&line);
    }
    assert_int_equal(count_of(document, "\n| `"), rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_lists_what_has_an_effect),
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
