/* Looks up host names by getaddrinfo, so that /etc/hosts and nsswitch apply.
 *
 * getaddrinfo blocks while DNS is silent. So each name gets a thread, at most
 * DNS_LOOKUP_THREADS_MAX; further names wait. A silent name delays neither others nor closing. A
 * name's look-up serves all askers. Addresses are cached for DNS_LOOKUP_KEPT_MS, failures for
 * DNS_LOOKUP_FAILED_KEPT_MS. Cancelling does not end a look-up: its answer serves the next attempt.
 *
 * Any thread may ask, through an asker of its own loop, which delivers the result, given. Threads
 * that wait for DNS after dns_lookups_close own the table only; the last one frees it.
 *
 * Called by host/socket.c and host/expected_peers.c. */
#ifndef SHERD_HOST_DNS_LOOKUP_H
#define SHERD_HOST_DNS_LOOKUP_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include <uv.h>

struct dns_lookups;
struct asker;
struct dns_lookup;

union socket_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* In the order of trial, at most DNS_LOOKUP_ADDRESSES_MAX, without ports. */
struct found {
    char why[64]; /* "" if there are any */
    uint32_t count;
    union socket_name addresses[];
};

/* `found` is given; empty after a failure. */
typedef void (*dns_lookup_done)(void *context, struct found *found);

/* Parses a numeric address (IPv6 also in brackets). Given; null: a name. */
struct found *dns_lookup_number(const char *host);

struct dns_lookups *dns_lookups_new(void);
/* After the last asker was freed. Does not wait for look-ups. Null is allowed. */
void dns_lookups_close(struct dns_lookups *lookups);

/* lent; all below on the loop's thread */
struct asker *asker_new(struct dns_lookups *lookups, uv_loop_t *loop);
/* After all its look-ups. The loop must run until its handles are closed. Null is allowed. */
void asker_free(struct asker *asker);

/* The loop delivers the result later; until then dns_lookup_cancel takes the handle. Fails beyond
 * DNS_LOOKUP_NAMES_MAX. */
struct dns_lookup *dns_lookup_start(struct asker *asker, const char *host,
                            dns_lookup_done done, void *context);
void dns_lookup_cancel(struct dns_lookup *lookup); /* null is allowed */

#endif
