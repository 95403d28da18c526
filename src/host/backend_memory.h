/* Keeps a journal in memory, for tests and for types that persist nothing.
 *
 * Systems of a process that name the same path share it; its content ends with the last
 * connection. */
#ifndef SHERD_HOST_BACKEND_MEMORY_H
#define SHERD_HOST_BACKEND_MEMORY_H

#include "journal/backend.h"

extern const struct backend_ops backend_memory;

#endif
