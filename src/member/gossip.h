/* Defines the gossip: the versioned value that becomes equal on all members
 * (docs/protocol/gossip.md), with pure functions.
 *
 * Its shape keeps some invariants. Seers are members, because seen is a member's flag. An
 * incarnation occurs once. Members and tombstones are sorted. gossip_valid checks the others. */
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

/* A removed incarnation: a late gossip cannot bring it back. */
struct tombstone {
    struct node_id node;
    uint64_t at_ms; /* wall clock of the removing node */
};

/* Zero is empty. */
struct gossip {
    VEC(struct gossip_member) members; /* by node */
    VEC(struct tombstone) tombstones;  /* by node */
    uint32_t last_found; /* index of a member; searches often want the next one */
    uint16_t *places; /* see gossip_index; not part of the value. Null: to be made */
    uint32_t place_bits; /* log2 of their number */
    bool keys_checked; /* the clock has only keys of members; not part of the value */
    uint64_t forgotten; /* tombstones dropped at their limit while this value was made */
    struct reachability reachability;
    struct clock clock;
};

void gossip_fini(struct gossip *gossip);

/* Null: none. Lent until members change. */
struct gossip_member *gossip_find(const struct gossip *gossip,
                                  const struct node_id *node);
struct gossip_member *
gossip_find_profile(const struct gossip *gossip,
                    const struct profile *profile); /* Finds the member of the same incarnation. */
/* The same, with a hint: index, where the member was before. Updates it. */
struct gossip_member *gossip_find_near(const struct gossip *gossip,
                                       const struct profile *profile,
                                       uint32_t *index);
/* The first at that address that is not down, otherwise the first. A merge can bring two
 * incarnations together. All must be removed before the address is free again. */
struct gossip_member *gossip_find_address(const struct gossip *gossip,
                                          const struct address *address);
/* Another incarnation at a node's address that is not down. */
struct gossip_member *gossip_find_other_life(const struct gossip *gossip,
                                             const struct node_id *node);
/* Index of a member by its profile, in constant time, for the rows of observations. UINT32_MAX:
 * none. */
uint32_t gossip_index(const struct gossip *gossip,
                      const struct profile *profile);
/* Adds a new member; holds the profile. */
struct gossip_member *gossip_add(struct gossip *gossip, struct profile *profile,
                                 enum member_status status, int32_t up_number);
/* Removes a member with its clock key and observations, and leaves a tombstone. False: none. */
bool gossip_remove(struct gossip *gossip, const struct node_id *node,
                   uint64_t wall_ms);
/* The same for several nodes, each named once, in little more time. Returns how many were
 * members. */
uint32_t gossip_remove_all(struct gossip *gossip, const struct node_id *nodes,
                           uint32_t count, uint64_t wall_ms);
/* Adds a decoded tombstone; false: it is there already. */
bool gossip_add_tombstone(struct gossip *gossip, const struct node_id *node,
                          uint64_t at_ms);
bool gossip_is_tombstoned(const struct gossip *gossip,
                          const struct node_id *node);
/* Drops tombstones older than ttl_ms; false: there was none. */
bool gossip_prune_tombstones(struct gossip *gossip, uint64_t wall_ms,
                             uint64_t ttl_ms);
void gossip_clear_seen(struct gossip *gossip);
uint32_t gossip_seen_count(const struct gossip *gossip);

/* Merges two concurrent values into an empty result with an empty seen set. Left and right may be
 * exchanged. Removes, with a tombstone, each member that is down or exiting on one side and absent
 * on the other. True: it removed one. The caller must then count in the clock, because the result
 * depends on the order of merges. */
bool gossip_merge(struct gossip *result, const struct gossip *left,
                  const struct gossip *right, uint64_t wall_ms);

/* True if a newer gossip may show `later` where `earlier` was known, after transitions or a
 * merge. */
bool member_status_may_follow(enum member_status earlier, enum member_status later);
/* True if one transition leads from `from` to `to`. */
bool member_status_may_change(enum member_status from, enum member_status to);

/* False: an invariant of the gossip is broken. */
bool gossip_valid(const struct gossip *gossip);

#endif
