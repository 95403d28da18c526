/* Chooses which member of another data center gets a gossip, and reports which data centers are
 * unreachable from this one. */
#include "member/inside.h"

#include "base/check.h"

#define ACROSS_MOST 0.95 /* largest share of a member's rounds */
#define MANY UINT32_C(1000000)
#define SMALL_CENTER 4 /* up to this many members, more rounds go to other data centers */

static bool is_among_oldest(const struct member *member)
{
    struct state_oldest oldest = {
        .max = member->settings.cross_connections,
    };
    bool found = false;

    state_find_oldest(&member->gossip, member->self->traits->data_center,
                      &oldest);
    for (uint32_t i = 0; i < oldest.members.count && !found; i++)
        found = profile_same(oldest.members.items[i]->profile, member->self);
    vec_fini(&oldest.members);
    return found;
}

/* Moves those that may get a gossip to the front. Returns how many. */
static uint32_t keep_targets(const struct member *member,
                             struct state_oldest *oldest)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < oldest->members.count; i++)
        if (state_is_target(&member->gossip, member->self,
                            oldest->members.items[i]))
            oldest->members.items[kept++] = oldest->members.items[i];
    return kept;
}

/* Draws data centers until one has a reachable member among its oldest. Returns a random one (any),
 * or the oldest. */
static const struct gossip_member *choose_target(struct member *member,
                                                 struct state_centers *centers,
                                                 bool any)
{
    const struct gossip_member *target = NULL;

    while (centers->count && !target) {
        struct state_oldest oldest = {
            .max = member->settings.cross_connections,
        };
        uint32_t at = (uint32_t)rng_below(&member->rng, centers->count);
        uint32_t count;

        state_find_oldest(&member->gossip, centers->items[at], &oldest);
        count = keep_targets(member, &oldest);
        if (count)
            target = oldest.members
                         .items[any ? rng_below(&member->rng, count) : 0];
        vec_fini(&oldest.members);
        vec_remove(centers, at);
    }
    return target;
}

static const struct gossip_member *find_target(struct member *member, bool any)
{
    struct state_centers centers = { 0 };
    const struct gossip_member *target = NULL;

    state_find_centers(&member->gossip, member->self, &centers);
    if (centers.count && is_among_oldest(member))
        target = choose_target(member, &centers, any);
    vec_fini(&centers);
    return target;
}

/* The fewer members a data center has, the more of its rounds go to others. A single member has no
 * other choice. Otherwise some rounds stay, whatever is set: two members that gossip only elsewhere
 * never get each other's news. Akka has no such rule. */
static bool goes_across(struct member *member)
{
    double share = member->settings.cross_gossip_percent / 100.0;
    uint32_t own = 0;
    double small;

    for (uint32_t i = 0; i < member->gossip.members.count; i++)
        own += profile_same_center(member->gossip.members.items[i].profile,
                                   member->self);
    small = own <= SMALL_CENTER ? (SMALL_CENTER + 1 - own) * 0.25 : 0;
    if (small > share)
        share = small;
    if (own > 1 && share > ACROSS_MOST)
        share = ACROSS_MOST;
    return (double)rng_below(&member->rng, MANY) < share * MANY;
}

const struct gossip_member *centers_round_target(struct member *member)
{
    return centers_are_several(member) && goes_across(member)
               ? find_target(member, true)
               : NULL;
}

const struct gossip_member *centers_urgent_target(struct member *member)
{
    return centers_are_several(member) ? find_target(member, false) : NULL;
}

bool centers_are_several(const struct member *member)
{
    if (!member->is_dirty)
        return member->far_count > 0;
    for (uint32_t i = 0; i < member->gossip.members.count; i++)
        if (!profile_same_center(member->gossip.members.items[i].profile,
                                 member->self))
            return true;
    return false;
}

/* ---- reachability ---- */

static struct center *center_of(struct news *news, const char *name)
{
    struct center added = { .name = NULL };
    uint32_t at = 0;

    while (at < news->centers.count &&
           strcmp(news->centers.items[at].name, name) < 0)
        at++;
    if (at < news->centers.count &&
        strcmp(news->centers.items[at].name, name) == 0)
        return &news->centers.items[at];
    added.name = mem_text(name);
    vec_push(&news->centers, added);
    memmove(&news->centers.items[at + 1], &news->centers.items[at],
            (news->centers.count - 1 - at) * sizeof added);
    news->centers.items[at] = added;
    return &news->centers.items[at];
}

void centers_settle(struct member *member, const uint8_t *reach)
{
    struct news *news = &member->news;

    for (uint32_t i = 0; i < news->centers.count; i++)
        news->centers.items[i].is_unreachable = false;
    /* A terminated member says nothing about the connection to its data center. */
    for (uint32_t i = 0; i < member->gossip.members.count; i++) {
        const struct profile *profile = member->gossip.members.items[i].profile;

        if (reach[i] == UNREACHABLE &&
            !profile_same_center(profile, member->self))
            center_of(news, profile->traits->data_center)->is_unreachable =
                true;
    }
    for (uint32_t i = news->centers.count; i-- > 0;) {
        struct center *center = &news->centers.items[i];

        if (center->is_unreachable || center->is_reported)
            continue;
        mem_free(center->name);
        vec_remove(&news->centers, i);
    }
}

bool member_unreachable_center_at(const struct member *member, uint32_t index,
                                  const char **name)
{
    const struct news *news = &member->news;

    for (uint32_t i = 0; i < news->centers.count; i++) {
        if (!news->centers.items[i].is_unreachable || index-- > 0)
            continue;
        *name = news->centers.items[i].name;
        return true;
    }
    return false;
}

void centers_fini(struct news *news)
{
    for (uint32_t i = 0; i < news->centers.count; i++)
        mem_free(news->centers.items[i].name);
    vec_fini(&news->centers);
}
