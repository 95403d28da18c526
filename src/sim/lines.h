/* Lines that another process has written, read one by one: its marks (mark.h), its cells (cells.h). */
#ifndef SHERD_SIM_LINES_H
#define SHERD_SIM_LINES_H

#include <stdbool.h>

#include "base/bytes.h"

/* One line, lent, its own to change; in place of its end stands a zero byte. False: it is none of those. */
typedef bool lines_take(void *arg, char *line);

/* Hands over each in its order. False when one is not taken, or the last one has no end; those before it are taken. */
bool lines_read(struct slice lines, lines_take *take, void *arg);

#endif
