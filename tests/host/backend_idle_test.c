/* Tests that an idle back end is asked for a sign of life, and what follows when it gives none. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/check.h"
#include "host/backend_plugin.h"
#include "host/backend_thread.h"

#define PATIENCE 60 /* s */

/* A store, and the client that uses it; its place is its index. */
struct idle {
    struct backend_client *client;
    uint32_t asked;  /* for a sign of life */
    uint32_t tried;  /* to write */
    bool is_alive, is_writable;
    bool is_failing; /* as the client was told */
    char why[BACKEND_ERROR_MAX];
    uint32_t written;
};

enum place { NEW, OLD, WITHOUT, BUSY, PLACES };

static struct idle idles[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *open_idle(const struct sherd_backend_options *options, enum sherd_backend_mode mode,
                       char *error)
{
    (void)mode;
    (void)error;
    return &idles[options->place[0] - '0'];
}

static void settle_all(void *store, struct sherd_backend_request *const *requests, uint32_t count)
{
    (void)store;
    for (uint32_t i = 0; i < count; i++)
        sherd_backend_settle(requests[i], SHERD_BACKEND_DONE, "");
}

static void close_idle(void *store)
{
    (void)store;
}

static void identify_idle(void *store, struct sherd_backend_identity *identity)
{
    (void)snprintf(identity->id, sizeof identity->id, "%x", (unsigned)((struct idle *)store - idles));
}

/* Counts a question, and answers it. */
static int answer(uint32_t *count, const bool *is_good, const char *why, char *error)
{
    int good;

    pthread_mutex_lock(&lock);
    (*count)++;
    good = *is_good;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (!good)
        (void)snprintf(error, SHERD_BACKEND_ERROR_MAX, "%s", why);
    return good;
}

static int can_write(void *store, char *error)
{
    struct idle *idle = store;

    return answer(&idle->tried, &idle->is_writable, "it does not write", error);
}

static int is_alive(void *store, char *error)
{
    struct idle *idle = store;

    return answer(&idle->asked, &idle->is_alive, "it does not answer", error);
}

static void done(void *context, struct journal_request **requests, uint32_t count)
{
    struct idle *idle = context;

    for (uint32_t i = 0; i < count; i++)
        journal_request_free(requests[i]);
    pthread_mutex_lock(&lock);
    idle->written += count;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void failing(void *context, const char *why)
{
    struct idle *idle = context;

    pthread_mutex_lock(&lock);
    idle->is_failing = why != NULL;
    (void)snprintf(idle->why, sizeof idle->why, "%s", why ? why : "");
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void open_client(enum place place, const struct sherd_backend *backend)
{
    const char text[] = { (char)('0' + place), 0 };
    struct backend_client_options options = {
        .ops = &backend_plugin,
        .store = { .path = text, .key = text, .cluster = "c", .plugin = backend },
        .done = done,
        .failing = failing,
        .context = &idles[place],
    };
    char error[BACKEND_ERROR_MAX];

    idles[place].is_alive = idles[place].is_writable = true;
    assert_int_equal(backend_client_open(&idles[place].client, &options, error), 0);
    assert_int_equal(backend_client_start(idles[place].client, error), 0);
}

/* Waits for a change of any store. Under the lock. */
static void wait_change(void)
{
    struct timespec until;

    check(clock_gettime(CLOCK_REALTIME, &until) == 0);
    until.tv_sec += PATIENCE;
    assert_int_equal(pthread_cond_timedwait(&changed, &lock, &until), 0);
}

/* Writes to the busy store, one group after the other, until the new one was asked again. Both are asked
 * as soon as they are open. Under the lock. */
static void write_until_asked(void)
{
    uint32_t sent = 0;

    while (!idles[NEW].asked || !idles[BUSY].asked)
        wait_change();
    while (idles[NEW].asked < 2) {
        pthread_mutex_unlock(&lock);
        backend_submit(idles[BUSY].client, journal_request_take_term(slice_text("T"), 0));
        sent++;
        pthread_mutex_lock(&lock);
        while (idles[BUSY].written < sent)
            wait_change();
    }
}

static void a_silent_store_fails_until_it_can_be_written(void **state)
{
    static struct sherd_backend backends[PLACES];
    struct idle *idle = &idles[NEW];
    (void)state;

    for (int i = 0; i < PLACES; i++)
        backends[i] = (struct sherd_backend){ .version = i == OLD ? 2 : SHERD_BACKEND_VERSION,
                                              .name = "idle",
                                              .open = open_idle,
                                              .write = settle_all,
                                              .read = settle_all,
                                              .close = close_idle,
                                              .identify = identify_idle,
                                              .can_write = can_write,
                                              .is_alive = i == WITHOUT ? NULL : is_alive };
    for (int i = PLACES - 1; i >= 0; i--)
        open_client((enum place)i, &backends[i]);
    pthread_mutex_lock(&lock);
    write_until_asked();
    assert_int_equal(idle->tried, 0);
    assert_false(idle->is_failing);
    assert_int_equal(idles[BUSY].asked, 1);
    assert_int_equal(idles[OLD].asked, 0);
    idle->is_alive = idle->is_writable = false;
    while (!idle->is_failing)
        wait_change();
    assert_string_equal(idle->why, "it does not answer");
    assert_int_equal(idle->asked, 3);
    while (idle->tried < 2)
        wait_change();
    assert_true(idle->is_failing);
    assert_int_equal(idle->asked, 3); /* a failing store is only written to */
    idle->is_alive = idle->is_writable = true;
    while (idle->is_failing)
        wait_change();
    assert_int_equal(idles[OLD].asked + idles[WITHOUT].asked, 0);
    assert_false(idles[OLD].is_failing || idles[WITHOUT].is_failing || idles[BUSY].is_failing);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < PLACES; i++)
        backend_client_close(idles[i].client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_store_fails_until_it_can_be_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
