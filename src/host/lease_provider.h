/* A keeper of leases for the nodes of one process (memory), of one host (files) or of many (etcd), and the thread that
 * asks it.
 *
 * Behaviour 11; what is asked is in lease/request.h, the rule in lease/book.h. Time is the host's monotonic clock,
 * which all processes share and which ends with the host, as whoever holds a lease there does.
 *
 * Files: one for each lease, NAME.lease in the directory, locked while it is read and written. What was written before
 * the host's last start counts as nobody's. */
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
    const char *directory; /* of the files; null: in memory, one table for the process. Copied */
    const struct etcd_options *etcd; /* where etcd is, see lease_etcd.h; wins over the above; null: not there. Copied */
    /* Receives an answered request, given, on the keeper's thread. It must not block. */
    void (*done)(void *context, struct lease_request *request);
    /* Why there is no answer but that nobody knows, a line, lent; and at the start, when no server answers. Null:
     * nobody asks. */
    void (*warn)(void *context, const char *text);
    void *context;
};

/* Starts the thread. 0, or -1 with one line in error: no such directory, no file can be made there, no endpoint. */
int lease_provider_open(struct leases **leases, const struct lease_provider_options *options,
                char *error, size_t size)
    __attribute__((warn_unused_result));
/* given; any thread. Bounded by its callers: one each */
void lease_provider_submit(struct leases *leases, struct lease_request *request);
/* Ends the thread; every request has come back before, one that waits for a server as unknown. A thread that files or names of servers
 * do not answer for 2 s is left behind, and frees what is its own when they do; that is warned of. Null is fine. */
void lease_provider_close(struct leases *leases);

/* One request at a file of this directory, at a time of the monotonic clock; for leases.c and tests. is_left: once it is true, nothing is
 * done: a later life under the owner's name may hold the lease by then. Null: it never is. */
void lease_file_do(const char *directory, uint64_t now,
                   const _Atomic bool *is_left,
                   struct lease_request *request);

/* What stands in such a file; boot names the host's start. What is empty, or of another start, is nobody's; only the token
 * goes on. False, with an empty entry, when it is something else. For lease_file.c and tests. */
#define LEASE_FILE_SIZE 1024 /* bytes; the rest is filled with blanks */
bool lease_file_read(struct slice file, const char *boot,
                     struct lease_entry *entry);
void lease_file_write(char text[LEASE_FILE_SIZE], const char *boot,
                      const struct lease_entry *entry);

#endif
