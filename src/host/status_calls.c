/* Keeps the open calls of sherd_get_status, and takes the machines' parts back. */
#define _GNU_SOURCE
#include "base/check.h"
#include "host/status.h"

void status_call_end(struct sherd_system *system, struct status_call *call)
{
    struct status_call **at = &system->calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    system->call_count--;
    for (uint32_t i = 0; i < call->part_count; i++)
        sherd_status_free(&call->parts[i]);
    mem_free(call);
}

void status_returned(struct sherd_system *system, struct status_part *part)
{
    struct status_call *call = part->driver;

    uv_mutex_lock(&system->mutex);
    check(part->machine < call->part_count);
    call->parts[part->machine] = part->status;
    call->waiting--;
    if (call->waiting == 0 && call->abandoned)
        status_call_end(system, call);
    else if (call->waiting == 0)
        uv_cond_broadcast(&system->changed);
    uv_mutex_unlock(&system->mutex);
    mem_free(part);
}

void status_calls_free(struct sherd_system *system)
{
    while (system->calls)
        status_call_end(system, system->calls);
}
