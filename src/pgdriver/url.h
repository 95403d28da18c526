/* Reads the URL of a PostgreSQL server, for nodes and for `sherd journal`, and decides what a connection must
 * verify. No text that could not be read is quoted, as it may be a part of a password. */
#ifndef SHERD_PGDRIVER_URL_H
#define SHERD_PGDRIVER_URL_H

#include <stdbool.h>

#include <libpq-fe.h>

#include "base/bytes.h"
#include "postgres/link.h"

struct pg_url_facts {
    bool has_password;
    bool names_application; /* which is not used: nodes are known by the library's name */
};

/* Checks a connection text. False, with a line of at most PG_ERROR_SIZE in error. */
bool pg_url_check(const char *url, struct pg_url_facts *facts, char *error);
/* The value of a key; "": none. */
const char *pg_url_value(const PQconninfoOption *from, const char *key);
/* Whether the connection has to start again with sslmode = verify-full: it goes to another host, without a
 * verified certificate, and neither the URL nor PGSSLMODE has an sslmode. Before anything is sent. */
bool pg_url_must_verify(const PQconninfoOption *url, PGconn *server);
/* Adds a text as one line, with *** for the password, which may be empty. */
void pg_url_hide(struct buf *line, const char *text, const char *password);

#endif
