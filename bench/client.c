/* Measures asks of entities on one node: by threads through a client, or by an actor. Row 25.
 *
 *   client threads COUNT WINDOW ASKS
 *   client actor WINDOW ASKS
 *
 * WINDOW asks are open at a time, of all threads together. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "systems.h"

#define ENTITIES 1000
#define TIMEOUT_MS 60000
#define TAKEN_MAX 64

static const struct sherd_bytes nothing;

static struct work {
    struct sherd_client *client;
    struct sherd_entity_ref refs[ENTITIES];
    int window, most;
    atomic_int asked, ended;
} work;

static void fail_unless(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* ---- threads ---- */

/* Makes the next ask, unless all are made. */
static void ask_next(void)
{
    int number = atomic_fetch_add(&work.asked, 1);
    struct sherd_request request = {.entity = &work.refs[number % ENTITIES],
                                    .msg = ANSWER,
                                    .timeout_ms = TIMEOUT_MS};

    if (number < work.most)
        fail_unless(sherd_client_ask(work.client, &request, NULL) == 0,
                    "an ask was refused");
}

static void *ask_and_take(void *share)
{
    struct sherd_completion taken[TAKEN_MAX];

    for (intptr_t i = (intptr_t)share; i > 0; i--)
        ask_next();
    while (atomic_load(&work.ended) < work.most) {
        uint32_t count = sherd_client_poll(work.client, taken, TAKEN_MAX, 100);

        for (uint32_t i = 0; i < count; i++)
            fail_unless(taken[i].status == SHERD_CLIENT_ANSWERED,
                        sherd_client_status_text(taken[i].status));
        sherd_completions_free(taken, count);
        atomic_fetch_add(&work.ended, (int)count);
        for (uint32_t i = 0; i < count; i++)
            ask_next();
    }
    return NULL;
}

static void run_threads(struct sherd_system *system, int count)
{
    pthread_t threads[64];

    fail_unless(count > 0 && count <= 64, "1 to 64 threads");
    fail_unless(sherd_client_open(&work.client, system, NULL) == 0, "no client");
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, ask_and_take,
                       (void *)(intptr_t)(work.window / count));
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    sherd_client_close(work.client);
}

/* ---- an actor ---- */

static void ask_in_actor(struct sherd_ctx *ctx)
{
    int number = work.asked++;

    if (number < work.most)
        sherd_entity_ref_ask(ctx, &work.refs[number % ENTITIES], ANSWER, nothing,
                             1, TIMEOUT_MS);
}

static enum sherd_next on_asker(struct sherd_ctx *ctx, void *self,
                                const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED) {
        for (int i = 0; i < work.window; i++)
            ask_in_actor(ctx);
        return SHERD_CONTINUE;
    }
    fail_unless(msg->kind == SHERD_ANSWER, "an ask has no answer");
    ask_in_actor(ctx);
    if (++work.ended < work.most)
        return SHERD_CONTINUE;
    bench_finish();
    return SHERD_STOP;
}

/* ---- both ---- */

static void prepare(int window, int most)
{
    char id[32];

    work.window = window;
    work.most = most;
    work.asked = work.ended = 0;
    for (uint32_t i = 0; i < ENTITIES; i++) {
        bench_id_put(id, i);
        fail_unless(sherd_entity_ref_make(&work.refs[i], "User", id, NULL) == 0,
                    "no reference");
    }
}

static void measure(struct sherd_system *system, int threads, int window, int most)
{
    uint64_t began_at, cpu_began_at;

    for (int round = 0; round < 2; round++) { /* the first one starts the entities */
        prepare(window, round ? most : ENTITIES);
        began_at = bench_now_ns();
        cpu_began_at = bench_cpu_ns();
        if (threads)
            run_threads(system, threads);
        else
            bench_run_actor(system, "asker", 0, on_asker);
    }
    printf("rate %.4f\n", most * 1e3 / (double)(bench_now_ns() - began_at));
    printf("cpu_rate %.4f\n", most * 1e3 / (double)(bench_cpu_ns() - cpu_began_at));
}

int main(int argc, char **argv)
{
    int is_actor = argc == 4 && !strcmp(argv[1], "actor");
    struct sherd_system *system;

    if (!is_actor && (argc != 5 || strcmp(argv[1], "threads") != 0)) {
        int help = argc == 2 && !strcmp(argv[1], "--help");

        fprintf(help ? stdout : stderr,
                "usage: client threads COUNT WINDOW ASKS\n"
                "       client actor WINDOW ASKS\n");
        return help ? 0 : 2;
    }
    system = bench_open_node(0, 0, NULL, 0, 100);
    bench_wait_members(system, 1);
    measure(system, is_actor ? 0 : atoi(argv[2]), atoi(argv[argc - 2]),
            atoi(argv[argc - 1]));
    sherd_close(system);
    return 0;
}
