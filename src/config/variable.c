/* Notes environment variables that resemble the name of a setting, and have no effect. */
#include <string.h>

#include "config/state.h"

/* Reads the next letter of a name: a capital, or one underscore for any signs in a row. Zero at the
 * end. */
static char next_letter(const char **at, const char *end)
{
    char letter;

    if (*at == end)
        return '\0';
    letter = *(*at)++;
    if (letter == '.' || letter == '-' || letter == '_') {
        while (*at < end && (**at == '.' || **at == '-' || **at == '_'))
            (*at)++;
        return '_';
    }
    return (char)(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
}

static bool is_spelling_of(struct slice name, const char *key)
{
    const char *at = (const char *)name.data;
    const char *end = at + name.size;
    const char *key_end = key + strlen(key);
    char letter;

    do {
        letter = next_letter(&at, end);
        if (letter != next_letter(&key, key_end))
            return false;
    } while (letter);
    return true;
}

/* Writes a name as if all its parts were one, to compare it: "cluster-seed-nodes". */
static bool join(struct slice name, char text[KEY_NEAR_SIZE])
{
    size_t size = 0;

    if (name.size >= KEY_NEAR_SIZE)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        char letter = (char)name.data[i];

        if (letter == '.' || letter == '_')
            letter = '-';
        else if (letter >= 'A' && letter <= 'Z')
            letter = (char)(letter - 'A' + 'a');
        text[size++] = letter;
    }
    text[size] = '\0';
    return true;
}

/* Returns the key that the name resembles; null: there is none. */
static const struct row *nearest_of(struct slice name)
{
    char left[KEY_NEAR_SIZE], right[KEY_NEAR_SIZE];

    for (uint32_t i = 0; join(name, left) && i < known_count(); i++) {
        const struct row *row = known_row(i);

        if (row->has_effect && !strchr(row->key, '*') && join(slice_text(row->key), right) &&
            known_resembles(left, right))
            return row;
    }
    return NULL;
}

static void note(struct config *config, const struct row *row, const char *source)
{
    struct buf meant = { 0 };

    config_put_variable(&meant, row->key);
    config_add_unread(config, CONFIG_VARIABLE, source, (const char *)meant.data,
                      (struct place){ .source = source });
    buf_fini(&meant);
}

/* Returns what follows a prefix; an empty slice if the name has another one. */
static struct slice after(struct slice name, const char *prefix)
{
    size_t size = strlen(prefix);

    return name.size > size && memcmp(name.data, prefix, size) == 0
               ? slice_of(name.data + size, name.size - size)
               : slice_of(name.data, 0);
}

/* Cuts _0 and so on off the name of a list's item. */
static struct slice without_number(struct slice name)
{
    size_t size = name.size;

    while (size && name.data[size - 1] >= '0' && name.data[size - 1] <= '9')
        size--;
    return size && size < name.size && name.data[size - 1] == '_'
               ? slice_of(name.data, size - 1)
               : name;
}

void config_note_variable(struct config *config, struct slice name,
                          const char *source)
{
    static const char *const prefixes[] = {
        "SHERD_", "CONFIG_FORCE_akka_", "CONFIG_FORCE_pekko_",
        "CONFIG_FORCE_sherd_", "AKKA__", "AKKA_", "PEKKO__", "PEKKO_",
    };
    const struct row *nearest;
    struct slice rest = { 0 };

    for (size_t i = 0; !rest.size && i < sizeof prefixes / sizeof *prefixes; i++)
        rest = after(name, prefixes[i]);
    for (uint32_t i = 0; rest.size && i < known_count(); i++) {
        const struct row *row = known_row(i);

        if (!row->has_effect ||
            !is_spelling_of(row->type == ROW_LIST ? without_number(rest) : rest,
                            row->key))
            continue;
        note(config, row, source);
        return;
    }
    nearest = rest.size ? nearest_of(rest) : NULL;
    if (nearest)
        note(config, nearest, source);
}
