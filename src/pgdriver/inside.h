/* Declares what the files of the PostgreSQL back end share. */
#ifndef SHERD_PGDRIVER_INSIDE_H
#define SHERD_PGDRIVER_INSIDE_H

#include <sherd/backend.h>

#include "pgdriver/connection.h"
#include "pgdriver/options.h"
#include "postgres/store.h"

/* One opened back end: a store, and the connection that carries its steps out. */
struct pg_driver {
    struct pg_store store;
    struct pg_options *options;
    struct pg_connection *connection;
    enum sherd_backend_mode mode;
    char store_id[64]; /* empty: not read yet */
    char timeline[PG_TIMELINE_SIZE]; /* of the server's history, when it was connected last */
};

/* check.c: what a new connection finds. False: class and text of the connection have the reason. */
bool pg_driver_check(struct pg_driver *driver, uint64_t deadline);

/* steps.c: carries the store's steps out until its work is done. */
void pg_driver_work(struct pg_driver *driver);

#endif
