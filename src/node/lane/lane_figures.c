/* Fills in a lane's figures for metrics. */
#include "node/lane/lane.h"

#include "base/check.h"
#include "base/figures.h"

_Static_assert((int)FIGURES_SHARD_STATE_COUNT == OWNED_FENCED_STOPPING &&
                   (int)FIGURES_RUNNING == OWNED_RUNNING - 1,
               "the states of a shard differ from those of its figures");

static void count_shards(const struct owned_shards *owned, struct type_figures *figures)
{
    if (!owned->count)
        return;
    for (uint32_t i = 0; i < 2 * owned->shard_count - 1; i++)
        if (owned->state[i] != OWNED_ABSENT)
            figures->shards[owned->state[i] - 1]++;
}

void lane_figures(struct lane *lane, struct machine_figures *figures)
{
    struct actors_status actors;

    actors_status(lane->actors, &actors);
    figures->sent = actors.sent;
    figures->arrived = actors.arrived;
    figures->left = actors.left;
    figures->waiting = actors.waiting;
    figures->held = actors.held;
    figures->message_bytes = actors.message_bytes;
    figures->entity_bytes = actors.memory;
    figures->handlers_failed = actors.handlers_failed;
    figures->asks = actors.asks;
    figures->looks_refused = lane->looks_refused;
    for (int i = 0; i < SHERD_STAGE_COUNT; i++)
        figures->asks_late[i] = actors.asks_late[i];
    figures->type_count = lane->type_count;
    figures->types = mem_alloc(lane->type_count * sizeof *figures->types);
    for (uint32_t i = 0; i < lane->type_count; i++) {
        const struct pending_budget *budget = &lane->types[i].budget;

        actors_type_figures(lane->actors, (uint16_t)i, &figures->types[i]);
        count_shards(&lane->types[i].owned, &figures->types[i]);
        figures->buffered += budget->count;
        if (budget->count_max)
            figures->types[i].buffer_ratio = (double)budget->count / (double)budget->count_max;
    }
}
