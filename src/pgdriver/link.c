/* Connects to a server and runs statements, with libpq. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pgdriver/link.h"

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

#define PASSWORD_MAX 1000
#define HOST_PARAMETERS 64 /* libpq knows about 40 */
#define LABEL_SIZE 128

struct pg_link {
    const struct pg_options *options;
    PGconn *connection;
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

struct pg_link *pg_link_new(const struct pg_options *options)
{
    struct pg_link *link = mem_alloc(sizeof *link);

    link->options = options;
    return link;
}

void pg_link_close(struct pg_link *link)
{
    if (link->connection)
        PQfinish(link->connection);
    link->connection = NULL;
    memset(link->is_prepared, 0, sizeof link->is_prepared);
}

void pg_link_free(struct pg_link *link)
{
    pg_link_close(link);
    explicit_bzero(link->password, sizeof link->password);
    mem_free(link);
}

bool pg_link_is_open(const struct pg_link *link)
{
    return link->connection != NULL;
}

enum pg_class pg_link_class(const struct pg_link *link)
{
    return link->class;
}

const char *pg_link_text(const struct pg_link *link)
{
    return link->text;
}

const char *pg_link_label(const struct pg_link *link)
{
    return link->label;
}

uint32_t pg_link_backend(const struct pg_link *link)
{
    return (uint32_t)PQbackendPID(link->connection);
}

uint32_t pg_link_version(const struct pg_link *link)
{
    return (uint32_t)PQserverVersion(link->connection);
}

/* ---- errors ---- */

/* One line, without the password. */
static void set_text(struct pg_link *link, const char *sqlstate, const char *text)
{
    struct buf line = { 0 };
    size_t size = strlen(link->password);
    const char *at = text;

    if (sqlstate && sqlstate[0]) {
        buf_put_text(&line, sqlstate);
        buf_put_text(&line, ": ");
    }
    while (*at && line.size < 2 * PG_ERROR_SIZE) {
        if (size && strncmp(at, link->password, size) == 0) {
            buf_put_text(&line, "***");
            at += size;
        } else {
            buf_put_u8(&line, *at == '\n' ? ' ' : *at == '"' ? '\'' : (uint8_t)*at);
            at++;
        }
    }
    while (line.size && line.data[line.size - 1] == ' ')
        line.size--;
    (void)snprintf(link->text, sizeof link->text, "%.*s", (int)line.size,
                   line.data ? (const char *)line.data : ""); /* may be cut */
    buf_fini(&line);
}

static bool fail(struct pg_link *link, enum pg_class class, const char *text)
{
    link->class = class;
    set_text(link, NULL, text);
    return false;
}

bool pg_link_refuse(struct pg_link *link, const char *format, ...)
{
    char text[PG_ERROR_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* may be cut */
    va_end(arguments);
    return fail(link, PG_REFUSED, text);
}

/* The connection is of no use any more. */
static bool break_off(struct pg_link *link, enum pg_phase phase, const char *text)
{
    char why[PG_ERROR_SIZE];

    (void)snprintf(why, sizeof why, "%s", text); /* libpq's text goes with the connection */
    link->class = pg_classify("", phase);
    set_text(link, NULL, why[0] ? why : "the connection was closed");
    pg_link_close(link);
    return false;
}

static void note(void *context, const PGresult *result)
{
    struct pg_link *link = context;
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (pg_classify(sqlstate, PG_WARNED) != PG_NONE)
        (void)snprintf(link->warned, sizeof link->warned, "%s", sqlstate); /* five */
}

/* ---- connecting ---- */

bool pg_url_check(const char *url, bool *has_password, char *error)
{
    char *why = NULL;
    PQconninfoOption *parsed;

    if (strncmp(url, "jdbc:", 5) == 0) {
        (void)snprintf(error, PG_ERROR_SIZE,
                       "journal.postgres.url is a URL for Java; write it without \"jdbc:\", and "
                       "its options with libpq's names"); /* fits */
        return false;
    }
    parsed = PQconninfoParse(url, &why);
    if (!parsed) {
        /* libpq's text may quote the URL, with a password. */
        (void)snprintf(error, PG_ERROR_SIZE,
                       "journal.postgres.url cannot be read; write "
                       "postgresql://USER@HOST/DATABASE or key=value pairs"); /* fits */
        PQfreemem(why);
        return false;
    }
    for (const PQconninfoOption *at = parsed; at->keyword; at++)
        *has_password |= at->val && at->val[0] && strcmp(at->keyword, "password") == 0;
    PQconninfoFree(parsed);
    return true;
}

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
static bool read_password(struct pg_link *link)
{
    const char *path = link->options->password_file;
    struct stat found;
    FILE *file = fopen(path, "re");
    size_t size;

    if (!file || fstat(fileno(file), &found) != 0 || !S_ISREG(found.st_mode)) {
        if (file)
            (void)fclose(file); /* only read */
        return fail(link, PG_TRANSIENT, "journal.postgres.password-file cannot be read");
    }
    if (found.st_mode & 077) {
        (void)fclose(file); /* only read */
        return fail(link, PG_REFUSED,
                    "others may read journal.postgres.password-file; set its mode to 0600");
    }
    size = fread(link->password, 1, PASSWORD_MAX, file);
    (void)fclose(file); /* only read */
    while (size && (link->password[size - 1] == '\n' || link->password[size - 1] == '\r'))
        size--;
    link->password[size] = 0;
    return size ? true : fail(link, PG_REFUSED, "journal.postgres.password-file is empty");
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
    while (hosts && *hosts) {
        size_t size = strcspn(hosts, ",");

        if (!is_local_one(hosts, size))
            return false;
        hosts += size + (hosts[size] == ',');
    }
    return true;
}

static const char *value_of(const PQconninfoOption *from, const char *key)
{
    for (; from && from->keyword; from++)
        if (strcmp(from->keyword, key) == 0)
            return from->val ? from->val : "";
    return "";
}

/* Whether a connection to another host would not verify the server's certificate. Also names the
 * server. Before anything is sent. */
static bool is_unverified(struct pg_link *link)
{
    PQconninfoOption *all = PQconninfo(link->connection);
    const char *address = value_of(all, "hostaddr");
    const char *host = value_of(all, "host");
    const char *mode = value_of(all, "sslmode");
    bool is_weak = strcmp(mode, "disable") == 0 || strcmp(mode, "allow") == 0 ||
                   strcmp(mode, "prefer") == 0;
    bool result = is_weak && !is_local(address[0] ? address : host);

    (void)snprintf(link->label, sizeof link->label, "host=%.60s port=%.12s database=%.30s",
                   host[0] ? host : address[0] ? address : "local", value_of(all, "port"),
                   value_of(all, "dbname")); /* fits */
    PQconninfoFree(all);
    return result;
}

static bool start(struct pg_link *link, const struct parameters *to)
{
    link->connection = PQconnectStartParams(to->keys, to->values, 0);
    check(link->connection != NULL);
    if (PQstatus(link->connection) != CONNECTION_BAD)
        return true;
    return break_off(link, PG_NOT_SENT, PQerrorMessage(link->connection));
}

static bool wait_for(struct pg_link *link, bool writes, uint64_t deadline)
{
    struct pollfd socket = { .fd = PQsocket(link->connection),
                             .events = (short)(writes ? POLLIN | POLLOUT : POLLIN) };
    uint64_t now = pg_now();

    if (now >= deadline)
        return false;
    return poll(&socket, 1, (int)(deadline - now < 60000 ? deadline - now : 60000)) >= 0 ||
           errno == EINTR;
}

/* PQconnectPoll needs either reading or writing, not both. */
static bool finish_connecting(struct pg_link *link, uint64_t deadline)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;

    while (status != PGRES_POLLING_OK) {
        struct pollfd socket = { .fd = PQsocket(link->connection) };
        uint64_t now = pg_now();

        if (now >= deadline)
            return break_off(link, PG_NOT_SENT, "no connection within journal.postgres.connect-timeout");
        socket.events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
        if (poll(&socket, 1, (int)(deadline - now)) == 0)
            continue;
        status = PQconnectPoll(link->connection);
        if (status == PGRES_POLLING_FAILED)
            return break_off(link, PG_NOT_SENT, PQerrorMessage(link->connection));
    }
    return true;
}

/* Errors of a log-in have no SQLSTATE in libpq; those that no repetition cures are known by text. */
static void judge_login(struct pg_link *link)
{
    static const char *const permanent[] = {
        "authentication failed", "not permitted to log in", "no pg_hba.conf entry", "does not exist",
        "permission denied", "no password supplied", "certificate", "does not support SSL",
    };

    for (size_t i = 0; i < sizeof permanent / sizeof *permanent; i++)
        if (strstr(link->text, permanent[i]))
            link->class = PG_REFUSED;
}

static void put_parameters(struct pg_link *link, struct parameters *to,
                           PQconninfoOption *parsed, const char *name)
{
    for (const PQconninfoOption *at = parsed; at->keyword; at++)
        if (at->val)
            set_parameter(to, at->keyword, at->val);
    if (link->options->password_file[0])
        set_parameter(to, "password", link->password);
    else if (parameter(to, "password"))
        (void)snprintf(link->password, sizeof link->password, "%s", parameter(to, "password"));
    set_default(to, "application_name", name);
    set_default(to, "target_session_attrs", "read-write");
    set_default(to, "gssencmode", "disable");
    set_default(to, "tcp_user_timeout", "20000");
    set_default(to, "keepalives_idle", "5");
    set_default(to, "keepalives_interval", "5");
    set_default(to, "keepalives_count", "3");
    set_parameter(to, "client_encoding", "UTF8");
}

bool pg_link_connect(struct pg_link *link, uint64_t deadline)
{
    struct parameters to = { .count = 0 };
    PQconninfoOption *parsed;
    char name[64], host[24] = "";
    uint64_t limit = pg_now() + link->options->connect_ms;
    bool connected;

    pg_link_close(link);
    if (link->options->password_file[0] && !read_password(link))
        return false;
    (void)gethostname(host, sizeof host - 1); /* only a name for people */
    (void)snprintf(name, sizeof name, "sherd:%.20s:%s:%d", link->options->cluster, host,
                   (int)getpid()); /* fits */
    parsed = PQconninfoParse(link->options->url, NULL);
    check(parsed != NULL); /* pg_url_check */
    put_parameters(link, &to, parsed, name);
    connected = start(link, &to);
    if (connected && is_unverified(link) && !parameter(&to, "sslmode") && !getenv("PGSSLMODE")) {
        pg_link_close(link);
        set_parameter(&to, "sslmode", "verify-full");
        connected = start(link, &to);
    }
    if (connected)
        connected = finish_connecting(link, limit < deadline ? limit : deadline);
    PQconninfoFree(parsed);
    if (!connected) {
        judge_login(link);
        return false;
    }
    (void)PQsetNoticeReceiver(link->connection, note, link);
    return PQsetnonblocking(link->connection, 1) == 0 ||
           break_off(link, PG_NOT_SENT, PQerrorMessage(link->connection));
}

/* ---- statements without parameters ---- */

/* Sends what waits, and reads until a result is there. */
static bool advance(struct pg_link *link, uint64_t deadline, bool *is_late)
{
    while (PQisBusy(link->connection)) {
        int pending = PQflush(link->connection);

        *is_late = pg_now() >= deadline;
        if (pending < 0 || *is_late || !wait_for(link, pending > 0, deadline) ||
            !PQconsumeInput(link->connection))
            return false;
    }
    return true;
}

static enum pg_class class_of(const PGresult *result)
{
    return pg_classify(PQresultErrorField(result, PG_DIAG_SQLSTATE), PG_ANSWERED);
}

static void keep_error(struct pg_link *link, const PGresult *result)
{
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    link->class = class_of(result);
    set_text(link, PQresultErrorField(result, PG_DIAG_SQLSTATE),
             text ? text : PQresultErrorMessage(result));
}

bool pg_link_query(struct pg_link *link, const char *sql, uint64_t deadline,
                   char *cell, size_t size)
{
    bool good = true, is_late = false;
    PGresult *result;

    if (cell)
        cell[0] = 0;
    if (!PQsendQuery(link->connection, sql))
        return break_off(link, PG_NOT_SENT, PQerrorMessage(link->connection));
    for (;;) {
        ExecStatusType status;

        if (!advance(link, deadline, &is_late))
            return break_off(link, PG_CUT_OFF,
                             is_late ? "no answer in time" : PQerrorMessage(link->connection));
        result = PQgetResult(link->connection);
        if (!result)
            break;
        status = PQresultStatus(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            keep_error(link, result);
            good = false;
        } else if (cell && PQntuples(result) > 0) {
            (void)snprintf(cell, size, "%s", PQgetvalue(result, 0, 0)); /* may be cut */
        }
        PQclear(result);
    }
    if (!good && PQstatus(link->connection) != CONNECTION_OK)
        pg_link_close(link);
    return good;
}

void pg_link_quote(struct pg_link *link, struct buf *sql, const char *text)
{
    char *quoted = PQescapeLiteral(link->connection, text, strlen(text));

    buf_put_text(sql, quoted ? quoted : "NULL"); /* null: not UTF-8 */
    PQfreemem(quoted);
}

bool pg_link_begin(struct pg_link *link)
{
    return PQenterPipelineMode(link->connection) == 1 ||
           break_off(link, PG_NOT_SENT, PQerrorMessage(link->connection));
}

/* ---- a pipeline ---- */

static bool send_prepare(struct pg_link *link, enum pg_statement which)
{
    struct buf text = { 0 };
    bool sent;

    pg_sql_put(&text, which, link->options->schema);
    sent = PQsendPrepare(link->connection, pg_sql_name(which),
                         (const char *)text.data, 0, NULL) == 1;
    buf_fini(&text);
    return sent;
}

static bool send_call(struct pg_link *link, const struct pg_call *call)
{
    static const int formats[PG_CALL_PARAMETERS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                     1, 1, 1, 1, 1, 1, 1, 1 };
    const char *values[PG_CALL_PARAMETERS];
    int sizes[PG_CALL_PARAMETERS];

    for (uint32_t i = 0; i < call->count; i++) {
        values[i] = call->parameters[i].data ? (const char *)call->parameters[i].data : "";
        sizes[i] = (int)call->parameters[i].size;
    }
    return PQsendQueryPrepared(link->connection, pg_sql_name(call->which),
                               (int)call->count, values, sizes, formats, 1) == 1;
}

/* Statements that are prepared in this run; the answers come in the same order. */
static bool send_all(struct pg_link *link, struct pg_call *calls, uint32_t count,
                     bool each)
{
    bool prepares = false;

    for (uint32_t i = 0; i < count; i++) {
        calls[i].class = PG_UNKNOWN;
        calls[i].result = NULL;
        if (link->is_prepared[calls[i].which])
            continue;
        if (!send_prepare(link, calls[i].which))
            return false;
        link->is_prepared[calls[i].which] = prepares = true;
    }
    if (prepares && PQpipelineSync(link->connection) != 1)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!send_call(link, &calls[i]) ||
            ((each || i + 1 == count) && PQpipelineSync(link->connection) != 1))
            return false;
    return true;
}

struct reading {
    uint64_t deadline, patient_until;
    const struct pg_patience *patience;
};

/* The next result; null: the end of a statement's results. False: the connection is lost. */
static bool next_result(struct pg_link *link, struct reading *reading, PGresult **result)
{
    for (;;) {
        bool is_late = false;
        uint64_t until = reading->patience && reading->patient_until < reading->deadline
                             ? reading->patient_until
                             : reading->deadline;

        if (advance(link, until, &is_late)) {
            *result = PQgetResult(link->connection);
            return true;
        }
        if (!is_late)
            return break_off(link, PG_CUT_OFF, PQerrorMessage(link->connection));
        if (until == reading->deadline)
            return break_off(link, PG_CUT_OFF, "no answer in time");
        reading->patience->slow(reading->patience->context);
        reading->patience = NULL;
    }
}

/* Reads up to a pipeline's next synchronisation, which ends a transaction. */
static bool read_sync(struct pg_link *link, struct reading *reading)
{
    PGresult *result = NULL;
    bool is_sync = false;

    while (!is_sync) {
        if (!next_result(link, reading, &result))
            return false;
        is_sync = result && PQresultStatus(result) == PGRES_PIPELINE_SYNC;
        if (result && PQresultStatus(result) == PGRES_FATAL_ERROR)
            keep_error(link, result);
        PQclear(result);
    }
    return true;
}

static void take_result(struct pg_link *link, struct pg_call *call, PGresult *result,
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
            keep_error(link, result);
    }
    *is_good = false;
    PQclear(result);
}

static bool read_call(struct pg_link *link, struct pg_call *call, struct reading *reading,
                      bool *is_good)
{
    PGresult *result;

    for (;;) {
        if (!next_result(link, reading, &result))
            return false;
        if (!result)
            return true;
        if (call->class == PG_UNKNOWN && !call->result)
            take_result(link, call, result, is_good);
        else
            PQclear(result);
    }
}

static bool read_all(struct pg_link *link, struct pg_call *calls, uint32_t count,
                     bool each, struct reading *reading, bool *is_good)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!read_call(link, &calls[i], reading, is_good))
            return false;
        if ((each || i + 1 == count) && !read_sync(link, reading))
            return false;
    }
    return true;
}

bool pg_link_run(struct pg_link *link, struct pg_call *calls, uint32_t count,
                 bool each, uint64_t deadline,
                 const struct pg_patience *patience)
{
    struct reading reading = { .deadline = deadline, .patience = patience };
    bool is_good = true, prepares = false;

    for (uint32_t i = 0; i < count; i++)
        prepares |= !link->is_prepared[calls[i].which];
    if (patience)
        reading.patient_until = pg_now() + patience->ms;
    link->warned[0] = 0;
    link->class = PG_NONE;
    link->text[0] = 0;
    if (!send_all(link, calls, count, each))
        return break_off(link, PG_CUT_OFF, PQerrorMessage(link->connection));
    if (prepares && !read_sync(link, &reading))
        return false;
    is_good = link->class == PG_NONE; /* a failed preparation is the first reason */
    if (!is_good)
        memset(link->is_prepared, 0, sizeof link->is_prepared);
    if (!read_all(link, calls, count, each, &reading, &is_good))
        return false;
    if (link->warned[0]) {
        for (uint32_t i = 0; i < count; i++)
            calls[i].class = PG_UNKNOWN;
        link->class = PG_UNKNOWN;
        set_text(link, link->warned, "the commit did not wait for a synchronous standby");
        return false;
    }
    return is_good;
}

void pg_calls_clear(struct pg_call *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        PQclear(calls[i].result);
        calls[i].result = NULL;
    }
}

uint32_t pg_call_rows(const struct pg_call *call)
{
    return call->result ? (uint32_t)PQntuples(call->result) : 0;
}

bool pg_call_row(const struct pg_call *call, uint32_t row,
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
