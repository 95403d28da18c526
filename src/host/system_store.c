/* Opens a system's journal, passes its answers to the machines, and logs what it reports. */
#define _GNU_SOURCE
#include "host/system.h"

#include "base/limits.h"
#include "host/backend_memory.h"
#include "host/backend_sqlite.h"
#include "host/thread.h"

#define FENCED_SAID_NS 1000000000ull

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
               "hint=\"check whether this process was suspended or cut off\"",
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

int system_open_store(struct sherd_system *system)
{
    const struct settings *settings = &system->settings;
    const char *name = settings->node.identity.system;
    struct backend_client_options options = {
        .ops = settings->sqlite ? &backend_sqlite : &backend_memory,
        .store = { .path = settings->sqlite ? settings->sqlite_path : name,
                   .cluster = settings->node.cluster_id,
                   .lock_wait_ms = settings->lock_wait_ms },
        .polls = system->polls_store,
        .done = stored,
        .log_kept = log_kept,
        .lost = lost_store,
        .failing = failing_store,
        .context = system,
    };
    char error[BACKEND_ERROR_MAX];

    if (backend_client_open(&system->store, &options, error) != 0) {
        system_log(system, TRACE_ERROR, "journal", "%s", error);
        return SHERD_ESTORE;
    }
    return 0;
}
