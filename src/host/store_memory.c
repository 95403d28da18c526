/* The store in memory: streams of records, fences and terms in maps, under one
 * lock for each named store. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/store_memory.h"

#include <pthread.h>
#include <stdio.h>

#include "base/check.h"
#include "base/map.h"

/* All records of one persistence id; record n has sequence number n + 1. */
struct stream {
    VEC(struct slice) records; /* own copies */
};

struct memory {
    struct memory *next; /* in the list of this process */
    char *name;
    char *cluster;
    uint32_t connections;
    pthread_mutex_t lock;
    struct map streams; /* persistence id -> struct stream */
    struct map fences;  /* type and shard -> struct fence */
    struct map terms;   /* type -> uint64_t */
    struct buf key;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *list;

static struct memory *find_or_make(const char *name, const char *cluster)
{
    struct memory *memory;

    for (memory = list; memory; memory = memory->next)
        if (strcmp(memory->name, name) == 0)
            return memory;
    memory = mem_alloc(sizeof *memory);
    memory->name = mem_text(name);
    memory->cluster = mem_text(cluster);
    check(pthread_mutex_init(&memory->lock, NULL) == 0);
    memory->next = list;
    list = memory;
    return memory;
}

static void *open_memory(const struct store_options *options,
                         enum store_mode mode, char *error)
{
    const char *cluster = options->cluster ? options->cluster : "";
    struct memory *memory;

    (void)mode; /* readers and writers are alike */
    check(pthread_mutex_lock(&list_lock) == 0);
    memory = find_or_make(options->path ? options->path : "", cluster);
    if (strcmp(memory->cluster, cluster) != 0) {
        (void)snprintf(error, STORE_ERROR_MAX,
                       "memory journal \"%s\" belongs to cluster \"%s\", "
                       "not to \"%s\"",
                       memory->name, memory->cluster,
                       cluster); /* a cut text will do */
        memory = NULL;
    } else {
        memory->connections++;
    }
    check(pthread_mutex_unlock(&list_lock) == 0);
    return memory;
}

static void free_streams(struct map *streams)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(streams, &at, &entry)) {
        struct stream *stream = entry.value;

        for (uint32_t i = 0; i < stream->records.count; i++)
            mem_free((void *)(uintptr_t)stream->records.items[i].data);
        vec_fini(&stream->records);
        mem_free(stream);
    }
    map_fini(streams);
}

static void free_values(struct map *map)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(map, &at, &entry))
        mem_free(entry.value);
    map_fini(map);
}

static void close_memory(void *store)
{
    struct memory *memory = store;
    struct memory **at = &list;

    check(pthread_mutex_lock(&list_lock) == 0);
    if (--memory->connections == 0) {
        while (*at != memory)
            at = &(*at)->next;
        *at = memory->next;
        free_streams(&memory->streams);
        free_values(&memory->fences);
        free_values(&memory->terms);
        buf_fini(&memory->key);
        check(pthread_mutex_destroy(&memory->lock) == 0);
        mem_free(memory->name);
        mem_free(memory->cluster);
        mem_free(memory);
    }
    check(pthread_mutex_unlock(&list_lock) == 0);
}

static struct slice shard_key(struct memory *memory, struct slice type,
                              struct slice shard)
{
    buf_clear(&memory->key);
    buf_put_u32(&memory->key, (uint32_t)type.size);
    buf_put_slice(&memory->key, type);
    buf_put_slice(&memory->key, shard);
    return buf_slice(&memory->key);
}

static struct fence *stored_fence(struct memory *memory, struct slice type,
                                  struct slice shard)
{
    struct slice key = shard_key(memory, type, shard);
    struct fence *fence = map_get(&memory->fences, key);

    if (!fence) {
        fence = mem_alloc(sizeof *fence);
        (void)map_put(&memory->fences, key, fence); /* was absent */
    }
    return fence;
}

static struct stream *stream_of(struct memory *memory, struct slice id)
{
    struct stream *stream = map_get(&memory->streams, id);

    if (!stream) {
        stream = mem_alloc(sizeof *stream);
        (void)map_put(&memory->streams, id, stream); /* was absent */
    }
    return stream;
}

/* What an append may do to one entity. */
struct verdict {
    struct stream *stream;
    uint64_t last; /* sequence number, with the records of the append */
    bool adds;     /* at least one record is not stored yet */
    bool conflict;
};

static void judge_record(const struct store_request *request,
                         const struct store_record *record,
                         struct verdict *verdict)
{
    const struct stream *stream = verdict->stream;

    if (record->seq == verdict->last + 1) {
        verdict->last++;
        verdict->adds = true;
    } else if (verdict->adds || !request->again || record->seq == 0 ||
               record->seq > verdict->last ||
               !slice_equal(stream->records.items[record->seq - 1],
                            store_slice(request, record->bytes))) {
        verdict->conflict = true;
    }
}

static void judge_shards(struct memory *memory, struct store_request *request)
{
    for (uint32_t i = 0; i < request->shards.count; i++) {
        struct store_shard *shard = &request->shards.items[i];

        shard->stored =
            *stored_fence(memory, store_slice(request, shard->type),
                          store_slice(request, shard->shard));
        shard->result = fence_compare(shard->stored, shard->fence) > 0
                            ? STORE_FENCED
                            : STORE_DONE;
    }
}

static void append(struct memory *memory, struct store_request *request)
{
    struct verdict *verdicts =
        mem_alloc(request->entities.count * sizeof *verdicts);

    judge_shards(memory, request);
    for (uint32_t i = 0; i < request->entities.count; i++) {
        struct verdict *verdict = &verdicts[i];

        verdict->stream = stream_of(
            memory, store_slice(request, request->entities.items[i].id));
        verdict->last = verdict->stream->records.count;
    }
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct store_record *record = &request->records.items[i];

        judge_record(request, record, &verdicts[record->entity]);
    }
    for (uint32_t i = 0; i < request->entities.count; i++) {
        struct store_entity *entity = &request->entities.items[i];
        bool fenced = request->shards.items[entity->shard].result ==
                          STORE_FENCED &&
                      !(request->again && !verdicts[i].adds);

        entity->result = fenced                 ? STORE_FENCED
                         : verdicts[i].conflict ? STORE_CONFLICT
                                                : STORE_DONE;
    }
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct store_record *record = &request->records.items[i];
        struct stream *stream = verdicts[record->entity].stream;
        struct slice bytes = store_slice(request, record->bytes);

        if (request->entities.items[record->entity].result == STORE_DONE &&
            record->seq > stream->records.count)
            vec_push(&stream->records,
                     slice_of(mem_copy(bytes.data, bytes.size), bytes.size));
    }
    request->result = STORE_DONE;
    mem_free(verdicts);
}

static void claim(struct memory *memory, struct store_request *request)
{
    struct fence *stored =
        stored_fence(memory, store_slice(request, request->type),
                     store_slice(request, request->shard));

    if (request->next)
        request->fence = (struct fence){ stored->term, stored->epoch + 1 };
    request->result = fence_compare(*stored, request->fence) > 0
                          ? STORE_FENCED
                          : STORE_DONE;
    if (request->result == STORE_DONE)
        *stored = request->fence;
    else
        request->fence = *stored;
}

static void take_term(struct memory *memory, struct store_request *request)
{
    struct slice type = store_slice(request, request->type);
    uint64_t *term = map_get(&memory->terms, type);

    if (!term) {
        term = mem_alloc(sizeof *term);
        (void)map_put(&memory->terms, type, term); /* was absent */
    }
    if (*term < request->fence.term)
        *term = request->fence.term;
    request->fence.term = ++*term;
    request->result = STORE_DONE;
}

static void write_memory(void *store, struct store_request **requests,
                         uint32_t count)
{
    struct memory *memory = store;

    check(pthread_mutex_lock(&memory->lock) == 0);
    for (uint32_t i = 0; i < count; i++) {
        if (requests[i]->verb == STORE_APPEND)
            append(memory, requests[i]);
        else if (requests[i]->verb == STORE_CLAIM)
            claim(memory, requests[i]);
        else if (requests[i]->verb == STORE_TAKE_TERM)
            take_term(memory, requests[i]);
        else
            store_settle(requests[i], STORE_FAILED, "not a write");
    }
    check(pthread_mutex_unlock(&memory->lock) == 0);
}

static void replay(struct memory *memory, struct store_request *request)
{
    const struct stream *stream =
        map_get(&memory->streams, store_slice(request, request->id));
    size_t size = 0;

    request->result = STORE_DONE;
    for (uint64_t seq = request->from;
         stream && seq <= stream->records.count; seq++) {
        struct slice record = stream->records.items[seq - 1];

        size += record.size;
        if (request->records.count &&
            (request->records.count >= request->count_max ||
             size > request->size_max)) {
            request->more = true;
            return;
        }
        vec_push(&request->records,
                 ((struct store_record){
                     .seq = seq, .bytes = store_put(request, record) }));
    }
}

static void read_memory(void *store, struct store_request **requests,
                        uint32_t count)
{
    struct memory *memory = store;

    check(pthread_mutex_lock(&memory->lock) == 0);
    for (uint32_t i = 0; i < count; i++) {
        if (requests[i]->verb == STORE_REPLAY)
            replay(memory, requests[i]);
        else
            store_settle(requests[i], STORE_FAILED, "not a read");
    }
    check(pthread_mutex_unlock(&memory->lock) == 0);
}

const struct store_ops store_memory = { "memory",     open_memory,
                                        write_memory, NULL,
                                        read_memory,  close_memory };
