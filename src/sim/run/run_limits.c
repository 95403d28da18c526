/* Changes the limits of active entities while a run has faults, and judges the last ones afterwards. */
#include "sim/run/run_inside.h"

#include <stdio.h>

#include "base/check.h"
#include "sim/seed/streams.h"
#include "sim/workload/workload_world.h"
#include "sim/world/world.h"

/* The last change of a region's limit. */
struct run_limit {
    uint32_t life;  /* incarnation of the node; another one has its configured limit */
    uint32_t limit; /* 0: none */
};

static struct run_limit *limit_of(const struct run *run, uint32_t node, uint32_t type)
{
    return &run->limits[(size_t)node * run->cluster.type_count + type];
}

/* 0: none. */
static uint32_t draw_limit(const struct run *run, struct rng *rng)
{
    uint32_t most = (uint32_t)run->options->value[OPTION_ACTIVE_LIMIT];

    switch (rng_below(rng, 8)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
    case 3:
        return most;
    default:
        return 1 + (uint32_t)rng_below(rng, most);
    }
}

static void change(struct run *run, uint32_t node, uint32_t type, uint32_t limit)
{
    *limit_of(run, node, type) =
        (struct run_limit){ world_node(run->world, node)->life, limit };
    world_active_limit(run->world, node, run->cluster.types[type].name, limit,
                       run->options->value[OPTION_ACTIVE_BYTES]);
}

/* Changes the limits of half of the regions. */
static void change_some(struct run *run, struct rng *rng)
{
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        for (uint32_t k = 0; k < run->cluster.type_count; k++) {
            bool changes = rng_below(rng, 2);
            uint32_t limit = draw_limit(run, rng);

            if (changes && cluster_lives(&run->cluster, i))
                change(run, i, k, limit);
        }
}

void run_with_limits(struct run *run, uint64_t length)
{
    struct rng rng = stream_rng(run->options->seed, STREAM_NEMESIS, RUN_LIMITS_INDEX);
    uint64_t changes = run->options->value[OPTION_LIMIT_CHANGES];
    uint64_t end = world_now(run->world) + length;

    run->limits = mem_alloc((size_t)run->cluster.nodes * run->cluster.type_count *
                            sizeof *run->limits);
    for (uint64_t i = 0; i < changes && !run_is_over(run); i++) {
        run_until(run, end - length / (changes + 1) * (changes - i));
        change_some(run, &rng);
    }
    run_until(run, end);
}

/* With less than one entity for each shard, the entity of a shard that was used last may stay. */
static bool region_holds(const struct run *run, const struct sherd_status *status, uint32_t node,
                         uint32_t type, char *text, size_t size)
{
    const struct run_limit *last = run->limits ? limit_of(run, node, type) : NULL;
    uint64_t limit = run->options->value[OPTION_ACTIVE_LIMIT];
    const struct sherd_type_status *of = &status->types[type];

    if (last && last->life == world_node(run->world, node)->life)
        limit = last->limit ? last->limit : UINT64_MAX;
    if (limit < of->shards_here)
        limit = of->shards_here;
    if (of->entities_here <= limit)
        return true;
    (void)snprintf(text, size, "node %u has %llu entities of %s, its limit is %llu", node,
                   (unsigned long long)of->entities_here, of->name, (unsigned long long)limit);
    return false;
}

bool run_limits_hold(struct run *run, char *text, size_t size)
{
    uint32_t types; /* the first ones; limits do not hold for daemons and remembered entities */
    const struct sherd_entity_type *of = workload_types(workload_world_of(run->load), &types);
    bool is_good = true;

    for (uint32_t i = 0; i < run->cluster.nodes && is_good; i++) {
        struct sherd_status status;

        if (!cluster_lives(&run->cluster, i))
            continue;
        status = world_status(run->world, i);
        for (uint32_t k = 0; k < types && is_good; k++)
            is_good = of[k].remember > 0 || region_holds(run, &status, i, k, text, size);
        world_status_fini(&status);
    }
    return is_good;
}
