/* Checks, when a node joins, that the settings that must agree are equal.
 *
 * A JSON text becomes paths and raw values. Values are compared as text, so 1000 and "1000"
 * differ. */
#ifndef SHERD_MEMBER_COMPAT_H
#define SHERD_MEMBER_COMPAT_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "member/wire.h"

struct compat_setting {
    struct slice path;  /* keys joined by dots; lent from the settings */
    struct slice value; /* as in the text */
};

/* Zero is empty. */
struct compat {
    VEC(struct compat_setting) items; /* in the text's order */
    char *text;  /* the values: a copy of the input */
    struct buf paths;
};

/* Reads a JSON object. False, with empty settings: it is none, or too large. */
bool compat_parse(struct compat *settings, struct slice text);
void compat_fini(struct compat *settings);
/* The value at a first key of any name + path, e.g. ".cluster.downing-provider-class". Null:
 * absent. */
const struct compat_setting *compat_find(const struct compat *settings,
                                         const char *path);

/* True if the other side's settings agree with ours. Appends a sentence for each that does not;
 * reasons may be null. */
bool compat_agree(const struct compat *own, const struct compat *other,
                  struct buf *reasons);
/* The member's answer to a joiner. The reply gets our values of its settings as JSON. Unchecked: it
 * has settings that we lack and that a JVM joiner needs. */
enum config_check compat_answer(const struct compat *own,
                                const struct compat *joiner, struct buf *reply);

#endif
