/* One lease as a node holds it: asked for, renewed, given back; and whether it is certainly held just now.
 *
 * Behaviour 11. A pure machine: verbs and time in, requests to a keeper (request.h) and news out. That a request was granted
 * counts from when it was sent, so that the keeper cannot have let another owner in while this one believes that it holds.
 *
 * Order of use: lease_new; after each call drain lease_next_request and lease_next_news, look at lease_deadline; each request
 * comes back through lease_answered. Times are monotonic nanoseconds of the node. */
#ifndef SHERD_LEASE_LEASE_H
#define SHERD_LEASE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/trace.h"
#include "lease/request.h"

/* Zero = the reference's default, in brackets. */
struct lease_options {
    const char *name;  /* copied; cut at LEASE_TEXT_MAX, as the next */
    const char *owner; /* host:port of the node */
    uint64_t ttl;      /* heartbeat-timeout [120 s] */
    uint64_t interval; /* between renewals: heartbeat-interval [12 s]; at most half of the above */
    uint64_t patience; /* lease-operation-timeout [5 s] */
    struct trace *trace; /* lent for life; may be null */
};

#define LEASE_STATES(X)                                                        \
    X(LEASE_FREE, "free")           /* not held, as far as is known */         \
    X(LEASE_ACQUIRING, "acquiring")                                            \
    X(LEASE_HELD, "held")           /* and renewed; see lease_is_held */       \
    X(LEASE_RELEASING, "releasing")

enum lease_state {
#define X(name, text) name,
    LEASE_STATES(X)
#undef X
};

enum lease_news {
    LEASE_NEWS_ACQUIRED,
    LEASE_NEWS_NOT_ACQUIRED, /* another owner has it, or nobody knows */
    LEASE_NEWS_RELEASED,
    LEASE_NEWS_NOT_RELEASED, /* nobody knows; it runs out by itself */
    LEASE_NEWS_LOST          /* it was held and is not any more */
};

struct lease;

struct lease *lease_new(const struct lease_options *options);
void lease_free(struct lease *lease); /* null is fine; requests not drained are freed */

/* One of the first two news follows. While it is held the answer is at once that it is. */
void lease_acquire(struct lease *lease, uint64_t now);
/* One of RELEASED and NOT_RELEASED follows; it is not held from here on. An acquiring under way ends as NOT_ACQUIRED. */
void lease_release(struct lease *lease, uint64_t now);
/* For who ends, as the last verb: while it is held nobody else gets it before that time, and soon after it anybody may. Then news as of
 * lease_release. While it is not held nothing happens, or at a time that is over: it is released. */
void lease_leave(struct lease *lease, uint64_t now, uint64_t at);
/* Certainly: no other owner can have it, were this node's clock an eighth too slow. */
bool lease_is_held(const struct lease *lease, uint64_t now);
void lease_answered(struct lease *lease, uint64_t now,
                    struct lease_request *request); /* given */

void lease_step(struct lease *lease, uint64_t now);
uint64_t lease_deadline(const struct lease *lease); /* NEVER when nothing is to be done */
bool lease_next_request(struct lease *lease, struct lease_request **request); /* given; at most one is under way */
bool lease_next_news(struct lease *lease, enum lease_news *news);

enum lease_state lease_state(const struct lease *lease);
const char *lease_state_text(enum lease_state state); /* a literal */
uint64_t lease_until(const struct lease *lease); /* lease_is_held before this time; 0: it is not held */
uint64_t lease_token(const struct lease *lease); /* of the last time that it was granted; 0: never */

#endif
