/* Keeps names, their look-ups and the threads that look names up, under one lock. */
#define _GNU_SOURCE
#include "host/dns_lookup.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/limits.h"
#include "base/map.h"
#include "host/handle.h"

#define MS_NS UINT64_C(1000000)

enum name_state {
    NAME_WAITING, /* for a thread */
    NAME_RUNNING, /* its thread owns it */
    NAME_KNOWN    /* found is set */
};

struct name {
    char host[HOST_MAX + 1];
    enum name_state state;
    struct name *next;      /* in the waiting line */
    struct dns_lookup *lookups; /* of this name */
    struct found *found;
    uint64_t kept_until;
};

struct dns_lookup {
    struct asker *asker;
    struct name *name;   /* awaited; null: delivery is due */
    struct found *found; /* set when name is null */
    struct dns_lookup *next; /* of the name, or of those due */
    dns_lookup_done done;
    void *context;
};

struct asker {
    struct dns_lookups *lookups;
    uv_async_t *async;
    struct dns_lookup *due; /* to deliver; under the lock */
    uint32_t count;     /* of look-ups; loop's thread only */
};

struct dns_lookups {
    pthread_mutex_t lock; /* guards all below, names and look-ups */
    struct map names;     /* by their hosts */
    struct name *first, *last; /* wait for a thread */
    uint32_t waiting;
    uint32_t threads; /* threads that have not ended */
    uint32_t running; /* of these, in getaddrinfo */
    uint32_t holders; /* owner and threads: the last one frees this */
    uint64_t swept_at;
};

static void lock(struct dns_lookups *lookups)
{
    check(pthread_mutex_lock(&lookups->lock) == 0);
}

static void unlock(struct dns_lookups *lookups)
{
    check(pthread_mutex_unlock(&lookups->lock) == 0);
}

/* ---- results ---- */

static size_t found_size(const struct found *found)
{
    return sizeof *found + found->count * sizeof found->addresses[0];
}

static struct found *found_failed(const char *why)
{
    struct found *found = mem_alloc(sizeof *found);

    (void)snprintf(found->why, sizeof found->why, "%s", why);
    return found;
}

static struct found *found_from(const struct addrinfo *list)
{
    struct found *found =
        mem_alloc(sizeof *found +
                  DNS_LOOKUP_ADDRESSES_MAX * sizeof found->addresses[0]);

    for (; list && found->count < DNS_LOOKUP_ADDRESSES_MAX; list = list->ai_next) {
        union socket_name *name = &found->addresses[found->count];

        if ((list->ai_family == AF_INET || list->ai_family == AF_INET6) &&
            list->ai_addrlen <= sizeof *name) {
            memcpy(name, list->ai_addr, list->ai_addrlen);
            found->count++;
        }
    }
    if (!found->count)
        (void)snprintf(found->why, sizeof found->why, "no address");
    return mem_resize(found, found_size(found));
}

static int ask(const char *host, int flags, struct addrinfo **list)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = flags };

    *list = NULL;
    return getaddrinfo(host, NULL, &hints, list);
}

static struct found *look_up(const char *host)
{
    struct addrinfo *list;
    int status = ask(host, 0, &list);
    struct found *found;

    if (status != 0)
        return found_failed(status == EAI_SYSTEM ? strerror(errno)
                                                 : gai_strerror(status));
    found = found_from(list);
    freeaddrinfo(list);
    return found;
}

struct found *dns_lookup_number(const char *host)
{
    char bare[HOST_MAX + 1];
    struct addrinfo *list;
    struct found *found;

    address_bare_host(bare, host);
    if (ask(bare, AI_NUMERICHOST, &list) != 0)
        return NULL;
    found = found_from(list);
    freeaddrinfo(list);
    return found;
}

/* ---- delivery. Under the lock, except on_async ---- */

static void tell(struct dns_lookup *lookup, struct found *found)
{
    struct asker *asker = lookup->asker;

    lookup->name = NULL;
    lookup->found = found;
    lookup->next = asker->due;
    asker->due = lookup;
    check(uv_async_send(asker->async) == 0);
}

/* Takes ownership of found. */
static void settle(struct name *name, struct found *found)
{
    uint64_t kept = found->count ? DNS_LOOKUP_KEPT_MS : DNS_LOOKUP_FAILED_KEPT_MS;

    name->state = NAME_KNOWN;
    name->found = found;
    name->kept_until = uv_hrtime() + kept * MS_NS;
    while (name->lookups) {
        struct dns_lookup *lookup = name->lookups;

        name->lookups = lookup->next;
        tell(lookup, mem_copy(found, found_size(found)));
    }
}

static struct dns_lookup *next_due(struct asker *asker)
{
    struct dns_lookup *lookup;

    lock(asker->lookups);
    lookup = asker->due;
    if (lookup)
        asker->due = lookup->next;
    unlock(asker->lookups);
    return lookup;
}

static void on_async(uv_async_t *async)
{
    struct asker *asker = async->data;
    struct dns_lookup *lookup;

    while (asker && (lookup = next_due(asker)) != NULL) {
        asker->count--;
        lookup->done(lookup->context, lookup->found);
        mem_free(lookup);
    }
}

/* ---- threads ---- */

static void dns_lookups_free(struct dns_lookups *lookups)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&lookups->names, &at, &entry);) {
        struct name *name = entry.value;

        mem_free(name->found);
        mem_free(name);
    }
    map_fini(&lookups->names);
    check(pthread_mutex_destroy(&lookups->lock) == 0);
    mem_free(lookups);
}

static void release(struct dns_lookups *lookups)
{
    bool is_last;

    lock(lookups);
    is_last = --lookups->holders == 0;
    unlock(lookups);
    if (is_last)
        dns_lookups_free(lookups);
}

static void put_in_line(struct dns_lookups *lookups, struct name *name)
{
    mem_free(name->found);
    name->found = NULL;
    name->state = NAME_WAITING;
    name->next = NULL;
    if (lookups->first)
        lookups->last->next = name;
    else
        lookups->first = name;
    lookups->last = name;
    lookups->waiting++;
}

static struct name *take_first(struct dns_lookups *lookups)
{
    struct name *name = lookups->first;

    lookups->first = name->next;
    lookups->waiting--;
    return name;
}

static void *run(void *argument)
{
    struct dns_lookups *lookups = argument;

    (void)pthread_setname_np(pthread_self(), "sherd-lookup"); /* only helps debugging */
    lock(lookups);
    while (lookups->first) {
        struct name *name = take_first(lookups);
        struct found *found;

        name->state = NAME_RUNNING;
        lookups->running++;
        unlock(lookups);
        found = look_up(name->host);
        lock(lookups);
        lookups->running--;
        settle(name, found);
    }
    lookups->threads--;
    unlock(lookups);
    release(lookups);
    return NULL;
}

static bool start_thread(struct dns_lookups *lookups)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int fault;

    check(pthread_attr_init(&attributes) == 0);
    check(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) ==
          0);
    fault = pthread_create(&thread, &attributes, run, lookups);
    check(pthread_attr_destroy(&attributes) == 0);
    errno = fault;
    return fault == 0;
}

/* Serves the last name in line, unless a thread is on its way. */
static void serve(struct dns_lookups *lookups)
{
    if (lookups->threads - lookups->running >= lookups->waiting ||
        lookups->threads >= DNS_LOOKUP_THREADS_MAX)
        return;
    if (start_thread(lookups)) {
        lookups->threads++;
        lookups->holders++;
    } else if (!lookups->threads) {
        settle(take_first(lookups), found_failed(errno == EAGAIN ? "no thread for it: too many threads, or "
                                              "too little memory"
                                            : "no thread for it"));
    }
}

/* ---- requests ---- */

static void sweep(struct dns_lookups *lookups, uint64_t now)
{
    bool is_full = lookups->names.count >= DNS_LOOKUP_NAMES_MAX;
    struct map_entry entry;

    if (!is_full && now < lookups->swept_at + DNS_LOOKUP_KEPT_MS * MS_NS)
        return;
    lookups->swept_at = now;
    for (uint32_t at = 0; map_next(&lookups->names, &at, &entry);) {
        struct name *name = entry.value;

        if (name->state != NAME_KNOWN || (!is_full && now < name->kept_until))
            continue;
        (void)map_take(&lookups->names, entry.key);
        mem_free(name->found);
        mem_free(name);
    }
}

/* Null: too many. */
static struct name *need_name(struct dns_lookups *lookups, const char *host,
                              uint64_t now)
{
    struct name *name = map_get(&lookups->names, slice_text(host));

    if (name)
        return name;
    sweep(lookups, now);
    if (lookups->names.count >= DNS_LOOKUP_NAMES_MAX)
        return NULL;
    name = mem_alloc(sizeof *name);
    (void)snprintf(name->host, sizeof name->host, "%s", host);
    check(!map_put(&lookups->names, slice_text(name->host), name));
    put_in_line(lookups, name);
    return name;
}

struct dns_lookup *dns_lookup_start(struct asker *asker, const char *host,
                            dns_lookup_done done, void *context)
{
    struct dns_lookups *lookups = asker->lookups;
    struct dns_lookup *lookup = mem_alloc(sizeof *lookup);
    uint64_t now = uv_hrtime();
    struct name *name;

    check(strlen(host) <= HOST_MAX);
    lookup->asker = asker;
    lookup->done = done;
    lookup->context = context;
    asker->count++;
    lock(lookups);
    name = need_name(lookups, host, now);
    if (!name) {
        tell(lookup, found_failed("too many names are looked up"));
    } else if (name->state == NAME_KNOWN && now < name->kept_until) {
        tell(lookup, mem_copy(name->found, found_size(name->found)));
    } else {
        if (name->state == NAME_KNOWN)
            put_in_line(lookups, name);
        lookup->name = name;
        lookup->next = name->lookups;
        name->lookups = lookup;
        if (name->state == NAME_WAITING)
            serve(lookups);
    }
    unlock(lookups);
    return lookup;
}

void dns_lookup_cancel(struct dns_lookup *lookup)
{
    struct dns_lookup **at;

    if (!lookup)
        return;
    lock(lookup->asker->lookups);
    at = lookup->name ? &lookup->name->lookups : &lookup->asker->due;
    while (*at != lookup)
        at = &(*at)->next;
    *at = lookup->next;
    unlock(lookup->asker->lookups);
    lookup->asker->count--;
    mem_free(lookup->found);
    mem_free(lookup);
}

struct asker *asker_new(struct dns_lookups *lookups, uv_loop_t *loop)
{
    struct asker *asker = mem_alloc(sizeof *asker);

    asker->lookups = lookups;
    asker->async = mem_alloc(sizeof *asker->async);
    check(uv_async_init(loop, asker->async, on_async) == 0);
    asker->async->data = asker;
    return asker;
}

void asker_free(struct asker *asker)
{
    if (!asker)
        return;
    check(asker->count == 0); /* so no thread refers to it */
    handle_close((uv_handle_t *)asker->async);
    mem_free(asker);
}

struct dns_lookups *dns_lookups_new(void)
{
    struct dns_lookups *lookups = mem_alloc(sizeof *lookups);

    check(pthread_mutex_init(&lookups->lock, NULL) == 0);
    lookups->names.is_lent = true;
    lookups->holders = 1;
    return lookups;
}

void dns_lookups_close(struct dns_lookups *lookups)
{
    if (!lookups)
        return;
    lock(lookups);
    lookups->first = lookups->last = NULL;
    lookups->waiting = 0;
    unlock(lookups);
    release(lookups);
}
