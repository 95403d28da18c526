/* Tests an SQLite journal whose mapped files are cut while a commit waits for its sync: the group is
 * not confirmed, and no signal ends the process. */
#define _GNU_SOURCE
#include "backends.h"

#include <stdatomic.h>
#include <unistd.h>

#include "host/backend_sqlite.h"

static const struct fence one = { 1, 1 };
static const char *cut_path; /* null: no cut */

static int sync_and_cut(int result)
{
    const char *path = cut_path;

    cut_path = NULL;
    if (path && truncate(path, 0) != 0)
        return -1;
    return result;
}

/* Replace the library's calls; SQLite uses one of them. */
__attribute__((visibility("default"))) int fsync(int file)
{
    (void)file;
    return sync_and_cut(0);
}

__attribute__((visibility("default"))) int fdatasync(int file)
{
    (void)file;
    return sync_and_cut(0);
}

static enum backend_result append(void *writer, uint64_t seq, char *error)
{
    struct journal_request *request = append_new("s", one, "T|x", seq, "e");
    enum backend_result result;

    backend_sqlite.write(writer, &request, 1);
    result = request->entities.items[0].result;
    snprintf(error, BACKEND_ERROR_MAX, "%s", request->error);
    journal_request_free(request);
    return result;
}

static void run(const char *end)
{
    char folder[200], path[220], part[240];
    char error[BACKEND_ERROR_MAX] = "";
    struct backend_options options = { .path = path, .cluster = "c" };
    struct journal_request *request = journal_request_claim(
        slice_text("T"), slice_text("s"), one);
    struct journal_request *replay;
    void *writer, *reader;

    folder_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/journal.db", folder);
    snprintf(part, sizeof part, "%s%s", path, end);
    writer = backend_sqlite.open(&options, BACKEND_WRITER, error);
    reader = backend_sqlite.open(&options, BACKEND_READER, error);
    assert_non_null(writer);
    assert_non_null(reader);
    backend_sqlite.write(writer, &request, 1);
    journal_request_free(request);
    for (uint64_t seq = 1; seq <= 10; seq++)
        assert_int_equal(append(writer, seq, error), BACKEND_DONE);
    cut_path = part;
    /* SQLite may not touch the page again: then the group is stored, and the next one is refused. */
    if (append(writer, 11, error) == BACKEND_DONE)
        print_message("%s: not touched after the sync\n", end);
    else
        assert_non_null(strstr(error, "under this node"));
    assert_null(cut_path);
    assert_int_equal(append(writer, 12, error), BACKEND_FAILED);
    assert_non_null(strstr(error, "under this node: nothing is stored any more"));
    assert_false(backend_sqlite.is_whole(writer, error));
    replay = journal_request_replay(slice_text("T|x"), 1, 1000, 1 << 20);
    backend_sqlite.read(reader, &replay, 1);
    if (replay->result != BACKEND_DONE)
        assert_non_null(strstr(replay->error, "under this node"));
    journal_request_free(replay);
    backend_sqlite.close(reader);
    backend_sqlite.close(writer);
    folder_drop(folder);
}

static void a_cut_index_of_the_log_ends_no_process(void **state)
{
    (void)state;
    run("-shm");
}

static void a_cut_queue_of_writers_ends_no_process(void **state)
{
    (void)state;
    run("-turn");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_index_of_the_log_ends_no_process),
        cmocka_unit_test(a_cut_queue_of_writers_ends_no_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
