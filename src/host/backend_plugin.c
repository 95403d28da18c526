/* Translates requests of the journal for registered back ends, and keeps the list of these. */
#include "host/backend_plugin.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

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

/* One translated request. */
struct translated {
    struct sherd_backend_request request;
    struct sherd_backend_record *records;
    struct buf texts; /* answers move the request's own bytes */
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

static struct sherd_bytes lend(const struct journal_request *request,
                               struct backend_span span)
{
    struct slice slice = backend_slice(request, span);

    return (struct sherd_bytes){ slice.data, slice.size };
}

static struct sherd_fence fence_out(struct fence fence)
{
    return (struct sherd_fence){ fence.term, fence.epoch };
}

static struct fence fence_in(struct sherd_fence fence)
{
    return (struct fence){ fence.term, fence.epoch };
}

static void translate_records(struct translated *to, const struct journal_request *from)
{
    to->request.record_count = from->records.count;
    to->records = mem_alloc(from->records.count * sizeof *to->records);
    to->request.records = to->records;
    for (uint32_t i = 0; i < from->records.count; i++) {
        const struct backend_record *record = &from->records.items[i];

        to->records[i].entity = record->entity;
        to->records[i].seq = record->seq;
        to->records[i].bytes = lend(from, record->bytes);
    }
}

static void translate_append(struct translated *to,
                             const struct journal_request *from)
{
    struct sherd_backend_request *request = &to->request;

    request->shard_count = from->shards.count;
    request->entity_count = from->entities.count;
    request->shards = mem_alloc(from->shards.count * sizeof *request->shards);
    request->entities =
        mem_alloc(from->entities.count * sizeof *request->entities);
    for (uint32_t i = 0; i < from->shards.count; i++) {
        const struct backend_shard *shard = &from->shards.items[i];

        request->shards[i].type = lend(from, shard->type);
        request->shards[i].shard = lend(from, shard->shard);
        request->shards[i].fence = fence_out(shard->fence);
    }
    for (uint32_t i = 0; i < from->entities.count; i++) {
        const struct backend_entity *entity = &from->entities.items[i];

        request->entities[i].shard = entity->shard;
        request->entities[i].cut = entity->cut;
        request->entities[i].id = lend(from, entity->id);
    }
    translate_records(to, from);
}

/* Copies the texts: an answer that grows moves those of the request. */
static void translate_texts(struct translated *to,
                            const struct journal_request *from)
{
    const struct backend_span spans[] = { from->type, from->shard, from->id };
    struct sherd_bytes *const targets[] = { &to->request.type,
                                            &to->request.shard,
                                            &to->request.id };
    size_t at = 0;

    for (int i = 0; i < 3; i++)
        buf_put_slice(&to->texts, backend_slice(from, spans[i]));
    for (int i = 0; i < 3; i++) {
        *targets[i] = (struct sherd_bytes){
            to->texts.data ? (const void *)(to->texts.data + at) : "",
            spans[i].size
        };
        at += spans[i].size;
    }
}

static void translate(struct translated *to, struct journal_request *from)
{
    struct sherd_backend_request *request = &to->request;

    *to = (struct translated){ 0 };
    request->verb = (enum sherd_backend_verb)from->verb;
    request->again = from->again;
    request->fence = fence_out(from->fence);
    request->proof =
        (struct sherd_proof){ from->proof.term, from->proof.value };
    request->next_proof = from->next_proof;
    request->lists = from->lists;
    request->next = from->next;
    request->from = from->from;
    request->count_max = from->count_max;
    request->size_max = from->size_max;
    request->owner = from;
    if (from->verb == BACKEND_APPEND)
        translate_append(to, from);
    else
        translate_texts(to, from);
    if (from->verb == BACKEND_SAVE)
        translate_records(to, from);
}

static enum backend_result result_in(enum sherd_backend_result result)
{
    switch (result) {
    case SHERD_BACKEND_DONE:
        return BACKEND_DONE;
    case SHERD_BACKEND_FENCED:
    case SHERD_BACKEND_LOST:
        return BACKEND_FENCED;
    case SHERD_BACKEND_CONFLICT:
        return BACKEND_CONFLICT;
    case SHERD_BACKEND_UNKNOWN:
        return BACKEND_UNKNOWN;
    case SHERD_BACKEND_OTHER_STORE:
        return BACKEND_OTHER_STORE;
    case SHERD_BACKEND_PENDING:
    case SHERD_BACKEND_FAILED:
        break;
    }
    return BACKEND_FAILED;
}

/* The fence that ends a shard on this node must be higher than its own: the coordinator then
 * allocates the shard with a fence above both. */
static struct fence ending_fence(struct fence own, struct fence stored)
{
    if (fence_compare(own, stored) < 0)
        return stored;
    return (struct fence){ own.term, own.epoch + 1 };
}

static void answer_append(struct journal_request *to,
                          const struct sherd_backend_request *from)
{
    for (uint32_t i = 0; i < to->shards.count; i++) {
        struct backend_shard *shard = &to->shards.items[i];

        shard->result = result_in(from->shards[i].result);
        shard->stored = fence_in(from->shards[i].stored);
        if (shard->result == BACKEND_FENCED)
            shard->stored = ending_fence(shard->fence, shard->stored);
    }
    for (uint32_t i = 0; i < to->entities.count; i++)
        to->entities.items[i].result = result_in(from->entities[i].result);
}

static void answer(struct journal_request *to, struct translated *translated)
{
    struct sherd_backend_request *from = &translated->request;

    to->result = result_in(from->result);
    from->error[sizeof from->error - 1] = 0;
    memcpy(to->error, from->error, sizeof to->error);
    if (to->verb == BACKEND_CLAIM || to->verb == BACKEND_TAKE_TERM)
        to->fence = fence_in(from->fence);
    if (to->verb >= BACKEND_SAVE && to->result == BACKEND_FENCED)
        to->fence = ending_fence(to->fence, fence_in(from->fence));
    if (to->verb == BACKEND_SAVE)
        to->from = from->from;
    to->more = from->more != 0;
    to->deleted = from->deleted;
    if (to->verb == BACKEND_APPEND)
        answer_append(to, from);
    mem_free(from->shards);
    mem_free(from->entities);
    mem_free(translated->records);
    buf_fini(&translated->texts);
}

static void run(const struct plugin *plugin, bool writes,
                struct journal_request **requests, uint32_t count)
{
    struct translated *translated = mem_alloc(count * sizeof *translated);
    struct sherd_backend_request **lent = mem_alloc(count * sizeof *lent);
    bool has_snapshots = plugin->backend->version > 1 && plugin->backend->snapshots;
    uint32_t known = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (requests[i]->verb == BACKEND_LOAD && !has_snapshots) {
            requests[i]->result = BACKEND_DONE; /* there is none */
        } else if (requests[i]->verb >= BACKEND_SAVE && !has_snapshots) {
            backend_settle(requests[i], BACKEND_FAILED, "the back end keeps no snapshots");
        } else {
            translate(&translated[known], requests[i]);
            lent[known] = &translated[known].request;
            known++;
        }
    }
    if (writes && known)
        plugin->backend->write(plugin->store, lent, known);
    else if (known)
        plugin->backend->read(plugin->store, lent, known);
    for (uint32_t i = 0; i < known; i++)
        answer(translated[i].request.owner, &translated[i]);
    mem_free(translated);
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

const struct backend_ops backend_plugin = {
    .name = "plugin",
    .open = open_plugin,
    .write = write_plugin,
    .read = read_plugin,
    .close = close_plugin,
    .identify = identify_plugin,
    .can_write = can_write_plugin,
};
