/* A store in memory, for tests and for types that persist nothing: the same
 * rules as every store, shared by all systems of a process that name the same
 * path. Its content goes with the last connection. */
#ifndef SHERD_HOST_STORE_MEMORY_H
#define SHERD_HOST_STORE_MEMORY_H

#include "journal/store.h"

extern const struct store_ops store_memory;

#endif
