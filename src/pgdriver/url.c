/* Reads URLs of PostgreSQL servers, and hides their passwords. */
#include "pgdriver/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


#define LINE_BYTES (2 * PG_ERROR_SIZE) /* bytes of a hidden text */

const char *pg_url_value(const PQconninfoOption *from, const char *key)
{
    for (; from && from->keyword; from++)
        if (strcmp(from->keyword, key) == 0)
            return from->val ? from->val : "";
    return "";
}

/* An @ or / that a password has as it is moves its rest into the host or the database, which are printed. */
static bool is_ambiguous(const char *url)
{
    const char *at = strstr(url, "://");
    const char *host, *path;

    if (strncmp(url, "postgres://", 11) != 0 && strncmp(url, "postgresql://", 13) != 0)
        return false;
    host = strchr(at + 3, '@');
    path = strchr(at + 3, '/');
    return host && (strchr(host + 1, '@') || (path && path < host));
}

bool pg_url_check(const char *url, struct pg_url_facts *facts, char *error)
{
    char *why = NULL;
    PQconninfoOption *parsed;

    *facts = (struct pg_url_facts){ 0 };
    if (strncmp(url, "jdbc:", 5) == 0) {
        (void)snprintf(error, PG_ERROR_SIZE, "the journal's URL is one for Java; write it without \"jdbc:\", and its "
                                             "options with libpq's names"); /* fits */
        return false;
    }
    if (is_ambiguous(url)) {
        (void)snprintf(error, PG_ERROR_SIZE, "the journal's URL cannot be read: write %%40 for an @, and %%2F for a /, "
                                             "of a user or password"); /* fits */
        return false;
    }
    parsed = PQconninfoParse(url, &why);
    if (!parsed) {
        (void)snprintf(error, PG_ERROR_SIZE, "the journal's URL cannot be read; write "
                                             "postgresql://USER@HOST/DATABASE or key=value pairs"); /* fits */
        PQfreemem(why); /* it may quote a password */
        return false;
    }
    facts->has_password = pg_url_value(parsed, "password")[0];
    facts->names_application = pg_url_value(parsed, "application_name")[0];
    PQconninfoFree(parsed);
    return true;
}

static bool is_local_one(const char *host, size_t size)
{
    return size == 0 || host[0] == '/' || host[0] == '@' ||
           (size == 9 && strncmp(host, "localhost", 9) == 0) ||
           (size == 3 && strncmp(host, "::1", 3) == 0) ||
           (size > 4 && strncmp(host, "127.", 4) == 0 &&
            strspn(host, "0123456789.") >= size);
}

/* All hosts of a list are this machine, or its sockets. */
static bool is_local(const char *hosts)
{
    while (*hosts) {
        size_t size = strcspn(hosts, ",");

        if (!is_local_one(hosts, size))
            return false;
        hosts += size + (hosts[size] == ',');
    }
    return true;
}

bool pg_url_must_verify(const PQconninfoOption *url, PGconn *server)
{
    PQconninfoOption *all = PQconninfo(server); /* also of a service, and of the environment */
    const char *address = pg_url_value(all, "hostaddr");
    const char *mode = pg_url_value(all, "sslmode");
    bool is_weak = strcmp(mode, "disable") == 0 || strcmp(mode, "allow") == 0 || strcmp(mode, "prefer") == 0;
    bool must = is_weak && !is_local(address[0] ? address : pg_url_value(all, "host")) &&
                !pg_url_value(url, "sslmode")[0] && !getenv("PGSSLMODE");

    PQconninfoFree(all);
    return must;
}

void pg_url_hide(struct buf *line, const char *text, const char *password)
{
    size_t size = strlen(password);

    while (*text && line->size < LINE_BYTES) {
        if (size && strncmp(text, password, size) == 0) {
            buf_put_text(line, "***");
            text += size;
        } else {
            buf_put_u8(line, *text == '\n' ? ' ' : *text == '"' ? '\'' : (uint8_t)*text);
            text++;
        }
    }
    while (line->size && line->data[line->size - 1] == ' ')
        line->size--;
}
