/* Stands before the library's parser: counts connections, checks peers, and passes only requests that
 * are whole and well-formed.
 *
 * The library calls a function when bytes come. The gate puts its own function in that place. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <event2/bufferevent_ssl.h>

#include "httpd/inside.h"
#include "mgmt/head.h"

/* The library parses this in place of a request that the gate refuses. */
#define REFUSED_REQUEST "GET / HTTP/1.1\r\nHost: refused\r\n\r\n"
#define LINGER_MS 1000

static void set_phase(struct connection *connection, enum phase phase)
{
    connection->phase = phase;
    connection->since = httpd_now();
}

/* ---- the end ---- */

static void forget(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;

    if (connection->before)
        connection->before->next = connection->next;
    else
        httpd->connections = connection->next;
    if (connection->next)
        connection->next->before = connection->before;
    httpd->connection_count--;
    event_free(connection->begin);
    event_free(connection->again);
    event_free(connection->wait);
    decision_fini(&connection->decision);
    mem_free(connection);
}

/* The library frees the connection. It has let go of a request without an answer if it failed. */
static void closed(struct evhttp_connection *http, void *of)
{
    struct connection *connection = of;

    (void)http;
    if (connection->job)
        connection->job->connection = NULL;
    if (connection->stream)
        stream_close(connection->stream);
    native_looks_forget(connection);
    if (connection->request && !evhttp_request_get_connection(connection->request))
        evhttp_request_free(connection->request);
    forget(connection);
}

void gate_end(struct connection *connection)
{
    evhttp_connection_free(connection->http);
}

/* ---- requests ---- */

static void refuse(struct connection *connection, unsigned status)
{
    struct evbuffer *input = bufferevent_get_input(connection->bev);
    struct httpd *httpd = connection->door->httpd;

    httpd_count(httpd, status == 408                                    ? SHERD_HTTP_LATE
                       : status == 413 || status == 414 || status == 431 ? SHERD_HTTP_TOO_LARGE
                                                                         : SHERD_HTTP_MALFORMED);
    connection->refused = status;
    set_phase(connection, PHASE_ANSWER);
    check(evbuffer_drain(input, evbuffer_get_length(input)) == 0);
    check(evbuffer_prepend(input, REFUSED_REQUEST, sizeof REFUSED_REQUEST - 1) == 0);
    connection->read(connection->bev, connection->http);
}

static void look(struct connection *connection)
{
    struct evbuffer *input = bufferevent_get_input(connection->bev);
    size_t size = evbuffer_get_length(input);
    struct head head;

    if (connection->phase == PHASE_LINGER)
        check(evbuffer_drain(input, size) == 0);
    if (!size || connection->phase >= PHASE_ANSWER)
        return;
    if (connection->phase < PHASE_HEAD)
        set_phase(connection, PHASE_HEAD);
    head = head_look(slice_of(evbuffer_pullup(input, -1), size));
    switch (head.state) {
    case HEAD_MORE:
        if (head.has_head)
            connection->phase = PHASE_BODY;
        break;
    case HEAD_REFUSED:
        refuse(connection, head.status);
        break;
    case HEAD_WHOLE:
        set_phase(connection, PHASE_ANSWER);
        connection->read(connection->bev, connection->http);
        break;
    }
}

/* The library's argument is its connection. */
static void bytes_came(struct bufferevent *bev, void *http)
{
    struct connection *connection = gate_find(httpd_here, bev);

    (void)http;
    check(connection != NULL);
    look(connection);
}

static void put_gate(struct connection *connection)
{
    bufferevent_data_cb read, write;
    bufferevent_event_cb event;
    void *http;

    bufferevent_getcb(connection->bev, &read, &write, &event, &http);
    check(http == connection->http);
    if (read == bytes_came)
        return;
    connection->read = read;
    bufferevent_setcb(connection->bev, bytes_came, write, event, http);
}

/* The library has put its function back for the next request. */
static void go_on(evutil_socket_t none, short what, void *of)
{
    struct connection *connection = of;

    (void)none;
    (void)what;
    put_gate(connection);
    look(connection);
}

void gate_answered(struct evhttp_request *request, void *of)
{
    struct connection *connection = of;

    (void)request;
    decision_fini(&connection->decision);
    connection->decision = (struct decision){ .route = ROUTE_NONE };
    set_phase(connection, connection->refused ? PHASE_LINGER : PHASE_IDLE);
    if (connection->refused)
        (void)shutdown(bufferevent_getfd(connection->bev), SHUT_WR); /* else the peer has closed it */
    event_active(connection->again, EV_TIMEOUT, 0);
}

/* ---- the begin ---- */

static bool put_address(const struct sockaddr_storage *from, char text[64], bool *is_loopback)
{
    const struct sockaddr_in *four = (const void *)from;
    const struct sockaddr_in6 *six = (const void *)from;

    if (from->ss_family == AF_INET) {
        *is_loopback = ntohl(four->sin_addr.s_addr) >> 24 == 127;
        return inet_ntop(AF_INET, &four->sin_addr, text, 64) != NULL;
    }
    if (from->ss_family != AF_INET6)
        return false;
    if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        *is_loopback = six->sin6_addr.s6_addr[12] == 127;
        return inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], text, 64) != NULL;
    }
    *is_loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
    return inet_ntop(AF_INET6, &six->sin6_addr, text, 64) != NULL;
}

static bool is_own_user(struct connection *connection, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return false;
    connection->uid = peer.uid;
    return peer.uid == geteuid() || peer.uid == 0;
}

static bool is_crowded(const struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    uint32_t same = 0;

    if (httpd->connection_count > httpd->settings.connections)
        return true;
    for (const struct connection *at = httpd->connections; at; at = at->next)
        same += strcmp(at->peer, connection->peer) == 0;
    return !connection->door->is_socket && !connection->is_loopback && same > HTTPD_CONNECTIONS_EACH_MAX;
}

/* False: the connection is closed. */
static bool admit(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    int fd = bufferevent_getfd(connection->bev);
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    bool is_local;

    httpd_count(httpd, SHERD_HTTP_CONNECTIONS);
    if (connection->door->is_socket) {
        connection->is_loopback = true;
        if (!is_own_user(connection, fd)) {
            httpd_count(httpd, SHERD_HTTP_FOREIGN);
            httpd_log(httpd, SHERD_LOG_WARNING, "connection of another user refused uid=%u",
                      (unsigned)connection->uid);
            return false;
        }
    } else if (getpeername(fd, (struct sockaddr *)&address, &size) != 0 ||
               !put_address(&address, connection->peer, &connection->is_loopback)) {
        return false; /* it is gone */
    } else {
        size = sizeof address;
        if (getsockname(fd, (struct sockaddr *)&address, &size) != 0 ||
            !put_address(&address, connection->local, &is_local))
            return false;
    }
    if (!is_crowded(connection))
        return true;
    httpd_count(httpd, SHERD_HTTP_CROWDED);
    return false;
}

static void output_changed(struct evbuffer *output, const struct evbuffer_cb_info *info, void *of)
{
    struct connection *connection = of;

    (void)output;
    if (info->n_deleted || (info->n_added && !info->orig_size))
        connection->taken_at = httpd_now();
}

/* The library has its connection by now: it is the argument of its functions. */
static void begin(evutil_socket_t none, short what, void *of)
{
    struct connection *connection = of;
    struct bufferevent *bev = connection->bev;
    bufferevent_data_cb read, write;
    bufferevent_event_cb event;
    void *http;

    (void)none;
    (void)what;
    bufferevent_getcb(bev, &read, &write, &event, &http);
    if (!http) {
        forget(connection);
        bufferevent_decref(bev);
        return;
    }
    bufferevent_decref(bev); /* the library has the other one */
    connection->http = http;
    check(evhttp_connection_get_bufferevent(connection->http) == bev);
    evhttp_connection_set_closecb(connection->http, closed, connection);
    check(evbuffer_add_cb(bufferevent_get_output(bev), output_changed, connection) != NULL);
    if (!admit(connection)) {
        gate_end(connection);
        return;
    }
    put_gate(connection);
    look(connection);
}

static void wait_over(evutil_socket_t none, short what, void *of)
{
    (void)none;
    (void)what;
    request_go_on(of);
}

static struct bufferevent *new_buffer(struct event_base *base, struct door *door)
{
    struct bufferevent *bev;
    SSL *tls;

    if (!door->tls)
        return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    door_look(door, httpd_now());
    tls = SSL_new(door->tls);
    check(tls != NULL);
    bev = bufferevent_openssl_socket_new(base, -1, tls, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    if (bev)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1); /* lengths tell where a request ends */
    return bev;
}

struct bufferevent *gate_new(struct event_base *base, void *of)
{
    struct door *door = of;
    struct httpd *httpd = door->httpd;
    struct connection *connection = mem_alloc(sizeof *connection);
    struct timeval every = { 0, HTTPD_TICK_MS * 1000 };

    connection->bev = new_buffer(base, door);
    check(connection->bev != NULL);
    bufferevent_incref(connection->bev);
    connection->door = door;
    connection->begin = event_new(base, -1, 0, begin, connection);
    connection->again = event_new(base, -1, 0, go_on, connection);
    connection->wait = evtimer_new(base, wait_over, connection);
    check(connection->begin && connection->again && connection->wait);
    connection->next = httpd->connections;
    if (connection->next)
        connection->next->before = connection;
    httpd->connections = connection;
    httpd->connection_count++;
    set_phase(connection, PHASE_NEW);
    event_active(connection->begin, EV_TIMEOUT, 0);
    if (!evtimer_pending(httpd->tick, NULL))
        check(event_add(httpd->tick, &every) == 0);
    return connection->bev;
}

void gate_fini(struct httpd *httpd)
{
    while (httpd->connections) { /* those that the library never began */
        bufferevent_decref(httpd->connections->bev);
        forget(httpd->connections);
    }
}

struct connection *gate_find(struct httpd *httpd, struct bufferevent *bev)
{
    struct connection *at = httpd->connections;

    while (at && at->bev != bev)
        at = at->next;
    return at;
}

/* ---- times ---- */

static void look_at_time(struct connection *connection, uint64_t now)
{
    struct httpd *httpd = connection->door->httpd;
    uint64_t age = now - connection->since;

    switch (connection->phase) {
    case PHASE_NEW:
        if (age < HTTPD_HEAD_MS)
            return;
        httpd_count(httpd, SHERD_HTTP_LATE);
        gate_end(connection);
        break;
    case PHASE_IDLE:
        if (age >= HTTPD_IDLE_MS)
            gate_end(connection);
        break;
    case PHASE_HEAD:
        if (age >= HTTPD_HEAD_MS)
            refuse(connection, 408);
        break;
    case PHASE_BODY:
        if (age >= HTTPD_REQUEST_MS)
            refuse(connection, 408);
        break;
    case PHASE_ANSWER:
        if (!evbuffer_get_length(bufferevent_get_output(connection->bev)) ||
            now - connection->taken_at < HTTPD_UNREAD_MS)
            return;
        httpd_count(httpd, SHERD_HTTP_UNREAD);
        gate_end(connection);
        break;
    case PHASE_LINGER:
        if (age >= LINGER_MS)
            gate_end(connection);
        break;
    }
}

void gate_tick(struct httpd *httpd, uint64_t now)
{
    struct connection *next;

    for (struct connection *at = httpd->connections; at; at = next) {
        next = at->next;
        if (at->http)
            look_at_time(at, now);
    }
    if (!httpd->connections)
        check(event_del(httpd->tick) == 0);
}
