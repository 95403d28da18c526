/* Tests that a damaged journal is rebuilt: it keeps what can be read, each entity a prefix of its
 * events, and reports the rest. */
#define _GNU_SOURCE
#include "backends.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/backend_damage.h"
#include "host/backend_sqlite.h"
#include "host/backend_sqlite_rebuild.h"

#define PAGE 4096
#define ENTITIES 60
#define EVENTS 25 /* of each entity */
#define OWN "|T|s" /* a shard's own stream; its last base is event BASE */
#define BASE 20

static const struct fence fence = { 7, 3 };

struct place {
    char folder[200];
    char path[240];
    char turn[260];
    char damaged[260];
    uint32_t losses; /* lines of the last rebuild */
    char lost[ENTITIES + 1]; /* by entity; the last is the shard's */
    bool has_other;  /* a line that names no entity */
};

static const char *id_of(char text[24], uint32_t entity)
{
    snprintf(text, 24, "T|entity-%02u", entity);
    return text;
}

static void *open_as(struct place *place, enum backend_mode mode)
{
    struct backend_options options = { .path = place->path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    void *store = backend_sqlite.open(&options, mode, error);

    if (!store)
        fail_msg("%s", error);
    return store;
}

static void write_one(void *writer, struct journal_request *request)
{
    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
}

/* Records of a shard's stream name the distance of their base. */
static void add_own(struct journal_request *request)
{
    struct backend_shard named = { .fence = fence };
    struct backend_entity entity = { 0 };

    named.type = backend_put(request, slice_text("T"));
    named.shard = backend_put(request, slice_text("s"));
    vec_push(&request->shards, named);
    entity.id = backend_put(request, slice_text(OWN));
    vec_push(&request->entities, entity);
    for (uint64_t seq = 1; seq <= EVENTS; seq++) {
        struct record record = { .event_type = (uint32_t)(seq < BASE ? seq - 1 : seq - BASE),
                                 .fence = fence,
                                 .payload = slice_text("ids") };
        struct backend_record stored = { .seq = seq,
                                         .bytes.at = (uint32_t)request->bytes.size };

        record_encode(&request->bytes, record_key(slice_text(OWN)), seq, &record);
        stored.bytes.size = (uint32_t)request->bytes.size - stored.bytes.at;
        vec_push(&request->records, stored);
    }
}

static int place_open(void **state)
{
    struct place *place = mem_alloc(sizeof *place);
    struct journal_request *request;
    void *writer;
    char letters[EVENTS + 1];
    char id[24];

    folder_make(place->folder, sizeof place->folder);
    snprintf(place->path, sizeof place->path, "%s/journal.db", place->folder);
    snprintf(place->turn, sizeof place->turn, "%s-turn", place->path);
    snprintf(place->damaged, sizeof place->damaged, "%s.damaged", place->path);
    memset(letters, 'e', EVENTS);
    letters[EVENTS] = 0;
    writer = open_as(place, BACKEND_WRITER);
    write_one(writer, journal_request_take_term(slice_text("T"), 6));
    write_one(writer, journal_request_claim(slice_text("T"), slice_text("s"), fence));
    for (uint32_t i = 0; i < ENTITIES; i++)
        write_one(writer, append_new("s", fence, id_of(id, i), 1, letters));
    request = journal_request_new(BACKEND_APPEND);
    add_own(request);
    write_one(writer, request);
    backend_sqlite.close(writer);
    *state = place;
    return 0;
}

static int place_close(void **state)
{
    struct place *place = *state;

    folder_drop(place->folder);
    mem_free(place);
    return 0;
}

static void on_lost(void *context, const char *text)
{
    struct place *place = context;
    unsigned entity;

    place->losses++;
    if (sscanf(text, "entity T|entity-%u: events from", &entity) == 1)
        place->lost[entity] = strstr(text, ", if there were any") ? 2 : 1;
    else if (strncmp(text, "entity " OWN ":", strlen("entity " OWN ":")) == 0)
        place->lost[ENTITIES] = 1;
    else
        place->has_other = true;
}

static int rebuild(struct place *place, char *error)
{
    struct backend_rebuild work = { .lost = on_lost, .context = place };

    place->losses = 0;
    place->has_other = false;
    memset(place->lost, 0, sizeof place->lost);
    return backend_sqlite_rebuild(place->path, &work, error);
}

static uint64_t check_all(struct place *place)
{
    struct backend_options options = { .path = place->path,
                                       .damage = backend_damage_new(NULL, NULL) };
    struct backend_check found = { 0 };
    char error[BACKEND_ERROR_MAX] = "";
    void *checker = backend_sqlite.open(&options, BACKEND_CHECKER, error);
    uint64_t count;

    assert_non_null(checker);
    while (!found.is_over)
        backend_sqlite.check_step(checker, &found);
    assert_string_equal(found.error, "");
    backend_sqlite.close(checker);
    count = backend_damage_list(options.damage, NULL, 0);
    backend_damage_free(options.damage);
    return count;
}

/* Each entity has all its events, or a prefix and a line that says so. */
static void expect_prefixes(struct place *place)
{
    void *reader;
    void *writer = open_as(place, BACKEND_WRITER); /* recovers, and serves */
    char id[24];

    reader = open_as(place, BACKEND_READER);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        char *letters = stored_events(&backend_sqlite, reader, id_of(id, i));

        if (strlen(letters) != EVENTS && !place->lost[i])
            fail_msg("%s has %zu events without a word", id, strlen(letters));
        assert_true(place->lost[i] != 1 || strlen(letters) < EVENTS);
        /* It goes on from there. */
        write_one(writer, append_new("s", fence, id, strlen(letters) + 1, "n"));
        mem_free(letters);
    }
    if (!place->lost[ENTITIES]) { /* complete, or from its last base on */
        struct journal_request *request =
            journal_request_replay(slice_text(OWN), 1, 100, 1 << 20);

        backend_sqlite.read(reader, &request, 1);
        assert_int_equal(request->result, BACKEND_DONE);
        assert_true(request->records.count == EVENTS ||
                    request->records.count == EVENTS - BASE + 1);
        assert_int_equal(request->records.items[request->records.count - 1].seq, EVENTS);
        journal_request_free(request);
    }
    backend_sqlite.close(reader);
    backend_sqlite.close(writer);
}

static void copy_file(const char *from, const char *to)
{
    char command[600];

    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static void each_damaged_page_costs_only_what_it_had(void **state)
{
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX] = "";
    char origin[260];
    uint32_t rebuilt = 0, losing = 0, entities = 0;
    struct stat about;
    off_t pages;

    snprintf(origin, sizeof origin, "%s/origin", place->folder);
    copy_file(place->path, origin);
    assert_int_equal(stat(origin, &about), 0);
    pages = about.st_size / PAGE;
    for (off_t page = 1; page <= pages; page++) {
        int file;
        unsigned char byte;

        copy_file(origin, place->path);
        (void)unlink(place->damaged);
        (void)unlink(place->turn);
        file = open(place->path, O_RDWR);
        assert_int_equal(pread(file, &byte, 1, (page - 1) * PAGE + 1000), 1);
        byte ^= 4;
        assert_int_equal(pwrite(file, &byte, 1, (page - 1) * PAGE + 1000), 1);
        (void)close(file);
        if (rebuild(place, error) != 0) {
            assert_non_null(strstr(error, "restore a backup"));
            continue;
        }
        rebuilt++;
        losing += place->losses > 0;
        for (uint32_t i = 0; i < ENTITIES; i++)
            entities += place->lost[i] == 1;
        assert_int_equal(access(place->damaged, F_OK), 0);
        assert_int_not_equal(access(place->turn, F_OK), 0);
        assert_int_equal(check_all(place), 0);
        expect_prefixes(place);
    }
    print_message("%u of %u pages: rebuilt, %u with losses, %u entities\n",
                  rebuilt, (unsigned)pages, losing, entities);
    assert_true(rebuilt + 4 > pages); /* without the header and the cluster's name */
    assert_true(losing > 5);
}

/* Fences, terms, the cluster and the identity stay. */
static void an_intact_journal_is_rebuilt_whole(void **state)
{
    struct place *place = *state;
    struct backend_identity before, after;
    char error[BACKEND_ERROR_MAX] = "";
    struct journal_request *request;
    void *writer = open_as(place, BACKEND_WRITER);

    backend_sqlite.identify(writer, &before);
    backend_sqlite.close(writer);
    assert_int_equal(rebuild(place, error), 0);
    assert_int_equal(place->losses, 0);
    assert_int_equal(check_all(place), 0);
    expect_prefixes(place);
    writer = open_as(place, BACKEND_WRITER);
    backend_sqlite.identify(writer, &after);
    before.id[32] = after.id[32] = 0; /* a number of the file follows */
    assert_string_equal(before.id, after.id);
    request = journal_request_claim(slice_text("T"), slice_text("s"), (struct fence){ 7, 2 });
    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_FENCED);
    journal_request_free(request);
    request = journal_request_take_term(slice_text("T"), 0);
    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    assert_int_equal(request->fence.term, 8);
    journal_request_free(request);
    backend_sqlite.close(writer);
}

static void a_journal_in_use_is_not_rebuilt(void **state)
{
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX] = "";
    void *writer = open_as(place, BACKEND_WRITER);

    assert_int_equal(rebuild(place, error), -1);
    if (!strstr(error, "stop all nodes"))
        fail_msg("%s", error);
    write_one(writer, append_new("s", fence, "T|later", 1, "e"));
    backend_sqlite.close(writer);
    assert_int_equal(rebuild(place, error), 0);
    assert_int_equal(rebuild(place, error), -1);
    assert_non_null(strstr(error, "FILE.damaged exists"));
}

/* A lost term below the fences' would refuse every claim. */
static void a_lost_term_is_taken_from_the_fences(void **state)
{
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX] = "";
    struct journal_request *request;
    struct sqlite3 *db;
    void *writer;

    assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM term", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    (void)unlink(place->turn);
    if (rebuild(place, error) != 0) /* the changed page has no checksum, unlike the others */
        fail_msg("%s", error);
    writer = open_as(place, BACKEND_WRITER);
    request = journal_request_take_term(slice_text("T"), 0);
    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->fence.term, 8);
    journal_request_free(request);
    backend_sqlite.close(writer);
}

#define in_a_place(test) \
    cmocka_unit_test_setup_teardown(test, place_open, place_close)

static void save(void *writer, const char *id, uint64_t seq)
{
    struct journal_request *request =
        journal_request_owner(BACKEND_SAVE, slice_text("T"), slice_text("s"), fence, slice_text(id));
    struct backend_record record = { .seq = seq, .bytes.at = (uint32_t)request->bytes.size };

    snapshot_encode(&request->bytes, record_key(slice_text(id)), seq,
                    &(struct snapshot){ .version = 1, .fence = fence, .image = slice_text("state") });
    record.bytes.size = (uint32_t)request->bytes.size - record.bytes.at;
    vec_push(&request->records, record);
    request->count_max = 10;
    write_one(writer, request);
}

static void run_sql(const char *path, const char *sql)
{
    static const unsigned char zeros[8];
    int file = open(path, O_RDWR);
    struct stat about;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(fstat(file, &about), 0);
    for (off_t at = PAGE; at <= about.st_size; at += PAGE) /* else each changed page counts as damaged */
        assert_int_equal(pwrite(file, zeros, 8, at - 8), 8);
    (void)close(file);
}

static int64_t number_of(const char *path, const char *sql)
{
    sqlite3_stmt *statement;
    sqlite3 *db;
    int64_t number;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    number = sqlite3_column_int64(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return number;
}

/* The entities 00 to 04 have the ids 1 to 5 in the tables, and snapshots of the events 10 and 20. */
static void a_snapshot_replaces_lost_events_and_is_dropped_without_them(void **state)
{
    struct place *place = *state;
    void *writer = open_as(place, BACKEND_WRITER);
    char error[BACKEND_ERROR_MAX] = "";
    char id[24];

    for (uint32_t i = 0; i < 5; i++) {
        save(writer, id_of(id, i), 10);
        save(writer, id, 20);
    }
    backend_sqlite.close(writer);
    run_sql(place->path, "DELETE FROM event WHERE entity = 1 AND seq <= 10;" /* as a node does */
                         "DELETE FROM event WHERE entity = 2 AND seq <= 10;"
                         "UPDATE event SET record = zeroblob(9) WHERE entity = 2 AND seq = 13;"
                         "UPDATE event SET record = zeroblob(9) WHERE entity = 3 AND seq = 15;"
                         "UPDATE snapshot SET record = zeroblob(9) WHERE entity = 3 AND seq = 20;"
                         "DELETE FROM event WHERE entity = 4 AND seq <= 20;"
                         "UPDATE snapshot SET record = zeroblob(9) WHERE entity = 4 AND seq = 20;"
                         "DELETE FROM event WHERE entity = 5 AND (seq <= 10 OR seq > 15);"
                         "UPDATE snapshot SET record = zeroblob(9) WHERE entity = 5 AND seq = 10");
    assert_true(check_all(place) > 0);
    assert_int_equal(rebuild(place, error), 0);
    assert_int_equal(check_all(place), 0);
    /* an intact one stays */
    assert_int_equal(number_of(place->path, "SELECT count(*) FROM event WHERE entity = 1"), EVENTS - 10);
    assert_int_equal(number_of(place->path, "SELECT count(*) FROM snapshot WHERE entity = 1"), 2);
    assert_int_equal(place->lost[0], 0);
    /* the state is that of snapshot 20, and the events behind it */
    assert_int_equal(number_of(place->path, "SELECT min(seq) FROM event WHERE entity = 2"), 21);
    assert_int_equal(number_of(place->path, "SELECT max(seq) FROM event WHERE entity = 2"), EVENTS);
    assert_int_equal(number_of(place->path, "SELECT sum(seq) FROM snapshot WHERE entity = 2"), 20);
    assert_int_equal(place->lost[1], 0);
    assert_true(place->has_other);
    /* the events up to the damage, and the snapshot among them */
    assert_int_equal(number_of(place->path, "SELECT max(seq) FROM event WHERE entity = 3"), 14);
    assert_int_equal(number_of(place->path, "SELECT sum(seq) FROM snapshot WHERE entity = 3"), 10);
    assert_int_equal(place->lost[2], 1);
    /* nothing leads to the events that are left */
    assert_int_equal(number_of(place->path, "SELECT count(*) FROM event WHERE entity = 4"), 0);
    assert_int_equal(number_of(place->path, "SELECT count(*) FROM snapshot WHERE entity = 4"), 0);
    assert_int_equal(place->lost[3], 1);
    assert_int_equal(number_of(place->path, "SELECT count(*) FROM event WHERE entity = 5"), 0);
    assert_int_equal(number_of(place->path, "SELECT count(*) FROM snapshot WHERE entity = 5"), 0);
    assert_int_equal(place->lost[4], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_snapshot_replaces_lost_events_and_is_dropped_without_them, place_open,
                                        place_close),
        in_a_place(each_damaged_page_costs_only_what_it_had),
        in_a_place(an_intact_journal_is_rebuilt_whole),
        in_a_place(a_journal_in_use_is_not_rebuilt),
        in_a_place(a_lost_term_is_taken_from_the_fences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
