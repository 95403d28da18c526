/* Runs links and accepted connections on libuv's poll handles. It reads and writes the kernel's
 * sockets directly, so no buffer outlives a call.
 *
 * A handle lives until libuv's close callback, possibly longer than its owner. So handles are
 * separate objects that point to their owner or to nothing. */
#define _GNU_SOURCE
#include "host/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/line.h"
#include "base/timers.h"
#include "host/handle.h"
#include "host/dns_lookup.h"
#include "host/standard_files.h"
#include "host/tls.h"
#include "host/tls_socket.h"

#define REVOKED "TLS: the peer's certificate was revoked"

enum link_state {
    LINK_RESOLVING,
    LINK_CONNECTING,
    LINK_SHAKING, /* TLS handshake */
    LINK_OPEN,
    LINK_FAILED
};

struct outbound_socket {
    struct sockets *sockets;
    uint64_t number;
    enum link_state state;
    char host[HOST_MAX + 1]; /* as requested */
    uint16_t port;
    struct tls_end *tls;     /* null: plain, or not connected yet */
    int fd; /* -1 = none */
    uv_poll_t *poll;
    uv_timer_t *timer; /* limits the connect */
    struct dns_lookup *lookup; /* null: none is running */
    struct found *found; /* addresses of the name */
    uint32_t next;       /* the next address to try */
    bool dirty;             /* in sockets->dirty */
    bool blocked;           /* waits until the socket is writable */
    bool writable;          /* a flush is due */
    struct outbound_socket *next_dirty;
    bool due;               /* in sockets->due */
    struct outbound_socket *next_due;
    char why[160];
};

struct conn {
    struct sockets *sockets;
    uint64_t number;
    int fd;
    struct tls_end *tls; /* null: plain */
    char *remote;        /* "address:port" for the log; null: the connection is plain */
    uv_poll_t *poll;
};

static uv_poll_t *new_poll(struct sockets *sockets, int fd, void *owner)
{
    uv_poll_t *poll = mem_alloc(sizeof *poll);

    if (uv_poll_init(sockets->loop, poll, fd) != 0) {
        mem_free(poll);
        return NULL;
    }
    poll->data = owner;
    return poll;
}

void sockets_init(struct sockets *sockets, uv_loop_t *loop,
                  struct machine *machine, uint8_t *buffer,
                  _Atomic uint32_t *conn_count, struct tls *tls,
                  struct dns_lookups *lookups)
{
    memset(sockets, 0, sizeof *sockets);
    sockets->loop = loop;
    sockets->machine = machine;
    sockets->buffer = buffer;
    sockets->conn_count = conn_count;
    sockets->tls = tls;
    sockets->lookups = lookups;
    sockets->watch_at = tls ? 0 : UINT64_MAX;
}

/* ---- links ---- */

static void link_close_socket(struct outbound_socket *link)
{
    handle_close((uv_handle_t *)link->poll);
    link->poll = NULL;
    if (link->tls) {
        tls_end_close(link->tls);
        (void)tls_send(link->tls, link->fd); /* the closing alert, if there is room */
        tls_end_free(link->tls);
        link->tls = NULL;
    }
    if (link->fd >= 0)
        (void)close(link->fd); /* the kernel still sends its data */
    link->fd = -1;
    link->blocked = false;
}

static void link_end_connect(struct outbound_socket *link)
{
    handle_close((uv_handle_t *)link->timer);
    link->timer = NULL;
    dns_lookup_cancel(link->lookup);
    link->lookup = NULL;
    mem_free(link->found);
    link->found = NULL;
}

/* The machine hears of it later, so that the news cannot overtake the machine's own request to
 * close the link. */
static void tell_later(struct outbound_socket *link)
{
    struct sockets *sockets = link->sockets;

    sockets->worked = true;
    if (link->due)
        return;
    link->due = true;
    link->next_due = sockets->due;
    sockets->due = link;
}

static void link_fail(struct outbound_socket *link, const char *what, const char *why)
{
    struct sockets *sockets = link->sockets;

    check(link->state != LINK_FAILED);
    /* copied, as the source is closed */
    (void)snprintf(link->why, sizeof link->why, "%s: %s", what, why);
    link_end_connect(link);
    link_close_socket(link);
    link->state = LINK_FAILED;
    sockets->counters.failed++;
    tell_later(link);
}

static void link_free(struct outbound_socket *link)
{
    struct sockets *sockets = link->sockets;
    struct outbound_socket **at;

    link_end_connect(link);
    link_close_socket(link);
    (void)map_take(&sockets->links, map_u64(&link->number));
    for (at = &sockets->dirty; link->dirty && *at; at = &(*at)->next_dirty) {
        if (*at == link) {
            *at = link->next_dirty;
            break;
        }
    }
    for (at = &sockets->due; link->due && *at; at = &(*at)->next_due) {
        if (*at == link) {
            *at = link->next_due;
            break;
        }
    }
    mem_free(link);
}

static void on_link(uv_poll_t *poll, int status, int events);

static void link_watch(struct outbound_socket *link)
{
    int events = link->state == LINK_CONNECTING ? UV_WRITABLE : UV_READABLE;

    if (link->blocked)
        events |= UV_WRITABLE;
    check(uv_poll_start(link->poll, events, on_link) == 0);
}

/* Like connect: 0 or -1. */
static int begin_connect(const struct outbound_socket *link, union socket_name name)
{
    socklen_t size = sizeof name.v4;

    if (name.any.sa_family == AF_INET6) {
        name.v6.sin6_port = htons(link->port);
        size = sizeof name.v6;
    } else {
        name.v4.sin_port = htons(link->port);
    }
    return connect(link->fd, &name.any, size);
}

static bool has_more(const struct outbound_socket *link)
{
    return link->next < link->found->count;
}

/* Tries the name's addresses until a connect begins. */
static void link_try(struct outbound_socket *link)
{
    int error = 0;

    link_close_socket(link);
    (void)standard_files_keep(); /* or the log would write into a connection */
    while (has_more(link)) {
        const union socket_name *name = &link->found->addresses[link->next++];
        int one = 1;

        link->fd = socket(name->any.sa_family,
                          SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (link->fd < 0) {
            error = errno;
            continue;
        }
        /* Optional: without it, messages only arrive later. */
        (void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (begin_connect(link, *name) == 0 ||
            errno == EINPROGRESS) {
            link->poll = new_poll(link->sockets, link->fd, link);
            if (link->poll) {
                link->state = LINK_CONNECTING;
                link_watch(link); /* an open link shows as writable, too */
                return;
            }
            errno = ENOMEM;
        }
        error = errno;
        (void)close(link->fd);
        link->fd = -1;
    }
    link_fail(link, "connect", error ? strerror(error) : "no address");
}

static void link_opened(struct outbound_socket *link)
{
    if (link->tls && tls_revokes(link->sockets->tls, link->tls)) {
        link_fail(link, "connect", REVOKED); /* by a list that was read during the handshake */
        return;
    }
    link_end_connect(link);
    link->state = LINK_OPEN;
    link_watch(link);
    tell_later(link);
}

/* False: it failed, and so did the link. */
static bool link_send_tls(struct outbound_socket *link)
{
    int sent = tls_send(link->tls, link->fd);
    bool blocked = sent == 0;

    if (sent < 0) {
        link_fail(link, "link", "the connection broke");
        return false;
    }
    if (link->blocked != blocked) {
        link->blocked = blocked;
        link_watch(link);
    }
    return true;
}

/* A peer's bytes on a link are for TLS only; plain bytes are ignored. */
static void link_take_tls(struct outbound_socket *link, struct slice bytes)
{
    struct tls_end *tls = link->tls;

    tls_end_feed(tls, bytes);
    while (tls_end_read(tls, link->sockets->buffer, SOCKET_READ_SIZE) > 0)
        ;
    if (tls_end_state(tls) == TLS_FAILED)
        link_fail(link, link->state == LINK_SHAKING ? "connect" : "link",
                  tls_end_why(tls));
    else if (tls_end_state(tls) == TLS_ENDED)
        link_fail(link, "link", "closed by the peer");
    else if (link_send_tls(link) && link->state == LINK_SHAKING &&
             tls_end_state(tls) == TLS_OPEN)
        link_opened(link);
}

static void link_shake(struct outbound_socket *link)
{
    link->state = LINK_SHAKING;
    link->tls = tls_connect(link->sockets->tls, uv_hrtime(), link->host);
    link_watch(link);
    link_take_tls(link, (struct slice){ 0 });
}

static int socket_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error
                                                                    : errno;
}

/* Handles the end of a connect, successful or not. */
static void link_connected(struct outbound_socket *link)
{
    int error = socket_error(link->fd);

    if (error && has_more(link)) {
        link_try(link);
    } else if (error) {
        link_fail(link, "connect", strerror(error));
    } else if (link->sockets->tls) {
        link_shake(link);
    } else {
        link_opened(link);
    }
}

/* A peer sends nothing on our links; reading detects the end. */
static void link_read(struct outbound_socket *link)
{
    ssize_t size = recv(link->fd, link->sockets->buffer,
                        link->tls ? TLS_PIECE_SIZE : SOCKET_READ_SIZE,
                        MSG_DONTWAIT);

    if (size == 0)
        link_fail(link, "link",
                  link->state == LINK_SHAKING
                      ? "TLS: closed by the peer within the handshake"
                      : "closed by the peer");
    else if (size > 0 && link->tls)
        link_take_tls(link,
                      slice_of(link->sockets->buffer, (size_t)size));
    else if (size < 0 && errno != EAGAIN && errno != EINTR)
        link_fail(link, "link", strerror(errno));
}

/* Encrypts a piece only when the kernel has taken the one before. */
static void link_flush_tls(struct outbound_socket *link, uint64_t now)
{
    struct sockets *sockets = link->sockets;
    struct slice bytes;

    link->writable = false;
    while (link_send_tls(link) && !link->blocked &&
           machine_pending(sockets->machine, link->number, &bytes)) {
        if (bytes.size > TLS_PIECE_SIZE)
            bytes.size = TLS_PIECE_SIZE;
        tls_end_write(link->tls, bytes);
        if (tls_end_state(link->tls) == TLS_FAILED) {
            link_fail(link, "link", tls_end_why(link->tls));
            return;
        }
        sockets->counters.writes++;
        sockets->counters.bytes_written += bytes.size;
        sockets->worked = true;
        machine_wrote(sockets->machine, now, link->number, bytes.size);
    }
    sockets->counters.blocked += link->blocked;
}

static void link_flush(struct outbound_socket *link, uint64_t now)
{
    struct sockets *sockets = link->sockets;
    struct slice bytes;

    link->writable = false;
    while (machine_pending(sockets->machine, link->number, &bytes)) {
        ssize_t size = send(link->fd, bytes.data, bytes.size,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        int error = errno;

        if (size > 0) {
            sockets->counters.writes++;
            sockets->counters.bytes_written += (uint64_t)size;
            sockets->worked = true;
            machine_wrote(sockets->machine, now, link->number, (size_t)size);
            if ((size_t)size == bytes.size)
                continue;
        } else if (size < 0 && error == EINTR) {
            continue;
        } else if (size < 0 && error != EAGAIN) {
            link_fail(link, "link", strerror(error));
            return;
        }
        sockets->counters.blocked++;
        if (!link->blocked) {
            link->blocked = true;
            link_watch(link);
        }
        return;
    }
    if (link->blocked) {
        link->blocked = false;
        link_watch(link);
    }
}

static void on_link(uv_poll_t *poll, int status, int events)
{
    struct outbound_socket *link = poll->data;

    if (!link)
        return;
    if (link->state == LINK_CONNECTING) {
        link_connected(link);
        return;
    }
    if (status < 0) { /* the same for every reason */
        int error = socket_error(link->fd);

        link_fail(link, "link", error ? strerror(error) : "closed by the peer");
        return;
    }
    if (events & UV_READABLE)
        link_read(link);
    if ((events & UV_WRITABLE) && link->state == LINK_SHAKING)
        (void)link_send_tls(link); /* a failure is reported later */
    if ((events & UV_WRITABLE) && link->state == LINK_OPEN) {
        link->writable = true;
        sockets_request_write(link->sockets, link->number);
    }
}

/* Takes ownership of found. */
static void link_found(void *context, struct found *found)
{
    struct outbound_socket *link = context;

    link->lookup = NULL;
    link->found = found;
    if (found->count)
        link_try(link);
    else
        link_fail(link, "look up", found->why);
}

static void on_connect_late(uv_timer_t *timer)
{
    struct outbound_socket *link = timer->data;

    if (link)
        link_fail(link, link->state == LINK_RESOLVING ? "look up" : "connect",
                  "no answer in time");
}

/* Looks the name up. If the addresses come too late for this attempt, the next one has them. */
static void link_look_up(struct outbound_socket *link)
{
    struct sockets *sockets = link->sockets;

    if (!sockets->asker)
        sockets->asker = asker_new(sockets->lookups, sockets->loop);
    link->lookup = dns_lookup_start(sockets->asker, link->host, link_found, link);
}

void sockets_connect(struct sockets *sockets, uint64_t number,
                     const struct address *address)
{
    struct outbound_socket *link = mem_alloc(sizeof *link);
    struct found *number_found;

    link->sockets = sockets;
    link->number = number;
    link->fd = -1;
    link->port = address->port;
    (void)snprintf(link->host, sizeof link->host, "%s", address->host);
    check(!map_put(&sockets->links, map_u64(&number), link));
    link->timer = mem_alloc(sizeof *link->timer);
    check(uv_timer_init(sockets->loop, link->timer) == 0);
    link->timer->data = link;
    uv_update_time(sockets->loop);
    check(uv_timer_start(link->timer, on_connect_late, SOCKET_CONNECT_MS, 0) ==
          0);
    number_found = dns_lookup_number(address->host);
    if (number_found)
        link_found(link, number_found);
    else
        link_look_up(link);
}

void sockets_close_link(struct sockets *sockets, uint64_t number)
{
    struct outbound_socket *link = map_get(&sockets->links, map_u64(&number));

    if (link) /* null if the machine closed it on its failure */
        link_free(link);
}

void sockets_request_write(struct sockets *sockets, uint64_t number)
{
    struct outbound_socket *link = map_get(&sockets->links, map_u64(&number));

    if (!link || link->dirty)
        return;
    link->dirty = true;
    link->next_dirty = sockets->dirty;
    sockets->dirty = link;
}

void sockets_flush(struct sockets *sockets, uint64_t now)
{
    while (sockets->dirty) {
        struct outbound_socket *link = sockets->dirty;

        sockets->dirty = link->next_dirty;
        link->dirty = false;
        if (link->state != LINK_OPEN || (link->blocked && !link->writable))
            continue;
        if (link->tls)
            link_flush_tls(link, now);
        else
            link_flush(link, now);
    }
}

void sockets_tell(struct sockets *sockets, uint64_t now)
{
    while (sockets->due) {
        struct outbound_socket *link = sockets->due;
        uint64_t number = link->number;
        char why[sizeof link->why];

        sockets->due = link->next_due;
        link->due = false;
        if (link->state == LINK_OPEN) {
            machine_connected(sockets->machine, now, number);
            sockets_request_write(sockets, number);
            continue;
        }
        memcpy(why, link->why, sizeof why);
        link_free(link);
        machine_failed(sockets->machine, now, number, why);
    }
}

/* ---- accepted connections ---- */

static void conn_free(struct conn *conn)
{
    struct sockets *sockets = conn->sockets;

    handle_close((uv_handle_t *)conn->poll);
    if (conn->tls) {
        tls_end_close(conn->tls);
        (void)tls_send(conn->tls, conn->fd); /* the closing alert, if there is room */
        tls_end_free(conn->tls);
    }
    mem_free(conn->remote);
    (void)close(conn->fd); /* nothing was written to it */
    (void)map_take(&sockets->conns, map_u64(&conn->number));
    (void)atomic_fetch_sub_explicit(sockets->conn_count, 1,
                                    memory_order_relaxed);
    mem_free(conn);
}

static void conn_closed(struct conn *conn)
{
    struct sockets *sockets = conn->sockets;
    uint64_t number = conn->number;

    conn_free(conn);
    sockets->worked = true;
    machine_conn_closed(sockets->machine, uv_hrtime(), number);
}

static void say_revoked(const struct sockets *sockets, const char *remote)
{
    char text[256];

    line_format(text, sizeof text,
                "connection closed from=%s why=\"%s\" hint=\"%s\"", remote, REVOKED,
                "issue a new certificate to that node");
    tls_log(sockets->tls, TRACE_WARNING, text);
}

/* An accepted connection sends no data that could carry acknowledgements. With an acknowledgement
 * for each small message at once, an answer would cost one packet more. The kernel resets this
 * option whenever it had to send a lone acknowledgement. */
static void acknowledge_later(int fd)
{
    int off = 0;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &off, sizeof off); /* only for speed */
}

static void on_conn(uv_poll_t *poll, int status, int events);

/* Sends TLS's own data. False: the peer is gone. */
static bool conn_answer(struct conn *conn)
{
    int sent = tls_send(conn->tls, conn->fd);

    if (sent < 0)
        return false;
    check(uv_poll_start(conn->poll, UV_READABLE | (sent ? 0 : UV_WRITABLE),
                        on_conn) == 0);
    return true;
}

/* Passes the socket's bytes, possibly none, through TLS. False: it ended. */
static bool conn_take_tls(struct conn *conn, struct slice bytes)
{
    struct sockets *sockets = conn->sockets;
    size_t size;

    tls_end_feed(conn->tls, bytes);
    while ((size = tls_end_read(conn->tls, sockets->buffer,
                                SOCKET_READ_SIZE)) > 0)
        machine_bytes(sockets->machine, uv_hrtime(), conn->number,
                      slice_of(sockets->buffer, size));
    if (tls_end_state(conn->tls) == TLS_OPEN && conn_answer(conn))
        return true;
    conn_closed(conn);
    return false;
}

static void on_conn(uv_poll_t *poll, int status, int events)
{
    struct conn *conn = poll->data;
    struct sockets *sockets;
    ssize_t size;

    if (!conn)
        return;
    sockets = conn->sockets;
    if (status < 0) {
        conn_closed(conn);
        return;
    }
    if (conn->tls && (events & UV_WRITABLE) && !conn_answer(conn)) {
        conn_closed(conn);
        return;
    }
    acknowledge_later(conn->fd);
    /* One read: the rest waits until other connections had their turn. */
    size = recv(conn->fd, sockets->buffer,
                conn->tls ? TLS_PIECE_SIZE : SOCKET_READ_SIZE, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        conn_closed(conn);
        return;
    }
    sockets->counters.reads++;
    sockets->counters.bytes_read += (uint64_t)size;
    sockets->worked = true;
    if (conn->tls)
        (void)conn_take_tls(conn, slice_of(sockets->buffer, (size_t)size));
    else
        machine_bytes(sockets->machine, uv_hrtime(), conn->number,
                      slice_of(sockets->buffer, (size_t)size));
}

/* Finds peers that vanished. The failure detector is faster, but does not close their
 * connections. */
static void keep_alive(int fd)
{
    int one = 1, idle = 60, interval = 15, count = 4;

    /* Optional: without it a dead peer's socket stays, which costs little. */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
                     sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

static bool covers(const void *proof, const char *host)
{
    return tls_end_covers(proof, host);
}

/* Closes a connection that its machine has not heard of. */
static void refuse(struct sockets *sockets, struct accepted *accepted)
{
    (void)atomic_fetch_sub_explicit(sockets->conn_count, 1,
                                    memory_order_relaxed);
    accepted_free(accepted);
}

void sockets_adopt(struct sockets *sockets, uint64_t now,
                   struct accepted *accepted)
{
    struct conn *conn;

    if (accepted->tls && tls_revokes(sockets->tls, accepted->tls)) {
        /* by a list that was read since its handshake began */
        say_revoked(sockets, accepted->remote);
        refuse(sockets, accepted);
        return;
    }
    conn = mem_alloc(sizeof *conn);
    conn->sockets = sockets;
    conn->number = ++sockets->last_conn;
    conn->fd = accepted->fd;
    conn->poll = new_poll(sockets, conn->fd, conn);
    if (!conn->poll) {
        mem_free(conn);
        refuse(sockets, accepted);
        return;
    }
    accepted->fd = -1;
    conn->tls = accepted->tls;
    conn->remote = conn->tls ? mem_text(accepted->remote) : NULL;
    accepted->tls = NULL;
    keep_alive(conn->fd);
    check(!map_put(&sockets->conns, map_u64(&conn->number), conn));
    check(uv_poll_start(conn->poll, UV_READABLE, on_conn) == 0);
    sockets->counters.accepted++;
    sockets->worked = true;
    machine_accepted(sockets->machine, now,
                     &(struct arrival){ conn->number, accepted->order,
                                        accepted->remote });
    if (conn->tls && tls_verifies_names(sockets->tls))
        machine_vouched(sockets->machine, conn->number,
                        &(struct voucher){ covers, conn->tls });
    machine_bytes(sockets->machine, now, conn->number,
                  buf_slice(&accepted->first));
    accepted_free(accepted);
    if (conn->tls)
        (void)conn_take_tls(conn, (struct slice){ 0 }); /* bytes that TLS holds */
}

void sockets_close_conn(struct sockets *sockets, uint64_t number)
{
    struct conn *conn = map_get(&sockets->conns, map_u64(&number));

    if (conn) /* null if the peer closed it */
        conn_free(conn);
}

/* ---- changed TLS files, revoked certificates ---- */

void sockets_watch(struct sockets *sockets, uint64_t now)
{
    uint64_t version = tls_look(sockets->tls, now);
    struct map_entry entry;

    sockets->watch_at = now + TLS_LOOK_MS * MS;
    if (version == sockets->tls_version)
        return;
    sockets->tls_version = version;
    for (uint32_t at = 0; map_next(&sockets->links, &at, &entry);) {
        struct outbound_socket *link = entry.value;

        if (link->state == LINK_OPEN && tls_revokes(sockets->tls, link->tls))
            link_fail(link, "link", REVOKED);
    }
    for (uint32_t at = 0; map_next(&sockets->conns, &at, &entry);) {
        struct conn *conn = entry.value;

        if (tls_revokes(sockets->tls, conn->tls)) {
            say_revoked(sockets, conn->remote);
            conn_closed(conn);
        }
    }
}

void sockets_fini(struct sockets *sockets)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&sockets->links, &at, &entry);)
        link_free(entry.value);
    for (uint32_t at = 0; map_next(&sockets->conns, &at, &entry);)
        conn_free(entry.value);
    map_fini(&sockets->links);
    map_fini(&sockets->conns);
    asker_free(sockets->asker);
}
