/* Tracks the markers that hand-offs still miss, and markers that arrived before their order. */
#include "shard/owned_shards_inside.h"

#include <string.h>

#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"

void marker_debts_forget(struct owned_shard *at)
{
    at->debt_count = 0;
    at->drains = false;
}

static uint64_t lanes_mask(uint32_t lanes)
{
    return lanes >= 64 ? UINT64_MAX : (UINT64_C(1) << lanes) - 1;
}

bool marker_debts_pay(struct owned_shard *at, uint64_t uid, uint64_t lanes)
{
    for (uint32_t i = 0; i < at->debt_count; i++) {
        struct debt *debt = &at->debts[i];
        if (debt->uid != uid || (debt->lanes & lanes) == 0)
            continue;
        debt->lanes &= ~lanes;
        if (debt->lanes == 0)
            *debt = at->debts[--at->debt_count];
        return true;
    }
    return false;
}

void owned_early_pay(struct owned_shards *owned, int32_t shard,
                      struct owned_shard *at)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < owned->early_count; i++) {
        struct hosted_early early = owned->early[i];
        int order = attempt_compare(early.attempt, at->attempt);
        if (early.shard != shard || order > 0)
            owned->early[kept++] = early;
        else if (order == 0) {
            REACHED("a marker arrives before the request to hand off");
            while (marker_debts_pay(at, early.uid, early.lanes)) {
            }
        }
    }
    owned->early_count = kept;
}

void marker_debts_set(struct owned_shards *owned, struct owned_shard *at,
                      const struct owing *owing, uint32_t count)
{
    mem_free(at->debts);
    at->debts = mem_alloc(count * sizeof *at->debts);
    at->debt_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (owing[i].lanes == 0 || owing[i].lanes > LANES_MAX) {
            owned->counters.invalid++;
            continue;
        }
        at->debts[at->debt_count++] =
            (struct debt){ owing[i].uid, lanes_mask(owing[i].lanes) };
    }
}

void owned_early_drop_below(struct owned_shards *owned, int32_t shard,
                             struct fence fence)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < owned->early_count; i++) {
        const struct hosted_early *early = &owned->early[i];
        if (early->shard != shard ||
            fence_compare(early->attempt.fence, fence) >= 0)
            owned->early[kept++] = *early;
    }
    owned->early_count = kept;
}

void owned_early_keep(struct owned_shards *owned, const struct hosted_early *marker)
{
    for (uint32_t i = 0; i < owned->early_count; i++) {
        struct hosted_early *early = &owned->early[i];
        if (early->shard == marker->shard && early->uid == marker->uid &&
            attempt_compare(early->attempt, marker->attempt) == 0) {
            early->lanes |= marker->lanes;
            return;
        }
    }
    if (owned->early_count == EARLY_MARKERS_MAX) {
        owned->counters.markers_dropped++;
        owned->early_count--;
        memmove(owned->early, owned->early + 1,
                owned->early_count * sizeof *owned->early);
    }
    if (owned->early_count == owned->early_capacity) {
        owned->early_capacity =
            owned->early_capacity ? owned->early_capacity * 2 : 8;
        owned->early =
            mem_resize(owned->early,
                       owned->early_capacity * sizeof *owned->early);
    }
    owned->early[owned->early_count++] = *marker;
    BOUNDED("markers before their order", owned->early_count,
            EARLY_MARKERS_MAX);
}

void owned_early_node_gone(struct owned_shards *owned, uint64_t uid)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < owned->early_count; i++) {
        if (owned->early[i].uid != uid)
            owned->early[kept++] = owned->early[i];
    }
    owned->early_count = kept;
}

uint32_t owned_owed(const struct owned_shards *owned, int32_t shard)
{
    int64_t index = shard_index(shard, owned->shard_count);
    uint32_t owed = 0;
    if (index < 0 || owned->state[index] == OWNED_ABSENT)
        return 0;
    for (uint32_t i = 0; i < owned->shards[index]->debt_count; i++) {
        for (uint64_t left = owned->shards[index]->debts[i].lanes; left;
             left &= left - 1)
            owed++;
    }
    return owed;
}
