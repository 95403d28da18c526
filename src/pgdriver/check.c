/* Checks the server of a new connection: its version, its tables, and whose store it is; reads its
 * history. */
#include "pgdriver/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "pgdriver/schema_001.h" /* generated from postgres/schema/001.sql */

#define SCHEMA_VERSION 2
#define VERSION_MIN 130000
#define TABLES_LOCK "7307481216" /* nodes create the tables one after the other */

/* Runs SQL in which @ is the schema and ? the cluster's id. */
static bool ask(struct pg_driver *driver, const char *template, uint64_t deadline,
                char *cell, size_t size)
{
    const char *mark = strchr(template, '?');
    char *before = mem_copy(template, mark ? (size_t)(mark - template) : strlen(template));
    struct buf sql = { 0 };
    bool good;

    pg_sql_fill(&sql, before, driver->options->schema);
    if (mark) {
        pg_connection_quote(driver->connection, &sql, driver->options->cluster);
        pg_sql_fill(&sql, mark + 1, driver->options->schema);
    }
    buf_put_u8(&sql, 0);
    good = pg_connection_query(driver->connection, (const char *)sql.data, deadline, cell, size);
    buf_fini(&sql);
    mem_free(before);
    return good;
}

static bool set_session(struct pg_driver *driver, uint64_t deadline)
{
    struct buf sql = { 0 };
    bool good;

    buf_put_text(&sql,
                 "SET search_path = pg_catalog; SET default_transaction_isolation = 'read committed';"
                 "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s';"
                 "SET statement_timeout = '30s'; SET synchronous_commit = ");
    buf_put_text(&sql, driver->options->commit);
    buf_put_u8(&sql, 0);
    good = pg_connection_query(driver->connection, (const char *)sql.data, deadline, NULL, 0);
    buf_fini(&sql);
    /* Not on every system: the server then notices a lost client only when it answers. */
    if (good && !pg_connection_query(driver->connection, "SET client_connection_check_interval = '5s'",
                               deadline, NULL, 0))
        good = pg_connection_is_open(driver->connection);
    return good;
}

/* ---- tables ---- */

static bool create_tables(struct pg_driver *driver, uint64_t deadline)
{
    if (!driver->options->creates_schema)
        return pg_connection_refuse(driver->connection,
                              "schema \"%.63s\" lacks tables of a journal; let its owner run "
                              "share/sherd/postgres/001.sql",
                              driver->options->schema);
    return ask(driver, "BEGIN; SELECT pg_advisory_xact_lock(" TABLES_LOCK ")", deadline, NULL, 0) &&
           ask(driver, "SET LOCAL client_min_messages = warning", deadline, NULL, 0) &&
           ask(driver, schema_001, deadline, NULL, 0) && ask(driver, "COMMIT", deadline, NULL, 0);
}

/* Makes the row of a new store, if another node did not. */
static bool name_store(struct pg_driver *driver, uint64_t deadline)
{
    return ask(driver,
               "INSERT INTO @meta (store_id, cluster, schema, min_reader)"
               " VALUES (gen_random_uuid(), ?, 2, 2) ON CONFLICT DO NOTHING",
               deadline, NULL, 0);
}

static bool check_owner(struct pg_driver *driver, uint64_t deadline)
{
    char id[64], cluster[300], version[32];
    const char *label = pg_connection_label(driver->connection);

    if (!ask(driver, "SELECT store_id FROM @meta", deadline, id, sizeof id) ||
        !ask(driver, "SELECT cluster FROM @meta", deadline, cluster, sizeof cluster) ||
        !ask(driver, "SELECT min_reader FROM @meta", deadline, version, sizeof version))
        return false;
    if (!id[0])
        return name_store(driver, deadline) && check_owner(driver, deadline);
    if (atoi(version) > SCHEMA_VERSION)
        return pg_connection_refuse(driver->connection,
                              "the journal's tables need a newer program: they are for version %s, "
                              "this one is %d", version, SCHEMA_VERSION);
    if (strcmp(cluster, driver->options->cluster) != 0)
        return pg_connection_refuse(driver->connection, "journal belongs to cluster \"%.40s\", not to \"%.40s\" %s",
                              cluster, driver->options->cluster, label);
    if (driver->store_id[0] && strcmp(id, driver->store_id) != 0)
        return pg_connection_refuse(driver->connection,
                              "another journal answers: %s in place of %s; nothing is written",
                              id, driver->store_id);
    memcpy(driver->store_id, id, sizeof id);
    return true;
}

static bool check_tables(struct pg_driver *driver, uint64_t deadline)
{
    char found[64], sql[300];

    (void)snprintf(sql, sizeof sql,
                   "SELECT CASE WHEN to_regclass('%s.meta') IS NULL THEN 'none'"
                   " WHEN to_regclass('%s.writer') IS NULL THEN 'old'"
                   " WHEN to_regclass('%s.snapshot') IS NULL THEN 'none' END",
                   driver->options->schema, driver->options->schema, driver->options->schema); /* fits */
    if (!pg_connection_query(driver->connection, sql, deadline, found, sizeof found))
        return false;
    if (strcmp(found, "old") == 0)
        return pg_connection_refuse(driver->connection,
                                    "schema \"%.63s\" is not used: " PG_TABLES_OLD, driver->options->schema);
    return (!found[0] || create_tables(driver, deadline)) && check_owner(driver, deadline);
}

/* ---- durability and history ---- */

/* Says once how safe confirmed events are. */
static bool check_durability(struct pg_driver *driver, uint64_t deadline)
{
    char fsync[16], standbys[64], commit[32];

    if (!pg_connection_query(driver->connection, "SHOW fsync", deadline, fsync, sizeof fsync) ||
        !pg_connection_query(driver->connection, "SHOW synchronous_standby_names", deadline, standbys, sizeof standbys) ||
        !pg_connection_query(driver->connection, "SHOW synchronous_commit", deadline, commit, sizeof commit))
        return false;
    if (strcmp(fsync, "off") == 0 && !driver->options->allows_loss)
        return pg_connection_refuse(driver->connection,
                              "the server runs with fsync = off and loses confirmed events in a "
                              "crash; to accept that, set journal.postgres.allow-loss = on");
    if (strcmp(commit, driver->options->commit) != 0)
        return pg_connection_refuse(driver->connection, "synchronous_commit is %s, not %s: does a pooler share "
                              "sessions? use its session mode", commit, driver->options->commit);
    if (driver->store.was_opened || driver->mode != SHERD_BACKEND_WRITER)
        return true;
    if (!standbys[0] || strcmp(commit, "local") == 0 || strcmp(commit, "off") == 0)
        pg_store_log(&driver->store, SHERD_BACKEND_WARNING,
                     "journal is on one server only: events survive its crash, not the loss of its "
                     "disk %s hint=\"set synchronous_standby_names on the server\"",
                     pg_connection_label(driver->connection));
    else
        pg_store_log(&driver->store, SHERD_BACKEND_INFO,
                     "journal is on several servers %s standbys=\"%s\" commit=%s",
                     pg_connection_label(driver->connection), standbys, commit);
    return true;
}

/* A promotion starts a new timeline. */
static bool read_timeline(struct pg_driver *driver, uint64_t deadline)
{
    if (pg_connection_query(driver->connection,
                            "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)", deadline,
                            driver->timeline, sizeof driver->timeline))
        return true;
    driver->timeline[0] = 0; /* other servers lack the function: positions are compared at each write */
    return pg_connection_is_open(driver->connection);
}

bool pg_driver_check(struct pg_driver *driver, uint64_t deadline)
{
    if (pg_connection_version(driver->connection) < VERSION_MIN)
        return pg_connection_refuse(driver->connection, "the server is older than PostgreSQL 13");
    return set_session(driver, deadline) && check_tables(driver, deadline) &&
           check_durability(driver, deadline) && read_timeline(driver, deadline) &&
           pg_connection_begin(driver->connection);
}
