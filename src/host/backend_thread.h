/* Runs one writer and a few readers for each journal of a process, shared by all systems and lanes
 * that name its path.
 *
 * The writer runs all waiting requests as one transaction, then the next ones: one sync serves
 * every lane. Readers have connections of their own. Finished requests go to their system's
 * callback on the journal's thread.
 *
 * Called by the driver from any of its threads. */
#ifndef SHERD_HOST_BACKEND_THREAD_H
#define SHERD_HOST_BACKEND_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/backend_damage.h"
#include "journal/backend.h"

struct backend_client; /* a system's connection to a journal */

/* Receives finished requests, given, on a thread of the journal: many at once, to wake a machine
 * once. request->machine is each one's machine. It must not block or call backend_client_close. */
typedef void (*backend_done)(void *context, struct journal_request **requests,
                           uint32_t count);

/* Reports the size in bytes of a log that cannot be emptied: first, at each doubling, and 0 when it
 * was. On the writer's thread, before a reply to that client. */
typedef void (*backend_log_kept)(void *context, const char *path, uint64_t size);

/* Reports once that the store is gone or replaced, with a line. Requests fail from then on. On the
 * writer's thread. It must not call backend_client_close. */
typedef void (*backend_lost)(void *context, const char *why);

/* Reports that the store accepts no group any more, with a line, and with null that it does again. On
 * the writer's thread. It must not call backend_client_close. */
typedef void (*backend_failing)(void *context, const char *why);

/* Reports a part of the store that is damaged, and why; null: it was found intact again. A client hears
 * of the first earlier ones in backend_client_open. On any thread of the journal. It must not call a
 * function of this file. */
typedef void (*backend_part)(void *context, const char *part, const char *why);

/* Reports the end of a check of the whole store. On the checker's thread, as above. */
typedef void (*backend_checked)(void *context, const struct backend_check *check);

/* Receives a line of a registered back end. On any thread of the journal, or in backend_client_open. It
 * must not call a function of this file. */
typedef void (*backend_log)(void *context, enum sherd_backend_level level,
                            const char *line);

struct backend_client_options {
    const struct backend_ops *ops; /* backend_sqlite, backend_memory */
    struct backend_options store;
    uint32_t readers;            /* threads; 0 = one. The first client decides */
    bool polls; /* a busy writer polls for THREAD_POLL_NS; one true counts for all clients */
    backend_done done;
    backend_log log;           /* may be null */
    backend_log_kept log_kept; /* may be null */
    backend_lost lost;         /* may be null */
    backend_failing failing;   /* may be null */
    backend_part damaged;      /* may be null, as the next */
    backend_checked checked;
    /* ns between two checks of the whole store; 0: none. The first client decides, also the rate, in
     * bytes a second */
    uint64_t check_interval;
    uint64_t check_rate;
    void *context;
};

/* Opens the journal, or shares it. 0, or -1 with one line in error (BACKEND_ERROR_MAX bytes). Texts
 * are copied. Refuses files in a child that was forked from a process with a journal in files. */
int backend_client_open(struct backend_client **client,
                      const struct backend_client_options *options, char *error)
    __attribute__((warn_unused_result));

/* Starts the journal's threads, if no client did. Before the first request. 0, or -1 with one line in
 * error. */
int backend_client_start(struct backend_client *client, char *error)
    __attribute__((warn_unused_result));

/* Any thread. The identity of the client's store, lent until its close. */
const struct backend_identity *
backend_client_identity(const struct backend_client *client);

/* Copies the store's first damaged parts. Returns how many there are in all. Any thread. */
uint64_t backend_client_damage(struct backend_client *client,
                               struct backend_damaged_part *parts, uint32_t max);

/* The callback returns the request. Any thread. At BACKEND_QUEUE_MAX it returns at once as
 * BACKEND_FAILED, on the caller's thread. Not after backend_client_close began. */
void backend_submit(struct backend_client *client, struct journal_request *request);

/* Waits until all requests came back; the last client ends the threads. After the lanes' last
 * turns, before the lanes are freed. Null is allowed. The journal's own waits bound the time. */
void backend_client_close(struct backend_client *client);

/* Any thread. */
struct backend_counters {
    uint64_t groups;       /* transactions */
    uint64_t requests;     /* in these transactions */
    uint64_t replays;
    uint64_t refused;      /* at a full queue */
    uint64_t commit_ns_last; /* last transaction, including the wait for its turn */
    uint64_t commit_ns_max;
    uint64_t log_tries; /* failed tries to empty a log */
};
void backend_client_counters(struct backend_client *client,
                           struct backend_counters *counters);

#endif
