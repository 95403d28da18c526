/* Tests the threads of a store: grouping, replies, a full queue, closing. */
#define _GNU_SOURCE
#include "backends.h"

#include <pthread.h>
#include <string.h>

#include "base/limits.h"
#include "host/backend_memory.h"
#include "host/backend_sqlite.h"
#include "host/backend_thread.h"

struct system {
    pthread_mutex_t lock;
    pthread_cond_t came;
    uint32_t count;
    uint32_t failed;
    uint32_t machines[4]; /* replies for each machine */
    struct backend_client *client;
};

static void done(void *context, struct journal_request **requests,
                 uint32_t count)
{
    struct system *system = context;

    pthread_mutex_lock(&system->lock);
    for (uint32_t i = 0; i < count; i++) {
        system->count++;
        system->machines[requests[i]->machine]++;
        if (requests[i]->result != BACKEND_DONE)
            system->failed++;
        journal_request_free(requests[i]);
    }
    pthread_cond_broadcast(&system->came);
    pthread_mutex_unlock(&system->lock);
}

static void wait_for(struct system *system, uint32_t count)
{
    pthread_mutex_lock(&system->lock);
    while (system->count < count)
        pthread_cond_wait(&system->came, &system->lock);
    pthread_mutex_unlock(&system->lock);
}

static void system_open(struct system *system, const struct backend_ops *ops,
                        const char *path)
{
    struct backend_client_options options = {
        .ops = ops,
        .store = { .path = path, .cluster = "c" },
        .readers = 2,
        .polls = true,
        .done = done,
        .context = system,
    };
    char error[BACKEND_ERROR_MAX];

    *system = (struct system){ .lock = PTHREAD_MUTEX_INITIALIZER,
                               .came = PTHREAD_COND_INITIALIZER };
    assert_int_equal(backend_client_open(&system->client, &options, error), 0);
    assert_int_equal(backend_client_start(system->client, error), 0);
}

/* A backend that does nothing while its gate is closed. */
static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_changed = PTHREAD_COND_INITIALIZER;
static bool gate_open;
static bool gate_entered;
static uint32_t largest_group;

static void *gate_store(const struct backend_options *options,
                        enum backend_mode mode, char *error)
{
    (void)options;
    (void)mode;
    (void)error;
    return &gate_open;
}

static void gate_write(void *store, struct journal_request **requests,
                       uint32_t count)
{
    (void)store;
    pthread_mutex_lock(&gate_lock);
    gate_entered = true;
    pthread_cond_broadcast(&gate_changed);
    while (!gate_open)
        pthread_cond_wait(&gate_changed, &gate_lock);
    largest_group = count > largest_group ? count : largest_group;
    pthread_mutex_unlock(&gate_lock);
    for (uint32_t i = 0; i < count; i++)
        backend_settle(requests[i], BACKEND_DONE, NULL);
}

static void gate_close(void *store)
{
    (void)store;
}

static void gate_identify(void *store, struct backend_identity *identity)
{
    (void)store;
    (void)snprintf(identity->id, sizeof identity->id, "9a7e");
}

static const struct backend_ops gate = {
    .name = "gate",
    .open = gate_store,
    .write = gate_write,
    .read = gate_write,
    .close = gate_close,
    .identify = gate_identify,
};

static void gate_set(bool open)
{
    pthread_mutex_lock(&gate_lock);
    gate_open = open;
    gate_entered = false;
    pthread_cond_broadcast(&gate_changed);
    pthread_mutex_unlock(&gate_lock);
}

static void gate_wait_entered(void)
{
    pthread_mutex_lock(&gate_lock);
    while (!gate_entered)
        pthread_cond_wait(&gate_changed, &gate_lock);
    pthread_mutex_unlock(&gate_lock);
}

static struct journal_request *term(uint32_t machine)
{
    struct journal_request *request =
        journal_request_take_term(slice_text("T"), 0);

    request->machine = machine;
    return request;
}

/* Requests that wait during a transaction form the next one. */
static void waiting_requests_share_a_group(void **state)
{
    struct system system;
    struct backend_counters counters;
    (void)state;

    gate_set(false);
    largest_group = 0;
    system_open(&system, &gate, "share");
    backend_submit(system.client, term(0));
    gate_wait_entered();
    for (uint32_t i = 0; i < 300; i++)
        backend_submit(system.client, term(1 + i % 3));
    gate_set(true);
    wait_for(&system, 301);
    assert_int_equal(largest_group, 300);
    assert_int_equal(system.machines[0], 1);
    assert_int_equal(system.machines[3], 100);
    backend_client_counters(system.client, &counters);
    assert_true(counters.requests >= 1);
    backend_client_close(system.client);
}

/* An append that claims these numbers; the gated backend ignores them. */
static struct journal_request *append(uint32_t records, size_t size)
{
    static const uint8_t piece[1024 * 1024];
    struct journal_request *request = journal_request_new(BACKEND_APPEND);

    for (uint32_t i = 0; i < records; i++)
        vec_push(&request->records, ((struct backend_record){ .seq = i + 1 }));
    for (; size > sizeof piece; size -= sizeof piece)
        backend_put(request, slice_of(piece, sizeof piece));
    backend_put(request, slice_of(piece, size));
    return request;
}

/* The group of these two, submitted during a transaction. */
static uint32_t group_of(struct journal_request *first,
                         struct journal_request *second)
{
    struct system system;

    gate_set(false);
    largest_group = 0;
    system_open(&system, &gate, "group");
    backend_submit(system.client, term(0));
    gate_wait_entered();
    backend_submit(system.client, first);
    backend_submit(system.client, second);
    gate_set(true);
    wait_for(&system, 3);
    backend_client_close(system.client);
    assert_int_equal(system.failed, 0);
    return largest_group;
}

static void a_transaction_has_limits(void **state)
{
    (void)state;

    assert_int_equal(
        group_of(append(BACKEND_GROUP_RECORDS_MAX - 1, 10), append(1, 10)), 2);
    assert_int_equal(
        group_of(append(BACKEND_GROUP_RECORDS_MAX, 10), append(1, 10)), 1);
    assert_int_equal(
        group_of(append(1, BACKEND_GROUP_SIZE_MAX - 10), append(1, 10)), 2);
    assert_int_equal(
        group_of(append(1, BACKEND_GROUP_SIZE_MAX - 10), append(1, 11)), 1);
    /* A request above the limit is written alone. */
    assert_int_equal(
        group_of(append(BACKEND_GROUP_RECORDS_MAX + 1, 10), append(1, 10)), 1);
}

static void a_full_queue_refuses_at_once(void **state)
{
    struct backend_counters counters;
    struct system system;
    (void)state;

    gate_set(false);
    system_open(&system, &gate, "full");
    backend_submit(system.client, term(0));
    gate_wait_entered();
    for (uint32_t i = 0; i < BACKEND_QUEUE_MAX; i++)
        backend_submit(system.client, term(0));
    assert_int_equal(system.count, 0);
    backend_submit(system.client, term(1));
    assert_int_equal(system.count, 1);
    assert_int_equal(system.failed, 1);
    assert_int_equal(system.machines[1], 1);
    backend_client_counters(system.client, &counters);
    assert_true(counters.refused == 1);
    gate_set(true);
    backend_client_close(system.client); /* waits for all */
    assert_int_equal(system.count, BACKEND_QUEUE_MAX + 2);
    assert_int_equal(system.failed, 1);
}

static void an_invalid_backend_is_refused_with_a_text(void **state)
{
    struct backend_client_options options = {
        .ops = &backend_sqlite,
        .store = { .path = "/dev/null/journal.db", .cluster = "c" },
        .done = done,
    };
    struct backend_client *client;
    char error[BACKEND_ERROR_MAX];
    (void)state;

    assert_int_equal(backend_client_open(&client, &options, error), -1);
    assert_non_null(strstr(error, "Not a directory"));
    assert_null(client);
}

struct worker {
    struct system *system;
    pthread_t thread;
    uint32_t index;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct fence fence = { 1, 1 };
    char id[16];

    snprintf(id, sizeof id, "T|%u", worker->index);
    for (uint64_t seq = 1; seq <= 50; seq++) {
        struct journal_request *request =
            append_new("s", fence, id, seq, "e");

        request->machine = worker->index % 4;
        backend_submit(worker->system->client, request);
        request = journal_request_replay(slice_text(id), 1, 10, 1 << 20);
        backend_submit(worker->system->client, request);
    }
    return NULL;
}

/* Two systems of a process with one file, two threads each. */
static void run_systems(const struct backend_ops *ops, const char *path)
{
    struct system systems[2];
    struct worker workers[4];
    char error[BACKEND_ERROR_MAX];
    void *reader;

    system_open(&systems[0], ops, path);
    system_open(&systems[1], ops, path);
    for (uint32_t i = 0; i < 4; i++) {
        workers[i] = (struct worker){ .system = &systems[i / 2], .index = i };
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < 4; i++)
        pthread_join(workers[i].thread, NULL);
    backend_client_close(systems[0].client);
    assert_int_equal(systems[0].count, 200);
    assert_int_equal(systems[0].failed, 0);
    reader = ops->open(
        &(struct backend_options){ .path = path, .cluster = "c" }, BACKEND_READER,
        error);
    assert_non_null(reader);
    backend_client_close(systems[1].client);
    assert_int_equal(systems[1].count, 200);
    for (uint32_t i = 0; i < 4; i++) {
        char id[16];
        char *events;

        snprintf(id, sizeof id, "T|%u", i);
        events = stored_events(ops, reader, id);
        assert_int_equal(strlen(events), 50);
        mem_free(events);
    }
    ops->close(reader);
}

static void two_systems_share_a_memory_backend(void **state)
{
    (void)state;
    run_systems(&backend_memory, "two");
}

static void two_systems_share_a_file(void **state)
{
    char folder[200];
    char path[220];
    (void)state;

    folder_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/journal.db", folder);
    run_systems(&backend_sqlite, path);
    folder_drop(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_requests_share_a_group),
        cmocka_unit_test(a_transaction_has_limits),
        cmocka_unit_test(a_full_queue_refuses_at_once),
        cmocka_unit_test(an_invalid_backend_is_refused_with_a_text),
        cmocka_unit_test(two_systems_share_a_memory_backend),
        cmocka_unit_test(two_systems_share_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
