/* Implements the gossip value: members, tombstones and the merge. */
#include "member/gossip.h"

#include <string.h>

#include "base/bound.h"
#include "base/limits.h"
#include "base/mark.h"
#include "base/sorted.h"

static void forget_places(struct gossip *gossip)
{
    mem_free(gossip->places);
    gossip->places = NULL;
}

void gossip_fini(struct gossip *gossip)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        profile_drop(gossip->members.items[i].profile);
    vec_fini(&gossip->members);
    forget_places(gossip);
    vec_fini(&gossip->tombstones);
    reachability_fini(&gossip->reachability);
    clock_fini(&gossip->clock);
}

static int order_of_member(const void *member, const void *node)
{
    return profile_order(
        ((const struct gossip_member *)member)->profile, node);
}

/* Index of the first member that is not before the node. */
static uint32_t lower_bound(const struct gossip *gossip,
                            const struct node_id *node)
{
    return sorted_vec_place(&gossip->members, order_of_member, node);
}

static bool is_at(const struct gossip *gossip, uint32_t at,
                  const struct node_id *node)
{
    return at < gossip->members.count &&
           profile_is(gossip->members.items[at].profile, node);
}

struct gossip_member *gossip_find(const struct gossip *gossip,
                                  const struct node_id *node)
{
    uint32_t at = gossip->last_found;

    /* All lists of nodes have the same order. Usually it is the next one. */
    if (!is_at(gossip, at, node) && !is_at(gossip, ++at, node)) {
        at = lower_bound(gossip, node);
        if (!is_at(gossip, at, node))
            return NULL;
    }
    ((struct gossip *)(uintptr_t)gossip)->last_found = at; /* not part of the value */
    return &gossip->members.items[at];
}

struct gossip_member *gossip_find_near(const struct gossip *gossip,
                                       const struct profile *profile,
                                       uint32_t *index)
{
    struct gossip_member *found;

    if (*index < gossip->members.count &&
        (profile_same(gossip->members.items[*index].profile, profile)))
        return &gossip->members.items[*index];
    found = gossip_find_profile(gossip, profile);
    if (found)
        *index = (uint32_t)(found - gossip->members.items);
    return found;
}

struct gossip_member *gossip_find_profile(const struct gossip *gossip,
                                          const struct profile *profile)
{
    for (uint32_t at = gossip->last_found;
         at < gossip->members.count && at <= gossip->last_found + 1; at++) {
        if (!profile_same(gossip->members.items[at].profile, profile))
            continue;
        ((struct gossip *)(uintptr_t)gossip)->last_found = at;
        return &gossip->members.items[at];
    }
    return gossip_find(gossip, PROFILE_NODE(profile));
}

/* Spreads pointers, which differ mostly in their low bits. */
static uint32_t first_place(const struct gossip *gossip,
                            const struct profile *profile)
{
    return (uint32_t)(((uint64_t)(uintptr_t)profile *
                       UINT64_C(0x9e3779b97f4a7c15)) >>
                      (64 - gossip->place_bits));
}

static bool stands_at(const struct gossip *gossip,
                      const struct profile *profile, uint32_t index)
{
    return index < gossip->members.count &&
           gossip->members.items[index].profile == profile;
}

/* The place of the profile's index, or the free place (0) after the taken ones. */
static uint16_t *place_of(const struct gossip *gossip,
                          const struct profile *profile)
{
    uint32_t mask = (UINT32_C(1) << gossip->place_bits) - 1;
    uint32_t at = first_place(gossip, profile);

    while (gossip->places[at] &&
           !stands_at(gossip, profile, gossip->places[at] - 1u))
        at = (at + 1) & mask;
    return &gossip->places[at];
}

static void make_places(struct gossip *gossip)
{
    gossip->place_bits = 4;
    while (UINT32_C(1) << gossip->place_bits < 2 * gossip->members.count)
        gossip->place_bits++;
    gossip->places = mem_alloc((size_t)sizeof *gossip->places
                               << gossip->place_bits);
    for (uint32_t i = 0; i < gossip->members.count; i++)
        *place_of(gossip, gossip->members.items[i].profile) =
            (uint16_t)(i + 1);
}

uint32_t gossip_index(const struct gossip *gossip,
                      const struct profile *profile)
{
    const struct gossip_member *found;
    uint32_t index;

    _Static_assert(2 * GOSSIP_MEMBERS_MAX < UINT16_MAX, "as merged at most");
    if (!gossip->places)
        make_places((struct gossip *)(uintptr_t)gossip);
    index = *place_of(gossip, profile);
    if (index)
        return index - 1;
    /* another profile of the same incarnation */
    found = gossip_find_profile(gossip, profile);
    return found ? (uint32_t)(found - gossip->members.items) : UINT32_MAX;
}

struct gossip_member *gossip_find_address(const struct gossip *gossip,
                                          const struct address *address)
{
    /* The smallest UID as a signed number: before all incarnations. */
    struct node_id node = { *address, (uint64_t)INT64_MIN };
    struct gossip_member *first = NULL;

    for (uint32_t at = lower_bound(gossip, &node);
         at < gossip->members.count &&
         kept_address_equal(gossip->members.items[at].profile->address,
                       address);
         at++) {
        struct gossip_member *found = &gossip->members.items[at];

        if (found->status != MEMBER_DOWN)
            return found;
        first = first ? first : found;
    }
    return first;
}

struct gossip_member *gossip_find_other_life(const struct gossip *gossip,
                                             const struct node_id *node)
{
    struct node_id first = { node->address, (uint64_t)INT64_MIN };

    for (uint32_t at = lower_bound(gossip, &first);
         at < gossip->members.count &&
         kept_address_equal(gossip->members.items[at].profile->address,
                       &node->address);
         at++)
        if (gossip->members.items[at].profile->uid != node->uid &&
            gossip->members.items[at].status != MEMBER_DOWN)
            return &gossip->members.items[at];
    return NULL;
}

struct gossip_member *gossip_add(struct gossip *gossip, struct profile *profile,
                                 enum member_status status, int32_t up_number)
{
    struct gossip_member added = { profile, up_number, status, false };
    uint32_t at = lower_bound(gossip, PROFILE_NODE(profile));

    check(
        at == gossip->members.count ||
        !profile_same(gossip->members.items[at].profile, profile));
    (void)profile_hold(profile);
    forget_places(gossip);
    vec_push(&gossip->members, added);
    memmove(&gossip->members.items[at + 1], &gossip->members.items[at],
            (gossip->members.count - 1 - at) * sizeof added);
    gossip->members.items[at] = added;
    return &gossip->members.items[at];
}

static int order_of_tombstone(const void *tombstone, const void *node)
{
    return node_compare(&((const struct tombstone *)tombstone)->node,
                        node);
}

static uint32_t find_tombstone(const struct gossip *gossip,
                               const struct node_id *node)
{
    return sorted_vec_place(&gossip->tombstones, order_of_tombstone, node);
}

bool gossip_is_tombstoned(const struct gossip *gossip,
                          const struct node_id *node)
{
    uint32_t at = find_tombstone(gossip, node);

    return at < gossip->tombstones.count &&
           node_equal(&gossip->tombstones.items[at].node, node);
}

/* Keeps the table bounded: drops the earliest removal. */
static void drop_oldest_tombstone(struct gossip *gossip)
{
    uint32_t oldest = 0;

    for (uint32_t i = 1; i < gossip->tombstones.count; i++)
        if (gossip->tombstones.items[i].at_ms <
            gossip->tombstones.items[oldest].at_ms)
            oldest = i;
    vec_remove(&gossip->tombstones, oldest);
}

bool gossip_add_tombstone(struct gossip *gossip, const struct node_id *node,
                          uint64_t at_ms)
{
    struct tombstone tombstone = { *node, at_ms };
    uint32_t at = find_tombstone(gossip, node);

    if (at < gossip->tombstones.count &&
        node_equal(&gossip->tombstones.items[at].node, node))
        return false;
    if (gossip->tombstones.count == MEMBER_TOMBSTONES_MAX) {
        REACHED("the table of tombstones is full");
        drop_oldest_tombstone(gossip);
        gossip->forgotten++;
        at = find_tombstone(gossip, node);
    }
    vec_push(&gossip->tombstones, tombstone);
    memmove(&gossip->tombstones.items[at + 1], &gossip->tombstones.items[at],
            (gossip->tombstones.count - 1 - at) * sizeof tombstone);
    gossip->tombstones.items[at] = tombstone;
    BOUNDED("tombstones that are kept", gossip->tombstones.count, MEMBER_TOMBSTONES_MAX);
    return true;
}

/* Adds the tombstones of a sorted list that are missing. */
static void put_tombstones(struct gossip *gossip,
                           const struct tombstone *items, uint32_t count)
{
    uint32_t before = gossip->tombstones.count, merged = 0;
    struct tombstone *both;

    if (before + count > MEMBER_TOMBSTONES_MAX) {
        for (uint32_t i = 0; i < count; i++)
            (void)gossip_add_tombstone(gossip, &items[i].node, items[i].at_ms);
        return;
    }
    if (!count)
        return;
    both = mem_alloc((before + count) * sizeof *both);
    for (uint32_t l = 0, r = 0; l < before || r < count; merged++) {
        const struct tombstone *left = gossip->tombstones.items;
        int order = l == before  ? 1
                    : r == count ? -1
                                 : node_compare(&left[l].node, &items[r].node);

        both[merged] = order <= 0 ? left[l] : items[r];
        l += order <= 0;
        r += order >= 0;
    }
    mem_free(gossip->tombstones.items);
    gossip->tombstones.items = both;
    gossip->tombstones.count = merged;
    gossip->tombstones.capacity = before + count;
}

/* Members to be removed, by index. */
struct going {
    const struct gossip *gossip;
    const bool *flags;
};

static struct profile *keep_staying(const void *context,
                                    const struct profile *profile)
{
    const struct going *going = context;
    uint32_t at = gossip_index(going->gossip, profile);

    return at < going->gossip->members.count && !going->flags[at]
               ? going->gossip->members.items[at].profile
               : NULL;
}

static void prune_clock(struct gossip *gossip, const bool *goes)
{
    bool *stays = mem_alloc(gossip->clock.entries.count);

    memset(stays, true, gossip->clock.entries.count);
    for (uint32_t i = 0; i < gossip->members.count; i++) {
        uint32_t at = goes[i] ? clock_index(&gossip->clock,
                                            &gossip->members.items[i].profile->key)
                              : UINT32_MAX;

        if (at != UINT32_MAX)
            stays[at] = false;
    }
    clock_keep(&gossip->clock, stays);
    mem_free(stays);
}

static void remove_members(struct gossip *gossip, const bool *goes,
                           uint32_t count, uint64_t wall_ms)
{
    struct tombstone *tombstones = mem_alloc(count * sizeof *tombstones);
    uint32_t kept = 0, gone = 0;

    for (uint32_t i = 0; i < gossip->members.count; i++) {
        struct gossip_member member = gossip->members.items[i];

        if (!goes[i]) {
            gossip->members.items[kept++] = member;
            continue;
        }
        tombstones[gone++] =
            (struct tombstone){ profile_node(member.profile), wall_ms };
        profile_drop(member.profile);
    }
    gossip->members.count = kept;
    forget_places(gossip);
    put_tombstones(gossip, tombstones, gone);
    mem_free(tombstones);
}

uint32_t gossip_remove_all(struct gossip *gossip, const struct node_id *nodes,
                           uint32_t count, uint64_t wall_ms)
{
    bool *goes = mem_alloc(gossip->members.count);
    struct going going = { gossip, goes };
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct gossip_member *member = gossip_find(gossip, &nodes[i]);

        if (!member || goes[member - gossip->members.items])
            continue;
        goes[member - gossip->members.items] = true;
        found++;
    }
    if (found) {
        reachability_remove(&gossip->reachability, keep_staying, &going);
        prune_clock(gossip, goes);
        remove_members(gossip, goes, found, wall_ms);
    }
    mem_free(goes);
    return found;
}

bool gossip_remove(struct gossip *gossip, const struct node_id *node,
                   uint64_t wall_ms)
{
    return gossip_remove_all(gossip, node, 1, wall_ms) != 0;
}

bool gossip_prune_tombstones(struct gossip *gossip, uint64_t wall_ms,
                             uint64_t ttl_ms)
{
    uint32_t kept = 0;
    uint32_t count = gossip->tombstones.count;

    for (uint32_t i = 0; i < count; i++) {
        const struct tombstone *tombstone = &gossip->tombstones.items[i];

        if (tombstone->at_ms + ttl_ms > wall_ms)
            gossip->tombstones.items[kept++] = *tombstone;
    }
    gossip->tombstones.count = kept;
    return kept < count;
}

void gossip_clear_seen(struct gossip *gossip)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        gossip->members.items[i].seen = false;
}

uint32_t gossip_seen_count(const struct gossip *gossip)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < gossip->members.count; i++)
        count += gossip->members.items[i].seen;
    return count;
}

/* Merge priority: the higher status wins. */
static int priority(enum member_status status)
{
    switch (status) {
    case MEMBER_REMOVED:
        return 8;
    case MEMBER_READY_FOR_SHUTDOWN:
        return 7;
    case MEMBER_DOWN:
        return 6;
    case MEMBER_EXITING:
        return 5;
    case MEMBER_LEAVING:
        return 4;
    case MEMBER_PREPARING_FOR_SHUTDOWN:
        return 3;
    case MEMBER_UP:
        return 2;
    case MEMBER_WEAKLY_UP:
        return 1;
    case MEMBER_JOINING:
        return 0;
    }
    return 0;
}

static const struct gossip_member *
pick_member(const struct gossip_member *left, const struct gossip_member *right)
{
    SOMETIMES("a merge meets two statuses of a member",
              left->status != right->status);
    if (left->status != right->status)
        return priority(left->status) > priority(right->status) ? left : right;
    return left->up_number <= right->up_number ? left : right;
}

static void merge_tombstones(struct gossip *result, const struct gossip *from)
{
    put_tombstones(result, from->tombstones.items, from->tombstones.count);
}

/* A merge in progress. */
struct merging {
    struct gossip *result;
    uint64_t wall_ms;
    bool differs; /* a side has a member that the other lacks */
    bool removes; /* this merge removes a member */
};

static bool is_going(enum member_status status)
{
    return status == MEMBER_DOWN || status == MEMBER_EXITING;
}

/* A member that one side lacks was removed there, or is new. A downed or exiting one counts as
 * removed and gets a tombstone. The other side may have been suspended while the member came and
 * was downed. A third node that knows it as up must not bring it back. */
static const struct gossip_member *
pick_single(struct merging *merging, const struct gossip_member *member)
{
    const struct node_id *node = PROFILE_NODE(member->profile);
    bool is_gone = gossip_is_tombstoned(merging->result, node);

    merging->differs = true;
    SOMETIMES("a merge meets a member that only one side has removed", is_gone);
    if (is_gone)
        return NULL;
    if (!is_going(member->status))
        return member;
    REACHED("a merge removes an exiting member that one side does not know");
    (void)gossip_add_tombstone(merging->result, node, merging->wall_ms);
    merging->removes = true;
    return NULL;
}

static void merge_members(struct merging *merging, const struct gossip *left,
                          const struct gossip *right)
{
    struct gossip *result = merging->result;
    uint32_t l = 0;
    uint32_t r = 0;

    while (l < left->members.count || r < right->members.count) {
        const struct gossip_member *a =
            l < left->members.count ? &left->members.items[l] : NULL;
        const struct gossip_member *b =
            r < right->members.count ? &right->members.items[r] : NULL;
        int order = !a   ? 1
                    : !b ? -1
                    : a->profile == b->profile
                        ? 0
                        : profile_compare(a->profile, b->profile);
        const struct gossip_member *picked =
            order == 0 ? pick_member(a, b)
                       : pick_single(merging, order < 0 ? a : b);

        if (picked) {
            struct gossip_member copy = *picked;

            copy.profile =
                profile_hold(order == 0 ? a->profile : picked->profile);
            copy.seen = false;
            vec_push(&result->members, copy);
        }
        l += order <= 0;
        r += order >= 0;
    }
}

static struct profile *keep_member(const void *context,
                                   const struct profile *profile)
{
    const struct gossip *gossip = context;
    uint32_t at = gossip_index(gossip, profile);

    return at < gossip->members.count ? gossip->members.items[at].profile
                                      : NULL;
}

/* A clock has keys of members only, whatever a peer sent. */
static void keep_member_keys(struct gossip *gossip)
{
    bool *flags = mem_alloc(gossip->clock.entries.count);

    for (uint32_t i = 0; i < gossip->members.count; i++) {
        uint32_t at =
            clock_index(&gossip->clock, &gossip->members.items[i].profile->key);

        if (at != UINT32_MAX)
            flags[at] = true;
    }
    clock_keep(&gossip->clock, flags);
    mem_free(flags);
}

bool gossip_merge(struct gossip *result, const struct gossip *left,
                  const struct gossip *right, uint64_t wall_ms)
{
    struct merging merging = { .result = result, .wall_ms = wall_ms };

    check(!result->members.count && !result->tombstones.count);
    merge_tombstones(result, left);
    merge_tombstones(result, right);
    clock_merge(&result->clock, &left->clock, &right->clock);
    merge_members(&merging, left, right);
    /* Keys of removed members go, too: the same as pruning both sides before. */
    if (merging.differs || !left->keys_checked || !right->keys_checked)
        keep_member_keys(result);
    result->keys_checked = true;
    reachability_merge(&result->reachability, &left->reachability,
                       &right->reachability, keep_member, result);
    return merging.removes;
}

/* The next statuses of each status, as bits. */
#define BIT(status) (1u << (status))
static unsigned next_statuses(enum member_status from)
{
    const unsigned end = BIT(MEMBER_DOWN) | BIT(MEMBER_REMOVED);

    switch (from) {
    case MEMBER_JOINING:
        return BIT(MEMBER_WEAKLY_UP) | BIT(MEMBER_UP) | BIT(MEMBER_LEAVING) |
               end;
    case MEMBER_WEAKLY_UP:
        return BIT(MEMBER_UP) | BIT(MEMBER_LEAVING) | end;
    case MEMBER_UP:
        return BIT(MEMBER_LEAVING) | BIT(MEMBER_PREPARING_FOR_SHUTDOWN) | end;
    case MEMBER_LEAVING:
        return BIT(MEMBER_EXITING) | end;
    case MEMBER_EXITING:
        return end;
    case MEMBER_DOWN:
        return BIT(MEMBER_REMOVED);
    case MEMBER_PREPARING_FOR_SHUTDOWN:
        return BIT(MEMBER_READY_FOR_SHUTDOWN) | BIT(MEMBER_LEAVING) | end;
    case MEMBER_READY_FOR_SHUTDOWN:
        return BIT(MEMBER_LEAVING) | end;
    case MEMBER_REMOVED:
        return 0;
    }
    return 0;
}

bool member_status_may_change(enum member_status from, enum member_status to)
{
    return next_statuses(from) & BIT(to);
}

bool member_status_may_follow(enum member_status earlier,
                              enum member_status later)
{
    /* A ready member can still leave, although a merge prefers ready: all of these follow one
     * another. */
    const unsigned last = BIT(MEMBER_READY_FOR_SHUTDOWN) | BIT(MEMBER_LEAVING) |
                          BIT(MEMBER_EXITING) | BIT(MEMBER_DOWN);

    if (earlier == later)
        return true;
    if (later == MEMBER_READY_FOR_SHUTDOWN)
        return true;
    if (earlier == MEMBER_READY_FOR_SHUTDOWN)
        return last & BIT(later);
    return priority(later) > priority(earlier);
}

static bool sorted(const struct gossip *gossip)
{
    for (uint32_t i = 1; i < gossip->members.count; i++)
        if (profile_compare(gossip->members.items[i - 1].profile, gossip->members.items[i].profile) >= 0)
            return false;
    for (uint32_t i = 1; i < gossip->tombstones.count; i++)
        if (node_compare(&gossip->tombstones.items[i - 1].node,
                         &gossip->tombstones.items[i].node) >= 0)
            return false;
    return true;
}

static bool observers_are_members(const struct gossip *gossip)
{
    const struct reachability *table = &gossip->reachability;

    for (uint32_t i = 0; i < table->observers.count; i++) {
        const struct observer *observer = &table->observers.items[i];

        if (gossip_index(gossip, observer->profile) == UINT32_MAX)
            return false;
        for (uint32_t k = 0; k < observer->rows.count; k++)
            if (gossip_index(gossip, observer->rows.items[k].subject) ==
                UINT32_MAX)
                return false;
    }
    return true;
}

/* Both lists are sorted. */
static bool nobody_is_tombstoned(const struct gossip *gossip)
{
    uint32_t gone = 0;

    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct profile *profile = gossip->members.items[i].profile;
        int order = 1;

        while (gone < gossip->tombstones.count &&
               (order = profile_order(
                    profile, &gossip->tombstones.items[gone].node)) > 0)
            gone++;
        if (gone < gossip->tombstones.count && !order)
            return false;
    }
    return true;
}

bool gossip_valid(const struct gossip *gossip)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        if (gossip->members.items[i].status == MEMBER_REMOVED)
            return false;
    return sorted(gossip) && nobody_is_tombstoned(gossip) && observers_are_members(gossip) &&
           gossip->clock.entries.count <= gossip->members.count;
}
