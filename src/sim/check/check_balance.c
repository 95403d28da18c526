/* Checks that coordinators with nothing to move have spread the shards of each type evenly. */
#include "sim/check/check_balance.h"

#include <stdio.h>

#include "base/check.h"
#include "sim/check/facts.h"
#include "sim/seed/options.h"
#include "sim/world/verdict.h"
#include "sim/world/world.h"

bool check_balance_holds(const struct check_balance_limits *limits,
                         const uint32_t *shards, uint32_t regions, char *text,
                         size_t size)
{
    uint32_t least = shards[0];
    uint32_t most = shards[0];
    uint64_t sum = 0;
    uint64_t part;

    for (uint32_t i = 0; i < regions; i++) {
        least = shards[i] < least ? shards[i] : least;
        most = shards[i] > most ? shards[i] : most;
        sum += shards[i];
    }
    part = (sum + regions - 1) / regions;
    (void)snprintf(text, size, "%llu shards on %u regions, %u to %u on each",
                   (unsigned long long)sum, regions, least, most);
    return limits->absolute_limit ? most <= part && least + 1 >= part
                                  : most - least <= limits->threshold;
}

/* Counts the shards of each type on the nodes of one data center, a row for each type. Returns the
 * number of nodes. */
static uint32_t count_shards(struct world *world, uint32_t center,
                             uint32_t centers, uint32_t *rows,
                             uint32_t *types)
{
    uint32_t nodes = world_node_count(world);
    uint32_t regions = 0;

    *types = 0;
    for (uint32_t i = center; i < nodes; i += centers) {
        struct sherd_status status;

        if (!world_node(world, i)->node)
            continue;
        status = world_status(world, i);
        check(status.type_count <= FACT_TYPES_MAX);
        for (uint32_t j = 0; j < status.type_count; j++)
            rows[j * nodes + regions] = status.types[j].shards_here;
        *types = status.type_count;
        world_status_fini(&status);
        regions++;
    }
    return regions;
}

void check_balance_judge(struct verdict *verdict, struct world *world,
                         const struct options *options)
{
    const struct check_balance_limits limits = {
        (uint32_t)options->value[OPTION_REBALANCE_ABSOLUTE],
        (uint32_t)options->value[OPTION_REBALANCE_THRESHOLD]
    };
    uint32_t centers = (uint32_t)options->value[OPTION_CENTERS];
    uint32_t nodes = world_node_count(world);
    uint32_t *rows = mem_alloc(FACT_TYPES_MAX * nodes * sizeof *rows);
    char text[VERDICT_TEXT_MAX];

    for (uint32_t i = 0; i < centers; i++) {
        uint32_t types;
        uint32_t regions = count_shards(world, i, centers, rows, &types);

        for (uint32_t j = 0; regions && j < types; j++)
            if (options_allocation(options, j) == ALLOCATION_LEAST_SHARD &&
                !check_balance_holds(&limits, rows + j * nodes, regions, text,
                                     sizeof text))
                violation(verdict, "shard-balance", VERDICT_NO_NODE,
                          "in the quiet, of type %u in data center %u: %s", j,
                          i, text);
    }
    mem_free(rows);
}
