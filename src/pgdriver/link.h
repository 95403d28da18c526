/* Holds one connection to a PostgreSQL server, and runs prepared statements on it in pipeline mode.
 *
 * The only file that calls libpq. Every wait has a deadline on the monotonic clock. A connection that
 * broke, or whose deadline passed, is closed: the outcome of what was sent is unknown then. */
#ifndef SHERD_PGDRIVER_LINK_H
#define SHERD_PGDRIVER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "pgdriver/options.h"
#include "postgres/cells.h"
#include "postgres/error_class.h"
#include "postgres/sql.h"

#define PG_CALL_PARAMETERS 17
#define PG_ERROR_SIZE 200

struct pg_link; /* a connection, or none at first and after it broke */

/* One statement of a run. */
struct pg_call {
    enum pg_statement which;
    struct slice parameters[PG_CALL_PARAMETERS];
    uint32_t count;      /* parameters */
    enum pg_class class; /* out: PG_NONE: it succeeded */
    void *result;        /* out; pg_calls_clear */
};

struct pg_link *pg_link_new(const struct pg_options *options);
void pg_link_free(struct pg_link *link);

uint64_t pg_now(void); /* ms, monotonic */

/* Connects once, until the options' limit or the deadline. False: class and text of the link have the
 * reason. */
bool pg_link_connect(struct pg_link *link, uint64_t deadline);
bool pg_link_is_open(const struct pg_link *link);
void pg_link_close(struct pg_link *link);

/* Runs SQL without parameters, before the first pg_link_run of a connection. False: see class and
 * text. cell: the first one of the last result, as text; null: not wanted. */
bool pg_link_query(struct pg_link *link, const char *sql, uint64_t deadline,
                   char *cell, size_t size);
/* Quotes a text for pg_link_query. */
void pg_link_quote(struct pg_link *link, struct buf *sql, const char *text);
/* Ends the time of pg_link_query. */
bool pg_link_begin(struct pg_link *link);

/* Called once if a run lasts for that many ms. */
struct pg_patience {
    uint32_t ms;
    void (*slow)(void *context);
    void *context;
};

/* Runs statements in order, all in one pipeline; each: each is a transaction of its own. A failed one
 * ends those that follow, unless `each`. Returns whether all succeeded; else the text of the link has
 * the first reason. patience may be null. */
bool pg_link_run(struct pg_link *link, struct pg_call *calls, uint32_t count,
                 bool each, uint64_t deadline,
                 const struct pg_patience *patience);
void pg_calls_clear(struct pg_call *calls, uint32_t count);
uint32_t pg_call_rows(const struct pg_call *call);
/* Reads a row's cells. False: it has another number of columns. */
bool pg_call_row(const struct pg_call *call, uint32_t row,
                 struct pg_cell *cells, uint32_t count);

/* Makes this the reason of a failure that no repetition cures. False. */
bool pg_link_refuse(struct pg_link *link, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum pg_class pg_link_class(const struct pg_link *link);
const char *pg_link_text(const struct pg_link *link); /* one line, cut, without secrets */
const char *pg_link_label(const struct pg_link *link); /* host, port, database, user */
uint32_t pg_link_backend(const struct pg_link *link); /* process id of the server's session */
uint32_t pg_link_version(const struct pg_link *link); /* of the server, as 150018 */

/* Checks a connection text. False, with a line in error. */
bool pg_url_check(const char *url, bool *has_password, char *error);

#endif
