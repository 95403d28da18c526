/* Compares docs/guide/settings.md with the table of keys (src/config): it has one row for each key of
 * Akka's reference block (tests/host/reference_keys.conf) that has no effect, with the reason. config_test.c
 * compares the others with docs/guide/configuration.md. With SETTINGS_UPDATE=1 in the environment this test
 * writes the rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "config/table.h"

#define BEGIN "| key | reason |\n|---|---|\n"
#define PREFIX "akka."
#define ROWS_MAX 512

static void read_file(struct buf *text, const char *path)
{
    FILE *file = fopen(path, "r");
    char part[4096];
    size_t size;

    assert_non_null(file);
    while ((size = fread(part, 1, sizeof part, file)) > 0)
        buf_put(text, part, size);
    (void)fclose(file);
    buf_put_u8(text, 0);
}

static void put_row(struct buf *rows, const struct row *row)
{
    buf_put_text(rows, "| `");
    buf_put_text(rows, row->key);
    buf_put_text(rows, "` | ");
    buf_put_text(rows, row->about);
    buf_put_text(rows, " |\n");
}

/* Writes a row for each row of the table without effect that a key has, in the order of the keys. */
static void put_rows(struct buf *rows)
{
    FILE *file = fopen(REFERENCE_KEYS, "r");
    const struct row *seen[ROWS_MAX];
    uint32_t count = 0;
    char line[600];

    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        const struct row *row;
        uint32_t i = 0;

        if (strncmp(line, PREFIX, sizeof PREFIX - 1) != 0)
            continue;
        line[strcspn(line, " =")] = 0;
        row = known_find(line + sizeof PREFIX - 1);
        if (!row)
            fail_msg("%s is not known", line);
        while (i < count && seen[i] != row)
            i++;
        if (i < count || row->has_effect)
            continue;
        assert_true(count < ROWS_MAX);
        seen[count++] = row;
        put_row(rows, row);
    }
    (void)fclose(file);
}

static void each_key_without_effect_has_its_reason(void **state)
{
    struct buf document = { 0 };
    struct buf rows = { 0 };
    const char *at;

    (void)state;
    read_file(&document, SETTINGS_MD);
    at = strstr((const char *)document.data, BEGIN);
    assert_non_null(at);
    at += sizeof BEGIN - 1;
    put_rows(&rows);
    buf_put_u8(&rows, 0);
    if (getenv("SETTINGS_UPDATE")) {
        FILE *file = fopen(SETTINGS_MD, "w");

        assert_non_null(file);
        (void)fprintf(file, "%.*s%s", (int)(at - (const char *)document.data),
                      (const char *)document.data, (const char *)rows.data);
        (void)fclose(file);
    } else if (strcmp(at, (const char *)rows.data) != 0) {
        fail_msg("docs/guide/settings.md has other rows; run this test with SETTINGS_UPDATE=1");
    }
    buf_fini(&document);
    buf_fini(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_without_effect_has_its_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
