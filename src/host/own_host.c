/* Finds the name of this machine and its address. */
#define _GNU_SOURCE
#include "host/own_host.h"

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct addrinfo *first_of(const struct addrinfo *found, int family)
{
    while (found && found->ai_family != family)
        found = found->ai_next;
    return found;
}

static bool look_up(const char *name, char found[HOST_MAX + 1])
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM };
    const struct addrinfo *best;
    struct addrinfo *list = NULL;
    bool good;

    if (getaddrinfo(name, NULL, &hints, &list) != 0)
        return false;
    best = first_of(list, AF_INET);
    if (!best)
        best = list;
    good = getnameinfo(best->ai_addr, best->ai_addrlen, found, HOST_MAX + 1,
                       NULL, 0, NI_NUMERICHOST) == 0;
    freeaddrinfo(list);
    return good;
}

const char *own_host_of(const char *text, char found[HOST_MAX + 1])
{
    bool is_address = strcmp(text, "<getHostAddress>") == 0;
    char name[HOST_MAX + 1] = "";

    if (!is_address && strcmp(text, "<getHostName>") != 0)
        return text;
    if (gethostname(name, sizeof name - 1) != 0 || !name[0])
        return text;
    if (!is_address) {
        memcpy(found, name, sizeof name);
        return found;
    }
    return look_up(name, found) ? found : text;
}
