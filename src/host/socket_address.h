/* Converts socket addresses to IPv6. */
#ifndef SHERD_HOST_SOCKET_ADDRESS_H
#define SHERD_HOST_SOCKET_ADDRESS_H

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* Maps IPv4 to IPv6 (::ffff:127.0.0.1). The family is AF_INET or AF_INET6. */
static inline struct in6_addr socket_address(const struct sockaddr *socket)
{
    struct in6_addr address = { 0 };

    if (socket->sa_family == AF_INET6)
        return ((const struct sockaddr_in6 *)(const void *)socket)->sin6_addr;
    address.s6_addr[10] = address.s6_addr[11] = 0xff;
    memcpy(address.s6_addr + 12,
           &((const struct sockaddr_in *)(const void *)socket)->sin_addr, 4);
    return address;
}

#endif
