/* The split brain resolver of one node: when a partition has been stable for long enough, its leader downs one side of it.
 *
 * Behaviour 8. A pure machine beside membership: it is shown what the node sees of the cluster, and leaves news: whom to down,
 * what to ask of a lease. The rules by which sides are chosen are in strategy.h.
 *
 * Order of use: resolver_new; resolver_see at each change of membership and before each resolver_step; after each call drain
 * resolver_next_news, look at resolver_deadline. Times are monotonic nanoseconds. */
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
    uint64_t unstable_after; /* ns of changes, beyond stable_after, before it downs all, or itself alone where others took it for unreachable meanwhile: down-all-when-unstable; 0 = off */
    uint64_t release_after; /* lease-majority: ns that the lease is kept when those it was taken against are removed */
};

/* What the node sees. */
struct resolver_view {
    struct side side; /* lent */
    bool is_leader; /* this node is, among those that it can reach */
    bool holds_lease; /* certainly */
};

#define RESOLVER_NEWS(X)                                                       \
    X(RESOLVER_NEWS_DOWN, "down") /* that member; this node comes last */      \
    X(RESOLVER_NEWS_ACQUIRE, "acquire") /* the lease; then call resolver_acquired */ \
    X(RESOLVER_NEWS_RELEASE, "release") /* it; then call resolver_released */ \
    X(RESOLVER_NEWS_UNSTABLE, "unstable") /* nothing was stable for too long: the news behind it down all, or this node alone */

enum resolver_news_kind {
#define X(name, text) name,
    RESOLVER_NEWS(X)
#undef X
};

struct resolver_news {
    enum resolver_news_kind kind;
    struct node_id node; /* DOWN: whom */
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

/* How far it is with a decision. */
enum resolver_phase {
    RESOLVER_CALM,     /* there is nothing to look at */
    RESOLVER_WATCHING, /* somebody cannot be reached: it waits for a picture that stays, or is not the one who decides */
    RESOLVER_DELAYED,  /* has decided; the other side may take the lease first */
    RESOLVER_ASKING    /* has asked for the lease */
};

struct resolver;

/* self is copied; trace is lent for life and may be null. */
struct resolver *resolver_new(const struct node_id *self,
                              const struct resolver_settings *settings,
                              struct trace *trace, uint64_t now);
void resolver_free(struct resolver *resolver); /* null is fine */

/* What differs from the last view is taken as having happened now. Not looked at while it waits for a lease: then it decides on
 * what it saw before, and wants to see again afterwards. */
void resolver_see(struct resolver *resolver, uint64_t now,
                  const struct resolver_view *view);
/* The answer to RESOLVER_NEWS_ACQUIRE: false when the lease was refused or nobody knows. */
void resolver_acquired(struct resolver *resolver, uint64_t now, bool held);
/* The answer to RESOLVER_NEWS_RELEASE; false: it is asked for again. */
void resolver_released(struct resolver *resolver, uint64_t now, bool released);

/* Until when the lease is kept for what was decided by it; false: it is not held for that, or as long as who was downed is a member. */
bool resolver_keeps_lease(const struct resolver *resolver, uint64_t *until);

/* Does what is due: each second while anything is unreachable, and no oftener. */
void resolver_step(struct resolver *resolver, uint64_t now);
uint64_t resolver_deadline(const struct resolver *resolver); /* NEVER while all is well */
bool resolver_next_news(struct resolver *resolver, struct resolver_news *news);

/* What it looked at last: behind news of whom to down, what it decided from. Lent until the next call. */
struct side resolver_side(const struct resolver *resolver);
enum resolver_phase resolver_phase(const struct resolver *resolver);
const struct resolver_counters *
resolver_counters(const struct resolver *resolver);

#endif
