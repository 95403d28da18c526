/* A keeper of leases in an etcd cluster, for nodes of many hosts. Behaviour 11; what is asked is in lease/request.h.
 *
 * A name is a key (prefix and name) whose value is its owner, tied to an etcd lease of the request's time. Each
 * renewal takes a new etcd lease and ties the key to it: a grant and a write are agreed on by a majority of the
 * servers, while a keep-alive is answered by whoever takes itself for the leader, and counts nothing when it is none
 * any more. Tokens are the revision at which the key was made. What was left unknown is looked at again until the
 * patience is over; only what was read or written by a majority after the request came is a grant. */
#ifndef SHERD_HOST_LEASE_ETCD_H
#define SHERD_HOST_LEASE_ETCD_H

#include <stdbool.h>

#include "host/etcd_call.h"
#include "lease/request.h"

struct lease_etcd;

int lease_etcd_open(struct lease_etcd **etcd,
                    const struct etcd_options *options, char *error,
                    size_t size) __attribute__((warn_unused_result)); /* as etcd_calls_open */
void lease_etcd_close(struct lease_etcd *etcd); /* null is fine */
/* any thread: no waiting from here on; requests are answered as unknown */
void lease_etcd_stop(struct lease_etcd *etcd);

/* Answers; waits for the patience at most. False when the answer is LEASE_UNKNOWN: lease_etcd_why says why. */
bool lease_etcd_do(struct lease_etcd *etcd, struct lease_request *request);
/* Gives back etcd leases that no key is tied to any more; after the answer was passed on. They run out without it. */
void lease_etcd_tidy(struct lease_etcd *etcd);
/* Whether a server answers, without doing anything. */
bool lease_etcd_look(struct lease_etcd *etcd);
const char *lease_etcd_why(const struct lease_etcd *etcd); /* lent until the next call */

#endif
