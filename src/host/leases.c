/* The thread that asks a keeper of leases, and the process's own table. */
#define _GNU_SOURCE
#include "host/leases.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uv.h>

#include "base/check.h"
#include "base/line.h"
#include "base/vec.h"
#include "host/lease_etcd.h"
#include "lease/book.h"

struct leases {
    struct leases_options options;
    char *directory;
    struct lease_etcd *etcd;
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_cond_t changed;
    bool closing;                        /* under the mutex, as the next */
    VEC(struct lease_request *) waiting; /* in order */
};

/* One table for the process: its systems see each other's leases. */
static uv_once_t once = UV_ONCE_INIT;
static uv_mutex_t book_mutex;
static struct lease_book book;

static void init_book(void)
{
    check(uv_mutex_init(&book_mutex) == 0);
}

static void warn(struct leases *leases)
{
    char text[640];

    line_format(text, sizeof text, "etcd does not answer why=\"%s\"",
                lease_etcd_why(leases->etcd));
    if (leases->options.warn)
        leases->options.warn(leases->options.context, text);
}

static void answer(struct leases *leases, struct lease_request *request)
{
    if (leases->etcd) {
        if (!lease_etcd_do(leases->etcd, request))
            warn(leases);
    } else if (leases->directory) {
        lease_file_do(leases->directory, uv_hrtime(), request);
    } else {
        uv_mutex_lock(&book_mutex);
        lease_book_do(&book, uv_hrtime(), request);
        uv_mutex_unlock(&book_mutex);
    }
    leases->options.done(leases->options.context, request);
    if (leases->etcd)
        lease_etcd_tidy(leases->etcd);
}

static void run(void *arg)
{
    struct leases *leases = arg;

    if (leases->etcd && !lease_etcd_look(leases->etcd))
        warn(leases);
    uv_mutex_lock(&leases->mutex);
    while (!leases->closing || leases->waiting.count) {
        struct lease_request *request;

        if (!leases->waiting.count) {
            uv_cond_wait(&leases->changed, &leases->mutex);
            continue;
        }
        request = leases->waiting.items[0];
        vec_remove(&leases->waiting, 0);
        uv_mutex_unlock(&leases->mutex);
        answer(leases, request);
        uv_mutex_lock(&leases->mutex);
    }
    uv_mutex_unlock(&leases->mutex);
}

static bool usable(const char *directory, char *error, size_t size)
{
    struct stat about;

    if (stat(directory, &about) != 0)
        (void)snprintf(error, size, "%s: %s", directory, strerror(errno));
    else if (!S_ISDIR(about.st_mode))
        (void)snprintf(error, size, "%s: not a directory", directory);
    else if (access(directory, W_OK | X_OK) != 0)
        (void)snprintf(error, size, "%s: %s", directory, strerror(errno));
    else
        return true;
    return false;
}

int leases_open(struct leases **opened, const struct leases_options *options,
                char *error, size_t size)
{
    struct lease_etcd *etcd = NULL;
    struct leases *leases;

    *opened = NULL;
    if (options->etcd &&
        lease_etcd_open(&etcd, options->etcd, error, size) != 0)
        return -1;
    if (!etcd && options->directory &&
        !usable(options->directory, error, size))
        return -1;
    uv_once(&once, init_book);
    leases = mem_alloc(sizeof *leases);
    leases->options = *options;
    leases->etcd = etcd;
    leases->directory = mem_text(options->directory);
    check(uv_mutex_init(&leases->mutex) == 0);
    check(uv_cond_init(&leases->changed) == 0);
    check(uv_thread_create(&leases->thread, run, leases) == 0);
    *opened = leases;
    return 0;
}

void leases_submit(struct leases *leases, struct lease_request *request)
{
    uv_mutex_lock(&leases->mutex);
    vec_push(&leases->waiting, request);
    uv_cond_signal(&leases->changed);
    uv_mutex_unlock(&leases->mutex);
}

void leases_close(struct leases *leases)
{
    if (!leases)
        return;
    if (leases->etcd)
        lease_etcd_stop(leases->etcd);
    uv_mutex_lock(&leases->mutex);
    leases->closing = true;
    uv_cond_signal(&leases->changed);
    uv_mutex_unlock(&leases->mutex);
    check(uv_thread_join(&leases->thread) == 0);
    uv_cond_destroy(&leases->changed);
    uv_mutex_destroy(&leases->mutex);
    vec_fini(&leases->waiting);
    lease_etcd_close(leases->etcd);
    mem_free(leases->directory);
    mem_free(leases);
}
