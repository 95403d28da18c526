/* Damages copies of a journal in many places. No copy may silently serve less than was stored: each
 * entity has all its events, or the copy or the entity is refused.
 *
 * DAMAGE_TRIALS is the number of copies for each kind of damage. The gate runs a few. */
#define _GNU_SOURCE
#include "backends.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "host/backend_damage.h"
#include "host/backend_sqlite.h"

#define ENTITIES 40
#define EVENTS 30  /* of each entity */
#define FILES 3

static const char *const ends[FILES] = { "", "-wal", "-turn" };

struct origin {
    char folder[200];
    char path[260];  /* of a killed process's files, or of a closed journal */
    uint32_t trials;
    struct rng rng;
    uint32_t refused, entities_refused, harmless;
};

static const struct fence one = { 1, 1 };

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    int source = open(from, O_RDONLY);
    int target = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t size;

    if (source < 0) { /* a closed journal has no log */
        (void)close(target);
        (void)unlink(to);
        return;
    }
    while ((size = read(source, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(target, bytes, (size_t)size), size);
    (void)close(source);
    (void)close(target);
}

static void copy_all(const char *from, const char *to)
{
    char source[300];
    char target[300];

    for (int i = 0; i < FILES; i++) {
        snprintf(source, sizeof source, "%s%s", from, ends[i]);
        snprintf(target, sizeof target, "%s%s", to, ends[i]);
        copy_file(source, target);
    }
    snprintf(target, sizeof target, "%s-shm", to);
    (void)unlink(target);
}

static const char *id_of(char text[24], uint32_t entity)
{
    snprintf(text, 24, "T|entity-%u", entity);
    return text;
}

/* Writes all events, and copies the files before and after the close. */
static void make(struct origin *origin, bool is_closed)
{
    char path[260];
    struct backend_options options = { .path = path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    struct journal_request *request;
    void *writer;
    char id[24];

    memset(origin, 0, sizeof *origin);
    origin->trials = getenv("DAMAGE_TRIALS")
                         ? (uint32_t)atoi(getenv("DAMAGE_TRIALS"))
                         : 25;
    rng_init(&origin->rng, 7);
    folder_make(origin->folder, sizeof origin->folder);
    snprintf(path, sizeof path, "%s/first.db", origin->folder);
    snprintf(origin->path, sizeof origin->path, "%s/origin.db",
             origin->folder);
    writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
    assert_non_null(writer);
    request = journal_request_claim(slice_text("T"), slice_text("s"), one);
    backend_sqlite.write(writer, &request, 1);
    journal_request_free(request);
    for (uint32_t event = 1; event <= EVENTS; event++)
        for (uint32_t entity = 0; entity < ENTITIES; entity++) {
            request = append_new("s", one, id_of(id, entity), event, "e");
            backend_sqlite.write(writer, &request, 1);
            assert_int_equal(request->entities.items[0].result, BACKEND_DONE);
            journal_request_free(request);
        }
    if (!is_closed)
        copy_all(path, origin->path);
    backend_sqlite.close(writer);
    if (is_closed)
        copy_all(path, origin->path);
}

static void drop(struct origin *origin)
{
    folder_drop(origin->folder);
}

/* Returns whether the entity is complete, or refused with an error. Counts refused ones. */
static bool is_honest(struct origin *origin, void *reader, uint32_t entity)
{
    char id[24];
    struct journal_request *request = journal_request_replay(
        slice_text(id_of(id, entity)), 1, 1000, 1 << 20);
    uint64_t key = record_key(slice_text(id));
    bool is_good = true;
    bool is_complete;

    backend_sqlite.read(reader, &request, 1);
    for (uint32_t i = 0; i < request->records.count && is_good; i++) {
        const struct backend_record *stored = &request->records.items[i];
        struct record record;

        is_good = stored->seq == i + 1 &&
                  !record_decode(backend_slice(request, stored->bytes), key,
                                 stored->seq, &record);
    }
    is_complete = request->result == BACKEND_DONE &&
                  request->records.count == EVENTS && is_good;
    if (!is_complete)
        origin->entities_refused++;
    /* A bad record or an answer of FAILED refuses the entity (journal/replay.c). */
    is_complete |= request->result != BACKEND_DONE || !is_good;
    journal_request_free(request);
    return is_complete;
}

/* Opens the damaged copy. Returns the number of entities that silently lack events. */
static uint32_t silent_in(struct origin *origin, const char *path)
{
    struct backend_options options = { .path = path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    void *writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
    uint32_t before = origin->entities_refused;
    uint32_t silent = 0;
    void *reader;

    if (!writer) {
        origin->refused++;
        assert_string_not_equal(error, "");
        return 0;
    }
    reader = backend_sqlite.open(&options, BACKEND_READER, error);
    if (reader) {
        for (uint32_t i = 0; i < ENTITIES; i++)
            silent += !is_honest(origin, reader, i);
        backend_sqlite.close(reader);
        origin->harmless += !silent && before == origin->entities_refused;
    } else {
        origin->refused++;
    }
    backend_sqlite.close(writer);
    return silent;
}

/* The part of the log that has frames: the rest is filled with zeros. */
static off_t used_size(const char *path)
{
    static unsigned char bytes[4096];
    int file = open(path, O_RDONLY);
    struct stat stat;
    off_t used = 0;

    assert_true(file >= 0);
    assert_int_equal(fstat(file, &stat), 0);
    for (off_t at = 0; at < stat.st_size; at += (off_t)sizeof bytes) {
        ssize_t size = pread(file, bytes, sizeof bytes, at);

        for (ssize_t i = 0; i < size; i++)
            if (bytes[i])
                used = at + i + 1;
    }
    (void)close(file);
    return used;
}

static void flip(struct origin *origin, const char *path, off_t size)
{
    off_t at = (off_t)rng_below(&origin->rng, (uint64_t)size);
    int file = open(path, O_RDWR);
    unsigned char byte;

    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= (unsigned char)(1u << rng_below(&origin->rng, 8));
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    (void)close(file);
}

enum damage { FLIP_FILE, FLIP_LOG, CUT_LOG, CUT_FILE };

static void damage_all(struct origin *origin, enum damage damage)
{
    const char *end = damage == FLIP_LOG || damage == CUT_LOG ? "-wal" : "";
    char source[300];
    char path[260];
    char target[300];
    off_t size;
    uint32_t silent = 0;

    snprintf(source, sizeof source, "%s%s", origin->path, end);
    size = used_size(source);
    for (uint32_t i = 0; i < origin->trials; i++) {
        snprintf(path, sizeof path, "%s/copy.db", origin->folder);
        snprintf(target, sizeof target, "%s%s", path, end);
        copy_all(origin->path, path);
        if (damage == FLIP_FILE || damage == FLIP_LOG)
            flip(origin, target, size);
        else
            assert_int_equal(truncate(target, (off_t)rng_below(&origin->rng, (uint64_t)size)), 0);
        silent += silent_in(origin, path) > 0;
    }
    print_message("%u trials: %u silent, %u journals and %u entities refused, "
                  "%u harmless\n",
                  origin->trials, silent, origin->refused,
                  origin->entities_refused, origin->harmless);
    assert_int_equal(silent, 0);
    assert_true(origin->refused + origin->entities_refused > 0);
}

static void no_flipped_bit_of_a_log_loses_events_silently(void **state)
{
    struct origin origin;
    (void)state;

    make(&origin, false);
    damage_all(&origin, FLIP_LOG);
    drop(&origin);
}

static void no_flipped_bit_of_a_closed_journal_loses_events_silently(void **state)
{
    struct origin origin;
    (void)state;

    make(&origin, true);
    origin.trials *= 3;
    damage_all(&origin, FLIP_FILE);
    drop(&origin);
}

static void no_cut_journal_loses_events_silently(void **state)
{
    struct origin origin;
    (void)state;

    make(&origin, true);
    damage_all(&origin, CUT_FILE);
    drop(&origin);
}

static void a_page_that_a_cut_journal_lacks_is_named(void **state)
{
    struct origin origin;
    struct backend_options options = { .path = NULL, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    (void)state;

    make(&origin, true);
    assert_int_equal(truncate(origin.path, 2000), 0);
    options.path = origin.path;
    assert_null(backend_sqlite.open(&options, BACKEND_WRITER, error));
    assert_non_null(strstr(error, "page 1 of the file is damaged"));
    drop(&origin);
}

static void no_flipped_bit_switches_checksums_off(void **state)
{
    struct origin origin;
    char path[260];
    (void)state;

    make(&origin, true);
    snprintf(path, sizeof path, "%s/copy.db", origin.folder);
    for (int bit = 0; bit < 8; bit++) {
        struct backend_options options = { .path = path, .cluster = "c" };
        char error[BACKEND_ERROR_MAX] = "";
        unsigned char byte = (unsigned char)(8 ^ 1 << bit);
        int file;

        copy_all(origin.path, path);
        file = open(path, O_RDWR);
        assert_int_equal(pwrite(file, &byte, 1, 20), 1); /* reserved bytes of each page */
        (void)close(file);
        assert_null(backend_sqlite.open(&options, BACKEND_WRITER, error));
        assert_string_not_equal(error, "");
    }
    drop(&origin);
}

static void no_cut_log_loses_events_silently(void **state)
{
    struct origin origin;
    (void)state;

    make(&origin, false);
    damage_all(&origin, CUT_LOG);
    drop(&origin);
}

/* ---- one damaged page ---- */

#define PAGE 4096

static void damage_page(const char *path, off_t number)
{
    int file = open(path, O_RDWR);
    unsigned char byte;

    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, (number - 1) * PAGE + 50), 1);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, (number - 1) * PAGE + 50), 1);
    (void)close(file);
}

/* Appends one event to each entity in one group. Returns how many are stored. The others' parts are on
 * the list. */
static uint32_t append_to_all(void *writer, struct backend_damage *damage)
{
    struct journal_request *requests[ENTITIES];
    struct backend_damaged_part parts[ENTITIES];
    uint32_t done = 0;
    char id[24];

    for (uint32_t i = 0; i < ENTITIES; i++)
        requests[i] = append_new("s", one, id_of(id, i), EVENTS + 1, "f");
    backend_sqlite.write(writer, requests, ENTITIES);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        done += requests[i]->entities.items[0].result == BACKEND_DONE;
        if (requests[i]->entities.items[0].result != BACKEND_DONE) {
            assert_int_equal(requests[i]->entities.items[0].result,
                             BACKEND_FAILED);
            assert_string_not_equal(requests[i]->error, "");
        }
        journal_request_free(requests[i]);
    }
    if (done > 0)
        assert_int_equal(backend_damage_list(damage, parts, ENTITIES),
                         ENTITIES - done);
    return done;
}

/* Otherwise one entity on a damaged page would fail all that write at the same time. */
static void a_damaged_page_fails_only_the_entities_that_need_it(void **state)
{
    struct origin origin;
    struct stat about;
    char path[260];
    struct backend_options options = { .path = path, .cluster = "c" };
    uint32_t pages = 0, opened = 0, served = 0, refused = 0;
    (void)state;

    make(&origin, true);
    assert_int_equal(stat(origin.path, &about), 0);
    pages = (uint32_t)(about.st_size / PAGE);
    for (uint32_t page = 1; page <= pages; page++) {
        char error[BACKEND_ERROR_MAX] = "";
        uint32_t done;
        void *writer;

        snprintf(path, sizeof path, "%s/copy.db", origin.folder);
        copy_all(origin.path, path);
        damage_page(path, page);
        options.damage = backend_damage_new(NULL, NULL);
        writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
        if (writer) {
            done = append_to_all(writer, options.damage);
            opened++;
            served += done > ENTITIES / 2;
            refused += done < ENTITIES;
            backend_sqlite.close(writer);
        }
        backend_damage_free(options.damage);
    }
    print_message("%u pages: %u open, %u serve most entities, %u refuse some\n",
                  pages, opened, served, refused);
    /* Without the pages that all need: the header, and the roots. */
    assert_true(served + 12 > pages);
    assert_true(refused > 5);
    drop(&origin);
}

/* A claim that meets a damaged fence would fail the group again and again. */
static void a_damaged_fence_refuses_its_shard_only(void **state)
{
    struct origin origin;
    char path[260];
    struct backend_options options = { .path = path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    struct journal_request *requests[2];
    struct backend_damaged_part part;
    char name[BACKEND_PART_SIZE];
    char id[24];
    void *writer;
    (void)state;

    make(&origin, true);
    snprintf(path, sizeof path, "%s/copy.db", origin.folder);
    copy_all(origin.path, path);
    options.damage = backend_damage_new(NULL, NULL);
    writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
    assert_non_null(writer);
    backend_damage_shard(name, slice_text("T"), slice_text("other"));
    backend_damage_add(options.damage, slice_text(name), "page 9 is damaged");
    requests[0] = journal_request_claim(slice_text("T"), slice_text("other"), one);
    requests[1] = append_new("s", one, id_of(id, 1), EVENTS + 1, "f");
    append_add(requests[1], "other", one, "T|stranger", 1, "a");
    backend_sqlite.write(writer, requests, 2);
    assert_int_equal(requests[0]->result, BACKEND_FAILED);
    assert_string_equal(requests[0]->error, "page 9 is damaged");
    assert_int_equal(requests[1]->entities.items[0].result, BACKEND_DONE);
    assert_int_equal(requests[1]->entities.items[1].result, BACKEND_FAILED);
    journal_request_free(requests[0]);
    journal_request_free(requests[1]);
    assert_int_equal(backend_damage_list(options.damage, &part, 1), 1);
    assert_string_equal(part.name, "shard other of type T");
    backend_sqlite.close(writer);
    backend_damage_free(options.damage);
    drop(&origin);
}

/* Opens with SQLite alone, as the program sqlite3 does, and runs SQL. */
static void run_plain(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void expect_complete(struct origin *origin, const char *path)
{
    assert_int_equal(silent_in(origin, path), 0);
    assert_int_equal(origin->refused, 0);
    assert_int_equal(origin->entities_refused, 0);
    assert_int_equal(origin->harmless, 1);
    origin->harmless = 0;
}

/* The last to close a database empties the log into it, whatever program it is. */
static void a_log_that_another_program_emptied_is_no_damage(void **state)
{
    struct origin origin;
    char path[260];
    char log[300];
    (void)state;

    make(&origin, false);
    snprintf(path, sizeof path, "%s/copy.db", origin.folder);
    copy_all(origin.path, path);
    run_plain(path, "SELECT count(*) FROM event");
    snprintf(log, sizeof log, "%s-wal", path);
    assert_int_not_equal(access(log, F_OK), 0);
    expect_complete(&origin, path);
    drop(&origin);
}

static void back_up_with_another_program(bool is_closed)
{
    struct origin origin;
    char path[260];
    char copy[280];
    char sql[400];
    sqlite3 *from;
    sqlite3 *to;
    sqlite3_backup *backup;

    make(&origin, is_closed);
    snprintf(path, sizeof path, "%s/copy.db", origin.folder);
    copy_all(origin.path, path);
    snprintf(copy, sizeof copy, "%s-backup", path);
    assert_int_equal(sqlite3_open(path, &from), SQLITE_OK);
    assert_int_equal(sqlite3_open(copy, &to), SQLITE_OK);
    backup = sqlite3_backup_init(to, "main", from, "main");
    assert_non_null(backup);
    assert_int_equal(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
    assert_int_equal(sqlite3_close(to), SQLITE_OK);
    assert_int_equal(sqlite3_close(from), SQLITE_OK);
    expect_complete(&origin, copy);
    snprintf(copy, sizeof copy, "%s-vacuum", path);
    snprintf(sql, sizeof sql, "VACUUM INTO '%s'", copy);
    run_plain(path, sql);
    expect_complete(&origin, copy);
    expect_complete(&origin, path);
    drop(&origin);
}

static void backups_by_another_program_are_complete(void **state)
{
    (void)state;
    back_up_with_another_program(false);
    back_up_with_another_program(true); /* the first page has a checksum, and the backup changes it */
}

/* The acknowledged events are in another file. */
static void a_journal_that_was_emptied_deleted_or_exchanged_is_refused(void **state)
{
    struct origin origin, other;
    struct backend_options options = { .path = origin.path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    char turn[300];
    void *writer;
    (void)state;

    for (int kind = 0; kind < 3; kind++) {
        make(&origin, true);
        make(&other, true);
        if (kind == 0)
            assert_int_equal(truncate(origin.path, 0), 0);
        else if (kind == 1)
            assert_int_equal(unlink(origin.path), 0);
        else
            copy_file(other.path, origin.path);
        for (int again = 0; again < 2; again++) {
            assert_null(backend_sqlite.open(&options, BACKEND_WRITER, error));
            assert_non_null(strstr(error, "is another journal than the one"));
        }
        snprintf(turn, sizeof turn, "%s-turn", origin.path);
        assert_int_equal(unlink(turn), 0);
        writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
        assert_non_null(writer);
        backend_sqlite.close(writer);
        drop(&origin);
        drop(&other);
    }
}

static void a_missing_log_is_refused(void **state)
{
    struct origin origin;
    char path[300];
    struct backend_options options = { .path = origin.path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    void *writer;
    (void)state;

    make(&origin, false);
    snprintf(path, sizeof path, "%s-wal", origin.path);
    assert_int_equal(unlink(path), 0);
    assert_null(backend_sqlite.open(&options, BACKEND_WRITER, error));
    drop(&origin);
    make(&origin, false);
    writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
    assert_non_null(writer); /* undamaged: the log is read */
    backend_sqlite.close(writer);
    drop(&origin);
}

/* An operator accepts the loss by deleting the side file. */
static void a_loss_can_be_accepted(void **state)
{
    struct origin origin;
    char path[300];
    struct backend_options options = { .path = origin.path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    void *writer;
    off_t size;
    (void)state;

    make(&origin, false);
    snprintf(path, sizeof path, "%s-wal", origin.path);
    size = used_size(path);
    assert_int_equal(truncate(path, size - 100), 0); /* in the last frame */
    assert_null(backend_sqlite.open(&options, BACKEND_WRITER, error));
    if (!strstr(error, "event 30 of \"T|entity-39\" is missing") ||
        !strstr(error, "-turn"))
        fail_msg("%s", error);
    snprintf(path, sizeof path, "%s-turn", origin.path);
    assert_int_equal(unlink(path), 0);
    writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
    assert_non_null(writer);
    backend_sqlite.close(writer);
    drop(&origin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_flipped_bit_of_a_log_loses_events_silently),
        cmocka_unit_test(
            no_flipped_bit_of_a_closed_journal_loses_events_silently),
        cmocka_unit_test(a_damaged_page_fails_only_the_entities_that_need_it),
        cmocka_unit_test(a_damaged_fence_refuses_its_shard_only),
        cmocka_unit_test(no_cut_journal_loses_events_silently),
        cmocka_unit_test(no_flipped_bit_switches_checksums_off),
        cmocka_unit_test(a_page_that_a_cut_journal_lacks_is_named),
        cmocka_unit_test(no_cut_log_loses_events_silently),
        cmocka_unit_test(a_log_that_another_program_emptied_is_no_damage),
        cmocka_unit_test(backups_by_another_program_are_complete),
        cmocka_unit_test(a_journal_that_was_emptied_deleted_or_exchanged_is_refused),
        cmocka_unit_test(a_missing_log_is_refused),
        cmocka_unit_test(a_loss_can_be_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
