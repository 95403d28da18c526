/* Runs the writer and reader threads of each journal of this process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/backend_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/backend_checker.h"
#include "host/backend_place.h"
#include "host/fork_watch.h"
#include "host/relax.h"

#define READERS_MAX 8
#define KNOWN_TOLD 16 /* damaged parts that a new client hears of */
#define IDLE_NS UINT64_C(5000000000) /* without a group, before the store is asked for a sign of life */
#define LOOK_NS UINT64_C(1000000000) /* between two looks at the store's files */
#define READ_BATCH_MAX 64 /* replays that share one read transaction */

struct item {
    struct journal_request *request;
    struct backend_client *client;
};

/* A bounded ring of requests. */
struct queue {
    struct item *items; /* BACKEND_QUEUE_MAX of them */
    uint32_t head;
    _Atomic uint32_t count; /* polling threads read it without the lock */
    uint32_t sleepers;
    pthread_cond_t filled;
};

struct threads {
    struct threads *next; /* in the list of this process */
    const struct backend_ops *ops;
    const struct sherd_backend *plugin;
    char *path;
    char *key;
    char *cluster;
    uint32_t mark; /* of the process that opened it */
    bool are_running;
    uint32_t clients;
    uint32_t reader_count;
    pthread_mutex_t lock; /* guards all below, and `waiting` of clients */
    pthread_cond_t settled;
    bool stopping;
    bool polls;
    struct queue writes;
    struct queue reads;
    struct backend_counters counters;
    struct backend_client *first_client;
    const struct backend_client_options *opener; /* while connections are opened: no client yet */
    pthread_t writer_thread;
    uint64_t looked_at; /* the writer's, as the next three */
    uint64_t heard_at;  /* when a group or a sign of life ended */
    bool is_failing;    /* the last group failed as a whole */
    char why[BACKEND_ERROR_MAX];
    void *writer;
    struct backend_damage *damage;
    struct backend_checker_options checks;
    struct backend_checker *checker; /* null: none */
    struct backend_identity identity;
    struct reader {
        struct threads *threads;
        pthread_t thread;
        void *connection;
    } readers[READERS_MAX];
};

struct backend_client {
    struct threads *threads;
    backend_done done;
    backend_log log;
    backend_log_kept log_kept;
    backend_lost lost;
    backend_failing failing;
    backend_part damaged;
    backend_checked checked;
    bool is_told;          /* the writer's: `lost` was called */
    bool is_told_failing;  /* the writer's: what `failing` reported last */
    struct backend_client *next; /* under the lock */
    void *context;
    uint32_t waiting; /* not come back */
    uint64_t reported;    /* the writer's: reported size of a log that cannot be emptied; 0: none */
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct threads *list;

static uint64_t clock_now(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void lock(struct threads *threads)
{
    check(pthread_mutex_lock(&threads->lock) == 0);
}

static void unlock(struct threads *threads)
{
    check(pthread_mutex_unlock(&threads->lock) == 0);
}

static struct item queue_take(struct queue *queue)
{
    struct item item = queue->items[queue->head];

    queue->head = (queue->head + 1) % BACKEND_QUEUE_MAX;
    queue->count--;
    return item;
}

/* Under the lock. False: stop. */
static bool queue_wait(struct threads *threads, struct queue *queue)
{
    while (!queue->count && !threads->stopping) {
        queue->sleepers++;
        check(pthread_cond_wait(&queue->filled, &threads->lock) == 0);
        queue->sleepers--;
    }
    return queue->count > 0;
}

/* Without the lock: waking a thread takes longer than a fast disk's sync. */
static void queue_poll(const struct queue *queue)
{
    uint64_t until = clock_now() + THREAD_POLL_NS;

    while (!atomic_load_explicit(&queue->count, memory_order_relaxed) &&
           clock_now() < until)
        relax();
}

/* Calls each client once, and then lowers the counts. */
static void give_back(struct threads *threads, const struct item *items,
                      struct journal_request **scratch, uint32_t count)
{
    for (uint32_t start = 0; start < count;) {
        struct backend_client *client = items[start].client;
        uint32_t end = start;

        while (end < count && items[end].client == client) {
            scratch[end - start] = items[end].request;
            end++;
        }
        client->done(client->context, scratch, end - start);
        lock(threads);
        client->waiting -= end - start;
        if (!client->waiting)
            check(pthread_cond_broadcast(&threads->settled) == 0);
        unlock(threads);
        start = end;
    }
}

/* Under the lock: what fits into one transaction, at least one. */
static uint32_t take_group(struct queue *queue, struct item *items)
{
    size_t records = 0;
    size_t size = 0;
    uint32_t count = 0;

    while (queue->count) {
        const struct journal_request *next = queue->items[queue->head].request;

        records += next->records.count;
        size += next->bytes.size;
        if (count && (records > BACKEND_GROUP_RECORDS_MAX ||
                      size > BACKEND_GROUP_SIZE_MAX))
            break;
        items[count++] = queue_take(queue);
    }
    return count;
}

/* Clients cannot close meanwhile, as their requests are in the group. */
static void tell_kept(const struct threads *threads, const struct item *items,
                      uint32_t count, uint64_t size)
{
    for (uint32_t i = 0; i < count; i++) {
        struct backend_client *client = items[i].client;

        if (!client->log_kept ||
            (size ? size < 2 * client->reported : !client->reported))
            continue;
        client->reported = size;
        client->log_kept(client->context, threads->path, size);
    }
}

/* Under the lock, as the next. Tells each client once that the store is lost, and each change of
 * whether it fails. A client that closes waits for its calls. */
static void tell_clients(struct threads *threads, const char *lost)
{
    struct backend_client *client = threads->first_client;

    for (; client; client = client->next) {
        if (lost && !client->is_told && client->lost) {
            client->is_told = true;
            client->lost(client->context, lost);
        }
        if (!lost && client->is_told_failing != threads->is_failing &&
            client->failing) {
            client->is_told_failing = threads->is_failing;
            client->failing(client->context,
                            threads->is_failing ? threads->why : NULL);
        }
    }
}

/* Leaves the lock meanwhile. */
static void look_at_store(struct threads *threads)
{
    const struct backend_ops *ops = threads->ops;
    char error[BACKEND_ERROR_MAX] = "";
    bool is_whole;

    unlock(threads);
    is_whole = !ops->is_whole || ops->is_whole(threads->writer, error);
    if (is_whole && threads->is_failing && ops->can_write) {
        threads->is_failing = !ops->can_write(threads->writer, threads->why);
    } else if (is_whole && ops->is_alive && clock_now() - threads->heard_at >= IDLE_NS) {
        threads->is_failing = !ops->is_alive(threads->writer, threads->why);
        threads->heard_at = clock_now();
    }
    lock(threads);
    tell_clients(threads, is_whole ? NULL : error);
}

/* A group that failed for one of its requests only does not count. */
static void note_group(struct threads *threads,
                       struct journal_request *const *requests, uint32_t count)
{
    bool is_failing = true;

    for (uint32_t i = 0; i < count && is_failing; i++)
        is_failing = requests[i]->result == BACKEND_FAILED ||
                     requests[i]->result == BACKEND_UNKNOWN;
    if (is_failing)
        (void)snprintf(threads->why, sizeof threads->why, "%s",
                       requests[0]->error); /* of that size */
    if (is_failing == threads->is_failing)
        return;
    threads->is_failing = is_failing;
    threads->looked_at = 0; /* tells the clients after this group */
}

/* As queue_wait, with a look at the store each second. */
static bool writer_wait(struct threads *threads)
{
    struct queue *queue = &threads->writes;

    if (clock_now() - threads->looked_at >= LOOK_NS) {
        look_at_store(threads);
        threads->looked_at = clock_now();
    }
    while (!queue->count && !threads->stopping) {
        struct timespec until;
        int result;

        check(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
        until.tv_sec++;
        queue->sleepers++;
        result = pthread_cond_timedwait(&queue->filled, &threads->lock, &until);
        queue->sleepers--;
        check(result == 0 || result == ETIMEDOUT);
        if (result == ETIMEDOUT) {
            look_at_store(threads);
            threads->looked_at = clock_now();
        }
    }
    return queue->count > 0;
}

static void *run_writer(void *argument)
{
    struct threads *threads = argument;
    struct item *items = mem_alloc(BACKEND_QUEUE_MAX * sizeof *items);
    struct journal_request **requests =
        mem_alloc(BACKEND_QUEUE_MAX * sizeof *requests);
    struct backend_kept kept = { 0 };
    uint64_t ended = 0;

    lock(threads);
    while (writer_wait(threads)) {
        uint32_t count = take_group(&threads->writes, items);
        uint64_t started = clock_now();
        bool polls = threads->polls && started - ended < THREAD_POLL_ACTIVE_NS;

        unlock(threads);
        for (uint32_t i = 0; i < count; i++)
            requests[i] = items[i].request;
        threads->ops->write(threads->writer, requests, count);
        started = clock_now() - started;
        note_group(threads, requests, count);
        tell_kept(threads, items, count, kept.size);
        give_back(threads, items, requests, count);
        if (threads->ops->tidy)
            threads->ops->tidy(threads->writer, &kept);
        ended = threads->heard_at = clock_now();
        if (polls)
            queue_poll(&threads->writes);
        lock(threads);
        threads->counters.groups++;
        threads->counters.requests += count;
        threads->counters.log_tries = kept.tries;
        threads->counters.commit_ns_last = started;
        if (threads->counters.commit_ns_max < started)
            threads->counters.commit_ns_max = started;
    }
    unlock(threads);
    mem_free(items);
    mem_free(requests);
    return NULL;
}

static void *run_reader(void *argument)
{
    struct reader *reader = argument;
    struct threads *threads = reader->threads;
    struct item items[READ_BATCH_MAX];
    struct journal_request *requests[READ_BATCH_MAX];

    lock(threads);
    while (queue_wait(threads, &threads->reads)) {
        uint32_t share = threads->reads.count / threads->reader_count + 1;
        uint32_t count = 0;

        while (threads->reads.count && count < READ_BATCH_MAX && count < share)
            items[count++] = queue_take(&threads->reads);
        unlock(threads);
        for (uint32_t i = 0; i < count; i++)
            requests[i] = items[i].request;
        threads->ops->read(reader->connection, requests, count);
        give_back(threads, items, requests, count);
        lock(threads);
        threads->counters.replays += count;
    }
    unlock(threads);
    return NULL;
}

static void queue_init(struct queue *queue)
{
    pthread_condattr_t monotonic;

    queue->items = mem_alloc(BACKEND_QUEUE_MAX * sizeof *queue->items);
    check(pthread_condattr_init(&monotonic) == 0);
    check(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    check(pthread_cond_init(&queue->filled, &monotonic) == 0);
    check(pthread_condattr_destroy(&monotonic) == 0);
}

static void queue_fini(struct queue *queue)
{
    check(queue->count == 0);
    check(pthread_cond_destroy(&queue->filled) == 0);
    mem_free(queue->items);
}

static void close_connections(struct threads *threads)
{
    for (uint32_t i = 0; i < threads->reader_count; i++)
        if (threads->readers[i].connection)
            threads->ops->close(threads->readers[i].connection);
    if (threads->writer)
        threads->ops->close(threads->writer);
}

static int open_connections(struct threads *threads,
                            const struct backend_options *store, char *error)
{
    threads->writer = threads->ops->open(store, BACKEND_WRITER, error);
    if (!threads->writer)
        return -1;
    threads->ops->identify(threads->writer, &threads->identity);
    for (uint32_t i = 0; i < threads->reader_count; i++) {
        threads->readers[i].connection =
            threads->ops->open(store, BACKEND_READER, error);
        if (!threads->readers[i].connection)
            return -1;
    }
    return 0;
}

static void free_memory(struct threads *threads)
{
    backend_damage_free(threads->damage);
    queue_fini(&threads->writes);
    queue_fini(&threads->reads);
    check(pthread_mutex_destroy(&threads->lock) == 0);
    check(pthread_cond_destroy(&threads->settled) == 0);
    mem_free(threads->path);
    mem_free(threads->key);
    mem_free(threads->cluster);
    mem_free(threads);
}

/* pthread_create can fail half way, hence the number. */
static void stop_threads(struct threads *threads, bool writer,
                         uint32_t readers)
{
    lock(threads);
    threads->stopping = true;
    check(pthread_cond_broadcast(&threads->writes.filled) == 0);
    check(pthread_cond_broadcast(&threads->reads.filled) == 0);
    unlock(threads);
    if (writer)
        check(pthread_join(threads->writer_thread, NULL) == 0);
    for (uint32_t i = 0; i < readers; i++)
        check(pthread_join(threads->readers[i].thread, NULL) == 0);
}

static int start_threads(struct threads *threads, char *error)
{
    uint32_t started = 0;
    int fault;

    threads->stopping = false;
    fault =
        pthread_create(&threads->writer_thread, NULL, run_writer, threads);

    if (fault != 0) {
        (void)snprintf(error, BACKEND_ERROR_MAX,
                       "cannot start the journal's writer thread: %s",
                       strerror(fault)); /* fits */
        return -1;
    }
    for (; started < threads->reader_count; started++) {
        struct reader *reader = &threads->readers[started];

        reader->threads = threads;
        fault = pthread_create(&reader->thread, NULL, run_reader, reader);
        if (fault != 0) {
            (void)snprintf(error, BACKEND_ERROR_MAX,
                           "cannot start the journal's reader thread: %s",
                           strerror(fault)); /* fits */
            stop_threads(threads, true, started);
            return -1;
        }
    }
    return 0;
}

static void tell_part(void *context, const char *part, const char *why)
{
    struct threads *threads = context;

    lock(threads);
    for (struct backend_client *client = threads->first_client; client;
         client = client->next)
        if (client->damaged)
            client->damaged(client->context, part, why);
    unlock(threads);
}

static void tell_log(void *context, enum sherd_backend_level level,
                     const char *line)
{
    struct threads *threads = context;

    lock(threads);
    if (threads->opener && threads->opener->log)
        threads->opener->log(threads->opener->context, level, line);
    for (struct backend_client *client = threads->first_client; client;
         client = client->next)
        if (client->log)
            client->log(client->context, level, line);
    unlock(threads);
}

static void tell_checked(void *context, const struct backend_check *check)
{
    struct threads *threads = context;

    lock(threads);
    for (struct backend_client *client = threads->first_client; client;
         client = client->next)
        if (client->checked)
            client->checked(client->context, check);
    unlock(threads);
}

/* Optional: without a thread the journal works unchecked. */
static void start_checker(struct threads *threads)
{
    if (threads->ops->check_step && threads->checks.interval && threads->checks.rate)
        threads->checker = backend_checker_start(&threads->checks);
}

static const char *key_of(const struct backend_client_options *options)
{
    if (options->store.key)
        return options->store.key;
    return options->store.path ? options->store.path : "";
}

static struct threads *threads_new(const struct backend_client_options *options,
                                   char *error)
{
    struct threads *threads = mem_alloc(sizeof *threads);
    struct backend_options store = options->store;

    threads->mark = fork_watch_mark();
    threads->ops = options->ops;
    threads->plugin = options->store.plugin;
    threads->path = mem_text(options->store.path ? options->store.path : "");
    threads->key = mem_text(key_of(options));
    threads->cluster =
        mem_text(options->store.cluster ? options->store.cluster : "");
    threads->reader_count = options->readers ? options->readers : 1;
    if (threads->reader_count > READERS_MAX)
        threads->reader_count = READERS_MAX;
    check(pthread_mutex_init(&threads->lock, NULL) == 0);
    check(pthread_cond_init(&threads->settled, NULL) == 0);
    queue_init(&threads->writes);
    queue_init(&threads->reads);
    threads->damage = backend_damage_new(tell_part, threads);
    store.damage = threads->damage;
    store.log = tell_log;
    store.log_user = threads;
    threads->opener = options;
    threads->checks = (struct backend_checker_options){
        .ops = options->ops,
        .store = store,
        .interval = options->check_interval,
        .rate = options->check_rate,
        .done = tell_checked,
        .context = threads,
    };
    threads->checks.store.signs = true;
    threads->checks.store.path = threads->path;
    threads->checks.store.cluster = threads->cluster;
    if (open_connections(threads, &store, error) == 0) {
        threads->opener = NULL;
        return threads;
    }
    close_connections(threads);
    free_memory(threads);
    return NULL;
}

/* Under the list's lock. */
static struct threads *find(const struct backend_client_options *options)
{
    const char *key = key_of(options);
    struct threads *threads = list;

    while (threads && (threads->ops != options->ops ||
                       threads->plugin != options->store.plugin ||
                       fork_watch_is_child(threads->mark) ||
                       strcmp(threads->key, key) != 0))
        threads = threads->next;
    return threads;
}

/* Parts that were found before may be told twice. */
static void tell_known(struct backend_client *client)
{
    struct backend_damaged_part *parts =
        mem_alloc(KNOWN_TOLD * sizeof *parts);
    uint64_t count =
        backend_damage_list(client->threads->damage, parts, KNOWN_TOLD);

    for (uint64_t i = 0; i < count && i < KNOWN_TOLD && client->damaged; i++)
        client->damaged(client->context, parts[i].name, parts[i].why);
    mem_free(parts);
}

uint64_t backend_client_damage(struct backend_client *client,
                               struct backend_damaged_part *parts, uint32_t max)
{
    return backend_damage_list(client->threads->damage, parts, max);
}

/* Under the list's lock. SQLite in a forked child has the parent's notes about locks, and maybe locks
 * of its own that no thread will open. */
static bool has_files_of_a_parent(const struct backend_client_options *options)
{
    const struct threads *threads = list;

    while (threads && (threads->ops != options->ops || !threads->ops->is_whole ||
                       !fork_watch_is_child(threads->mark)))
        threads = threads->next;
    return threads != NULL;
}

static void watch_forks(void)
{
    fork_watch_lock(&list_lock);
}

int backend_client_open(struct backend_client **client,
                      const struct backend_client_options *options, char *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *cluster =
        options->store.cluster ? options->store.cluster : "";
    char label[BACKEND_LABEL_SIZE];
    struct threads *threads;

    *client = NULL;
    error[0] = 0;
    /* A registered back end's place can hold a password. */
    backend_place_label(options->store.plugin ? options->store.plugin->name
                        : options->store.path ? options->store.path
                                              : "",
                        label);
    check(pthread_once(&once, watch_forks) == 0);
    check(pthread_mutex_lock(&list_lock) == 0);
    threads = find(options);
    if (has_files_of_a_parent(options)) {
        (void)snprintf(error, BACKEND_ERROR_MAX,
                       "journal %s: this process was forked from one that has "
                       "a journal open; open it in one of them, or exec first",
                       label); /* fits */
        threads = NULL;
    } else if (threads && strcmp(threads->cluster, cluster) != 0) {
        (void)snprintf(error, BACKEND_ERROR_MAX,
                       "journal %s belongs to cluster \"%s\", not to \"%s\"",
                       label, threads->cluster,
                       cluster); /* may be cut */
        threads = NULL;
    } else if (!threads) {
        threads = threads_new(options, error);
        if (threads) {
            threads->next = list;
            list = threads;
        }
    }
    if (threads) {
        threads->clients++;
        *client = mem_alloc(sizeof **client);
        lock(threads);
        threads->polls |= options->polls;
        **client = (struct backend_client){ .threads = threads,
                                          .done = options->done,
                                          .log = options->log,
                                          .log_kept = options->log_kept,
                                          .lost = options->lost,
                                          .failing = options->failing,
                                          .damaged = options->damaged,
                                          .checked = options->checked,
                                          .next = threads->first_client,
                                          .context = options->context };
        threads->first_client = *client;
        unlock(threads);
        tell_known(*client);
    }
    check(pthread_mutex_unlock(&list_lock) == 0);
    return threads ? 0 : -1;
}

int backend_client_start(struct backend_client *client, char *error)
{
    struct threads *threads = client->threads;
    int result = 0;

    check(pthread_mutex_lock(&list_lock) == 0);
    if (!threads->are_running) {
        result = start_threads(threads, error);
        if (result == 0)
            start_checker(threads);
    }
    threads->are_running = result == 0;
    check(pthread_mutex_unlock(&list_lock) == 0);
    return result;
}

const struct backend_identity *
backend_client_identity(const struct backend_client *client)
{
    return &client->threads->identity;
}

void backend_submit(struct backend_client *client, struct journal_request *request)
{
    struct threads *threads = client->threads;
    struct queue *queue = journal_request_reads(request) ? &threads->reads : &threads->writes;
    bool full;

    lock(threads);
    full = queue->count == BACKEND_QUEUE_MAX;
    if (full) {
        threads->counters.refused++;
    } else {
        queue->items[(queue->head + queue->count) % BACKEND_QUEUE_MAX] =
            (struct item){ request, client };
        queue->count++;
        client->waiting++;
        if (queue->sleepers)
            check(pthread_cond_signal(&queue->filled) == 0);
    }
    unlock(threads);
    if (full) {
        backend_settle(request, BACKEND_FAILED, "the journal's queue is full");
        client->done(client->context, &request, 1);
    }
}

void backend_client_close(struct backend_client *client)
{
    struct threads *threads;
    struct threads **at = &list;
    bool last;

    if (!client)
        return;
    threads = client->threads;
    lock(threads);
    while (client->waiting)
        check(pthread_cond_wait(&threads->settled, &threads->lock) == 0);
    for (struct backend_client **other = &threads->first_client; *other;
         other = &(*other)->next)
        if (*other == client) {
            *other = client->next;
            break;
        }
    unlock(threads);
    /* Held to the end: no thread opens the journal while it closes. */
    check(pthread_mutex_lock(&list_lock) == 0);
    last = --threads->clients == 0;
    if (last) {
        while (*at != threads)
            at = &(*at)->next;
        *at = threads->next;
        backend_checker_stop(threads->checker);
        if (threads->are_running)
            stop_threads(threads, true, threads->reader_count);
        close_connections(threads);
        free_memory(threads);
    }
    check(pthread_mutex_unlock(&list_lock) == 0);
    mem_free(client);
}

void backend_client_counters(struct backend_client *client,
                           struct backend_counters *counters)
{
    lock(client->threads);
    *counters = client->threads->counters;
    unlock(client->threads);
}
