/* Combines the main area with an admission window, a filter and an optimizer of the window's size. */
#include "actor/passivation/strategy.h"

#include "base/check.h"

#define SKETCH_CAPACITY_LEAST 8192u /* 64 KiB by default */

const struct passivation_settings passivation_default = {
    .main = { .policy = PASSIVATION_LEAST_RECENT, .levels = 2, .shares = { 0.2, 0.8 } },
    .window = { .policy = PASSIVATION_LEAST_RECENT },
    .window_share = 0.01,
    .window_share_min = 0.01,
    .window_share_max = 1.0,
    .has_filter = true,
    .filter = { .depth = 4, .bits = 4, .width_multiplier = 4, .reset_multiplier = 10 },
    .climbs = true,
    .climb = { .adjust_multiplier = 10,
               .initial_step = 0.0625,
               .restart_threshold = 0.05,
               .step_decay = 0.98 },
};

struct strategy {
    const struct passivation_settings *settings;
    struct ranks *ranks;
    uint32_t limit;
    bool is_composite;
    bool is_sketch_old; /* it is made for an earlier limit */
    uint32_t sketch_capacity; /* entities; the limit, or less while few are active */
    double window_share;
    struct area main, window;
    struct climb climb;
    struct sketch sketch;
};

/* Returns the window's part of the limit. */
static uint32_t window_limit(const struct strategy *strategy)
{
    return (uint32_t)(strategy->window_share * strategy->limit);
}

struct strategy *strategy_new(const struct passivation_settings *settings,
                              struct ranks *ranks, uint32_t limit)
{
    struct strategy *strategy = mem_alloc(sizeof *strategy);

    check(settings->main.policy != PASSIVATION_NONE);
    strategy->settings = settings;
    strategy->ranks = ranks;
    strategy->is_composite =
        settings->window.policy != PASSIVATION_NONE || settings->has_filter;
    if (settings->window.policy != PASSIVATION_NONE)
        strategy->window_share = settings->window_share;
    area_init(&strategy->main, &settings->main, RANK_MAIN);
    area_init(&strategy->window, &settings->window, RANK_WINDOW);
    climb_init(&strategy->climb, &settings->climb, limit);
    strategy_set_limit(strategy, limit);
    return strategy;
}

void strategy_free(struct strategy *strategy)
{
    if (!strategy)
        return;
    area_fini(&strategy->main, strategy->ranks);
    area_fini(&strategy->window, strategy->ranks);
    sketch_fini(&strategy->sketch);
    mem_free(strategy);
}

/* --- composite strategies --- */

/* Below a large limit the sketch grows with the number of active entities, and forgets all uses when
 * it grows. Until the limit is reached nothing is compared. */
static uint32_t sketch_capacity(const struct strategy *strategy)
{
    uint32_t wanted = 2 * strategy_active(strategy);

    wanted = wanted < SKETCH_CAPACITY_LEAST ? SKETCH_CAPACITY_LEAST : wanted;
    return wanted < strategy->limit ? wanted : strategy->limit;
}

/* The sketch is made when it is first used: a region that starts many shards changes all their
 * limits each time. */
static struct sketch *fresh_sketch(struct strategy *strategy)
{
    bool is_small = strategy->sketch_capacity < strategy->limit &&
                    strategy_active(strategy) > strategy->sketch_capacity;

    if (strategy->is_sketch_old || is_small) {
        strategy->sketch_capacity = sketch_capacity(strategy);
        sketch_fini(&strategy->sketch);
        sketch_init(&strategy->sketch, &strategy->settings->filter, strategy->sketch_capacity);
        strategy->is_sketch_old = false;
    }
    return &strategy->sketch;
}

static bool is_preferred(struct strategy *strategy, uint32_t candidate, uint32_t selected)
{
    const struct ranks *ranks = strategy->ranks;
    const struct sketch *sketch;

    if (!strategy->settings->has_filter)
        return true;
    sketch = fresh_sketch(strategy);
    return sketch_frequency(sketch, ranks->hash(ranks->user, candidate)) >
           sketch_frequency(sketch, ranks->hash(ranks->user, selected));
}

/* Takes the entities that left the window into the main area, or passivates them. During a change
 * of the limit, the area does not know its new limit yet. */
static void admit(struct strategy *strategy)
{
    struct ranks *ranks = strategy->ranks;
    struct area *main = &strategy->main;
    uint32_t main_limit = strategy->limit - window_limit(strategy);

    for (uint32_t i = 0; i < ranks->moved.count; i++) {
        uint32_t candidate = ranks->moved.items[i];
        uint32_t selected = main->size >= main_limit ? area_select(main) : 0;

        if (selected && !is_preferred(strategy, candidate, selected))
            vec_push(&ranks->passivated, candidate);
        else
            area_use(main, ranks, candidate, &ranks->passivated);
    }
    ranks->moved.count = 0;
}

/* Moves entities from an area, whose limit shrinks, to the other one. */
static void shift(struct strategy *strategy, struct area *from, uint32_t from_limit,
                  struct area *to, uint32_t to_limit)
{
    struct ranks *ranks = strategy->ranks;

    area_set_limit(to, ranks, to_limit, &ranks->passivated);
    area_set_limit(from, ranks, from_limit, &ranks->moved);
    for (uint32_t i = 0; i < ranks->moved.count; i++)
        area_use(to, ranks, ranks->moved.items[i], &ranks->passivated);
    ranks->moved.count = 0;
}

static void adapt(struct strategy *strategy, double change)
{
    const struct passivation_settings *settings = strategy->settings;
    double share = strategy->window_share + change;
    uint32_t in_window;

    if (share > settings->window_share_max)
        share = settings->window_share_max;
    if (share < settings->window_share_min)
        share = settings->window_share_min;
    strategy->window_share = share;
    in_window = window_limit(strategy);
    if (change > 0)
        shift(strategy, &strategy->main, strategy->limit - in_window, &strategy->window,
              in_window);
    else
        shift(strategy, &strategy->window, in_window, &strategy->main,
              strategy->limit - in_window);
}

static void use_composite(struct strategy *strategy, uint32_t slot)
{
    struct ranks *ranks = strategy->ranks;
    enum rank_area area = ranks->items[slot].area;
    double change;

    if (strategy->settings->has_filter)
        sketch_add(fresh_sketch(strategy), ranks->hash(ranks->user, slot));
    if (area == RANK_MAIN) {
        area_use(&strategy->main, ranks, slot, &ranks->passivated);
    } else if (area == RANK_WINDOW) {
        area_use(&strategy->window, ranks, slot, &ranks->passivated);
    } else {
        area_use(&strategy->window, ranks, slot, &ranks->moved);
        admit(strategy);
    }
    if (!strategy->settings->climbs || strategy->settings->window.policy == PASSIVATION_NONE)
        return;
    change = climb_use(&strategy->climb, area != RANK_NONE);
    if (change > 0 || change < 0)
        adapt(strategy, change);
}

/* --- all strategies --- */

uint32_t strategy_use(struct strategy *strategy, uint32_t slot)
{
    struct ranks *ranks = strategy->ranks;

    ranks_room(ranks, slot);
    ranks->passivated.count = 0;
    if (strategy->is_composite)
        use_composite(strategy, slot);
    else
        area_use(&strategy->main, ranks, slot, &ranks->passivated);
    return ranks->passivated.count;
}

uint32_t strategy_set_limit(struct strategy *strategy, uint32_t limit)
{
    struct ranks *ranks = strategy->ranks;
    uint32_t in_window;

    ranks->passivated.count = 0;
    strategy->limit = limit;
    in_window = window_limit(strategy);
    climb_limit(&strategy->climb, limit);
    strategy->is_sketch_old = true;
    area_set_limit(&strategy->window, ranks, in_window, &ranks->moved);
    admit(strategy);
    area_set_limit(&strategy->main, ranks, limit - in_window, &ranks->passivated);
    return ranks->passivated.count;
}

void strategy_remove(struct strategy *strategy, uint32_t slot)
{
    struct ranks *ranks = strategy->ranks;

    if (!ranks_have(ranks, slot))
        return;
    area_remove(ranks->items[slot].area == RANK_MAIN ? &strategy->main : &strategy->window,
                ranks, slot);
}

uint32_t strategy_evict(struct strategy *strategy, uint32_t kept)
{
    uint32_t slot = area_select_other(&strategy->main, strategy->ranks, kept);

    if (!slot)
        slot = area_select_other(&strategy->window, strategy->ranks, kept);
    strategy_remove(strategy, slot);
    return slot;
}

uint32_t strategy_active(const struct strategy *strategy)
{
    return strategy->main.size + strategy->window.size;
}

uint32_t strategy_window_limit(const struct strategy *strategy)
{
    return strategy->window.limit;
}
