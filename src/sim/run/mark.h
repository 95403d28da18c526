/* Collects the counts of this program's marks (base/mark.h), and adds up those of several
 * processes. */
#ifndef SHERD_SIM_RUN_MARK_H
#define SHERD_SIM_RUN_MARK_H

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

/* Adds this program's marks, even those with count 0, and resets them. */
void mark_take(struct mark_list *list);
/* Appends the list as lines "COUNT R|S FILE:LINE TEXT". */
void mark_write(const struct mark_list *list, struct buf *out);
/* Adds lines of another process's mark_write. False at a malformed line; earlier lines are
 * added. */
bool mark_merge(struct mark_list *list, struct slice lines);
void mark_fini(struct mark_list *list); /* leaves it usable */

#endif
