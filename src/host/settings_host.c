/* Finds out what a machine's address and name are, for the words that Akka has for them. */
#define _GNU_SOURCE
#include "host/settings.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"

/* Writes the address of the machine's own name, like the JVM's InetAddress.getLocalHost. */
static bool own_address(const char *name, char *text, size_t size)
{
    struct addrinfo wanted = { .ai_family = AF_UNSPEC,
                               .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    bool good = getaddrinfo(name, NULL, &wanted, &found) == 0 && found &&
                getnameinfo(found->ai_addr, found->ai_addrlen, text,
                            (socklen_t)size, NULL, 0, NI_NUMERICHOST) == 0;

    if (found)
        freeaddrinfo(found);
    return good;
}

/* Reads an address in numbers, in any form that a socket takes. False: it is a name. */
static bool in_numbers(const char *host, struct sockaddr_storage *address)
{
    struct addrinfo wanted = { .ai_flags = AI_NUMERICHOST,
                               .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char bare[HOST_MAX + 1];
    bool good;

    address_bare_host(bare, host);
    good = getaddrinfo(bare, NULL, &wanted, &found) == 0 && found;
    if (good)
        memcpy(address, found->ai_addr, found->ai_addrlen);
    if (found)
        freeaddrinfo(found);
    return good;
}

static const struct in6_addr *six(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6
               ? &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
               : NULL;
}

/* Also of an IPv4 address inside an IPv6 one. */
static bool four(const struct sockaddr_storage *address, uint32_t *number)
{
    const struct sockaddr_in *name = (const void *)address;

    if (address->ss_family == AF_INET) {
        *number = ntohl(name->sin_addr.s_addr);
        return true;
    }
    if (!six(address) || !IN6_IS_ADDR_V4MAPPED(six(address)))
        return false;
    memcpy(number, six(address)->s6_addr + 12, sizeof *number);
    *number = ntohl(*number);
    return true;
}

bool settings_is_loopback(const char *host)
{
    struct sockaddr_storage address;
    uint32_t number;

    if (strcmp(host, "localhost") == 0)
        return true;
    if (!in_numbers(host, &address))
        return false;
    return four(&address, &number) ? number >> 24 == IN_LOOPBACKNET
                                   : IN6_IS_ADDR_LOOPBACK(six(&address));
}

int settings_check_host(const struct settings *settings, const char *key,
                        const char *host, char *error, size_t size)
{
    struct sockaddr_storage address;
    uint32_t number;

    if (!in_numbers(host, &address) ||
        (four(&address, &number) ? number != 0
                                 : !IN6_IS_ADDR_UNSPECIFIED(six(&address))))
        return 0;
    return settings_refuse(settings, error, size, key,
                           "is \"%s\", at which no other node finds this one; "
                           "write its address, and remote.artery.bind.hostname "
                           "= \"%s\"",
                           host, host);
}

const char *settings_path(struct settings *settings, const char *key)
{
    const char *path = config_text(settings->config, key);
    char folder[PATH_MAX];
    struct buf whole = { 0 };
    char *copy;

    if (!*path || *path == '/' || !getcwd(folder, sizeof folder))
        return path;
    buf_put_text(&whole, strcmp(folder, "/") == 0 ? "" : folder);
    buf_put_text(&whole, "/");
    buf_put(&whole, path, strlen(path) + 1);
    copy = mem_text((const char *)whole.data);
    buf_fini(&whole);
    vec_push(&settings->paths, copy);
    return copy;
}

int settings_read_host_name(struct settings *settings, const char *key,
                            const char **host, char *error, size_t size)
{
    bool is_name = strcmp(*host, "<getHostName>") == 0;
    char name[256] = "";
    char address[256];

    if (!is_name && strcmp(*host, "<getHostAddress>") != 0)
        return 0;
    if (gethostname(name, sizeof name - 1) != 0 ||
        (!is_name && !own_address(name, address, sizeof address)))
        return settings_refuse(settings, error, size, key,
                               "is \"%s\", and the address of this machine's "
                               "name \"%.100s\" is not known; write the host",
                               *host, name);
    if (!settings->own_host[is_name])
        settings->own_host[is_name] = mem_text(is_name ? name : address);
    *host = settings->own_host[is_name];
    return 0;
}
