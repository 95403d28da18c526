/* Limits how many reads of remembered entities are open at a time, and adapts the limit to their
 * results.
 *
 * A thousand shards that start at once have five sets each: more than links carry within a read's
 * time. As in TCP, a failed read halves the limit, once for all reads that were open with it. As
 * many good reads as the limit raise it by one. */
#ifndef SHERD_NODE_READ_WINDOW_H
#define SHERD_NODE_READ_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct read_window {
    uint32_t size; /* the limit */
    uint32_t open;
    uint32_t good; /* since it grew last */
    uint32_t old;  /* open at the last halving: their failures do not halve again */
};

void read_window_init(struct read_window *window);
bool read_window_has_room(const struct read_window *window);
void read_window_begin(struct read_window *window);
void read_window_end(struct read_window *window, bool is_good);

#endif
