/* Fuzzes a journal file: opens and reads a valid file of the SQLite backend with some changed
 * bytes. Input: pairs of a position (3 bytes) and a byte to put there.
 *
 * Oracle, beside the sanitizers: the journal returns no event that was not stored. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "host/backend_sqlite.h"
#include "journal/journal.h"
#include "journal/record.h"

#define ENTITIES 20
#define EVENTS 30

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[200];
static uint8_t *original;
static size_t original_size;

static void require(int condition)
{
    if (!condition)
        abort();
}

static void event_text(char *text, size_t size, int entity, uint64_t seq)
{
    snprintf(text, size, "event %d of entity %d, padded to some length",
             (int)seq, entity);
}

static struct backend_options options(void)
{
    return (struct backend_options){ .path = path, .cluster = "fuzz",
                                   .lock_wait_ms = 1 };
}

static void remove_files(void)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-turn" };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char name[220];

        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

static struct journal_request *events_of(int entity)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    struct backend_shard shard = { .fence = { 1, 1 } };
    struct backend_entity named = { 0 };
    char id[32];

    shard.type = backend_put(request, slice_text("T"));
    shard.shard = backend_put(request, slice_text("s"));
    vec_push(&request->shards, shard);
    snprintf(id, sizeof id, "T|e%d", entity);
    named.id = backend_put(request, slice_text(id));
    vec_push(&request->entities, named);
    for (uint64_t seq = 1; seq <= EVENTS; seq++) {
        char text[100];
        struct backend_record stored = { .seq = seq };
        struct record record = { .event_type = 1, .fence = { 1, 1 } };

        event_text(text, sizeof text, entity, seq);
        record.payload = slice_text(text);
        stored.bytes.at = (uint32_t)request->bytes.size;
        record_encode(&request->bytes, record_key(slice_text(id)), seq,
                      &record);
        stored.bytes.size = (uint32_t)request->bytes.size - stored.bytes.at;
        vec_push(&request->records, stored);
    }
    return request;
}

static void make_original(void)
{
    struct backend_options where;
    char error[BACKEND_ERROR_MAX];
    void *store;
    FILE *file;

    snprintf(path, sizeof path, "/dev/shm/sherd-fuzz-%d.db", (int)getpid());
    remove_files();
    where = options();
    store = backend_sqlite.open(&where, BACKEND_WRITER, error);
    require(store != NULL);
    for (int i = 0; i < ENTITIES; i++) {
        struct journal_request *request = events_of(i);

        backend_sqlite.write(store, &request, 1);
        require(request->result == BACKEND_DONE);
        journal_request_free(request);
    }
    backend_sqlite.close(store);
    file = fopen(path, "rb");
    require(file != NULL);
    original = malloc(1 << 20);
    original_size = fread(original, 1, 1 << 20, file);
    fclose(file);
    remove_files();
    atexit(remove_files);
}

/* Recovers every entity in a lane, as after a restart. */
static void recover(void *reader)
{
    struct journal *journal =
        journal_new(&(struct journal_options){ .seed = 1 });
    struct journal_request *request;
    struct journal_news news;

    journal_claim(journal, slice_text("T"), slice_text("s"),
                  (struct fence){ 1, 1 }, (struct proof){ 0 });
    request = journal_take_request(journal, 0);
    request->result = BACKEND_DONE;
    journal_reply(journal, 0, request);
    for (uint64_t i = 0; i < ENTITIES; i++) {
        char id[32];

        snprintf(id, sizeof id, "e%d", (int)i);
        journal_replay(journal, i, slice_text("T"), slice_text("s"),
                       slice_text(id));
    }
    while ((request = journal_take_request(journal, 0))) {
        backend_sqlite.read(reader, &request, 1);
        journal_reply(journal, 0, request);
        while (journal_next_news(journal, &news)) {
            char text[100];

            if (news.kind != JOURNAL_EVENT)
                continue;
            event_text(text, sizeof text, (int)news.handle, news.seq);
            require(slice_is(news.event.payload, text));
        }
    }
    journal_free(journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct backend_options where;
    char error[BACKEND_ERROR_MAX] = "";
    uint8_t *copy;
    void *writer;
    void *reader;
    int file;

    if (!original)
        make_original();
    copy = malloc(original_size);
    memcpy(copy, original, original_size);
    for (size_t i = 0; i + 4 <= size && i < 400; i += 4) {
        size_t at = (size_t)data[i] | (size_t)data[i + 1] << 8 |
                    (size_t)data[i + 2] << 16;

        copy[at % original_size] = data[i + 3];
    }
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    require(file >= 0);
    require(write(file, copy, original_size) == (ssize_t)original_size);
    close(file);
    free(copy);
    where = options();
    writer = backend_sqlite.open(&where, BACKEND_WRITER, error);
    reader = backend_sqlite.open(&where, BACKEND_READER, error);
    if (reader)
        recover(reader);
    if (writer) {
        struct journal_request *request = events_of(3);

        backend_sqlite.write(writer, &request, 1);
        journal_request_free(request);
        backend_sqlite.close(writer);
    }
    if (reader)
        backend_sqlite.close(reader);
    remove_files();
    return 0;
}
