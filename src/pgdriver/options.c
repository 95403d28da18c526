/* Reads and checks the settings of a PostgreSQL journal. */
#include "pgdriver/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "pgdriver/url.h"
#include "postgres/sql.h"

static const char *text_of(const struct sherd_backend_options *from,
                           const char *key, const char *otherwise)
{
    const char *text = from->setting(from->user, key);

    return text && text[0] ? text : otherwise;
}

static uint32_t ms_of(const struct sherd_backend_options *from, const char *key,
                      uint32_t otherwise)
{
    const char *text = from->setting(from->user, key);
    unsigned long number = text ? strtoul(text, NULL, 10) : 0;

    return number == 0 || number > 3600000 ? otherwise : (uint32_t)number;
}

/* Null, or what is wrong. */
static const char *fault_of(const struct pg_options *options)
{
    if (!options->url[0])
        return "journal.postgres.url is empty; write postgresql://USER@HOST/DATABASE";
    if (!pg_schema_is_valid(options->schema))
        return "journal.postgres.schema: use lower-case letters, digits and _, at most 63";
    if (strspn(options->commit, "abcdefghijklmnopqrstuvwxyz_") != strlen(options->commit))
        return "journal.postgres.synchronous-commit is not a word";
    if (strcmp(options->commit, "off") == 0 && !options->allows_loss)
        return "journal.postgres.synchronous-commit = off loses confirmed events in a crash; to "
               "accept that, set journal.postgres.allow-loss = on";
    return NULL;
}

struct pg_options *pg_options_read(const struct sherd_backend_options *from, bool warns,
                                   char *error)
{
    struct pg_options *options = mem_alloc(sizeof *options);
    const char *fault;
    struct pg_url_facts facts;

    options->url = mem_text(from->place[0] ? from->place : text_of(from, "url", ""));
    options->password_file = mem_text(text_of(from, "password-file", ""));
    options->schema = mem_text(text_of(from, "schema", "sherd"));
    options->commit = mem_text(text_of(from, "synchronous-commit", "on"));
    options->cluster = mem_text(from->cluster);
    options->creates_schema = strcmp(text_of(from, "create-schema", "auto"), "auto") == 0;
    options->halts = strcmp(text_of(from, "on-lost", "stop"), "halt") == 0;
    options->allows_loss = strcmp(text_of(from, "allow-loss", "off"), "on") == 0 ||
                           strcmp(text_of(from, "allow-loss", "off"), "true") == 0;
    options->group_ms = ms_of(from, "group-timeout", 10000);
    options->connect_ms = ms_of(from, "connect-timeout", 5000);
    fault = fault_of(options);
    if (fault)
        (void)snprintf(error, SHERD_BACKEND_ERROR_MAX, "%s", fault); /* fits */
    if (fault || !pg_url_check(options->url, &facts, error)) {
        pg_options_free(options);
        return NULL;
    }
    if (warns && facts.has_password)
        from->log(from->user, SHERD_BACKEND_WARNING,
                  "the journal's URL has a password, which other users of the machine may read "
                  "hint=\"use journal.postgres.password-file\"");
    if (warns && facts.names_application)
        from->log(from->user, SHERD_BACKEND_WARNING,
                  "application_name of the journal's URL is not used: `sherd journal` knows nodes by the "
                  "names of their sessions hint=\"delete it from the URL\"");
    return options;
}

void pg_options_free(struct pg_options *options)
{
    mem_free(options->url);
    mem_free(options->password_file);
    mem_free(options->schema);
    mem_free(options->commit);
    mem_free(options->cluster);
    mem_free(options);
}
