/* What one knows of a cluster: its members, who of them cannot be reached, who leads. As a follower makes it of what it hears, to be compared
 * with what a node's membership holds. */
#ifndef SHERD_SIM_FOLLOW_PICTURE_H
#define SHERD_SIM_FOLLOW_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sherd/cluster.h>

#include "base/vec.h"

struct follow_member {
    uint64_t uid;
    enum sherd_member_status status;
    uint32_t up_number; /* 0 = none */
    bool is_unreachable;
};

struct follow_leader {
    char *role;   /* owned */
    uint64_t uid; /* 0 = nobody */
};

/* Zero is one of nobody. */
struct picture {
    VEC(struct follow_member) members; /* by uid */
    VEC(struct follow_leader) roles;
    VEC(char *) centers; /* data centers that cannot be reached; owned */
    uint64_t leader; /* 0 = nobody */
    bool is_out;     /* the node is */
};

void picture_fini(struct picture *picture); /* it is one of nobody then */
struct follow_member *picture_member(const struct picture *picture,
                                     uint64_t uid); /* null: it is none; lent until the next change */
/* The same, made if it is none. */
struct follow_member *picture_make_member(struct picture *picture,
                                          uint64_t uid);
void picture_remove(struct picture *picture, uint64_t uid);
uint64_t picture_role_leader(const struct picture *picture, const char *role);
void picture_set_role_leader(struct picture *picture, const char *role,
                             uint64_t uid);
bool picture_has_center(const struct picture *picture, const char *center);
void picture_set_center(struct picture *picture, const char *center,
                        bool is_unreachable);

/* Whether they are equal in what that set of events tells; false with what differs in text (size bytes). */
bool picture_equals(const struct picture *heard, const struct picture *held,
                    uint32_t events, char *text, size_t size);
/* Of all that it holds; equal ones of the same history have equal ones. */
uint64_t picture_signature(const struct picture *picture);
/* The event that tells a status. */
enum sherd_cluster_event_kind follow_kind(enum sherd_member_status status);

#endif
