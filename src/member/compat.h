/* The configuration check of a join: settings that must agree, as JSON text (wire 5.3, behaviour 4.5).
 *
 * A text is flattened into paths and raw values; values are equal when their text is, so 1000 and "1000" differ. */
#ifndef SHERD_MEMBER_COMPAT_H
#define SHERD_MEMBER_COMPAT_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/vec.h"
#include "member/wire.h"

struct compat_setting {
    struct slice path;  /* keys joined by dots; lent from the settings */
    struct slice value; /* as it stands in the text */
};

/* Zero is an empty one. */
struct compat {
    VEC(struct compat_setting) items; /* in the text's order */
    char *text;  /* a copy of what was read: the values */
    struct buf paths;
};

/* Reads a JSON object. False when it is none, or too large; the settings are empty then. */
bool compat_parse(struct compat *settings, struct slice text);
void compat_fini(struct compat *settings);
/* The value at prefix + path of any prefix of one key, e.g. ".cluster.downing-provider-class"; null when absent. */
const struct compat_setting *compat_find(const struct compat *settings,
                                         const char *path);

/* Whether the other side's settings agree with ours; appends a sentence for each that does not, null = not wanted. */
bool compat_agree(const struct compat *own, const struct compat *other,
                  struct buf *reasons);
/* What the member side answers a joiner: compatible with our values of its settings appended to the reply as JSON; unchecked when it
 * has settings that we lack and that a JVM joiner could not do without; incompatible likewise with our values. */
enum config_check compat_answer(const struct compat *own,
                                const struct compat *joiner, struct buf *reply);

#endif
