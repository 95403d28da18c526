/* Collects the counts of this program's marks (base/mark.h), and adds up those of several
 * processes. */
#ifndef SHERD_SIM_MARK_H
#define SHERD_SIM_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

struct mark_total {
    char *file; /* path below src/, such as "shard/handoff.c" */
    char *text;
    uint32_t line;
    bool is_condition; /* SOMETIMES, not REACHED */
    uint64_t count;
};

/* Ordered by file, line and text, each once. Zero is an empty list. */
struct mark_list {
    VEC(struct mark_total) marks;
};

/* Adds this program's marks, also those with count 0, and resets their counts to 0. */
void mark_take(struct mark_list *list);
/* Appends the list as lines "COUNT R|S FILE:LINE TEXT". */
void mark_write(const struct mark_list *list, struct buf *out);
/* Adds the lines of another process's mark_write. Returns false at a malformed line; earlier lines
 * are added. */
bool mark_merge(struct mark_list *list, struct slice lines);
void mark_fini(struct mark_list *list); /* leaves it empty and usable */

#endif
