/* Hands requests of the journal to registered back ends, and keeps the list of these. */
#include "host/backend_plugin.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "journal/lent.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct sherd_backend *list[BACKEND_PLUGINS_MAX];
static uint32_t list_count;

struct plugin {
    const struct sherd_backend *backend;
    void *store;
    const struct backend_options *options; /* during open */
    void (*log)(void *log_user, enum sherd_backend_level level, const char *line);
    void *log_user;
};

static bool is_name(const char *name)
{
    if (!name || !name[0] || strlen(name) > 32 || strcmp(name, "memory") == 0 ||
        strcmp(name, "sqlite") == 0)
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_") == strlen(name);
}

static const struct sherd_backend *find(const char *name)
{
    for (uint32_t i = 0; i < list_count; i++)
        if (strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

const struct sherd_backend *backend_plugin_find(const char *name)
{
    const struct sherd_backend *found;

    check(pthread_mutex_lock(&list_lock) == 0);
    found = find(name);
    check(pthread_mutex_unlock(&list_lock) == 0);
    return found;
}

int sherd_backend_register(const struct sherd_backend *backend)
{
    int result = 0;
    const struct sherd_backend *other;

    if (!backend || backend->version < 1 || backend->version > SHERD_BACKEND_VERSION ||
        !is_name(backend->name) || !backend->open || !backend->write ||
        !backend->read || !backend->close || !backend->identify)
        return SHERD_EINVAL;
    check(pthread_mutex_lock(&list_lock) == 0);
    other = find(backend->name);
    if (other && other != backend)
        result = SHERD_EEXIST;
    else if (!other && list_count == BACKEND_PLUGINS_MAX)
        result = SHERD_EFULL;
    else if (!other)
        list[list_count++] = backend;
    check(pthread_mutex_unlock(&list_lock) == 0);
    return result;
}

/* ---- requests ---- */

static void run(const struct plugin *plugin, bool writes,
                struct journal_request **requests, uint32_t count)
{
    struct journal_lent *lents = mem_alloc(count * sizeof *lents);
    struct sherd_backend_request **lent = mem_alloc(count * sizeof *lent);
    bool has_snapshots = plugin->backend->version > 1 && plugin->backend->snapshots;
    uint32_t known = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (requests[i]->verb == BACKEND_LOAD && !has_snapshots) {
            requests[i]->result = BACKEND_DONE; /* there is none */
        } else if (requests[i]->verb >= BACKEND_SAVE && !has_snapshots) {
            backend_settle(requests[i], BACKEND_FAILED, "the back end keeps no snapshots");
        } else {
            journal_lend(&lents[known], requests[i]);
            lent[known] = &lents[known].request;
            known++;
        }
    }
    if (writes && known)
        plugin->backend->write(plugin->store, lent, known);
    else if (known)
        plugin->backend->read(plugin->store, lent, known);
    for (uint32_t i = 0; i < known; i++)
        journal_take_back(&lents[i]);
    mem_free(lents);
    mem_free(lent);
}

/* ---- connections ---- */

static const char *setting_of(void *user, const char *key)
{
    const struct plugin *plugin = user;

    return plugin->options && plugin->options->setting
               ? plugin->options->setting(plugin->options->user, key)
               : NULL;
}

static void log_line(void *user, enum sherd_backend_level level,
                     const char *line)
{
    const struct plugin *plugin = user;

    if (plugin->log)
        plugin->log(plugin->log_user, level, line);
}

static void *open_plugin(const struct backend_options *options,
                         enum backend_mode mode, char *error)
{
    struct plugin *plugin = mem_alloc(sizeof *plugin);
    struct sherd_backend_options lent = {
        .place = options->path ? options->path : "",
        .cluster = options->cluster ? options->cluster : "",
        .setting = setting_of,
        .log = log_line,
        .user = plugin,
    };

    plugin->backend = options->plugin;
    plugin->options = options;
    plugin->log = options->log;
    plugin->log_user = options->log_user;
    plugin->store = plugin->backend->open(
        &lent,
        mode == BACKEND_WRITER ? SHERD_BACKEND_WRITER : SHERD_BACKEND_READER,
        error);
    plugin->options = NULL;
    if (plugin->store)
        return plugin;
    mem_free(plugin);
    return NULL;
}

static void close_plugin(void *store)
{
    struct plugin *plugin = store;

    plugin->backend->close(plugin->store);
    mem_free(plugin);
}

static void write_plugin(void *store, struct journal_request **requests,
                         uint32_t count)
{
    run(store, true, requests, count);
}

static void read_plugin(void *store, struct journal_request **requests,
                        uint32_t count)
{
    run(store, false, requests, count);
}

static void identify_plugin(void *store, struct backend_identity *identity)
{
    const struct plugin *plugin = store;
    struct sherd_backend_identity found = { { 0 }, { 0 } };

    plugin->backend->identify(plugin->store, &found);
    found.id[sizeof found.id - 1] = 0;
    found.name[sizeof found.name - 1] = 0;
    (void)snprintf(identity->id, sizeof identity->id, "%s", found.id);
    (void)snprintf(identity->name, sizeof identity->name, "%s", found.name);
}

static bool can_write_plugin(void *store, char *error)
{
    const struct plugin *plugin = store;

    return !plugin->backend->can_write ||
           plugin->backend->can_write(plugin->store, error) != 0;
}

static bool is_alive_plugin(void *store, char *error)
{
    const struct plugin *plugin = store;

    return plugin->backend->version < 3 || !plugin->backend->is_alive ||
           plugin->backend->is_alive(plugin->store, error) != 0;
}

const struct backend_ops backend_plugin = {
    .name = "plugin",
    .open = open_plugin,
    .write = write_plugin,
    .read = read_plugin,
    .close = close_plugin,
    .identify = identify_plugin,
    .can_write = can_write_plugin,
    .is_alive = is_alive_plugin,
};
