/* Opens a system's file of durable keys, and passes its answers to control. */
#define _GNU_SOURCE
#include "host/system.h"

#include "base/check.h"
#include "ddata/durable.h"
#include "host/durable.h"
#include "host/thread.h"

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
