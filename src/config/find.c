/* Finding a row: by its key, by a pattern, by likeness. */
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/limits.h"
#include "config/table.h"

#define KEY_COMPARED_MAX 160 /* bytes; a longer key has no near one */

/* Does the key match the pattern? With `below`: do keys that match stand below
 * it? */
static bool matches(const char *pattern, const char *key, bool below)
{
    while (*pattern && *key) {
        if (pattern[0] == '*' && pattern[1] == '*')
            return true;
        if (*pattern == '*') {
            if (*key == '.')
                return false;
            while (*key && *key != '.')
                key++;
            pattern++;
        } else if (*pattern != *key) {
            return false;
        } else {
            pattern++;
            key++;
        }
    }
    if (below)
        return *key == '\0' && *pattern == '.';
    return *key == '\0' && *pattern == '\0';
}

const struct row *known_find(const char *key)
{
    const struct row *found = NULL;

    for (uint32_t i = 0; i < known_count(); i++) {
        const struct row *row = known_row(i);

        if (strcmp(row->key, key) == 0 && !strchr(key, '*'))
            return row;
        if (!found && matches(row->key, key, false))
            found = row;
    }
    return found;
}

bool known_is_section(const char *key)
{
    for (uint32_t i = 0; i < known_count(); i++) {
        const char *pattern = known_row(i)->key;
        size_t size = strlen(pattern);

        if (matches(pattern, key, true))
            return true;
        /* "a.b.**" also makes a.b.c a section */
        if (size > 2 && strcmp(pattern + size - 3, ".**") == 0 &&
            strncmp(pattern, key, size - 2) == 0)
            return true;
    }
    return *key == '\0';
}

static bool same_ignoring_case(const char *left, const char *right, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char a = left[i];
        char b = right[i];

        if (a >= 'A' && a <= 'Z')
            a = (char)(a + 'a' - 'A');
        if (b >= 'A' && b <= 'Z')
            b = (char)(b + 'a' - 'A');
        if (a != b)
            return false;
    }
    return true;
}

const char *known_word(const struct row *row, const char *text)
{
    /* All words that the table uses; a result must outlive the call. */
    static const char *const spelled[] = {
        "off",
        "on",
        "none",
        "all",
        "default",
        "auto",
        "latency",
        "frugal",
        "undefined",
        "infinite",
        "memory",
        "sqlite",
        "error",
        "warning",
        "info",
        "debug",
        "logfmt",
        "json",
        "least-recently-used",
        "most-recently-used",
        "least-frequently-used",
        "hill-climbing",
        "frequency-sketch",
        "ddata",
        "eventsourced",
        "persistence",
        "constant",
        "tcp",
        "tls-tcp",
        "cluster",
        "remote",
        "local",
        "keep-majority",
        "static-quorum",
        "keep-oldest",
        "down-all",
        "lease-majority",
    };
    const char *word = row->words;

    if (!word)
        return NULL;
    if (!*text)
        return strcmp(word, "|") == 0 ? "" : NULL;
    while (*word) {
        size_t size = strcspn(word, "|");

        if (size == strlen(text) && same_ignoring_case(word, text, size)) {
            for (size_t i = 0; i < sizeof spelled / sizeof spelled[0]; i++)
                if (strlen(spelled[i]) == size &&
                    strncmp(spelled[i], word, size) == 0)
                    return spelled[i];
            check_failed(__FILE__, __LINE__,
                         "a word of the table is missing above");
        }
        word += size;
        word += *word == '|';
    }
    return NULL;
}

const char *known_type_name(const struct row *row)
{
    static const char *const names[] = {
        [ROW_BOOL] = "on or off", [ROW_INT] = "whole number",
        [ROW_NUMBER] = "number",  [ROW_DURATION] = "duration",
        [ROW_SIZE] = "size",      [ROW_TEXT] = "text",
        [ROW_CHOICE] = "choice",  [ROW_LIST] = "list",
        [ROW_ANY] = "anything",
    };

    return names[row->type];
}

/* Edit distance: insertions, deletions, replacements of bytes. Both at most
 * KEY_COMPARED_MAX long. */
static uint32_t distance(const char *left, const char *right)
{
    uint32_t line[KEY_COMPARED_MAX + 1];
    size_t size = strlen(right);

    for (size_t i = 0; i <= size; i++)
        line[i] = (uint32_t)i;
    for (size_t i = 0; left[i]; i++) {
        uint32_t diagonal = line[0];

        line[0] = (uint32_t)i + 1;
        for (size_t j = 0; j < size; j++) {
            uint32_t least = diagonal + (left[i] != right[j]);

            diagonal = line[j + 1];
            if (line[j] + 1 < least)
                least = line[j] + 1;
            if (diagonal + 1 < least)
                least = diagonal + 1;
            line[j + 1] = least;
        }
    }
    return line[size];
}

static const char *last_name(const char *key)
{
    const char *dot = strrchr(key, '.');

    return dot ? dot + 1 : key;
}

const char *known_nearest(const char *key)
{
    const char *nearest = NULL;
    size_t size = strlen(key);
    uint32_t least = (uint32_t)(size / 3 < 3 ? 3 : size / 3) + 1;

    if (size > KEY_COMPARED_MAX)
        return NULL;
    for (uint32_t i = 0; i < known_count(); i++) {
        const char *known = known_row(i)->key;
        uint32_t far;

        if (strlen(known) > KEY_COMPARED_MAX || strstr(known, "**"))
            continue;
        far = distance(key, known);
        /* The right name in a wrong section is near too, but a typing error is
         * nearer. */
        if (far > 3 && strcmp(last_name(key), last_name(known)) == 0 &&
            strlen(last_name(key)) > 6)
            far = 3;
        if (far < least) {
            least = far;
            nearest = known;
        }
    }
    return nearest;
}
