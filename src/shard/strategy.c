/* Chooses regions and moves by the strategies of this library: least shards, consistent hashing,
 * external locations. */
#include "shard/strategy.h"

#include <sherd/extractor.h>

#include "base/limits.h"
#include "base/mark.h"
#include "base/sort.h"
#include "shard/shard_id.h"

/* ---- consistent hashing ---- */

static int by_address(const void *left, const void *right)
{
    struct registrant *const *one = left;
    struct registrant *const *other = right;

    return address_compare(&(*one)->node.address, &(*other)->node.address);
}

/* Whether the ring was made of the regions, which are sorted. */
static bool is_ring_of(const struct strategy_state *state)
{
    if (state->numbers.count != state->regions.count)
        return false;
    for (uint32_t i = 0; i < state->regions.count; i++)
        if (state->numbers.items[i] != state->regions.items[i]->number)
            return false;
    return true;
}

static void make_ring(struct coordinator *coordinator)
{
    struct strategy_state *state = &coordinator->strategy;
    uint32_t count = state->regions.count;
    struct slice *names = mem_alloc(count * sizeof *names);
    struct buf text = { 0 };
    char address[ADDRESS_TEXT_MAX];

    state->numbers.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct registrant *region = state->regions.items[i];
        size_t before = text.size;

        vec_push(&state->numbers, region->number);
        buf_put_text(&text, coordinator->identity->protocol);
        buf_put_text(&text, "://");
        buf_put_text(&text, coordinator->identity->system);
        buf_put_u8(&text, '@');
        buf_put_text(&text, address_text(&region->node.address, address,
                                         sizeof address));
        names[i].size = text.size - before;
    }
    for (size_t i = 0, at = 0; i < count; at += names[i++].size)
        names[i].data = text.data + at;
    allocation_ring_make(&state->ring, names, count);
    if (count && coordinator->settings.load_bound >= 1)
        allocation_ring_bound(&state->ring, count,
                              coordinator->settings.number_of_shards,
                              coordinator->settings.load_bound);
    buf_fini(&text);
    mem_free(names);
}

/* The ring has the regions that take shards. Akka's has also those that shut down, whose shards
 * would move to and fro. */
static void update_ring(struct coordinator *coordinator,
                        const struct allocation_region *views, uint32_t count)
{
    struct strategy_state *state = &coordinator->strategy;

    state->regions.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct registrant *region = coordinator->regions.items[views[i].region];

        if (strategy_takes(region))
            vec_push(&state->regions, region);
    }
    if (state->regions.count)
        sort_stable(state->regions.items, state->regions.count,
                    sizeof *state->regions.items, by_address);
    if (!is_ring_of(state))
        make_ring(coordinator);
}

static uint32_t view_of(const struct coordinator *coordinator,
                        const struct registrant *region,
                        const struct allocation_region *views, uint32_t count)
{
    uint32_t i = 0;

    while (i < count && coordinator->regions.items[views[i].region] != region)
        i++;
    return i;
}

static uint32_t choose_by_hash(const struct coordinator *coordinator,
                               const struct shard *shard,
                               const struct allocation_region *views,
                               uint32_t count)
{
    const struct strategy_state *state = &coordinator->strategy;
    uint32_t at;

    if (!state->regions.count)
        return count;
    at = allocation_ring_find(&state->ring, shard->id);
    return view_of(coordinator, state->regions.items[at], views, count);
}

static uint32_t rebalance_by_hash(struct coordinator *coordinator,
                                  const struct allocation_region *views,
                                  uint32_t count, uint32_t *chosen)
{
    struct strategy_state *state = &coordinator->strategy;
    struct allocation_region *sorted;
    uint32_t found;

    if (!count || !strategy_is_calm(coordinator) ||
        allocation_is_mixed(views, count))
        return 0;
    update_ring(coordinator, views, count);
    sorted = mem_alloc(state->regions.count * sizeof *sorted);
    for (uint32_t i = 0; i < state->regions.count; i++)
        sorted[i] = views[view_of(coordinator, state->regions.items[i], views,
                                  count)];
    found = allocation_ring_rebalance(&state->ring, sorted,
                                      state->regions.count,
                                      coordinator->settings.hashing_limit,
                                      chosen);
    mem_free(sorted);
    return found;
}

/* ---- external locations ---- */

void coordinator_locations_forget(struct coordinator *coordinator)
{
    struct strategy_state *state = &coordinator->strategy;
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&state->locations, &at, &entry);)
        mem_free(entry.value);
    map_fini(&state->locations);
}

static bool is_shard(const struct coordinator *coordinator, struct slice shard)
{
    int32_t number;

    if (coordinator->names)
        return shard.size && shard.size <= SHERD_SHARD_MAX && text_is_valid(shard);
    return shard_parse(shard, &number) &&
           shard_index(number, coordinator->settings.number_of_shards) >= 0;
}

void coordinator_location(struct coordinator *coordinator, struct slice shard,
                          struct slice address)
{
    struct strategy_state *state = &coordinator->strategy;
    struct address parsed;
    struct buf text = { 0 };
    bool is_good;

    buf_put_slice(&text, address);
    buf_put_u8(&text, 0);
    is_good = is_shard(coordinator, shard) &&
              address_parse(&parsed, (const char *)text.data,
                            coordinator->identity->protocol,
                            coordinator->identity->system);
    buf_fini(&text);
    if (!is_good) {
        coordinator->counters.locations_ignored++;
        trace_put(coordinator->trace, TRACE_WARNING, "coordinator",
                  "location of a shard ignored type=%s shard=\"%.*s\" "
                  "address=\"%.*s\" expected=%s://%s@HOST:PORT "
                  "hint=\"set a shard of the type and an address of this cluster\"",
                  coordinator->type, (int)shard.size, (const char *)shard.data,
                  (int)address.size, (const char *)address.data,
                  coordinator->identity->protocol,
                  coordinator->identity->system);
        return;
    }
    mem_free(map_put(&state->locations, shard, address_keep(&parsed)));
}

/* As in Akka, the region that asked takes a shard without a location, or whose location has no
 * region. */
static uint32_t choose_by_location(const struct coordinator *coordinator,
                                   const struct shard *shard,
                                   const struct allocation_region *views,
                                   uint32_t count)
{
    const struct kept_address *location =
        map_get(&coordinator->strategy.locations, shard->id);
    uint32_t found = count;

    if (location)
        found = strategy_region_at(coordinator, location, views, count);
    SOMETIMES("a shard's location has no region", location && found == count);
    return found < count ? found
                         : strategy_requester(coordinator, shard, views, count);
}

/* Addresses of the regions that take shards. */
static void addresses_of(const struct coordinator *coordinator,
                         const struct allocation_region *views, uint32_t count,
                         struct map *addresses)
{
    for (uint32_t i = 0; i < count; i++) {
        struct registrant *region = coordinator->regions.items[views[i].region];
        struct address_key key;

        if (!strategy_takes(region))
            continue;
        address_key_of(&key, &region->node.address);
        (void)map_put(addresses, slice_of(key.bytes, key.size), region);
    }
}

/* A hand-off needs all regions, so none begins while a member is unreachable. Akka does not wait
 * for that. Neither waits for one version or for joining members. */
static uint32_t rebalance_by_location(const struct coordinator *coordinator,
                                      const struct allocation_region *views,
                                      uint32_t count, uint32_t *chosen)
{
    struct map addresses = { 0 };
    uint32_t found = 0;

    if (!coordinator->strategy.locations.count ||
        !strategy_all_reachable(coordinator))
        return 0;
    addresses_of(coordinator, views, count, &addresses);
    for (uint32_t i = 0; i < count; i++) {
        const struct registrant *region =
            coordinator->regions.items[views[i].region];

        for (uint32_t j = 0; j < views[i].shard_count; j++) {
            const struct allocation_shard *shard = &views[i].shards[j];
            const struct kept_address *location =
                map_get(&coordinator->strategy.locations, shard->id);

            if (!shard->is_moving && location &&
                !kept_address_equal(location, &region->node.address) &&
                map_get(&addresses, kept_address_key(location)))
                chosen[found++] = shard->shard;
        }
    }
    map_fini(&addresses);
    return found;
}

/* ---- dispatch ---- */

void strategy_fini(struct coordinator *coordinator)
{
    struct strategy_state *state = &coordinator->strategy;

    strategy_end(coordinator);
    strategy_requests_fini(coordinator);
    coordinator_locations_forget(coordinator);
    allocation_ring_fini(&state->ring);
    vec_fini(&state->regions);
    vec_fini(&state->numbers);
}

void strategy_begin(struct coordinator *coordinator,
                    const struct allocation_region *views, uint32_t count)
{
    if (coordinator->settings.allocation == ALLOCATION_CONSISTENT_HASHING)
        update_ring(coordinator, views, count);
}

void strategy_end(struct coordinator *coordinator)
{
    strategy_view_free(coordinator->strategy.view);
    coordinator->strategy.view = NULL;
}

uint32_t strategy_choose(struct coordinator *coordinator, uint64_t now,
                         struct shard *shard,
                         const struct allocation_region *views, uint32_t count)
{
    uint32_t found = count;

    switch (coordinator->settings.allocation) {
    case ALLOCATION_CUSTOM:
        return strategy_ask(coordinator, now, shard, views, count);
    case ALLOCATION_CONSISTENT_HASHING:
        found = choose_by_hash(coordinator, shard, views, count);
        break;
    case ALLOCATION_EXTERNAL:
        found = choose_by_location(coordinator, shard, views, count);
        break;
    case ALLOCATION_LEAST_SHARD:
    case ALLOCATION_KIND_COUNT:
        break;
    }
    return found < count ? views[found].region
                         : allocation_choose(views, count);
}

uint32_t strategy_rebalance(struct coordinator *coordinator, uint64_t now,
                            const struct allocation_region *views,
                            uint32_t count, uint32_t *chosen)
{
    const struct coordinator_settings *settings = &coordinator->settings;
    struct allocation_limits limits = {
        settings->absolute_limit, settings->relative_limit,
        settings->threshold, settings->simultaneous_max
    };

    switch (settings->allocation) {
    case ALLOCATION_CUSTOM:
        return strategy_ask_moves(coordinator, now, views, count, &limits,
                                  chosen);
    case ALLOCATION_CONSISTENT_HASHING:
        return rebalance_by_hash(coordinator, views, count, chosen);
    case ALLOCATION_EXTERNAL:
        return rebalance_by_location(coordinator, views, count, chosen);
    case ALLOCATION_LEAST_SHARD:
    case ALLOCATION_KIND_COUNT:
        break;
    }
    return allocation_rebalance(&limits, views, count,
                                coordinator->handoffs.count,
                                strategy_is_calm(coordinator), chosen);
}
