/* Provides leases to the nodes of a process (memory), a host (files) or many hosts (etcd), on a
 * thread of its own.
 *
 * Requests are in lease/request.h, the rules in lease/book.h. Time is the host's monotonic clock,
 * which all its processes share. With files, NAME.lease in the directory is locked while it is read
 * and written; entries from before the host's last boot are void. */
#ifndef SHERD_HOST_LEASE_PROVIDER_H
#define SHERD_HOST_LEASE_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "host/etcd_call.h"
#include "lease/book.h"
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
    void *context;
};

/* Starts the thread. 0, or -1 with one line in error: no usable directory, or no endpoint. */
int lease_provider_open(struct leases **leases, const struct lease_provider_options *options,
                char *error, size_t size)
    __attribute__((warn_unused_result));
/* Takes ownership; any thread. Callers have one request each. */
void lease_provider_submit(struct leases *leases, struct lease_request *request);
/* Ends the thread after all requests came back, those that wait for a server as unknown. After 2 s
 * without an answer of files or name servers, it warns and leaves the thread behind, which frees
 * what it owns later. Null is allowed. */
void lease_provider_close(struct leases *leases);

/* Runs one request on the directory's file at a monotonic time; for lease_provider.c and tests.
 * Once is_left is true it does nothing, as the owner's next incarnation may hold the lease. Null:
 * never. */
void lease_file_do(const char *directory, uint64_t now,
                   const _Atomic bool *is_left,
                   struct lease_request *request);

/* Reads a lease file; `boot` is the host's boot id. An empty file, or one of another boot, has no
 * owner but keeps its token. False, with an empty entry: invalid. For lease_file.c and tests. */
#define LEASE_FILE_SIZE 1024 /* bytes; padded with blanks */
bool lease_file_read(struct slice file, const char *boot,
                     struct lease_entry *entry);
void lease_file_write(char text[LEASE_FILE_SIZE], const char *boot,
                      const struct lease_entry *entry);

#endif
