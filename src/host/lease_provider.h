/* Provides leases to the nodes of a process (memory), a host (files) or many hosts (etcd), on a
 * thread of its own.
 *
 * Requests are in lease/request.h, the rules in lease/book.h, the files in lease_file.h. Time is the
 * host's monotonic clock, which all its processes share. The provider looks at its files each second,
 * and a lease in a new file is granted only LEASE_SETTLE_MS later. */
#ifndef SHERD_HOST_LEASE_PROVIDER_H
#define SHERD_HOST_LEASE_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "host/etcd_call.h"
#include "lease/request.h"

struct leases;

struct lease_provider_options {
    const char *directory; /* has the files; null: in memory. Copied */
    const struct etcd_options *etcd; /* overrides the above; null: no etcd. Copied */
    /* Receives an answered request, given, on the provider's thread. It must not block. */
    void (*done)(void *context, struct lease_request *request);
    /* Receives, lent, why an answer is unknown, or that no server answers at the start. May be
     * null. */
    void (*warn)(void *context, const char *text);
    /* Says, lent, how the file of a lease of this use was changed; null: there is one again. is_held:
     * this process held the lease, and does not any more, nor what is bound to it. May be null. */
    void (*changed)(void *context, enum lease_use use, const char *why, bool is_held);
    void *context;
    /* The name of the resolver's lease: its file is made and watched from now on. Null: from its
     * first request on. Copied. */
    const char *name;
};

/* Starts the thread. 0, or -1 with one line in error: no usable directory, or no endpoint. */
int lease_provider_open(struct leases **leases, const struct lease_provider_options *options,
                char *error, size_t size)
    __attribute__((warn_unused_result));
/* Makes the lease's file now, so that its first request need not wait. Any thread. 0, or -1 with one
 * line in error. Nothing to do for other providers. */
int lease_provider_prepare(struct leases *leases, const char *name, char *error, size_t size)
    __attribute__((warn_unused_result));
/* Takes ownership; any thread. Callers have one request each, and a session a second one. */
void lease_provider_submit(struct leases *leases, struct lease_request *request);
/* Ends the thread after all requests came back, those that wait for a server as unknown. After 2 s
 * without an answer of files or name servers, it warns and leaves the thread behind, which frees
 * what it owns later. Null is allowed. */
void lease_provider_close(struct leases *leases);

#endif
