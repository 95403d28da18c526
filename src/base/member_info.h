/* Describes a member to the cores that follow membership; the node translates. */
#ifndef SHERD_BASE_MEMBER_INFO_H
#define SHERD_BASE_MEMBER_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"

/* Values are those of the wire. */
#define MEMBER_STATUSES(X)                                                     \
    X(MEMBER_JOINING, 0, "joining")                                            \
    X(MEMBER_UP, 1, "up")                                                      \
    X(MEMBER_LEAVING, 2, "leaving")                                            \
    X(MEMBER_EXITING, 3, "exiting")                                            \
    X(MEMBER_DOWN, 4, "down")                                                  \
    X(MEMBER_REMOVED, 5, "removed")                                            \
    X(MEMBER_WEAKLY_UP, 6, "weakly-up")                                        \
    X(MEMBER_PREPARING_FOR_SHUTDOWN, 7, "preparing-for-shutdown")              \
    X(MEMBER_READY_FOR_SHUTDOWN, 8, "ready-for-shutdown")

enum member_status {
#define X(name, value, text) name = value,
    MEMBER_STATUSES(X)
#undef X
};
#define MEMBER_STATUS_COUNT 9

/* Akka's akka.util.Version: parsed by membership, compared where needed. */
struct member_version {
    int64_t numbers[4];
    const char *rest; /* the part after the numbers, lent; null or "" = a release */
};

struct member_info {
    struct node_id node;
    /* the same address, lent for the core's lifetime instead of a copy; null = none */
    const struct kept_address *lasting;
    struct member_version version;
    int32_t up_number; /* age: smaller is older; INT32_MAX = never up */
    enum member_status status;
    bool reachable;
    bool has_role; /* has the role and data center that the receiving core serves */
    bool is_far; /* in another data center than this node */
};

/* A member as a core keeps it; a lasting address is not copied. Zero is an empty one. */
struct kept_member {
    uint64_t uid;
    const struct kept_address *address;
    int32_t up_number; /* age: smaller is older; INT32_MAX = never up */
    uint8_t status; /* enum member_status */
    bool is_copied : 1; /* the core owns the address */
    /* Set only in sides (resolver/strategy.h); the first two also in a coordinator's members. */
    bool reachable : 1;
    bool has_role : 1;
    bool seen : 1;
    uint8_t marks; /* bits for the core's own use */
};

/* Stores a new member or updates a known one. A known up number stays when the merge of a leave
 * with the leader's move to Up has lost it; Akka's ClusterSingletonManager keeps it, too. */
void kept_member_set(struct kept_member *kept,
                     const struct member_info *member);
/* Returns a copy, to be freed separately. */
struct kept_member kept_member_again(const struct kept_member *kept);
void kept_member_fini(struct kept_member *kept);

static inline struct node_id kept_member_node(const struct kept_member *kept)
{
    return (struct node_id){ address_again(kept->address), kept->uid };
}

static inline bool kept_member_is(const struct kept_member *kept,
                                  const struct node_id *node)
{
    return kept->uid == node->uid &&
           kept_address_equal(kept->address, &node->address);
}

/* As node_compare. */
int kept_member_compare(const struct kept_member *left,
                        const struct kept_member *right);
/* Below zero: left is older. */
int kept_member_compare_age(const struct kept_member *left,
                            const struct kept_member *right);

#endif
