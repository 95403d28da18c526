/* Runs the thread of durable keys: it writes all waiting requests as one transaction. */
#define _GNU_SOURCE
#include "host/durable.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/line.h"
#include "host/durable_files.h"

#define MS UINT64_C(1000000)
#define LOOK_NS (1000 * MS) /* between two looks at the files */

struct durable {
    struct durable_options options;
    struct durable_files *files;
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_cond_t changed;
    bool closing; /* under the mutex, like the next two */
    VEC(struct durable_request *) waiting; /* in order */
    struct durable_counters counters;

    /* The thread's own. */
    VEC(struct durable_request *) taken; /* come back when their changes are durable */
    struct map changes;   /* key -> struct durable_change */
    size_t changes_size;  /* bytes of their values */
    uint64_t write_at;    /* with write-behind; 0: no changes */
    uint64_t look_at;     /* the next look at the files; 0: they are not loaded, or lost */
    bool is_failing;      /* the last transaction failed */
    char error[DURABLE_ERROR_MAX]; /* why */
};

static void count(struct durable *durable, uint64_t *counter, uint64_t by)
{
    uv_mutex_lock(&durable->mutex);
    *counter += by;
    uv_mutex_unlock(&durable->mutex);
}

static void finish(struct durable *durable, struct durable_request *request,
                   const char *error)
{
    request->result = error ? DURABLE_FAILED : DURABLE_DONE;
    if (error)
        (void)snprintf(request->error, sizeof request->error, "%s",
                       error); /* may be cut */
    durable->options.done(durable->options.context, request);
}

/* ---- changes ---- */

static void drop_changes(struct durable *durable)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&durable->changes, &at, &entry);) {
        struct durable_change *change = entry.value;

        mem_free(change->key);
        buf_fini(&change->value);
        mem_free(change);
    }
    map_fini(&durable->changes);
    durable->changes_size = 0;
    durable->write_at = 0;
}

/* The last change of a key wins. */
static void add_change(struct durable *durable, struct slice key,
                       struct slice value, bool erases)
{
    struct durable_change *change = map_get(&durable->changes, key);

    if (!change) {
        change = mem_alloc(sizeof *change);
        change->key = mem_copy(key.data, key.size);
        change->key_size = (uint32_t)key.size;
        (void)map_put(&durable->changes, key, change); /* there was none */
    }
    durable->changes_size -= change->value.size;
    buf_clear(&change->value);
    buf_put_slice(&change->value, value);
    change->erases = erases;
    durable->changes_size += value.size;
}

static const char *fault_of(const struct durable_request *request)
{
    for (uint32_t i = 0; i < request->entries.count; i++) {
        if (!durable_key_is_good(
                durable_slice(request, request->entries.items[i].key)))
            return "a durable key has 1 to 510 bytes";
        if (request->entries.items[i].value.size > DURABLE_VALUE_MAX)
            return "a durable value has at most 2 MiB";
    }
    return NULL;
}

/* Reports a change of the files once, and refuses what write-behind would acknowledge. */
static void look_at_files(struct durable *durable)
{
    if (!durable->look_at)
        return;
    durable->look_at = uv_hrtime() + LOOK_NS;
    if (durable_files_are_kept(durable->files, durable->error))
        return;
    durable->look_at = 0;
    durable->is_failing = true;
    if (durable->options.lost)
        durable->options.lost(durable->options.context, durable->error);
}

static void write_changes(struct durable *durable)
{
    uint32_t changes = durable->changes.count;
    int result;

    durable->write_at = 0;
    if (!changes)
        return;
    result = durable_files_write(durable->files, &durable->changes,
                                 durable->error);
    durable->is_failing = result != 0;
    if (result != 0)
        look_at_files(durable);
    /* They were acknowledged before. */
    if (durable->options.write_behind_ms && durable->options.written)
        durable->options.written(durable->options.context,
                                 result == 0 ? NULL : durable->error);
    count(durable,
          result == 0 ? &durable->counters.transactions :
                        &durable->counters.failures,
          1);
    if (result == 0)
        count(durable, &durable->counters.changes, changes);
    if (result == 0 || !durable->options.write_behind_ms)
        drop_changes(durable);
    else /* acknowledged: retried */
        durable->write_at = uv_hrtime() + durable->options.write_behind_ms * MS;
}

/* ---- requests ---- */

static void take(struct durable *durable, struct durable_request *request)
{
    const char *fault;

    if (request->verb == DURABLE_LOAD) {
        durable_files_load(durable->files, request);
        if (request->result == DURABLE_DONE)
            durable->look_at = uv_hrtime() + LOOK_NS;
        durable->options.done(durable->options.context, request);
        return;
    }
    fault = fault_of(request);
    if (!fault && durable->options.write_behind_ms && durable->is_failing) {
        count(durable, &durable->counters.refused, 1);
        fault = durable->error;
    }
    if (fault) {
        finish(durable, request, fault);
        return;
    }
    for (uint32_t i = 0; i < request->entries.count; i++) {
        const struct durable_entry *entry = &request->entries.items[i];

        add_change(durable, durable_slice(request, entry->key),
                   durable_slice(request, entry->value),
                   request->verb == DURABLE_ERASE);
    }
    if (durable->options.write_behind_ms) {
        if (!durable->write_at)
            durable->write_at =
                uv_hrtime() + durable->options.write_behind_ms * MS;
        finish(durable, request, NULL);
    } else {
        vec_push(&durable->taken, request);
    }
}

static void write_taken(struct durable *durable)
{
    write_changes(durable);
    for (uint32_t i = 0; i < durable->taken.count; i++)
        finish(durable, durable->taken.items[i],
               durable->is_failing ? durable->error : NULL);
    durable->taken.count = 0;
}

static bool is_due(const struct durable *durable)
{
    return durable->taken.count ||
           (durable->changes_size >= DURABLE_PENDING_SIZE_MAX &&
            !durable->is_failing) ||
           (durable->write_at && uv_hrtime() >= durable->write_at);
}

/* Under the mutex. False: end. */
static bool wait_for_work(struct durable *durable)
{
    while (!durable->waiting.count && !is_due(durable)) {
        uint64_t now = uv_hrtime();
        uint64_t next = durable->look_at;

        if (durable->closing)
            return false;
        if (durable->write_at && (!next || durable->write_at < next))
            next = durable->write_at;
        if (durable->look_at && durable->look_at <= now)
            return true;
        if (!next)
            uv_cond_wait(&durable->changed, &durable->mutex);
        else if (next > now)
            (void)uv_cond_timedwait(&durable->changed, &durable->mutex,
                                    next - now); /* the loop looks again */
    }
    return true;
}

/* Acknowledged, and there is no later try. */
static void tell_lost(struct durable *durable)
{
    char text[DURABLE_ERROR_MAX + 144];

    line_format(text, sizeof text,
                "changes that were acknowledged are lost count=%u why=\"%s\" "
                "hint=\"check the disk; write the keys again\"",
                durable->changes.count, durable->error); /* fits */
    if (durable->options.warn)
        durable->options.warn(durable->options.context, text);
}

static void run(void *arg)
{
    struct durable *durable = arg;

    uv_mutex_lock(&durable->mutex);
    while (wait_for_work(durable)) {
        VEC(struct durable_request *) group = { NULL, 0, 0 };

        group.items = durable->waiting.items;
        group.count = durable->waiting.count;
        durable->waiting.items = NULL;
        durable->waiting.count = durable->waiting.capacity = 0;
        uv_mutex_unlock(&durable->mutex);
        for (uint32_t i = 0; i < group.count; i++) {
            take(durable, group.items[i]);
            if (durable->changes_size >= DURABLE_PENDING_SIZE_MAX)
                write_taken(durable);
        }
        vec_fini(&group);
        if (is_due(durable))
            write_taken(durable);
        if (durable->look_at && uv_hrtime() >= durable->look_at)
            look_at_files(durable);
        uv_mutex_lock(&durable->mutex);
    }
    uv_mutex_unlock(&durable->mutex);
    write_changes(durable); /* of write-behind */
    if (durable->changes.count)
        tell_lost(durable);
}

int durable_open(struct durable **opened,
                 const struct durable_options *options, char *error)
{
    struct durable_files *files;
    struct durable *durable;
    int fault;

    *opened = NULL;
    if (durable_files_open(&files, options->directory, options->cluster,
                           options->map_size, error) != 0)
        return -1;
    durable = mem_alloc(sizeof *durable);
    durable->options = *options;
    durable->options.directory = durable->options.cluster = NULL;
    durable->files = files;
    check(uv_mutex_init(&durable->mutex) == 0);
    check(uv_cond_init(&durable->changed) == 0);
    fault = uv_thread_create(&durable->thread, run, durable);
    if (fault != 0) {
        (void)snprintf(error, DURABLE_ERROR_MAX, "thread cannot start: %s",
                       uv_strerror(fault));
        uv_cond_destroy(&durable->changed);
        uv_mutex_destroy(&durable->mutex);
        durable_files_close(files);
        mem_free(durable);
        return -1;
    }
    *opened = durable;
    return 0;
}

void durable_submit(struct durable *durable, struct durable_request *request)
{
    bool full;

    uv_mutex_lock(&durable->mutex);
    full = durable->waiting.count >= DURABLE_QUEUE_MAX;
    if (full)
        durable->counters.refused++;
    else
        vec_push(&durable->waiting, request);
    uv_cond_signal(&durable->changed);
    uv_mutex_unlock(&durable->mutex);
    if (full)
        finish(durable, request, "the queue of durable keys is full");
}

void durable_get_counters(struct durable *durable,
                          struct durable_counters *counters)
{
    uv_mutex_lock(&durable->mutex);
    *counters = durable->counters;
    uv_mutex_unlock(&durable->mutex);
}

void durable_close(struct durable *durable)
{
    if (!durable)
        return;
    uv_mutex_lock(&durable->mutex);
    durable->closing = true;
    uv_cond_signal(&durable->changed);
    uv_mutex_unlock(&durable->mutex);
    durable_files_stop(durable->files);
    check(uv_thread_join(&durable->thread) == 0);
    drop_changes(durable);
    durable_files_close(durable->files);
    uv_cond_destroy(&durable->changed);
    uv_mutex_destroy(&durable->mutex);
    vec_fini(&durable->waiting);
    vec_fini(&durable->taken);
    mem_free(durable);
}
