/* Finds regions for allocation strategies: the one that asked for a shard, and the one at an
 * address. Also tells whether members come or go. */
#include "shard/strategy.h"

uint32_t strategy_requester(const struct coordinator *coordinator,
                            const struct shard *shard,
                            const struct allocation_region *views,
                            uint32_t count)
{
    for (uint32_t i = 0; i < shard->waiting.count; i++) {
        if (!strategy_takes(shard->waiting.items[i]))
            continue;
        for (uint32_t j = 0; j < count; j++)
            if (coordinator->regions.items[views[j].region] ==
                shard->waiting.items[i])
                return j;
    }
    return count;
}

uint32_t strategy_region_at(const struct coordinator *coordinator,
                            const struct kept_address *address,
                            const struct allocation_region *views,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct registrant *region =
            coordinator->regions.items[views[i].region];

        if (strategy_takes(region) &&
            kept_address_equal(address, &region->node.address))
            return i;
    }
    return count;
}

static bool is_here(const struct coordinator_member *member)
{
    return !member->is_far;
}

bool strategy_all_reachable(const struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->members.count; i++) {
        const struct coordinator_member *member = coordinator->members.items[i];

        if (is_here(member) && !member->kept.reachable)
            return false;
    }
    return true;
}

bool strategy_is_calm(const struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->members.count; i++) {
        const struct coordinator_member *member = coordinator->members.items[i];

        if (is_here(member) && (member->kept.status == MEMBER_JOINING ||
                                member->kept.status == MEMBER_WEAKLY_UP))
            return false;
    }
    return strategy_all_reachable(coordinator);
}
