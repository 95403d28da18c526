/* Runs an etcd process for tests of leases, and the scripted server between it and its client. */
#define _GNU_SOURCE
#include "etcd_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"

#define MESSAGE_MAX 65536
#define LOOK_MS 20 /* between checks whether the test is over */

const char *etcd_program;

static int bound_socket(int *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    check(fd >= 0);
    check(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    check(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *port = ntohs(address.sin_port);
    return fd;
}

int free_port(void)
{
    int port;
    int fd = bound_socket(&port);

    check(close(fd) == 0);
    return port;
}

/* ---- etcd ---- */

void etcd_server_init(struct etcd_server *server)
{
    memset(server, 0, sizeof *server);
    (void)snprintf(server->directory, sizeof server->directory,
                   "/tmp/sherd-etcd-XXXXXX");
    check(mkdtemp(server->directory) != NULL);
    server->port = free_port();
    server->peer_port = free_port();
}

static void become_etcd(const struct etcd_server *server)
{
    char data[128], url[64], peer[64], cluster[128], cert[128], key[128],
        log[128], tokens[320];
    const char *const arguments[] = {
        etcd_program, "--name", "one", "--data-dir", data,
        "--listen-client-urls", url, "--advertise-client-urls", url,
        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
        "--initial-cluster", cluster, "--heartbeat-interval", "50",
        "--election-timeout", "500", "--unsafe-no-fsync",
        "--auth-token", tokens, server->tls ? "--cert-file" : NULL, cert, "--key-file", key, NULL
    };
    int fd;

    (void)snprintf(data, sizeof data, "%s/data", server->directory);
    (void)snprintf(log, sizeof log, "%s/log", server->directory);
    (void)snprintf(cert, sizeof cert, "%s/server.crt", server->directory);
    (void)snprintf(key, sizeof key, "%s/server.key", server->directory);
    (void)snprintf(tokens, sizeof tokens,
                   server->signs ? "jwt,priv-key=%s/token.key,pub-key="
                                   "%s/token.pub,sign-method=RS256,ttl=1h"
                                 : "simple",
                   server->directory, server->directory);
    (void)snprintf(url, sizeof url, "%s://127.0.0.1:%d",
                   server->tls ? "https" : "http", server->port);
    (void)snprintf(peer, sizeof peer, "http://127.0.0.1:%d", server->peer_port);
    (void)snprintf(cluster, sizeof cluster, "one=%s", peer);
    fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
        _exit(126);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with the test */
    (void)execv(etcd_program, (char *const *)(uintptr_t)arguments);
    _exit(127);
}

void etcd_server_start(struct etcd_server *server)
{
    server->pid = fork();
    check(server->pid >= 0);
    if (server->pid == 0)
        become_etcd(server);
}

void etcd_server_kill(struct etcd_server *server)
{
    int status;

    if (!server->pid)
        return;
    check(kill(server->pid, SIGKILL) == 0);
    check(waitpid(server->pid, &status, 0) == server->pid);
    server->pid = 0;
}

void etcd_server_fini(struct etcd_server *server)
{
    char command[128];

    etcd_server_kill(server);
    (void)snprintf(command, sizeof command, "rm -r %s", server->directory);
    check(system(command) == 0);
}

/* ---- the server in between ---- */

/* Bytes of a message that are still missing; -1: unknown. */
static long missing(const char *text, size_t size)
{
    const char *end = memmem(text, size, "\r\n\r\n", 4);
    const char *length = strcasestr(text, "\r\ncontent-length:");
    size_t head;

    if (!end)
        return -1;
    head = (size_t)(end - text) + 4;
    if (strcasestr(text, "transfer-encoding: chunked") &&
        (!length || length > end))
        return size >= 5 && memcmp(text + size - 5, "0\r\n\r\n", 5) == 0 ? 0
                                                                         : -1;
    return (long)head + (length && length < end ? atol(length + 17) : 0) -
           (long)size;
}

/* False: the test is over, or the peer has closed. */
static bool wait_for(struct fake *fake, int fd)
{
    struct pollfd look = { .fd = fd, .events = POLLIN };

    while (!atomic_load(&fake->ends))
        if (poll(&look, 1, LOOK_MS) > 0)
            return true;
    return false;
}

static size_t read_message(struct fake *fake, int fd, char *text)
{
    size_t size = 0;

    text[0] = 0;
    while (missing(text, size) != 0 && size < MESSAGE_MAX - 1) {
        ssize_t got;

        if (!wait_for(fake, fd))
            return 0;
        got = recv(fd, text + size, MESSAGE_MAX - 1 - size, 0);
        if (got <= 0)
            return 0;
        size += (size_t)got;
        text[size] = 0;
    }
    return size;
}

static void say(int fd, const char *text, size_t size)
{
    (void)send(fd, text, size, MSG_NOSIGNAL); /* the caller may have closed */
}

static void ask_behind(struct fake *fake, int fd, const char *question,
                       size_t size, bool loses)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = htons((uint16_t)fake->behind) };
    int out = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char *text = mem_alloc(MESSAGE_MAX);

    check(out >= 0);
    if (connect(out, (struct sockaddr *)&address, sizeof address) == 0) {
        say(out, question, size);
        size = read_message(fake, out, text);
        if (!loses)
            say(fd, text, size);
    }
    mem_free(text);
    check(close(out) == 0);
}

static void say_without_end(struct fake *fake, int fd)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 4000000000\r\n\r\n{\"a\":\"";
    char block[4096];

    memset(block, 'a', sizeof block);
    say(fd, head, sizeof head - 1);
    while (!atomic_load(&fake->ends) &&
           send(fd, block, sizeof block, MSG_NOSIGNAL) > 0)
        ;
}

static void reply(struct fake *fake, int fd, const char *question, size_t size)
{
    static const char fault[] = "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}";
    static const char cut[] = "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n{\"header\":{\"revision\":\"7\"}";
    bool writes = strstr(question, "/v3/kv/txn") != NULL;
    char text[128];

    (void)atomic_fetch_add(&fake->asked, 1);
    (void)atomic_fetch_add(&fake->wrote, writes);
    switch ((enum fake_way)atomic_load(&fake->way)) {
    case FAKE_PASS:
        ask_behind(fake, fd, question, size, false);
        break;
    case FAKE_LOSE_TXN:
        ask_behind(fake, fd, question, size, writes);
        break;
    case FAKE_LOSE_PUT:
        ask_behind(fake, fd, question, size, strstr(question, "request_put") != NULL);
        break;
    case FAKE_LOSE_ALL_AFTER_TXN:
        if (writes || !atomic_load(&fake->wrote))
            ask_behind(fake, fd, question, size, writes);
        break;
    case FAKE_TEXT:
        (void)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
                       strlen(fake->text));
        say(fd, text, strlen(text));
        say(fd, fake->text, strlen(fake->text));
        break;
    case FAKE_FAULT:
        say(fd, fault, sizeof fault - 1);
        break;
    case FAKE_CUT:
        say(fd, cut, sizeof cut - 1);
        break;
    case FAKE_HUGE:
        say_without_end(fake, fd);
        break;
    case FAKE_SILENT:
        (void)wait_for(fake, fd); /* until the peer closes */
        break;
    case FAKE_HANG_UP:
        break;
    }
}

static void serve(void *context)
{
    struct fake *fake = context;
    char *text = mem_alloc(MESSAGE_MAX);

    while (wait_for(fake, fake->listener)) {
        int fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
        size_t size;

        check(fd >= 0);
        size = read_message(fake, fd, text);
        if (size)
            reply(fake, fd, text, size);
        check(close(fd) == 0);
    }
    mem_free(text);
}

void fake_start(struct fake *fake, enum fake_way way, int behind)
{
    memset(fake, 0, sizeof *fake);
    fake->listener = bound_socket(&fake->port);
    check(listen(fake->listener, 16) == 0);
    fake->behind = behind;
    fake->text = "";
    atomic_store(&fake->way, way);
    check(uv_thread_create(&fake->thread, serve, fake) == 0);
}

void fake_end(struct fake *fake)
{
    atomic_store(&fake->ends, true);
    check(uv_thread_join(&fake->thread) == 0);
    check(close(fake->listener) == 0);
}
