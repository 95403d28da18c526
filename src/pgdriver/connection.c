/* Connects to a server and runs statements, with libpq. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pgdriver/connection.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "pgdriver/url.h"

#define PASSWORD_MAX 1000
#define HOST_PARAMETERS 64 /* libpq knows about 40 */
#define LABEL_SIZE 128

struct pg_connection {
    struct pg_link link; /* first */
    const struct pg_options *options;
    PGconn *server;
    bool is_prepared[PG_STATEMENTS];
    char warned[6]; /* SQLSTATE of a warning during the run */
    enum pg_class class;
    char text[PG_ERROR_SIZE];
    char label[LABEL_SIZE];
    char password[PASSWORD_MAX + 1]; /* of the password file or the URL, to be hidden */
};

uint64_t pg_now(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- for a store ---- */

static struct pg_connection *connection_of(struct pg_link *link)
{
    return (struct pg_connection *)(void *)link;
}

static void close_link(struct pg_link *link)
{
    pg_connection_close(connection_of(link));
}

static const char *label_of(const struct pg_link *link)
{
    return ((const struct pg_connection *)(const void *)link)->label;
}

static void clear_calls(struct pg_call *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        PQclear(calls[i].result);
        calls[i].result = NULL;
    }
}

static uint32_t rows_of(const struct pg_call *call)
{
    return call->result ? (uint32_t)PQntuples(call->result) : 0;
}

static bool read_row(const struct pg_call *call, uint32_t row,
                     struct pg_cell *cells, uint32_t count)
{
    if (PQnfields(call->result) != (int)count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        bool is_null = PQgetisnull(call->result, (int)row, (int)i);

        cells[i].data = (const uint8_t *)PQgetvalue(call->result, (int)row, (int)i);
        cells[i].size = is_null ? -1 : PQgetlength(call->result, (int)row, (int)i);
    }
    return true;
}

static const struct pg_link_ops link_ops = { close_link, rows_of, read_row, clear_calls, label_of };

struct pg_connection *pg_connection_new(const struct pg_options *options)
{
    struct pg_connection *connection = mem_alloc(sizeof *connection);

    connection->link.ops = &link_ops;
    connection->options = options;
    return connection;
}

struct pg_link *pg_connection_link(struct pg_connection *connection)
{
    return &connection->link;
}

void pg_connection_close(struct pg_connection *connection)
{
    if (connection->server)
        PQfinish(connection->server);
    connection->server = NULL;
    memset(connection->is_prepared, 0, sizeof connection->is_prepared);
}

void pg_connection_free(struct pg_connection *connection)
{
    pg_connection_close(connection);
    explicit_bzero(connection->password, sizeof connection->password);
    mem_free(connection);
}

bool pg_connection_is_open(const struct pg_connection *connection)
{
    return connection->server != NULL;
}

enum pg_class pg_connection_class(const struct pg_connection *connection)
{
    return connection->class;
}

const char *pg_connection_text(const struct pg_connection *connection)
{
    return connection->text;
}

const char *pg_connection_label(const struct pg_connection *connection)
{
    return connection->label;
}

uint32_t pg_connection_backend(const struct pg_connection *connection)
{
    return (uint32_t)PQbackendPID(connection->server);
}

uint32_t pg_connection_version(const struct pg_connection *connection)
{
    return (uint32_t)PQserverVersion(connection->server);
}

/* ---- errors ---- */

/* One line, without the password. */
static void set_text(struct pg_connection *connection, const char *sqlstate, const char *text)
{
    struct buf line = { 0 };

    if (sqlstate && sqlstate[0]) {
        buf_put_text(&line, sqlstate);
        buf_put_text(&line, ": ");
    }
    pg_url_hide(&line, text, connection->password);
    (void)snprintf(connection->text, sizeof connection->text, "%.*s", (int)line.size,
                   line.data ? (const char *)line.data : ""); /* may be cut */
    buf_fini(&line);
}

static bool fail(struct pg_connection *connection, enum pg_class class, const char *text)
{
    connection->class = class;
    set_text(connection, NULL, text);
    return false;
}

bool pg_connection_refuse(struct pg_connection *connection, const char *format, ...)
{
    char text[PG_ERROR_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* may be cut */
    va_end(arguments);
    return fail(connection, PG_REFUSED, text);
}

/* The connection is of no use any more. */
static bool break_off(struct pg_connection *connection, enum pg_phase phase, const char *text)
{
    char why[PG_ERROR_SIZE];

    (void)snprintf(why, sizeof why, "%s", text); /* libpq's text goes with the connection */
    connection->class = pg_classify("", phase);
    set_text(connection, NULL, why[0] ? why : "the connection was closed");
    pg_connection_close(connection);
    return false;
}

static void note(void *context, const PGresult *result)
{
    struct pg_connection *connection = context;
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (pg_classify(sqlstate, PG_WARNED) != PG_NONE)
        (void)snprintf(connection->warned, sizeof connection->warned, "%s", sqlstate); /* five */
}

/* ---- connecting ---- */

/* Keywords and values for PQconnectStartParams. The texts are lent. */
struct parameters {
    const char *keys[HOST_PARAMETERS + 1];
    const char *values[HOST_PARAMETERS + 1];
    uint32_t count;
};

static void set_parameter(struct parameters *to, const char *key, const char *value)
{
    for (uint32_t i = 0; i < to->count; i++)
        if (strcmp(to->keys[i], key) == 0) {
            to->values[i] = value;
            return;
        }
    if (to->count < HOST_PARAMETERS) {
        to->keys[to->count] = key;
        to->values[to->count++] = value;
    }
}

static const char *parameter(const struct parameters *from, const char *key)
{
    for (uint32_t i = 0; i < from->count; i++)
        if (strcmp(from->keys[i], key) == 0)
            return from->values[i];
    return NULL;
}

static void set_default(struct parameters *to, const char *key, const char *value)
{
    if (!parameter(to, key))
        set_parameter(to, key, value);
}

/* False, with the reason. */
static bool read_password(struct pg_connection *connection)
{
    const char *path = connection->options->password_file;
    struct stat found;
    FILE *file = fopen(path, "re");
    size_t size;

    if (!file || fstat(fileno(file), &found) != 0 || !S_ISREG(found.st_mode)) {
        if (file)
            (void)fclose(file); /* only read */
        return fail(connection, PG_TRANSIENT, "journal.postgres.password-file cannot be read");
    }
    if (found.st_mode & 077) {
        (void)fclose(file); /* only read */
        return fail(connection, PG_REFUSED,
                    "others may read journal.postgres.password-file; set its mode to 0600");
    }
    size = fread(connection->password, 1, PASSWORD_MAX, file);
    (void)fclose(file); /* only read */
    while (size && (connection->password[size - 1] == '\n' || connection->password[size - 1] == '\r'))
        size--;
    connection->password[size] = 0;
    return size ? true : fail(connection, PG_REFUSED, "journal.postgres.password-file is empty");
}

/* Names the server. Before anything is sent. */
static void set_label(struct pg_connection *connection)
{
    PQconninfoOption *all = PQconninfo(connection->server);
    const char *address = pg_url_value(all, "hostaddr");
    const char *host = pg_url_value(all, "host");

    (void)snprintf(connection->label, sizeof connection->label, "host=%.60s port=%.12s database=%.30s",
                   host[0] ? host : address[0] ? address : "local", pg_url_value(all, "port"),
                   pg_url_value(all, "dbname")); /* fits */
    PQconninfoFree(all);
}

static bool start(struct pg_connection *connection, const struct parameters *to)
{
    connection->server = PQconnectStartParams(to->keys, to->values, 0);
    check(connection->server != NULL);
    if (PQstatus(connection->server) != CONNECTION_BAD)
        return true;
    return break_off(connection, PG_NOT_SENT, PQerrorMessage(connection->server));
}

static bool wait_for(struct pg_connection *connection, bool writes, uint64_t deadline)
{
    struct pollfd socket = { .fd = PQsocket(connection->server),
                             .events = (short)(writes ? POLLIN | POLLOUT : POLLIN) };
    uint64_t now = pg_now();

    if (now >= deadline)
        return false;
    return poll(&socket, 1, (int)(deadline - now < 60000 ? deadline - now : 60000)) >= 0 ||
           errno == EINTR;
}

/* PQconnectPoll needs either reading or writing, not both. */
static bool finish_connecting(struct pg_connection *connection, uint64_t deadline)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    while (status != PGRES_POLLING_OK) {
        struct pollfd socket = { .fd = PQsocket(connection->server) };
        uint64_t now = pg_now();

        if (now >= deadline)
            return break_off(connection, PG_NOT_SENT, "no connection within journal.postgres.connect-timeout");
        socket.events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (poll(&socket, 1, (int)(deadline - now)) == 0)
            continue;
        status = PQconnectPoll(connection->server);
        if (status == PGRES_POLLING_FAILED)
            return break_off(connection, PG_NOT_SENT, PQerrorMessage(connection->server));
    }
    return true;
}

/* Errors of a log-in have no SQLSTATE in libpq; those that no repetition cures are known by text. */
static void judge_login(struct pg_connection *connection)
{
    static const char *const permanent[] = {
        "authentication failed", "not permitted to log in", "no pg_hba.conf entry", "does not exist",
        "permission denied", "no password supplied", "certificate", "does not support SSL",
    };

    for (size_t i = 0; i < sizeof permanent / sizeof *permanent; i++)
        if (strstr(connection->text, permanent[i]))
            connection->class = PG_REFUSED;
}

static void put_parameters(struct pg_connection *connection, struct parameters *to,
                           PQconninfoOption *parsed, const char *name)
{
    for (const PQconninfoOption *at = parsed; at->keyword; at++)
        if (at->val)
            set_parameter(to, at->keyword, at->val);
    if (connection->options->password_file[0])
        set_parameter(to, "password", connection->password);
    else if (parameter(to, "password"))
        (void)snprintf(connection->password, sizeof connection->password, "%s", parameter(to, "password"));
    set_parameter(to, "application_name", name); /* also in place of the URL's */
    set_default(to, "target_session_attrs", "read-write");
    set_default(to, "gssencmode", "disable");
    set_default(to, "tcp_user_timeout", "20000");
    set_default(to, "keepalives_idle", "5");
    set_default(to, "keepalives_interval", "5");
    set_default(to, "keepalives_count", "3");
    set_parameter(to, "client_encoding", "UTF8");
}

bool pg_connection_connect(struct pg_connection *connection, uint64_t deadline)
{
    struct parameters to = { .count = 0 };
    PQconninfoOption *parsed;
    char name[64], host[24] = "";
    uint64_t limit = pg_now() + connection->options->connect_ms;
    bool connected;

    pg_connection_close(connection);
    if (connection->options->password_file[0] && !read_password(connection))
        return false;
    (void)gethostname(host, sizeof host - 1); /* only a name for people */
    (void)snprintf(name, sizeof name, "sherd:%.20s:%s:%d", connection->options->cluster, host,
                   (int)getpid()); /* fits */
    parsed = PQconninfoParse(connection->options->url, NULL);
    check(parsed != NULL); /* pg_url_check */
    put_parameters(connection, &to, parsed, name);
    connected = start(connection, &to);
    if (connected)
        set_label(connection);
    if (connected && pg_url_must_verify(parsed, connection->server)) {
        pg_connection_close(connection);
        set_parameter(&to, "sslmode", "verify-full");
        connected = start(connection, &to);
    }
    if (connected)
        connected = finish_connecting(connection, limit < deadline ? limit : deadline);
    PQconninfoFree(parsed);
    if (!connected) {
        judge_login(connection);
        return false;
    }
    (void)PQsetNoticeReceiver(connection->server, note, connection);
    return PQsetnonblocking(connection->server, 1) == 0 ||
           break_off(connection, PG_NOT_SENT, PQerrorMessage(connection->server));
}

/* ---- statements without parameters ---- */

/* Sends what waits, and reads until a result is there. */
static bool advance(struct pg_connection *connection, uint64_t deadline, bool *is_late)
{
    while (PQisBusy(connection->server)) {
        int pending = PQflush(connection->server);

        *is_late = pg_now() >= deadline;
        if (pending < 0 || *is_late || !wait_for(connection, pending > 0, deadline) ||
            !PQconsumeInput(connection->server))
            return false;
    }
    return true;
}

static enum pg_class class_of(const PGresult *result)
{
    return pg_classify(PQresultErrorField(result, PG_DIAG_SQLSTATE), PG_ANSWERED);
}

static void keep_error(struct pg_connection *connection, const PGresult *result)
{
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    connection->class = class_of(result);
    set_text(connection, PQresultErrorField(result, PG_DIAG_SQLSTATE),
             text ? text : PQresultErrorMessage(result));
}

bool pg_connection_query(struct pg_connection *connection, const char *sql, uint64_t deadline,
                   char *cell, size_t size)
{
    bool good = true, is_late = false;
    PGresult *result;

    if (cell)
        cell[0] = 0;
    if (!PQsendQuery(connection->server, sql))
        return break_off(connection, PG_NOT_SENT, PQerrorMessage(connection->server));
    for (;;) {
        ExecStatusType status;

        if (!advance(connection, deadline, &is_late))
            return break_off(connection, PG_CUT_OFF,
                             is_late ? "no answer in time" : PQerrorMessage(connection->server));
        result = PQgetResult(connection->server);
        if (!result)
            break;
        status = PQresultStatus(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            keep_error(connection, result);
            good = false;
        } else if (cell && PQntuples(result) > 0) {
            (void)snprintf(cell, size, "%s", PQgetvalue(result, 0, 0)); /* may be cut */
        }
        PQclear(result);
    }
    if (!good && PQstatus(connection->server) != CONNECTION_OK)
        pg_connection_close(connection);
    return good;
}

void pg_connection_quote(struct pg_connection *connection, struct buf *sql, const char *text)
{
    char *quoted = PQescapeLiteral(connection->server, text, strlen(text));

    buf_put_text(sql, quoted ? quoted : "NULL"); /* null: not UTF-8 */
    PQfreemem(quoted);
}

bool pg_connection_begin(struct pg_connection *connection)
{
    return PQenterPipelineMode(connection->server) == 1 ||
           break_off(connection, PG_NOT_SENT, PQerrorMessage(connection->server));
}

/* ---- a pipeline ---- */

static bool send_prepare(struct pg_connection *connection, enum pg_statement which)
{
    struct buf text = { 0 };
    bool sent;

    pg_sql_put(&text, which, connection->options->schema);
    sent = PQsendPrepare(connection->server, pg_sql_name(which),
                         (const char *)text.data, 0, NULL) == 1;
    buf_fini(&text);
    return sent;
}

static bool send_call(struct pg_connection *connection, const struct pg_call *call)
{
    static const int formats[PG_CALL_PARAMETERS] = { 1, 1, 1, 1, 1, 1,
                                                     1, 1, 1, 1, 1, 1 };
    const char *values[PG_CALL_PARAMETERS];
    int sizes[PG_CALL_PARAMETERS];

    for (uint32_t i = 0; i < call->count; i++) {
        values[i] = call->parameters[i].data ? (const char *)call->parameters[i].data : "";
        sizes[i] = (int)call->parameters[i].size;
    }
    return PQsendQueryPrepared(connection->server, pg_sql_name(call->which),
                               (int)call->count, values, sizes, formats, 1) == 1;
}

/* Statements that are prepared in this run; the answers come in the same order. */
static bool send_all(struct pg_connection *connection, struct pg_call *calls, uint32_t count,
                     bool each)
{
    bool prepares = false;

    for (uint32_t i = 0; i < count; i++) {
        calls[i].class = PG_UNKNOWN;
        calls[i].result = NULL;
        if (connection->is_prepared[calls[i].which])
            continue;
        if (!send_prepare(connection, calls[i].which))
            return false;
        connection->is_prepared[calls[i].which] = prepares = true;
    }
    if (prepares && PQpipelineSync(connection->server) != 1)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!send_call(connection, &calls[i]) ||
            ((each || i + 1 == count) && PQpipelineSync(connection->server) != 1))
            return false;
    return true;
}

struct reading {
    uint64_t deadline, patient_until;
    const struct pg_patience *patience;
};

/* The next result; null: the end of a statement's results. False: the connection is lost. */
static bool next_result(struct pg_connection *connection, struct reading *reading, PGresult **result)
{
    for (;;) {
        bool is_late = false;
        uint64_t until = reading->patience && reading->patient_until < reading->deadline
                             ? reading->patient_until
                             : reading->deadline;

        if (advance(connection, until, &is_late)) {
            *result = PQgetResult(connection->server);
            return true;
        }
        if (!is_late)
            return break_off(connection, PG_CUT_OFF, PQerrorMessage(connection->server));
        if (until == reading->deadline)
            return break_off(connection, PG_CUT_OFF, "no answer in time");
        reading->patience->slow(reading->patience->context);
        reading->patient_until = pg_now() + reading->patience->ms;
    }
}

/* Reads up to a pipeline's next synchronisation, which ends a transaction. */
static bool read_sync(struct pg_connection *connection, struct reading *reading)
{
    PGresult *result = NULL;
    bool is_sync = false;

    while (!is_sync) {
        if (!next_result(connection, reading, &result))
            return false;
        is_sync = result && PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        if (result && PQresultStatus(result) == PGRES_FATAL_ERROR)
            keep_error(connection, result);
        PQclear(result);
    }
    return true;
}

static void take_result(struct pg_connection *connection, struct pg_call *call, PGresult *result,
                        bool *is_good)
{
    ExecStatusType status = PQresultStatus(result);

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        call->class = PG_NONE;
        call->result = result;
        return;
    }
    if (status == PGRES_PIPELINE_ABORTED) {
        call->class = PG_TRANSIENT; /* it did not run */
    } else {
        call->class = class_of(result);
        if (*is_good)
            keep_error(connection, result);
    }
    *is_good = false;
    PQclear(result);
}

static bool read_call(struct pg_connection *connection, struct pg_call *call, struct reading *reading,
                      bool *is_good)
{
    PGresult *result;

    for (;;) {
        if (!next_result(connection, reading, &result))
            return false;
        if (!result)
            return true;
        if (call->class == PG_UNKNOWN && !call->result)
            take_result(connection, call, result, is_good);
        else
            PQclear(result);
    }
}

static bool read_all(struct pg_connection *connection, struct pg_call *calls, uint32_t count,
                     bool each, struct reading *reading, bool *is_good)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!read_call(connection, &calls[i], reading, is_good))
            return false;
        if ((each || i + 1 == count) && !read_sync(connection, reading))
            return false;
    }
    return true;
}

bool pg_connection_run(struct pg_connection *connection, struct pg_call *calls, uint32_t count,
                 bool each, uint64_t deadline,
                 const struct pg_patience *patience)
{
    struct reading reading = { .deadline = deadline, .patience = patience };
    bool is_good = true, prepares = false;

    for (uint32_t i = 0; i < count; i++)
        prepares |= !connection->is_prepared[calls[i].which];
    if (patience)
        reading.patient_until = pg_now() + patience->ms;
    connection->warned[0] = 0;
    connection->class = PG_NONE;
    connection->text[0] = 0;
    if (!send_all(connection, calls, count, each))
        return break_off(connection, PG_CUT_OFF, PQerrorMessage(connection->server));
    if (prepares && !read_sync(connection, &reading))
        return false;
    is_good = connection->class == PG_NONE; /* a failed preparation is the first reason */
    if (!is_good)
        memset(connection->is_prepared, 0, sizeof connection->is_prepared);
    if (!read_all(connection, calls, count, each, &reading, &is_good))
        return false;
    if (connection->warned[0]) {
        for (uint32_t i = 0; i < count; i++)
            calls[i].class = PG_UNKNOWN;
        connection->class = PG_UNKNOWN;
        set_text(connection, connection->warned, "the commit did not wait for a synchronous standby");
        return false;
    }
    return is_good;
}
