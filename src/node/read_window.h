/* How many reads of remembered entities are on their way at a time, by how they end. A thousand shards that start at once have five
 * sets each; what is asked beyond what links carry in a read's time is asked for nothing, and then again.
 *
 * As TCP does it: a read that fails halves the number, once for all that were on their way with it; as many good ones as it allows
 * let it grow by one. */
#ifndef SHERD_NODE_READ_WINDOW_H
#define SHERD_NODE_READ_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct read_window {
    uint32_t size; /* so many may be on their way */
    uint32_t open; /* are */
    uint32_t good; /* since it grew last */
    uint32_t old;  /* that were on their way when it was halved: their failures are that one */
};

void read_window_init(struct read_window *window);
bool read_window_has_room(const struct read_window *window);
void read_window_begin(struct read_window *window);
void read_window_end(struct read_window *window, bool is_good);

#endif
