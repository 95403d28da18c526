/* Starts and ends the faults of the network. */
#include "sim/world/net.h"

#include "base/check.h"
#include "sim/world/inside.h"

static struct path *path_between(struct world *world, uint32_t from,
                                 uint32_t to)
{
    check(from != to);
    return pipe_path(world_site(world, from), world_site(world, to));
}

void net_cut(struct world *world, uint32_t from, uint32_t to,
             enum net_streams streams, bool on)
{
    struct path *path = path_between(world, from, to);

    if (on) {
        path->cut |= (uint8_t)streams;
        return;
    }
    path->cut &= (uint8_t)~streams;
    pipe_healed(world, &path->parked, path);
}

void net_part(struct world *world, uint32_t left, uint32_t right, bool cut)
{
    net_cut(world, left, right, NET_BOTH, cut);
    net_cut(world, right, left, NET_BOTH, cut);
}

void net_clog(struct world *world, uint32_t from, uint32_t to, uint64_t until)
{
    struct path *path = path_between(world, from, to);

    if (until > world->now) {
        events_put(&world->events, &path->opens, until);
        return;
    }
    events_drop(&world->events, &path->opens);
    pipe_healed(world, &path->parked, path);
}

static void delay_one(struct world *world, uint32_t from, uint32_t to,
                      uint64_t min, uint64_t mean)
{
    struct path *path = path_between(world, from, to);

    path->min = min;
    path->mean = min == world->settings.link_min &&
                         mean == world->settings.link_mean
                     ? 0 /* the world's */
                     : mean;
}

void net_delay(struct world *world, uint32_t from, uint32_t to, uint64_t min,
               uint64_t mean)
{
    uint32_t count = world->sites.count;

    check(mean > 0 && mean >= min);
    if (from == NET_ALL && to == NET_ALL) {
        world->settings.link_min = min;
        world->settings.link_mean = mean;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct site *site = world->sites.items[i];

        if (from != NET_ALL && from != i)
            continue;
        for (uint32_t j = 0; j < site->paths.count; j++)
            if (to == NET_ALL && from == NET_ALL && site->paths.items[j])
                site->paths.items[j]->mean = 0; /* the world's */
        for (uint32_t j = 0; j < count; j++)
            if (i != j && (from != NET_ALL || to != NET_ALL) &&
                (to == NET_ALL || to == j))
                delay_one(world, i, j, min, mean);
    }
}

static uint32_t break_out(struct world *world, struct site *from,
                          const struct site *to)
{
    uint32_t broken = 0;

    for (uint32_t i = from->out.count; i-- > 0;)
        if (from->out.items[i]->to == to) {
            broken += from->out.items[i]->under_way > 0;
            pipe_break(world, from->out.items[i]);
        }
    return broken;
}

uint32_t net_reset(struct world *world, uint32_t left, uint32_t right)
{
    uint32_t broken = break_out(world, world_site(world, left),
                                world_site(world, right));

    return broken + break_out(world, world_site(world, right),
                              world_site(world, left));
}

uint32_t net_half_open(struct world *world, uint32_t from, uint32_t to)
{
    struct site *site = world_site(world, from);
    struct site *other = world_site(world, to);
    uint32_t open = 0;

    for (uint32_t i = site->out.count; i-- > 0;)
        if (site->out.items[i]->to == other) {
            pipe_vanish(world, site->out.items[i], true);
            open++;
        }
    return open;
}

struct net_harm net_harm(const struct world *world, uint32_t from, uint32_t to)
{
    const struct site *site =
        from < world->sites.count ? world->sites.items[from] : NULL;
    const struct path *path =
        site && to < site->paths.count ? site->paths.items[to] : NULL;

    return path ? (struct net_harm){ .held = path->parked.ever,
                                     .slowed = path->slowed }
                : (struct net_harm){ 0 };
}

void net_refuse(struct world *world, uint32_t node, bool on)
{
    world_site(world, node)->refuses = on;
}

void net_black_hole(struct world *world, uint32_t node, bool on)
{
    struct site *site = world_site(world, node);

    site->is_hole = on;
    if (!on)
        pipe_healed(world, &site->calls, NULL);
}

void net_slow_accept(struct world *world, uint32_t node, uint64_t ns)
{
    world_site(world, node)->accept_delay = ns;
}
