/* Limits the memory that protobuf-c allocates for one message, which a small hostile message could
 * inflate. */
#ifndef SHERD_BASE_BUDGET_H
#define SHERD_BASE_BUDGET_H

#include "base/check.h"

struct budget {
    size_t left;
};

/* For ProtobufCAllocator, whose data is the budget. */
static inline void *budget_alloc(void *data, size_t size)
{
    struct budget *budget = data;

    if (size > budget->left)
        return NULL; /* protobuf-c frees what it has */
    budget->left -= size;
    return mem_alloc(size);
}

static inline void budget_free(void *data, void *memory)
{
    (void)data;
    mem_free(memory);
}

#endif
