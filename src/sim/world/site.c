/* Creates the sites of a world, and adds up their status. */
#include "sim/world/inside.h"

#include "base/check.h"
#include "node/recoveries.h"
#include "sim/seed/streams.h"

struct site *world_site(struct world *world, uint32_t index)
{
    uint64_t seed = world->settings.seed;

    check(index < WORLD_NODES_MAX);
    while (world->sites.count <= index) {
        struct site *site = mem_alloc(sizeof *site);

        site->index = world->sites.count;
        site->stored.kind = EVENT_STORED;
        site->found.kind = EVENT_FOUND;
        site->found_rng = stream_rng(seed, STREAM_SEEDS, site->index);
        site->lease_rng = stream_rng(seed, STREAM_LEASE, site->index);
        site->job_rng = stream_rng(seed, STREAM_JOB, site->index);
        site->mail_rng = stream_rng(seed, STREAM_MAIL, site->index);
        site->life_rng = stream_rng(seed, STREAM_NODE, site->index);
        site->fate_rng = stream_rng(seed, STREAM_FATE, site->index);
        site->way_rng = stream_rng(seed, STREAM_PATH, site->index);
        clock_init(&site->clock, WORLD_WALL_MS);
        vec_push(&world->sites, site);
    }
    return world->sites.items[index];
}

void status_add(struct site *site, struct status_part *part)
{
    struct sherd_status *sum = &site->status;
    struct sherd_status *add = &part->status;

    for (uint32_t i = 0; i < SHERD_REASON_COUNT; i++)
        sum->undelivered[i] += add->undelivered[i];
    for (uint32_t i = 0; i < SHERD_COUNTER_COUNT; i++)
        sum->counters[i] += add->counters[i];
    sum->delivered += add->delivered;
    sum->held_max += add->held_max; /* each region's own, as in host/ */
    sum->held_total += add->held_total;
    sum->fenced += add->fenced;
    recoveries_add(&sum->recoveries, &add->recoveries);
    snapshots_add(&sum->snapshots, &add->snapshots);
    deliveries_add(&sum->deliveries, &add->deliveries);
    sum->events += add->events;
    sum->jobs += add->jobs;
    sum->jobs_open += add->jobs_open;
    if (part->machine == 0) {
        sum->up = add->up;
        sum->members = add->members;
        sum->member_count = add->member_count;
        sum->types = add->types;
        sum->type_count = add->type_count;
        sum->damaged_keys = add->damaged_keys;
        sum->damaged_key_count = add->damaged_key_count;
        sum->replicas = add->replicas;
        sum->replica_count = add->replica_count;
        add->members = NULL;
        add->types = NULL;
    }
    for (uint32_t i = 0; part->machine && i < add->type_count; i++) {
        sum->types[i].entities_here += add->types[i].entities_here;
        sum->types[i].waiting += add->types[i].waiting;
    }
    mem_free(add->members);
    mem_free(add->types);
    mem_free(part);
}
