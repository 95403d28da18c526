/* The gossip: the one shared, versioned value that all members converge on (behaviour 2.1 to 2.4).
 *
 * A plain value with pure functions. Invariants that the shape keeps: whoever has seen it is a member (a flag of the member), each
 * incarnation is there once, members and tombstones are sorted. See gossip_valid for the others. */
#ifndef SHERD_MEMBER_GOSSIP_H
#define SHERD_MEMBER_GOSSIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "member/clock.h"
#include "member/member.h"
#include "member/profile.h"
#include "member/reachability.h"

struct gossip_member {
    struct profile *profile; /* held */
    int32_t up_number;       /* UP_NUMBER_NONE before up */
    enum member_status status; /* never removed */
    bool seen;
};

/* A removed incarnation, remembered so that a late gossip cannot bring it back. */
struct tombstone {
    struct node_id node;
    uint64_t at_ms; /* wall clock of the node that removed it */
};

/* Zero is an empty one. */
struct gossip {
    VEC(struct gossip_member) members; /* by node */
    VEC(struct tombstone) tombstones;  /* by node */
    uint32_t last_found; /* index of a member: who looks for one looks for the next one then */
    uint16_t *places; /* see gossip_index; no part of the value. Null = to be made */
    uint32_t place_bits; /* there are two to the power of this */
    bool keys_checked; /* the clock names members only, as far as is known; no part of the value */
    uint64_t forgotten; /* tombstones dropped at their limit while this one was made */
    struct reachability reachability;
    struct clock clock;
};

void gossip_fini(struct gossip *gossip);

struct gossip_member *gossip_find(const struct gossip *gossip,
                                  const struct node_id *node); /* null when none; lent until members change */
struct gossip_member *
gossip_find_profile(const struct gossip *gossip,
                    const struct profile *profile); /* of the same incarnation */
/* The same of one that was at that index before, which is looked at first and is where it is now. */
struct gossip_member *gossip_find_near(const struct gossip *gossip,
                                       const struct profile *profile,
                                       uint32_t *index);
/* The first at that address that is not down, else the first: gossips that are merged bring two incarnations together, and
 * all of them have to go before the address can be used again. */
struct gossip_member *gossip_find_address(const struct gossip *gossip,
                                          const struct address *address);
/* Another incarnation at a node's address that is not down. */
struct gossip_member *gossip_find_other_life(const struct gossip *gossip,
                                             const struct node_id *node);
/* The index of a member by its profile, without a search: rows of observations name members again and again. UINT32_MAX
 * when none. */
uint32_t gossip_index(const struct gossip *gossip,
                      const struct profile *profile);
/* Adds a member; the profile is held. It must not be there. */
struct gossip_member *gossip_add(struct gossip *gossip, struct profile *profile,
                                 enum member_status status, int32_t up_number);
/* Deletes a member with all traces in clock and reachability, and leaves a tombstone. False when there is none. */
bool gossip_remove(struct gossip *gossip, const struct node_id *node,
                   uint64_t wall_ms);
/* The same for several at once, each named once, which takes little more than one does. How many there were. */
uint32_t gossip_remove_all(struct gossip *gossip, const struct node_id *nodes,
                           uint32_t count, uint64_t wall_ms);
/* Adds one as decoded; false when it is there already. */
bool gossip_add_tombstone(struct gossip *gossip, const struct node_id *node,
                          uint64_t at_ms);
bool gossip_is_tombstoned(const struct gossip *gossip,
                          const struct node_id *node);
/* Drops tombstones older than ttl_ms; false when there was none. */
bool gossip_prune_tombstones(struct gossip *gossip, uint64_t wall_ms,
                             uint64_t ttl_ms);
void gossip_clear_seen(struct gossip *gossip);
uint32_t gossip_seen_count(const struct gossip *gossip);

/* Two concurrent values become one, the same whichever is left. Nobody has seen the result, which must be empty. Who is down or exiting on
 * one side and unknown to the other is removed, with a tombstone. True when this merge has removed somebody so: then it is a change of
 * whoever merges, which its clock has to count, as the result depends on who merges with whom first. */
bool gossip_merge(struct gossip *result, const struct gossip *left,
                  const struct gossip *right, uint64_t wall_ms);

/* Whether a newer gossip may show the second status where the first was known: by allowed transitions, or by a merge. */
bool member_status_may_follow(enum member_status earlier, enum member_status later);
/* A single step that a member may take (behaviour 2.1). */
bool member_status_may_change(enum member_status from, enum member_status to);

/* The invariants of behaviour 2.1; false when one is broken. */
bool gossip_valid(const struct gossip *gossip);

#endif
