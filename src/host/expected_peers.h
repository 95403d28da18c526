/* Keeps the addresses from which peers are expected to connect, from settings or discovery.
 *
 * Names are looked up each EXPECTED_LOOK_MS, as a node may return with another address. If a name
 * becomes unknown, its last addresses stay.
 *
 * Called by host/listener.c, on one thread. */
#ifndef SHERD_HOST_EXPECTED_PEERS_H
#define SHERD_HOST_EXPECTED_PEERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/address.h"

struct expected;
struct dns_lookups;

/* Lent. Null look-ups: only numeric addresses are expected. */
struct expected *expected_new(uv_loop_t *loop, struct dns_lookups *lookups);
/* Replaces the nodes; copied, at most MEMBER_SEEDS_MAX. */
void expected_set(struct expected *expected, const struct address *nodes,
                  uint32_t count);
/* IPv4 is mapped into IPv6. */
bool expected_has(const struct expected *expected,
                  const struct in6_addr *address);
/* The loop must run until its handles are closed. Null is allowed. */
void expected_free(struct expected *expected);

#endif
