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

void owned_early_pay(struct hosted *hosted, int32_t shard,
                      struct owned_shard *at)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < hosted->early_count; i++) {
        struct hosted_early early = hosted->early[i];
        int order = attempt_compare(early.attempt, at->attempt);
        if (early.shard != shard || order > 0)
            hosted->early[kept++] = early;
        else if (order == 0) {
            REACHED("a marker arrives before the request to hand off");
            while (marker_debts_pay(at, early.uid, early.lanes)) {
            }
        }
    }
    hosted->early_count = kept;
}

void marker_debts_set(struct hosted *hosted, struct owned_shard *at,
                      const struct owing *owing, uint32_t count)
{
    mem_free(at->debts);
    at->debts = mem_alloc(count * sizeof *at->debts);
    at->debt_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (owing[i].lanes == 0 || owing[i].lanes > LANES_MAX) {
            hosted->counters.invalid++;
            continue;
        }
        at->debts[at->debt_count++] =
            (struct debt){ owing[i].uid, lanes_mask(owing[i].lanes) };
    }
}

void owned_early_drop_below(struct hosted *hosted, int32_t shard,
                             struct fence fence)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < hosted->early_count; i++) {
        const struct hosted_early *early = &hosted->early[i];
        if (early->shard != shard ||
            fence_compare(early->attempt.fence, fence) >= 0)
            hosted->early[kept++] = *early;
    }
    hosted->early_count = kept;
}

void owned_early_keep(struct hosted *hosted, const struct hosted_early *marker)
{
    for (uint32_t i = 0; i < hosted->early_count; i++) {
        struct hosted_early *early = &hosted->early[i];
        if (early->shard == marker->shard && early->uid == marker->uid &&
            attempt_compare(early->attempt, marker->attempt) == 0) {
            early->lanes |= marker->lanes;
            return;
        }
    }
    if (hosted->early_count == EARLY_MARKERS_MAX) {
        hosted->counters.markers_dropped++;
        hosted->early_count--;
        memmove(hosted->early, hosted->early + 1,
                hosted->early_count * sizeof *hosted->early);
    }
    if (hosted->early_count == hosted->early_capacity) {
        hosted->early_capacity =
            hosted->early_capacity ? hosted->early_capacity * 2 : 8;
        hosted->early =
            mem_resize(hosted->early,
                       hosted->early_capacity * sizeof *hosted->early);
    }
    hosted->early[hosted->early_count++] = *marker;
    BOUNDED("markers before their order", hosted->early_count,
            EARLY_MARKERS_MAX);
}

void owned_early_node_gone(struct hosted *hosted, uint64_t uid)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < hosted->early_count; i++) {
        if (hosted->early[i].uid != uid)
            hosted->early[kept++] = hosted->early[i];
    }
    hosted->early_count = kept;
}

uint32_t owned_owed(const struct hosted *hosted, int32_t shard)
{
    int64_t index = shard_index(shard, hosted->shard_count);
    uint32_t owed = 0;
    if (index < 0 || hosted->state[index] == HOSTED_ABSENT)
        return 0;
    for (uint32_t i = 0; i < hosted->shards[index]->debt_count; i++) {
        for (uint64_t left = hosted->shards[index]->debts[i].lanes; left;
             left &= left - 1)
            owed++;
    }
    return owed;
}
