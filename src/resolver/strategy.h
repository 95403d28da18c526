/* Decides which members are downed when members cannot reach each other: pure functions of one
 * side's view. docs/protocol/downing.md specifies them.
 *
 * Each side of a partition decides alone by the same rules. The rules make the decisions of both
 * sides fit. The resolver calls these functions and decides when. */
#ifndef SHERD_RESOLVER_STRATEGY_H
#define SHERD_RESOLVER_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/member_info.h"

/* Texts are those of the configuration. */
#define STRATEGIES(X)                                                          \
    X(STRATEGY_KEEP_MAJORITY, "keep-majority") /* the larger side stays */     \
    X(STRATEGY_STATIC_QUORUM, "static-quorum") /* a side of at least quorum_size stays */ \
    X(STRATEGY_KEEP_OLDEST, "keep-oldest") /* the side of the oldest member stays */ \
    X(STRATEGY_DOWN_ALL, "down-all") /* no side stays */                       \
    /* the side that gets a lease stays; the larger side asks first */         \
    X(STRATEGY_LEASE_MAJORITY, "lease-majority")

enum strategy_kind {
#define X(name, text) name,
    STRATEGIES(X)
#undef X
};

const char *strategy_text(enum strategy_kind kind); /* a literal, as "keep-majority" */
bool strategy_parse(const char *text, enum strategy_kind *kind); /* False: no strategy's name. */

struct strategy {
    enum strategy_kind kind;
    uint32_t quorum_size; /* static-quorum: at least 1 */
    bool keeps_alone; /* keep-oldest: down-if-alone is off */
    bool joining_breaks_tie; /* keep-majority: joining-breaks-tie is on */
    /* lease-majority: ns by which a minority lets the other side go first */
    uint64_t minority_delay;
};

/* A member observes another as unreachable or terminated; indexes into the members. */
struct side_record {
    uint32_t observer;
    uint32_t subject;
};

/* The cluster as a side sees it. Lent to each call.
 *
 * A member has_role if it counts: it has the strategy's role, or there is none. It is reachable
 * unless it is unreachable, terminated or down; the deciding node always is. It has seen the
 * current version of the gossip if `seen`. Addresses are lent as long as the resolver. */
struct side {
    /* of this data center, sorted by node; down and exiting ones included */
    const struct kept_member *members;
    uint32_t member_count;
    const struct side_record *records;
    uint32_t record_count;
};

/* Texts name the nodes that are downed. */
#define DECISIONS(X)                                                           \
    X(DECISION_UNREACHABLE, "down-unreachable")                                \
    X(DECISION_REACHABLE, "down-reachable") /* this side */                    \
    X(DECISION_ALL, "down-all")                                                \
    X(DECISION_INDIRECT, "down-indirectly-connected")                          \
    X(DECISION_LEASE_UNREACHABLE, "down-unreachable-by-lease")                 \
    X(DECISION_LEASE_INDIRECT, "down-indirectly-connected-by-lease")           \
    X(DECISION_REVERSE_INDIRECT, "down-reachable-and-indirectly-connected")    \
    X(DECISION_SELF, "down-self") /* the deciding node alone; no strategy decides this */

enum decision {
#define X(name, text) name,
    DECISIONS(X)
#undef X
};

const char *decision_text(enum decision decision); /* a literal */
bool decision_needs_lease(enum decision decision);
/* The decision if the lease is not granted, because the other side may have it. The argument must
 * need a lease. */
enum decision decision_reverse(enum decision decision);

/* Returns the side's decision. */
enum decision strategy_decide(const struct strategy *strategy,
                              const struct side *side);
/* Returns ns to wait before asking for the lease: longer on the side with fewer members. */
uint64_t strategy_lease_delay(const struct strategy *strategy,
                              const struct side *side);
/* Marks the members that the decision downs; not for DECISION_SELF. down: room for
 * side->member_count. Returns the count. If nodes are indirectly connected even without the first
 * ones, there is no sound answer: all are downed. */
uint32_t strategy_targets(const struct strategy *strategy,
                          const struct side *side, enum decision decision,
                          bool *down);
/* Marks members that are unreachable to some but alive: they observe and are observed, or have seen
 * the current gossip. indirect: room for side->member_count. Returns the count. */
uint32_t strategy_indirect(const struct side *side, bool *indirect);
/* Counts the members that count for the strategy. */
uint32_t strategy_size(const struct side *side);
/* static-quorum: more members than two quorums less one. Then every decision is DECISION_ALL. */
bool strategy_too_many(const struct strategy *strategy,
                       const struct side *side);

#endif
