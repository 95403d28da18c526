/* Keeps pages of other sites away: a browser sends requests for them, but gives the host and the origin. */
#ifndef SHERD_MGMT_SITES_H
#define SHERD_MGMT_SITES_H

#include "base/bytes.h"

/* The door of a connection. */
struct site {
    bool is_socket;        /* the Unix socket: any name is right */
    const char *local;     /* the connection's own address, without brackets */
    uint16_t port;
    const char *const *names; /* further ones */
    uint32_t name_count;
    bool is_secure;        /* TLS */
};

/* Is a Host header one of this server: localhost, the local address, or a name? Without a port it is
 * that of the scheme. */
bool site_is_own(const struct site *site, struct slice host);
/* May a request that changes something come from there? Null data: there is no such header. */
bool site_is_same(const struct site *site, struct slice host, struct slice origin, struct slice fetch_site);

#endif
