/* Decides for one node when and how its side of a partition downs members
 * (docs/protocol/downing.md). strategy.h chooses the side that stays.
 *
 * A pure machine beside membership. It receives what the node sees of the cluster. It leaves news:
 * members to down, and requests to the lease.
 * Call resolver_see at each change of membership and before each resolver_step. After each call
 * drain resolver_next_news and read resolver_deadline. Times are monotonic nanoseconds. */
#ifndef SHERD_RESOLVER_RESOLVER_H
#define SHERD_RESOLVER_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trace.h"
#include "resolver/strategy.h"

struct resolver_settings {
    struct strategy strategy;
    uint64_t stable_after; /* ns without a change before it decides */
    /* down-all-when-unstable: ns of changes, beyond stable_after, before it downs all, or itself
     * alone if others observed it as unreachable; 0 = off */
    uint64_t unstable_after;
    /* lease-majority: ns that the lease is kept after the removal of the downed members */
    uint64_t release_after;
};

/* The cluster as the node sees it. */
struct resolver_view {
    struct side side; /* lent */
    bool is_leader; /* this node is the leader of those that it reaches */
    bool holds_lease; /* certainly */
};

#define RESOLVER_NEWS(X)                                                       \
    X(RESOLVER_NEWS_DOWN, "down") /* down `node`; this node comes last */      \
    X(RESOLVER_NEWS_ACQUIRE, "acquire") /* acquire the lease; then call resolver_acquired */ \
    X(RESOLVER_NEWS_RELEASE, "release") /* release the lease; then call resolver_released */ \
    /* no stability for too long; the next news down all, or this node alone */ \
    X(RESOLVER_NEWS_UNSTABLE, "unstable")

enum resolver_news_kind {
#define X(name, text) name,
    RESOLVER_NEWS(X)
#undef X
};

struct resolver_news {
    enum resolver_news_kind kind;
    struct node_id node; /* DOWN: the member */
};

#define RESOLVER_COUNTERS(X)                                                   \
    X(decisions, "decisions that downed somebody")                             \
    X(downed, "members downed")                                                \
    X(unstable, "times that nothing was stable and all were downed, or this node")           \
    X(reversed, "decisions turned round: the lease was not got")

struct resolver_counters {
#define X(name, text) uint64_t name;
    RESOLVER_COUNTERS(X)
#undef X
};

/* Progress of a decision. */
enum resolver_phase {
    RESOLVER_CALM,     /* nothing to look at */
    RESOLVER_WATCHING, /* a member is unreachable; waits for stability, or another node decides */
    RESOLVER_DELAYED,  /* has decided; the other side may take the lease first */
    RESOLVER_ASKING    /* has asked for the lease */
};

struct resolver;

/* self: copied. trace: lent until resolver_free; may be null. */
struct resolver *resolver_new(const struct node_id *self,
                              const struct resolver_settings *settings,
                              struct trace *trace, uint64_t now);
void resolver_free(struct resolver *resolver); /* Null is allowed. */

/* Takes differences from the last view as having happened now. Ignored during the wait for a lease:
 * the decision stays based on what was seen before. Call again after the wait. */
void resolver_see(struct resolver *resolver, uint64_t now,
                  const struct resolver_view *view);
/* Answers RESOLVER_NEWS_ACQUIRE; false: refused or unknown. */
void resolver_acquired(struct resolver *resolver, uint64_t now, bool held);
/* Answers RESOLVER_NEWS_RELEASE; false: it will ask again. */
void resolver_released(struct resolver *resolver, uint64_t now, bool released);

/* Sets until when the decision keeps the lease. False: no decision holds it, or it is kept while
 * the downed nodes are members. */
bool resolver_keeps_lease(const struct resolver *resolver, uint64_t *until);

/* Does what is due, at most once a second while a member is unreachable. */
void resolver_step(struct resolver *resolver, uint64_t now);
uint64_t resolver_deadline(const struct resolver *resolver); /* NEVER: nothing is due. */
bool resolver_next_news(struct resolver *resolver, struct resolver_news *news);

/* The last view. After news of members to down: the one that decided. Lent until the next call. */
struct side resolver_side(const struct resolver *resolver);
enum resolver_phase resolver_phase(const struct resolver *resolver);
const struct resolver_counters *
resolver_counters(const struct resolver *resolver);

#endif
