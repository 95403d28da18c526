/* Keeps a coordinator's shards: their homes, fences, and the regions that wait for a home. */
#include "base/limits.h"
#include "shard/coordinator_state.h"
#include "shard/home_log.h"
#include "shard/shard_id.h"
#include "shard/strategy.h"

struct shard *shard_find(const struct coordinator *coordinator,
                         struct slice id)
{
    return map_get(&coordinator->shard_ids, id);
}

struct shard *shard_get(struct coordinator *coordinator, struct slice id)
{
    struct shard *shard = shard_find(coordinator, id);

    if (shard)
        return shard;
    if (coordinator->shards.count >= COORDINATOR_SHARDS_MAX) {
        coordinator->counters.dropped_full++;
        return NULL;
    }
    shard = mem_alloc(sizeof *shard);
    shard->id = slice_of(mem_copy(id.data, id.size), id.size);
    shard->index = coordinator->shards.count;
    vec_push(&coordinator->shards, shard);
    (void)map_put(&coordinator->shard_ids, shard->id, shard);
    return shard;
}

void shard_drop(struct shard *shard)
{
    vec_fini(&shard->waiting);
    mem_free(shard->former);
    mem_free((void *)shard->id.data);
    mem_free(shard);
}

void shard_probe(const struct coordinator *coordinator, enum probe_kind kind,
                 const struct shard *shard, enum probe_home why)
{
    struct probe probe = { .kind = kind,
                           .type = coordinator->type_index,
                           .shard = INT32_MIN,
                           .fence = shard->fence,
                           .second = why };

    if (!coordinator->probes)
        return;
    (void)shard_number(coordinator->names, shard->id, &probe.shard);
    probe.node = shard->home->node;
    if (kind == PROBE_HOME_SET && why == PROBE_HOME_ALLOCATED)
        probe.first = coordinator->takers;
    probes_put(coordinator->probes, &probe);
}

void shard_link(struct coordinator *coordinator, struct shard *shard,
                struct registrant *region, struct fence fence,
                enum probe_home why)
{
    check(!shard->home);
    check(fence_compare(fence, shard->fence) >= 0); /* a home never gets an older fence */
    if (shard->is_wanted)
        coordinator->unplaced--;
    shard->is_wanted = false;
    strategy_placed(coordinator, shard);
    shard->home = region;
    shard->fence = fence;
    shard->is_started = false;
    shard->is_refused = false;
    shard->is_last_resort = false;
    shard->refusals = 0;
    vec_push(&region->shards, shard);
    keep_shard(coordinator, shard);
    shard_probe(coordinator, PROBE_HOME_SET, shard, why);
}

void shard_raise(struct coordinator *coordinator, struct shard *shard,
                 struct fence fence)
{
    shard->fence = fence;
    keep_shard(coordinator, shard);
    shard_probe(coordinator, PROBE_HOME_FENCED, shard, PROBE_HOME_ALLOCATED);
}

void shard_unlink(struct coordinator *coordinator, struct shard *shard,
                  enum probe_home why)
{
    struct registrant *region = shard->home;

    shard_lose_home(coordinator, shard, why);
    for (uint32_t i = 0; i < region->shards.count; i++) {
        if (region->shards.items[i] == shard) {
            vec_remove(&region->shards, i);
            break;
        }
    }
}

void shard_lose_home(struct coordinator *coordinator, struct shard *shard,
                 enum probe_home why)
{
    check(!shard->handoff);
    shard_probe(coordinator, PROBE_HOME_ENDED, shard, why);
    home_log_ended(coordinator, shard, why);
    if (shard->is_disputed)
        coordinator->disputed--;
    shard->is_disputed = false;
    shard->home = NULL;
    shard->ended = shard->fence;
    keep_shard(coordinator, shard);
    shard->is_started = false;
    shard->generation++;
}

void shard_needs_home(struct coordinator *coordinator, struct shard *shard)
{
    check(!shard->home);
    if (!shard->is_wanted)
        coordinator->unplaced++;
    shard->is_wanted = true;
}

struct fence shard_next_fence(const struct coordinator *coordinator,
                              const struct shard *shard)
{
    return (struct fence){ coordinator->term, shard->fence.epoch + 1 };
}

void shard_wait(struct shard *shard, struct registrant *region)
{
    for (uint32_t i = 0; i < shard->waiting.count; i++)
        if (shard->waiting.items[i] == region)
            return;
    vec_push(&shard->waiting, region); /* at most one entry for each region */
}
