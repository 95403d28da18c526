/* Tests that processes which create one journal at the same moment can all open it. */
#define _GNU_SOURCE
#include "backends.h"

#include <string.h>
#include <sys/wait.h>

#include "host/backend_sqlite.h"

#define PROCESSES 4
#define ROUNDS 40
#define PATIENCE 60 /* seconds */

/* In a child. Returns the exit status. */
static int open_at(const char *path, int start)
{
    struct backend_options options = { .path = path, .cluster = "test", .lock_wait_ms = 10000 };
    char error[BACKEND_ERROR_MAX] = "";
    void *store;
    char byte;

    (void)alarm(PATIENCE);
    if (read(start, &byte, 1) != 0) /* the parent closes its end */
        return 2;
    store = backend_sqlite.open(&options, BACKEND_WRITER, error);
    if (!store) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    backend_sqlite.close(store);
    return 0;
}

static void create_once(const char *path)
{
    pid_t children[PROCESSES];
    int start[2];
    int status;

    assert_int_equal(pipe(start), 0);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            close(start[1]);
            _exit(open_at(path, start[0]));
        }
        assert_true(children[i] > 0);
    }
    close(start[0]);
    close(start[1]);
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
}

static void processes_that_create_a_journal_together_all_open_it(void **state)
{
    char folder[200];
    char path[240];

    (void)state;
    folder_make(folder, sizeof folder);
    for (int i = 0; i < ROUNDS; i++) {
        (void)snprintf(path, sizeof path, "%s/journal-%d.db", folder, i); /* fits */
        create_once(path);
    }
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_that_create_a_journal_together_all_open_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
