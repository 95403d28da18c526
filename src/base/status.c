/* Frees the arrays of a status, for every driver and for users. */
#include <sherd/system.h>

#include <string.h>

#include "base/check.h"

void sherd_status_free(struct sherd_status *status)
{
    if (!status)
        return;
    mem_free(status->members);
    mem_free(status->types);
    mem_free(status->damaged_keys);
    mem_free(status->damaged_parts);
    mem_free(status->replicas);
    memset(status, 0, sizeof *status);
}
