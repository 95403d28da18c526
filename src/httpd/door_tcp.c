/* Opens the TCP port, and refuses one that others reach without protection. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "httpd/inside.h"

#define BACKLOG 128

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static int check_protection(struct httpd *httpd, const struct sockaddr *address)
{
    const struct httpd_settings *settings = &httpd->settings;
    bool has_callers = settings->tokens_file || settings->client_ca;

    if (is_loopback(address) || (settings->tls != TLS_MODE_OFF && has_callers))
        return 0;
    if (!settings->open_read) {
        httpd_log(httpd, SHERD_LOG_ERROR,
                  "other hosts reach the management's address, and it lacks %s bind=%s key=management.http.%s "
                  "hint=\"set management.http.tls and tokens-file, or open-read = on\"",
                  settings->tls == TLS_MODE_OFF ? "TLS" : "a tokens file and a client CA", settings->bind_host,
                  settings->tls == TLS_MODE_OFF ? "tls" : "tokens-file");
        return SHERD_ECONFIG;
    }
    if (settings->tls == TLS_MODE_OFF)
        httpd_log(httpd, SHERD_LOG_WARNING,
                  "the management is open: each program that reaches this address can read it bind=%s "
                  "hint=\"set management.http.tls\"",
                  settings->bind_host);
    return 0;
}

static int listen_at(const struct addrinfo *at, uint16_t *port)
{
    int file = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    int on = 1;

    if (file >= 0 && setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(file, at->ai_addr, at->ai_addrlen) == 0 && listen(file, BACKLOG) == 0 &&
        getsockname(file, (struct sockaddr *)&bound, &size) == 0) {
        *port = ntohs(bound.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&bound)->sin_port
                                                 : ((struct sockaddr_in6 *)(void *)&bound)->sin6_port);
        return file;
    }
    if (file >= 0) {
        int error = errno;

        (void)close(file);
        errno = error;
    }
    return -1;
}

static int refuse(struct httpd *httpd, const char *reason)
{
    httpd_log(httpd, SHERD_LOG_ERROR,
              "cannot listen for the management host=%s port=%u reason=\"%s\" key=management.http.%s",
              httpd->settings.bind_host, (unsigned)httpd->settings.bind_port, reason,
              *httpd->access->text(httpd->access->node, "http.bind-hostname") ? "bind-hostname" : "hostname");
    return SHERD_EADDRESS;
}

/* The first of the host's addresses that works. */
static int open_first(struct httpd *httpd, const struct addrinfo *found, int *file)
{
    *file = -1;
    for (const struct addrinfo *at = found; at && *file < 0; at = at->ai_next) {
        int result;

        if (at->ai_family != AF_INET && at->ai_family != AF_INET6)
            continue;
        result = check_protection(httpd, at->ai_addr);
        if (result)
            return result;
        *file = listen_at(at, &httpd->tcp_door.port);
    }
    return *file < 0 ? refuse(httpd, strerror(errno)) : 0;
}

int door_open_tcp(struct httpd *httpd)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct httpd_settings *settings = &httpd->settings;
    struct door *door = &httpd->tcp_door;
    struct addrinfo *found = NULL;
    char service[8];
    bool has_colon = strchr(settings->host, ':') != NULL;
    int file, result;

    (void)snprintf(service, sizeof service, "%u", (unsigned)settings->bind_port);
    result = getaddrinfo(settings->bind_host, service, &hints, &found);
    if (result != 0)
        return refuse(httpd, gai_strerror(result));
    result = open_first(httpd, found, &file);
    freeaddrinfo(found);
    if (result)
        return result;
    if (settings->tls != TLS_MODE_OFF) {
        result = door_open_tls(httpd, door);
        if (result) {
            (void)close(file);
            return result;
        }
    }
    door->http = evhttp_new(httpd->base);
    check(door->http && evhttp_accept_socket(door->http, file) == 0);
    (void)snprintf(httpd->url, sizeof httpd->url, "%s://%s%.120s%s:%u", door->tls ? "https" : "http",
                   has_colon ? "[" : "", settings->host, has_colon ? "]" : "", (unsigned)door->port);
    return 0;
}
