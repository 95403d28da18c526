/* Holds what a follower heard of a cluster, to compare it with its node's membership. */
#ifndef SHERD_SIM_CHECK_FOLLOW_PICTURE_H
#define SHERD_SIM_CHECK_FOLLOW_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sherd/cluster.h>

#include "base/vec.h"

struct follow_member {
    uint64_t uid;
    enum sherd_member_status status;
    uint32_t up_number; /* 0: none */
    bool is_unreachable;
};

struct follow_leader {
    char *role;   /* owned */
    uint64_t uid; /* 0: none */
};

/* Zero is a picture without members. */
struct picture {
    VEC(struct follow_member) members; /* by uid */
    VEC(struct follow_leader) roles;
    VEC(char *) centers; /* unreachable data centers; owned */
    uint64_t leader; /* 0: none */
    bool is_out;     /* the node is out */
};

void picture_fini(struct picture *picture); /* leaves it without members */
struct follow_member *picture_member(const struct picture *picture,
                                     /* null: no such member; lent until the next change */
                                     uint64_t uid);
/* The same, but adds a missing member. */
struct follow_member *picture_make_member(struct picture *picture,
                                          uint64_t uid);
void picture_remove(struct picture *picture, uint64_t uid);
uint64_t picture_role_leader(const struct picture *picture, const char *role);
void picture_set_role_leader(struct picture *picture, const char *role,
                             uint64_t uid);
bool picture_has_center(const struct picture *picture, const char *center);
void picture_set_center(struct picture *picture, const char *center,
                        bool is_unreachable);

/* Whether they are equal in what these events report. False: text (size bytes) has the
 * difference. */
bool picture_equals(const struct picture *heard, const struct picture *held,
                    uint32_t events, char *text, size_t size);
/* Over all content; equal pictures of equal history have equal signatures. */
uint64_t picture_signature(const struct picture *picture);
/* The event that reports a status. */
enum sherd_cluster_event_kind follow_kind(enum sherd_member_status status);

#endif
