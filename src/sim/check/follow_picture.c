/* Implements pictures; only members are searched in order. */
#include "sim/check/follow_picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/sorted.h"

void picture_fini(struct picture *picture)
{
    for (uint32_t i = 0; i < picture->roles.count; i++)
        mem_free(picture->roles.items[i].role);
    for (uint32_t i = 0; i < picture->centers.count; i++)
        mem_free(picture->centers.items[i]);
    vec_fini(&picture->members);
    vec_fini(&picture->roles);
    vec_fini(&picture->centers);
    *picture = (struct picture){ .leader = 0 };
}

/* ---- members ---- */

static int order_of_member(const void *member, const void *uid)
{
    uint64_t left = ((const struct follow_member *)member)->uid;
    uint64_t right = *(const uint64_t *)uid;

    return (left > right) - (left < right);
}

/* The index where the member stands or would stand. */
static uint32_t place_of(const struct picture *picture, uint64_t uid)
{
    return sorted_vec_place(&picture->members, order_of_member, &uid);
}

struct follow_member *picture_member(const struct picture *picture,
                                     uint64_t uid)
{
    uint32_t at = place_of(picture, uid);

    return at < picture->members.count && picture->members.items[at].uid == uid
               ? &picture->members.items[at]
               : NULL;
}

struct follow_member *picture_make_member(struct picture *picture, uint64_t uid)
{
    struct follow_member *member = picture_member(picture, uid);
    uint32_t at = place_of(picture, uid);

    if (member)
        return member;
    vec_push(&picture->members, ((struct follow_member){ .uid = uid }));
    member = &picture->members.items[at];
    memmove(member + 1, member,
            (picture->members.count - 1 - at) * sizeof *member);
    *member = (struct follow_member){ .uid = uid };
    return member;
}

void picture_remove(struct picture *picture, uint64_t uid)
{
    const struct follow_member *member = picture_member(picture, uid);

    if (member)
        vec_remove(&picture->members,
                   (uint32_t)(member - picture->members.items));
}

/* ---- roles and data centers ---- */

static struct follow_leader *find_role(const struct picture *picture,
                                       const char *role)
{
    for (uint32_t i = 0; i < picture->roles.count; i++)
        if (!strcmp(picture->roles.items[i].role, role))
            return &picture->roles.items[i];
    return NULL;
}

uint64_t picture_role_leader(const struct picture *picture, const char *role)
{
    const struct follow_leader *leader = find_role(picture, role);

    return leader ? leader->uid : 0;
}

void picture_set_role_leader(struct picture *picture, const char *role,
                             uint64_t uid)
{
    struct follow_leader *leader = find_role(picture, role);

    if (leader && uid) {
        leader->uid = uid;
    } else if (leader) {
        mem_free(leader->role);
        vec_remove(&picture->roles, (uint32_t)(leader - picture->roles.items));
    } else if (uid) {
        vec_push(&picture->roles,
                 ((struct follow_leader){ .role = mem_text(role), .uid = uid }));
    }
}

/* Returns its index, or the number of data centers if absent. */
static uint32_t find_center(const struct picture *picture, const char *center)
{
    uint32_t at = 0;

    while (at < picture->centers.count &&
           strcmp(picture->centers.items[at], center) != 0)
        at++;
    return at;
}

bool picture_has_center(const struct picture *picture, const char *center)
{
    return find_center(picture, center) < picture->centers.count;
}

void picture_set_center(struct picture *picture, const char *center,
                        bool is_unreachable)
{
    uint32_t at = find_center(picture, center);

    if (is_unreachable && at == picture->centers.count) {
        vec_push(&picture->centers, mem_text(center));
    } else if (!is_unreachable && at < picture->centers.count) {
        mem_free(picture->centers.items[at]);
        vec_remove(&picture->centers, at);
    }
}

/* ---- comparing ---- */

enum sherd_cluster_event_kind follow_kind(enum sherd_member_status status)
{
    static const enum sherd_cluster_event_kind kinds[] = {
        [SHERD_JOINING] = SHERD_MEMBER_JOINED,
        [SHERD_UP] = SHERD_MEMBER_UP,
        [SHERD_LEAVING] = SHERD_MEMBER_LEFT,
        [SHERD_EXITING] = SHERD_MEMBER_EXITED,
        [SHERD_DOWN] = SHERD_MEMBER_DOWNED,
        [SHERD_REMOVED] = SHERD_MEMBER_REMOVED,
        [SHERD_WEAKLY_UP] = SHERD_MEMBER_WEAKLY_UP,
        [SHERD_PREPARING_FOR_SHUTDOWN] = SHERD_MEMBER_PREPARING_FOR_SHUTDOWN,
        [SHERD_READY_FOR_SHUTDOWN] = SHERD_MEMBER_READY_FOR_SHUTDOWN,
    };

    return kinds[status];
}

static bool differs(char *text, size_t size, const char *what, uint64_t heard,
                    uint64_t held)
{
    if (heard == held)
        return false;
    (void)snprintf(text, size, "%s: heard %" PRIu64 ", held %" PRIu64, what,
                   heard, held); /* cut at size */
    return true;
}

static bool member_differs(const struct follow_member *heard,
                           const struct follow_member *held, bool knows_reach,
                           char *text, size_t size)
{
    if (heard->uid == held->uid && heard->status == held->status &&
        heard->up_number == held->up_number &&
        (!knows_reach || heard->is_unreachable == held->is_unreachable))
        return false;
    (void)snprintf(text, size,
                   "heard uid %" PRIu64 " %s %u%s, held uid %" PRIu64
                   " %s %u%s",
                   heard->uid,
                   sherd_cluster_event_text(follow_kind(heard->status)),
                   heard->up_number,
                   heard->is_unreachable ? " unreachable" : "", held->uid,
                   sherd_cluster_event_text(follow_kind(held->status)),
                   held->up_number,
                   held->is_unreachable ? " unreachable" : ""); /* cut at size */
    return true;
}

static bool members_differ(const struct picture *heard,
                           const struct picture *held, bool knows_reach,
                           char *text, size_t size)
{
    if (differs(text, size, "members", heard->members.count,
                held->members.count))
        return true;
    for (uint32_t i = 0; i < held->members.count; i++)
        if (member_differs(&heard->members.items[i], &held->members.items[i],
                           knows_reach, text, size))
            return true;
    return false;
}

static bool roles_differ(const struct picture *heard,
                         const struct picture *held, char *text, size_t size)
{
    for (uint32_t i = 0; i < held->roles.count; i++) {
        const struct follow_leader *leader = &held->roles.items[i];

        if (differs(text, size, leader->role,
                    picture_role_leader(heard, leader->role), leader->uid))
            return true;
    }
    return differs(text, size, "roles that are led", heard->roles.count,
                   held->roles.count);
}

static bool centers_differ(const struct picture *heard,
                           const struct picture *held, char *text, size_t size)
{
    for (uint32_t i = 0; i < held->centers.count; i++) {
        if (picture_has_center(heard, held->centers.items[i]))
            continue;
        (void)snprintf(text, size, "%s was not heard to be unreachable",
                       held->centers.items[i]); /* cut at size */
        return true;
    }
    return differs(text, size, "unreachable data centers",
                   heard->centers.count, held->centers.count);
}

static bool has_all(uint32_t events, uint32_t needed)
{
    return (events & needed) == needed;
}

bool picture_equals(const struct picture *heard, const struct picture *held,
                    uint32_t events, char *text, size_t size)
{
    bool knows_reach = has_all(events, SHERD_EVENTS_REACHABILITY);

    if (has_all(events, SHERD_EVENT(SHERD_CLUSTER_SHUTTING_DOWN)) &&
        differs(text, size, "the node is out", heard->is_out, held->is_out))
        return false;
    if (has_all(events, SHERD_EVENTS_MEMBERS) &&
        members_differ(heard, held, knows_reach, text, size))
        return false;
    if (has_all(events, SHERD_EVENT(SHERD_LEADER_CHANGED)) &&
        differs(text, size, "the leader", heard->leader, held->leader))
        return false;
    if (has_all(events, SHERD_EVENT(SHERD_ROLE_LEADER_CHANGED)) &&
        roles_differ(heard, held, text, size))
        return false;
    return !has_all(events, SHERD_EVENTS_DATA_CENTERS) ||
           !centers_differ(heard, held, text, size);
}

static uint64_t sign(uint64_t signature, uint64_t value)
{
    return (signature ^ value) * UINT64_C(0x100000001b3);
}

uint64_t picture_signature(const struct picture *picture)
{
    uint64_t signature = sign(UINT64_C(0xcbf29ce484222325), picture->is_out);

    for (uint32_t i = 0; i < picture->members.count; i++) {
        const struct follow_member *member = &picture->members.items[i];

        signature = sign(signature, member->uid);
        signature = sign(signature, (uint64_t)member->status);
        signature = sign(signature, member->up_number);
        signature = sign(signature, member->is_unreachable);
    }
    signature = sign(signature, picture->leader);
    for (uint32_t i = 0; i < picture->roles.count; i++)
        signature = sign(signature, picture->roles.items[i].uid);
    return sign(signature, picture->centers.count);
}
