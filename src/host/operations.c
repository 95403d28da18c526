/* Implements operations.h, and sherd_operate. */
#define _GNU_SOURCE
#include "host/operations.h"

#include "base/limits.h"
#include "host/inbox.h"
#include "host/thread.h"
#include "node/mail/operate_call.h"

/* An operation whose `done` is not called yet. */
struct operation_state {
    struct operation_state *next; /* of the system's */
    sherd_operation_done *done;
    void *user;
};

/* Null at the limit. */
static struct operation_state *new_operation(struct sherd_system *system,
                                             sherd_operation_done *done, void *user)
{
    struct operation_state *operation = NULL;

    uv_mutex_lock(&system->mutex);
    if (system->operation_count < OPERATIONS_MAX) {
        operation = mem_alloc(sizeof *operation);
        *operation = (struct operation_state){ system->operations, done, user };
        system->operations = operation;
        system->operation_count++;
    }
    uv_mutex_unlock(&system->mutex);
    return operation;
}

/* Calls `done`, unless operations_end has done that. */
static void end(struct sherd_system *system, struct operation_state *operation, int result,
                const struct sherd_operation *ended)
{
    struct operation_state **at;

    uv_mutex_lock(&system->mutex);
    for (at = &system->operations; *at && *at != operation;)
        at = &(*at)->next;
    if (!*at)
        operation = NULL;
    else
        *at = operation->next;
    system->operation_count -= operation != NULL;
    uv_mutex_unlock(&system->mutex);
    if (!operation)
        return;
    operation->done(operation->user, result, ended);
    mem_free(operation);
}

void operations_returned(struct sherd_system *system, struct operate_call *call)
{
    char node[ADDRESS_TEXT_MAX] = "";
    struct sherd_operation ended = {
        .kind = call->kind,
        .state = call->state,
        .code = call->code,
        .node = node,
        .stall_us = call->stall_us,
        .is_dry_run = call->is_dry_run,
    };

    if (call->decider.address.port)
        (void)address_text(&call->decider.address, node, sizeof node);
    buf_put_u8(&call->id, 0);
    buf_put_u8(&call->text, 0);
    ended.id = (const char *)call->id.data;
    ended.text = (const char *)call->text.data;
    end(system, call->driver, call->result, call->result ? NULL : &ended);
    operate_call_free(call);
}

void operations_end(struct sherd_system *system)
{
    while (system->operations)
        end(system, system->operations, SHERD_ESTATE, NULL);
}

int sherd_operate(struct sherd_system *system, enum sherd_operation_kind kind,
                  const struct sherd_operation_options *options, sherd_operation_done *done,
                  void *user)
{
    struct operate_call *call;
    struct mail mail;
    int error;

    if (!system || !done)
        return SHERD_EINVAL;
    error = operate_call_new(kind, options, &call);
    if (error)
        return error;
    if (system_state_of(system) != SYSTEM_RUNNING)
        error = SHERD_ESTATE;
    else if (!(call->driver = new_operation(system, done, user)))
        error = SHERD_EFULL;
    if (error) {
        operate_call_free(call);
        return error;
    }
    mail = node_mail_operate(call);
    inbox_put_command(&system_thread(system, 0)->inbox, 0, &mail);
    thread_wake(system_thread(system, 0));
    return 0;
}
