/* Damages and overwrites the files of a journal that is open. Nothing that was stored may be missing
 * without an error: what is damaged is refused, and the rest is served. An overwritten journal stores
 * nothing more.
 *
 * DAMAGE_TRIALS is the number of flipped bits. The gate flips a few. */
#define _GNU_SOURCE
#include "backends.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/rng.h"
#include "host/backend_damage.h"
#include "host/backend_sqlite.h"
#include "host/backend_sqlite_marks.h"

#define ENTITIES 30
#define EVENTS 25 /* of each entity */
#define PAGE 4096
#define FRAME (24 + PAGE)

static const struct fence one = { 1, 1 };

struct place {
    char folder[200];
    char path[240];
    struct backend_options options;
    void *writer;
    uint32_t events; /* of each entity */
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

static enum backend_result append(struct place *place, uint32_t entity, uint64_t seq,
                                  char *error)
{
    char id[24];
    struct journal_request *request =
        append_new("s", one, id_of(id, entity), seq, "e");
    enum backend_result result;

    backend_sqlite.write(place->writer, &request, 1);
    result = request->entities.items[0].result;
    snprintf(error, BACKEND_ERROR_MAX, "%s", request->error);
    journal_request_free(request);
    return result;
}

static enum backend_result claim(struct place *place, uint64_t epoch, char *error)
{
    struct journal_request *request = journal_request_claim(
        slice_text("T"), slice_text("other"), (struct fence){ 1, epoch });
    enum backend_result result;

    backend_sqlite.write(place->writer, &request, 1);
    result = request->result;
    snprintf(error, BACKEND_ERROR_MAX, "%s", request->error);
    journal_request_free(request);
    return result;
}

/* One event of each entity in turn, so that their pages are split. */
static void append_round(struct place *place)
{
    struct journal_request *requests[ENTITIES];
    char id[24];

    place->events++;
    for (uint32_t i = 0; i < ENTITIES; i++)
        requests[i] = append_new("s", one, id_of(id, i), place->events, "e");
    backend_sqlite.write(place->writer, requests, ENTITIES);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        assert_int_equal(requests[i]->entities.items[0].result, BACKEND_DONE);
        journal_request_free(requests[i]);
    }
}

static int place_open(void **state)
{
    struct place *place = mem_alloc(sizeof *place);
    char error[BACKEND_ERROR_MAX];

    folder_make(place->folder, sizeof place->folder);
    snprintf(place->path, sizeof place->path, "%s/journal.db", place->folder);
    place->options = (struct backend_options){ .path = place->path,
                                               .cluster = "c" };
    place->options.damage = backend_damage_new(NULL, NULL);
    place->writer = open_as(place, BACKEND_WRITER);
    assert_int_equal(claim(place, 1, error), BACKEND_DONE);
    *state = place;
    return 0;
}

static int place_close(void **state)
{
    struct place *place = *state;

    if (place->writer)
        backend_sqlite.close(place->writer);
    backend_damage_free(place->options.damage);
    folder_drop(place->folder);
    mem_free(place);
    return 0;
}

static void forget_damage(struct place *place)
{
    backend_damage_free(place->options.damage);
    place->options.damage = backend_damage_new(NULL, NULL);
}

/* ---- reading ---- */

struct served {
    uint32_t whole;
    uint32_t refused; /* with an error, or a record that does not fit (journal/replay.c) */
    uint32_t silent;  /* events are missing */
};

static void count_entity(const struct place *place, void *reader, uint32_t entity,
                         struct served *served)
{
    char id[24];
    struct journal_request *request = journal_request_replay(
        slice_text(id_of(id, entity)), 1, 1000, 1 << 20);
    uint64_t key = record_key(slice_text(id));
    bool fits = true;

    backend_sqlite.read(reader, &request, 1);
    for (uint32_t i = 0; i < request->records.count && fits; i++) {
        const struct backend_record *stored = &request->records.items[i];
        struct record record;

        fits = stored->seq == i + 1 &&
               !record_decode(backend_slice(request, stored->bytes), key,
                              stored->seq, &record);
    }
    if (request->result != BACKEND_DONE)
        assert_string_not_equal(request->error, "");
    if (request->result != BACKEND_DONE || !fits)
        served->refused++;
    else if (request->records.count == place->events)
        served->whole++;
    else
        served->silent++;
    journal_request_free(request);
}

/* With a new connection, which has no page in memory. */
static struct served serve(struct place *place)
{
    struct served served = { 0 };
    char error[BACKEND_ERROR_MAX] = "";
    void *reader = backend_sqlite.open(&place->options, BACKEND_READER, error);

    if (!reader) {
        assert_string_not_equal(error, "");
        served.refused = ENTITIES;
        return served;
    }
    for (uint32_t i = 0; i < ENTITIES; i++)
        count_entity(place, reader, i, &served);
    backend_sqlite.close(reader);
    return served;
}

/* ---- flipped bits of the log ---- */

static void name_of(const struct place *place, const char *end, char *path, size_t size)
{
    snprintf(path, size, "%s%s", place->path, end);
}

static void flip_at(const char *path, off_t at, unsigned bit)
{
    int file = open(path, O_RDWR);
    unsigned char byte;

    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= (unsigned char)(1u << bit);
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    (void)close(file);
}

/* The frames from the start of the log with its salt. */
static uint32_t frames_of(const char *path)
{
    int file = open(path, O_RDONLY);
    unsigned char salt[8], found[8];
    uint32_t count = 0;

    assert_true(file >= 0);
    assert_int_equal(pread(file, salt, 8, 16), 8);
    while (memcmp(salt, "\0\0\0\0\0\0\0", 8) != 0 &&
           pread(file, found, 8, 32 + (off_t)count * FRAME + 8) == 8 &&
           memcmp(found, salt, 8) == 0)
        count++;
    (void)close(file);
    return count;
}

/* The newest frame of each page, as only these are read. Returns their number. */
static uint32_t newest_frames(const char *path, uint32_t *frames, uint32_t max)
{
    static uint32_t newest[4096];
    uint32_t count = frames_of(path);
    int file = open(path, O_RDONLY);
    uint32_t found = 0;

    memset(newest, 0, sizeof newest);
    for (uint32_t i = 0; i < count; i++) {
        unsigned char page[4];
        uint32_t number;

        assert_int_equal(pread(file, page, 4, 32 + (off_t)i * FRAME), 4);
        number = (uint32_t)page[2] << 8 | page[3];
        assert_true(number < 4096);
        newest[number] = i + 1;
    }
    for (uint32_t i = 0; i < 4096 && found < max; i++)
        if (newest[i])
            frames[found++] = newest[i] - 1;
    (void)close(file);
    return found;
}

static uint32_t trials(void)
{
    const char *text = getenv("DAMAGE_TRIALS");

    return text ? (uint32_t)atoi(text) : 40;
}

/* Most flips hit the head of a page, where a flip makes rows vanish that have checksums of their own. */
static void no_flipped_bit_of_the_log_of_an_open_journal_loses_events_silently(void **state)
{
    struct place *place = *state;
    struct served sum = { 0 };
    uint32_t frames[4096];
    uint32_t count, refusing = 0;
    struct rng rng;
    char log[260];

    for (uint32_t i = 0; i < EVENTS; i++)
        append_round(place);
    name_of(place, "-wal", log, sizeof log);
    count = newest_frames(log, frames, 4096);
    assert_true(count > 10);
    rng_init(&rng, 5);
    for (uint32_t i = 0; i < trials(); i++) {
        uint32_t frame = frames[rng_below(&rng, count)];
        off_t at = 32 + (off_t)frame * FRAME + 24 +
                   (off_t)rng_below(&rng, i % 4 ? 40 : PAGE);
        unsigned bit = (unsigned)rng_below(&rng, 8);
        struct served served;

        flip_at(log, at, bit);
        served = serve(place);
        sum.silent += served.silent > 0;
        refusing += served.refused > 0;
        sum.whole += served.whole > 0;
        flip_at(log, at, bit);
        forget_damage(place);
    }
    print_message("%u flips: %u silent, %u refused entities, %u served others\n",
                  trials(), sum.silent, refusing, sum.whole);
    assert_int_equal(sum.silent, 0);
    assert_true(refusing > trials() / 2);
    assert_true(sum.whole > trials() / 2);
    assert_int_equal(serve(place).whole, ENTITIES); /* put back */
}

static void drop_frames_after(struct place *place)
{
    backend_sqlite.close(place->writer);
    place->writer = NULL;
    forget_damage(place);
}

/* A node would be stuck with a log that cannot be emptied, and lose it at its next start. */
static void a_damaged_frame_is_moved_into_the_file_and_refused_there(void **state)
{
    struct place *place = *state;
    struct backend_kept kept = { 0 };
    char error[BACKEND_ERROR_MAX];
    uint32_t frames[4096];
    struct served served;
    uint32_t count;
    char log[260];

    for (uint32_t i = 0; i < EVENTS; i++)
        append_round(place);
    name_of(place, "-wal", log, sizeof log);
    count = newest_frames(log, frames, 4096);
    flip_at(log, 32 + (off_t)frames[count - 1] * FRAME + 24 + 4, 0);
    assert_true(serve(place).refused > 0);
    assert_int_equal(claim(place, 2, error), BACKEND_DONE);
    backend_sqlite.tidy(place->writer, &kept);
    assert_int_equal(frames_of(log), 0);
    served = serve(place);
    assert_true(served.refused > 0 && served.refused < ENTITIES / 2);
    assert_int_equal(served.silent, 0);
    drop_frames_after(place);
    place->writer = open_as(place, BACKEND_WRITER);
    served = serve(place);
    assert_true(served.refused > 0 && served.refused < ENTITIES / 2);
    assert_int_equal(served.silent, 0);
}

static void a_close_copies_no_damaged_frame_as_a_good_page(void **state)
{
    struct place *place = *state;
    uint32_t frames[4096];
    struct served served;
    uint32_t count;
    char log[260];

    for (uint32_t i = 0; i < EVENTS; i++)
        append_round(place);
    name_of(place, "-wal", log, sizeof log);
    count = newest_frames(log, frames, 4096);
    /* In the place of the file's checksum, which the copy would replace. */
    flip_at(log, 32 + (off_t)frames[count - 1] * FRAME + 24 + PAGE - 4, 0);
    drop_frames_after(place);
    place->writer = open_as(place, BACKEND_WRITER);
    served = serve(place);
    assert_true(served.refused > 0 && served.refused < ENTITIES / 2);
    assert_int_equal(served.silent, 0);
}

/* ---- copies ---- */

#define FILES 4

static const char *const ends[FILES] = { "", "-wal", "-shm", "-turn" };

/* Without cutting the target, so that its size and its inode stay. */
static void overwrite(const char *from, const char *to)
{
    static char bytes[1 << 16];
    int source = open(from, O_RDONLY);
    int target = open(to, O_WRONLY | O_CREAT, 0600);
    ssize_t size;

    assert_true(source >= 0 && target >= 0);
    while ((size = read(source, bytes, sizeof bytes)) > 0)
        assert_int_equal(write(target, bytes, (size_t)size), size);
    (void)close(source);
    (void)close(target);
}

static void overwrite_end(const char *from, const char *to, const char *end)
{
    char source[320], target[320];

    snprintf(source, sizeof source, "%s%s", from, end);
    snprintf(target, sizeof target, "%s%s", to, end);
    overwrite(source, target);
}

/* As the program sqlite3 does. */
static void run_plain(const struct place *place, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A second node copies the log into the file when it opens. */
static void copy_log(struct place *place)
{
    backend_sqlite.close(open_as(place, BACKEND_WRITER));
}

/* Frames behind a damaged one are in the file already, and those before it are older. */
static void a_log_that_lost_its_end_after_it_was_copied_is_refused(void **state)
{
    struct place *place = *state;
    struct place copy = { .events = 0 };
    uint32_t frames[4096];
    uint32_t count, refused = 0;
    char log[300];

    for (uint32_t i = 0; i < EVENTS; i++)
        append_round(place);
    run_plain(place, "PRAGMA wal_checkpoint(PASSIVE)");
    snprintf(copy.path, sizeof copy.path, "%s/copy.db", place->folder);
    copy.options = (struct backend_options){ .path = copy.path, .cluster = "c" };
    copy.options.damage = backend_damage_new(NULL, NULL);
    copy.events = place->events;
    name_of(place, "-wal", log, sizeof log);
    count = frames_of(log);
    (void)newest_frames(log, frames, 1);
    for (uint32_t i = 0; i < trials(); i++) {
        char error[BACKEND_ERROR_MAX] = "";

        for (int file = 0; file < FILES; file++)
            if (file != 2)
                overwrite_end(place->path, copy.path, ends[file]);
        snprintf(log, sizeof log, "%s-wal", copy.path);
        flip_at(log, 32 + (off_t)(count * i / trials()) * FRAME + 100, 3);
        copy.writer = backend_sqlite.open(&copy.options, BACKEND_WRITER, error);
        refused += !copy.writer;
        if (copy.writer) {
            assert_int_equal(serve(&copy).silent, 0);
            backend_sqlite.close(copy.writer);
        }
        for (int file = 0; file < FILES; file++) {
            snprintf(log, sizeof log, "%s%s", copy.path, ends[file]);
            (void)unlink(log);
        }
    }
    assert_int_equal(refused, trials());
    backend_damage_free(copy.options.damage);
}

/* ---- overwritten files ---- */

struct overwritten {
    const char *name;
    const char *end;
    bool is_log_copied; /* into the file, before the copy is put back */
};

static const struct overwritten kinds[] = {
    { "an older file", "", true },
    { "an older log", "-wal", false },
    { "a log of an earlier use", "-wal", true },
    { "an older index", "-shm", false },
    { "an index of an earlier use", "-shm", true },
    { "an older side file", "-turn", false },
};

#define KINDS (sizeof kinds / sizeof *kinds)

static void expect_stop(struct place *place, const struct overwritten *kind)
{
    char error[BACKEND_ERROR_MAX] = "";

    if (claim(place, 9, error) != BACKEND_FAILED)
        fail_msg("%s: a claim was confirmed", kind->name);
    if (!strstr(error, "overwritten under this node: nothing is stored any more"))
        fail_msg("%s: %s", kind->name, error);
    assert_int_equal(append(place, 1, place->events + 1, error), BACKEND_FAILED);
    assert_false(backend_sqlite.is_whole(place->writer, error));
}

static void run_kind(const struct overwritten *kind, bool by_look)
{
    void *state;
    struct place *place;
    char older[300], error[BACKEND_ERROR_MAX] = "";
    struct served served;
    void *reader;

    assert_int_equal(place_open(&state), 0);
    place = state;
    reader = open_as(place, BACKEND_READER);
    for (int i = 0; i < 5; i++)
        append_round(place);
    copy_log(place);
    append_round(place);
    assert_true(backend_sqlite.is_whole(place->writer, error));
    snprintf(older, sizeof older, "%s/older", place->folder);
    overwrite_end(place->path, older, kind->end);
    for (int i = 0; i < 5; i++)
        append_round(place);
    if (kind->is_log_copied) {
        copy_log(place);
        append_round(place);
    }
    assert_true(backend_sqlite.is_whole(place->writer, error));
    served = (struct served){ 0 };
    count_entity(place, reader, 0, &served);
    assert_int_equal(served.whole, 1);
    overwrite_end(older, place->path, kind->end);
    if (by_look) {
        assert_false(backend_sqlite.is_whole(place->writer, error));
        if (!strstr(error, "overwritten"))
            fail_msg("%s: %s", kind->name, error);
    }
    served = (struct served){ 0 };
    for (uint32_t i = 0; i < ENTITIES; i++)
        count_entity(place, reader, i, &served);
    if (served.silent)
        fail_msg("%s: %u silent", kind->name, served.silent);
    expect_stop(place, kind);
    backend_sqlite.close(reader);
    assert_int_equal(place_close(&state), 0);
}

static void an_overwritten_file_stops_a_claim(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++)
        run_kind(&kinds[i], false);
}

static void an_overwritten_file_is_noticed_by_the_look_of_each_second(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++)
        run_kind(&kinds[i], true);
}

/* The last frame, and the one of the look before, are there. */
static void an_older_log_is_noticed_behind_newer_commits(void **state)
{
    struct place *place = *state;
    char older[300], error[BACKEND_ERROR_MAX] = "";

    append_round(place);
    assert_true(backend_sqlite.is_whole(place->writer, error));
    append_round(place);
    snprintf(older, sizeof older, "%s/older", place->folder);
    overwrite_end(place->path, older, "-wal");
    append_round(place);
    overwrite_end(older, place->path, "-wal");
    append_round(place);
    assert_false(backend_sqlite.is_whole(place->writer, error));
    assert_non_null(strstr(error, "-wal was cut or overwritten under this node"));
}

/* Such as PRAGMA wal_checkpoint of the program sqlite3: it copies pages without checksums. */
static void a_log_that_another_program_copies_is_no_overwritten_file(void **state)
{
    static const char *const modes[] = { "PASSIVE", "FULL", "RESTART", "TRUNCATE" };
    struct place *place = *state;
    char error[BACKEND_ERROR_MAX] = "";
    char sql[60];

    for (uint32_t i = 0; i < 16; i++) {
        append_round(place);
        snprintf(sql, sizeof sql, "PRAGMA wal_checkpoint(%s)", modes[i / 2 % 4]);
        run_plain(place, sql);
        if (i % 3 == 0)
            append_round(place); /* the log begins again before the next look */
        if (!backend_sqlite.is_whole(place->writer, error))
            fail_msg("%s: %s", sql, error);
        assert_int_equal(claim(place, 2 + i, error), BACKEND_DONE);
        if (i % 5 == 0)
            copy_log(place);
    }
    assert_int_equal(serve(place).whole, ENTITIES);
}

static void an_overwritten_journal_is_not_opened_while_others_have_it_open(void **state)
{
    struct place *place = *state;
    char older[300], error[BACKEND_ERROR_MAX] = "";

    append_round(place);
    copy_log(place);
    snprintf(older, sizeof older, "%s/older", place->folder);
    overwrite(place->path, older);
    append_round(place);
    copy_log(place);
    append_round(place); /* the log has the last event */
    overwrite(older, place->path);
    assert_null(backend_sqlite.open(&place->options, BACKEND_WRITER, error));
    if (!strstr(error, "overwritten while other processes have it open"))
        fail_msg("%s", error);
}

/* After a loss of power, FILE-turn may be older than the file. */
static void an_older_side_file_at_the_start_is_no_overwritten_file(void **state)
{
    struct place *place = *state;
    char older[300], error[BACKEND_ERROR_MAX] = "";

    append_round(place);
    copy_log(place);
    snprintf(older, sizeof older, "%s/older", place->folder);
    overwrite_end(place->path, older, "-turn");
    append_round(place);
    backend_sqlite.close(place->writer);
    overwrite_end(older, place->path, "-turn");
    place->writer = open_as(place, BACKEND_WRITER);
    assert_int_equal(claim(place, 2, error), BACKEND_DONE);
    append_round(place);
    assert_true(backend_sqlite.is_whole(place->writer, error));
    assert_int_equal(serve(place).whole, ENTITIES);
}

/* A restored file has no marks yet, and its log is empty. */
static void a_restored_journal_is_watched_from_its_start(void **state)
{
    struct place *place = *state;
    char older[300], turn[300], error[BACKEND_ERROR_MAX] = "";

    append_round(place);
    copy_log(place);
    snprintf(older, sizeof older, "%s/older", place->folder);
    overwrite(place->path, older);
    backend_sqlite.close(place->writer);
    name_of(place, "-turn", turn, sizeof turn);
    assert_int_equal(unlink(turn), 0);
    place->writer = open_as(place, BACKEND_WRITER);
    assert_true(backend_sqlite.is_whole(place->writer, error));
    overwrite(older, place->path);
    assert_false(backend_sqlite.is_whole(place->writer, error));
    assert_non_null(strstr(error, "overwritten"));
}

static void a_mark_fits_both_checksums_after_a_kill_during_a_write(void **state)
{
    struct page_marks marks = { 0 };
    (void)state;

    page_marks_begin(&marks, 5, 50);
    page_marks_end(&marks, 5, 50, true);
    page_marks_begin(&marks, 5, 51);
    assert_true(page_mark_fits(page_marks_find(&marks, 5), 50));
    assert_true(page_mark_fits(page_marks_find(&marks, 5), 51));
    page_marks_end(&marks, 5, 51, true);
    assert_false(page_mark_fits(page_marks_find(&marks, 5), 50));
    page_marks_end(&marks, 5, 52, false);
    assert_null(page_marks_find(&marks, 5));
    for (uint32_t page = 1; page <= PAGE_MARKS + 2; page++) {
        page_marks_begin(&marks, page, page);
        page_marks_end(&marks, page, page, true);
    }
    assert_null(page_marks_find(&marks, 2)); /* the oldest were replaced */
    assert_non_null(page_marks_find(&marks, 3));
    page_marks_clear(&marks);
    assert_true(page_marks_is_empty(&marks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            no_flipped_bit_of_the_log_of_an_open_journal_loses_events_silently,
            place_open, place_close),
        cmocka_unit_test_setup_teardown(
            a_damaged_frame_is_moved_into_the_file_and_refused_there,
            place_open, place_close),
        cmocka_unit_test_setup_teardown(
            a_close_copies_no_damaged_frame_as_a_good_page,
            place_open, place_close),
        cmocka_unit_test_setup_teardown(
            a_log_that_lost_its_end_after_it_was_copied_is_refused,
            place_open, place_close),
        cmocka_unit_test(an_overwritten_file_stops_a_claim),
        cmocka_unit_test(an_overwritten_file_is_noticed_by_the_look_of_each_second),
        cmocka_unit_test_setup_teardown(an_older_log_is_noticed_behind_newer_commits,
                                        place_open, place_close),
        cmocka_unit_test_setup_teardown(
            a_log_that_another_program_copies_is_no_overwritten_file,
            place_open, place_close),
        cmocka_unit_test_setup_teardown(
            an_overwritten_journal_is_not_opened_while_others_have_it_open,
            place_open, place_close),
        cmocka_unit_test_setup_teardown(
            an_older_side_file_at_the_start_is_no_overwritten_file,
            place_open, place_close),
        cmocka_unit_test_setup_teardown(
            a_restored_journal_is_watched_from_its_start,
            place_open, place_close),
        cmocka_unit_test(a_mark_fits_both_checksums_after_a_kill_during_a_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
