/* Calls the program's functions on events of this node's membership, each once, without the
 * lock. */
#define _GNU_SOURCE
#include "base/limits.h"
#include "host/system.h"

void system_tell(struct sherd_system *system, enum system_event event)
{
    struct callback_list list = { 0 };

    uv_mutex_lock(&system->mutex);
    if (!system->happened[event]) {
        system->happened[event] = true;
        list = system->callbacks[event];
        system->callbacks[event] = (struct callback_list){ 0 };
    }
    uv_mutex_unlock(&system->mutex);
    for (uint32_t i = 0; i < list.count; i++)
        list.items[i].call(list.items[i].user);
    vec_fini(&list);
}

static int tell_when(struct sherd_system *system, enum system_event event,
                     void (*call)(void *user), void *user)
{
    struct callback callback = { call, user };
    bool happened, is_full;

    if (!system || !call)
        return SHERD_EINVAL;
    if (system_is_lost(system)) {
        (void)system_refuse_child(system);
        return SHERD_ESTATE;
    }
    uv_mutex_lock(&system->mutex);
    happened = system->happened[event];
    is_full = system->callbacks[event].count >= SYSTEM_CALLBACKS_MAX;
    if (!happened && !is_full)
        vec_push(&system->callbacks[event], callback);
    uv_mutex_unlock(&system->mutex);
    if (happened)
        call(user);
    return !happened && is_full ? SHERD_EFULL : 0;
}

int sherd_on_up(struct sherd_system *system, void (*call)(void *user),
                void *user)
{
    return tell_when(system, SYSTEM_UP, call, user);
}

int sherd_on_removed(struct sherd_system *system, void (*call)(void *user),
                     void *user)
{
    return tell_when(system, SYSTEM_REMOVED, call, user);
}

void system_callbacks_free(struct sherd_system *system)
{
    for (uint32_t i = 0; i < SYSTEM_EVENTS; i++)
        vec_fini(&system->callbacks[i]);
}
