/* Implements region_calls.h. */
#define _GNU_SOURCE
#include "host/region_calls.h"

#include <string.h>

#include "base/check.h"

void sherd_regions_free(struct sherd_regions *regions)
{
    if (!regions)
        return;
    mem_free(regions->memory);
    memset(regions, 0, sizeof *regions);
}

void region_call_end(struct sherd_system *system, struct region_call *call)
{
    struct region_call **at = &system->region_calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    system->region_call_count--;
    sherd_regions_free(&call->regions);
    mem_free(call->view.memory);
    mem_free(call);
}

void region_call_returned(struct sherd_system *system, struct query_part *part)
{
    struct region_call *call = part->driver;

    uv_mutex_lock(&system->mutex);
    call->result = part->result;
    call->regions = part->regions;
    call->view = part->view;
    call->waiting = 0;
    if (call->abandoned)
        region_call_end(system, call);
    else
        uv_cond_broadcast(&system->changed);
    uv_mutex_unlock(&system->mutex);
    mem_free(part);
}

void region_calls_free(struct sherd_system *system)
{
    while (system->region_calls)
        region_call_end(system, system->region_calls);
}
