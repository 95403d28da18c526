/* Tests an SQLite journal on a real, full file system of a few MiB that only this process sees. Skipped
 * without the right to mount. */
#define _GNU_SOURCE
#include "backends.h"

#include <stdatomic.h>

#include <sherd/sherd.h>

#include "host/backend_sqlite.h"
#include "space.h"

#define PATIENCE_MS 60000

static const struct fence one = { 1, 1 };
static char path[100];

static void forget_files(void)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-turn" };
    char part[120];

    for (int i = 0; i < 4; i++) {
        (void)snprintf(part, sizeof part, "%s%s", path, ends[i]);
        (void)unlink(part);
    }
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof path, "%s/journal.db", space_place);
    forget_files();
    return 0;
}

static void *open_writer(char *error)
{
    struct backend_options options = { .path = path, .cluster = "c" };

    return backend_sqlite.open(&options, BACKEND_WRITER, error);
}

/* Repeated until the outcome is known. */
static enum backend_result write_one(void *writer, uint64_t seq, char *error)
{
    static bool is_unknown;
    struct journal_request *request =
        append_new("s", one, "T|x", seq, "e");
    enum backend_result result;

    request->again = is_unknown;

    backend_sqlite.write(writer, &request, 1);
    result = request->entities.items[0].result;
    is_unknown = result == BACKEND_UNKNOWN;
    (void)snprintf(error, BACKEND_ERROR_MAX, "%s", request->error);
    journal_request_free(request);
    return result;
}

static void claim(void *writer)
{
    struct journal_request *request = journal_request_claim(
        slice_text("T"), slice_text("s"), one);

    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    journal_request_free(request);
}

/* Nothing that is mapped lacks its blocks, so no step ends the process by a signal. */
static void opening_on_a_full_disk_is_an_error(void **state)
{
    void *writer = NULL;

    (void)state;
    for (size_t left = 0; !writer; left += 4096) {
        char error[BACKEND_ERROR_MAX] = "";

        space_fill(left);
        writer = open_writer(error);
        if (!writer && !strstr(error, "No space left on device"))
            fail_msg("%zu bytes left: %s", left, error);
        assert_true(left < 400000);
        if (writer)
            backend_sqlite.close(writer);
        space_free();
        forget_files();
    }
}

/* Counts the events of the entity. */
static uint32_t count_stored(void)
{
    struct backend_options options = { .path = path, .cluster = "c" };
    char error[BACKEND_ERROR_MAX] = "";
    void *reader = backend_sqlite.open(&options, BACKEND_READER, error);
    char *letters;
    uint32_t count;

    assert_non_null(reader);
    letters = stored_events(&backend_sqlite, reader, "T|x");
    count = (uint32_t)strlen(letters);
    mem_free(letters);
    backend_sqlite.close(reader);
    return count;
}

static void a_disk_that_fills_confirms_nothing_more_until_there_is_space(void **state)
{
    char error[BACKEND_ERROR_MAX] = "";
    void *writer = open_writer(error);
    uint64_t stored = 0;

    (void)state;
    assert_non_null(writer);
    claim(writer);
    space_fill(0);
    /* The log was filled with zeros, and takes some. */
    while (write_one(writer, stored + 1, error) == BACKEND_DONE)
        stored++;
    assert_true(stored > 10);
    for (int i = 0; i < 3; i++) {
        assert_int_not_equal(write_one(writer, stored + 1, error), BACKEND_DONE);
        if (!strstr(error, "No space left on device"))
            fail_msg("%s", error);
        assert_false(backend_sqlite.can_write(writer, error));
        assert_non_null(strstr(error, "No space left on device"));
    }
    assert_true(backend_sqlite.is_whole(writer, error));
    space_free();
    assert_true(backend_sqlite.can_write(writer, error));
    assert_int_equal(write_one(writer, stored + 1, error), BACKEND_DONE);
    assert_int_equal(count_stored(), stored + 1);
    backend_sqlite.close(writer);
    writer = open_writer(error);
    assert_non_null(writer);
    assert_int_equal(count_stored(), stored + 1);
    backend_sqlite.close(writer);
}

/* ---- a system ---- */

static _Atomic uint32_t stored_count, refused_count;

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)type;
    (void)event;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    static char event[4096];

    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    sherd_persist(ctx, 1, (struct sherd_bytes){ event, sizeof event });
    sherd_reply(ctx, 1, (struct sherd_bytes){ NULL, 0 });
    return SHERD_CONTINUE;
}

static enum sherd_next ask(struct sherd_ctx *ctx, void *self,
                           const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED) {
        sherd_entity_ask(ctx, "Keeper", "k", 1, (struct sherd_bytes){ NULL, 0 },
                         1, 2000);
        return SHERD_CONTINUE;
    }
    if (msg->kind == SHERD_ANSWER)
        atomic_fetch_add(&stored_count, 1);
    else if (msg->kind == SHERD_NO_ANSWER)
        atomic_fetch_add(&refused_count, 1);
    else
        return SHERD_CONTINUE;
    return SHERD_STOP;
}

/* Asks once, and waits for the answer. True: the event is stored. */
static bool store_in(struct sherd_system *system)
{
    static const struct sherd_behavior asker = { .name = "asker",
                                                 .receive = ask };
    uint32_t stored = atomic_load(&stored_count);
    uint32_t both = stored + atomic_load(&refused_count);

    assert_int_equal(sherd_system_spawn(system, &asker,
                                        (struct sherd_bytes){ NULL, 0 }, NULL),
                     0);
    for (int i = 0; i < PATIENCE_MS; i++) {
        if (atomic_load(&stored_count) + atomic_load(&refused_count) > both)
            return atomic_load(&stored_count) > stored;
        (void)usleep(1000);
    }
    fail_msg("no answer");
    return false;
}

static void wait_ready(struct sherd_system *system, int wanted)
{
    for (int i = 0; i < PATIENCE_MS && sherd_is_ready(system) != wanted; i++)
        (void)usleep(1000);
    assert_int_equal(sherd_is_ready(system), wanted);
}

static struct sherd_system *open_system(int *result)
{
    static const struct sherd_entity_type type = {
        .name = "Keeper",
        .shards = 1,
        .behavior = { .name = "keeper", .receive = receive, .apply = apply },
    };
    char journal[120];
    struct sherd_options options = { .port = SHERD_PORT_ANY,
                                     .alone = 1,
                                     .lanes = 1,
                                     .log_level = SHERD_LOG_ERROR,
                                     .journal = journal };
    struct sherd_system *system;

    (void)snprintf(journal, sizeof journal, "sqlite:%s", path);
    *result = sherd_open(&system, &options);
    if (*result == 0)
        assert_int_equal(sherd_entity_register(system, &type), 0);
    return system;
}

static void a_system_does_not_open_on_a_full_disk(void **state)
{
    int result;

    (void)state;
    space_fill(0);
    assert_null(open_system(&result));
    assert_int_equal(result, SHERD_ESTORE);
    space_free();
}

/* The space returns without a write. */
static void a_system_is_ready_while_its_journal_has_space(void **state)
{
    int result;
    struct sherd_system *system = open_system(&result);

    (void)state;
    assert_non_null(system);
    assert_int_equal(sherd_start(system), 0);
    wait_ready(system, 1);
    assert_true(store_in(system));
    space_fill(0);
    while (store_in(system))
        ;
    wait_ready(system, 0);
    assert_false(store_in(system));
    space_free();
    wait_ready(system, 1);
    /* The entity recovers after a pause. */
    for (int i = 0; i < 100 && !store_in(system); i++)
        (void)usleep(100 * 1000);
    assert_true(store_in(system));
    sherd_close(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(opening_on_a_full_disk_is_an_error, set_up),
        cmocka_unit_test_setup(
            a_disk_that_fills_confirms_nothing_more_until_there_is_space,
            set_up),
        cmocka_unit_test_setup(a_system_does_not_open_on_a_full_disk, set_up),
        cmocka_unit_test_setup(a_system_is_ready_while_its_journal_has_space,
                               set_up),
    };
    int failed;

    if (!space_mount("size=24m"))
        return SPACE_SKIPPED;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    space_unmount();
    return failed;
}
