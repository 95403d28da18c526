/* What the marks of this program (base/mark.h) have counted, alone or added up over several processes. */
#ifndef SHERD_SIM_MARK_H
#define SHERD_SIM_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

struct mark_total {
    char *file; /* below src/, as "shard/handoff.c" */
    char *text;
    uint32_t line;
    bool is_condition; /* SOMETIMES, not REACHED */
    uint64_t count;
};

/* In order of file, line and text, each once. Zero is an empty list. */
struct mark_list {
    VEC(struct mark_total) marks;
};

/* Adds this program's marks, also those with count 0, and sets their counts back to 0: what was taken is not taken again. */
void mark_take(struct mark_list *list);
/* The list as lines "COUNT R|S FILE:LINE TEXT", appended. */
void mark_write(const struct mark_list *list, struct buf *out);
/* Adds up lines of mark_write, of another process. False when one is not such a line; those before it are added. */
bool mark_merge(struct mark_list *list, struct slice lines);
void mark_fini(struct mark_list *list); /* empty and usable again */

#endif
