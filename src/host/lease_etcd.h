/* Keeps leases in an etcd cluster, for nodes of many hosts (lease/request.h).
 *
 * A key (prefix and name) has the owner as its value, and is tied to an etcd lease of the request's
 * time. Each renewal takes a new etcd lease: a majority of the servers agrees on grants and writes,
 * while a deposed leader may answer a keep-alive. The token is the revision at which the key was
 * created. After an unknown result, the key is read again until the patience is over. A lease is
 * granted only by what a majority read or wrote after the request came.
 *
 * A bound lease is a key with the session's name and token as its value, tied to no etcd lease. It is
 * free when the session's key does not exist, or was created at another revision than the token. A
 * batch is read in one transaction and written in another (lease_etcd_bind.c). */
#ifndef SHERD_HOST_LEASE_ETCD_H
#define SHERD_HOST_LEASE_ETCD_H

#include <stdbool.h>

#include "host/etcd_call.h"
#include "lease/request.h"

struct lease_etcd;

int lease_etcd_open(struct lease_etcd **etcd,
                    const struct etcd_options *options, char *error,
                    size_t size) __attribute__((warn_unused_result)); /* as etcd_calls_open */
void lease_etcd_close(struct lease_etcd *etcd); /* null is allowed */
/* Any thread. Stops waiting; requests are answered as unknown. */
void lease_etcd_stop(struct lease_etcd *etcd);

/* Answers a request; blocks for the patience at most. False: LEASE_UNKNOWN; lease_etcd_why has the
 * reason. */
bool lease_etcd_do(struct lease_etcd *etcd, struct lease_request *request);
/* Revokes etcd leases without a key. Called after the answer was delivered. Otherwise they
 * expire. */
void lease_etcd_tidy(struct lease_etcd *etcd);
/* Tells whether a server answers. */
bool lease_etcd_look(struct lease_etcd *etcd);
const char *lease_etcd_why(const struct lease_etcd *etcd); /* lent until the next call */

#endif
