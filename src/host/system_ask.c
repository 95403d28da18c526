/* Carries requests of the program's threads to a running system: leave, join, down, spawn, tell. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sherd/allocation.h>

#include "base/host_name.h"
#include "base/limits.h"
#include "host/system.h"
#include "host/thread.h"

/* Sends mail to a machine, or frees it. */
static int give_mail(struct sherd_system *system, uint32_t machine,
                     struct mail mail, size_t size)
{
    struct thread *thread = system_thread(system, machine);

    if (!inbox_put_mail(&thread->inbox, machine, &mail, size)) {
        mail_free(&mail);
        return system_state_of(system) == SYSTEM_RUNNING ? SHERD_EFULL : SHERD_ESTATE;
    }
    thread_wake(thread);
    return 0;
}

/* Without lock and memory once it runs, as a signal handler may call it. */
static void leave(struct sherd_system *system, enum sherd_phase from)
{
    int error = errno;

    if (system_state_of(system) == SYSTEM_OPEN) {
        sherd_halt(system);
        return;
    }
    if (system_state_of(system) != SYSTEM_RUNNING ||
        atomic_exchange(&system->leaving, true))
        return;
    atomic_store(&system->leave_from, (uint32_t)from);
    atomic_store_explicit(&system->leave_due, true, memory_order_seq_cst);
    if (system_has_threads(system))
        thread_wake(&system->threads[0]);
    errno = error;
}

void sherd_leave(struct sherd_system *system)
{
    leave(system, SHERD_BEFORE_SERVICE_UNBIND);
}

int sherd_leave_from(struct sherd_system *system, enum sherd_phase from)
{
    if ((uint32_t)from > SHERD_CLUSTER_LEAVE)
        return SHERD_EINVAL;
    leave(system, from);
    return 0;
}

/* Such an address is ignored; the log tells the correct form. */
static int refuse_address(struct sherd_system *system, const char *verb,
                          const char *text)
{
    const struct identity *self = &system->settings.node.identity;
    struct address address;
    const char *why = "another system";
    const char *fault = host_name_fault_in(text);
    char sign[HOST_SIGN_SIZE], named[HOST_SIGN_SIZE + 16];

    if (fault) {
        (void)snprintf(named, sizeof named, "no host has %s",
                       host_name_sign(fault, sign));
        why = named;
    } else if (!address_parse(&address, text, NULL, NULL))
        why = "no address";
    else if (!address_parse(&address, text, self->protocol, NULL))
        why = "another protocol";
    system_log(system, TRACE_WARNING, "member",
               "%s ignored: %s expected=%s://%s@HOST:PORT address=\"%s\"", verb,
               why, self->protocol, self->system, text);
    return SHERD_EINVAL;
}

/* verb: for the log. text: may be null. */
static int command(struct sherd_system *system, enum node_command command,
                   const char *verb, const char *text)
{
    const struct identity *self = &system->settings.node.identity;
    struct address address;

    memset(&address, 0, sizeof address);
    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    if (!text || !address_parse(&address, text, self->protocol, self->system))
        return refuse_address(system, verb, text ? text : "");
    return give_mail(system, 0, node_mail_command(command, &address),
                     sizeof address);
}

int sherd_prepare_shutdown(struct sherd_system *system)
{
    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    return give_mail(system, 0, node_mail_command(NODE_PREPARE_SHUTDOWN, NULL),
                     0);
}

int sherd_join(struct sherd_system *system, const char *address)
{
    return command(system, NODE_JOIN, "join", address);
}

int sherd_leave_member(struct sherd_system *system, const char *address)
{
    return command(system, NODE_LEAVE_MEMBER, "leave", address);
}

int sherd_down(struct sherd_system *system, const char *address)
{
    return command(system, NODE_DOWN, "down", address);
}

int sherd_set_active_limit(struct sherd_system *system, const char *type,
                           uint32_t entities, uint64_t bytes)
{
    struct mail mail;

    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    if (!type || !node_mail_active_limit(system->node, type, entities, bytes, &mail))
        return SHERD_EINVAL;
    return give_mail(system, 0, mail, 0);
}

static int refuse_name(struct sherd_system *system, const char *name)
{
    system_log(system, TRACE_ERROR, "actor",
               "an actor's name is not valid name=\"%.200s\" "
               "hint=\"see SHERD_NAME_MAX and sherd_spawn_named for its signs\"",
               name);
    return SHERD_EINVAL;
}

int sherd_system_allocation_answer(struct sherd_system *system,
                                   const struct sherd_allocation_choice *choice)
{
    const struct identity *self = &system->settings.node.identity;
    struct address region;

    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    if (choice->shard_count > ALLOCATION_MOVES_MAX ||
        (choice->address && !address_parse(&region, choice->address,
                                           self->protocol, self->system)))
        return SHERD_EINVAL;
    return give_mail(system, 0,
                     node_mail_allocation(choice,
                                          choice->address ? &region : NULL),
                     choice->shard_count * sizeof *choice->shards);
}

/* name: null for an actor without one. ref: may be null. */
static int spawn(struct sherd_system *system, const char *name,
                 const struct sherd_behavior *behavior, struct sherd_bytes init,
                 struct sherd_ref *ref)
{
    struct node_spawn spawn = { .behavior = behavior, .name = name, .init = init };
    struct mail mail;
    int result;

    if (ref)
        *ref = (struct sherd_ref){ 0, 0 };
    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    if (!behavior || !behavior->receive || init.size > SHERD_BODY_MAX)
        return SHERD_EINVAL;
    if (!reserved_refs_take(&system->refs, &spawn.ref))
        return SHERD_EFULL;
    if (node_mail_spawn(&spawn, &mail))
        result = give_mail(system, 1, mail, init.size);
    else
        result = refuse_name(system, name);
    if (result != 0)
        reserved_refs_return(&system->refs, spawn.ref);
    else if (ref)
        *ref = spawn.ref;
    return result;
}

int sherd_system_spawn(struct sherd_system *system,
                       const struct sherd_behavior *behavior,
                       struct sherd_bytes init, struct sherd_ref *ref)
{
    return spawn(system, NULL, behavior, init, ref);
}

int sherd_system_spawn_named(struct sherd_system *system, const char *name,
                             const struct sherd_behavior *behavior,
                             struct sherd_bytes init, struct sherd_ref *ref)
{
    if (name)
        return spawn(system, name, behavior, init, ref);
    if (ref)
        *ref = (struct sherd_ref){ 0, 0 };
    return SHERD_EINVAL;
}

int sherd_system_tell(struct sherd_system *system, struct sherd_ref to,
                      uint32_t msg, struct sherd_bytes body)
{
    struct mail mail;
    uint32_t machine;

    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    if (!node_mail_tell(system->node, to, msg, body, &mail, &machine))
        return SHERD_EINVAL;
    return give_mail(system, machine, mail, body.size);
}

int sherd_system_entity_tell(struct sherd_system *system, const char *type,
                             const char *id, uint32_t msg,
                             struct sherd_bytes body)
{
    struct mail mail;
    uint32_t machine;

    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    if (!type || !id)
        return SHERD_EINVAL;
    if (!node_has_type(system->node, type))
        return SHERD_ENOTYPE;
    if (!node_mail_entity_tell(system->node, type, id, msg, body, &mail,
                               &machine))
        return SHERD_EINVAL;
    return give_mail(system, machine, mail, body.size);
}
