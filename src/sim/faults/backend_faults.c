/* Translates each fault of a schedule into settings of the disks. */
#include "sim/faults/backend_faults.h"

#include "base/timers.h"
#include "sim/world/disk_backend.h"
#include "sim/world/durable.h"
#include "sim/seed/streams.h"
#include "sim/world/world.h"

#define POWER_WITHIN (20 * SECOND) /* power is back within this time after the fault's start */
#define POWER_WAIT (5 * SECOND) /* part of it: longest wait for a backend with an unsynced write */
#define LOOK_MIN (MS / 10)      /* least time between two looks for such a write */
#define LOOK_ODDS 4 /* a look that finds one cuts the power with probability 1 / LOOK_ODDS */

static void power_is_back(struct world *world, void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < world_store_count(world); i++)
        world_store_reopen(world, i);
}

/* Cuts the power of all backends; it returns within that time. */
static void lose_power(struct world *world, struct rng *rng, uint64_t within)
{
    for (uint32_t i = 0; i < world_store_count(world); i++)
        world_store_power_loss(world, i);
    world_at(world, world_now(world) + 1 + rng_below(rng, within), power_is_back, NULL);
}

static bool some_store_writes(struct world *world)
{
    for (uint32_t i = 0; i < world_store_count(world); i++)
        if (disk_backend_is_writing(world_store_at(world, i)))
            return true;
    return false;
}

/* Returns a time that allows some looks during a write and its sync. */
static uint64_t next_look(struct world *world)
{
    uint64_t latency =
        disk_faults(disk_backend_disk(world_backend(world)))->latency_mean;

    return world_now(world) +
           (latency / 2 > LOOK_MIN ? latency / 2 : LOOK_MIN);
}

/* Skips some writes at the first look, so that syncs are hit, too. */
static void look_for_writes(struct world *world, void *arg)
{
    struct power_wait *wait = arg;

    if (world_now(world) < wait->until &&
        (!some_store_writes(world) || rng_below(&wait->rng, LOOK_ODDS))) {
        world_at(world, next_look(world), look_for_writes, wait);
        return;
    }
    wait->until = 0;
    lose_power(world, &wait->rng, POWER_WITHIN - POWER_WAIT);
}

void backend_power_waits(struct world *world, struct power_wait *wait)
{
    bool looks = wait->until != 0;

    if (looks) /* two at a time: the first stops waiting */
        lose_power(world, &wait->rng, POWER_WITHIN - POWER_WAIT);
    wait->rng = stream_rng(world_seed(world), STREAM_DISK, world_now(world));
    wait->until = world_now(world) + POWER_WAIT;
    if (!looks)
        world_at(world, next_look(world), look_for_writes, wait);
}

static uint64_t harm_of(const struct disk_counters *counters,
                        enum fault_verb verb)
{
    switch (verb) {
    case FAULT_VERB_DISK_STALL:
        return counters->stalls;
    case FAULT_VERB_DISK_ERROR:
        return counters->write_errors + counters->sync_errors +
               counters->read_errors;
    case FAULT_VERB_DISK_FULL:
        return counters->full;
    case FAULT_VERB_DISK_SYNC:
        return counters->sync_errors;
    case FAULT_VERB_POWER:
        return counters->power_losses;
    default:
        return 0;
    }
}

static uint64_t own_harm_of(const struct durable_counters *counters,
                            enum fault_verb verb)
{
    switch (verb) {
    case FAULT_VERB_DISK_STALL:
        return counters->stalls;
    case FAULT_VERB_DISK_ERROR:
        return counters->errors + counters->sync_errors;
    case FAULT_VERB_DISK_FULL:
        return counters->full;
    case FAULT_VERB_DISK_SYNC:
        return counters->sync_errors;
    case FAULT_VERB_POWER_OFF:
        return counters->power_harm;
    default:
        return 0;
    }
}

uint64_t backend_harm(struct world *world, enum fault_verb verb)
{
    uint64_t harm = 0;

    for (uint32_t i = 0; i < world_store_count(world); i++)
        harm += harm_of(
            disk_counters(disk_backend_disk(world_store_at(world, i))), verb);
    for (uint32_t i = 0; i < world_node_count(world); i++) {
        const struct durable_counters own = world_durable_counters(world, i);

        harm += own_harm_of(&own, verb);
    }
    return harm;
}

bool backend_fault(struct world *world, enum fault_verb verb, bool on)
{
    struct disk_faults faults =
        *disk_faults(disk_backend_disk(world_backend(world)));
    struct durable_faults durable = { 0 };
    struct rng rng =
        stream_rng(world_seed(world), STREAM_DISK, world_now(world));

    switch (verb) {
    case FAULT_VERB_DISK_STALL:
        faults.stall_ppm = on ? 300000 : 0;
        faults.stall_max = 10 * SECOND;
        break;
    case FAULT_VERB_DISK_ERROR:
        faults.write_error_ppm = faults.read_error_ppm =
            faults.sync_error_ppm = on ? 200000 : 0;
        break;
    case FAULT_VERB_DISK_FULL:
        faults.is_full = on;
        break;
    case FAULT_VERB_DISK_SYNC:
        for (uint32_t i = 0; i < world_store_count(world); i++)
            disk_fail_sync(disk_backend_disk(world_store_at(world, i)));
        for (uint32_t i = 0; i < world_node_count(world); i++)
            world_durable_fail_sync(world, i);
        return true;
    case FAULT_VERB_POWER:
        lose_power(world, &rng, POWER_WITHIN);
        return true;
    default:
        return false;
    }
    for (uint32_t i = 0; i < world_store_count(world); i++)
        disk_set_faults(disk_backend_disk(world_store_at(world, i)), &faults);
    durable.stall_ppm = faults.stall_ppm;
    durable.stall_max = faults.stall_max;
    durable.error_ppm = faults.write_error_ppm;
    durable.sync_error_ppm = faults.sync_error_ppm;
    durable.is_full = faults.is_full;
    for (uint32_t i = 0; i < world_node_count(world); i++)
        world_durable_faults(world, i, &durable);
    return true;
}
