/* Keeps journals in memory: one book (journal/book.h) under one lock for each name. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/backend_memory.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/check.h"
#include "host/fork_watch.h"
#include "journal/book.h"

struct memory {
    struct memory *next; /* in the list of this process */
    char *name;
    uint32_t mark; /* of the process that made it */
    uint32_t connections;
    pthread_mutex_t lock;
    struct book *book;
    struct backend_identity identity;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *list;

/* Two processes never share a journal in memory. */
static void set_identity(struct memory *memory)
{
    uint64_t random[2];

    check(getrandom(random, sizeof random, 0) == sizeof random);
    (void)snprintf(memory->identity.id, sizeof memory->identity.id,
                   "%016" PRIx64 "%016" PRIx64, random[0],
                   random[1]); /* fits */
}

static void watch_forks(void)
{
    fork_watch_lock(&list_lock);
}

/* In a forked child, the parent's journals stay in the list, unused: they would have the same
 * identity, and other events. */
static struct memory *find_or_make(const char *name, const char *cluster)
{
    struct memory *memory;

    for (memory = list; memory; memory = memory->next)
        if (strcmp(memory->name, name) == 0 &&
            !fork_watch_is_child(memory->mark))
            return memory;
    memory = mem_alloc(sizeof *memory);
    memory->mark = fork_watch_mark();
    memory->name = mem_text(name);
    memory->book = book_new(cluster);
    set_identity(memory);
    check(pthread_mutex_init(&memory->lock, NULL) == 0);
    memory->next = list;
    list = memory;
    return memory;
}

static void *open_memory(const struct backend_options *options,
                         enum backend_mode mode, char *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *cluster = options->cluster ? options->cluster : "";
    struct memory *memory;

    (void)mode;
    check(pthread_once(&once, watch_forks) == 0);
    check(pthread_mutex_lock(&list_lock) == 0);
    memory = find_or_make(options->path ? options->path : "", cluster);
    if (strcmp(book_cluster(memory->book), cluster) != 0) {
        (void)snprintf(error, BACKEND_ERROR_MAX,
                       "memory journal \"%s\" belongs to cluster \"%s\", "
                       "not to \"%s\"",
                       memory->name, book_cluster(memory->book),
                       cluster); /* may be cut */
        memory = NULL;
    } else {
        memory->connections++;
    }
    check(pthread_mutex_unlock(&list_lock) == 0);
    return memory;
}

static void close_memory(void *store)
{
    struct memory *memory = store;
    struct memory **at = &list;

    check(pthread_mutex_lock(&list_lock) == 0);
    if (--memory->connections == 0) {
        while (*at != memory)
            at = &(*at)->next;
        *at = memory->next;
        book_free(memory->book);
        check(pthread_mutex_destroy(&memory->lock) == 0);
        mem_free(memory->name);
        mem_free(memory);
    }
    check(pthread_mutex_unlock(&list_lock) == 0);
}

static void write_memory(void *store, struct journal_request **requests,
                         uint32_t count)
{
    struct memory *memory = store;

    check(pthread_mutex_lock(&memory->lock) == 0);
    for (uint32_t i = 0; i < count; i++)
        book_write(memory->book, requests[i]);
    book_keep(memory->book);
    check(pthread_mutex_unlock(&memory->lock) == 0);
}

static void read_memory(void *store, struct journal_request **requests,
                        uint32_t count)
{
    struct memory *memory = store;

    check(pthread_mutex_lock(&memory->lock) == 0);
    for (uint32_t i = 0; i < count; i++)
        book_read(memory->book, requests[i]);
    check(pthread_mutex_unlock(&memory->lock) == 0);
}

static void identify_memory(void *store, struct backend_identity *identity)
{
    const struct memory *memory = store;

    *identity = memory->identity;
}

const struct backend_ops backend_memory = {
    .name = "memory",
    .open = open_memory,
    .write = write_memory,
    .read = read_memory,
    .close = close_memory,
    .identify = identify_memory,
};
