/* Opens a journal in PostgreSQL, and hands out requests by kind. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pgdriver/inside.h"

#include <sherd/postgres.h>

#include <stdio.h>
#include <sys/random.h>

#include "base/check.h"

static void close_store(void *opened)
{
    struct pg_store *store = opened;

    pg_link_free(store->link);
    pg_options_free(store->options);
    pg_known_fini(&store->known);
    vec_fini(&store->ids.blocks);
    map_fini(&store->halted);
    mem_free(store);
}

static void *open_store(const struct sherd_backend_options *options,
                        enum sherd_backend_mode mode, char *error)
{
    struct pg_options *read = pg_options_read(options, error);
    struct pg_store *store;

    if (!read)
        return NULL;
    store = mem_alloc(sizeof *store);
    store->options = read;
    store->mode = mode;
    store->log = options->log;
    store->log_user = options->user;
    store->link = pg_link_new(read);
    check(getrandom(&store->claim, sizeof store->claim, 0) == sizeof store->claim);
    store->claim &= INT64_MAX;
    if (pg_store_ready(store, pg_now() + read->connect_ms)) {
        store->was_opened = true;
        return store;
    }
    (void)snprintf(error, SHERD_BACKEND_ERROR_MAX, "journal in PostgreSQL, %.55s: %.110s",
                   pg_link_label(store->link), pg_link_text(store->link)); /* fits */
    close_store(store);
    return NULL;
}

static void identify(void *opened, struct sherd_backend_identity *identity)
{
    const struct pg_store *store = opened;

    (void)snprintf(identity->id, sizeof identity->id, "%s", store->store_id);
    (void)snprintf(identity->name, sizeof identity->name, "%s", pg_link_label(store->link)); /* fits */
}

/* ---- requests ---- */

/* True, with the answer, for a type that lost events under on-lost = halt. */
static bool is_halted(struct pg_store *store, struct sherd_backend_request *request)
{
    struct slice type = pg_slice(request->verb == SHERD_BACKEND_APPEND && request->shard_count
                                     ? request->shards[0].type
                                     : request->type);

    if (!map_get(&store->halted, type))
        return false;
    sherd_backend_settle(request, SHERD_BACKEND_FAILED,
                         "the server lost confirmed events of this type, and "
                         "journal.postgres.on-lost is halt");
    return true;
}

/* The longest run of requests of one verb. */
static uint32_t run_of(struct sherd_backend_request *const *requests, uint32_t count)
{
    uint32_t length = 1;
    enum sherd_backend_verb verb = requests[0]->verb;

    if (verb == SHERD_BACKEND_TAKE_TERM)
        return 1;
    while (length < count && requests[length]->verb == verb &&
           (verb == SHERD_BACKEND_APPEND || length < PG_RUN_MAX))
        length++;
    return length;
}

static void write_store(void *opened, struct sherd_backend_request *const *requests,
                        uint32_t count)
{
    struct pg_store *store = opened;
    uint64_t deadline = pg_now() + store->options->group_ms;
    struct sherd_backend_request **left = mem_alloc(count * sizeof *left);
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++)
        if (!store->halted.count || !is_halted(store, requests[i]))
            left[kept++] = requests[i];
    for (uint32_t at = 0; at < kept;) {
        uint32_t length = run_of(left + at, kept - at);

        switch (left[at]->verb) {
        case SHERD_BACKEND_APPEND:
            pg_append(store, left + at, length, deadline);
            break;
        case SHERD_BACKEND_CLAIM:
            pg_claim(store, left + at, length, deadline);
            break;
        case SHERD_BACKEND_TAKE_TERM:
            pg_take_term(store, left[at], deadline);
            break;
        case SHERD_BACKEND_SAVE:
        case SHERD_BACKEND_TRIM:
        case SHERD_BACKEND_DROP:
            for (uint32_t i = 0; i < length; i++)
                pg_own(store, left[at + i], deadline);
            break;
        case SHERD_BACKEND_REPLAY:
        case SHERD_BACKEND_LOAD:
            for (uint32_t i = 0; i < length; i++)
                sherd_backend_settle(left[at + i], SHERD_BACKEND_FAILED, "not for a writer");
            break;
        }
        at += length;
    }
    mem_free(left);
}

static void read_store(void *opened, struct sherd_backend_request *const *requests,
                       uint32_t count)
{
    struct pg_store *store = opened;
    uint64_t deadline = pg_now() + store->options->group_ms;

    for (uint32_t at = 0; at < count;) {
        uint32_t length = run_of(requests + at, count - at);

        if (requests[at]->verb == SHERD_BACKEND_LOAD)
            for (uint32_t i = 0; i < length; i++)
                pg_load(store, requests[at + i], deadline);
        else
            pg_replay(store, requests + at, length, deadline);
        at += length;
    }
}

static int can_write(void *opened, char *error)
{
    struct pg_store *store = opened;
    struct pg_call call = { .which = PG_TOUCH };
    uint64_t deadline = pg_now() + 2000;
    bool good = pg_store_ready(store, deadline) &&
                pg_link_run(store->link, &call, 1, false, deadline, NULL);

    if (!good)
        (void)snprintf(error, SHERD_BACKEND_ERROR_MAX, "%s", pg_link_text(store->link)); /* fits */
    pg_calls_clear(&call, 1);
    return good;
}

static const struct sherd_backend backend_postgres = {
    .version = SHERD_BACKEND_VERSION,
    .name = "postgres",
    .readers = 4,
    .tells_owners = 1,
    .open = open_store,
    .write = write_store,
    .read = read_store,
    .close = close_store,
    .identify = identify,
    .can_write = can_write,
    .snapshots = 1,
};

int sherd_postgres_register(void)
{
    return sherd_backend_register(&backend_postgres);
}
