/* Asks and tells entities and actors from any thread of the program: a client.
 *
 * A client keeps many requests open. Each request that it accepts ends with
 * exactly one completion, on a thread of the library (a callback) or in a
 * queue with a file descriptor for poll, epoll, libuv or libevent. Actors do
 * not need a client: they ask by sherd/actor.h.
 * Guide: docs/guide/clients.md; program: examples/http_front.c.
 *
 * Threads: any, for all functions, at the same time, with the exceptions that
 * are stated. "Any" includes receive, jobs and callbacks. Nothing but
 * sherd_client_poll with a time-out, and sherd_client_close, waits. */
#ifndef SHERD_CLIENT_H
#define SHERD_CLIENT_H

#include <sherd/entity_ref.h>
#include <sherd/system.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An example without error handling:
 *
 *   sherd_client_open(&client, system, NULL);
 *   sherd_entity_ref_make(&cart, "cart", "alice", NULL);
 *   sherd_client_ask(client, &(struct sherd_request){ .entity = &cart,
 *                    .msg = COUNT, .timeout_ms = 1000, .user = connection },
 *                    NULL);
 *   n = sherd_client_poll(client, done, 16, -1);
 *   for (uint32_t i = 0; i < n; i++)
 *       if (done[i].status == SHERD_CLIENT_ANSWERED)
 *           reply(done[i].user, done[i].body);
 *   sherd_completions_free(done, n);
 */

struct sherd_client;

/* ---- completions ---- */

/* How a request has ended: name, text. */
#define SHERD_CLIENT_STATUSES(X)                                               \
    /* msg and body have the answer. */                                        \
    X(SHERD_CLIENT_ANSWERED, "answered")                                       \
    /* No answer came in time. The message may have been handled, unless the   \
     * stage is SHERD_STAGE_NONE. */                                           \
    X(SHERD_CLIENT_TIMED_OUT, "timed out")                                     \
    /* The message was lost on its way, or its receiver failed or refused it:  \
     * reason. It may have been handled. */                                    \
    X(SHERD_CLIENT_UNDELIVERED, "undelivered")                                 \
    /* This node has not sent the message: reason. It was not handled. */      \
    X(SHERD_CLIENT_REFUSED, "refused")                                         \
    /* sherd_client_cancel, _stop or _close. It may have been handled. */      \
    X(SHERD_CLIENT_CANCELLED, "cancelled")                                     \
    /* This node has ended. The message may have been handled. */              \
    X(SHERD_CLIENT_SHUTTING_DOWN, "the node is shutting down")

#define X(name, text) name,
enum sherd_client_status {
    SHERD_CLIENT_STATUSES(X) SHERD_CLIENT_STATUS_COUNT
};
#undef X

/* Returns the text of a status: a constant; "unknown" for other values. */
SHERD_API const char *
sherd_client_status_text(enum sherd_client_status status);

/* The end of a request. `body` and `where` are valid until
 * sherd_completions_free; in a callback until it returns. */
struct sherd_completion {
    uint64_t request; /* its id, from sherd_client_ask */
    void *user;       /* as in the request */
    enum sherd_client_status status;
    uint32_t msg; /* ANSWERED: the application's number of the answer */
    /* ANSWERED: the answer's bytes, aligned to 8 bytes. UNDELIVERED: a text
     * that says why the entity could not be recovered, or nothing. */
    struct sherd_bytes body;
    enum sherd_reason reason; /* TIMED_OUT, UNDELIVERED, REFUSED: why */
    enum sherd_stage stage;   /* the same: how far the message had come */
    const char *where;        /* the node asked, "host:port", or "" */
    void *memory;             /* the library's */
};

/* Frees what completions from sherd_client_poll hold, not the array. */
SHERD_API void sherd_completions_free(struct sherd_completion *completions,
                                      uint32_t count);

/* ---- options ---- */

/* Receives one completion, lent. The calls of a client come one at a time, on a
 * thread of its own, which holds no lock. They may use the client, except
 * sherd_client_close, and may block: then completions wait. */
typedef void (*sherd_client_function)(void *user,
                                      const struct sherd_completion *done);

/* Zero means the default. */
struct sherd_client_options {
    /* Requests that may be open, 1 to 65,535; default 10,000. An ask is open
     * until its completion was taken from the queue, or its callback returns.
     * One more is refused with SHERD_EFULL. */
    uint32_t requests_max;
    /* For requests while the node is not up: before it is a member with the
     * status up, and after it was removed. 0: they are refused with
     * SHERD_ENOTREADY. 1: they wait in the client, and their time runs. */
    int waits_until_up;
    /* Receives the completions. Null: they come into a queue, for
     * sherd_client_poll. */
    sherd_client_function done;
    /* The first argument of done. */
    void *done_user;
};

/* ---- a client's life ---- */

/* Opens a client of a system that was started. A program may have several.
 *
 * client: gets the client, to be closed by sherd_client_close; null on failure.
 * options: copied; null for defaults.
 * Result: 0; SHERD_EINVAL: an option is wrong; SHERD_ESTATE: the system does
 * not run; SHERD_EFULL: it has 64 clients; SHERD_ESYSTEM: no thread or no file
 * descriptor was left.
 * It starts an actor on every lane, which passes on the requests of its lane.
 * With `done` it also starts a thread. */
SHERD_API SHERD_MUST_USE int
sherd_client_open(struct sherd_client **client, struct sherd_system *system,
                  const struct sherd_client_options *options);

/* Accepts no more requests, and completes all open ones as
 * SHERD_CLIENT_CANCELLED before it returns. Their completions still come. Tells
 * that were accepted are still sent, if the node is up. */
SHERD_API void sherd_client_stop(struct sherd_client *client);

/* Stops a client, waits until the last callback has returned, and frees it.
 *
 * client: null is fine. It is invalid when the call returns 0. It may be closed
 * after its system.
 * Result: 0; SHERD_ESTATE: this is a callback of the client; nothing happens.
 * Completions that are still in the queue are freed: call sherd_client_stop
 * first, and poll until nothing is left, if each of them matters.
 * Threads: any, except callbacks of the client. While it runs, no other thread
 * may be in a call with this client, or begin one. */
SHERD_API int sherd_client_close(struct sherd_client *client);

/* ---- requests ---- */

/* A request. All of it is copied. */
struct sherd_request {
    /* The receiver: an entity, or an actor if entity is null. */
    const struct sherd_entity_ref *entity;
    struct sherd_ref actor;
    /* If set, the receiver is the region of this type instead: its extractor
     * finds the entity (sherd/extractor.h), on the calling thread. A message
     * that it does not handle ends as SHERD_REASON_NOT_EXTRACTED. */
    const char *region;
    uint32_t msg;            /* the application's own number */
    struct sherd_bytes body; /* as for sherd_tell */
    /* The rest is for asks. The time from now on, 1 to 3,600,000 ms; other
     * values are moved into that range. */
    uint64_t timeout_ms;
    /* 1: the request fails at once if the members cannot reach the receiver's
     * node, or no longer: see sherd_entity_ask_or_fail. */
    int or_fail;
    /* 1: the entity is only started: see sherd_entity_start_ask. msg and body
     * are not sent, and or_fail is ignored. */
    int start;
    void *user; /* comes back with the completion */
};

/* Asks: one completion follows. It may come before this call returns.
 *
 * id: gets the request's id, never 0, which no other request of the client
 * has. Null is fine.
 * Result: 0; on failure no completion follows. SHERD_EINVAL: the reference is
 * not valid, or nobody, or the body is too large. SHERD_ENOTYPE: the node has
 * not registered the type, or not for that data center. SHERD_EFULL: see the
 * limits. SHERD_ENOTREADY: the node is not up. SHERD_ESTATE: the system or the
 * client has ended or is about to.
 *
 * Order: requests of one thread to one receiver, asks and tells, arrive in the
 * order in which they were made. Completions have no order.
 * Limits: options.requests_max; 64 MiB of bodies and 16,384 tells may wait for
 * one lane; then SHERD_EFULL, and nothing was sent. */
SHERD_API SHERD_MUST_USE int
sherd_client_ask(struct sherd_client *client,
                 const struct sherd_request *request, uint64_t *id);

/* Tells: no completion follows. timeout_ms, or_fail and user are ignored.
 *
 * Result: as for sherd_client_ask. An answer to a tell is ignored. */
SHERD_API SHERD_MUST_USE int
sherd_client_tell(struct sherd_client *client,
                  const struct sherd_request *request);

/* Cancels an ask. Its completion says SHERD_CLIENT_CANCELLED; a message that
 * was sent may still be handled.
 *
 * Result: 0; SHERD_ESTATE: the request has ended already, with the completion
 * that has come or is about to, or there is none with this id. */
SHERD_API int sherd_client_cancel(struct sherd_client *client, uint64_t id);

/* ---- the queue of completions ---- */

/* Returns the file descriptor of the queue. It is readable while completions
 * wait; it may be so once more without one. Only watch it: the library reads
 * and closes it. -1: the client has a callback. */
SHERD_API int sherd_client_fd(const struct sherd_client *client);

/* Takes completions from the queue.
 *
 * completions: gets up to max of them, to be freed by sherd_completions_free.
 * timeout_ms: how long to wait for the first one, as for poll(2): 0 does not
 * wait, -1 waits without a limit. A thread of the library must pass 0.
 * Result: how many; 0: none came in time, or the client has a callback. */
SHERD_API uint32_t sherd_client_poll(struct sherd_client *client,
                                     struct sherd_completion *completions,
                                     uint32_t max, int timeout_ms);

/* ---- numbers ---- */

/* Counters since the client was opened. */
struct sherd_client_counts {
    uint64_t asked;   /* accepted asks */
    uint64_t told;    /* accepted tells */
    uint64_t refused; /* calls that failed with SHERD_EFULL */
    /* tells that were never sent, because the node was not up in time */
    uint64_t tells_dropped;
    uint64_t ended[SHERD_CLIENT_STATUS_COUNT]; /* asks by status */
    uint32_t open;                             /* asks that are open */
};

/* Takes a snapshot of a client's counters. */
SHERD_API void sherd_client_counts(struct sherd_client *client,
                                   struct sherd_client_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
