/* Tests that each change of a file under an open descriptor is noticed by its name. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/kept_file.h"

struct place {
    char folder[64];
    char path[96];
    char other[96];
    int fd;
    struct kept_file kept;
};

static int open_file(void **state)
{
    static struct place place;

    memset(&place, 0, sizeof place);
    (void)snprintf(place.folder, sizeof place.folder,
                   "/tmp/sherd-kept-XXXXXX");
    if (!mkdtemp(place.folder))
        return -1;
    (void)snprintf(place.path, sizeof place.path, "%s/file", place.folder);
    (void)snprintf(place.other, sizeof place.other, "%s/other", place.folder);
    place.fd = open(place.path, O_RDWR | O_CREAT, 0600);
    if (place.fd < 0 || pwrite(place.fd, "content", 7, 0) != 7)
        return -1;
    kept_file_take(&place.kept, place.fd);
    *state = &place;
    return 0;
}

static int close_file(void **state)
{
    const struct place *place = *state;

    (void)close(place->fd);
    (void)chmod(place->folder, 0700);
    (void)unlink(place->path);
    (void)unlink(place->other);
    return rmdir(place->folder);
}

static void expect(const struct place *place, const char *what)
{
    const char *found = kept_file_change(&place->kept, place->path, true);

    if (what)
        assert_string_equal(found ? found : "unchanged", what);
    else
        assert_null(found);
}

static void a_file_that_grows_is_unchanged(void **state)
{
    struct place *place = *state;

    expect(place, NULL);
    assert_int_equal(pwrite(place->fd, "more", 4, 100), 4);
    expect(place, NULL);
    kept_file_take_path(&place->kept, place->path); /* the same file */
    assert_int_equal(place->kept.size, 104);
    expect(place, NULL);
}

static void a_deleted_or_moved_file_is_noticed(void **state)
{
    struct place *place = *state;

    assert_int_equal(rename(place->path, place->other), 0);
    expect(place, "deleted");
    assert_int_equal(rename(place->other, place->path), 0);
    expect(place, NULL);
    assert_int_equal(unlink(place->path), 0);
    expect(place, "deleted");
}

static void a_replaced_file_is_noticed(void **state)
{
    struct place *place = *state;
    int other = open(place->other, O_RDWR | O_CREAT, 0600);

    assert_true(other >= 0);
    assert_int_equal(pwrite(other, "content", 7, 0), 7);
    (void)close(other);
    assert_int_equal(rename(place->other, place->path), 0);
    expect(place, "replaced");
}

static void a_cut_file_is_noticed(void **state)
{
    struct place *place = *state;

    assert_int_equal(truncate(place->path, 6), 0);
    expect(place, "cut");
}

static void a_second_name_is_noticed_where_it_matters(void **state)
{
    struct place *place = *state;

    assert_int_equal(link(place->path, place->other), 0);
    expect(place, "given a second name");
    assert_null(kept_file_change(&place->kept, place->path, false));
}

static void a_file_that_was_not_taken_never_changes(void **state)
{
    struct place *place = *state;

    kept_file_take_path(&place->kept, place->other); /* there is none */
    expect(place, NULL);
    kept_file_take(&place->kept, -1);
    expect(place, NULL);
}

static int64_t ns_of(struct timespec time)
{
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Tells whether the write got a time of its own, and not the last tick's. */
static bool has_own_time(const struct place *place)
{
    struct timespec before;
    struct stat found;

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &before), 0);
    assert_int_equal(pwrite(place->fd, "content", 7, 0), 7);
    assert_int_equal(fstat(place->fd, &found), 0); /* the next write has one */
    return ns_of(found.st_mtim) >= ns_of(before);
}

/* Such a time costs more at the next sync. A tick may come between, hence several tries. */
static void a_look_gives_the_next_write_no_time_of_its_own(void **state)
{
    struct place *place = *state;
    bool has = true;

    for (int i = 0; i < 100 && has; i++) {
        assert_int_equal(pwrite(place->fd, "content", 7, 0), 7);
        expect(place, NULL);
        has = has_own_time(place);
    }
    assert_false(has);
}

#define on_a_file(test) \
    cmocka_unit_test_setup_teardown(test, open_file, close_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_a_file(a_file_that_grows_is_unchanged),
        on_a_file(a_deleted_or_moved_file_is_noticed),
        on_a_file(a_replaced_file_is_noticed),
        on_a_file(a_cut_file_is_noticed),
        on_a_file(a_second_name_is_noticed_where_it_matters),
        on_a_file(a_file_that_was_not_taken_never_changes),
        on_a_file(a_look_gives_the_next_write_no_time_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
