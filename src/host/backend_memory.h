/* A store in memory, for tests and for types that persist nothing: the same
 * rules as every store, shared by all systems of a process that name the same
 * path. Its content goes with the last connection. */
#ifndef SHERD_HOST_BACKEND_MEMORY_H
#define SHERD_HOST_BACKEND_MEMORY_H

#include "journal/backend.h"

extern const struct backend_ops backend_memory;

#endif
