/* Tests a system with durable keys: readiness follows its disk, foreign files are refused,
 * remembered entities use it. */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <sherd/sherd.h>
#include <sys/resource.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static char directory[64];
static _Atomic uint32_t answers[SHERD_DATA_CHANGED + 1]; /* by result */
static sem_t told; /* once for each answer and guest */

static int make_directory(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/sherd-durable-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int drop_directory(void **state)
{
    struct rlimit limit;
    char command[128];

    (void)state;
    (void)getrlimit(RLIMIT_FSIZE, &limit); /* in case a test failed before */
    limit.rlim_cur = RLIM_INFINITY;
    (void)setrlimit(RLIMIT_FSIZE, &limit); /* restored */
    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static struct sherd_options options_of(const char *name, char *text,
                                       size_t size)
{
    struct sherd_options options = { .name = name,
                                     .port = SHERD_PORT_ANY,
                                     .alone = 1,
                                     .lanes = 1,
                                     .log_level = SHERD_LOG_ERROR,
                                     .config_text = text };

    (void)snprintf(text, size,
                   "akka.cluster.distributed-data.durable {\n"
                   "keys = [k], lmdb { dir = \"%s\", map-size = 1 MiB } }",
                   directory);
    return options;
}

static enum sherd_next add(struct sherd_ctx *ctx, void *self,
                           const struct sherd_msg *msg)
{
    struct sherd_change change = { .verb = SHERD_COUNT, .amount = 1 };

    (void)self;
    if (msg->kind == SHERD_STARTED)
        sherd_data_update(ctx, "k", SHERD_G_COUNTER, &change, 1, NULL, 1);
    if (msg->kind != SHERD_DATA)
        return SHERD_CONTINUE;
    atomic_fetch_add(&answers[msg->msg], 1);
    (void)sem_post(&told); /* the count is small */
    return SHERD_STOP;
}

/* Waits for this count. */
static void wait_for_count(const _Atomic uint32_t *count, uint32_t wanted)
{
    struct timespec end;

    (void)clock_gettime(CLOCK_REALTIME, &end); /* cannot fail for this clock */
    end.tv_sec += PATIENCE_MS / 1000;
    while (atomic_load(count) < wanted &&
           (!sem_timedwait(&told, &end) || errno == EINTR))
        ;
    assert_int_equal(atomic_load(count), wanted);
}

static void wait_for_answer(struct sherd_system *system,
                            enum sherd_data_message answer)
{
    static const struct sherd_behavior behavior = { .name = "adder",
                                                    .receive = add };
    uint32_t before = atomic_load(&answers[answer]);

    assert_int_equal(sherd_system_spawn(system, &behavior,
                                        (struct sherd_bytes){ NULL, 0 }, NULL),
                     0);
    wait_for_count(&answers[answer], before + 1);
}

static void wait_until_ready(struct sherd_system *system)
{
    for (int i = 0; i < PATIENCE_MS && !sherd_is_ready(system); i++)
        (void)usleep(1000);
    assert_true(sherd_is_ready(system));
}

static void limit_files(rlim_t size)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_system_is_ready_while_its_disk_accepts_keys_MEM208(void **state)
{
    char text[256];
    struct sherd_options options = options_of("Shop", text, sizeof text);
    struct sherd_system *system;
    struct sherd_status status;

    (void)state;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    wait_until_ready(system);
    wait_for_answer(system, SHERD_DATA_UPDATED);
    limit_files(1);
    wait_for_answer(system, SHERD_DATA_NOT_STORED);
    assert_false(sherd_is_ready(system));
    assert_int_equal(sherd_get_status(system, &status), 0);
    assert_true(status.counters[SHERD_DURABLE_FAILED] > 0);
    assert_int_equal(status.damaged_key_count, 0);
    sherd_status_free(&status);
    limit_files(RLIM_INFINITY);
    wait_until_ready(system); /* without a change */
    wait_for_answer(system, SHERD_DATA_UPDATED);
    sherd_close(system);
}

/* The node still holds the keys, but a restart would not find them. */
static void a_system_whose_durable_file_is_deleted_is_not_ready(void **state)
{
    char text[256], path[96];
    struct sherd_options options = options_of("Shop", text, sizeof text);
    struct sherd_system *system;

    (void)state;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    wait_until_ready(system);
    wait_for_answer(system, SHERD_DATA_UPDATED);
    (void)snprintf(path, sizeof path, "%s/values.mdb", directory);
    assert_int_equal(unlink(path), 0);
    for (int i = 0; i < PATIENCE_MS && sherd_is_ready(system); i++)
        (void)usleep(1000);
    assert_false(sherd_is_ready(system)); /* without a change */
    wait_for_answer(system, SHERD_DATA_NOT_STORED);
    assert_false(sherd_is_ready(system));
    sherd_close(system);
}

static uint64_t failures_of(struct sherd_system *system)
{
    struct sherd_status status;
    uint64_t count;

    assert_int_equal(sherd_get_status(system, &status), 0);
    count = status.counters[SHERD_DURABLE_FAILED];
    sherd_status_free(&status);
    return count;
}

/* No call is pending when the disk fails or recovers. */
static void a_failed_write_behind_is_reported(void **state)
{
    char text[512];
    struct sherd_options options = options_of("Shop", text, sizeof text);
    struct sherd_system *system;
    uint64_t failures = 0;
    size_t used = strlen(text);

    (void)state;
    (void)snprintf(text + used, sizeof text - used,
                   "\nakka.cluster.distributed-data.durable.lmdb."
                   "write-behind-interval = 20 ms");
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    wait_until_ready(system);
    limit_files(1);
    wait_for_answer(system, SHERD_DATA_UPDATED);
    for (int i = 0; i < PATIENCE_MS && sherd_is_ready(system); i++)
        (void)usleep(1000);
    assert_false(sherd_is_ready(system));
    for (int i = 0; i < PATIENCE_MS / 10 && failures < 3; i++) {
        (void)usleep(10000);
        failures = failures_of(system);
    }
    assert_true(failures >= 3);
    limit_files(RLIM_INFINITY);
    wait_until_ready(system);
    failures = failures_of(system);
    wait_for_answer(system, SHERD_DATA_UPDATED);
    assert_int_equal(failures_of(system), failures);
    sherd_close(system);
}

static void files_of_another_cluster_end_the_node(void **state)
{
    char text[256];
    struct sherd_options options = options_of("Shop", text, sizeof text);
    struct sherd_system *system, *second;

    (void)state;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    wait_until_ready(system);
    wait_for_answer(system, SHERD_DATA_UPDATED);
    assert_int_equal(sherd_open(&second, &options), SHERD_ESTORE); /* the files are open */
    assert_null(strstr(sherd_strerror(SHERD_ESTORE), "journal")); /* there is no journal */
    sherd_close(system);
    options.name = "Other";
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_wait(system), SHERD_ESTORE);
    sherd_close(system);
}

static _Atomic uint32_t guests; /* started entities */

static enum sherd_next host_guest(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    if (msg->kind == SHERD_STARTED) {
        atomic_fetch_add(&guests, 1);
        (void)sem_post(&told); /* as above */
    }
    return SHERD_CONTINUE;
}

static struct sherd_system *open_inn(void)
{
    static const struct sherd_entity_type type = {
        .name = "Guest",
        .shards = 10,
        .behavior = { .name = "guest", .receive = host_guest },
    };
    char text[512];
    struct sherd_options options = options_of("Inn", text, sizeof text);
    struct sherd_system *system;
    size_t used = strlen(text);

    (void)snprintf(text + used, sizeof text - used,
                   "\nakka.cluster.distributed-data.durable.keys = []\n"
                   "akka.cluster.sharding { remember-entities = on,\n"
                   "remember-entities-store = ddata }");
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    wait_until_ready(system);
    return system;
}

static void wait_for_guests(uint32_t count)
{
    wait_for_count(&guests, count);
}

/* No user key is durable, and there is no journal. */
static void remembered_entities_need_only_the_disk(void **state)
{
    struct sherd_system *system = open_inn();
    char id[8];

    (void)state;
    for (int i = 0; i < 20; i++) {
        (void)snprintf(id, sizeof id, "g%d", i);
        assert_int_equal(sherd_system_entity_tell(
                             system, "Guest", id, 1,
                             (struct sherd_bytes){ NULL, 0 }),
                         0);
    }
    wait_for_guests(20);
    sherd_close(system);
    system = open_inn();
    wait_for_guests(40);
    sherd_close(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_system_is_ready_while_its_disk_accepts_keys_MEM208, make_directory,
            drop_directory),
        cmocka_unit_test_setup_teardown(
            a_system_whose_durable_file_is_deleted_is_not_ready, make_directory,
            drop_directory),
        cmocka_unit_test_setup_teardown(a_failed_write_behind_is_reported,
                                        make_directory, drop_directory),
        cmocka_unit_test_setup_teardown(remembered_entities_need_only_the_disk,
                                        make_directory, drop_directory),
        cmocka_unit_test_setup_teardown(files_of_another_cluster_end_the_node,
                                        make_directory, drop_directory),
    };

    (void)sem_init(&told, 0, 0); /* cannot fail with these */
    (void)signal(SIGXFSZ, SIG_IGN); /* the size limit acts as a full disk */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
