/* Opens a journal in PostgreSQL, and hands requests to its store. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pgdriver/inside.h"

#include <sherd/postgres.h>

#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/check.h"

static void close_store(void *opened)
{
    struct pg_driver *driver = opened;

    pg_store_fini(&driver->store);
    pg_connection_free(driver->connection);
    pg_options_free(driver->options);
    mem_free(driver);
}

static void put_owner(char owner[PG_OWNER_SIZE])
{
    char host[40] = "";

    (void)gethostname(host, sizeof host - 1); /* only a name for people */
    (void)snprintf(owner, PG_OWNER_SIZE, "%s:%d", host, (int)getpid()); /* fits */
}

static void *open_store(const struct sherd_backend_options *options,
                        enum sherd_backend_mode mode, char *error)
{
    struct pg_options *read = pg_options_read(options, mode == SHERD_BACKEND_WRITER, error);
    struct pg_settings settings = { .is_writer = mode == SHERD_BACKEND_WRITER,
                                    .log = options->log, .log_user = options->user };
    struct pg_driver *driver;
    uint64_t now = pg_now();

    if (!read)
        return NULL;
    settings.halts = read->halts;
    settings.group_ms = read->group_ms;
    put_owner(settings.owner);
    check(getrandom(&settings.claim, sizeof settings.claim, 0) == sizeof settings.claim);
    settings.claim &= INT64_MAX;
    driver = mem_alloc(sizeof *driver);
    driver->options = read;
    driver->mode = mode;
    driver->connection = pg_connection_new(read);
    pg_store_init(&driver->store, pg_connection_link(driver->connection), &settings);
    pg_store_begin_open(&driver->store, now, now + read->connect_ms);
    pg_driver_work(driver);
    if (!driver->store.has_failed)
        return driver;
    (void)snprintf(error, SHERD_BACKEND_ERROR_MAX, "journal in PostgreSQL, %.55s: %.110s",
                   pg_connection_label(driver->connection), driver->store.text); /* fits */
    close_store(driver);
    return NULL;
}

static void identify(void *opened, struct sherd_backend_identity *identity)
{
    const struct pg_driver *driver = opened;

    (void)snprintf(identity->id, sizeof identity->id, "%s", driver->store_id);
    (void)snprintf(identity->name, sizeof identity->name, "%s",
                   pg_connection_label(driver->connection)); /* fits */
}

/* Writes or reads: the store knows which it is for. */
static void run_requests(void *opened, struct sherd_backend_request *const *requests,
                         uint32_t count)
{
    struct pg_driver *driver = opened;

    pg_store_begin(&driver->store, requests, count, pg_now());
    pg_driver_work(driver);
}

/* Ends a job without requests. 1: it went well. */
static int finish_alone(struct pg_driver *driver, char *error)
{
    pg_driver_work(driver);
    if (driver->store.has_failed)
        (void)snprintf(error, SHERD_BACKEND_ERROR_MAX, "%s", driver->store.text); /* fits */
    return !driver->store.has_failed;
}

static int can_write(void *opened, char *error)
{
    struct pg_driver *driver = opened;
    uint64_t now = pg_now();

    pg_store_begin_touch(&driver->store, now, now + 2000);
    return finish_alone(driver, error);
}

static int is_alive(void *opened, char *error)
{
    struct pg_driver *driver = opened;
    uint64_t now = pg_now();

    pg_store_begin_look(&driver->store, now, now + 2000);
    return finish_alone(driver, error);
}

static const struct sherd_backend backend_postgres = {
    .version = SHERD_BACKEND_VERSION,
    .name = "postgres",
    .readers = 4,
    .tells_owners = 1,
    .open = open_store,
    .write = run_requests,
    .read = run_requests,
    .close = close_store,
    .identify = identify,
    .can_write = can_write,
    .snapshots = 1,
    .is_alive = is_alive,
};

int sherd_postgres_register(void)
{
    return sherd_backend_register(&backend_postgres);
}
