/* Tests the pool with real threads, alone and in a system: order, waiting, and jobs left behind. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include <sherd/sherd.h>

#include "base/check.h"
#include "host/pool.h"

#define PATIENCE_MS 60000
#define FOR_EVER UINT64_C(3600000000000) /* ns */
#define JOBS 200

static atomic_uint running, released, taken_count, done_count, late_count, opened,
    lines;
static uint32_t order[JOBS]; /* tags in order of return */
static char late_name[16];

static int clear(void **state)
{
    (void)state;
    running = released = taken_count = done_count = late_count = opened = lines = 0;
    late_name[0] = 0;
    return 0;
}

static void wait_for(atomic_uint *number, uint32_t value)
{
    for (int i = 0; i < PATIENCE_MS && atomic_load(number) < value; i++)
        uv_sleep(1);
    assert_true(atomic_load(number) >= value);
}

/* ---- functions of jobs ---- */

static void count(void *arg)
{
    ++*(uint32_t *)arg; /* no lock: a second thread would be a race */
}

static void wait_until_open(void *arg)
{
    count(arg);
    atomic_fetch_add(&running, 1);
    while (!atomic_load(&opened))
        uv_sleep(1);
}

static void release(void *arg)
{
    free(arg);
    atomic_fetch_add(&released, 1);
}

static struct job *job(void (*run)(void *arg), uint32_t tag)
{
    struct job *made = mem_alloc(sizeof *made);

    made->face = (struct sherd_job){ "work", run, release };
    made->arg = calloc(1, sizeof(uint32_t));
    made->tag = tag;
    return made;
}

/* ---- the pool alone ---- */

static void take(void *context, struct job *taken)
{
    check(context == &late_count);
    check(*(uint32_t *)taken->arg == 1); /* it ran once */
    order[atomic_fetch_add(&taken_count, 1)] = taken->tag;
    job_free(taken);
    atomic_fetch_add(&done_count, 1);
}

static void take_late(void *context, const char *name, uint64_t running_ns)
{
    (void)context;
    (void)running_ns;
    (void)snprintf(late_name, sizeof late_name, "%s", name);
    atomic_fetch_add(&late_count, 1);
}

static struct pool *open_pool(uint32_t threads, uint64_t patience)
{
    const struct pool_options options = { .threads = threads,
                                          .patience = patience,
                                          .done = take,
                                          .late = take_late,
                                          .context = &late_count };
    struct pool *pool;

    assert_int_equal(pool_open(&pool, &options), 0);
    return pool;
}

static void one_thread_runs_jobs_in_order(void **state)
{
    struct pool *pool = open_pool(1, FOR_EVER);

    (void)state;
    for (uint32_t i = 0; i < JOBS; i++)
        pool_submit(pool, job(count, i));
    wait_for(&done_count, JOBS);
    for (uint32_t i = 0; i < JOBS; i++)
        assert_int_equal(order[i], i);
    assert_int_equal(pool_close(pool), 0);
    assert_int_equal(released, JOBS);
}

static void each_thread_runs_one_job(void **state)
{
    struct pool *pool = open_pool(3, FOR_EVER);

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        pool_submit(pool, job(wait_until_open, i));
    wait_for(&running, 3);
    assert_int_equal(done_count, 0);
    assert_int_equal(running, 3);
    atomic_store(&opened, 1);
    wait_for(&running, 4);
    assert_int_equal(pool_close(pool), 0);
    assert_int_equal(done_count, 4); /* closing waited for the fourth */
    assert_int_equal(late_count, 0);
}

static void open_later(void *arg)
{
    (void)arg;
    uv_sleep(20);
    atomic_store(&opened, 1);
}

/* Closing waits for running jobs and frees the others. */
static void closing_waits_for_running_jobs(void **state)
{
    struct pool *pool = open_pool(2, FOR_EVER);
    uv_thread_t opener;

    (void)state;
    for (uint32_t i = 0; i < 10; i++)
        pool_submit(pool, job(wait_until_open, i));
    wait_for(&running, 2);
    assert_int_equal(uv_thread_create(&opener, open_later, NULL), 0);
    assert_int_equal(pool_close(pool), 8);
    assert_int_equal(done_count, 2);
    assert_int_equal(late_count, 0);
    assert_int_equal(released, 10);
    assert_int_equal(uv_thread_join(&opener), 0);
}

static void closing_does_not_wait_for_an_endless_job(void **state)
{
    struct pool *pool = open_pool(3, 1000000);

    (void)state;
    pool_submit(pool, job(wait_until_open, 1));
    pool_submit(pool, job(wait_until_open, 2));
    wait_for(&running, 2);
    assert_int_equal(pool_close(pool), 0);
    assert_int_equal(late_count, 2);
    assert_string_equal(late_name, "work");
    assert_int_equal(released, 0);
    /* Later it ends, and only its release is called. */
    atomic_store(&opened, 1);
    wait_for(&released, 2);
    assert_int_equal(done_count, 0);
}

static void an_idle_or_null_pool_closes(void **state)
{
    (void)state;
    assert_int_equal(pool_close(NULL), 0);
    assert_int_equal(pool_close(open_pool(1, 0)), 0);
}

/* ---- in a system ---- */

enum { SLOW = 1, PING, DAWDLE, SLOW_DONE, PONG };
enum { TAG_SLOW = 1, TAG_PING, TAG_JOB };

static const struct sherd_bytes nothing;
static struct sherd_system *node;
static atomic_uint answered, pinged, dawdled;

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)event;
    *(uint32_t *)self += type;
}

/* SLOW: stores it, starts a job, answers at its end. PING: answers at once. */
static enum sherd_next slow(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    const struct sherd_job work = { "slow work", wait_until_open, release };

    (void)self;
    if (msg->kind == SHERD_MESSAGE && msg->msg == PING)
        sherd_reply(ctx, PONG, nothing);
    if (msg->kind == SHERD_MESSAGE && msg->msg == DAWDLE)
        uv_sleep(5); /* should be a job */
    if (msg->kind == SHERD_MESSAGE && msg->msg == SLOW) {
        sherd_persist(ctx, 1, nothing);
        check(sherd_job_start(ctx, &work, calloc(1, sizeof(uint32_t)),
                              TAG_JOB) == 0);
    }
    if (msg->kind == SHERD_JOB) {
        check(msg->tag == TAG_JOB && *(uint32_t *)sherd_job_arg(msg) == 1);
        check(sherd_sequence(ctx) == 1);
        sherd_reply(ctx, SLOW_DONE, nothing);
    }
    return SHERD_CONTINUE;
}

static enum sherd_next asker(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED) {
        sherd_entity_ask(ctx, "Slow", "x", SLOW, nothing, TAG_SLOW,
                         10 * PATIENCE_MS);
        sherd_timer(ctx, 1, 1);
    }
    /* Asks the entity again while the job runs. */
    if (msg->kind == SHERD_TIMER && !atomic_load(&running))
        sherd_timer(ctx, 1, 1);
    else if (msg->kind == SHERD_TIMER)
        sherd_entity_ask(ctx, "Slow", "x", PING, nothing, TAG_PING,
                         10 * PATIENCE_MS);
    if (msg->kind == SHERD_ANSWER && msg->tag == TAG_PING)
        atomic_fetch_add(&pinged, 1);
    if (msg->kind == SHERD_ANSWER && msg->tag == TAG_SLOW)
        atomic_fetch_add(&answered, 1);
    return SHERD_CONTINUE;
}

static void look_at_line(void *user, enum sherd_log_level level,
                         const char *module, const char *line)
{
    (void)user;
    (void)level;
    (void)module;
    if (strstr(line, "handler took long"))
        atomic_fetch_add(&dawdled, 1);
    if (strstr(line, "job still runs, left behind at the end") && strstr(line, "slow work"))
        atomic_fetch_add(&lines, 1);
}

static void start_system(const char *config)
{
    const struct sherd_entity_type type = {
        .name = "Slow",
        .shards = 10,
        .behavior = { .name = "slow",
                      .state_size = 4,
                      .receive = slow,
                      .apply = apply },
    };
    const struct sherd_behavior behavior = { .name = "asker",
                                             .receive = asker };
    const struct sherd_options options = { .name = "Pool",
                                           .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .lanes = 2,
                                           .journal = "memory",
                                           .log = look_at_line,
                                           .config_text = config };

    answered = pinged = 0;
    assert_int_equal(sherd_open(&node, &options), 0);
    assert_int_equal(sherd_entity_register(node, &type), 0);
    assert_int_equal(sherd_start(node), 0);
    assert_int_equal(sherd_system_spawn(node, &behavior, nothing, NULL), 0);
    wait_for(&pinged, 1);
    assert_int_equal(answered, 0);
}

static void an_entity_answers_others_while_its_job_runs(void **state)
{
    struct sherd_status status;

    (void)state;
    start_system("");
    assert_int_equal(sherd_get_status(node, &status), 0);
    assert_int_equal(status.jobs, 1);
    assert_int_equal(status.jobs_open, 1);
    sherd_status_free(&status);
    atomic_store(&opened, 1);
    wait_for(&answered, 1);
    assert_int_equal(sherd_get_status(node, &status), 0);
    assert_int_equal(status.jobs_open, 0);
    assert_int_equal(status.counters[SHERD_JOBS_ORPHANED], 0);
    assert_int_equal(status.counters[SHERD_JOBS_REFUSED], 0);
    sherd_status_free(&status);
    sherd_close(node);
    assert_int_equal(released, 1);
}

static void a_system_ends_although_a_job_does_not(void **state)
{
    (void)state;
    start_system("sherd.pool { threads = 1, close-timeout = 1 ms }");
    sherd_close(node);
    assert_int_equal(lines, 1);
    assert_int_equal(released, 0);
    atomic_store(&opened, 1);
    wait_for(&released, 1);
    assert_int_equal(answered, 0);
}

static void a_handler_that_should_be_a_job_is_reported(void **state)
{
    struct sherd_status status;

    (void)state;
    start_system("sherd.slow-handler.report-after = 1 ms");
    assert_int_equal(sherd_system_entity_tell(node, "Slow", "x", DAWDLE,
                                              nothing),
                     0);
    wait_for(&dawdled, 1);
    assert_int_equal(sherd_get_status(node, &status), 0);
    assert_true(status.counters[SHERD_HANDLERS_SLOW] >= 1);
    sherd_status_free(&status);
    atomic_store(&opened, 1);
    sherd_close(node);
    assert_int_equal(released, 1);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED
#endif

#ifndef IS_SANITIZED /* sanitizers need much address space */
/* A process without room for another stack. */
static void a_pool_without_threads_gives_the_reason(void **state)
{
    int status = 0;
    pid_t child = fork();
    (void)state;

    assert_true(child >= 0);
    if (child == 0) {
        const struct pool_options options = { .threads = 1000 };
        const struct rlimit limit = { 512ul << 20, 512ul << 20 };
        struct pool *pool;

        _exit(setrlimit(RLIMIT_AS, &limit) == 0 &&
                      pool_open(&pool, &options) != 0
                  ? errno
                  : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EAGAIN);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef IS_SANITIZED
        cmocka_unit_test(a_pool_without_threads_gives_the_reason),
#endif
        cmocka_unit_test_setup(one_thread_runs_jobs_in_order, clear),
        cmocka_unit_test_setup(each_thread_runs_one_job, clear),
        cmocka_unit_test_setup(closing_waits_for_running_jobs, clear),
        cmocka_unit_test_setup(closing_does_not_wait_for_an_endless_job, clear),
        cmocka_unit_test_setup(an_idle_or_null_pool_closes, clear),
        cmocka_unit_test_setup(an_entity_answers_others_while_its_job_runs,
                               clear),
        cmocka_unit_test_setup(a_system_ends_although_a_job_does_not, clear),
        cmocka_unit_test_setup(a_handler_that_should_be_a_job_is_reported,
                               clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
