/* Reads lines that another process has written: its marks (mark.h) or cells (cells.h). */
#ifndef SHERD_SIM_RUN_LINES_H
#define SHERD_SIM_RUN_LINES_H

#include <stdbool.h>

#include "base/bytes.h"

/* Takes one line, lent, writable, ending with a zero byte. False if it is malformed. */
typedef bool lines_take(void *arg, char *line);

/* Hands over each line in order. False if one is malformed or the last has no end; earlier ones are
 * taken. */
bool lines_read(struct slice lines, lines_take *take, void *arg);

#endif
