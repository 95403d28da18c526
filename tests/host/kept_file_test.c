/* Tests that each change of a file under an open descriptor is noticed by its name. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
