/* Builds requests and runs them on a back end; see face.h. */
#include "face.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "journal/record.h"

#define TYPE "Bench"
#define RUN 64

static const uint8_t payload[FACE_PAYLOAD] = { 9 };

static void print_log(void *context, enum sherd_backend_level level, const char *line)
{
    (void)context;
    if (level == SHERD_BACKEND_ERROR)
        (void)fprintf(stderr, "%s\n", line);
}

static const char *no_setting(void *context, const char *key)
{
    (void)context;
    (void)key;
    return NULL;
}

void face_open(struct face *face, const struct backend_ops *ops,
               const struct sherd_backend *plugin, const char *place)
{
    const struct backend_options options = { .path = place,
                                             .cluster = "bench",
                                             .plugin = plugin,
                                             .setting = no_setting,
                                             .log = print_log };
    char error[BACKEND_ERROR_MAX] = "";

    face->ops = ops;
    face->shards = FACE_SHARDS;
    face->writer = ops->open(&options, BACKEND_WRITER, error);
    face->reader = face->writer ? ops->open(&options, BACKEND_READER, error) : NULL;
    if (face->reader)
        return;
    (void)fprintf(stderr, "%s\n", error);
    exit(1);
}

void face_close(struct face *face)
{
    face->ops->close(face->reader);
    face->ops->close(face->writer);
}

static void expect_done(enum backend_result result, const char *error)
{
    if (result == BACKEND_DONE)
        return;
    (void)fprintf(stderr, "the journal refused: %s\n", error);
    exit(1);
}

static struct slice name(char text[32], const char *kind, uint32_t number)
{
    (void)snprintf(text, 32, "%s%u", kind, number); /* fits */
    return slice_text(text);
}

void face_claim(struct face *face, uint32_t shards, uint64_t epoch)
{
    struct journal_request **requests = mem_alloc(shards * sizeof *requests);
    const struct fence fence = { 1, epoch };
    char text[32];

    for (uint32_t i = 0; i < shards; i++)
        requests[i] = journal_request_claim(slice_text(TYPE), name(text, "s", i), fence);
    face->ops->write(face->writer, requests, shards);
    for (uint32_t i = 0; i < shards; i++) {
        expect_done(requests[i]->result, requests[i]->error);
        journal_request_free(requests[i]);
    }
    mem_free(requests);
}

/* ---- appends ---- */

static void put_shard(struct journal_request *request, uint32_t shard)
{
    struct backend_shard claimed = { .fence = { 1, 1 } };
    char text[32];

    claimed.type = backend_put(request, slice_text(TYPE));
    claimed.shard = backend_put(request, name(text, "s", shard));
    vec_push(&request->shards, claimed);
}

static void put_entity(struct journal_request *request, uint32_t entity, uint32_t shard)
{
    struct backend_entity added = { .shard = shard };
    char text[32];

    added.id = backend_put(request, name(text, TYPE "|", entity));
    vec_push(&request->entities, added);
}

static void put_record(struct journal_request *request, uint32_t place, uint32_t entity,
                       uint64_t number)
{
    const struct record record = { .event_type = 1, .fence = { 1, 1 },
                                   .payload = slice_of(payload, sizeof payload) };
    struct backend_record stored = { .entity = place, .seq = number };
    char text[32];

    stored.bytes.at = (uint32_t)request->bytes.size;
    record_encode(&request->bytes, record_key(name(text, TYPE "|", entity)), number, &record);
    stored.bytes.size = (uint32_t)request->bytes.size - stored.bytes.at;
    vec_push(&request->records, stored);
}

static void write_request(struct face *face, struct journal_request *request)
{
    struct backend_kept kept = { 0 };

    face->ops->write(face->writer, &request, 1);
    expect_done(request->result, request->error);
    for (uint32_t i = 0; i < request->entities.count; i++)
        expect_done(request->entities.items[i].result, request->error);
    journal_request_free(request);
    if (face->ops->tidy)
        face->ops->tidy(face->writer, &kept);
}

void face_append(struct face *face, uint32_t first, uint32_t count, uint64_t number)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);

    for (uint32_t i = 0; i < count && i < face->shards; i++)
        put_shard(request, (first + i) % face->shards);
    for (uint32_t i = 0; i < count; i++) {
        put_entity(request, first + i, i % face->shards);
        put_record(request, i, first + i, number);
    }
    write_request(face, request);
}

void face_extend(struct face *face, uint32_t entity, uint64_t from, uint32_t count)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);

    put_shard(request, entity % face->shards);
    put_entity(request, entity, 0);
    for (uint32_t i = 0; i < count; i++)
        put_record(request, 0, entity, from + i);
    write_request(face, request);
}

uint32_t face_record(uint32_t entity, uint64_t number, uint8_t record[FACE_RECORD_MAX])
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    uint32_t size;

    put_record(request, 0, entity, number);
    size = request->records.items[0].bytes.size;
    check(size <= FACE_RECORD_MAX);
    memcpy(record, request->bytes.data, size);
    journal_request_free(request);
    return size;
}

/* ---- replays ---- */

/* Runs requests, and each again from where it ended; frees them. Returns the number of records. */
static uint64_t read_all(struct face *face, struct journal_request **requests,
                         const uint32_t *entities, uint32_t count)
{
    uint64_t records = 0;
    char text[32];

    while (count) {
        uint32_t left = 0;

        face->ops->read(face->reader, requests, count);
        for (uint32_t i = 0; i < count; i++) {
            struct journal_request *done = requests[i];
            uint32_t last = done->records.count;

            expect_done(done->result, done->error);
            records += last;
            if (done->more)
                requests[left++] =
                    journal_request_replay(name(text, TYPE "|", entities[i]),
                                           done->records.items[last - 1].seq + 1,
                                           JOURNAL_CHUNK_EVENTS_MAX, JOURNAL_CHUNK_SIZE_MAX);
            journal_request_free(done);
        }
        check(left == 0 || count == 1); /* short streams fit */
        count = left;
    }
    return records;
}

uint64_t face_replay(struct face *face, uint32_t first, uint32_t count)
{
    struct journal_request *requests[RUN];
    uint32_t entities[RUN];
    uint64_t records = 0;
    char text[32];

    for (uint32_t at = 0; at < count;) {
        uint32_t run = 0;

        for (; run < RUN && at < count; run++, at++) {
            entities[run] = first + at;
            requests[run] = journal_request_replay(name(text, TYPE "|", first + at), 1,
                                                   JOURNAL_CHUNK_EVENTS_MAX, JOURNAL_CHUNK_SIZE_MAX);
        }
        records += read_all(face, requests, entities, run);
    }
    return records;
}
