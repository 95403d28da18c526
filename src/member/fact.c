/* Reports versions of the gossip to checkers, for nodes that have probes. */
#include "base/hash.h"
#include "member/inside.h"

_Static_assert(sizeof(struct clock_entry) == CLOCK_KEY_SIZE + sizeof(int64_t),
               "hashed without padding");

uint64_t fact_hash_version(const struct clock *clock)
{
    return hash_bytes(slice_of(clock->entries.items,
                               clock->entries.count *
                                   sizeof *clock->entries.items));
}

static uint64_t mix(uint64_t hash, uint64_t with)
{
    return (hash ^ with) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
}

/* Hashes what is equal for all that have the version: not the seen set and not the times of
 * tombstones, which differ. The order gives each entry's member. Reading a thousand profiles would
 * take longer than all else here. */
static uint64_t hash_content(const struct gossip *gossip)
{
    const struct reachability *table = &gossip->reachability;
    uint64_t hash = mix(gossip->members.count, table->observers.count);

    for (uint32_t i = 0; i < gossip->members.count; i++)
        hash = mix(hash, (uint64_t)(uint32_t)gossip->members.items[i].up_number
                                 << 8 |
                             (uint64_t)gossip->members.items[i].status);
    for (uint32_t i = 0; i < table->observers.count; i++) {
        const struct observer *observer = &table->observers.items[i];

        hash = mix(mix(hash, (uint64_t)observer->version), observer->rows.count);
        for (uint32_t k = 0; k < observer->rows.count; k++)
            hash = mix(mix(hash, (uint64_t)observer->rows.items[k].version),
                       (uint64_t)observer->rows.items[k].status);
    }
    return hash;
}

void fact_version_held(const struct member *member)
{
    struct probe probe = { .kind = PROBE_VERSION_HELD,
                           .type = PROBE_TYPE_NONE,
                           .node = profile_node(member->self) };

    if (!member->settings.probes)
        return;
    probe.first = fact_hash_version(&member->gossip.clock);
    probe.second = hash_content(&member->gossip);
    probes_put(member->settings.probes, &probe);
}
