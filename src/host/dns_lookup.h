/* Look-ups of hosts' names, by getaddrinfo, so that /etc/hosts and nsswitch count as they do for every program.
 *
 * getaddrinfo waits for as long as DNS is silent, and nothing ends it. So each name is looked up on a thread of its own, of which there
 * are none while nobody asks: at most DNS_LOOKUP_THREADS_MAX, beyond which names wait in line. A name that DNS does not answer holds up no
 * other, and nobody who closes. A name is looked up once for all who ask while that runs; its addresses are kept for DNS_LOOKUP_KEPT_MS,
 * that there are none for DNS_LOOKUP_FAILED_KEPT_MS. Who gives up does not end a look-up: its answer is there for the next attempt.
 *
 * Threads: any may ask, each by an asker in its own loop, and is told there. Ownership: what is found belongs to who is told. Threads
 * that still wait for DNS when dns_lookups_close was called hold the table, and nothing of the system: the last one frees it.
 *
 * Who calls: host/socket.c and host/expected_peers.c; host/system.c has one for a system. */
#ifndef SHERD_HOST_DNS_LOOKUP_H
#define SHERD_HOST_DNS_LOOKUP_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include <uv.h>

struct lookups;
struct asker;
struct lookup;

union socket_name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* In the order in which they are to be tried, DNS_LOOKUP_ADDRESSES_MAX at most; without ports. */
struct found {
    char why[64]; /* there are none; else "" */
    uint32_t count;
    union socket_name addresses[];
};

/* Found is given; of no address when it failed. */
typedef void (*dns_lookup_done)(void *context, struct found *found);

/* The address that a text is, given, of IPv6 also in brackets; null: it is a name. Asks nobody. */
struct found *dns_lookup_number(const char *host);

struct lookups *dns_lookups_new(void);
/* After the last asker was freed. Does not wait for what runs. Null is fine. */
void dns_lookups_close(struct lookups *lookups);

struct asker *asker_new(struct lookups *lookups, uv_loop_t *loop); /* lent; on the loop's thread, as all that follows */
/* After each of its look-ups was told or cancelled. The loop must run until its handles are gone. Null is fine. */
void asker_free(struct asker *asker);

/* What becomes of it is told by the loop, never from here; the result is for dns_lookup_cancel until then. Beyond DNS_LOOKUP_NAMES_MAX it
 * fails. */
struct lookup *dns_lookup_start(struct asker *asker, const char *host,
                            dns_lookup_done done, void *context);
void dns_lookup_cancel(struct lookup *lookup); /* it is not told any more. Null is fine */

#endif
