/* Who has to go when members cannot reach each other: the decision strategies, as pure functions of one side's view.
 *
 * Each side of a partition decides alone, from what it sees, by the same rules; that both sides come to fitting conclusions
 * is what the rules are for (behaviour 8.5 to 8.7). Called by the resolver, which says when; tested by enumeration. */
#ifndef SHERD_RESOLVER_STRATEGY_H
#define SHERD_RESOLVER_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/peer.h"

/* Texts are those of the configuration. */
#define STRATEGIES(X)                                                          \
    X(STRATEGY_KEEP_MAJORITY, "keep-majority") /* the larger side stays */     \
    X(STRATEGY_STATIC_QUORUM, "static-quorum") /* a side of at least that many stays */ \
    X(STRATEGY_KEEP_OLDEST, "keep-oldest") /* the side of the oldest member stays */ \
    X(STRATEGY_DOWN_ALL, "down-all") /* nobody stays */                        \
    X(STRATEGY_LEASE_MAJORITY, "lease-majority") /* who gets a lease stays; the larger side tries first */

enum strategy_kind {
#define X(name, text) name,
    STRATEGIES(X)
#undef X
};

const char *strategy_text(enum strategy_kind kind); /* "keep-majority"; a literal */
bool strategy_parse(const char *text, enum strategy_kind *kind); /* false: no strategy's name */

struct strategy {
    enum strategy_kind kind;
    uint32_t quorum_size; /* static-quorum: at least 1 */
    bool keeps_alone; /* keep-oldest: down-if-alone is off */
    bool joining_breaks_tie; /* keep-majority: joining-breaks-tie is on */
    uint64_t minority_delay; /* lease-majority: ns that a minority lets the other side go first */
};

/* A member of the own data center as the side sees it. */
struct side_member {
    struct node_id node;
    int32_t up_number; /* age: the smaller, the older; INT32_MAX = never up */
    enum peer_status status;
    bool has_role; /* it counts: it has the strategy's role, or there is none */
    bool reachable; /* false for what is unreachable, terminated or down; true for the node that decides */
    bool seen; /* it has seen the current version of the gossip */
};

/* A member observes a member as unreachable or terminated; indexes into the members. */
struct side_record {
    uint32_t observer;
    uint32_t subject;
};

/* What a side sees. Lent to each call. */
struct side {
    const struct side_member *members; /* sorted by node; those that are down or exiting, too */
    uint32_t member_count;
    const struct side_record *records;
    uint32_t record_count;
};

/* Texts name the nodes that are downed. */
#define DECISIONS(X)                                                           \
    X(DECISION_UNREACHABLE, "down-unreachable")                                \
    X(DECISION_REACHABLE, "down-reachable") /* the own side */                 \
    X(DECISION_ALL, "down-all")                                                \
    X(DECISION_INDIRECT, "down-indirectly-connected")                          \
    X(DECISION_LEASE_UNREACHABLE, "down-unreachable-by-lease")                 \
    X(DECISION_LEASE_INDIRECT, "down-indirectly-connected-by-lease")           \
    X(DECISION_REVERSE_INDIRECT, "down-reachable-and-indirectly-connected")    \
    X(DECISION_SELF, "down-self") /* who decides, alone; no strategy's */

enum decision {
#define X(name, text) name,
    DECISIONS(X)
#undef X
};

const char *decision_text(enum decision decision); /* a literal */
bool decision_needs_lease(enum decision decision);
/* What is done when the lease is not got: the other side may have it. The decision must need one. */
enum decision decision_reverse(enum decision decision);

/* What the side decides. Behaviour 8.7. */
enum decision strategy_decide(const struct strategy *strategy,
                              const struct side *side);
/* How long to wait before asking for the lease: longer on the side with fewer members; ns. */
uint64_t strategy_lease_delay(const struct strategy *strategy,
                              const struct side *side);
/* Marks the members that the decision, not DECISION_SELF, downs: down has room for side->member_count. Returns how many. Indirectly connected
 * nodes behind indirectly connected nodes have no sound answer: then all are downed. Behaviour 8.5, 8.6. */
uint32_t strategy_targets(const struct strategy *strategy,
                          const struct side *side, enum decision decision,
                          bool *down);
/* Marks the members that are unreachable to some but live: they observe and are observed, or have seen the current gossip.
 * indirect has room for side->member_count. Returns how many. */
uint32_t strategy_indirect(const struct side *side, bool *indirect);
/* Members that count. Behaviour 8.5. */
uint32_t strategy_size(const struct side *side);
/* static-quorum only: more members than two sides could have with one quorum; then every decision is to down all. */
bool strategy_too_many(const struct strategy *strategy,
                       const struct side *side);

#endif
