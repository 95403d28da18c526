/* Implements type_calls.h. */
#define _GNU_SOURCE
#include "host/type_calls.h"

#include "base/check.h"
#include "base/limits.h"

void type_call_end(struct sherd_system *system, struct type_call_state *call)
{
    struct type_call_state **at = &system->type_calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    system->type_call_count--;
    mem_free(call);
}

struct type_call_state *type_call_new(struct sherd_system *system,
                                      void (*done)(void *user, int result), void *user)
{
    struct type_call_state *call = NULL;

    uv_mutex_lock(&system->mutex);
    if (system->type_call_count < TYPE_CALLS_MAX) {
        call = mem_alloc(sizeof *call);
        call->waiting = 1;
        call->done = done;
        call->user = user;
        call->next = system->type_calls;
        system->type_calls = call;
        system->type_call_count++;
    }
    uv_mutex_unlock(&system->mutex);
    return call;
}

void type_call_returned(struct sherd_system *system, struct type_part *part)
{
    struct type_call_state *call = part->driver;
    struct type_call_state copy;

    uv_mutex_lock(&system->mutex);
    call->result = part->result;
    call->waiting = 0;
    copy = *call;
    if (call->abandoned || call->done)
        type_call_end(system, call);
    else
        uv_cond_broadcast(&system->changed);
    uv_mutex_unlock(&system->mutex);
    if (copy.done)
        copy.done(copy.user, copy.result);
    mem_free(part);
}

void type_calls_free(struct sherd_system *system)
{
    while (system->type_calls) {
        struct type_call_state *call = system->type_calls;

        if (call->done)
            call->done(call->user, SHERD_ESTATE);
        type_call_end(system, call);
    }
}
