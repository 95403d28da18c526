/* The table of all known keys: one row each, in table.c, read by the checks,
 * the getters and the documents. */
#ifndef SHERD_CONFIG_TABLE_H
#define SHERD_CONFIG_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum row_type {
    ROW_BOOL,
    ROW_INT,
    ROW_NUMBER,
    ROW_DURATION,
    ROW_SIZE,
    ROW_TEXT,
    ROW_CHOICE, /* one of the words */
    ROW_LIST,   /* of texts */
    ROW_ANY     /* accepted, not looked at */
};

struct row {
    const char *key; /* without prefix; `*` is one name, a last `**` any rest */
    enum row_type type;
    const char *value; /* the default; "null" for none; "$key" takes another
                          key's value */
    const char *words; /* allowed beside the type's own values, or the choices:
                          "off|none"; or null */
    int64_t min;       /* ROW_INT and ROW_NUMBER */
    int64_t max;
    bool has_effect;
    const char *about;
};

uint32_t known_count(void);
const struct row *known_row(uint32_t index);
uint32_t known_index(const struct row *row);
/* The row of a key: the exact one, else the first whose stars match. Null when
 * unknown. */
const struct row *known_find(const char *key);
bool known_is_section(const char *key); /* keys stand below it; "" is one */
/* The word as the table spells it, or null: case does not matter. */
const char *known_word(const struct row *row, const char *text);
const char *known_type_name(const struct row *row);
/* The known key nearest to an unknown one; null when none is near. */
const char *known_nearest(const char *key);

#endif
