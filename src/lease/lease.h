/* Acquires, renews and releases one lease for a node, and knows whether it is certainly held.
 *
 * A pure machine: calls and time in; requests to a provider (request.h) and news out. A grant
 * counts from the time of its request. So the provider cannot have granted the lease to another
 * owner while this one considers it held. docs/protocol/downing.md has the states.
 * After each call drain lease_next_request and lease_next_news, and read lease_deadline. Pass each
 * request that returns to lease_answered. Times are monotonic nanoseconds of the node. */
#ifndef SHERD_LEASE_LEASE_H
#define SHERD_LEASE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/trace.h"
#include "lease/request.h"

/* Zero means Akka's default, in brackets. */
struct lease_options {
    const char *name;  /* copied, cut at LEASE_TEXT_MAX; so is owner */
    const char *owner; /* host:port of the node */
    uint64_t ttl;      /* heartbeat-timeout [120 s] */
    uint64_t interval; /* heartbeat-interval, between renewals [12 s]; at most half of ttl */
    uint64_t patience; /* lease-operation-timeout [5 s] */
    enum lease_provider_kind provider; /* of requests, as is `use` */
    enum lease_use use;
    bool is_session; /* each acquire begins a session (request.h); a renewal never takes another */
    struct trace *trace; /* lent until lease_free; may be null */
};

#define LEASE_STATES(X)                                                        \
    X(LEASE_FREE, "free")           /* not held, as far as known */            \
    X(LEASE_ACQUIRING, "acquiring")                                            \
    X(LEASE_HELD, "held")           /* renewed; see lease_is_held */           \
    X(LEASE_RELEASING, "releasing")

enum lease_state {
#define X(name, text) name,
    LEASE_STATES(X)
#undef X
};

enum lease_news {
    LEASE_NEWS_ACQUIRED,
    LEASE_NEWS_NOT_ACQUIRED, /* another owner has it, or the outcome is unknown */
    LEASE_NEWS_RELEASED,
    LEASE_NEWS_NOT_RELEASED, /* outcome unknown; it expires */
    LEASE_NEWS_LOST          /* it was held and is not held any more */
};

struct lease;

/* Writes the name of a resolver's lease, cut at LEASE_TEXT_MAX bytes. False: `given` is null or blank,
 * so the name is SYSTEM-akka-sbr, as Akka's is. */
bool lease_name(char *name, const char *given, const char *system);

struct lease *lease_new(const struct lease_options *options);
void lease_free(struct lease *lease); /* Null is allowed. Frees requests that were not drained. */

/* One of the first two news follows: immediately, if the lease is held. */
void lease_acquire(struct lease *lease, uint64_t now);
/* RELEASED or NOT_RELEASED follows. The lease counts as not held from this call on. A pending
 * acquire ends as NOT_ACQUIRED. */
void lease_release(struct lease *lease, uint64_t now);
/* The last call of a holder that ends. Keeps the lease taken until `at`, and free soon after it.
 * The news are those of lease_release. If `at` is over, the lease is released. If it is not held,
 * nothing happens. */
void lease_leave(struct lease *lease, uint64_t now, uint64_t at);
/* The provider has lost the lease, as its file was deleted. If this node held it, LOST follows. */
void lease_forgotten(struct lease *lease, uint64_t now);
/* True only if no other owner can have it, even if this node's clock is an eighth too slow. */
bool lease_is_held(const struct lease *lease, uint64_t now);
void lease_answered(struct lease *lease, uint64_t now,
                    struct lease_request *request); /* request: given. */

void lease_step(struct lease *lease, uint64_t now);
uint64_t lease_deadline(const struct lease *lease); /* NEVER: nothing is due. */
/* The request is given; at most one is under way. */
bool lease_next_request(struct lease *lease, struct lease_request **request);
bool lease_next_news(struct lease *lease, enum lease_news *news);

enum lease_state lease_state(const struct lease *lease);
const char *lease_state_text(enum lease_state state); /* a literal */
/* End of the certain time (lease_is_held); 0: not held. */
uint64_t lease_until(const struct lease *lease);
uint64_t lease_token(const struct lease *lease); /* Token of the last grant; 0: never granted. */

#endif
