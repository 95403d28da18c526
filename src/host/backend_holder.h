/* Which process has SQLite's write lock of a file. Called by the SQLite store when it has waited for that lock in vain. */
#ifndef SHERD_HOST_BACKEND_HOLDER_H
#define SHERD_HOST_BACKEND_HOLDER_H

#include <stdint.h>

/* The process that writes to the database at that path (write-ahead log), now, as the kernel knows it; any program, this one
 * included. 0: nobody, or it cannot be told: no /proc, or a process of another container. */
uint32_t backend_holder(const char *path);

#endif
