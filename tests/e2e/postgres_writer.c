/* Writes to a journal in PostgreSQL as a node does, by instructions from standard input, for tests of
 * failures.
 *
 *   postgres_writer URL [KEY=VALUE...]
 *
 *   claim SHARD TERM EPOCH                       claims a shard
 *   append SHARD TERM EPOCH ID FROM LETTERS      appends a record for each letter
 *   append S1,S2... TERM EPOCH ID FROM LETTERS   in one group, to an entity IDS1, IDS2... of each shard
 *   again SHARD TERM EPOCH ID FROM LETTERS       the same as a repetition
 *   replay ID                                    reads all records
 *   identity                                     prints the store's identity
 *
 * Prints one line for each: the results in words, and the letters, the fence, or the error. Lines that
 * begin with "log" are what the back end logs. */
#define _POSIX_C_SOURCE 200809L
#include <sherd/postgres.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "host/backend_plugin.h"
#include "journal/record.h"

#define TYPE "T"

static const char *const results[] = { "pending", "done", "fenced", "conflict",
                                       "unknown", "failed", "other-store" };
static char **settings;

static const char *setting(void *user, const char *key)
{
    size_t size = strlen(key);

    (void)user;
    for (char **at = settings; *at; at++)
        if (strncmp(*at, key, size) == 0 && (*at)[size] == '=')
            return *at + size + 1;
    return NULL;
}

static void print_log(void *user, enum sherd_backend_level level, const char *line)
{
    (void)user;
    printf("log %d %s\n", (int)level, line);
    (void)fflush(stdout);
}

static void add_records(struct journal_request *request, const char *shard, struct fence fence,
                        const char *id, uint64_t from, const char *letters)
{
    struct backend_shard named = { .fence = fence };
    struct backend_entity entity = { .shard = request->shards.count };

    named.type = backend_put(request, slice_text(TYPE));
    named.shard = backend_put(request, slice_text(shard));
    vec_push(&request->shards, named);
    entity.id = backend_put(request, slice_text(id));
    for (; *letters; letters++) {
        struct record record = { .event_type = 1, .fence = fence, .payload = slice_of(letters, 1) };
        struct backend_record stored = { .entity = request->entities.count, .seq = from++ };

        stored.bytes.at = (uint32_t)request->bytes.size;
        record_encode(&request->bytes, record_key(slice_text(id)), stored.seq, &record);
        stored.bytes.size = (uint32_t)request->bytes.size - stored.bytes.at;
        vec_push(&request->records, stored);
    }
    vec_push(&request->entities, entity);
}

static void append(void *writer, bool again, char *shards, struct fence fence,
                   const char *id, uint64_t from, const char *letters)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    bool is_one = !strchr(shards, ',');

    request->again = again;
    for (char *shard = strtok(shards, ","); shard; shard = strtok(NULL, ",")) {
        char own[128];

        (void)snprintf(own, sizeof own, "%s%s", id, is_one ? "" : shard); /* 63 bytes each */
        add_records(request, shard, fence, own, from, letters);
    }
    backend_plugin.write(writer, &request, 1);
    for (uint32_t i = 0; i < request->entities.count; i++)
        printf("%s ", results[request->entities.items[i].result]);
    printf("%s\n", request->error);
    journal_request_free(request);
}

static void claim(void *writer, const char *shard, struct fence fence)
{
    struct journal_request *request =
        journal_request_claim(slice_text(TYPE), slice_text(shard), fence);

    backend_plugin.write(writer, &request, 1);
    printf("%s %" PRIu64 ".%" PRIu64 " %s\n", results[request->result], request->fence.term,
           request->fence.epoch, request->error);
    journal_request_free(request);
}

static void replay(void *reader, const char *id)
{
    struct journal_request *request = journal_request_replay(slice_text(id), 1, 100000, 1u << 30);
    struct record record;

    backend_plugin.read(reader, &request, 1);
    printf("%s ", results[request->result]);
    for (uint32_t i = 0; i < request->records.count; i++) {
        const struct backend_record *stored = &request->records.items[i];

        check(stored->seq == i + 1);
        check(!record_decode(backend_slice(request, stored->bytes), record_key(slice_text(id)),
                             stored->seq, &record));
        printf("%.*s", (int)record.payload.size, (const char *)record.payload.data);
    }
    printf("%s\n", request->error);
    journal_request_free(request);
}

static void obey(char *line, void *writer, void *reader)
{
    char verb[16] = "", shard[64] = "", id[64] = "", letters[4096] = "";
    struct fence fence = { 0, 0 };
    uint64_t from = 0;

    (void)sscanf(line, "%15s %63s %" SCNu64 " %" SCNu64 " %63s %" SCNu64 " %4095s", verb, shard,
                 &fence.term, &fence.epoch, id, &from, letters); /* missing words stay empty */
    if (strcmp(verb, "claim") == 0) {
        claim(writer, shard, fence);
    } else if (strcmp(verb, "append") == 0 || strcmp(verb, "again") == 0) {
        append(writer, verb[1] == 'g', shard, fence, id, from, letters);
    } else if (strcmp(verb, "replay") == 0) {
        replay(reader, shard);
    } else {
        struct backend_identity identity = { { 0 }, { 0 } };

        backend_plugin.identify(writer, &identity);
        printf("%s %s\n", identity.id, identity.name);
    }
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct backend_options options = { .cluster = "c", .setting = setting, .log = print_log };
    char error[BACKEND_ERROR_MAX] = "", line[5000];
    void *writer, *reader = NULL;

    if (argc < 2)
        return 2;
    settings = argv + 2;
    check(sherd_postgres_register() == 0);
    options.path = argv[1];
    options.plugin = backend_plugin_find("postgres");
    writer = backend_plugin.open(&options, BACKEND_WRITER, error);
    if (writer)
        reader = backend_plugin.open(&options, BACKEND_READER, error);
    printf("%s\n", reader ? "open" : error);
    (void)fflush(stdout);
    while (reader && fgets(line, sizeof line, stdin))
        obey(line, writer, reader);
    if (reader)
        backend_plugin.close(reader);
    if (writer)
        backend_plugin.close(writer);
    return reader ? 0 : 1;
}
