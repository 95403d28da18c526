/* Answers nodes that look for their seed nodes, with the addresses of the world's owner or with
 * nothing, after a delay. A node has one look-up at a time. If it ends meanwhile, the answer is
 * dropped. */
#include "sim/world/inside.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "sim/seed/streams.h"

#define FIND_MEAN (50 * MS)
#define FAILURES 16 /* one look-up in so many */

void world_finds(struct world *world, world_find *find, void *arg)
{
    world->find = find;
    world->find_arg = arg;
}

void seeds_take(struct world *world, struct site *site)
{
    events_put(&world->events, &site->found,
               world->now + stream_delay(&site->found_rng, MS, FIND_MEAN));
}

void seeds_event(struct world *world, struct site *site)
{
    struct address addresses[MEMBER_SEEDS_MAX];
    uint32_t count = 0;
    struct seed_list *list;
    struct worker *worker = &site->workers[0];

    if (world->find && rng_below(&site->found_rng, FAILURES))
        count = world->find(world->find_arg, site->index, addresses);
    list = mem_alloc(sizeof *list + count * sizeof *addresses);
    list->count = count;
    memcpy(list->addresses, addresses, count * sizeof *addresses);
    digest_add(world, site->index, EVENT_FOUND, count);
    worker_touched(world, worker);
    machine_found(worker->machine, site_runs(world, site), list);
}

void seeds_end(struct world *world, struct site *site)
{
    events_drop(&world->events, &site->found);
}
