/* Tells which process holds SQLite's write lock of a file. */
#ifndef SHERD_HOST_BACKEND_HOLDER_H
#define SHERD_HOST_BACKEND_HOLDER_H

#include <stdint.h>

/* Returns the process (possibly this one) that writes to that database now. 0: none, no /proc, or a
 * process of another container. */
uint32_t backend_holder(const char *path);

#endif
