/* Tests the check of a whole SQLite journal: it finds damage on every page, takes small steps, and
 * never takes traffic for damage. */
#define _GNU_SOURCE
#include "backends.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "host/backend_checker.h"
#include "host/backend_damage.h"
#include "host/backend_sqlite.h"

#define PAGE 4096
#define ENTITIES 60
#define EVENTS 25 /* of each entity */
#define PARTS 64
#define STEPS_MAX 100000

static const struct fence one = { 1, 1 };

struct place {
    char folder[200];
    char path[240];
    struct backend_options options;
};

static const char *id_of(char text[24], uint32_t entity)
{
    snprintf(text, 24, "T|entity-%u", entity);
    return text;
}

static void *open_as(struct place *place, enum backend_mode mode)
{
    char error[BACKEND_ERROR_MAX] = "";
    void *store = backend_sqlite.open(&place->options, mode, error);

    if (!store)
        fail_msg("%s", error);
    return store;
}

static void append(void *writer, const char *id, uint64_t from, const char *events)
{
    struct journal_request *request = append_new("s", one, id, from, events);

    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->entities.items[0].result, BACKEND_DONE);
    journal_request_free(request);
}

static void claim(void *writer)
{
    struct journal_request *request =
        journal_request_claim(slice_text("T"), slice_text("s"), one);

    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
}

/* An empty place. */
static int place_open(void **state)
{
    struct place *place = mem_alloc(sizeof *place);

    folder_make(place->folder, sizeof place->folder);
    snprintf(place->path, sizeof place->path, "%s/journal.db", place->folder);
    place->options = (struct backend_options){ .path = place->path,
                                               .cluster = "c" };
    place->options.damage = backend_damage_new(NULL, NULL);
    *state = place;
    return 0;
}

static int place_close(void **state)
{
    struct place *place = *state;

    backend_damage_free(place->options.damage);
    folder_drop(place->folder);
    mem_free(place);
    return 0;
}

/* A closed journal with many pages, also of a shard's own stream. */
static void fill(struct place *place)
{
    void *writer = open_as(place, BACKEND_WRITER);
    char letters[EVENTS + 1];
    char id[24];

    memset(letters, 'e', EVENTS);
    letters[EVENTS] = 0;
    claim(writer);
    for (uint32_t i = 0; i < ENTITIES; i++)
        append(writer, id_of(id, i), 1, letters);
    append(writer, "|T|s", 1, letters);
    backend_sqlite.close(writer);
}

/* Runs a whole pass. Returns the number of damaged parts. */
static uint64_t check_all(struct place *place, struct backend_damaged_part *parts,
                          struct backend_check *found)
{
    void *checker = open_as(place, BACKEND_CHECKER);

    memset(found, 0, sizeof *found);
    for (int i = 0; i < STEPS_MAX && !found->is_over; i++)
        backend_sqlite.check_step(checker, found);
    assert_true(found->is_over);
    backend_sqlite.close(checker);
    return backend_damage_list(place->options.damage, parts, PARTS);
}

static bool has_part(const struct backend_damaged_part *parts, uint64_t count,
                     const char *name)
{
    for (uint64_t i = 0; i < count && i < PARTS; i++)
        if (strcmp(parts[i].name, name) == 0)
            return true;
    return false;
}

static void flip(const char *path, off_t page)
{
    int file = open(path, O_RDWR);
    unsigned char byte;

    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, (page - 1) * PAGE + 1000), 1);
    byte ^= 4;
    assert_int_equal(pwrite(file, &byte, 1, (page - 1) * PAGE + 1000), 1);
    (void)close(file);
}

/* Otherwise each page that another program changed would count as damaged. */
static void drop_sums(const char *path)
{
    static const unsigned char zeros[8];
    int file = open(path, O_RDWR);
    struct stat about;

    assert_true(file >= 0);
    assert_int_equal(fstat(file, &about), 0);
    for (off_t at = PAGE; at <= about.st_size; at += PAGE)
        assert_int_equal(pwrite(file, zeros, 8, at - 8), 8);
    (void)close(file);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    drop_sums(path);
}

static void an_intact_journal_has_no_damage(void **state)
{
    struct backend_damaged_part parts[PARTS];
    struct place *place = *state;
    struct backend_check found;
    struct stat about;

    fill(place);
    assert_int_equal(check_all(place, parts, &found), 0);
    assert_string_equal(found.error, "");
    assert_int_equal(found.entities, ENTITIES + 1);
    assert_int_equal(found.events, (ENTITIES + 1) * EVENTS);
    assert_int_equal(stat(place->path, &about), 0);
    assert_int_equal(found.pages, about.st_size / PAGE);
}

/* Each page is flipped, checked, and put back: then it is not damaged any more. */
static void damage_is_found_on_each_page_until_it_is_put_back(void **state)
{
    struct backend_damaged_part parts[PARTS];
    struct place *place = *state;
    struct backend_check found;
    uint32_t refusing = 0;
    struct stat about;
    off_t pages;

    fill(place);
    assert_int_equal(stat(place->path, &about), 0);
    pages = about.st_size / PAGE;
    assert_true(pages > 15);
    for (off_t page = 2; page <= pages; page++) { /* without the first, nothing opens */
        char name[32];
        uint64_t count;

        flip(place->path, page);
        snprintf(name, sizeof name, "page %u", (unsigned)page);
        count = check_all(place, parts, &found);
        if (!has_part(parts, count, name))
            fail_msg("%s is not found", name);
        refusing += count > 1;
        flip(place->path, page);
        assert_int_equal(check_all(place, parts, &found), 0);
    }
    assert_true(refusing > 10); /* most pages belong to an entity or a table */
}

/* A page of zeros has no checksum. */
static void a_page_of_zeros_is_found(void **state)
{
    static const unsigned char zeros[PAGE];
    struct backend_damaged_part parts[PARTS];
    struct place *place = *state;
    struct backend_check found;
    uint32_t finds = 0;
    struct stat about;
    off_t pages;

    fill(place);
    assert_int_equal(stat(place->path, &about), 0);
    pages = about.st_size / PAGE;
    for (off_t page = 2; page <= pages; page++) {
        int file = open(place->path, O_RDWR);
        unsigned char bytes[PAGE];

        assert_int_equal(pread(file, bytes, PAGE, (page - 1) * PAGE), PAGE);
        assert_int_equal(pwrite(file, zeros, PAGE, (page - 1) * PAGE), PAGE);
        finds += check_all(place, parts, &found) > 0;
        assert_int_equal(pwrite(file, bytes, PAGE, (page - 1) * PAGE), PAGE);
        (void)close(file);
        assert_int_equal(check_all(place, parts, &found), 0);
    }
    assert_int_equal(finds, pages - 1);
}

/* Changes that SQLite and the pages' checksums accept. */
static void a_wrong_record_and_a_missing_one_are_found(void **state)
{
    struct backend_damaged_part parts[PARTS];
    struct place *place = *state;
    struct backend_check found;

    fill(place);
    run_sql(place->path, "DELETE FROM event WHERE entity = 3 AND seq = 7");
    run_sql(place->path, "UPDATE event SET record = zeroblob(20)"
                         " WHERE entity = 5 AND seq = 1");
    run_sql(place->path, "DELETE FROM event WHERE entity = 8 AND seq < 3");
    assert_int_equal(check_all(place, parts, &found), 3);
    assert_true(has_part(parts, 3, "T|entity-2"));
    assert_true(has_part(parts, 3, "T|entity-4"));
    assert_true(has_part(parts, 3, "T|entity-7"));
    for (int i = 0; i < 3; i++)
        if (!strstr(parts[i].why, "event 7: it is missing") &&
            !strstr(parts[i].why, "event 1: it is missing") &&
            !strstr(parts[i].why, "event 1: "))
            fail_msg("%s", parts[i].why);
    /* The first records of a shard's own stream may be deleted. */
    run_sql(place->path, "DELETE FROM event WHERE entity = 61 AND seq < 9");
    assert_int_equal(check_all(place, parts, &found), 3);
}

static enum backend_result try_save(void *writer, const char *id, uint64_t seq, size_t size)
{
    enum backend_result result;
    struct journal_request *request =
        journal_request_owner(BACKEND_SAVE, slice_text("T"), slice_text("s"), one, slice_text(id));
    struct backend_record record = { .seq = seq, .bytes.at = (uint32_t)request->bytes.size };
    struct slice image = { mem_alloc(size), size };

    snapshot_encode(&request->bytes, record_key(slice_text(id)), seq, &(struct snapshot){ .version = 1, .fence = one, .image = image });
    mem_free((void *)(uintptr_t)image.data);
    record.bytes.size = (uint32_t)request->bytes.size - record.bytes.at;
    vec_push(&request->records, record);
    request->count_max = 10;
    backend_sqlite.write(writer, &request, 1);
    result = request->result;
    journal_request_free(request);
    return result;
}

static void save(void *writer, const char *id, uint64_t seq, size_t size)
{
    assert_int_equal(try_save(writer, id, seq, size), BACKEND_DONE);
}

/* The newest snapshot up to a number; 0: none. */
static uint64_t load(void *reader, const char *id, uint64_t up_to, bool *is_good)
{
    struct journal_request *request = journal_request_load(slice_text(id), up_to);
    struct snapshot snapshot;
    uint64_t seq = 0;

    backend_sqlite.read(reader, &request, 1);
    assert_string_equal(request->error, "");
    assert_int_equal(request->result, BACKEND_DONE);
    *is_good = false;
    if (request->records.count) {
        seq = request->records.items[0].seq;
        *is_good = !snapshot_decode(backend_slice(request, request->records.items[0].bytes),
                                    record_key(slice_text(id)), seq, &snapshot);
    }
    journal_request_free(request);
    return seq;
}

/* Its entity is served, as older snapshots and events may be good. */
static void a_damaged_snapshot_is_a_part_of_its_own(void **state)
{
    struct backend_damaged_part parts[PARTS];
    struct place *place = *state;
    struct backend_check found;
    void *writer, *reader;
    bool is_good;

    fill(place);
    writer = open_as(place, BACKEND_WRITER);
    save(writer, "T|entity-2", 10, 20000);
    save(writer, "T|entity-2", 20, 20000);
    save(writer, "T|entity-3", 20, 1000000);
    backend_sqlite.close(writer);
    assert_int_equal(check_all(place, parts, &found), 0);
    run_sql(place->path, "UPDATE snapshot SET record = zeroblob(9) WHERE entity = 3 AND seq = 20");
    assert_int_equal(check_all(place, parts, &found), 1);
    assert_true(has_part(parts, 1, "snapshots of T|entity-2"));
    assert_non_null(strstr(parts[0].why, "snapshot 20: "));
    writer = open_as(place, BACKEND_WRITER);
    reader = open_as(place, BACKEND_READER);
    append(writer, "T|entity-2", EVENTS + 1, "f");
    assert_int_equal(load(reader, "T|entity-2", INT64_MAX, &is_good), 20);
    assert_false(is_good);
    assert_int_equal(load(reader, "T|entity-2", 19, &is_good), 10);
    assert_true(is_good);
    backend_sqlite.close(reader);
    backend_sqlite.close(writer);
    run_sql(place->path, "DELETE FROM snapshot WHERE entity = 3 AND seq = 20");
    assert_int_equal(check_all(place, parts, &found), 0);
}

/* No damaged page refuses an entity that can do without the snapshot on it, and no page of snapshots a term. */
static void damaged_pages_of_snapshots_refuse_no_entity(void **state)
{
    struct place *place = *state;
    void *writer = open_as(place, BACKEND_WRITER), *reader;
    struct journal_request *request;
    uint32_t damaged = 0;
    struct stat before, after;
    bool is_good;

    claim(writer);
    append(writer, "T|a", 1, "eeeee");
    backend_sqlite.close(writer);
    assert_int_equal(stat(place->path, &before), 0);
    writer = open_as(place, BACKEND_WRITER);
    save(writer, "T|a", 2, 20000);
    save(writer, "T|a", 4, 20000);
    backend_sqlite.close(writer);
    assert_int_equal(stat(place->path, &after), 0);
    for (off_t page = before.st_size / PAGE + 1; page <= after.st_size / PAGE; page++) {
        uint64_t newest;

        flip(place->path, page);
        writer = open_as(place, BACKEND_WRITER);
        reader = open_as(place, BACKEND_READER);
        newest = load(reader, "T|a", INT64_MAX, &is_good);
        damaged += newest == 0 || !is_good;
        if (newest == 4 && !is_good) {
            assert_int_equal(load(reader, "T|a", 3, &is_good), 2);
            assert_true(is_good);
        }
        request = journal_request_replay(slice_text("T|a"), 1, 100, 1 << 20);
        backend_sqlite.read(reader, &request, 1);
        assert_int_equal(request->result, BACKEND_DONE);
        assert_int_equal(request->records.count, 5);
        journal_request_free(request);
        request = journal_request_take_term(slice_text("T"), 0);
        backend_sqlite.write(writer, &request, 1);
        assert_int_equal(request->result, BACKEND_DONE);
        journal_request_free(request);
        backend_sqlite.close(reader);
        backend_sqlite.close(writer);
        flip(place->path, page);
    }
    assert_true(damaged >= 4);
    for (off_t page = before.st_size / PAGE + 1; page <= after.st_size / PAGE; page++)
        flip(place->path, page);
    writer = open_as(place, BACKEND_WRITER);
    assert_int_equal(try_save(writer, "T|a", 5, 20000), BACKEND_FAILED);
    request = journal_request_take_term(slice_text("T"), 0);
    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
    append(writer, "T|a", 6, "f");
    backend_sqlite.close(writer);
}

/* A damaged entity is refused, and the others are served. */
static void a_damaged_entity_is_refused_after_a_check(void **state)
{
    struct backend_damaged_part parts[PARTS];
    struct place *place = *state;
    struct backend_check found;
    struct journal_request *request;
    void *writer, *reader;

    fill(place);
    run_sql(place->path, "DELETE FROM event WHERE entity = 3 AND seq = 7");
    writer = open_as(place, BACKEND_WRITER);
    reader = open_as(place, BACKEND_READER);
    assert_int_equal(check_all(place, parts, &found), 1);
    request = append_new("s", one, "T|entity-2", EVENTS + 1, "f");
    append_add(request, "s", one, "T|entity-9", EVENTS + 1, "f");
    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->entities.items[0].result, BACKEND_FAILED);
    assert_int_equal(request->entities.items[1].result, BACKEND_DONE);
    assert_non_null(strstr(request->error, "event 7: it is missing"));
    journal_request_free(request);
    request = journal_request_replay(slice_text("T|entity-2"), 1, 100, 1 << 20);
    backend_sqlite.read(reader, &request, 1);
    assert_int_equal(request->result, BACKEND_FAILED);
    assert_non_null(strstr(request->error, "event 7: it is missing"));
    journal_request_free(request);
    request = journal_request_replay(slice_text("T|entity-9"), 1, 100, 1 << 20);
    backend_sqlite.read(reader, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    assert_int_equal(request->records.count, EVENTS + 1);
    journal_request_free(request);
    backend_sqlite.close(reader);
    backend_sqlite.close(writer);
}

/* The steps alternate with commits, deletions and the emptying of the log. */
static void traffic_is_no_damage(void **state)
{
    struct backend_damaged_part parts[PARTS];
    struct place *place = *state;
    struct backend_kept kept = { 0 };
    struct backend_check found = { 0 };
    void *writer, *checker;
    uint64_t next = EVENTS + 1, passes = 0;
    char id[24];

    fill(place);
    writer = open_as(place, BACKEND_WRITER);
    checker = open_as(place, BACKEND_CHECKER);
    for (int i = 0; i < 3000 && passes < 5; i++) {
        struct journal_request *request;

        backend_sqlite.check_step(checker, &found);
        request = append_new("s", one, "|T|s", next, "b");
        append_cut(request, next - 3);
        append_add(request, "s", one, id_of(id, (uint32_t)i + ENTITIES), 1, "new");
        backend_sqlite.write(writer, &request, 1);
        assert_int_equal(request->entities.items[0].result, BACKEND_DONE);
        journal_request_free(request);
        next++;
        backend_sqlite.tidy(writer, &kept);
        if (!found.is_over)
            continue;
        assert_string_equal(found.error, "");
        backend_sqlite.close(checker);
        checker = open_as(place, BACKEND_CHECKER);
        memset(&found, 0, sizeof found);
        passes++;
    }
    assert_true(passes == 5);
    assert_int_equal(backend_damage_list(place->options.damage, parts, PARTS), 0);
    backend_sqlite.close(checker);
    backend_sqlite.close(writer);
}

/* Between two steps no transaction is open, which would keep the log. */
static void a_check_takes_small_steps_and_keeps_no_log(void **state)
{
    struct place *place = *state;
    struct backend_check found = { 0 };
    void *writer, *checker;
    uint32_t steps = 0;
    char id[24];
    static char letters[20001];

    memset(letters, 'e', sizeof letters - 1);
    writer = open_as(place, BACKEND_WRITER);
    claim(writer);
    for (uint32_t i = 0; i < 5; i++)
        append(writer, id_of(id, i), 1, letters);
    checker = open_as(place, BACKEND_CHECKER);
    while (!found.is_over) {
        sqlite3 *other;
        int pages = -1, copied = -1;

        backend_sqlite.check_step(checker, &found);
        steps++;
        assert_true(found.bytes <= 2 * 256 * 1024);
        if (steps % 4)
            continue;
        append(writer, id_of(id, 9 + steps), 1, "x");
        assert_int_equal(sqlite3_open(place->path, &other), SQLITE_OK);
        assert_int_equal(sqlite3_wal_checkpoint_v2(other, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                                   &pages, &copied), SQLITE_OK);
        assert_int_equal(sqlite3_close(other), SQLITE_OK);
    }
    assert_true(steps > 20);
    assert_int_equal(found.events, 5 * 20000 + found.entities - 5);
    backend_sqlite.close(checker);
    backend_sqlite.close(writer);
}

static void one_process_checks_at_a_time(void **state)
{
    struct place *place = *state;
    struct backend_check first = { 0 }, second = { 0 };
    void *checker, *other;

    fill(place);
    checker = open_as(place, BACKEND_CHECKER);
    other = open_as(place, BACKEND_CHECKER);
    backend_sqlite.check_step(checker, &first);
    backend_sqlite.check_step(other, &second);
    assert_true(second.is_waiting);
    assert_int_equal(second.bytes, 0);
    while (!first.is_over)
        backend_sqlite.check_step(checker, &first);
    backend_sqlite.check_step(other, &second);
    assert_false(second.is_waiting);
    backend_sqlite.close(other); /* in the middle */
    second = (struct backend_check){ 0 };
    backend_sqlite.check_step(checker, &second);
    assert_false(second.is_waiting);
    backend_sqlite.close(checker);
}

/* ---- the thread ---- */

static _Atomic uint32_t passes;
static _Atomic uint64_t last_damaged;

static void on_pass(void *context, const struct backend_check *check)
{
    (void)context;
    atomic_store(&last_damaged, check->damaged);
    atomic_fetch_add(&passes, 1);
}

/* Waits until another checker of the file has begun. */
static bool is_checking(struct place *place)
{
    struct backend_check found = { .bytes = 0 };

    for (int i = 0; i < 3000 && !found.is_waiting; i++) {
        void *own = open_as(place, BACKEND_CHECKER);

        memset(&found, 0, sizeof found);
        backend_sqlite.check_step(own, &found);
        backend_sqlite.close(own);
        (void)usleep(10 * 1000);
    }
    return found.is_waiting;
}

static void the_thread_checks_again_and_again(void **state)
{
    struct place *place = *state;
    struct backend_checker_options options = { .ops = &backend_sqlite,
                                               .interval = 1000000,
                                               .rate = 1 << 30,
                                               .done = on_pass };
    struct backend_checker *checker;

    fill(place);
    options.store = place->options;
    run_sql(place->path, "DELETE FROM event WHERE entity = 3 AND seq = 7");
    checker = backend_checker_start(&options);
    assert_non_null(checker);
    for (int i = 0; i < 60000 && atomic_load(&passes) < 3; i++)
        (void)usleep(1000);
    backend_checker_stop(checker);
    assert_true(atomic_load(&passes) >= 3);
    assert_int_equal(atomic_load(&last_damaged), 1);
    options.rate = 1; /* the next step would come in days */
    checker = backend_checker_start(&options);
    assert_true(is_checking(place));
    backend_checker_stop(checker);
}

/* As the program sqlite3 does. */
static void vacuum_into(const char *path, const char *copy)
{
    char sql[600];
    sqlite3 *db;

    (void)snprintf(sql, sizeof sql, "VACUUM INTO '%s'", copy);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void expect_sums(struct place *place, const char *path)
{
    struct backend_damaged_part parts[PARTS];
    struct backend_check found;
    struct stat about;

    assert_int_equal(stat(path, &about), 0);
    for (off_t page = 2; page <= about.st_size / PAGE; page++) {
        flip(path, page);
        if (check_all(place, parts, &found) == 0)
            fail_msg("page %d has no checksum", (int)page);
        flip(path, page);
        assert_int_equal(check_all(place, parts, &found), 0);
    }
}

/* Such as a backup. From then on each flipped bit is found. */
static void a_check_signs_pages_that_another_program_wrote(void **state)
{
    struct place *place = *state;
    struct backend_damaged_part parts[PARTS];
    struct backend_check found;
    char copy[sizeof place->path + 8];

    fill(place);
    (void)snprintf(copy, sizeof copy, "%s.copy", place->path);
    vacuum_into(place->path, copy);
    place->options.path = copy;
    assert_int_equal(check_all(place, parts, &found), 0); /* as by hand: it changes nothing */
    place->options.signs = true;
    backend_sqlite.close(open_as(place, BACKEND_WRITER)); /* as a node, which has a log */
    drop_sums(copy); /* as if the file were too large to be signed when it is opened */
    assert_int_equal(check_all(place, parts, &found), 0);
    expect_sums(place, copy);
}

/* Without a check, which may be switched off. */
static void a_small_restored_journal_is_signed_when_it_is_opened(void **state)
{
    struct place *place = *state;
    char copy[sizeof place->path + 8];

    fill(place);
    (void)snprintf(copy, sizeof copy, "%s.copy", place->path);
    vacuum_into(place->path, copy);
    place->options.path = copy;
    backend_sqlite.close(open_as(place, BACKEND_WRITER));
    expect_sums(place, copy);
}

static void on_damaged(void *context, const char *part, const char *why)
{
    (void)part;
    *(uint32_t *)context += why != NULL;
}

/* Parts beyond the limit are counted and told. */
static void a_full_list_counts_further_parts(void **state)
{
    static struct backend_damaged_part parts[STATUS_DAMAGED_MAX];
    uint32_t told = 0;
    struct backend_damage *damage = backend_damage_new(on_damaged, &told);
    char name[24], why[BACKEND_ERROR_MAX];
    (void)state;

    for (uint32_t i = 0; i < BACKEND_DAMAGED_MAX + 3; i++) {
        (void)snprintf(name, sizeof name, "T|%u", i);
        backend_damage_add(damage, slice_text(name), "bad");
        backend_damage_add(damage, slice_text("T|0"), "known");
    }
    assert_int_equal(told, BACKEND_DAMAGED_MAX + 3);
    assert_true(backend_damage_list(damage, parts, STATUS_DAMAGED_MAX) == BACKEND_DAMAGED_MAX + 3);
    assert_string_equal(parts[STATUS_DAMAGED_MAX - 1].why, "bad");
    assert_true(backend_damage_find(damage, slice_text("T|4095"), why));
    assert_false(backend_damage_find(damage, slice_text(name), why));
    backend_damage_remove(damage, slice_text("T|4095"));
    backend_damage_add(damage, slice_text(name), "bad");
    assert_true(backend_damage_find(damage, slice_text(name), why));
    backend_damage_free(damage);
}

#define in_a_place(test) \
    cmocka_unit_test_setup_teardown(test, place_open, place_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_place(an_intact_journal_has_no_damage),
        in_a_place(damage_is_found_on_each_page_until_it_is_put_back),
        in_a_place(a_page_of_zeros_is_found),
        in_a_place(a_wrong_record_and_a_missing_one_are_found),
        in_a_place(a_damaged_snapshot_is_a_part_of_its_own),
        in_a_place(damaged_pages_of_snapshots_refuse_no_entity),
        in_a_place(a_damaged_entity_is_refused_after_a_check),
        in_a_place(traffic_is_no_damage),
        in_a_place(a_check_takes_small_steps_and_keeps_no_log),
        in_a_place(one_process_checks_at_a_time),
        in_a_place(the_thread_checks_again_and_again),
        in_a_place(a_check_signs_pages_that_another_program_wrote),
        in_a_place(a_small_restored_journal_is_signed_when_it_is_opened),
        cmocka_unit_test(a_full_list_counts_further_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
