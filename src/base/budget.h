/* Limits the memory that protobuf-c allocates for one message, so that a small hostile message
 * cannot claim much. */
#ifndef SHERD_BASE_BUDGET_H
#define SHERD_BASE_BUDGET_H

#include "base/check.h"

struct budget {
    size_t left; /* bytes */
};

/* For ProtobufCAllocator, whose data is the budget. */
static inline void *budget_alloc(void *data, size_t size)
{
    struct budget *budget = data;

    if (size > budget->left)
        return NULL; /* protobuf-c gives up and frees what it has */
    budget->left -= size;
    return mem_alloc(size);
}

static inline void budget_free(void *data, void *memory)
{
    (void)data;
    mem_free(memory);
}

#endif
