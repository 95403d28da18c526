/* Puts a FIFO, a socket or a device at each path that a node opens. None may be waited for: the node
 * refuses it, and says why. The tests of TLS and of discovery do the same for their files. */
#define _GNU_SOURCE
#include "backends.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "ddata/durable.h"
#include "host/backend_sqlite.h"
#include "host/durable_files.h"
#include "host/lease_file.h"
#include "host/settings.h"

#define WAIT_MAX_S 30

enum kind { KIND_FIFO, KIND_SOCKET, KIND_DEVICE, KINDS };

static const char *const kind_names[KINDS] = { "a FIFO", "a socket", "a device" };

static void put(enum kind kind, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (kind == KIND_FIFO) {
        assert_int_equal(mkfifo(path, 0600), 0);
    } else if (kind == KIND_DEVICE) {
        assert_int_equal(symlink("/dev/zero", path), 0);
    } else {
        int file = socket(AF_UNIX, SOCK_STREAM, 0);

        assert_true(strlen(path) < sizeof address.sun_path);
        strcpy(address.sun_path, path);
        assert_int_equal(bind(file, (struct sockaddr *)&address, sizeof address), 0);
        (void)close(file);
    }
}

/* Each returns whether it refused the path, with the reason. */

static bool opens_configuration(const char *path, char *why)
{
    const struct sherd_options options = { .journal = "memory", .config_file = path };
    struct settings settings;
    char error[512] = "";
    int result;

    memset(&settings, 0, sizeof settings);
    result = settings_read(&settings, &options, error, sizeof error);

    snprintf(why, BACKEND_ERROR_MAX, "%.100s", error);
    settings_fini(&settings);
    return result == SHERD_ECONFIG && strstr(error, path) &&
           strstr(error, "it is no regular file");
}

/* The path is that of one of the journal's files. */
static bool opens_journal(const char *path, char *why)
{
    char *file = mem_text(path);
    char *end = strrchr(file, '-');
    struct backend_options options = { .path = file, .cluster = "c" };
    void *store;

    if (end && end > strrchr(file, '/'))
        *end = 0;
    why[0] = 0;
    store = backend_sqlite.open(&options, BACKEND_WRITER, why);
    mem_free(file);
    return !store && (strstr(why, "is no regular file") || strstr(why, "a symbolic link"));
}

static bool opens_durable_keys(const char *path, char *why)
{
    char *folder = mem_copy(path, (size_t)(strrchr(path, '/') - path));
    struct durable_files *files;
    int result;

    why[0] = 0;
    result = durable_files_open(&files, folder, "c", DURABLE_MAP_SIZE_MIN, why);
    mem_free(folder);
    return result != 0 && strstr(why, "is no regular file");
}

static bool opens_lease(const char *path, char *why)
{
    char *folder = mem_copy(path, (size_t)(strrchr(path, '/') - path));
    struct lease_file file = { .path = "" };
    bool is_made = lease_file_make(&file, folder, "x", why, BACKEND_ERROR_MAX);

    mem_free(folder);
    return !is_made && strstr(why, path);
}

static const struct {
    const char *name; /* in a folder of its own */
    bool (*opens)(const char *path, char *why);
} rows[] = {
    { "app.conf", opens_configuration },
    { "j.db", opens_journal },
    { "j.db-wal", opens_journal },
    { "j.db-shm", opens_journal },
    { "j.db-turn", opens_journal },
    { "j.db-journal", opens_journal },
    { "values.mdb", opens_durable_keys },
    { "lock", opens_durable_keys },
    { "clean", opens_durable_keys },
    { "x.lease", opens_lease },
};

#define ROWS (sizeof rows / sizeof *rows)

/* In a child, as a hanging call would never return. */
static void run_row(size_t row, enum kind kind)
{
    char folder[200], path[240];
    int status;
    pid_t child;

    folder_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/%s", folder, rows[row].name);
    put(kind, path);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char why[BACKEND_ERROR_MAX] = "";
        bool refuses;

        (void)alarm(WAIT_MAX_S);
        refuses = rows[row].opens(path, why);
        if (!refuses)
            (void)fprintf(stderr, "%s: %s\n", path, why);
        _exit(refuses ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        fail_msg("%s as %s: the call hangs", kind_names[kind], rows[row].name);
    if (WEXITSTATUS(status) != 0)
        fail_msg("%s as %s is not refused", kind_names[kind], rows[row].name);
    folder_drop(folder);
}

static void nothing_waits_for_a_file_that_never_ends(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROWS; row++)
        for (int kind = 0; kind < KINDS; kind++)
            run_row(row, (enum kind)kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_waits_for_a_file_that_never_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
