/* Restarts nodes gracefully, one after another, before the phase with faults. */
#include "sim/run/run_inside.h"

#include <stdio.h>

#include "sim/check/check_convergence.h"
#include "sim/seed/streams.h"
#include "sim/workload/workload_rolling.h"
#include "sim/world/world.h"

#define WARM_UP (5 * SECOND) /* all shards of the asked type get homes */
#define LATER_MS 3000        /* most time between an end and the next start */
#define APART_MIN_MS 1000    /* between a node that is up and the next one that leaves */
#define APART_MAX_MS 5000

static uint64_t between(struct rng *rng, uint64_t low_ms, uint64_t high_ms)
{
    return (low_ms + rng_below(rng, high_ms - low_ms + 1)) * MS;
}

static bool has_ended(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "node %u runs", run->restarting);
    return !cluster_lives(&run->cluster, run->restarting);
}

/* False: a rule is broken. */
static bool restart(struct run *run, struct rng *rng, uint32_t node)
{
    run->restarting = node;
    rolling_load_leaves(run->rolling, node);
    world_leave(run->world, node);
    if (!run_until_holds(run, has_ended, "shutdown-completes", quiet_leave_bound(run->options),
                         "a node that leaves has ended"))
        return false;
    if (rng_below(rng, 2))
        run_until(run, world_now(run->world) + between(rng, 0, LATER_MS));
    cluster_start(&run->cluster, node);
    if (!run_until_holds(run, run_is_converged, "member-convergence",
                         quiet_agree_bound(run->options), "a node that restarts is up for all"))
        return false;
    rolling_load_ask(run->rolling);
    run_until(run, world_now(run->world) + between(rng, APART_MIN_MS, APART_MAX_MS));
    return true;
}

void run_rolling(struct run *run)
{
    struct rng rng = stream_rng(run->options->seed, STREAM_ROLLING, 1);
    uint32_t node = (uint32_t)rng_below(&rng, run->cluster.nodes);

    if (!run->rolling || !run_until_holds(run, run_is_coordinated, "homes-available",
                                          quiet_coordinate_bound(run->options),
                                          "before the restarts, no coordinator that all know"))
        return;
    rolling_load_ask(run->rolling);
    run_until(run, world_now(run->world) + WARM_UP);
    rolling_load_judge(run->rolling, true);
    for (uint64_t i = 0; i < run->options->value[OPTION_ROLLING]; i++) {
        if (run_is_over(run) || verdict_count(run->verdict) || !restart(run, &rng, node))
            break;
        node = (node + 1) % run->cluster.nodes;
    }
    rolling_load_stop(run->rolling);
    run_until(run, world_now(run->world) + ROLLING_ASK_MS * MS + SECOND);
    rolling_load_judge(run->rolling, false);
}
