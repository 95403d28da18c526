/* Finds a row by its key or by a pattern. near.c finds similar keys. */
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/limits.h"
#include "config/table.h"

/* Does the key match the pattern? With `below`: do matching keys exist below it? */
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

/* Returns the part of a matching key in place of the last `**`, or null. */
static const char *rest_of(const char *pattern, const char *key)
{
    for (; *pattern; pattern++) {
        if (pattern[0] == '*' && pattern[1] == '*')
            return key;
        if (*pattern == '*')
            key += strcspn(key, ".");
        else
            key++;
    }
    return NULL;
}

const char *known_rest(const struct row *row, const char *section, size_t size)
{
    const char *pattern = row->key;
    const char *end = section + size;

    while (section < end) {
        if (!*pattern || (pattern[0] == '*' && pattern[1] == '*'))
            return NULL;
        if (*pattern == '*') {
            while (section < end && *section != '.')
                section++;
            pattern++;
        } else if (*pattern++ != *section++) {
            return NULL;
        }
    }
    if (!size)
        return pattern;
    return *pattern == '.' ? pattern + 1 : NULL;
}

bool known_is_named(const char *section, size_t size)
{
    for (uint32_t i = 0; i < known_count(); i++)
        if (strncmp(known_row(i)->key, section, size) == 0 &&
            known_row(i)->key[size] == '.')
            return true;
    return false;
}

/* For a key that matches `section.**` of a copied section: writes the key of the original. False if
 * that cannot have it. */
static bool put_other(const struct row *row, const char *key, struct buf *other)
{
    const char *rest = rest_of(row->key, key);

    /* A section with known keys is not one that a user named. */
    if (!row->words[0] || (strchr(row->key, '*')[1] != '*' &&
                           known_is_named(key, (size_t)(rest - key) - 1)))
        return false;
    buf_put_text(other, row->words);
    buf_put_u8(other, '.');
    buf_put_text(other, rest);
    buf_put_u8(other, '\0');
    return true;
}

static bool is_copy(const struct row *row)
{
    return row->type == ROW_ANY && row->words;
}

static bool stands_in_copy(const struct row *row, const char *key)
{
    struct buf other = {0};
    bool known = put_other(row, key, &other) &&
                 known_find((const char *)other.data) != NULL;

    buf_fini(&other);
    return known;
}

bool known_original(const struct row *row, const char *key, struct buf *original)
{
    return is_copy(row) && put_other(row, key, original);
}

const struct row *known_find(const char *key)
{
    const struct row *found = NULL;

    for (uint32_t i = 0; i < known_count(); i++) {
        const struct row *row = known_row(i);

        if (strcmp(row->key, key) == 0 && !strchr(key, '*'))
            return row;
        if (!found && matches(row->key, key, false) &&
            (!is_copy(row) || stands_in_copy(row, key)))
            found = row;
    }
    return found;
}

static bool is_section_in_copy(const struct row *row, const char *key)
{
    struct buf other = {0};
    bool known = put_other(row, key, &other) &&
                 known_is_section((const char *)other.data);

    buf_fini(&other);
    return known;
}

bool known_is_section(const char *key)
{
    for (uint32_t i = 0; i < known_count(); i++) {
        const struct row *row = known_row(i);

        if (!matches(row->key, key, false) ? matches(row->key, key, true)
            : is_copy(row)                 ? is_section_in_copy(row, key)
                                           : strstr(row->key, "**") != NULL)
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

/* All words of the table; a result must outlive the call. */
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
    "TLSv1.3",
    "TLSv1.2",
    "cluster",
    "remote",
    "local",
    "keep-majority",
    "static-quorum",
    "keep-oldest",
    "down-all",
    "lease-majority",
    "paced",
    "least-shard",
    "consistent-hashing",
    "external",
    "own",
    "warn",
    "<fallback-port>",
};

const char *known_word(const struct row *row, const char *text)
{
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
