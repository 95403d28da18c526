/* Implements Akka's LeastShardAllocationStrategy: choice of a region, and both rebalance
 * algorithms. */
#include "shard/allocation.h"

#include "base/check.h"

const char *allocation_kind_text(enum allocation_kind kind)
{
#define X(name, text) text,
    static const char *const texts[] = { ALLOCATION_KINDS(X) };
#undef X

    return texts[kind];
}

static int version_order(const struct member_version *left,
                         const struct member_version *right)
{
    const char *left_rest = left->rest ? left->rest : "";
    const char *right_rest = right->rest ? right->rest : "";

    for (int i = 0; i < 4; i++)
        if (left->numbers[i] != right->numbers[i])
            return left->numbers[i] < right->numbers[i] ? -1 : 1;
    if (!*left_rest || !*right_rest) /* a release is newer than its pre-releases */
        return (*right_rest != 0) - (*left_rest != 0);
    return strcmp(left_rest, right_rest);
}

static bool is_leaving(enum member_status status)
{
    return status == MEMBER_LEAVING || status == MEMBER_EXITING ||
           status == MEMBER_DOWN || status == MEMBER_REMOVED;
}

/* Below 0: left is more suitable. Not transitive if statuses differ, so only a stable sort has one
 * result. */
static int suitability(const struct allocation_region *left,
                       const struct allocation_region *right)
{
    int order;

    if (left->status != right->status)
        return is_leaving(left->status) - is_leaving(right->status);
    order = version_order(&right->version, &left->version);
    if (order)
        return order;
    return (left->shard_count > right->shard_count) -
           (left->shard_count < right->shard_count);
}

uint32_t allocation_choose(const struct allocation_region *regions,
                           uint32_t count)
{
    const struct allocation_region *best = NULL;

    for (uint32_t i = 0; i < count; i++)
        if (!best || suitability(&regions[i], best) < 0)
            best = &regions[i];
    return best ? best->region : ALLOCATION_NONE;
}

typedef const struct allocation_region *entry;

/* Bottom-up merge sort: stable, and equal with every compiler. */
static entry *sorted(const struct allocation_region *regions, uint32_t count)
{
    entry *from = mem_alloc(count * sizeof *from);
    entry *to = mem_alloc(count * sizeof *to);

    for (uint32_t i = 0; i < count; i++)
        from[i] = &regions[i];
    for (uint32_t width = 1; width < count; width *= 2) {
        entry *swap = from;

        for (uint32_t start = 0; start < count; start += 2 * width) {
            uint32_t middle = start + width < count ? start + width : count;
            uint32_t end =
                start + 2 * width < count ? start + 2 * width : count;
            uint32_t left = start;
            uint32_t right = middle;

            for (uint32_t i = start; i < end; i++)
                to[i] = left < middle &&
                                (right >= end ||
                                 suitability(from[left], from[right]) <= 0)
                            ? from[left++]
                            : from[right++];
        }
        from = to;
        to = swap;
    }
    mem_free(to);
    return from;
}

bool allocation_is_mixed(const struct allocation_region *regions,
                         uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (version_order(&regions[0].version, &regions[i].version))
            return true;
    return false;
}

/* rebalance-absolute-limit above 0: moves shards above the optimum, else shards that fill regions
 * two below it. */
static uint32_t by_optimum(const struct allocation_limits *limits,
                           entry *entries, uint32_t count, uint32_t *chosen)
{
    uint64_t shards = 0;
    uint64_t optimum;
    uint64_t limit;
    uint64_t below = 0;
    uint32_t found = 0;
    double part;

    for (uint32_t i = 0; i < count; i++)
        shards += entries[i]->shard_count;
    if (!shards)
        return 0;
    optimum = (shards + count - 1) / count;
    part = limits->relative_limit * (double)shards;
    limit = part >= (double)limits->absolute_limit
                ? limits->absolute_limit
                : (part >= 1 ? (uint64_t)part : 1);
    if (limit < 1)
        limit = 1;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j + optimum < entries[i]->shard_count; j++) {
            if (found == limit)
                return found;
            chosen[found++] = entries[i]->shards[j].shard;
        }
    }
    if (found)
        return found;
    for (uint32_t i = 0; i < count; i++)
        if (entries[i]->shard_count + 1 < optimum)
            below += optimum - 1 - entries[i]->shard_count;
    if (below < limit)
        limit = below;
    for (uint32_t i = 0; i < count && found < limit; i++)
        if (entries[i]->shard_count >= optimum)
            chosen[found++] = entries[i]->shards[0].shard;
    return found;
}

static uint32_t resting(entry region)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < region->shard_count; i++)
        count += !region->shards[i].is_moving;
    return count;
}

static bool id_below(struct slice left, struct slice right)
{
    size_t size = left.size < right.size ? left.size : right.size;
    int order = memcmp(left.data, right.data, size);

    return order ? order < 0 : left.size < right.size;
}

/* The old algorithm: moves a few shards from the fullest region to the most suitable one, lowest
 * ids first. */
static uint32_t by_threshold(const struct allocation_limits *limits,
                             entry *entries, uint32_t count, uint32_t moving,
                             uint32_t *chosen)
{
    entry most = NULL;
    uint32_t most_count = 0;
    uint32_t least = entries[0]->shard_count;
    uint32_t wanted;
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t here = resting(entries[i]);

        if (!most || here > most_count) {
            most = entries[i];
            most_count = here;
        }
    }
    if (most_count < least || most_count - least <= limits->threshold)
        return 0;
    wanted = most_count - least - limits->threshold;
    if (wanted > limits->threshold)
        wanted = limits->threshold;
    if (wanted > limits->simultaneous_max - moving)
        wanted = limits->simultaneous_max - moving;
    while (found < wanted) {
        const struct allocation_shard *next = NULL;

        for (uint32_t i = 0; i < most->shard_count; i++) {
            const struct allocation_shard *shard = &most->shards[i];
            bool taken = shard->is_moving;

            for (uint32_t j = 0; j < found && !taken; j++)
                taken = chosen[j] == shard->shard;
            if (!taken && (!next || id_below(shard->id, next->id)))
                next = shard;
        }
        if (!next)
            break;
        chosen[found++] = next->shard;
    }
    return found;
}

uint32_t allocation_rebalance(const struct allocation_limits *limits,
                              const struct allocation_region *regions,
                              uint32_t count, uint32_t moving, bool is_calm,
                              uint32_t *chosen)
{
    entry *entries;
    uint32_t found;
    uint32_t allowed =
        limits->absolute_limit ? 1 : limits->simultaneous_max;

    if (!count || moving >= allowed || !is_calm ||
        allocation_is_mixed(regions, count))
        return 0;
    entries = sorted(regions, count);
    found = limits->absolute_limit
                ? by_optimum(limits, entries, count, chosen)
                : by_threshold(limits, entries, count, moving, chosen);
    mem_free(entries);
    return found;
}
