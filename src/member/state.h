/* Answers questions about a gossip from one member's view: leader, convergence, reachability, age.
 *
 * All answers are about the data center of that member (self), unless another one is named. */
#ifndef SHERD_MEMBER_STATE_H
#define SHERD_MEMBER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "member/gossip.h"

enum observers { ALL_OBSERVERS, OBSERVERS_NOT_DOWN };

/* The combined reachability of each member, by index, as observed in the data center of self. The
 * caller frees it with mem_free. */
uint8_t *state_reach(const struct gossip *gossip, const struct profile *self,
                     enum observers observers);

/* Up, leaving, preparing or ready for shutdown: members that must see a version for convergence. */
bool member_status_counts(enum member_status status);

/* The leader as self sees it; null: none. reach: of all observers. */
struct gossip_member *state_leader(const struct gossip *gossip,
                                   const struct profile *self,
                                   const uint8_t *reach);
/* The leader among the members with a role. */
struct gossip_member *state_role_leader(const struct gossip *gossip,
                                        const struct profile *self,
                                        const uint8_t *reach, const char *role);
/* The leader without the given nodes. */
struct gossip_member *state_leader_without(const struct gossip *gossip,
                                           const struct profile *self,
                                           const uint8_t *reach,
                                           const struct node_id *without,
                                           uint32_t count);

/* True if all that count have seen this version, and only leaving members are unreachable.
 * confirmed: exiting nodes that may be removed. */
bool state_is_converged(const struct gossip *gossip, const struct profile *self,
                        const struct node_id *confirmed,
                        uint32_t confirmed_count);

/* True if self may gossip to the member: another one in any data center, which self observes as
 * reachable. */
bool state_is_target(const struct gossip *gossip, const struct profile *self,
                     const struct gossip_member *member);

int state_compare_ages(const struct gossip_member *left,
                       const struct gossip_member *right); /* < 0: left is older */
/* The one or two oldest members with the role (null: all) in the data center of self. Returns how
 * many. */
uint32_t state_two_oldest(const struct gossip *gossip,
                          const struct profile *self, const char *role,
                          const struct gossip_member *oldest[2]);

/* True if gossip should be fast: a member is down, or fewer than half of this data center have seen
 * the version. several_centers: false if there is only one. */
bool state_needs_speed(const struct gossip *gossip, const struct profile *self,
                       bool several_centers);

/* Names of data centers, lent with the gossip. */
struct state_centers {
    const char **items;
    uint32_t count;
    uint32_t capacity;
};
/* Appends each data center but that of self, in the order of their first members. Free with
 * vec_fini. */
void state_find_centers(const struct gossip *gossip,
                        const struct profile *self,
                        struct state_centers *centers);
/* Neither joining nor weakly up: a member that was up keeps its age. */
bool state_has_risen(enum member_status status);
/* The oldest members of a data center, oldest first; lent with the gossip. Free with
 * vec_fini(&oldest.members). */
struct state_oldest {
    bool only_risen; /* in: see state_has_risen */
    uint32_t max;    /* in: limit */
    VEC(const struct gossip_member *) members;
};
void state_find_oldest(const struct gossip *gossip, const char *center,
                       struct state_oldest *oldest);
/* The share (0 to 1) of rounds that prefer members with another view, for a cluster of that
 * size. */
double spread_share(double share, uint32_t reduce_from, uint32_t size);

#endif
