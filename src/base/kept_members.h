/* Stores the members that a core follows, in order of arrival and found by uid. A node has about
 * eight such lists of all members; a member takes 30 bytes. */
#ifndef SHERD_BASE_KEPT_MEMBERS_H
#define SHERD_BASE_KEPT_MEMBERS_H

#include "base/member_info.h"
#include "base/vec.h"

#define KEPT_MEMBERS_MAX 32767 /* the owner's limit is lower */

/* Zero is an empty one. */
struct kept_members {
    VEC(struct kept_member) items; /* in order of arrival, with holes */
    uint32_t count;              /* without the holes */
    uint16_t *places;  /* by uid: index of the item + 1, 0 = free; places of holes stay */
    uint32_t place_bits; /* two to this power */
};

void kept_members_fini(struct kept_members *kept);
/* Returns the member with that uid and, unless null, that address; null if none. Lent until the
 * next kept_members_add. All but its node may be changed. */
struct kept_member *kept_members_find(const struct kept_members *kept,
                                      uint64_t uid,
                                      const struct address *address);
/* Appends a member, stored as by kept_member_set; at most KEPT_MEMBERS_MAX. Lent as by
 * kept_members_find. */
struct kept_member *kept_members_add(struct kept_members *kept,
                                     const struct member_info *member);
/* Appends a copy of a kept member. */
struct kept_member *kept_members_add_again(struct kept_members *kept,
                                           const struct kept_member *member);
/* Keeps the order of the others. */
void kept_members_remove(struct kept_members *kept, struct kept_member *member);
/* Iterates from *at = 0; null at the end. The caller may remove the member returned last. */
struct kept_member *kept_members_next(const struct kept_members *kept, uint32_t *at);
struct kept_member *kept_members_last(const struct kept_members *kept); /* null if there is none */

#endif
