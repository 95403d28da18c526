/* Runs the thread that asks a lease provider, and keeps the process's own table of leases. */
#define _GNU_SOURCE
#include "host/lease_provider.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uv.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/line.h"
#include "base/vec.h"
#include "host/lease_etcd.h"
#include "host/lease_file.h"
#include "lease/book.h"

#define PATIENCE_NS UINT64_C(2000000000) /* of lease_provider_close */
#define LOOK_NS UINT64_C(1000000000) /* between two looks at the lease's file */

/* Lives until the thread has ended, possibly after lease_provider_close. */
struct leases {
    struct lease_provider_options options;
    char *directory;
    struct lease_file files[LEASE_USE_COUNT]; /* the thread's, like the next */
    struct lease_bound_files bound;
    uint64_t looked_at; /* the bound ones, last */
    struct lease_etcd *etcd;
    pthread_t thread;
    uv_mutex_t mutex;   /* guards everything below */
    uv_cond_t changed;  /* a request waits, or it closes */
    uv_cond_t settled;  /* is_asking or has_ended changed */
    bool closing;
    bool is_asking; /* the thread waits for files or servers, and uses nothing of the owner */
    bool has_ended; /* the thread, except its last lines */
    /* the owner gave up: the thread does no more and frees everything. Set under the mutex */
    _Atomic bool is_left;
    struct lease_request *asked; /* being asked; the thread uses a copy */
    VEC(struct lease_request *) waiting; /* in order */
};

/* One table, so that all systems of the process share leases. */
static uv_once_t once = UV_ONCE_INIT;
static uv_mutex_t book_mutex;
static struct lease_book book;

static void init_book(void)
{
    check(uv_mutex_init(&book_mutex) == 0);
}

static void warn(struct leases *leases, const char *text)
{
    if (leases->options.warn)
        leases->options.warn(leases->options.context, text);
}

static void warn_of_etcd(struct leases *leases)
{
    char text[720];

    line_format(text, sizeof text, "etcd does not answer why=\"%s\" hint=\"%s\"",
                lease_etcd_why(leases->etcd),
                "check that etcd runs and can be reached");
    warn(leases, text);
}

/* Null, or why an answer is unknown. */
static const char *why_of(const struct leases *leases, const struct lease_request *request)
{
    if (leases->etcd || !leases->directory)
        return NULL;
    return request->verb == LEASE_BIND ? leases->bound.why : leases->files[request->use].why;
}

static void warn_of_file(struct leases *leases, const struct lease_request *request)
{
    char text[LEASE_PATH_SIZE + 160];

    line_format(text, sizeof text,
                "lease file cannot be used file=\"%s\" why=\"%s\" hint=\"%s\"",
                request->verb == LEASE_BIND ? leases->bound.path
                                            : leases->files[request->use].path,
                why_of(leases, request),
                "check the directory of the leases, its rights and space");
    warn(leases, text);
}

/* Under the mutex, which is free until end_asking: the call may never return. */
static void begin_asking(struct leases *leases)
{
    leases->is_asking = true;
    uv_cond_broadcast(&leases->settled);
    uv_mutex_unlock(&leases->mutex);
}

/* False: lease_provider_close did not wait, so no answer is due. */
static bool end_asking(struct leases *leases)
{
    uv_mutex_lock(&leases->mutex);
    leases->is_asking = false;
    uv_cond_broadcast(&leases->settled);
    return !leases->is_left;
}

static void ask_files(struct leases *leases, uint64_t now, struct lease_request *request)
{
    if (request->verb == LEASE_BIND) {
        lease_bound_files_do(&leases->bound, &leases->files[request->use], leases->directory, now,
                             request);
        return;
    }
    lease_file_do(&leases->files[request->use], leases->directory, now, request);
    if (request->use == LEASE_USE_GROUP)
        lease_bound_files_session(&leases->bound, now, request);
}

/* False: the answer is unknown, and etcd or a file has a reason. */
static bool do_request(struct leases *leases, struct lease_request *request)
{
    if (leases->etcd)
        return lease_etcd_do(leases->etcd, request);
    if (leases->directory) {
        ask_files(leases, uv_hrtime(), request);
        return !why_of(leases, request);
    } else {
        uv_mutex_lock(&book_mutex);
        lease_book_do(&book, uv_hrtime(), request);
        uv_mutex_unlock(&book_mutex);
    }
    return true;
}

/* The thread reports what it finds, without the mutex. */
struct finding {
    enum lease_file_news news;
    enum lease_use use;
    const char *what;
    bool is_held; /* before */
    const char *path;
};

static void report(struct leases *leases, const struct finding *finding)
{
    char why[LEASE_PATH_SIZE + 160];

    if (!leases->options.changed || finding->news == LEASE_FILE_SAME)
        return;
    (void)snprintf(why, sizeof why, "lease file %s was %s under this node",
                   finding->path, finding->what ? finding->what : ""); /* fits */
    if (finding->news == LEASE_FILE_BACK)
        leases->options.changed(leases->options.context, finding->use, NULL, false);
    else
        leases->options.changed(leases->options.context, finding->use, why,
                                finding->is_held);
}

static void look(struct leases *leases, struct finding findings[LEASE_USE_COUNT + 1])
{
    struct finding *bound = &findings[LEASE_USE_COUNT];
    uint64_t now = uv_hrtime();

    for (int i = 0; i < LEASE_USE_COUNT; i++) {
        struct lease_file *file = &leases->files[i];

        findings[i] = (struct finding){ .use = (enum lease_use)i, .path = file->path,
                                        .is_held = file->is_held };
        findings[i].news = lease_file_look(file, &findings[i].what);
    }
    *bound = (struct finding){ .use = LEASE_USE_GROUP, .path = leases->bound.path,
                               .is_held = true };
    if (findings[LEASE_USE_GROUP].news == LEASE_FILE_CHANGED)
        lease_bound_files_fini(&leases->bound); /* they ended with it */
    if (now - leases->looked_at < LOOK_NS)
        return;
    leases->looked_at = now;
    bound->what = lease_bound_files_look(&leases->bound, now);
    bound->news = bound->what ? LEASE_FILE_CHANGED : LEASE_FILE_SAME;
}

/* A changed file of a bound lease ends the session, whose own file is there. */
static void report_all(struct leases *leases, const struct finding findings[LEASE_USE_COUNT + 1])
{
    struct finding back = findings[LEASE_USE_COUNT];

    for (int i = 0; i <= LEASE_USE_COUNT; i++)
        report(leases, &findings[i]);
    if (back.news == LEASE_FILE_SAME || leases->files[LEASE_USE_GROUP].is_changed)
        return;
    back.news = LEASE_FILE_BACK;
    report(leases, &back);
}

/* Under the mutex, as the next two. False: the thread was left behind. */
static bool look_at_files(struct leases *leases)
{
    struct finding findings[LEASE_USE_COUNT + 1];

    if (!leases->directory || leases->etcd)
        return true;
    begin_asking(leases);
    look(leases, findings);
    if (!end_asking(leases))
        return false;
    uv_mutex_unlock(&leases->mutex);
    report_all(leases, findings);
    uv_mutex_lock(&leases->mutex);
    return true;
}

/* A lease in a new file counts only when holders in an older one have noticed that it is gone.
 * Then it is renewed. False: as before. */
static bool settle(struct leases *leases, struct lease_request *request)
{
    uint64_t until = uv_hrtime() + LEASE_SETTLE_MS * UINT64_C(1000000);
    uint64_t now;

    if (!leases->files[request->use].is_new || request->verb == LEASE_GIVE_UP ||
        request->verb == LEASE_BIND || request->answer != LEASE_GRANTED)
        return true;
    while (!leases->closing && (now = uv_hrtime()) < until)
        (void)uv_cond_timedwait(&leases->changed, &leases->mutex, until - now);
    if (leases->closing) {
        request->answer = LEASE_UNKNOWN;
        return true;
    }
    begin_asking(leases);
    (void)do_request(leases, request); /* a file always has an answer */
    return end_asking(leases);
}

/* False: as before. */
static bool answer(struct leases *leases)
{
    struct lease_request *request = leases->waiting.items[0]; /* it stays so */
    struct lease_request *copy;
    bool is_known;

    /* A holder's request is refused first. */
    if (!leases->files[request->use].is_held && !look_at_files(leases))
        return false;
    copy = lease_request_copy(request);
    vec_remove(&leases->waiting, 0);
    leases->asked = request;
    begin_asking(leases);
    is_known = do_request(leases, copy);
    if (!end_asking(leases) || !settle(leases, copy)) {
        mem_free(copy);
        return false;
    }
    leases->asked = NULL;
    uv_mutex_unlock(&leases->mutex);
    lease_request_set(request, copy);
    mem_free(copy);
    is_known = is_known && !why_of(leases, request); /* also after settle */
    if (!is_known && leases->etcd)
        warn_of_etcd(leases);
    else if (!is_known)
        warn_of_file(leases, request);
    leases->options.done(leases->options.context, request);
    uv_mutex_lock(&leases->mutex);
    if (!leases->etcd)
        return look_at_files(leases);
    begin_asking(leases);
    lease_etcd_tidy(leases->etcd);
    return end_asking(leases);
}

static bool look_at_etcd(struct leases *leases)
{
    bool is_there;

    begin_asking(leases);
    is_there = lease_etcd_look(leases->etcd);
    if (!end_asking(leases))
        return false;
    uv_mutex_unlock(&leases->mutex);
    if (!is_there)
        warn_of_etcd(leases);
    uv_mutex_lock(&leases->mutex);
    return true;
}

static void lease_provider_free(struct leases *leases)
{
    uv_cond_destroy(&leases->settled);
    uv_cond_destroy(&leases->changed);
    uv_mutex_destroy(&leases->mutex);
    vec_fini(&leases->waiting);
    lease_etcd_close(leases->etcd);
    for (int i = 0; i < LEASE_USE_COUNT; i++)
        lease_file_forget(&leases->files[i]);
    lease_bound_files_fini(&leases->bound);
    mem_free(leases->directory);
    mem_free(leases);
}

static void *run(void *arg)
{
    struct leases *leases = arg;
    bool goes_on = true, is_left;

    (void)pthread_setname_np(pthread_self(), "sherd-lease"); /* only for debugging */
    uv_mutex_lock(&leases->mutex);
    if (leases->etcd)
        goes_on = look_at_etcd(leases);
    while (goes_on && (!leases->closing || leases->waiting.count)) {
        if (leases->waiting.count) {
            goes_on = answer(leases);
        } else if (!leases->files[LEASE_USE_RESOLVER].path[0] &&
                   !leases->files[LEASE_USE_GROUP].path[0]) {
            uv_cond_wait(&leases->changed, &leases->mutex);
        } else if (uv_cond_timedwait(&leases->changed, &leases->mutex,
                                     LOOK_NS) == UV_ETIMEDOUT) {
            goes_on = look_at_files(leases);
        }
    }
    leases->has_ended = true;
    is_left = leases->is_left;
    uv_cond_broadcast(&leases->settled);
    uv_mutex_unlock(&leases->mutex);
    if (is_left)
        lease_provider_free(leases);
    return NULL;
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
    else if (lease_directory_fault(directory))
        (void)snprintf(error, size, "%s: %s", directory, lease_directory_fault(directory));
    else
        return true;
    return false;
}

int lease_provider_open(struct leases **opened, const struct lease_provider_options *options,
                char *error, size_t size)
{
    struct lease_etcd *etcd = NULL;
    struct leases *leases;
    int fault;

    *opened = NULL;
    if (options->etcd &&
        lease_etcd_open(&etcd, options->etcd, error, size) != 0)
        return -1;
    if (!etcd && options->directory &&
        !usable(options->directory, error, size))
        return -1;
    leases = mem_alloc(sizeof *leases);
    if (!etcd && options->directory && options->name &&
        !lease_file_make(&leases->files[LEASE_USE_RESOLVER], options->directory, options->name,
                         error, size)) {
        mem_free(leases);
        return -1;
    }
    uv_once(&once, init_book);
    leases->options = *options;
    leases->etcd = etcd;
    leases->directory = mem_text(options->directory);
    for (int i = 0; i < LEASE_USE_COUNT; i++)
        leases->files[i].is_left = &leases->is_left;
    check(uv_mutex_init(&leases->mutex) == 0);
    check(uv_cond_init(&leases->changed) == 0);
    check(uv_cond_init(&leases->settled) == 0);
    fault = pthread_create(&leases->thread, NULL, run, leases);
    if (fault != 0) {
        (void)snprintf(error, size, "thread cannot start: %s", strerror(fault));
        lease_provider_free(leases);
        return -1;
    }
    *opened = leases;
    return 0;
}

int lease_provider_prepare(struct leases *leases, const char *name, char *error, size_t size)
{
    struct lease_file file = { .path = "" };
    bool is_made = !leases->directory || leases->etcd ||
                   lease_file_make(&file, leases->directory, name, error, size);

    lease_file_forget(&file);
    return is_made ? 0 : -1;
}

void lease_provider_submit(struct leases *leases, struct lease_request *request)
{
    uv_mutex_lock(&leases->mutex);
    vec_push(&leases->waiting, request);
    uv_cond_signal(&leases->changed);
    uv_mutex_unlock(&leases->mutex);
}

/* Under the mutex. True: the thread is left behind; false: it has ended. */
static bool wait_for_end(struct leases *leases)
{
    uint64_t until = uv_hrtime() + PATIENCE_NS;

    while (!leases->has_ended && !leases->is_left) {
        uint64_t now = uv_hrtime();

        if (now < until)
            (void)uv_cond_timedwait(&leases->settled, &leases->mutex, until - now);
        else if (leases->is_asking)
            leases->is_left = true;
        else
            uv_cond_wait(&leases->settled, &leases->mutex); /* a callback runs */
    }
    return leases->is_left;
}

/* Waiting requests were answered as unknown before. */
static void leave_behind(struct leases *leases)
{
    const struct lease_provider_options options = leases->options;
    pthread_t thread = leases->thread;
    VEC(struct lease_request *) open = { 0 };

    if (leases->asked)
        vec_push(&open, leases->asked);
    for (uint32_t i = 0; i < leases->waiting.count; i++)
        vec_push(&open, leases->waiting.items[i]);
    leases->waiting.count = 0;
    warn(leases, "lease provider does not answer; its open requests end as unknown "
                 "hint=\"check etcd, or the file system of the leases\"");
    uv_mutex_unlock(&leases->mutex); /* the thread owns it now */
    check(pthread_detach(thread) == 0);
    for (uint32_t i = 0; i < open.count; i++) {
        lease_request_answer_all(open.items[i], LEASE_UNKNOWN);
        options.done(options.context, open.items[i]);
    }
    vec_fini(&open);
}

void lease_provider_close(struct leases *leases)
{
    if (!leases)
        return;
    if (leases->etcd)
        lease_etcd_stop(leases->etcd);
    uv_mutex_lock(&leases->mutex);
    leases->closing = true;
    uv_cond_signal(&leases->changed);
    if (wait_for_end(leases)) {
        leave_behind(leases);
        return;
    }
    uv_mutex_unlock(&leases->mutex);
    check(pthread_join(leases->thread, NULL) == 0);
    lease_provider_free(leases);
}
