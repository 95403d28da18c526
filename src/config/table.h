/* Declares the table of all known keys, one row each, for checks, getters and documents. */
#ifndef SHERD_CONFIG_TABLE_H
#define SHERD_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum row_type {
    ROW_BOOL,
    ROW_INT,
    ROW_NUMBER,
    ROW_DURATION,
    ROW_SIZE,
    ROW_TEXT,
    ROW_CHOICE, /* one of the words */
    ROW_LIST,   /* of texts */
    ROW_ANY     /* accepted and ignored */
};

struct row {
    const char *key; /* without prefix; `*` is one name, a last `**` any rest */
    enum row_type type;
    const char *value; /* the default; "null" for none; "$key" takes another key's value */
    /* allowed besides the type's values, or the choices: "off|none"; or null. ROW_ANY with a last
     * `**`: the section whose keys may stand here; null: any */
    const char *words;
    int64_t min;       /* ROW_INT and ROW_NUMBER; ROW_DURATION, ns */
    int64_t max;
    bool has_effect;
    const char *about;
};

/* The text for rows of ROW_ANY. */
#define KNOWN_FOREIGN "of the JVM; no effect here"

/* In known.c; they follow those of table.c. */
extern const struct row rows_without_effect[];
extern const uint32_t rows_without_effect_count;

uint32_t known_count(void);
const struct row *known_row(uint32_t index);
uint32_t known_index(const struct row *row);
/* Returns the exact row of a key, else the first whose stars match. Null when unknown. */
const struct row *known_find(const char *key);
bool known_is_section(const char *key); /* does it have keys below? "" does */
/* Appends the key that the key of a copied section copies, with a zero byte. False: the row copies
 * nothing, or there is no such key. */
bool known_original(const struct row *row, const char *key, struct buf *original);
/* Are there keys below its own name, not only below a star? */
bool known_is_named(const char *section, size_t size);
/* Returns the rest of the row's key below a section, or null if it is not below. */
const char *known_rest(const struct row *row, const char *section, size_t size);
/* Returns the table's spelling, or null; ignores case. */
const char *known_word(const struct row *row, const char *text);
const char *known_type_name(const struct row *row);

/* module.c: is an unknown key, a section or a value, of a module that has no part here? */
bool known_is_foreign(const char *key, bool is_section);
/* The same for a key with its root's name, as tree_resolve asks: no setting is read from it or from
 * below. */
bool known_is_skipped(const char *key);

#define KEY_NEAR_SIZE 512 /* size of the next two's results */

/* Writes the known key nearest to an unknown one; false if none is near. */
bool known_nearest(const char *key, char nearest[KEY_NEAR_SIZE]);
/* Is the name a typing error of the other? */
bool known_resembles(const char *name, const char *other);
/* Does the name in place of a row's star resemble one of other rows? Writes the probable key. */
bool known_misspelled(const struct row *row, const char *key,
                      char meant[KEY_NEAR_SIZE]);

#endif
