/* Finds out what a machine's address and name are, for the words that Akka has for them. */
#define _GNU_SOURCE
#include "host/settings.h"

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
