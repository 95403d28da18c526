/* Computes leader, convergence and gossip targets from a gossip; keeps no state. */
#include "member/state.h"

#include "base/check.h"

uint8_t *state_reach(const struct gossip *gossip, const struct profile *self,
                     enum observers observers)
{
    const struct reachability *table = &gossip->reachability;
    uint8_t *reach = mem_alloc(gossip->members.count);

    for (uint32_t i = 0; i < table->observers.count; i++) {
        const struct observer *observer = &table->observers.items[i];
        uint32_t by;

        if (!observer->rows.count ||
            !profile_same_center(observer->profile, self))
            continue;
        by = gossip_index(gossip, observer->profile);
        if (observers == OBSERVERS_NOT_DOWN && by < gossip->members.count &&
            gossip->members.items[by].status == MEMBER_DOWN)
            continue;
        for (uint32_t k = 0; k < observer->rows.count; k++) {
            const struct observation *row = &observer->rows.items[k];
            uint32_t at = gossip_index(gossip, row->subject);

            if (at < gossip->members.count && row->status > reach[at])
                reach[at] = (uint8_t)row->status;
        }
    }
    return reach;
}

bool member_status_counts(enum member_status status)
{
    return status == MEMBER_UP || status == MEMBER_LEAVING ||
           status == MEMBER_PREPARING_FOR_SHUTDOWN ||
           status == MEMBER_READY_FOR_SHUTDOWN;
}

/* Order of leaders if no member counts: joining after weakly up, exiting after joining, down
 * last. */
static int leader_rank(enum member_status status)
{
    switch (status) {
    case MEMBER_WEAKLY_UP:
        return 1;
    case MEMBER_JOINING:
        return 2;
    case MEMBER_EXITING:
        return 3;
    case MEMBER_DOWN:
    case MEMBER_REMOVED:
        return 4;
    case MEMBER_UP:
    case MEMBER_LEAVING:
    case MEMBER_PREPARING_FOR_SHUTDOWN:
    case MEMBER_READY_FOR_SHUTDOWN:
        return 0;
    }
    return 4;
}

static bool contains(const struct node_id *nodes, uint32_t count,
                     const struct profile *profile)
{
    for (uint32_t i = 0; i < count; i++)
        if (profile_is(profile, &nodes[i]))
            return true;
    return false;
}

/* role null: any. */
static struct gossip_member *choose_leader(const struct gossip *gossip,
                                           const struct profile *self,
                                           const uint8_t *reach,
                                           const struct node_id *without,
                                           uint32_t count, const char *role)
{
    struct gossip_member *best = NULL;

    for (uint32_t i = 0; i < gossip->members.count; i++) {
        struct gossip_member *member = &gossip->members.items[i];
        bool is_self = profile_same(member->profile, self);

        if (member->status == MEMBER_DOWN ||
            (reach[i] != REACHABLE && !is_self) ||
            !profile_same_center(member->profile, self) ||
            contains(without, count, member->profile) ||
            (role && !profile_has_role(member->profile, role)))
            continue;
        if (!best || leader_rank(member->status) < leader_rank(best->status))
            best = member;
        if (leader_rank(best->status) == 0)
            break;
    }
    return best;
}

struct gossip_member *state_leader_without(const struct gossip *gossip,
                                           const struct profile *self,
                                           const uint8_t *reach,
                                           const struct node_id *without,
                                           uint32_t count)
{
    return choose_leader(gossip, self, reach, without, count, NULL);
}

struct gossip_member *state_leader(const struct gossip *gossip,
                                   const struct profile *self,
                                   const uint8_t *reach)
{
    return choose_leader(gossip, self, reach, NULL, 0, NULL);
}

struct gossip_member *state_role_leader(const struct gossip *gossip,
                                        const struct profile *self,
                                        const uint8_t *reach, const char *role)
{
    return choose_leader(gossip, self, reach, NULL, 0, role);
}

/* True if no member of the data center counts yet. Then its joining members and all other data
 * centers must have seen the version. */
static bool is_first_in_center(const struct gossip *gossip,
                               const struct profile *self)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        if (member_status_counts(gossip->members.items[i].status) &&
            profile_same_center(gossip->members.items[i].profile, self))
            return false;
    return true;
}

static bool hinders(const struct gossip_member *member,
                    const struct profile *self, bool first)
{
    if (member->seen)
        return false;
    if (first)
        return member_status_counts(member->status) ||
               member->status == MEMBER_JOINING ||
               member->status == MEMBER_WEAKLY_UP;
    return member_status_counts(member->status) &&
           profile_same_center(member->profile, self);
}

bool state_is_converged(const struct gossip *gossip, const struct profile *self,
                        const struct node_id *confirmed,
                        uint32_t confirmed_count)
{
    uint8_t *reach = state_reach(gossip, self, OBSERVERS_NOT_DOWN);
    bool first = is_first_in_center(gossip, self);
    bool converged = true;

    for (uint32_t i = 0; i < gossip->members.count && converged; i++) {
        const struct gossip_member *member = &gossip->members.items[i];
        bool is_self = profile_same(member->profile, self);
        bool unreachable = reach[i] != REACHABLE && !is_self &&
                           profile_same_center(member->profile, self) &&
                           member->status != MEMBER_DOWN &&
                           member->status != MEMBER_EXITING;

        if ((unreachable || hinders(member, self, first)) &&
            !contains(confirmed, confirmed_count, member->profile))
            converged = false;
    }
    mem_free(reach);
    return converged;
}

bool state_is_target(const struct gossip *gossip, const struct profile *self,
                     const struct gossip_member *member)
{
    return !profile_same(member->profile, self) &&
           reachability_by(&gossip->reachability, PROFILE_NODE(self),
                           PROFILE_NODE(member->profile)) == REACHABLE;
}

int state_compare_ages(const struct gossip_member *left,
                       const struct gossip_member *right)
{
    if (left->up_number != right->up_number)
        return left->up_number < right->up_number ? -1 : 1;
    return kept_addresses_compare(left->profile->address,
                                  right->profile->address);
}

uint32_t state_two_oldest(const struct gossip *gossip,
                          const struct profile *self, const char *role,
                          const struct gossip_member *oldest[2])
{
    uint32_t count = 0;

    oldest[0] = oldest[1] = NULL;
    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct gossip_member *member = &gossip->members.items[i];

        if (!profile_same_center(member->profile, self) ||
            (role && !profile_has_role(member->profile, role)))
            continue;
        if (!count || state_compare_ages(member, oldest[0]) < 0) {
            oldest[1] = oldest[0];
            oldest[0] = member;
        } else if (count == 1 || state_compare_ages(member, oldest[1]) < 0) {
            oldest[1] = member;
        } else {
            continue;
        }
        count += count < 2;
    }
    return count;
}

bool state_needs_speed(const struct gossip *gossip, const struct profile *self,
                       bool several_centers)
{
    uint32_t own = 0;
    uint32_t seen = 0;

    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct gossip_member *member = &gossip->members.items[i];

        if (member->status == MEMBER_DOWN)
            return true;
        if (several_centers && !profile_same_center(member->profile, self))
            continue;
        own++;
        seen += member->seen;
    }
    return seen < own / 2;
}

void state_find_centers(const struct gossip *gossip, const struct profile *self,
                        struct state_centers *centers)
{
    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct profile *profile = gossip->members.items[i].profile;
        bool known = profile_same_center(profile, self);

        for (uint32_t k = 0; k < centers->count && !known; k++)
            known =
                strcmp(centers->items[k], profile->traits->data_center) == 0;
        if (!known)
            vec_push(centers, profile->traits->data_center);
    }
}

bool state_has_risen(enum member_status status)
{
    return status != MEMBER_JOINING && status != MEMBER_WEAKLY_UP;
}

void state_find_oldest(const struct gossip *gossip, const char *center,
                       struct state_oldest *oldest)
{
    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct gossip_member *member = &gossip->members.items[i];
        uint32_t at = oldest->members.count;

        if ((oldest->only_risen && !state_has_risen(member->status)) ||
            strcmp(member->profile->traits->data_center, center) != 0)
            continue;
        while (at > 0 &&
               state_compare_ages(member, oldest->members.items[at - 1]) < 0)
            at--;
        if (at >= oldest->max)
            continue;
        if (oldest->members.count < oldest->max)
            vec_push(&oldest->members, NULL);
        memmove(&oldest->members.items[at + 1], &oldest->members.items[at],
                (oldest->members.count - 1 - at) *
                    sizeof *oldest->members.items);
        oldest->members.items[at] = member;
    }
}

double spread_share(double share, uint32_t reduce_from, uint32_t size)
{
    double least = share / 10;

    if (size <= reduce_from)
        return share;
    if (size >= 3 * reduce_from)
        return least;
    /* Linear, down to a tenth at three times reduce_from. */
    return share - (share - least) * (size - reduce_from) / (2.0 * reduce_from);
}
