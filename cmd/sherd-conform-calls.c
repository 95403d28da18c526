/* Builds requests for the cases of sherd-conform, runs them, and reads back what is stored. */
#define _POSIX_C_SOURCE 200809L
#include "sherd-conform.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "host/backend_damage.h"
#include "journal/record.h"

double conform_seconds(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void *conform_open(struct run *run, enum backend_mode mode, char *error)
{
    error[0] = 0;
    return run->ops->open(&run->options, mode, error);
}

void conform_close(struct run *run)
{
    void **stores[] = { &run->reader, &run->other, &run->writer };

    for (int i = 0; i < 3; i++) {
        if (*stores[i])
            run->ops->close(*stores[i]);
        *stores[i] = NULL;
    }
    backend_damage_free(run->options.damage);
    run->options.damage = NULL;
}

bool conform_reopen(struct run *run)
{
    conform_close(run);
    run->error[0] = 0;
    run->options.damage = backend_damage_new(NULL, NULL);
    run->writer = run->ops->open(&run->options, BACKEND_WRITER, run->error);
    if (run->writer)
        run->other = run->ops->open(&run->options, BACKEND_WRITER, run->error);
    if (run->other)
        run->reader = run->ops->open(&run->options, BACKEND_READER, run->error);
    if (run->reader)
        return true;
    conform_close(run);
    return false;
}

void conform_id(const struct run *run, const char *id, char text[400])
{
    (void)snprintf(text, 400, "%s|%s", run->type, id); /* fits */
}

void conform_do(struct run *run, void *writer, struct journal_request *request)
{
    run->ops->write(writer, &request, 1);
    if (run->options.log && request->error[0])
        run->options.log(run->options.log_user, SHERD_BACKEND_INFO, request->error);
}

enum backend_result conform_claim(struct run *run, void *writer,
                                  const char *shard, struct fence fence)
{
    struct journal_request *request = journal_request_claim(
        slice_text(run->type), slice_text(shard), fence);
    enum backend_result result;

    conform_do(run, writer, request);
    result = request->result;
    journal_request_free(request);
    return result;
}

void conform_add_record(struct journal_request *request, uint64_t seq,
                        struct slice payload)
{
    uint32_t at = request->entities.count - 1;
    const struct backend_entity *entity = &request->entities.items[at];
    struct record record = {
        .event_type = 1,
        .fence = request->shards.items[entity->shard].fence,
        .payload = payload,
    };
    struct backend_record stored = { .entity = at, .seq = seq };
    uint64_t key = record_key(backend_slice(request, entity->id));

    stored.bytes.at = (uint32_t)request->bytes.size;
    record_encode(&request->bytes, key, seq, &record);
    stored.bytes.size = (uint32_t)request->bytes.size - stored.bytes.at;
    vec_push(&request->records, stored);
}

void conform_add(struct run *run, struct journal_request *request,
                 const char *shard, struct fence fence, const char *id,
                 uint64_t from, const char *events)
{
    struct backend_shard named = { .fence = fence };
    struct backend_entity entity = { .shard = request->shards.count };
    char text[400];

    conform_id(run, id, text);
    named.type = backend_put(request, slice_text(run->type));
    named.shard = backend_put(request, slice_text(shard));
    vec_push(&request->shards, named);
    entity.id = backend_put(request, slice_text(text));
    vec_push(&request->entities, entity);
    for (const char *event = events; *event; event++)
        conform_add_record(request, from++, slice_of(event, 1));
}

struct journal_request *conform_append(struct run *run, const char *shard,
                                       struct fence fence, const char *id,
                                       uint64_t from, const char *events)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);

    conform_add(run, request, shard, fence, id, from, events);
    return request;
}

enum backend_result conform_write(struct run *run, void *writer,
                                  struct journal_request *request)
{
    enum backend_result result;

    conform_do(run, writer, request);
    result = request->entities.items[0].result;
    journal_request_free(request);
    return result;
}

enum backend_result conform_put(struct run *run, void *writer,
                                const char *shard, struct fence fence,
                                const char *id, uint64_t from,
                                const char *events)
{
    return conform_write(run, writer,
                         conform_append(run, shard, fence, id, from, events));
}

struct journal_request *conform_replay(struct run *run, void *reader,
                                       const char *id, uint64_t from,
                                       uint32_t count, uint32_t size)
{
    struct journal_request *request;
    char text[400];

    conform_id(run, id, text);
    request = journal_request_replay(slice_text(text), from, count, size);
    run->ops->read(reader, &request, 1);
    return request;
}

bool conform_has(struct run *run, const char *id, const char *letters)
{
    struct journal_request *request =
        conform_replay(run, run->reader, id, 1, 100000, 1u << 30);
    struct buf found = { 0 };
    char text[400], first[32];
    bool same = request->result == BACKEND_DONE && !request->more;

    conform_id(run, id, text);
    if (request->records.count && request->records.items[0].seq != 1) {
        (void)snprintf(first, sizeof first, "%" PRIu64 ":",
                       request->records.items[0].seq); /* fits */
        buf_put_text(&found, first);
    }
    for (uint32_t i = 0; same && i < request->records.count; i++) {
        const struct backend_record *stored = &request->records.items[i];
        struct record record;

        same = stored->seq == request->records.items[0].seq + i &&
               !record_decode(backend_slice(request, stored->bytes),
                              record_key(slice_text(text)), stored->seq,
                              &record);
        if (same)
            buf_put_slice(&found, record.payload);
    }
    same = same && slice_equal(buf_slice(&found), slice_text(letters));
    if (!same)
        (void)fprintf(stderr, "  %s: result %d, found \"%.*s\", not \"%s\" %s\n",
                      text, (int)request->result,
                      (int)(found.size < 200 ? found.size : 200),
                      found.data ? (const char *)found.data : "", letters,
                      request->error);
    buf_fini(&found);
    journal_request_free(request);
    return same;
}
