/* Opens the lease providers that the configuration and entity types name. */
#define _GNU_SOURCE
#include "host/system.h"

#include <string.h>

#include "host/lease_file.h"
#include "host/lease_provider.h"
#include "host/thread.h"
#include "lease/lease.h"
#include "node/entity_type.h"
#include "node/peers/lease_names.h"

static void leased(void *context, struct lease_request *request)
{
    struct thread *thread = system_thread(context, 0);

    inbox_put_leased(&thread->inbox, request);
    thread_wake(thread);
}

static void warn_of_leases(void *context, const char *text)
{
    system_log(context, TRACE_WARNING, "lease", "%s", text);
}

static const char *text_of(enum lease_use use, bool is_held)
{
    if (!is_held)
        return "no lease is held in it";
    return use == LEASE_USE_RESOLVER ? "the lease is lost"
                                     : "the leases of shards, coordinators and singletons are lost";
}

static void changed_lease(void *context, enum lease_use use, const char *why, bool is_held)
{
    struct sherd_system *system = context;
    uint32_t bit = 1u << use;

    if (!why) {
        atomic_fetch_and(&system->leases_broken, ~bit);
        system_log(system, TRACE_INFO, "lease", "lease file is there again");
        return;
    }
    atomic_fetch_or(&system->leases_broken, bit);
    system_log(system, TRACE_ERROR, "lease",
               "%s: %s hint=\"keep the directory; a node of this host that is "
               "started again makes a new file\"",
               why, text_of(use, is_held));
    if (!is_held)
        return;
    atomic_fetch_or(&system->leases_due, bit);
    if (system_has_threads(system))
        thread_wake(system_thread(system, 0));
}

static int unusable(struct sherd_system *system, enum lease_provider_kind provider,
                    const char *error)
{
    system_log(system, TRACE_ERROR, "lease", "lease provider cannot be used provider=%s why=\"%s\" hint=\"%s\"",
               lease_provider_text(provider), error,
               provider == LEASE_PROVIDER_FILE
                   ? "lease.directory must be a local directory that the node can write"
                   : "check the settings lease.etcd.*");
    return SHERD_ESTORE;
}

/* 0, or SHERD_ESTORE with a line in the log. A provider that is open stays so. */
static int open_provider(struct sherd_system *system, enum lease_provider_kind provider)
{
    const struct settings *settings = &system->settings;
    const struct node_settings *node = &settings->node;
    char name[LEASE_TEXT_MAX];
    struct lease_provider_options options = {
        .directory = provider == LEASE_PROVIDER_FILE ? settings->lease_directory : NULL,
        .etcd = provider == LEASE_PROVIDER_ETCD ? &settings->etcd : NULL,
        .done = leased,
        .warn = warn_of_leases,
        .changed = changed_lease,
        .context = system,
        .name = provider == node->lease_provider ? name : NULL,
    };
    char error[LEASE_PATH_SIZE + 200];

    if (!provider || system->leases[provider])
        return 0;
    (void)lease_name(name, node->lease_name, node->identity.system);
    if (lease_provider_open(&system->leases[provider], &options, error, sizeof error) != 0)
        return unusable(system, provider, error);
    return 0;
}

/* Likewise; for leases that are bound to the node's session. */
static int open_group(struct sherd_system *system, enum lease_provider_kind provider)
{
    struct buf name = { 0 };
    char error[LEASE_PATH_SIZE + 200];
    int result = open_provider(system, provider);

    if (!provider || result != 0)
        return result;
    session_lease_name_put(&name, &system->settings.node);
    buf_put_u8(&name, 0);
    if (lease_provider_prepare(system->leases[provider], (const char *)name.data, error,
                               sizeof error) != 0)
        result = unusable(system, provider, error);
    buf_fini(&name);
    return result;
}

int system_open_leases(struct sherd_system *system)
{
    const struct node_settings *node = &system->settings.node;
    int result = open_provider(system, node->lease_provider);

    if (result == 0)
        result = open_group(system, node->shard_lease);
    if (result == 0)
        result = open_group(system, node->coordinator_lease);
    return result == 0 ? open_group(system, node->singleton_lease) : result;
}

bool system_open_lease(void *context, uint32_t provider)
{
    struct sherd_system *system = context;
    enum lease_provider_kind kind = (enum lease_provider_kind)provider;
    char error[512];
    bool is_open;

    if (!settings_check_lease(&system->settings, kind, error, sizeof error)) {
        system_log(system, TRACE_ERROR, "config", "%s", error);
        return false;
    }
    uv_mutex_lock(&system->types_mutex); /* types open providers, too */
    is_open = open_group(system, kind) == 0;
    uv_mutex_unlock(&system->types_mutex);
    return is_open;
}

int system_lease_type(struct sherd_system *system, const struct sherd_entity_type *type)
{
    const struct settings *settings = &system->settings;
    const char *fault = entity_type_lease_fault(&settings->node, type);
    enum lease_provider_kind provider = LEASE_PROVIDER_NONE;
    char error[512];

    if (fault) {
        system_log(system, TRACE_ERROR, "host",
                   "an entity type is not valid type=\"%s\" why=\"%s\"", type->name, fault);
        return SHERD_EINVAL;
    }
    (void)lease_provider_parse(type->use_lease, &provider); /* valid */
    if (!provider || type->proxy ||
        (type->data_center && strcmp(type->data_center, settings->node.data_center) != 0))
        return 0;
    if (!settings_check_lease(settings, provider, error, sizeof error)) {
        system_log(system, TRACE_ERROR, "config", "%s", error);
        return SHERD_EINVAL;
    }
    return open_group(system, provider);
}
