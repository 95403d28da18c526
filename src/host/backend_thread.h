/* The threads of a store: one writer and a few readers for each store of a
 * process, however many systems and lanes use it.
 *
 * The writer takes all that waits and runs it as one transaction, then the
 * next: one sync serves every lane. Readers run replays on connections of
 * their own. A request that is done is handed to its system's callback on the
 * store's thread. Systems that name the same store and path share its threads.
 *
 * Who calls: the driver (host/), from any of its threads. */
#ifndef SHERD_HOST_BACKEND_THREAD_H
#define SHERD_HOST_BACKEND_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/backend.h"

struct backend_client; /* one system's door to a store */

/* Receives finished requests, given, on a thread of the store; with their
 * number, so that a machine is woken once. It must not block, and must not call
 * backend_client_close. request->machine says whose each one is. */
typedef void (*backend_done)(void *context, struct journal_request **requests,
                           uint32_t count);

/* Hears that the log of the store at `path` cannot be emptied, with its size in bytes: when it begins, at each doubling; and
 * with 0 when it ends. On the writer's thread, before a reply to that client. */
typedef void (*backend_log_kept)(void *context, const char *path, uint64_t size);

struct backend_client_options {
    const struct backend_ops *ops; /* backend_sqlite, backend_memory */
    struct backend_options store;
    uint32_t readers;            /* threads; 0 = one. The first opener decides */
    bool polls; /* the writer polls for THREAD_POLL_NS before it sleeps when it is busy. True of one client: for all */
    backend_done done;
    backend_log_kept log_kept; /* may be null */
    void *context;
};

/* Opens the store's connections and starts its threads, or joins those that
 * this process has. 0, or -1 with one line in error (BACKEND_ERROR_MAX bytes):
 * file not writable, not a database, another cluster's. Texts are copied. */
int backend_client_open(struct backend_client **client,
                      const struct backend_client_options *options, char *error)
    __attribute__((warn_unused_result));

/* Gives a request to the store; the callback gets it back. Any thread. When
 * the queue is full (BACKEND_QUEUE_MAX) it comes back at once, as BACKEND_FAILED, on
 * the caller's thread. Not after backend_client_close began. */
void backend_submit(struct backend_client *client, struct journal_request *request);

/* Waits until every request of this client came back, then closes; the last
 * client ends the threads. Order: stop the lanes' turns, this, free the
 * lanes. Null is fine. Bounded by the store's own waits. */
void backend_client_close(struct backend_client *client);

/* Counters for status and metrics; any thread. */
struct backend_counters {
    uint64_t groups;       /* transactions */
    uint64_t requests;     /* in them */
    uint64_t replays;
    uint64_t refused;      /* at a full queue */
    uint64_t commit_ns_last; /* time of the last transaction, waiting for its turn included */
    uint64_t commit_ns_max;
    uint64_t log_tries; /* to empty the log beyond its limit, in vain */
};
void backend_client_counters(struct backend_client *client,
                           struct backend_counters *counters);

#endif
