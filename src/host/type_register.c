/* Checks and registers entity types, before the start and on a node that runs, and shuts single regions
 * down. */
#define _GNU_SOURCE
#include <string.h>

#include <sherd/sharding.h>

#include "base/limits.h"
#include "base/daemon_id.h"
#include "host/status.h"
#include "host/thread.h"
#include "host/type_calls.h"
#include "node/entity_type.h"
#include "node/type_passivation.h"

/* The data center of a type's shards. */
static const char *center_of(const struct sherd_system *system,
                             const struct sherd_entity_type *type)
{
    return type->data_center ? type->data_center
                             : system->settings.node.data_center;
}

static bool remembers(const struct sherd_system *system,
                      const struct sherd_entity_type *type)
{
    return type->remember
               ? type->remember > 0
               : system->settings.node.remember_entities;
}

static bool is_hosted(const struct sherd_system *system,
                      const struct sherd_entity_type *type)
{
    return !type->proxy && type->behavior.receive &&
           strcmp(center_of(system, type),
                  system->settings.node.data_center) == 0;
}

/* "" for none. */
static const char *role_of(const struct sherd_system *system,
                           const struct sherd_entity_type *type)
{
    const char *role = entity_type_role(&system->settings.node, type);

    return role ? role : "";
}

static bool has_role(const struct sherd_system *system,
                     const struct sherd_entity_type *type)
{
    const struct node_settings *node = &system->settings.node;
    const char *role = role_of(system, type);

    if (!*role)
        return true;
    for (uint32_t i = 0; i < node->role_count; i++)
        if (strcmp(node->roles[i], role) == 0)
            return true;
    return false;
}

/* Events in memory end with the process, so this must not happen unnoticed. */
static bool has_journal(struct sherd_system *system,
                        const struct sherd_entity_type *type)
{
    bool needs = entity_type_persists(type) ||
                 (remembers(system, type) &&
                  !system->settings.node.remembers_in_data);

    if (!needs || !is_hosted(system, type))
        return true;
    system->needs_store |= has_role(system, type); /* without it the type is a proxy here */
    if (system->settings.sqlite || system->settings.plugin)
        return true;
    if (!system->settings.has_journal)
        system_log(system, TRACE_ERROR, "journal",
                   "%s needs a journal: set "
                   "options.journal to \"sqlite:PATH\", or to \"memory\" for "
                   "a test in one process type=\"%s\"",
                   entity_type_persists(type) ? "a persistent entity type"
                                        : "a type whose entities are remembered",
                   type->name);
    else
        system_log(system, TRACE_WARNING, "journal",
                   "the journal is in memory: events are lost when this process "
                   "ends, and nodes of other processes are refused "
                   "type=\"%s\" hint=\"set journal.plugin = sqlite\"",
                   type->name);
    return system->settings.has_journal;
}

/* Logs it if the type shares a path or name with another type, or with sharding's replicator. */
static bool clashes(struct sherd_system *system,
                    const struct sherd_entity_type *type)
{
    const struct node_settings *settings = &system->settings.node;
    struct buf name = { 0 };
    bool clash = entity_types_clash(settings, type, type, &name);

    if (clash)
        system_log(system, TRACE_ERROR, "host",
                   "an entity type has the path of sharding's own replicator: "
                   "rename it type=\"%s\" both=\"%.*s\"",
                   type->name, (int)name.size, (const char *)name.data);
    for (uint32_t i = 0; i < system->types.count && !clash; i++) {
        const struct sherd_entity_type *other = &system->types.items[i];

        clash = entity_types_clash(settings, type, other, &name);
        if (clash)
            system_log(system, TRACE_ERROR, "host",
                       "two entity types have one path or name: rename one of "
                       "them type=\"%s\" other=\"%s\" both=\"%.*s\"",
                       type->name, other->name, (int)name.size,
                       (const char *)name.data);
    }
    buf_fini(&name);
    return clash;
}

/* A type of the same role remembers entities in distributed data. */
static bool remembered_before(const struct sherd_system *system,
                              const struct sherd_entity_type *type)
{
    for (uint32_t i = 0; i < system->types.count; i++)
        if (remembers(system, &system->types.items[i]) &&
            strcmp(role_of(system, &system->types.items[i]), role_of(system, type)) == 0)
            return true;
    return false;
}

/* Logs why a node that runs cannot take the type, which needs what was decided at the start. */
static bool comes_too_late(struct sherd_system *system, const struct sherd_entity_type *type)
{
    bool is_here = is_hosted(system, type) && has_role(system, type);
    bool in_data = remembers(system, type) && system->settings.node.remembers_in_data;

    if (is_here && !system->needs_store &&
        (entity_type_persists(type) || (remembers(system, type) && !in_data))) {
        system_log(system, TRACE_ERROR, "host",
                   "the first type with events in the journal cannot be registered on a node that "
                   "runs: the node joined without comparing its journal type=\"%s\" "
                   "hint=\"register it before sherd_start\"",
                   type->name);
        return true;
    }
    if (is_here && in_data && system->settings.shard_durable_keys.count &&
        !remembered_before(system, type)) {
        system_log(system, TRACE_ERROR, "host",
                   "the first type of a role that remembers entities in distributed data cannot be "
                   "registered on a node that runs: the role's durable keys are not loaded "
                   "type=\"%s\" hint=\"register it before sherd_start\"",
                   type->name);
        return true;
    }
    return false;
}

static void log_fault(struct sherd_system *system,
                      const struct sherd_entity_type *type, const char *fault)
{
    const char *name = type && type->name ? type->name : "";
    const char *meant = entity_type_meant(type);
    const char *strategy = type && type->passivation ? type->passivation->strategy : NULL;

    if (meant)
        system_log(system, TRACE_ERROR, "host",
                   "an entity type is not valid type=\"%s\" why=\"%s\" "
                   "allocation=\"%s\" hint=\"did you mean %s?\"",
                   name, fault, type->allocation, meant);
    else
        system_log(system, TRACE_ERROR, "host",
                   "an entity type is not valid type=\"%s\"%s%s why=\"%s\"", name,
                   strategy ? " strategy=" : "", strategy ? strategy : "", fault);
}

static int refuse(struct sherd_system *system, const struct sherd_entity_type *type, bool is_late)
{
    const char *fault = entity_type_fault(type);

    if (!fault)
        fault = type_passivation_fault(&system->settings.node, type);
    if (fault) {
        log_fault(system, type, fault);
        return SHERD_EINVAL;
    }
    for (uint32_t i = 0; i < system->types.count; i++) {
        if (strcmp(system->types.items[i].name, type->name) == 0 &&
            strcmp(center_of(system, &system->types.items[i]),
                   center_of(system, type)) == 0)
            return SHERD_EEXIST;
    }
    if (system->types.count >= ACTOR_TYPES_MAX) {
        system_log(system, TRACE_ERROR, "host",
                   "too many entity types type=\"%s\" limit=%d "
                   "hint=\"one type can serve several kinds of entities: put the kind into the id\"",
                   type->name, ACTOR_TYPES_MAX);
        return SHERD_EFULL;
    }
    if (is_late && comes_too_late(system, type))
        return SHERD_ESTATE;
    if (!has_journal(system, type))
        return SHERD_EINVAL;
    return clashes(system, type) ? SHERD_EEXIST : system_lease_type(system, type);
}

static void keep(struct sherd_system *system, const struct sherd_entity_type *type)
{
    struct sherd_entity_type copy = *type;

    copy.name = mem_text(type->name);
    copy.role = mem_text(type->role);
    copy.data_center = mem_text(type->data_center);
    copy.use_lease = mem_text(type->use_lease);
    copy.allocation = mem_text(type->allocation);
    entity_type_copy(&copy);
    vec_push(&system->types, copy);
    system_log_type(system, type);
}

/* ---- calls of a node that runs ---- */

static void send_call(struct sherd_system *system, struct type_call_state *call,
                      enum type_call kind, uint32_t type)
{
    struct type_part *part = mem_alloc(sizeof *part);
    struct mail mail;

    part->call = kind;
    part->type = type;
    part->driver = call;
    mail = node_mail_type_call(part);
    inbox_put_command(&system_thread(system, 0)->inbox, 0, &mail);
    thread_wake(system_thread(system, 0));
}

static int await(struct sherd_system *system, struct type_call_state *call)
{
    int result;

    uv_mutex_lock(&system->mutex);
    status_wait(system, &call->waiting, STATUS_WAIT_MS * MS);
    if (!call->waiting) {
        result = call->result;
        type_call_end(system, call);
    } else {
        call->abandoned = true;
        result = atomic_load(&system->state) == SYSTEM_RUNNING ? SHERD_ETIME : SHERD_ESTATE;
    }
    uv_mutex_unlock(&system->mutex);
    return result;
}

/* Daemons have some settings of their own. */
static struct sherd_entity_type complete(const struct sherd_system *system,
                                         const struct sherd_entity_type *type)
{
    const struct daemon_settings *own = &system->settings.daemons;
    struct sherd_entity_type result = *type;

    if (!type->name || !daemon_type_is(type->name))
        return result;
    if (!result.use_lease)
        result.use_lease = own->use_lease;
    if (!result.lease_retry_ms)
        result.lease_retry_ms = own->lease_retry_ms;
    if (!result.rebalance_absolute_limit)
        result.rebalance_absolute_limit = own->absolute_limit;
    if (result.rebalance_relative_limit <= 0)
        result.rebalance_relative_limit = own->relative_limit;
    return result;
}

int sherd_entity_register(struct sherd_system *system,
                          const struct sherd_entity_type *given)
{
    const struct sherd_entity_type completed = complete(system, given);
    const struct sherd_entity_type *type = &completed;
    bool is_late = system_state_of(system) == SYSTEM_RUNNING;
    struct type_call_state *call = NULL;
    int result;

    if (!is_late && system_state_of(system) != SYSTEM_OPEN)
        return SHERD_ESTATE;
    uv_mutex_lock(&system->types_mutex);
    result = refuse(system, type, is_late);
    if (!result && is_late && !(call = type_call_new(system, NULL, NULL)))
        result = SHERD_EFULL;
    if (!result)
        keep(system, type);
    if (call)
        send_call(system, call, TYPE_ADD, node_prepare_type(system->node, type));
    uv_mutex_unlock(&system->types_mutex);
    return call ? await(system, call) : result;
}

int sherd_region_shutdown(struct sherd_system *system, const char *type,
                          void (*done)(void *user, int result), void *user)
{
    struct type_call_state *call;
    uint32_t index;

    if (!system || !type || !done)
        return SHERD_EINVAL;
    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    index = node_type_index(system->node, type);
    if (index == ACTOR_TYPES_MAX)
        return SHERD_ENOTYPE;
    call = type_call_new(system, done, user);
    if (!call)
        return SHERD_EFULL;
    send_call(system, call, TYPE_STOP_REGION, index);
    return 0;
}
