/* Accepts connections, and keeps a bounded list of those whose machine is not known yet. */
#define _GNU_SOURCE
#include "host/listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/line.h"
#include "host/expected_peers.h"
#include "host/handle.h"
#include "host/socket_address.h"
#include "host/standard_files.h"
#include "host/tls.h"
#include "host/tls_socket.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define PREAMBLE_SIZE 5 /* magic and stream: docs/protocol/link.md */
#define GRACE_PART 5 /* part of preamble_ms after which others may displace a slow connection */
#define READ_SIZE 4096 /* more than a handshake; the machine reads the rest */

/* A connection whose machine is not known yet. */
struct waiting {
    struct listener *listener;
    struct accepted *accepted;
    struct sockaddr_storage peer;
    uv_poll_t *poll;
    uint64_t accepted_at;
    bool said_something;
    bool is_known; /* the address is a peer's */
};

struct listener {
    int fd;
    uint16_t port;
    bool is_loopback;
    uv_loop_t *loop;
    struct listener_owner owner;
    uv_poll_t *poll;
    uv_timer_t *timer; /* earliest deadline, or end of a pause */
    bool pausing;
    struct {
        uint64_t since; /* begin of this second; 0: it is over */
        uint32_t lines;
        uint64_t left_out;
    } logged; /* refusals */
    uint64_t order; /* of the last connection */
    VEC(struct waiting *) waiting; /* in order of arrival */
    VEC(struct in6_addr) known; /* with accepted connections; when full, the oldest is dropped */
    uint32_t oldest_known;
    struct expected *expected; /* known, too; unknown nodes cannot displace them */
    /* The listener's thread counts, any thread reads. */
    struct {
        _Atomic uint64_t accepted, refused, late, paused;
    } counters;
};

/* ---- opening ---- */

static int bind_one(const struct addrinfo *at)
{
    int one = 1, error;
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    0);

    if (fd < 0)
        return -1;
    /* A restart need not wait until the kernel forgets earlier connections. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, at->ai_addr, at->ai_addrlen) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

static bool is_loopback(const struct sockaddr_storage *name)
{
    const struct in6_addr *long_one =
        &((const struct sockaddr_in6 *)name)->sin6_addr;

    if (name->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(long_one) ||
               (IN6_IS_ADDR_V4MAPPED(long_one) && long_one->s6_addr[12] == 127);
    return ntohl(((const struct sockaddr_in *)name)->sin_addr.s_addr) >> 24 ==
           127;
}

static uint16_t port_of(const struct sockaddr_storage *name)
{
    if (name->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)name)->sin6_port);
    return ntohs(((const struct sockaddr_in *)name)->sin_port);
}

int listener_open(struct listener **listener, const char *host, uint16_t port,
                  char *error, size_t size)
{
    struct addrinfo hints = { .ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
    struct addrinfo *found = NULL;
    struct sockaddr_storage name = { 0 };
    socklen_t name_size = sizeof name;
    char text[8], bare[HOST_MAX + 1];
    int status, fd = -1, reason = 0;

    *listener = NULL;
    (void)snprintf(text, sizeof text, "%u", (unsigned)port);
    address_bare_host(bare, host);
    status = getaddrinfo(bare, text, &hints, &found);
    if (status != 0) {
        (void)snprintf(error, size, "cannot listen on %s:%u: %s", host,
                       (unsigned)port,
                       status == EAI_SYSTEM ? strerror(errno)
                                            : gai_strerror(status));
        return LISTENER_BAD_HOST;
    }
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        fd = bind_one(at);
        reason = errno;
    }
    freeaddrinfo(found);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&name, &name_size) != 0) {
        if (fd >= 0)
            reason = errno;
        (void)snprintf(error, size, "cannot listen on %s:%u: %s", host,
                       (unsigned)port, strerror(reason));
        if (fd >= 0)
            (void)close(fd);
        return reason == EADDRINUSE || reason == EACCES ? LISTENER_BAD_PORT
                                                        : LISTENER_BAD_HOST;
    }
    *listener = mem_alloc(sizeof **listener);
    (*listener)->fd = fd;
    (*listener)->port = port_of(&name);
    (*listener)->is_loopback = is_loopback(&name);
    return 0;
}

uint16_t listener_port(const struct listener *listener)
{
    return listener->port;
}

bool listener_is_loopback(const struct listener *listener)
{
    return listener->is_loopback;
}

struct listener_counters listener_counters(const struct listener *listener)
{
    return (struct listener_counters){
        .accepted = listener->counters.accepted,
        .refused = listener->counters.refused,
        .late = listener->counters.late,
        .paused = listener->counters.paused,
    };
}

/* ---- waiting connections ---- */

static void log_warning(struct listener *listener, const char *text)
{
    listener->owner.log(listener->owner.owner, TRACE_WARNING, text);
}

/* Logs how many refusals of the last second were not logged. */
static void sum_up(struct listener *listener, uint64_t now)
{
    char text[128];

    if (!listener->logged.since || now - listener->logged.since < SECOND_NS)
        return;
    if (listener->logged.left_out) {
        line_format(text, sizeof text,
                    "more connections were refused than are logged "
                    "one by one count=%llu hint=\"check what connects to this port\"",
                    (unsigned long long)listener->logged.left_out);
        log_warning(listener, text);
    }
    memset(&listener->logged, 0, sizeof listener->logged);
}

/* Limits log lines; the counters have all refusals. */
static void refuse(struct listener *listener, const char *remote,
                   const char *why)
{
    uint64_t now = uv_hrtime();
    char text[320];

    sum_up(listener, now);
    if (!listener->logged.since)
        listener->logged.since = now;
    if (listener->logged.lines >= ACCEPT_LINES_MAX) {
        listener->logged.left_out++;
        return;
    }
    listener->logged.lines++;
    line_format(text, sizeof text, "connection refused from=%s why=\"%s\" "
                "hint=\"check what connects from there\"",
                remote, why);
    log_warning(listener, text);
}

/* Closes the socket unless another owner took it. */
static void forget(struct waiting *waiting)
{
    struct listener *listener = waiting->listener;

    for (uint32_t i = 0; i < listener->waiting.count; i++) {
        if (listener->waiting.items[i] == waiting) {
            vec_remove(&listener->waiting, i);
            break;
        }
    }
    handle_close((uv_handle_t *)waiting->poll);
    accepted_free(waiting->accepted);
    mem_free(waiting);
}

static uint64_t late_at(const struct waiting *waiting)
{
    const struct listener_limits *limits = &waiting->listener->owner.limits;
    bool preamble = waiting->accepted->first.size >= PREAMBLE_SIZE;

    return waiting->accepted_at +
           (preamble ? limits->frame_ms : limits->preamble_ms) * MS_NS;
}

static void on_timer(uv_timer_t *timer);

/* For the earliest deadline, or the sum of unlogged refusals. Without either there is no timer. */
static void set_timer(struct listener *listener)
{
    uint64_t now = uv_hrtime(), at = UINT64_MAX;

    if (listener->pausing)
        return;
    for (uint32_t i = 0; i < listener->waiting.count; i++) {
        uint64_t late = late_at(listener->waiting.items[i]);

        at = late < at ? late : at;
    }
    if (listener->logged.left_out && listener->logged.since + SECOND_NS < at)
        at = listener->logged.since + SECOND_NS;
    if (at == UINT64_MAX) {
        (void)uv_timer_stop(listener->timer);
        return;
    }
    uv_update_time(listener->loop);
    check(uv_timer_start(listener->timer, on_timer,
                         at > now ? (at - now) / MS_NS + 1 : 0, 0) == 0);
}

/* ---- known addresses ---- */

static struct in6_addr address_of(const struct sockaddr_storage *peer)
{
    return socket_address((const struct sockaddr *)peer);
}

static bool is_known(const struct listener *listener,
                     const struct in6_addr *address)
{
    for (uint32_t i = 0; i < listener->known.count; i++)
        if (IN6_ARE_ADDR_EQUAL(&listener->known.items[i], address))
            return true;
    return expected_has(listener->expected, address);
}

static void remember(struct listener *listener, const struct waiting *waiting)
{
    struct in6_addr address = address_of(&waiting->peer);

    if (waiting->is_known || is_known(listener, &address))
        return;
    if (listener->known.count < ACCEPT_KNOWN_MAX) {
        vec_push(&listener->known, address);
        return;
    }
    listener->known.items[listener->oldest_known] = address;
    listener->oldest_known = (listener->oldest_known + 1) % ACCEPT_KNOWN_MAX;
}

/* ---- deciding ---- */

/* Preamble, and the largest first frame with its length. */
static size_t first_size_max(const struct listener *listener)
{
    return listener->owner.limits.frame_size_max + ACCEPT_BYTES_MAX -
           INLET_UNKNOWN_SIZE_MAX;
}

/* Counts and logs it. */
static void turn_away(struct waiting *waiting, const char *why)
{
    struct listener *listener = waiting->listener;

    listener->counters.refused++;
    refuse(listener, waiting->accepted->remote, why);
    forget(waiting);
    set_timer(listener);
}

/* A TLS client begins with a handshake record, version 3.x. */
static bool is_tls(const struct buf *first)
{
    return first->size >= 2 && first->data[0] == 22 && first->data[1] == 3;
}

static void decide(struct waiting *waiting)
{
    struct listener *listener = waiting->listener;
    struct buf *first = &waiting->accepted->first;
    struct accepted *accepted = waiting->accepted;
    uint32_t machine = 0;
    const char *why = "the first frame is too large";
    enum node_accept answer = listener->owner.decide(
        listener->owner.owner, buf_slice(first), &machine, &why);

    if (answer == NODE_MORE && first->size < first_size_max(listener))
        return;
    if (answer != NODE_ACCEPT) {
        turn_away(waiting, !accepted->tls && is_tls(first)
                               ? "TLS, and this node speaks plain TCP"
                               : why);
        return;
    }
    remember(listener, waiting);
    waiting->accepted = NULL;
    forget(waiting);
    listener->counters.accepted++;
    set_timer(listener);
    listener->owner.give(listener->owner.owner, machine, accepted);
}

static void on_first(uv_poll_t *poll, int status, int events);

/* Puts decrypted bytes into the first bytes, and sends TLS's answers. False: the connection was
 * closed. */
static bool take_tls(struct waiting *waiting, struct slice bytes)
{
    struct tls_end *tls = waiting->accepted->tls;
    struct buf *first = &waiting->accepted->first;
    size_t size = 1, most = first_size_max(waiting->listener);
    int sent;

    tls_end_feed(tls, bytes);
    while (first->size < most && size > 0) {
        size_t room = most - first->size;

        room = room < READ_SIZE ? room : READ_SIZE;
        size = tls_end_read(tls, buf_reserve(first, room), room);
        first->size += size;
    }
    sent = tls_send(tls, waiting->accepted->fd);
    if (tls_end_state(tls) == TLS_FAILED) {
        turn_away(waiting, tls_end_why(tls));
        return false;
    }
    if (sent < 0) {
        turn_away(waiting, "the connection broke");
        return false;
    }
    check(uv_poll_start(waiting->poll,
                        UV_READABLE | (sent ? 0 : UV_WRITABLE),
                        on_first) == 0);
    return true;
}

/* The peer has closed it. */
static void ended(struct waiting *waiting, bool said_something)
{
    struct tls_end *tls = waiting->accepted->tls;

    if (tls && said_something && tls_end_state(tls) == TLS_SHAKING) {
        turn_away(waiting, "TLS: closed within the handshake");
        return;
    }
    forget(waiting);
}

/* Reads once. 1; 0: nothing there; -1: end. */
static int receive(struct waiting *waiting, uint8_t *bytes, size_t *size)
{
    ssize_t had = recv(waiting->accepted->fd, bytes, *size, MSG_DONTWAIT);

    if (had < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (had <= 0)
        return -1;
    *size = (size_t)had;
    return 1;
}

static void on_first(uv_poll_t *poll, int status, int events)
{
    struct waiting *waiting = poll->data;
    uint8_t bytes[READ_SIZE];
    size_t had, size;
    struct buf *first;
    int result;

    (void)events; /* reading shows the error */
    if (!waiting)
        return;
    first = &waiting->accepted->first;
    had = first->size;
    size = first_size_max(waiting->listener) - first->size;
    size = waiting->accepted->tls || size > READ_SIZE ? READ_SIZE : size;
    result = status < 0 ? -1 : receive(waiting, bytes, &size);
    if (result < 0) {
        ended(waiting, waiting->said_something);
        return;
    }
    waiting->said_something |= result > 0;
    if (waiting->accepted->tls) {
        if (!take_tls(waiting, slice_of(bytes, result > 0 ? size : 0)))
            return;
    } else if (result > 0) {
        buf_put(first, bytes, size);
    }
    if (first->size == had)
        return;
    if (had < PREAMBLE_SIZE && first->size >= PREAMBLE_SIZE)
        set_timer(waiting->listener);
    decide(waiting);
}

/* ---- accepting ---- */

static void name_peer(const struct sockaddr_storage *peer, char *text,
                      size_t size)
{
    char host[48] = "?";

    /* a failure leaves "?" for the log */
    (void)uv_ip_name((const struct sockaddr *)peer, host, sizeof host);
    (void)snprintf(text, size, "%s:%u", host, (unsigned)port_of(peer));
}

/* The limit that one more connection would exceed. */
enum crowd {
    CROWD_NONE,
    CROWD_ADDRESS,   /* connections of its address */
    CROWD_STRANGERS, /* connections of unknown addresses */
    CROWD_ALL
};

/* Unknown nodes cannot keep peers out. */
static enum crowd crowd_of(const struct listener *listener,
                           const struct in6_addr *address, bool known)
{
    const struct listener_limits *limits = &listener->owner.limits;
    uint32_t same = 0, strangers = 0;

    for (uint32_t i = 0; i < listener->waiting.count; i++) {
        const struct waiting *other = listener->waiting.items[i];
        struct in6_addr others = address_of(&other->peer);

        same += IN6_ARE_ADDR_EQUAL(&others, address) ? 1 : 0;
        strangers += !other->is_known;
    }
    if (same >= limits->waiting_each_max)
        return CROWD_ADDRESS;
    if (!known && strangers >= limits->strangers_max)
        return CROWD_STRANGERS;
    return listener->waiting.count >= limits->waiting_max ? CROWD_ALL
                                                          : CROWD_NONE;
}

/* A stranger displaces strangers only. */
static bool may_displace(const struct waiting *other, enum crowd crowd,
                         const struct in6_addr *address, bool known)
{
    struct in6_addr others = address_of(&other->peer);

    return crowd == CROWD_ADDRESS ? IN6_ARE_ADDR_EQUAL(&others, address)
                                  : known || !other->is_known;
}

/* Nothing was read, and nothing waits to be read. */
static bool is_silent(const struct waiting *waiting)
{
    char byte;

    return !waiting->said_something &&
           recv(waiting->accepted->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

/* A peer sends its first frame at once, so the oldest silent connection is none of a peer. If all
 * have said something, it is the oldest that had a part of its time and did not finish. */
static struct waiting *idle_one(struct listener *listener, enum crowd crowd,
                                const struct in6_addr *address, bool known)
{
    uint64_t grace = listener->owner.limits.preamble_ms * MS_NS / GRACE_PART;
    uint64_t now = uv_hrtime();
    struct waiting *slow = NULL;

    for (uint32_t i = 0; i < listener->waiting.count; i++) {
        struct waiting *other = listener->waiting.items[i];

        if (!may_displace(other, crowd, address, known))
            continue;
        if (is_silent(other))
            return other;
        if (!slow && now - other->accepted_at >= grace)
            slow = other;
    }
    return slow;
}

/* Returns false if the new connection has no room. */
static bool make_room(struct listener *listener,
                      const struct in6_addr *address, bool known)
{
    enum crowd crowd = crowd_of(listener, address, known);
    struct waiting *idle;

    if (crowd == CROWD_NONE)
        return true;
    idle = idle_one(listener, crowd, address, known);
    if (!idle)
        return false;
    listener->counters.refused++;
    refuse(listener, idle->accepted->remote,
           "too many connections wait for their first bytes, and this one is silent");
    forget(idle);
    return true;
}

static void add(struct listener *listener, int fd,
                const struct sockaddr_storage *peer)
{
    struct accepted *accepted = mem_alloc(sizeof *accepted);
    struct in6_addr address = address_of(peer);
    bool known = is_known(listener, &address);
    struct waiting *waiting;

    accepted->fd = fd;
    accepted->order = ++listener->order;
    name_peer(peer, accepted->remote, sizeof accepted->remote);
    if (!make_room(listener, &address, known)) {
        listener->counters.refused++;
        refuse(listener, accepted->remote, "too many connections wait for their first bytes");
        accepted_free(accepted);
        return;
    }
    waiting = mem_alloc(sizeof *waiting);
    waiting->listener = listener;
    waiting->accepted = accepted;
    waiting->peer = *peer;
    waiting->is_known = known;
    waiting->accepted_at = uv_hrtime();
    if (listener->owner.tls)
        accepted->tls = tls_accept(listener->owner.tls, waiting->accepted_at);
    waiting->poll = mem_alloc(sizeof *waiting->poll);
    check(uv_poll_init(listener->loop, waiting->poll, fd) == 0);
    waiting->poll->data = waiting;
    check(uv_poll_start(waiting->poll, UV_READABLE, on_first) == 0);
    vec_push(&listener->waiting, waiting);
}

/* Without a free descriptor, the waiting connection would wake the loop forever. */
static void pause_accepting(struct listener *listener, int error)
{
    char text[128];

    listener->pausing = true;
    if (listener->counters.paused++ % 600 == 0) {
        line_format(text, sizeof text, "cannot accept connections why=\"%s\" "
                    "hint=\"raise ulimit -n\"",
                    strerror(error));
        listener->owner.log(listener->owner.owner, TRACE_ERROR, text);
    }
    (void)uv_poll_stop(listener->poll);
    uv_update_time(listener->loop);
    check(uv_timer_start(listener->timer, on_timer, ACCEPT_PAUSE_MS, 0) == 0);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;

    (void)events; /* only UV_READABLE is asked for */
    (void)status; /* accept4 shows the error */
    (void)standard_files_keep(); /* or the log would write into a connection */
    for (int i = 0; listener && i < ACCEPT_BATCH_MAX; i++) {
        struct sockaddr_storage peer = { 0 };
        socklen_t size = sizeof peer;
        int fd = accept4(listener->fd, (struct sockaddr *)&peer, &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            add(listener, fd, &peer);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
            errno == ENOMEM)
            pause_accepting(listener, errno);
        else if (errno == EINTR || errno == ECONNABORTED)
            continue;
        break;
    }
    if (listener)
        set_timer(listener);
}

static void on_timer(uv_timer_t *timer)
{
    struct listener *listener = timer->data;
    uint64_t now = uv_hrtime();

    if (!listener)
        return;
    sum_up(listener, now);
    if (listener->pausing) {
        listener->pausing = false;
        check(uv_poll_start(listener->poll, UV_READABLE, on_connection) == 0);
    }
    for (uint32_t i = 0; i < listener->waiting.count;) {
        struct waiting *waiting = listener->waiting.items[i];

        if (late_at(waiting) > now) {
            i++;
            continue;
        }
        listener->counters.late++;
        refuse(listener, waiting->accepted->remote,
               waiting->accepted->tls &&
                       tls_end_state(waiting->accepted->tls) == TLS_SHAKING
                   ? "TLS: no handshake in time"
                   : "sent no first frame in time");
        forget(waiting);
    }
    set_timer(listener);
}

static void fill_limits(struct listener_limits *limits)
{
    if (!limits->waiting_max)
        limits->waiting_max = ACCEPT_WAITING_MAX;
    if (!limits->waiting_each_max)
        limits->waiting_each_max = ACCEPT_WAITING_EACH_MAX;
    if (!limits->strangers_max)
        limits->strangers_max = ACCEPT_STRANGERS_MAX;
    if (!limits->preamble_ms)
        limits->preamble_ms = ACCEPT_PREAMBLE_MS;
    if (!limits->frame_ms)
        limits->frame_ms = ACCEPT_FRAME_MS;
    if (!limits->frame_size_max)
        limits->frame_size_max = INLET_UNKNOWN_SIZE_MAX;
}

void listener_start(struct listener *listener, uv_loop_t *loop,
                    const struct listener_owner *owner)
{
    listener->loop = loop;
    listener->owner = *owner;
    fill_limits(&listener->owner.limits);
    listener->expected = expected_new(loop, owner->lookups);
    listener->timer = mem_alloc(sizeof *listener->timer);
    check(uv_timer_init(loop, listener->timer) == 0);
    listener->timer->data = listener;
    listener->poll = mem_alloc(sizeof *listener->poll);
    check(uv_poll_init(loop, listener->poll, listener->fd) == 0);
    listener->poll->data = listener;
    check(uv_poll_start(listener->poll, UV_READABLE, on_connection) == 0);
}

void listener_expect(struct listener *listener, const struct address *nodes,
                     uint32_t count)
{
    expected_set(listener->expected, nodes, count);
}

void listener_stop(struct listener *listener)
{
    while (listener->waiting.count > 0)
        forget(listener->waiting.items[listener->waiting.count - 1]);
    handle_close((uv_handle_t *)listener->poll);
    handle_close((uv_handle_t *)listener->timer);
    expected_free(listener->expected);
    listener->poll = NULL;
    listener->timer = NULL;
    listener->expected = NULL;
    if (listener->fd >= 0)
        (void)close(listener->fd);
    listener->fd = -1;
}

void listener_free(struct listener *listener)
{
    if (!listener)
        return;
    listener_stop(listener);
    vec_fini(&listener->waiting);
    vec_fini(&listener->known);
    mem_free(listener);
}
