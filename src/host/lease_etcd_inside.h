/* Declares what the files of leases in etcd share.
 * lease_etcd.c       leases with a time, and the tries of a request
 * lease_etcd_bind.c  bound leases */
#ifndef SHERD_HOST_LEASE_ETCD_INSIDE_H
#define SHERD_HOST_LEASE_ETCD_INSIDE_H

#include "host/lease_etcd.h"

struct lease_etcd {
    struct etcd_calls *calls;
    char *prefix;
    uint64_t patience;
    uint64_t idle; /* an etcd lease without a key; 0: none */
};

/* Appends both texts together in base64, and a zero. */
void lease_etcd_put_name(struct buf *buf, const char *first, const char *second);
/* Tries once to carry out LEASE_BIND. True: all its leases have a certain answer. */
bool lease_etcd_bind(struct lease_etcd *etcd, uint64_t until, struct lease_request *request);

#endif
