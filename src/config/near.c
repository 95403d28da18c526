/* Guesses which known key was meant, for the hint of an error. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "config/table.h"

#define KEY_COMPARED_MAX NEAR_TEXT_SIZE /* bytes; a longer key is not compared */
#define SECTION_SLIPS_MAX 2  /* in the name of a section that takes any key */

static const char *last_name(const char *key)
{
    const char *dot = strrchr(key, '.');

    return dot ? dot + 1 : key;
}

/* Writes the known key that may be meant: the row's, with the key's own name for a star. False if
 * the row stands for several keys. */
static bool candidate(const struct row *row, const char *key,
                      char text[KEY_NEAR_SIZE])
{
    const char *star = strchr(row->key, '*');
    size_t before = star ? (size_t)(star - row->key) : 0;
    int size;

    if (!star)
        size = snprintf(text, KEY_NEAR_SIZE, "%s", row->key);
    else if (star[1] == '*' || strchr(star + 1, '*') ||
             strncmp(row->key, key, before) != 0)
        return false;
    else
        size = snprintf(text, KEY_NEAR_SIZE, "%.*s%.*s%s", (int)before, key,
                        (int)strcspn(key + before, "."), key + before,
                        star + 1);
    return size > 0 && size <= KEY_COMPARED_MAX;
}

/* The same for a section that takes any key: its name replaces as many first names of the key. */
static bool candidate_below(const struct row *row, const char *key,
                            char text[KEY_NEAR_SIZE])
{
    const char *star = strchr(row->key, '*');
    const char *rest = key;
    int size;

    if (!star || star[1] != '*')
        return false;
    for (const char *at = row->key; at < star; at++) {
        if (*at != '.')
            continue;
        rest += strcspn(rest, ".");
        if (!*rest)
            return false;
        rest++;
    }
    size = snprintf(text, KEY_NEAR_SIZE, "%.*s%s", (int)(star - row->key),
                    row->key, rest);
    return size > 0 && size <= KEY_COMPARED_MAX && known_find(text);
}

/* More slips make a different key. Only the part that differs from all known keys counts. */
static uint32_t slips_max(const char *key)
{
    size_t same = 0; /* bytes up to the last dot that some row shares */
    size_t size;

    for (uint32_t i = 0; i < known_count(); i++) {
        const char *known = known_row(i)->key;

        for (size_t at = 0; known[at] && known[at] == key[at]; at++)
            if (key[at] == '.' && at >= same)
                same = at + 1;
    }
    size = strlen(key + same);
    return (uint32_t)(size < 5 ? 1 : size < 9 ? 2 : size < 13 ? size / 3 : 4);
}

/* For a key below a copied section: writes the nearest key of the original. */
static bool nearest_in_copy(const struct row *row, const char *key,
                            char nearest[KEY_NEAR_SIZE])
{
    size_t size = strlen(row->key) - 2;
    size_t other = row->words ? strlen(row->words) : 0;
    char there[KEY_NEAR_SIZE];
    char found[KEY_NEAR_SIZE];

    if (row->type != ROW_ANY || !other || strcmp(row->key + size, "**") != 0 ||
        strncmp(row->key, key, size) != 0)
        return false;
    (void)snprintf(there, sizeof there, "%s.%.160s", row->words,
                   key + size);
    if (!known_nearest(there, found) ||
        strncmp(found, row->words, other) != 0 || found[other] != '.')
        return false;
    (void)snprintf(nearest, KEY_NEAR_SIZE, "%.*s%.160s", (int)size, key,
                   found + other + 1);
    return true;
}

/* Can one key be meant by the other? Modules have keys of the same names, and a key of one is none of
 * another. */
static bool may_share(const char *key, const char *known)
{
    size_t size = strcspn(key, ".");

    return !key[size] || !known_is_named(key, size) ||
           (strncmp(key, known, size) == 0 && known[size] == '.');
}

static uint32_t names_of(const char *key)
{
    uint32_t count = 1;

    for (; *key; key++)
        count += *key == '.';
    return count;
}

/* Do all names of a key stand in the other, in this order, and is the last one the last one there? A
 * star is any name. */
static bool is_part_of(const char *key, const char *other)
{
    while (*key && *other) {
        size_t size = strcspn(key, ".");
        size_t there = strcspn(other, ".");
        bool is_same = (size == there && strncmp(key, other, size) == 0) ||
                       (size == 1 && *key == '*') ||
                       (there == 1 && *other == '*');

        if (is_same && !key[size])
            return !other[there];
        if (is_same)
            key += size + 1;
        other += there + (other[there] == '.');
    }
    return false;
}

/* Writes a row's key with the names of the given key in place of its stars. */
static bool put_names(const char *pattern, const char *key,
                      char text[KEY_NEAR_SIZE])
{
    size_t used = 0;

    for (;;) {
        size_t size = strcspn(pattern, ".");
        bool is_star = size == 1 && *pattern == '*';
        size_t there = strcspn(key, ".");

        while (*key && !is_star &&
               (there != size || strncmp(key, pattern, size) != 0)) {
            key += there + (key[there] == '.');
            there = strcspn(key, ".");
        }
        if (used + there + 2 > KEY_NEAR_SIZE || !*key)
            return false;
        memcpy(text + used, key, there);
        used += there;
        text[used++] = pattern[size];
        if (!pattern[size])
            return true;
        pattern += size + 1;
        key += there + (key[there] == '.');
    }
}

/* Finds the key with sections left out of it, or put into it: remote.hostname is meant to be
 * remote.artery.canonical.hostname. A key without effect is no help. */
static bool nearest_section(const char *key, char nearest[KEY_NEAR_SIZE])
{
    uint32_t count = names_of(key);
    uint32_t least = 3; /* so many sections are too much */
    bool found = false;

    for (uint32_t i = 0; count > 1 && i < known_count(); i++) {
        const struct row *row = known_row(i);
        uint32_t names = names_of(row->key);
        uint32_t far = names > count ? names - count : count - names;

        if (far >= least || names == 1 || strstr(row->key, "**") ||
            (row->type == ROW_ANY && names > count))
            continue;
        if (names > count && is_part_of(key, row->key) &&
            !strchr(row->key, '*'))
            (void)snprintf(nearest, KEY_NEAR_SIZE, "%s", row->key);
        else if (names >= count || !is_part_of(row->key, key) ||
                 !put_names(row->key, key, nearest))
            continue;
        least = far;
        found = true;
    }
    return found;
}

static bool share_two_names(const char *key, const char *known)
{
    const char *last = last_name(key);
    const char *known_last = last_name(known);
    size_t size = 0;

    while (last - size > key && known_last - size > known &&
           last[-1 - (ptrdiff_t)size] == known_last[-1 - (ptrdiff_t)size]) {
        size++;
        if (size > 1 && last[-(ptrdiff_t)size] == '.')
            return true;
    }
    return false;
}

/* Is no other key called like that? */
static bool is_only(const char *name)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < known_count(); i++)
        count += strcmp(last_name(known_row(i)->key), name) == 0;
    return count == 1;
}

bool known_nearest(const char *key, char nearest[KEY_NEAR_SIZE])
{
    uint32_t least = slips_max(key) + 1;
    bool found = false;

    if (strlen(key) > KEY_COMPARED_MAX)
        return false;
    for (uint32_t i = 0; i < known_count(); i++) {
        const struct row *row = known_row(i);
        char known[KEY_NEAR_SIZE];
        bool is_below;
        uint32_t far;

        if (nearest_in_copy(row, key, nearest))
            return true;
        is_below = candidate_below(row, key, known);
        if (!is_below && !candidate(row, key, known))
            continue;
        if (!may_share(key, known))
            continue;
        far = near_distance(key, known);
        if (is_below && far > SECTION_SLIPS_MAX)
            continue;
        /* The right name in a wrong section is near, too, but a typing error is nearer. */
        if (!is_below && far > 3 && row->type != ROW_ANY &&
            strcmp(last_name(key), last_name(known)) == 0 &&
            strlen(last_name(key)) > 6 &&
            (is_only(last_name(key)) || share_two_names(key, known)))
            far = 3;
        if (far < least) {
            least = far;
            found = true;
            memcpy(nearest, known, KEY_NEAR_SIZE);
        }
    }
    return found || nearest_section(key, nearest);
}

bool known_resembles(const char *name, const char *other)
{
    size_t size = strlen(other);
    uint32_t far;

    if (strlen(name) > KEY_COMPARED_MAX || size > KEY_COMPARED_MAX)
        return false;
    far = near_distance(name, other);
    return far == 1 ? size > 3 : far == 2 && size > 5;
}

/* A known name with an added ending is a user's own name, not a slip. */
static bool is_slip(const char *name, const char *known)
{
    uint32_t far;

    if (strlen(name) < 5 || strlen(known) < 5 ||
        strncmp(name, known, strlen(known)) == 0)
        return false;
    far = near_distance(name, known);
    return far == 1 || (far == 2 && strlen(known) > 7);
}

bool known_misspelled(const struct row *row, const char *key,
                      char meant[KEY_NEAR_SIZE])
{
    const char *star = strchr(row->key, '*');
    size_t before = star ? (size_t)(star - row->key) : 0;
    char name[KEY_COMPARED_MAX + 1];
    char known[KEY_COMPARED_MAX + 1];
    bool found = false;

    if (!star || star[1] == '*' || strlen(key) > KEY_COMPARED_MAX)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(key + before, "."),
                   key + before);
    for (uint32_t i = 0; i < known_count(); i++) {
        const char *other = known_row(i)->key;

        if (strncmp(other, row->key, before) != 0 || other[before] == '*' ||
            strlen(other) > KEY_COMPARED_MAX)
            continue;
        (void)snprintf(known, sizeof known, "%.*s",
                       (int)strcspn(other + before, "."),
                       other + before);
        if (strcmp(name, known) == 0)
            return false;
        if (found || !is_slip(name, known))
            continue;
        (void)snprintf(meant, KEY_NEAR_SIZE, "%.*s%s%s", (int)before, key,
                       known, key + before + strlen(name));
        found = true;
    }
    return found;
}
