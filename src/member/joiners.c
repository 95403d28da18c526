/* Keeps nodes that ask to join at the address of a member that has ended, and accepts them when the
 * leader has removed that member. Akka does not answer them, so they ask again after
 * retry-unsuccessful-join-after. */
#include "member/inside.h"

#include "base/bound.h"
#include "base/limits.h"
#include "base/mark.h"

static void drop(struct member *member, uint32_t at)
{
    profile_drop(member->joiners.items[at].profile);
    buf_fini(&member->joiners.items[at].path);
    vec_remove(&member->joiners, at);
}

void joiners_forget(struct member *member)
{
    while (member->joiners.count)
        drop(member, member->joiners.count - 1);
}

/* A joiner that asks again, or a later incarnation at its address, replaces it. */
static void forget_address(struct member *member, const struct profile *profile)
{
    for (uint32_t i = member->joiners.count; i-- > 0;)
        if (kept_addresses_compare(member->joiners.items[i].profile->address,
                                   profile->address) == 0)
            drop(member, i);
}

void joiners_keep(struct member *member, uint64_t now, struct profile *profile,
                  struct slice path)
{
    struct joiner joiner = {
        .profile = profile_hold(profile),
        .until = now + member->settings.join_retry_ms * MS,
        .replaces_at = now + (uint64_t)member->settings.leader_interval_ms * MS / 2,
    };

    forget_address(member, profile);
    if (member->joiners.count == MEMBER_JOINERS_MAX) {
        drop(member, 0); /* it asks again */
        member->counters.dropped_full++;
    }
    buf_put_slice(&joiner.path, path);
    vec_push(&member->joiners, joiner);
    BOUNDED("nodes that wait until the member at their address is removed",
            member->joiners.count, MEMBER_JOINERS_MAX);
}

static const struct gossip_member *former(const struct member *member,
                                          const struct joiner *joiner)
{
    return gossip_find_address(&member->gossip,
                               &PROFILE_NODE(joiner->profile)->address);
}

/* Never for those that only wait. */
static uint64_t due_at(const struct member *member, const struct joiner *joiner)
{
    const struct gossip_member *other = former(member, joiner);

    if (!other)
        return 0;
    return other->status == MEMBER_EXITING && joiner->replaces_at < joiner->until
               ? joiner->replaces_at
               : joiner->until;
}

uint64_t joiners_deadline(const struct member *member)
{
    uint64_t at = NEVER;

    for (uint32_t i = 0; i < member->joiners.count; i++) {
        uint64_t due = due_at(member, &member->joiners.items[i]);

        at = due < at ? due : at;
    }
    return at;
}

struct joiner joiners_take(struct member *member, uint64_t now)
{
    for (uint32_t i = 0; i < member->joiners.count; i++) {
        struct joiner joiner = member->joiners.items[i];

        if (due_at(member, &joiner) > now)
            continue;
        SOMETIMES("a joiner waited until the member at its address was removed",
                  !former(member, &joiner));
        vec_remove(&member->joiners, i);
        return joiner;
    }
    return (struct joiner){ .profile = NULL };
}
