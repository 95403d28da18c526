/* Tells the keys of modules that have no part here from typing errors.
 * Applications share their files with a node here. Such a file has sections of modules that only a
 * JVM has, and keys of newer releases. */
#include <stdio.h>
#include <string.h>

#include "config/table.h"

#define NAME_COMPARED_MAX 64 /* bytes of a name, with its end; a longer one resembles none */

/* Is some key directly in the section read? */
static bool is_read(const char *section, size_t size)
{
    for (uint32_t i = 0; i < known_count(); i++) {
        const struct row *row = known_row(i);
        const char *rest = row->has_effect ? known_rest(row, section, size)
                                           : NULL;

        if (rest && !strchr(rest, '.'))
            return true;
    }
    return false;
}

/* Copies the first name of a key. */
static bool first_name(const char *key, char name[NAME_COMPARED_MAX])
{
    size_t size = strcspn(key, ".");

    if (size >= NAME_COMPARED_MAX)
        return false;
    memcpy(name, key, size);
    name[size] = '\0';
    return true;
}

/* Resembles the name one beside it whose keys are read? */
static bool is_beside(const char *section, size_t size, const char *name)
{
    char other[NAME_COMPARED_MAX];

    for (uint32_t i = 0; i < known_count(); i++) {
        const struct row *row = known_row(i);
        const char *rest = row->has_effect ? known_rest(row, section, size)
                                           : NULL;

        if (rest && first_name(rest, other) && known_resembles(name, other))
            return true;
    }
    return false;
}

/* Is the name that of a section deeper inside, whose keys are read? `http` is a module of its own. */
static bool is_inside(const char *name)
{
    size_t size = strlen(name);

    if (strcmp(name, "http") == 0)
        return false;
    for (uint32_t i = 0; i < known_count(); i++) {
        const struct row *row = known_row(i);

        for (const char *at = row->key; row->has_effect && *at;) {
            size_t length = strcspn(at, ".");

            if (at[length] && length == size && strncmp(at, name, size) == 0)
                return true;
            at += length + (at[length] == '.');
        }
    }
    return false;
}

/* Returns the bytes of the longest known section that the key is in; 0: the root. */
static size_t section_size(const char *key)
{
    char section[KEY_NEAR_SIZE];
    size_t size = strlen(key);

    if (size >= sizeof section)
        return 0;
    memcpy(section, key, size + 1);
    for (char *dot; (dot = strrchr(section, '.')) != NULL;) {
        *dot = '\0';
        if (known_is_section(section))
            return strlen(section);
    }
    return 0;
}

/* Is it below a known key, as the item of a list? */
static bool is_below_key(const char *key, size_t size)
{
    char above[KEY_NEAR_SIZE];
    size_t more = size + (size > 0);

    more += strcspn(key + more, ".");
    if (more >= sizeof above || !key[more])
        return false;
    memcpy(above, key, more);
    above[more] = '\0';
    return known_find(above) != NULL;
}

/* Until Akka 2.6 the keys of classic remoting stood directly below `remote`. */
static bool is_classic(const char *key)
{
    char now[KEY_NEAR_SIZE];
    int size = snprintf(now, sizeof now, "remote.classic.%s", key + 7);

    return size > 0 && (size_t)size < sizeof now &&
           (known_find(now) || known_is_section(now));
}

/* Until its release 1.0 Akka Management had its keys in the section of the cluster. */
static bool is_of_former_management(const char *key)
{
    static const char *const sections[] = { "cluster.http", "cluster.bootstrap" };

    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        size_t size = strlen(sections[i]);

        if (strncmp(key, sections[i], size) == 0 && (!key[size] || key[size] == '.'))
            return true;
    }
    return false;
}

bool known_is_foreign(const char *key, bool is_section)
{
    size_t size = section_size(key);
    char name[NAME_COMPARED_MAX];
    char near[KEY_NEAR_SIZE];

    if (is_of_former_management(key))
        return true;
    if (strncmp(key, "remote.", 7) == 0 && is_classic(key))
        return true;
    if (is_below_key(key, size))
        return false;
    if (first_name(key + size + (size > 0), name) &&
        (is_beside(key, size, name) || (!size && is_inside(name))))
        return false;
    if (size)
        return !is_read(key, size);
    return is_section || strchr(key, '.') || !known_nearest(key, near);
}

bool known_is_skipped(const char *key)
{
    const struct row *row;

    if (strncmp(key, "sherd", 5) != 0 || (key[5] && key[5] != '.'))
        return true;
    if (!key[5])
        return false;
    key += 6;
    row = known_find(key);
    if (row)
        return row->type == ROW_ANY && strcmp(row->about, KNOWN_FOREIGN) == 0;
    return !known_is_section(key) && known_is_foreign(key, true);
}
