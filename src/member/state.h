/* Questions about a gossip, as one member asks them: who leads, is it converged, who is reachable, who is oldest (behaviour 2.6).
 *
 * All look at the data center of the asking member, unless they are told of another. */
#ifndef SHERD_MEMBER_STATE_H
#define SHERD_MEMBER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "member/gossip.h"

enum observers { ALL_OBSERVERS, OBSERVERS_NOT_DOWN };

/* The combined reachability of each member, by index, as seen by observers of the data center of self. The caller frees it with
 * mem_free. */
uint8_t *state_reach(const struct gossip *gossip, const struct profile *self,
                     enum observers observers);

/* Up, leaving, or one of the two of a full shutdown: those who must see a version before it is converged. */
bool member_status_counts(enum member_status status);

/* The leader as self sees it; null when none. reach is of all observers. */
struct gossip_member *state_leader(const struct gossip *gossip,
                                   const struct profile *self,
                                   const uint8_t *reach);
/* The leader among the members with a role. */
struct gossip_member *state_role_leader(const struct gossip *gossip,
                                        const struct profile *self,
                                        const uint8_t *reach, const char *role);
/* The leader that would be chosen without the nodes given. */
struct gossip_member *state_leader_without(const struct gossip *gossip,
                                           const struct profile *self,
                                           const uint8_t *reach,
                                           const struct node_id *without,
                                           uint32_t count);

/* All that count have seen this version and nobody is unreachable unless going. confirmed: exiting nodes that are ready to be
 * removed. */
bool state_is_converged(const struct gossip *gossip, const struct profile *self,
                        const struct node_id *confirmed,
                        uint32_t confirmed_count);

/* Whether self may gossip to the member: another one, in whatever data center, not observed otherwise by self. */
bool state_is_target(const struct gossip *gossip, const struct profile *self,
                     const struct gossip_member *member);

int state_compare_ages(const struct gossip_member *left,
                       const struct gossip_member *right); /* < 0: left is older */
/* The up to two oldest members with the role (null = all) in the data center of self. Returns how many. */
uint32_t state_two_oldest(const struct gossip *gossip,
                          const struct profile *self, const char *role,
                          const struct gossip_member *oldest[2]);

/* Gossip in a hurry: somebody is down, or fewer than half of the own data center have seen this version (behaviour 2.7).
 * several_centers false: all are of that one. */
bool state_needs_speed(const struct gossip *gossip, const struct profile *self,
                       bool several_centers);

/* Names of data centers, lent with the gossip. */
struct state_centers {
    const char **items;
    uint32_t count;
    uint32_t capacity;
};
/* Appends each data center but that of self once, in the order of their first members. vec_fini afterwards. */
void state_find_centers(const struct gossip *gossip,
                        const struct profile *self,
                        struct state_centers *centers);
/* Neither joining nor weakly up: whoever was up keeps its age. */
bool state_has_risen(enum member_status status);
/* The oldest members of a data center, the oldest first; lent with the gossip. vec_fini(&oldest.members) afterwards. */
struct state_oldest {
    bool only_risen; /* in: see state_has_risen */
    uint32_t max;    /* in: at most so many */
    VEC(const struct gossip_member *) members;
};
void state_find_oldest(const struct gossip *gossip, const char *center,
                       struct state_oldest *oldest);
/* The share (0 to 1) of rounds that prefer members with a different view, for a cluster of that size (behaviour 2.7). */
double spread_share(double share, uint32_t reduce_from, uint32_t size);

#endif
