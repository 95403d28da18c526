/* Provides leases to the nodes of a process (memory), a host (files) or many hosts (etcd), on a
 * thread of its own.
 *
 * Requests are in lease/request.h, the rules in lease/book.h. Time is the host's monotonic clock,
 * which all its processes share. With files, NAME.lease in the directory is locked while it is read
 * and written; entries from before the host's last boot are void.
 *
 * A deleted, replaced or cut file holds no lease: another process may take it in a new file. So the
 * provider looks at its file each second, and a new file grants a lease only LEASE_SETTLE_MS later,
 * when all holders in the old one have noticed. */
#ifndef SHERD_HOST_LEASE_PROVIDER_H
#define SHERD_HOST_LEASE_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "host/etcd_call.h"
#include "host/kept_file.h"
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
    /* Says, lent, how the lease's file was changed; null: there is one again. is_held: this process
     * held the lease, and does not any more. May be null. */
    void (*changed)(void *context, const char *why, bool is_held);
    void *context;
    /* The lease's name: its file is made and watched from now on. Null: from its first request on.
     * Copied. */
    const char *name;
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

#define LEASE_PATH_SIZE 1024

/* A lease's file, as this process knows it. Zero at first, except is_left. */
struct lease_file {
    char path[LEASE_PATH_SIZE]; /* empty: of no lease yet */
    struct kept_file kept;
    int fd;          /* of it, if `kept` is set: else a new file could get its number */
    bool is_held;    /* granted here */
    bool is_changed; /* no valid file has been there since a change */
    bool is_new;     /* the last request found an empty file */
    const char *why; /* the last answer is unknown; a literal, or null: it is known */
    /* once true, a request does nothing, as the owner's next incarnation may hold the lease. Null:
     * never */
    const _Atomic bool *is_left;
};

/* Makes the file of a lease without an owner, unless it is there. False: `why` has one line. */
bool lease_file_make(struct lease_file *file, const char *directory,
                     const char *name, char *why, size_t size);
/* Runs one request on the directory's file at a monotonic time. A lease that was held in a file that
 * was changed is refused. */
void lease_file_do(struct lease_file *file, const char *directory, uint64_t now,
                   struct lease_request *request);
enum lease_file_news {
    LEASE_FILE_SAME,
    LEASE_FILE_CHANGED, /* `what` says how: a literal; a lease in it is not held any more */
    LEASE_FILE_BACK     /* after a change, there is one again */
};
enum lease_file_news lease_file_look(struct lease_file *file,
                                     const char **what);
void lease_file_forget(struct lease_file *file); /* closes it; the lease stays as it is */

/* Reads a lease file; `boot` is the host's boot id. An empty file, or one of another boot, has no
 * owner but keeps its token. False, with an empty entry: invalid. For lease_file.c and tests. */
#define LEASE_FILE_SIZE 1024 /* bytes; padded with blanks */
bool lease_file_read(struct slice file, const char *boot,
                     struct lease_entry *entry);
void lease_file_write(char text[LEASE_FILE_SIZE], const char *boot,
                      const struct lease_entry *entry);

#endif
