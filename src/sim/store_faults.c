/* How each fault of a schedule is done to the disk. */
#include "sim/store_faults.h"

#include "base/timers.h"
#include "sim/disk_store.h"
#include "sim/durable.h"
#include "sim/streams.h"
#include "sim/world.h"

static void power_is_back(struct world *world, void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < world_store_count(world); i++)
        disk_store_reopen(world_store_at(world, i), world_now(world));
}

static void lose_power(struct world *world, struct rng *rng)
{
    uint64_t now = world_now(world);

    for (uint32_t i = 0; i < world_store_count(world); i++)
        disk_store_power_loss(world_store_at(world, i), now);
    world_at(world, now + 1 + rng_below(rng, 20 * SECOND), power_is_back, NULL);
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

uint64_t store_harm(struct world *world, enum fault_verb verb)
{
    uint64_t harm = 0;

    for (uint32_t i = 0; i < world_store_count(world); i++)
        harm += harm_of(
            disk_counters(disk_store_disk(world_store_at(world, i))), verb);
    return harm;
}

bool store_fault(struct world *world, enum fault_verb verb, bool on)
{
    struct disk_faults faults =
        *disk_faults(disk_store_disk(world_store(world)));
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
            disk_fail_sync(disk_store_disk(world_store_at(world, i)));
        return true;
    case FAULT_VERB_POWER:
        lose_power(world, &rng);
        return true;
    default:
        return false;
    }
    for (uint32_t i = 0; i < world_store_count(world); i++)
        disk_set_faults(disk_store_disk(world_store_at(world, i)), &faults);
    durable.stall_ppm = faults.stall_ppm;
    durable.stall_max = faults.stall_max;
    durable.error_ppm = faults.write_error_ppm;
    durable.is_full = faults.is_full;
    for (uint32_t i = 0; i < world_node_count(world); i++)
        world_durable_faults(world, i, &durable);
    return true;
}
