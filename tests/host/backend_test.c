/* Tests the rules of every backend, and files that SQLite refuses. */
#define _GNU_SOURCE
#include "backends.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/limits.h"
#include "host/backend_memory.h"
#include "host/backend_place.h"
#include "host/backend_sqlite.h"
#include "host/backend_sqlite_pages.h"

struct place {
    const struct backend_ops *ops;
    void *writer;
    void *other; /* a second writer, like another process's */
    void *reader;
    char folder[200];
    char path[220];
};

static void *open_one(struct place *place, enum backend_mode mode,
                      const char *cluster, char *error)
{
    struct backend_options options = { .path = place->path,
                                     .cluster = cluster };

    return place->ops->open(&options, mode, error);
}

static int place_open(void **state, const struct backend_ops *ops)
{
    struct place *place = mem_alloc(sizeof *place);
    char error[BACKEND_ERROR_MAX] = "";

    place->ops = ops;
    folder_make(place->folder, sizeof place->folder);
    snprintf(place->path, sizeof place->path, "%s/journal.db", place->folder);
    place->writer = open_one(place, BACKEND_WRITER, "c", error);
    assert_string_equal(error, "");
    assert_non_null(place->writer);
    place->other = open_one(place, BACKEND_WRITER, "c", error);
    place->reader = open_one(place, BACKEND_READER, "c", error);
    assert_non_null(place->other);
    assert_non_null(place->reader);
    *state = place;
    return 0;
}

static int place_memory(void **state)
{
    return place_open(state, &backend_memory);
}

static int place_sqlite(void **state)
{
    return place_open(state, &backend_sqlite);
}

static int place_close(void **state)
{
    struct place *place = *state;

    place->ops->close(place->reader);
    place->ops->close(place->other);
    place->ops->close(place->writer);
    folder_drop(place->folder);
    mem_free(place);
    return 0;
}

static void claim(struct place *place, void *writer, const char *shard,
                  struct fence fence, enum backend_result result)
{
    struct journal_request *request =
        journal_request_claim(slice_text("T"), slice_text(shard), fence);

    place->ops->write(writer, &request, 1);
    assert_int_equal(request->result, result);
    journal_request_free(request);
}

/* Runs an append and compares its first entity's result. */
static void append(struct place *place, void *writer,
                   struct journal_request *request, enum backend_result result)
{
    place->ops->write(writer, &request, 1);
    assert_int_equal(request->entities.items[0].result, result);
    journal_request_free(request);
}

static const struct fence one = { 1, 1 };
static const struct fence two = { 1, 2 };

/* One record for each of `count` entities of a shard, in one request. */
static struct journal_request *append_many(uint32_t count)
{
    struct journal_request *request = append_new("s", one, "T|e0", 1, "a");
    char id[16];

    for (uint32_t i = 1; i < count; i++) {
        struct backend_entity entity = { .shard = 0 };
        struct record record = { .event_type = 1,
                                 .fence = one,
                                 .payload = slice_text("a") };
        struct backend_record stored = { .entity = i, .seq = 1 };

        snprintf(id, sizeof id, "T|e%u", (unsigned)i);
        entity.id = backend_put(request, slice_text(id));
        vec_push(&request->entities, entity);
        stored.bytes.at = (uint32_t)request->bytes.size;
        record_encode(&request->bytes, record_key(slice_text(id)), 1, &record);
        stored.bytes.size = (uint32_t)request->bytes.size - stored.bytes.at;
        vec_push(&request->records, stored);
    }
    return request;
}

/* With too many entities the writer drops its cache, and reads them again. */
static void the_writer_caches_a_bounded_number_of_entities(void **state)
{
    struct place *place = *state;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_many(BACKEND_KNOWN_MAX + 1), BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|e1", 2, "b"),
           BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|e2", 1, "x"),
           BACKEND_CONFLICT);
    append(place, place->writer, append_new("s", one, "T|e2", 3, "x"),
           BACKEND_CONFLICT);
    assert_stored(place->ops, place->reader, "T|e1", "ab");
    assert_stored(place->ops, place->reader, "T|e2", "a");
    assert_stored(place->ops, place->reader, "T|e65536", "a");
}

static void events_come_back_in_order(void **state)
{
    struct place *place = *state;
    struct journal_request *request;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 1, "abc"),
           BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|y", 1, "k"),
           BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 4, "de"),
           BACKEND_DONE);
    assert_stored(place->ops, place->reader, "T|x", "abcde");
    assert_stored(place->ops, place->reader, "T|y", "k");
    assert_stored(place->ops, place->reader, "T|nobody", "");
    request = journal_request_replay(slice_text("T|x"), 2, 2, 1 << 20);
    place->ops->read(place->reader, &request, 1);
    assert_int_equal(request->records.count, 2);
    assert_true(request->records.items[0].seq == 2);
    assert_true(request->more);
    journal_request_free(request);
    request = journal_request_replay(slice_text("T|x"), 4, 1000, 1);
    place->ops->read(place->reader, &request, 1);
    assert_int_equal(request->records.count, 1); /* one always fits */
    assert_true(request->more);
    journal_request_free(request);
    request = journal_request_replay(slice_text("T|x"), 5, 1, 1);
    place->ops->read(place->reader, &request, 1);
    assert_int_equal(request->records.count, 1);
    assert_false(request->more);
    journal_request_free(request);
}

static void several_requests_share_a_group(void **state)
{
    struct place *place = *state;
    struct journal_request *group[4];

    group[0] = journal_request_claim(slice_text("T"), slice_text("s"), one);
    group[1] = append_new("s", one, "T|x", 1, "ab");
    group[2] = append_new("s", one, "T|y", 1, "c");
    group[3] = append_new("s", one, "T|x", 3, "d");
    place->ops->write(place->writer, group, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(group[i]->result, BACKEND_DONE);
        journal_request_free(group[i]);
    }
    assert_stored(place->ops, place->reader, "T|x", "abd");
    assert_stored(place->ops, place->reader, "T|y", "c");
}

static void a_stale_fence_refuses_its_shard_only(void **state)
{
    struct place *place = *state;
    struct journal_request *request;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    claim(place, place->writer, "t", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 1, "a"),
           BACKEND_DONE);
    claim(place, place->other, "s", two, BACKEND_DONE);
    append(place, place->other, append_new("s", two, "T|x", 2, "b"),
           BACKEND_DONE);
    request = append_new("s", one, "T|x", 2, "z");
    append_add(request, "t", one, "T|y", 1, "k");
    place->ops->write(place->writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    assert_int_equal(request->entities.items[0].result, BACKEND_FENCED);
    assert_int_equal(request->entities.items[1].result, BACKEND_DONE);
    assert_int_equal(request->shards.items[0].result, BACKEND_FENCED);
    assert_int_equal(fence_compare(request->shards.items[0].stored, two), 0);
    journal_request_free(request);
    claim(place, place->writer, "s", one, BACKEND_FENCED);
    claim(place, place->other, "s", two, BACKEND_DONE); /* again: its own */
    append(place, place->other, append_new("s", two, "T|x", 3, "c"),
           BACKEND_DONE);
    assert_stored(place->ops, place->reader, "T|x", "abc");
    assert_stored(place->ops, place->reader, "T|y", "k");
    /* The first writer must not use its cache of T|x. */
    claim(place, place->writer, "s", (struct fence){ 2, 0 }, BACKEND_DONE);
    append(place, place->writer,
           append_new("s", (struct fence){ 2, 0 }, "T|x", 4, "d"), BACKEND_DONE);
    append(place, place->other, append_new("s", two, "T|x", 4, "z"),
           BACKEND_FENCED);
    assert_stored(place->ops, place->reader, "T|x", "abcd");
}

static void sequence_numbers_are_unique_without_gap(void **state)
{
    struct place *place = *state;
    struct journal_request *request;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 1, "ab"),
           BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 2, "z"),
           BACKEND_CONFLICT);
    append(place, place->writer, append_new("s", one, "T|x", 4, "z"),
           BACKEND_CONFLICT);
    append(place, place->writer, append_new("s", one, "T|x", 0, "z"),
           BACKEND_CONFLICT);
    append(place, place->writer, append_new("s", one, "T|x", 2, "zz"),
           BACKEND_CONFLICT); /* all or nothing */
    request = append_new("s", one, "T|x", 9, "z");
    append_add(request, "s", one, "T|y", 1, "k");
    place->ops->write(place->writer, &request, 1);
    assert_int_equal(request->entities.items[0].result, BACKEND_CONFLICT);
    assert_int_equal(request->entities.items[1].result, BACKEND_DONE);
    journal_request_free(request);
    assert_stored(place->ops, place->reader, "T|x", "ab");
    assert_stored(place->ops, place->reader, "T|y", "k");
    append(place, place->writer, append_new("s", one, "T|x", 3, "c"),
           BACKEND_DONE);
}

static void a_repeated_append_accepts_stored_records(void **state)
{
    struct place *place = *state;
    struct journal_request *request;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 1, "ab"),
           BACKEND_DONE);
    request = append_new("s", one, "T|x", 1, "ab");
    request->again = true;
    append(place, place->writer, request, BACKEND_DONE);
    request = append_new("s", one, "T|x", 1, "abc"); /* half of it is stored */
    request->again = true;
    append(place, place->writer, request, BACKEND_DONE);
    request = append_new("s", one, "T|x", 3, "z"); /* another value */
    request->again = true;
    append(place, place->writer, request, BACKEND_CONFLICT);
    claim(place, place->other, "s", two, BACKEND_DONE);
    request = append_new("s", one, "T|x", 3, "c"); /* stored before the claim */
    request->again = true;
    append(place, place->writer, request, BACKEND_DONE);
    request = append_new("s", one, "T|x", 4, "d");
    request->again = true;
    append(place, place->writer, request, BACKEND_FENCED);
    assert_stored(place->ops, place->reader, "T|x", "abc");
}

static uint64_t take_term(struct place *place, void *writer, const char *type,
                          uint64_t used)
{
    struct journal_request *request =
        journal_request_take_term(slice_text(type), used);
    uint64_t term;

    place->ops->write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    term = request->fence.term;
    journal_request_free(request);
    return term;
}

/* Whatever the history's length. */
static void the_last_record_of_an_entity_is_found(void **state)
{
    struct place *place = *state;
    struct journal_request *request;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 1, "abcde"),
           BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|y", 1, "k"),
           BACKEND_DONE);
    request = journal_request_replay(slice_text("T|x"), BACKEND_LAST, 100, 1 << 20);
    place->ops->read(place->reader, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    assert_int_equal(request->records.count, 1);
    assert_true(request->records.items[0].seq == 5);
    assert_false(request->more);
    journal_request_free(request);
    request = journal_request_replay(slice_text("T|z"), BACKEND_LAST, 100, 1 << 20);
    place->ops->read(place->reader, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    assert_int_equal(request->records.count, 0);
    journal_request_free(request);
}

static struct journal_request *append_and_cut(struct fence fence, uint64_t from,
                                            const char *events, uint64_t cut)
{
    struct journal_request *request =
        append_new("s", fence, "|T|s", from, events);

    append_cut(request, cut);
    return request;
}

/* In the transaction of the records that replace them, and only with a valid fence. */
static void replaced_records_are_deleted(void **state)
{
    struct place *place = *state;
    struct journal_request *request;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|s", 1, "xyz"),
           BACKEND_DONE);
    append(place, place->writer, append_and_cut(one, 1, "abc", 1), BACKEND_DONE);
    assert_stored(place->ops, place->reader, "|T|s", "abc");
    append(place, place->writer, append_and_cut(one, 4, "de", 4), BACKEND_DONE);
    assert_stored(place->ops, place->reader, "|T|s", "4:de");
    append(place, place->writer, append_and_cut(one, 6, "f", 4), BACKEND_DONE);
    assert_stored(place->ops, place->reader, "|T|s", "4:def");
    append(place, place->writer, append_and_cut(one, 6, "x", 6),
           BACKEND_CONFLICT);
    request = append_and_cut(one, 4, "de", 4);
    request->again = true; /* all is stored, and was cut */
    append(place, place->writer, request, BACKEND_DONE);
    assert_stored(place->ops, place->reader, "|T|s", "4:def");
    claim(place, place->other, "s", two, BACKEND_DONE);
    append(place, place->writer, append_and_cut(one, 7, "x", 7), BACKEND_FENCED);
    request = append_and_cut(one, 6, "f", 6);
    request->again = true; /* written under its own fence; must not delete under another one */
    append(place, place->writer, request, BACKEND_DONE);
    assert_stored(place->ops, place->reader, "|T|s", "4:def");
    append(place, place->other, append_and_cut(two, 7, "gh", 6), BACKEND_DONE);
    assert_stored(place->ops, place->reader, "|T|s", "6:fgh");
    append(place, place->other, append_new("s", two, "|T|s", 9, "i"),
           BACKEND_DONE); /* numbers continue */
    assert_stored(place->ops, place->reader, "|T|s", "6:fghi");
    assert_stored(place->ops, place->reader, "T|s", "xyz");
}

/* Deleting a long stream takes several commits, as others wait. */
static void one_commit_deletes_a_bounded_number_of_records(void **state)
{
    struct place *place = *state;
    char *events = mem_alloc(BACKEND_CUT_MAX + 2);
    char text[32];

    memset(events, 'a', BACKEND_CUT_MAX + 1);
    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_and_cut(one, 1, events, 0),
           BACKEND_DONE);
    append(place, place->writer,
           append_and_cut(one, BACKEND_CUT_MAX + 2, "b", BACKEND_CUT_MAX + 2),
           BACKEND_DONE);
    snprintf(text, sizeof text, "%d:ab", BACKEND_CUT_MAX + 1);
    assert_stored(place->ops, place->reader, "|T|s", text);
    append(place, place->writer,
           append_and_cut(one, BACKEND_CUT_MAX + 3, "c", BACKEND_CUT_MAX + 3),
           BACKEND_DONE);
    snprintf(text, sizeof text, "%d:c", BACKEND_CUT_MAX + 3);
    assert_stored(place->ops, place->reader, "|T|s", text);
    mem_free(events);
}

/* A term comes with the type's claimed shards, on request. */
static void a_term_lists_the_claimed_shards(void **state)
{
    struct place *place = *state;
    struct journal_request *request;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    claim(place, place->other, "t", one, BACKEND_DONE);
    request = journal_request_claim(slice_text("TT"), slice_text("u"), one);
    place->ops->write(place->writer, &request, 1);
    journal_request_free(request);
    for (int lists = 0; lists < 2; lists++) {
        request = journal_request_take_term(slice_text("T"), 0);
        request->lists = lists;
        place->ops->write(place->writer, &request, 1);
        assert_int_equal(request->result, BACKEND_DONE);
        assert_int_equal(request->shards.count, lists ? 2 : 0);
        for (uint32_t i = 0; i < request->shards.count; i++)
            assert_true(slice_is(
                backend_slice(request, request->shards.items[i].shard),
                i ? "t" : "s"));
        journal_request_free(request);
    }
    assert_true(take_term(place, place->writer, "T", 0) == 3);
}

static void each_term_is_given_once(void **state)
{
    struct place *place = *state;

    assert_true(take_term(place, place->writer, "T", 0) == 1);
    assert_true(take_term(place, place->other, "T", 0) == 2);
    assert_true(take_term(place, place->writer, "U", 0) == 1);
    assert_true(take_term(place, place->writer, "T", 10) == 11);
    assert_true(take_term(place, place->other, "T", 3) == 12);
}

static void the_backend_counts_epochs_for_owners_without_terms(void **state)
{
    struct place *place = *state;
    struct journal_request *request;

    for (uint64_t epoch = 1; epoch <= 3; epoch++) {
        request = journal_request_claim(slice_text("T"), slice_text("s"),
                                      (struct fence){ 0 });
        request->next = true;
        place->ops->write(place->writer, &request, 1);
        assert_int_equal(request->result, BACKEND_DONE);
        assert_true(request->fence.term == 0);
        assert_true(request->fence.epoch == epoch);
        journal_request_free(request);
    }
    claim(place, place->other, "s", one, BACKEND_DONE);
}

static enum backend_result claim_with(struct place *place, void *writer,
                                    struct proof proof)
{
    struct journal_request *request =
        journal_request_claim(slice_text("T"), slice_text("s"), one);
    enum backend_result result;

    request->proof = proof;
    place->ops->write(writer, &request, 1);
    result = request->result;
    journal_request_free(request);
    return result;
}

static void a_claim_needs_the_coordinators_proof(void **state)
{
    struct place *place = *state;
    struct journal_request *request =
        journal_request_take_term(slice_text("T"), 0);

    request->next_proof = UINT64_MAX - 7;
    place->ops->write(place->writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
    assert_int_equal(claim_with(place, place->other,
                                (struct proof){ 1, UINT64_MAX - 7 }),
                     BACKEND_DONE);
    assert_int_equal(claim_with(place, place->other, (struct proof){ 1, 7 }),
                     BACKEND_OTHER_STORE);
    assert_int_equal(claim_with(place, place->other, (struct proof){ 2, 7 }),
                     BACKEND_OTHER_STORE);
    assert_int_equal(claim_with(place, place->other, (struct proof){ 0 }),
                     BACKEND_DONE);
    request = journal_request_take_term(slice_text("T"), 5);
    request->proof = (struct proof){ 5, 7 };
    place->ops->write(place->writer, &request, 1);
    assert_int_equal(request->result, BACKEND_OTHER_STORE);
    journal_request_free(request);
    assert_true(take_term(place, place->writer, "T", 0) == 2);
}

static void all_connections_tell_one_identity(void **state)
{
    struct place *place = *state;
    struct backend_identity identity;
    struct backend_identity other;

    place->ops->identify(place->writer, &identity);
    place->ops->identify(place->other, &other);
    assert_string_equal(identity.id, other.id);
    assert_true(strlen(identity.id) >= 32);
    assert_true(strspn(identity.id, "0123456789abcdef-") == strlen(identity.id));
}

static void another_cluster_is_refused(void **state)
{
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX] = "";

    assert_null(open_one(place, BACKEND_WRITER, "stranger", error));
    assert_non_null(strstr(error, "belongs to cluster \"c\""));
    assert_non_null(strstr(error, "stranger"));
}

static void records_outlive_the_backend(void **state)
{
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX];

    claim(place, place->writer, "s", two, BACKEND_DONE);
    append(place, place->writer, append_new("s", two, "T|x", 1, "abc"),
           BACKEND_DONE);
    place->ops->close(place->reader);
    place->ops->close(place->other);
    place->ops->close(place->writer);
    place->writer = open_one(place, BACKEND_WRITER, "c", error);
    place->other = open_one(place, BACKEND_WRITER, "c", error);
    place->reader = open_one(place, BACKEND_READER, "c", error);
    assert_stored(place->ops, place->reader, "T|x", "abc");
    claim(place, place->writer, "s", one, BACKEND_FENCED);
    append(place, place->writer, append_new("s", two, "T|x", 4, "d"),
           BACKEND_DONE);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    char *error = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                     sqlite_pages_vfs()),
                     SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, &error);
    assert_null(error);
    sqlite3_close(db);
}

/* Expects that a file with this content is refused with these words. */
static void refuse(struct place *place, const char *name, const char *words)
{
    struct backend_options options = { .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    char path[260];

    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    options.path = path;
    assert_null(backend_sqlite.open(&options, BACKEND_WRITER, error));
    if (!strstr(error, words))
        fail_msg("\"%s\" does not say \"%s\"", error, words);
}

static void *open_path(const char *path, char *error)
{
    struct backend_options options = { .path = path,
                                     .cluster = "c",
                                     .lock_wait_ms = 200 };

    return backend_sqlite.open(&options, BACKEND_WRITER, error);
}

static void close_all(struct place *place)
{
    place->ops->close(place->reader);
    place->ops->close(place->other);
    place->ops->close(place->writer);
}

static void reopen_all(struct place *place)
{
    char error[BACKEND_ERROR_MAX] = "";

    place->writer = open_one(place, BACKEND_WRITER, "c", error);
    if (!place->writer)
        fail_msg("%s", error);
    place->other = open_one(place, BACKEND_WRITER, "c", error);
    place->reader = open_one(place, BACKEND_READER, "c", error);
    assert_non_null(place->other);
    assert_non_null(place->reader);
}

static void copy_file(const char *from, const char *to)
{
    FILE *source = fopen(from, "r");
    FILE *target = fopen(to, "w");
    int byte;

    assert_non_null(source);
    assert_non_null(target);
    while ((byte = fgetc(source)) != EOF)
        fputc(byte, target);
    fclose(source);
    fclose(target);
}

/* An identity outlives the processes, but a copy of the file is another store. */
static void a_copy_has_another_identity(void **state)
{
    struct place *place = *state;
    struct backend_identity first;
    struct backend_identity later;
    struct backend_identity copied;
    char error[BACKEND_ERROR_MAX] = "";
    char path[260];
    void *copy;

    place->ops->identify(place->writer, &first);
    close_all(place);
    snprintf(path, sizeof path, "%s/copy.db", place->folder);
    copy_file(place->path, path);
    reopen_all(place);
    place->ops->identify(place->writer, &later);
    assert_string_equal(first.id, later.id);
    copy = open_path(path, error);
    assert_non_null(copy);
    backend_sqlite.identify(copy, &copied);
    assert_string_not_equal(first.id, copied.id);
    assert_memory_equal(first.id, copied.id, 32); /* only the file differs */
    backend_sqlite.close(copy);
}

/* Version 1 had neither identity nor proofs. */
static void make_version_1(struct place *place)
{
    char turn[280];

    snprintf(turn, sizeof turn, "%s-turn", place->path);
    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 1, "abc"),
           BACKEND_DONE);
    assert_true(take_term(place, place->writer, "T", 6) == 7);
    close_all(place);
    run_sql(place->path, "DROP TABLE proof; DROP TABLE snapshot;"
                         "DELETE FROM meta WHERE name = 'store';"
                         "PRAGMA user_version = 1");
    assert_int_equal(unlink(turn), 0); /* it names no store of version 1 */
}

static void a_file_of_version_1_is_upgraded_in_place(void **state)
{
    struct place *place = *state;
    struct backend_identity identity;

    make_version_1(place);
    reopen_all(place);
    place->ops->identify(place->writer, &identity);
    assert_true(strlen(identity.id) > 32);
    assert_stored(place->ops, place->reader, "T|x", "abc");
    append(place, place->writer, append_new("s", one, "T|x", 4, "d"),
           BACKEND_DONE);
    assert_true(take_term(place, place->writer, "T", 0) == 8);
    assert_int_equal(claim_with(place, place->writer, (struct proof){ 8, 1 }),
                     BACKEND_OTHER_STORE);
}

/* Version 2 had no snapshots. */
static void a_file_of_version_2_is_upgraded_in_place(void **state)
{
    struct place *place = *state;
    struct journal_request *save;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 1, "abc"), BACKEND_DONE);
    close_all(place);
    run_sql(place->path, "DROP TABLE snapshot; PRAGMA user_version = 2");
    reopen_all(place);
    assert_stored(place->ops, place->reader, "T|x", "abc");
    save = journal_request_owner(BACKEND_SAVE, slice_text("T"), slice_text("s"), one,
                                 slice_text("T|x"));
    vec_push(&save->records, ((struct backend_record){
                                 .seq = 3, .bytes = backend_put(save, slice_text("i")) }));
    save->count_max = 1;
    place->ops->write(place->writer, &save, 1);
    assert_int_equal(save->result, BACKEND_DONE);
    assert_true(save->from == 3);
    journal_request_free(save);
}

/* A program of the older version would write without the new rules. */
static void a_file_in_use_is_not_upgraded(void **state)
{
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX] = "";
    sqlite3 *db;

    make_version_1(place);
    assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "SELECT * FROM meta", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_null(open_path(place->path, error));
    if (!strstr(error, "version 1") || !strstr(error, "stop all of them"))
        fail_msg("%s", error);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    reopen_all(place);
}

static void a_damaged_identity_is_refused(void **state)
{
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX] = "";

    close_all(place);
    run_sql(place->path, "UPDATE meta SET value = 'x' WHERE name = 'store'");
    assert_null(open_path(place->path, error));
    assert_non_null(strstr(error, "identity"));
    run_sql(place->path, "UPDATE meta SET value = lower(hex(randomblob(16)))"
                         " WHERE name = 'store'");
    reopen_all(place);
}

/* `sherd journal move` has copied its events. */
static void a_moved_file_is_opened_by_tools_only(void **state)
{
    struct place *place = *state;
    struct backend_options options = { .path = place->path, .cluster = "c", .opens_moved = true };
    char error[BACKEND_ERROR_MAX] = "";
    void *store;

    close_all(place);
    run_sql(place->path, "INSERT INTO meta VALUES('moved', 'PostgreSQL')");
    assert_null(open_path(place->path, error));
    assert_non_null(strstr(error, "its events were moved to PostgreSQL: use the journal there"));
    store = backend_sqlite.open(&options, BACKEND_WRITER, error);
    assert_non_null(store);
    backend_sqlite.close(store);
    run_sql(place->path, "DELETE FROM meta WHERE name = 'moved'");
    reopen_all(place);
}

/* Each name would have its own write-ahead log. */
static void a_file_with_two_names_is_refused(void **state)
{
    struct place *place = *state;
    char path[260];

    snprintf(path, sizeof path, "%s/second", place->folder);
    assert_int_equal(link(place->path, path), 0);
    refuse(place, "second", "2 names");
    assert_int_equal(unlink(path), 0);
}

static void network_file_systems_are_known(void **state)
{
    (void)state;
    assert_string_equal(backend_network_file_system(0x6969), "NFS");
    assert_string_equal(backend_network_file_system(0xff534d42), "CIFS");
    assert_string_equal(backend_network_file_system(0x65735546), "FUSE");
    assert_string_equal(backend_network_file_system(0x01021997), "9P");
    assert_null(backend_network_file_system(0xef53)); /* ext4 */
    assert_null(backend_network_file_system(0x01021994)); /* tmpfs */
    assert_null(backend_place_network("/proc"));
    assert_null(backend_place_network("/no/such/path"));
}

static uint64_t simulated_type; /* of the file system that statfs finds; 0: the real one */

int __real_statfs(const char *path, struct statfs *found);
int __wrap_statfs(const char *path, struct statfs *found);

int __wrap_statfs(const char *path, struct statfs *found)
{
    int result = __real_statfs(path, found);

    if (simulated_type)
        found->f_type = (int)simulated_type; /* sign-extended, as in some kernels */
    return result;
}

static void a_journal_on_a_network_file_system_is_refused(void **state)
{
    static const struct {
        uint64_t type;
        const char *words;
    } rows[] = {
        { 0x6969, "network file system (NFS)" },
        { 0xff534d42, "network file system (CIFS)" },
        { 0x65735546, "network file system (FUSE)" },
        { 0x01021997, "network file system (9P)" },
    };
    struct place *place = *state;
    char path[260];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        simulated_type = rows[i].type;
        refuse(place, "far.db", rows[i].words);
        refuse(place, "far.db", "put it on a local disk");
    }
    simulated_type = 0;
    snprintf(path, sizeof path, "%s/far.db", place->folder);
    assert_int_not_equal(access(path, F_OK), 0); /* nothing was created there */
    strcat(path, "-turn");
    assert_int_not_equal(access(path, F_OK), 0);
}

/* SQLite would go on writing to the deleted file. */
static void nothing_is_confirmed_into_changed_files(void **state)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-turn" };
    struct place *place = *state;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct journal_request *request;
        char error[BACKEND_ERROR_MAX] = "";
        char path[260];
        void *opened;

        snprintf(path, sizeof path, "%s/changed%u", place->folder, (unsigned)i);
        opened = open_path(path, error);
        assert_non_null(opened);
        claim(place, opened, "s", one, BACKEND_DONE);
        append(place, opened, append_new("s", one, "T|x", 1, "a"), BACKEND_DONE);
        assert_true(backend_sqlite.is_whole(opened, error));
        snprintf(path, sizeof path, "%s/changed%u%s", place->folder,
                 (unsigned)i, ends[i]);
        assert_int_equal(unlink(path), 0);
        request = append_new("s", one, "T|x", 2, "b");
        backend_sqlite.write(opened, &request, 1);
        assert_int_equal(request->entities.items[0].result, BACKEND_FAILED);
        assert_non_null(strstr(request->error, "was deleted"));
        journal_request_free(request);
        assert_false(backend_sqlite.is_whole(opened, error));
        assert_non_null(strstr(error, "was deleted"));
        backend_sqlite.close(opened);
    }
}

/* A write without a claim, by a broken program. */
static void a_record_without_a_claim_is_a_conflict(void **state)
{
    struct place *place = *state;

    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 1, "a"),
           BACKEND_DONE);
    run_sql(place->path, "INSERT INTO event SELECT id, 2, 'x' FROM entity");
    append(place, place->writer, append_new("s", one, "T|x", 2, "b"),
           BACKEND_CONFLICT);
    append(place, place->writer, append_new("s", one, "T|y", 1, "k"),
           BACKEND_DONE);
    assert_stored(place->ops, place->reader, "T|y", "k");
}

static void strange_files_are_refused(void **state)
{
    struct place *place = *state;
    char path[260];
    FILE *file;

    snprintf(path, sizeof path, "%s/text", place->folder);
    file = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("this is not a database\n", file);
    fclose(file);
    refuse(place, "text", "not a database");
    refuse(place, "text/below", "Not a directory");
    refuse(place, "missing/deep/journal.db", "No such file");
    snprintf(path, sizeof path, "%s/strange", place->folder);
    run_sql(path, "CREATE TABLE t(x)");
    refuse(place, "strange", "another program's");
    snprintf(path, sizeof path, "%s/future", place->folder);
    run_sql(path, "CREATE TABLE t(x); PRAGMA application_id = 1936222828;"
                  "PRAGMA user_version = 99");
    refuse(place, "future", "version 99");
    snprintf(path, sizeof path, "%s/link", place->folder);
    assert_int_equal(symlink(place->path, path), 0);
    refuse(place, "link", "a symbolic link");
    snprintf(path, sizeof path, "%s/link-turn", place->folder);
    assert_int_not_equal(access(path, F_OK), 0); /* no file was created beside it */
    snprintf(path, sizeof path, "%s/pipe", place->folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    refuse(place, "pipe", "cannot open the file: it is no regular file");
    assert_int_equal(symlink("/dev", strcat(strcpy(path, place->folder), "/devices")), 0);
    refuse(place, "devices/full", "journal /dev/full: cannot open the file: it is no regular file");
}

static void a_long_path_leaves_room_for_the_reason(void **state)
{
    char path[5000], error[BACKEND_ERROR_MAX] = "";
    const struct backend_options options = { .path = path, .cluster = "c" };
    (void)state;

    memset(path, 'x', 300);
    strcpy(path + 300, "/j.db");
    memcpy(path, "/tmp/", 5);
    assert_null(backend_sqlite.open(&options, BACKEND_WRITER, error));
    assert_non_null(strstr(error, "File name too long"));
    memset(path, 'x', 300);
    strcpy(path + 300, "end");
    memcpy(path, "/tmp/", 5);
    assert_null(backend_sqlite.open(&options, BACKEND_WRITER, error));
    assert_non_null(strstr(error, "xxxend-turn: File name too long"));
}

/* The file itself must be no link, but its directory may be one. */
static void the_directory_may_be_a_link(void **state)
{
    static const enum backend_mode modes[] = { BACKEND_WRITER, BACKEND_READER };
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX] = "";
    struct backend_options options = { .cluster = "c" };
    char path[260];

    snprintf(path, sizeof path, "%s/way", place->folder);
    assert_int_equal(symlink(place->folder, path), 0);
    snprintf(path, sizeof path, "%s/way/second.db", place->folder);
    options.path = path;
    for (int i = 0; i < 2; i++) {
        void *opened = backend_sqlite.open(&options, modes[i], error);

        if (!opened)
            fail_msg("%s", error);
        backend_sqlite.close(opened);
    }
    snprintf(path, sizeof path, "%s/second.db", place->folder);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/link", place->folder);
    assert_int_equal(symlink(place->path, path), 0);
    refuse(place, "way/link", "a symbolic link");
}

static void the_log_stays_short(void **state)
{
    struct place *place = *state;
    char path[260];
    char *letters = mem_alloc(1001);
    struct backend_kept kept = { 0 };
    FILE *file;

    memset(letters, 'e', 1000);
    claim(place, place->writer, "s", one, BACKEND_DONE);
    for (int round = 0; round < 60; round++) {
        struct journal_request *request = journal_request_new(BACKEND_APPEND);

        for (int i = 0; i < 5; i++) {
            char id[16];

            snprintf(id, sizeof id, "T|%d", i);
            append_add(request, "s", one, id, (uint64_t)round * 1000 + 1,
                       letters);
        }
        append(place, place->writer, request, BACKEND_DONE);
        place->ops->tidy(place->writer, &kept);
    }
    snprintf(path, sizeof path, "%s-wal", place->path);
    file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    assert_true(ftell(file) < 24L << 20);
    fclose(file);
    mem_free(letters);
}

static bool has_log(const struct place *place)
{
    char path[260];

    snprintf(path, sizeof path, "%s-wal", place->path);
    return access(path, F_OK) == 0;
}

static void the_last_close_deletes_the_log(void **state)
{
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX];

    claim(place, place->writer, "s", one, BACKEND_DONE);
    append(place, place->writer, append_new("s", one, "T|x", 1, "abc"),
           BACKEND_DONE);
    place->ops->close(place->reader);
    place->ops->close(place->other);
    assert_true(has_log(place));
    place->ops->close(place->writer);
    assert_false(has_log(place));
    place->writer = open_one(place, BACKEND_WRITER, "c", error);
    place->other = open_one(place, BACKEND_WRITER, "c", error);
    place->reader = open_one(place, BACKEND_READER, "c", error);
    assert_stored(place->ops, place->reader, "T|x", "abc");
    assert_true(has_log(place));
}

#define both(test)                                                           \
    cmocka_unit_test_setup_teardown(test, place_memory, place_close),        \
        cmocka_unit_test_setup_teardown(test, place_sqlite, place_close)
#define sqlite_only(test) \
    cmocka_unit_test_setup_teardown(test, place_sqlite, place_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        both(events_come_back_in_order),
        both(several_requests_share_a_group),
        both(a_stale_fence_refuses_its_shard_only),
        both(sequence_numbers_are_unique_without_gap),
        both(a_claim_needs_the_coordinators_proof),
        both(all_connections_tell_one_identity),
        sqlite_only(a_copy_has_another_identity),
        sqlite_only(a_file_of_version_1_is_upgraded_in_place),
        sqlite_only(a_file_of_version_2_is_upgraded_in_place),
        sqlite_only(a_file_in_use_is_not_upgraded),
        sqlite_only(a_damaged_identity_is_refused),
        sqlite_only(a_moved_file_is_opened_by_tools_only),
        sqlite_only(a_file_with_two_names_is_refused),
        sqlite_only(nothing_is_confirmed_into_changed_files),
        cmocka_unit_test(network_file_systems_are_known),
        sqlite_only(a_journal_on_a_network_file_system_is_refused),
        cmocka_unit_test(a_long_path_leaves_room_for_the_reason),
        both(a_repeated_append_accepts_stored_records),
        both(each_term_is_given_once),
        both(the_last_record_of_an_entity_is_found),
        both(replaced_records_are_deleted),
        both(one_commit_deletes_a_bounded_number_of_records),
        both(a_term_lists_the_claimed_shards),
        both(the_backend_counts_epochs_for_owners_without_terms),
        both(another_cluster_is_refused),
        sqlite_only(the_writer_caches_a_bounded_number_of_entities),
        sqlite_only(records_outlive_the_backend),
        sqlite_only(a_record_without_a_claim_is_a_conflict),
        sqlite_only(strange_files_are_refused),
        sqlite_only(the_directory_may_be_a_link),
        sqlite_only(the_log_stays_short),
        sqlite_only(the_last_close_deletes_the_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
