/* Helps tests of backends: requests in one line, and temporary directories. */
#ifndef SHERD_TESTS_STORES_H
#define SHERD_TESTS_STORES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/check.h"
#include "journal/record.h"
#include "journal/backend.h"

/* Appends for entity `id`: one record for each letter of `events`, numbered from `from`. */
static inline void append_add(struct journal_request *request, const char *shard,
                              struct fence fence, const char *id,
                              uint64_t from, const char *events)
{
    struct backend_shard named = { .fence = fence };
    struct backend_entity entity = { .shard = request->shards.count };

    named.type = backend_put(request, slice_text("T"));
    named.shard = backend_put(request, slice_text(shard));
    vec_push(&request->shards, named);
    entity.id = backend_put(request, slice_text(id));
    vec_push(&request->entities, entity);
    for (const char *event = events; *event; event++) {
        struct record record = { .event_type = 1,
                                 .fence = fence,
                                 .payload = slice_of(event, 1) };
        struct backend_record stored = {
            .entity = request->entities.count - 1,
            .seq = from++,
            .bytes.at = (uint32_t)request->bytes.size,
        };

        record_encode(&request->bytes, record_key(slice_text(id)), stored.seq,
                      &record);
        stored.bytes.size =
            (uint32_t)request->bytes.size - stored.bytes.at;
        vec_push(&request->records, stored);
    }
}

static inline struct journal_request *append_new(const char *shard,
                                               struct fence fence,
                                               const char *id, uint64_t from,
                                               const char *events)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);

    append_add(request, shard, fence, id, from, events);
    return request;
}

/* An entity's events as letters, after the first number and a colon if that is not 1. Fails on a
 * gap or a wrong checksum. The caller frees. */
static inline char *stored_events(const struct backend_ops *ops, void *reader,
                                  const char *id)
{
    struct journal_request *request =
        journal_request_replay(slice_text(id), 1, 100000, 1 << 30);
    struct buf letters = { 0 };
    uint64_t first = 1;
    char text[24];

    ops->read(reader, &request, 1);
    assert_string_equal(request->error, "");
    assert_int_equal(request->result, BACKEND_DONE);
    assert_false(request->more);
    if (request->records.count && request->records.items[0].seq != 1) {
        first = request->records.items[0].seq;
        snprintf(text, sizeof text, "%llu:", (unsigned long long)first);
        buf_put_text(&letters, text);
    }
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *stored = &request->records.items[i];
        struct record record;

        assert_true(stored->seq == first + i);
        assert_null(record_decode(backend_slice(request, stored->bytes),
                                  record_key(slice_text(id)), stored->seq,
                                  &record));
        buf_put_slice(&letters, record.payload);
    }
    buf_put_u8(&letters, 0);
    journal_request_free(request);
    return (char *)letters.data;
}

/* Cuts the last entity's records below that number. */
static inline void append_cut(struct journal_request *request, uint64_t cut)
{
    request->entities.items[request->entities.count - 1].cut = cut;
}

#define assert_stored(ops, reader, id, letters)             \
    do {                                                    \
        char *stored_ = stored_events(ops, reader, id);     \
        assert_string_equal(stored_, letters);              \
        mem_free(stored_);                                  \
    } while (0)

/* A test's own directory. A failed test does not remove it, so the process's exit does. */
#define FOLDERS_MAX 64 /* of one process */

static char folders_made[FOLDERS_MAX][200];
static uint32_t folder_count;
static pid_t folders_owner;

static inline int folder_remove(const char *folder)
{
    char command[300];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static inline void folders_drop(void)
{
    if (getpid() != folders_owner)
        return; /* a child's exit */
    for (uint32_t i = 0; i < folder_count; i++)
        (void)!folder_remove(folders_made[i]); /* most are removed already */
}

static inline void folder_make(char *folder, size_t size)
{
    const char *where = getenv("TMPDIR");

    snprintf(folder, size, "%s/sherd-store-XXXXXX", where ? where : "/tmp");
    assert_non_null(mkdtemp(folder));
    assert_true(folder_count < FOLDERS_MAX);
    snprintf(folders_made[folder_count], sizeof folders_made[0], "%s", folder);
    if (folder_count++ == 0) {
        folders_owner = getpid();
        assert_int_equal(atexit(folders_drop), 0);
    }
}

static inline void folder_drop(const char *folder)
{
    assert_int_equal(folder_remove(folder), 0);
}

#endif
