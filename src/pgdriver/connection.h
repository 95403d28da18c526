/* Holds one connection to a PostgreSQL server, and runs prepared statements on it in pipeline mode.
 *
 * The only file that connects nodes with libpq. Every wait has a deadline on the monotonic clock. A connection that
 * broke, or whose deadline passed, is closed: the outcome of what was sent is unknown then. */
#ifndef SHERD_PGDRIVER_CONNECTION_H
#define SHERD_PGDRIVER_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "pgdriver/options.h"
#include "postgres/link.h"

struct pg_connection; /* a connection, or none at first and after it broke */

struct pg_connection *pg_connection_new(const struct pg_options *options);
void pg_connection_free(struct pg_connection *connection);

uint64_t pg_now(void); /* ms, monotonic */

/* Connects once, until the options' limit or the deadline. False: class and text of the connection have
 * the reason. */
bool pg_connection_connect(struct pg_connection *connection, uint64_t deadline);
bool pg_connection_is_open(const struct pg_connection *connection);
void pg_connection_close(struct pg_connection *connection);

/* Runs SQL without parameters, before the first pg_connection_run of a connection. False: see class and
 * text. cell: the first one of the last result, as text; null: not wanted. */
bool pg_connection_query(struct pg_connection *connection, const char *sql, uint64_t deadline,
                   char *cell, size_t size);
/* Quotes a text for pg_connection_query. */
void pg_connection_quote(struct pg_connection *connection, struct buf *sql, const char *text);
/* Ends the time of pg_connection_query. */
bool pg_connection_begin(struct pg_connection *connection);

/* Called whenever a run has lasted for that many ms more. */
struct pg_patience {
    uint32_t ms;
    void (*slow)(void *context);
    void *context;
};

/* Runs statements in order, all in one pipeline; each: each is a transaction of its own. A failed one
 * ends those that follow, unless `each`. Returns whether all succeeded; else the text of the
 * connection has the first reason. patience may be null. */
bool pg_connection_run(struct pg_connection *connection, struct pg_call *calls, uint32_t count,
                 bool each, uint64_t deadline,
                 const struct pg_patience *patience);
/* The part of it that a store uses; a close leaves it valid. */
struct pg_link *pg_connection_link(struct pg_connection *connection);

/* Makes this the reason of a failure that no repetition cures. False. */
bool pg_connection_refuse(struct pg_connection *connection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum pg_class pg_connection_class(const struct pg_connection *connection);
const char *pg_connection_text(const struct pg_connection *connection); /* one line, cut, without secrets */
const char *pg_connection_label(const struct pg_connection *connection); /* host, port, database, user */
uint32_t pg_connection_backend(const struct pg_connection *connection); /* process id of the server's session */
uint32_t pg_connection_version(const struct pg_connection *connection); /* of the server, as 150018 */

#endif
