/* Loads the state stored by the previous coordinator, and compares it with the reports that have
 * arrived since. */
#include "base/limits.h"
#include "base/mark.h"
#include "shard/coordinator_state.h"
#include "shard/state_store.h"
#include "shard/stored.h"

/* Indexes in place of searches, for a thousand regions. */
struct loading {
    struct map members; /* port and host -> first member at that address */
    struct map nodes;   /* uids of nodes with a registrant -> the coordinator */
    struct map regions; /* ref -> loaded region */
};

static void put_place(struct buf *key, const struct address *address)
{
    buf_clear(key);
    buf_put_u32(key, address->port);
    buf_put_text(key, address->host);
}

static void begin_loading(struct coordinator *coordinator,
                          struct loading *loading)
{
    struct buf key = { 0 };

    for (uint32_t i = coordinator->members.count; i-- > 0;) {
        struct coordinator_member *member = coordinator->members.items[i];
        struct address address = address_again(member->kept.address);

        put_place(&key, &address);
        (void)map_put(&loading->members, buf_slice(&key), member);
    }
    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        (void)map_put(&loading->nodes,
                      map_u64(&coordinator->regions.items[i]->node.uid),
                      coordinator); /* a node may have two */
    buf_fini(&key);
}

static void end_loading(struct loading *loading)
{
    map_fini(&loading->members);
    map_fini(&loading->nodes);
    map_fini(&loading->regions);
}

static struct coordinator_member *member_at(const struct loading *loading,
                                            const struct address *address)
{
    struct buf key = { 0 };
    struct coordinator_member *member;

    put_place(&key, address);
    member = map_get(&loading->members, buf_slice(&key));
    buf_fini(&key);
    return member;
}

static struct registrant *loaded_of(const struct coordinator *coordinator,
                                    const struct loading *loading,
                                    const struct node_id *node,
                                    struct slice path)
{
    return map_get(&loading->nodes, map_u64(&node->uid))
               ? registrant_of(coordinator, node, path)
               : NULL;
}

/* Null if the region cannot exist any more. */
static struct registrant *load_region(struct coordinator *coordinator,
                                      struct loading *loading,
                                      struct slice ref, bool is_proxy)
{
    const struct coordinator_member *member;
    struct registrant *region;
    struct address address;
    struct node_id node;
    struct slice path;

    if (!ref_parse(coordinator->identity, ref, &address, &path))
        return NULL;
    member = member_at(loading, &address);
    if (!member || (!is_proxy && !member->kept.has_role))
        return NULL;
    node = kept_member_node(&member->kept);
    region = loaded_of(coordinator, loading, &node, path);
    if (region && region->is_proxy == is_proxy)
        region->version = 0;
    if (!region &&
        loaded_of(coordinator, loading, &node, path_plain(path)))
        return NULL;
    if (region || coordinator->regions.count >= COORDINATOR_REGIONS_MAX)
        return region;
    (void)map_put(&loading->nodes, map_u64(&node.uid), coordinator);
    return registrant_load(coordinator, &node, ref, path, is_proxy);
}

static void load_home(struct coordinator *coordinator,
                      struct registrant *region, struct slice id)
{
    struct shard *shard = shard_get(coordinator, id);

    if (!shard)
        return;
    /* The region is gone, or another one had the shard later, reported it, and is gone too. */
    if (!region || region->is_proxy ||
        (!shard->home && fence_compare(shard->loaded, shard->fence) < 0)) {
        if (!shard->home) {
            shard->is_pushed = true;
            shard_needs_home(coordinator, shard);
        }
        return;
    }
    /* A region that registered meanwhile reported a newer home, or an older one. */
    if (shard->home && shard->home != region) {
        SOMETIMES("a region reports a home that differs from the stored one",
                  true);
        if (fence_compare(shard->loaded, shard->fence) <= 0)
            return;
        shard_unlink(coordinator, shard, PROBE_HOME_CONTESTED);
    }
    if (!shard->home)
        shard_link(coordinator, shard, region, shard->loaded,
                   PROBE_HOME_STORED);
    else if (fence_compare(shard->loaded, shard->fence) > 0)
        shard_raise(coordinator, shard, shard->loaded);
    else
        return;
    shard->is_started = false;
    /* Its report lacked the shard or had an older fence, so the next fence is higher. */
    shard->is_refused = region->is_registered && region->lanes;
    coordinator->counters.loaded++;
    shard->version = 0; /* the stored value */
}

static void load_fences(struct coordinator *coordinator,
                        const struct stored *stored)
{
    for (uint32_t i = 0; i < stored->fence_count; i++) {
        struct fence fence = stored->fences[i].fence;
        struct shard *shard;

        if (fence.term > FENCE_PART_MAX || fence.epoch > FENCE_PART_MAX) {
            coordinator->counters.malformed++;
            continue;
        }
        shard = shard_get(coordinator, stored->fences[i].shard);
        if (!shard)
            continue;
        if (fence_compare(fence, shard->loaded) > 0)
            shard->loaded = fence;
        if (!shard->home && fence_compare(fence, shard->fence) > 0)
            shard->fence = fence;
        if (fence.term > coordinator->term_seen)
            coordinator->term_seen = fence.term;
    }
    if (stored->term > FENCE_PART_MAX)
        coordinator->counters.malformed++;
    else if (stored->term > coordinator->term_seen)
        coordinator->term_seen = stored->term;
    if (stored->pause.size && !coordinator->operations.pause.size)
        buf_put_slice(&coordinator->operations.pause, stored->pause);
    if (stored->proof)
        coordinator->proof_seen =
            (struct proof){ stored->term, stored->proof };
}

/* An older home, reported before the stored fences were known. */
static void refuse_older(struct coordinator *coordinator, struct shard *shard)
{
    struct registrant *region = shard->home;

    if (!region || fence_compare(shard->fence, shard->loaded) >= 0)
        return;
    REACHED("a region reported a shard that another region owned later");
    coordinator->counters.conflicts++;
    shard_unlink(coordinator, shard, PROBE_HOME_CONTESTED);
    shard->fence = shard->loaded;
    shard_wait(shard, region);
    shard_needs_home(coordinator, shard);
}

void state_store_load(struct coordinator *coordinator, const struct stored *stored)
{
    struct loading loading = { .members = { 0 } };

    begin_loading(coordinator, &loading);
    load_fences(coordinator, stored);
    for (uint32_t i = 0; i < stored->region_count + stored->proxy_count; i++) {
        bool is_proxy = i >= stored->region_count;
        struct slice ref =
            is_proxy ? stored->proxies[i - stored->region_count]
                     : stored->regions[i];
        struct registrant *region =
            map_get(&loading.regions, ref)
                ? NULL
                : load_region(coordinator, &loading, ref, is_proxy);

        if (region)
            (void)map_put(&loading.regions, region->ref, region);
    }
    for (uint32_t i = 0; i < stored->home_count; i++)
        load_home(coordinator, map_get(&loading.regions, stored->homes[i].region),
                  stored->homes[i].shard);
    for (uint32_t i = 0; i < coordinator->shards.count; i++)
        refuse_older(coordinator, coordinator->shards.items[i]);
    for (uint32_t i = 0; i < stored->unallocated_count; i++) {
        struct shard *shard =
            shard_get(coordinator, stored->unallocated[i]);

        if (shard && !shard->home)
            shard_needs_home(coordinator, shard);
    }
    end_loading(&loading);
}
