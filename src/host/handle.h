/* Closes libuv handles that live on the heap. */
#ifndef SHERD_HOST_HANDLE_H
#define SHERD_HOST_HANDLE_H

#include <uv.h>

#include "base/check.h"

static inline void handle_free(uv_handle_t *handle)
{
    mem_free(handle);
}

/* The loop frees the handle later; its data is null until then. Null is allowed. */
static inline void handle_close(uv_handle_t *handle)
{
    if (!handle)
        return;
    handle->data = NULL;
    uv_close(handle, handle_free);
}

#endif
