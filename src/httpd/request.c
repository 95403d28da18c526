/* Takes a request from the library, and carries it out. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "httpd/inside.h"

/* ---- reading ---- */

static struct slice header(struct evhttp_request *request, const char *name)
{
    return slice_text(evhttp_find_header(evhttp_request_get_input_headers(request), name));
}

static enum method method_of(enum evhttp_cmd_type command)
{
    switch (command) {
    case EVHTTP_REQ_GET:
        return METHOD_GET;
    case EVHTTP_REQ_HEAD:
        return METHOD_HEAD;
    case EVHTTP_REQ_POST:
        return METHOD_POST;
    case EVHTTP_REQ_PUT:
        return METHOD_PUT;
    case EVHTTP_REQ_DELETE:
        return METHOD_DELETE;
    case EVHTTP_REQ_OPTIONS:
        return METHOD_OPTIONS;
    default:
        return METHOD_PATCH;
    }
}

static bool takes_gzip(struct slice accept)
{
    for (size_t i = 0; i + 4 <= accept.size; i++)
        if (!memcmp(accept.data + i, "gzip", 4))
            return !(i + 8 <= accept.size && !memcmp(accept.data + i + 4, ";q=0", 4) &&
                     (i + 8 == accept.size || accept.data[i + 8] == ','));
    return false;
}

static bool takes_lines(struct slice accept)
{
    static const char lines[] = "application/x-ndjson";

    return accept.data && memmem(accept.data, accept.size, lines, sizeof lines - 1) != NULL;
}

/* names: at least 66. */
static void read_request(struct connection *connection, struct mgmt_request *to, const char **names)
{
    struct httpd *httpd = connection->door->httpd;
    struct evhttp_request *request = connection->request;
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    const char *name;

    to->method = method_of(evhttp_request_get_command(request));
    to->target = slice_text(evhttp_request_get_uri(request));
    to->host = header(request, "Host");
    to->origin = header(request, "Origin");
    to->fetch_site = header(request, "Sec-Fetch-Site");
    to->type = header(request, "Content-Type");
    to->body = slice_of(evbuffer_pullup(body, -1), evbuffer_get_length(body));
    to->site = (struct site){
        .is_socket = connection->door->is_socket,
        .local = connection->local,
        .port = connection->door->port,
        .names = names,
        .is_secure = connection->door->tls != NULL,
    };
    names[to->site.name_count++] = httpd->settings.host;
    names[to->site.name_count++] = httpd->access->host;
    while (to->site.name_count < HOSTS_MAX &&
           (name = httpd->access->item(httpd->access->node, "http.allowed-hosts", to->site.name_count - 2)))
        names[to->site.name_count++] = name;
    connection->is_head = to->method == METHOD_HEAD;
    connection->takes_lines = !connection->is_head && takes_lines(header(request, "Accept"));
    connection->takes_gzip = takes_gzip(header(request, "Accept-Encoding"));
    connection->metrics = metrics_format_of(header(request, "Accept"));
}

/* ---- the log's level ---- */

static void answer_level(struct connection *connection)
{
    const struct sherd_node_access *access = connection->door->httpd->access;
    struct slice wanted = params_find(&connection->decision.target.query, "level");

    if (connection->decision.action == ACTION_LOOK) {
        answer_text(connection, 200, level_text(access->level(access->node)));
    } else if (!wanted.data) {
        answer_text(connection, 404, "Request is missing required query parameter 'level'");
    } else if (level_named(wanted) < 0) {
        answer_text(connection, 400, "The query parameter 'level' was malformed:\nUnknown logger level, allowed are "
                                     "[OFF,ERROR,WARNING,INFO,DEBUG]");
    } else {
        act_level(connection, level_named(wanted), 0);
        answer_text(connection, 200, "OK");
    }
}

/* ---- members ---- */

static void answer_message(struct connection *connection, unsigned status, const char *before,
                           const char *name, const char *after)
{
    struct buf text = { 0 }, body = { 0 };

    buf_put_text(&text, before);
    buf_put_text(&text, name);
    buf_put_text(&text, after);
    buf_put_u8(&text, 0);
    akka_message(&body, (const char *)text.data);
    answer_send(connection, status, BODY_JSON, &body);
    buf_fini(&text);
    buf_fini(&body);
}

/* Carries out what changes something. full: the address as the answer names it. */
static void act_as_akka(struct connection *connection, const char *address, const char *full)
{
    static const char *const done[] = {
        [ACTION_JOIN] = "Joining ",
        [ACTION_LEAVE] = "Leaving ",
        [ACTION_DOWN] = "Downing ",
        [ACTION_PREPARE] = "Preparing for full cluster shutdown",
    };
    enum action action = connection->decision.action;
    int result;

    if (action == ACTION_LOOK) {
        answer_message(connection, 400, "Operation not supported", "", "");
        return;
    }
    result = act(connection, address, 200);
    if (result == SHERD_EINVAL)
        answer_error(connection, ERROR_BAD_REQUEST);
    else if (result)
        answer_error(connection, ERROR_BUSY);
    else
        answer_message(connection, 200, done[action], full, "");
}

static void join(struct connection *connection)
{
    const char *name = (const char *)connection->decision.name.data;
    struct buf full = { 0 };
    const char *address = strchr(name, '@');

    if (strstr(name, "://"))
        buf_put_text(&full, name);
    else
        akka_address(&full, &connection->door->httpd->names, address ? address + 1 : name);
    buf_put_u8(&full, 0);
    act_as_akka(connection, name, (const char *)full.data);
    buf_fini(&full);
}

static void answer_member(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    const char *name = (const char *)connection->decision.name.data;
    const struct sherd_cluster_member *member = akka_find(&httpd->names, &httpd->view, name);
    struct buf body = { 0 };

    if (!member) {
        audit(connection, "refused", 404);
        answer_message(connection, 404, "Member [", name, "] not found");
    } else if (evhttp_request_get_command(connection->request) == EVHTTP_REQ_GET || connection->is_head) {
        akka_member(&body, &httpd->names, member);
        answer_send(connection, 200, BODY_JSON, &body);
    } else {
        akka_address(&body, &httpd->names, member->address);
        buf_put_u8(&body, 0);
        act_as_akka(connection, member->address, (const char *)body.data);
    }
    buf_fini(&body);
}

static void answer_view(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    struct buf body = { 0 };

    if (connection->decision.route == ROUTE_MEMBER) {
        answer_member(connection);
        return;
    }
    if (connection->decision.route == ROUTE_MEMBERS)
        akka_members(&body, &httpd->names, &httpd->view);
    else if (connection->decision.route == ROUTE_SEED_NODES)
        akka_seed_nodes(&body, &httpd->names, &httpd->view);
    else
        akka_types(&body, &httpd->view);
    answer_send(connection, 200, BODY_JSON, &body);
    buf_fini(&body);
}

void request_go_on(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;

    connection->waits = false;
    (void)event_del(connection->wait);
    if (connection->decision.route == ROUTE_METRICS)
        answer_metrics(connection);
    else if (!httpd->has_view)
        answer_error(connection, ERROR_BUSY);
    else if (connection->decision.route == ROUTE_API)
        native_go_on(connection);
    else
        answer_view(connection);
}

static void wait_for(struct connection *connection, void (*ask)(struct httpd *httpd))
{
    struct timeval most = { 0, HTTPD_VIEW_MS * 1000 };

    connection->waits = true;
    check(event_add(connection->wait, &most) == 0);
    ask(connection->door->httpd);
}

/* ---- all routes ---- */

static void carry_out(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;

    switch (connection->decision.route) {
    case ROUTE_STARTUP:
    case ROUTE_READY:
    case ROUTE_ALIVE:
        health_answer(connection);
        return;
    case ROUTE_LOG_LEVEL:
        answer_level(connection);
        return;
    case ROUTE_CLUSTER:
        act_as_akka(connection, "", "");
        return;
    case ROUTE_MEMBERS:
        if (connection->decision.action == ACTION_JOIN)
            join(connection);
        else
            wait_for(connection, work_ask_view);
        return;
    case ROUTE_MEMBER:
    case ROUTE_SEED_NODES:
    case ROUTE_SHARD_TYPES:
        wait_for(connection, work_ask_view);
        return;
    case ROUTE_SHARDS:
    case ROUTE_SHARD_STATS:
        if (!work_ask(httpd, connection->decision.route == ROUTE_SHARDS ? JOB_SHARDS : JOB_STATS, connection))
            answer_error(connection, ERROR_BUSY);
        return;
    case ROUTE_EVENTS:
        if (!stream_open(connection))
            answer_error(connection, ERROR_STREAMS);
        return;
    case ROUTE_API:
        if (!native_carry_out(connection))
            wait_for(connection, work_ask_view);
        return;
    case ROUTE_METRICS:
        wait_for(connection, work_ask_figures);
        return;
    case ROUTE_PAGE:
        page_answer(connection);
        return;
    case ROUTE_NONE:
    case ROUTE_COUNT:
        break;
    }
    answer_error(connection, ERROR_INTERNAL);
}

static void count_refusal(struct httpd *httpd, enum mgmt_error error)
{
    switch (error) {
    case ERROR_MISDIRECTED:
        httpd_count(httpd, SHERD_HTTP_MISDIRECTED);
        break;
    case ERROR_CROSS_SITE:
        httpd_count(httpd, SHERD_HTTP_CROSS_SITE);
        break;
    case ERROR_UNAUTHORIZED:
        httpd_count(httpd, SHERD_HTTP_UNAUTHORIZED);
        break;
    case ERROR_FORBIDDEN:
        httpd_count(httpd, SHERD_HTTP_FORBIDDEN);
        break;
    case ERROR_RATE:
        httpd_count(httpd, SHERD_HTTP_RATED);
        break;
    default:
        httpd_count(httpd, SHERD_HTTP_MALFORMED);
        break;
    }
}

void request_come(struct evhttp_request *request, void *of)
{
    struct door *door = of;
    struct httpd *httpd = door->httpd;
    struct evhttp_connection *http = evhttp_request_get_connection(request);
    struct connection *connection = gate_find(httpd, evhttp_connection_get_bufferevent(http));
    const char *names[HOSTS_MAX];
    struct mgmt_request read = { .method = METHOD_GET };
    struct decision *decision;

    check(connection != NULL);
    decision = &connection->decision;
    connection->request = request;
    connection->is_head = connection->takes_gzip = false;
    evhttp_request_set_on_complete_cb(request, gate_answered, connection);
    if (connection->refused) {
        answer_error(connection, error_of_status(connection->refused));
        return;
    }
    httpd_count(httpd, SHERD_HTTP_REQUESTS);
    read_request(connection, &read, names);
    decision->error = caller_find(connection, &read);
    if (decision->error == ERROR_NONE)
        mgmt_decide(&httpd->settings.mgmt, &read, decision);
    if (decision->error != ERROR_NONE) {
        count_refusal(httpd, decision->error);
        audit(connection, "refused", error_status(decision->error));
        answer_hint(connection, decision->error,
                    decision->error == ERROR_BAD_PARAMETER ? (const char *)decision->name.data : NULL);
    } else if (decision->status) {
        answer_text(connection, decision->status, decision->text ? decision->text : "");
    } else {
        carry_out(connection);
    }
}
