/* Addresses of nodes that are expected to connect, as settings name them or they were found, for the listener: connections
 * from there are no strangers'. Names are looked up, and again each EXPECTED_LOOK_MS, as a node may
 * come back with another address; when a name is not known any more its last addresses stay.
 *
 * Who calls: host/listener.c, on one thread. */
#ifndef SHERD_HOST_EXPECTED_PEERS_H
#define SHERD_HOST_EXPECTED_PEERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/address.h"

struct expected;
struct lookups;

/* Lent. Without look-ups (null) only numbers are expected. */
struct expected *expected_new(uv_loop_t *loop, struct lookups *lookups);
/* These, copied, take the place of those before; what is beyond MEMBER_SEEDS_MAX is left out. Numbers count at once. */
void expected_set(struct expected *expected, const struct address *nodes,
                  uint32_t count);
/* Addresses are those of IPv6, others are mapped into it. */
bool expected_has(const struct expected *expected,
                  const struct in6_addr *address);
/* The loop must run until its handles are gone. Null is fine. */
void expected_free(struct expected *expected);

#endif
