/* Implements looks.h, and the calls of sherd/look.h. */
#define _GNU_SOURCE
#include "host/looks.h"

#include "base/limits.h"
#include "host/inbox.h"
#include "host/thread.h"
#include "node/mail/look_call.h"

/* A look whose `done` is not called yet. */
struct look_state {
    struct look_state *next; /* of the system's */
    uint64_t number;
    sherd_look_done *done;
    void *user;
};

/* Null at the limit. */
static struct look_state *new_look(struct sherd_system *system, sherd_look_done *done, void *user)
{
    struct look_state *look = NULL;

    uv_mutex_lock(&system->mutex);
    if (system->look_count < LOOKS_MAX) {
        look = mem_alloc(sizeof *look);
        *look = (struct look_state){ .next = system->looks,
                                     .number = ++system->look_number,
                                     .done = done,
                                     .user = user };
        system->looks = look;
        system->look_count++;
    }
    uv_mutex_unlock(&system->mutex);
    return look;
}

/* Takes a look out of the list. True: the caller calls `done`. */
static bool take(struct sherd_system *system, struct look_state *look)
{
    struct look_state **at;
    bool is_open;

    uv_mutex_lock(&system->mutex);
    for (at = &system->looks; *at && *at != look;)
        at = &(*at)->next;
    is_open = *at != NULL;
    if (is_open) {
        *at = look->next;
        system->look_count--;
    }
    uv_mutex_unlock(&system->mutex);
    return is_open;
}

void looks_returned(struct sherd_system *system, struct look_call *call)
{
    struct look_state *look = call->driver;
    struct sherd_look_page page;

    if (take(system, look)) {
        if (!call->result)
            gather_page(call->gather, &page);
        look->done(look->user, call->result, call->result ? NULL : &page);
        mem_free(look);
    }
    look_call_free(call);
}

void looks_end(struct sherd_system *system)
{
    struct look_state *look;

    while ((look = system->looks)) {
        check(take(system, look));
        look->done(look->user, SHERD_ESTATE, NULL);
        mem_free(look);
    }
}

static void post(struct sherd_system *system, struct mail mail)
{
    inbox_put_command(&system_thread(system, 0)->inbox, 0, &mail);
    thread_wake(system_thread(system, 0));
}

int sherd_look(struct sherd_system *system, enum sherd_look_kind kind,
               const struct sherd_look_options *options, sherd_look_done *done, void *user,
               uint64_t *look)
{
    struct look_state *state;
    struct look_call *call;
    int error;

    if (!system || !done)
        return SHERD_EINVAL;
    error = look_call_new(kind, options, &call);
    if (error)
        return error;
    if (system_state_of(system) != SYSTEM_RUNNING) {
        look_call_free(call);
        return SHERD_ESTATE;
    }
    state = new_look(system, done, user);
    if (!state) {
        look_call_free(call);
        return SHERD_EFULL;
    }
    call->number = state->number;
    call->driver = state;
    if (look)
        *look = state->number;
    post(system, node_mail_look(call));
    return 0;
}

void sherd_look_cancel(struct sherd_system *system, uint64_t look)
{
    if (system && system_state_of(system) == SYSTEM_RUNNING)
        post(system, node_mail_look_cancel(look));
}
