/* Opens a system's journal and its file of durable keys, passes their answers to the machines, and
 * logs what they report. */
#define _GNU_SOURCE
#include "host/system.h"

#include "base/check.h"
#include "base/limits.h"
#include "ddata/durable.h"
#include "host/backend_memory.h"
#include "host/backend_place.h"
#include "host/backend_plugin.h"
#include "host/backend_sqlite.h"
#include "host/durable.h"
#include "host/thread.h"

#define FENCED_SAID_NS 1000000000ull

/* ---- the journal ---- */

/* Logs that the journal refused to write for another node's shard, at most once a second. On the
 * store's writer thread, so the log has it even if no actor is left to read the answer. */
static void report_fenced(struct sherd_system *system,
                          struct journal_request *const *requests, uint32_t count)
{
    uint64_t now = uv_hrtime();
    uint32_t entities = 0;

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < requests[i]->entities.count; j++)
            entities += requests[i]->entities.items[j].result == BACKEND_FENCED;
    if (!entities || (system->fenced_said_at &&
                      now - system->fenced_said_at < FENCED_SAID_NS))
        return;
    system->fenced_said_at = now;
    system_log(system, TRACE_WARNING, "journal",
               "writes refused by the fence: another node owns the shard "
               "entities=%u "
               "hint=\"check whether this process was suspended or cut off, or "
               "a second cluster has the same journal\"",
               (unsigned)entities);
}

static void stored(void *context, struct journal_request **requests,
                   uint32_t count)
{
    struct sherd_system *system = context;
    bool woken[LANES_MAX + 1] = { false };

    report_fenced(system, requests, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t machine = requests[i]->machine;

        woken[machine] = true;
        inbox_put_stored(&system_thread(system, machine)->inbox,
                         requests[i]); /* given */
    }
    for (uint32_t i = 0; i < system->machine_count; i++)
        if (woken[i])
            thread_wake(system_thread(system, i));
}

static void log_kept(void *context, const char *path, uint64_t size)
{
    if (size)
        system_log(context, TRACE_WARNING, "journal",
                   "write-ahead log of the journal grows: a long read holds it "
                   "file=\"%s-wal\" size=%llu limit=%llu hint=\"end other "
                   "programs that read the journal\"",
                   path, (unsigned long long)size,
                   (unsigned long long)BACKEND_WAL_PAGES_MAX * 4096);
    else
        system_log(context, TRACE_WARNING, "journal",
                   "write-ahead log of the journal is short again "
                   "file=\"%s-wal\"", path);
}

static void lost_store(void *context, const char *why)
{
    struct sherd_system *system = context;

    atomic_store(&system->store_lost, true);
    system_log(system, TRACE_ERROR, "journal", "%s", why);
}

static void failing_store(void *context, const char *why)
{
    struct sherd_system *system = context;

    atomic_store(&system->store_fails, why != NULL);
    if (why)
        system_log(system, TRACE_ERROR, "journal",
                   "journal stores nothing; the node is not ready error=\"%s\" "
                   "hint=\"check the disk's space and rights; it is tried again "
                   "each second\"",
                   why);
    else
        system_log(system, TRACE_INFO, "journal", "journal stores again");
}

/* The rest of the journal is served. */
static void damaged_store(void *context, const char *part, const char *why)
{
    struct sherd_system *system = context;

    if (why)
        system_log(system, TRACE_ERROR, "journal",
                   "part of the journal is damaged and refused part=\"%s\" "
                   "error=\"%s\" hint=\"stop the nodes and restore a backup, or "
                   "accept the loss with sherd journal\"",
                   part, why);
    else
        system_log(system, TRACE_INFO, "journal",
                   "part of the journal is intact again part=\"%s\"", part);
}

static void checked_store(void *context, const struct backend_check *check)
{
    struct sherd_system *system = context;

    if (check->error[0])
        system_log(system, TRACE_WARNING, "journal",
                   "journal not checked to its end error=\"%s\"", check->error);
    else
        system_log(system, TRACE_INFO, "journal",
                   "journal checked pages=%llu entities=%llu events=%llu "
                   "damaged=%llu",
                   (unsigned long long)check->pages,
                   (unsigned long long)check->entities,
                   (unsigned long long)check->events,
                   (unsigned long long)check->damaged);
}

static const char *setting_of_plugin(void *user, const char *key)
{
    const struct sherd_system *system = user;

    return settings_of_backend(&system->settings, key);
}

static void log_plugin(void *user, enum sherd_backend_level level,
                       const char *line)
{
    static const enum trace_level levels[] = { TRACE_INFO, TRACE_WARNING,
                                               TRACE_ERROR };

    system_log(user, levels[level], "journal", "%s", line);
}

int system_open_store(struct sherd_system *system)
{
    const struct settings *settings = &system->settings;
    char *path = settings->sqlite ? backend_place_absolute(settings->sqlite_path)
                 : mem_text(settings->plugin ? settings->place
                                             : settings->node.identity.system);
    struct backend_client_options options = {
        .ops = settings->plugin   ? &backend_plugin
               : settings->sqlite ? &backend_sqlite
                                  : &backend_memory,
        .store = { .path = path,
                   .key = settings->journal_key,
                   .cluster = settings->node.cluster_id,
                   .lock_wait_ms = settings->lock_wait_ms,
                   .plugin = settings->plugin,
                   .setting = setting_of_plugin,
                   .user = system },
        .log = log_plugin,
        .readers = settings->plugin ? settings->plugin->readers : 0,
        .polls = system->polls_store,
        .done = stored,
        .log_kept = log_kept,
        .lost = lost_store,
        .failing = failing_store,
        .damaged = damaged_store,
        .checked = checked_store,
        .check_interval = settings->check_interval,
        .check_rate = settings->check_rate,
        .context = system,
    };
    char error[BACKEND_ERROR_MAX];
    int result = backend_client_open(&system->store, &options, error);

    mem_free(path);
    if (result == 0)
        return 0;
    system_log(system, TRACE_ERROR, "journal", "%s", error);
    return SHERD_ESTORE;
}

int system_start_store(struct sherd_system *system)
{
    char error[BACKEND_ERROR_MAX];

    if (backend_client_start(system->store, error) == 0)
        return 0;
    system_log(system, TRACE_ERROR, "journal",
               "%s hint=\"check the limits of threads and memory\"", error);
    return SHERD_ESYSTEM;
}

/* All nodes whose types have events in the journal must have the same one. */
void system_compare_stores(struct sherd_system *system)
{
    const struct settings *settings = &system->settings;
    struct buf name = { 0 };

    if (!system->needs_store)
        return;
    if (settings->any_store) {
        system_log(system, TRACE_WARNING, "journal",
                   "nodes with different journals may join: events are lost "
                   "when entities move hint=\"set "
                   "journal.allow-different-stores = off\"");
        return;
    }
    buf_put_text(&name, settings->plugin   ? settings->plugin->name
                        : settings->sqlite ? "sqlite "
                                           : "memory");
    if (settings->sqlite)
        buf_put_text(&name, settings->sqlite_path);
    if (settings->plugin) {
        buf_put_text(&name, " ");
        buf_put_text(&name, backend_client_identity(system->store)->name);
    }
    buf_put_u8(&name, 0);
    system->store_name = mem_text((const char *)name.data);
    buf_fini(&name);
    system->store_id = *backend_client_identity(system->store);
    system->settings.node.store_id = system->store_id.id;
    system->settings.node.store_name = system->store_name;
}

/* ---- durable keys ---- */

static void kept(void *context, struct durable_request *request)
{
    struct sherd_system *system = context;
    struct thread *thread = system_thread(system, 0);

    atomic_store(&system->durable_fails, request->result != DURABLE_DONE);
    inbox_put_durable(&thread->inbox, request);
    thread_wake(thread);
}

/* These changes were acknowledged before, so no answer tells the node. */
static void written(void *context, const char *error)
{
    struct sherd_system *system = context;

    atomic_store(&system->durable_fails, error != NULL);
    if (error)
        atomic_fetch_add(&system->durable_failures, 1);
    if (system->durable_is_behind == (error != NULL))
        return;
    system->durable_is_behind = error != NULL;
    if (error)
        system_log(system, TRACE_ERROR, "ddata",
                   "durable keys cannot be stored; writes are no longer "
                   "acknowledged error=\"%s\" "
                   "hint=\"check the disk's space and rights\"",
                   error);
    else
        system_log(system, TRACE_INFO, "ddata",
                   "durable keys stored again; writes are acknowledged");
}

static void lost_durable(void *context, const char *why)
{
    struct sherd_system *system = context;

    atomic_store(&system->durable_lost, true);
    system_log(system, TRACE_ERROR, "ddata", "%s", why);
}

static void warn_of_durable(void *context, const char *text)
{
    system_log(context, TRACE_ERROR, "ddata", "%s", text);
}

int system_open_durable(struct sherd_system *system)
{
    const struct settings *settings = &system->settings;
    char *directory = settings_durable_directory(settings);
    struct durable_options options = {
        .directory = directory,
        .cluster = settings->node.cluster_id,
        .map_size = settings->durable_map_size,
        .write_behind_ms = settings->durable_write_behind_ms,
        .done = kept,
        .written = written,
        .warn = warn_of_durable,
        .lost = lost_durable,
        .context = system,
    };
    char error[DURABLE_ERROR_MAX];
    int result = 0;

    if (system->node ? !system->durable && node_is_durable(system->node)
                     : settings->node.durable_key_count) {
        atomic_store(&system->durable_fails, true);
        result = durable_open(&system->durable, &options, error);
    }
    mem_free(directory);
    if (result == 0)
        return 0;
    system_log(system, TRACE_ERROR, "ddata", "%s", error);
    return SHERD_ESTORE;
}
