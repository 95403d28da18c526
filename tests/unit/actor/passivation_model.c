/* Plays the same operations on a strategy and on the model of passivation_model.h. */
#include "passivation_model.h"

#include <string.h>

#include "base/check.h"
#include "passivation_cast.h"

#define SLOTS 40u

struct entity {
    enum rank_area area;
    uint32_t level;
    uint64_t accesses, priority;
    uint64_t time; /* of its last move in a list */
};

struct side {
    const struct area_settings *settings;
    uint32_t limit;
    uint64_t age;
};

struct model {
    const struct passivation_settings *settings;
    uint32_t limit;
    double share;
    struct side sides[3]; /* by area */
    struct entity entities[SLOTS];
    struct sketch sketch;
    struct climb climb;
    uint64_t time;
    uint32_t victims[4 * SLOTS], victim_count;
};

static uint32_t size_of(const struct model *model, enum rank_area area, int level)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < SLOTS; i++)
        count += model->entities[i].area == area &&
                 (level < 0 || model->entities[i].level == (uint32_t)level);
    return count;
}

static uint32_t limit_of(const struct side *side, uint32_t level)
{
    uint32_t levels = side->settings->levels, others = 0;

    for (uint32_t i = 1; i < levels; i++) {
        uint32_t limit = (uint32_t)(side->settings->shares[i] * side->limit);

        if (i == level)
            return limit;
        others += limit;
    }
    return side->limit - others;
}

/* The least recent entity of a level; 0: none. */
static uint32_t oldest(const struct model *model, enum rank_area area, uint32_t level)
{
    uint32_t found = 0;

    for (uint32_t i = 1; i < SLOTS; i++)
        if (model->entities[i].area == area && model->entities[i].level == level &&
            (!found || model->entities[i].time < model->entities[found].time))
            found = i;
    return found;
}

static uint32_t newest(const struct model *model, enum rank_area area, uint32_t kept)
{
    uint32_t found = 0;

    for (uint32_t i = 1; i < SLOTS; i++)
        if (model->entities[i].area == area && i != kept &&
            (!found || model->entities[i].time > model->entities[found].time))
            found = i;
    return found;
}

static uint32_t rarest(const struct model *model, enum rank_area area)
{
    const struct entity *at = model->entities;
    uint32_t found = 0;

    for (uint32_t i = 1; i < SLOTS; i++)
        if (at[i].area == area &&
            (!found || at[i].priority < at[found].priority ||
             (at[i].priority == at[found].priority && at[i].time < at[found].time)))
            found = i;
    return found;
}

static void demote(struct model *model, enum rank_area area, uint32_t level)
{
    while (size_of(model, area, (int)level) > limit_of(&model->sides[area], level)) {
        struct entity *entity = &model->entities[oldest(model, area, level)];

        entity->level--;
        entity->time = ++model->time;
    }
}

static uint32_t select_victim(const struct model *model, enum rank_area area)
{
    switch (model->sides[area].settings->policy) {
    case PASSIVATION_MOST_RECENT:
        return newest(model, area, 0);
    case PASSIVATION_LEAST_FREQUENT:
        return rarest(model, area);
    default:
        return oldest(model, area, 0);
    }
}

/* Takes out what is above `kept`, but not the slot `used`. */
static uint32_t take_excess(struct model *model, enum rank_area area, uint32_t most,
                            uint32_t used, uint32_t *out)
{
    struct side *side = &model->sides[area];
    uint32_t count = 0;

    if (side->settings->policy == PASSIVATION_LEAST_RECENT &&
        size_of(model, area, -1) > most)
        for (uint32_t level = side->settings->levels; level-- > 1;)
            demote(model, area, level);
    while (size_of(model, area, -1) > most) {
        uint32_t slot = side->settings->policy == PASSIVATION_MOST_RECENT
                            ? newest(model, area, used)
                            : select_victim(model, area);

        if (!slot)
            break;
        if (side->settings->is_aging)
            side->age = model->entities[slot].priority;
        model->entities[slot].area = RANK_NONE;
        out[count++] = slot;
    }
    return count;
}

static uint32_t use_side(struct model *model, enum rank_area area, uint32_t slot,
                         uint32_t *out)
{
    struct side *side = &model->sides[area];
    struct entity *entity = &model->entities[slot];
    bool is_new = entity->area == RANK_NONE;
    bool is_frequent = side->settings->policy == PASSIVATION_LEAST_FREQUENT;
    uint32_t count = 0;

    if (side->settings->policy == PASSIVATION_NONE) {
        out[0] = slot;
        return 1;
    }
    if (is_frequent) {
        uint32_t most = is_new && side->limit ? side->limit - 1 : side->limit;

        count = take_excess(model, area, most, 0, out);
        if (!is_new && entity->area == RANK_NONE)
            return count;
    }
    entity->area = area;
    entity->time = ++model->time;
    entity->accesses = is_new ? 1 : entity->accesses + 1;
    entity->priority = entity->accesses + side->age;
    if (is_new) {
        entity->level = 0;
    } else if (entity->level + 1 < side->settings->levels) {
        entity->level++;
        demote(model, area, entity->level);
    }
    return is_frequent ? count : take_excess(model, area, side->limit, slot, out);
}

static void add_victims(struct model *model, const uint32_t *slots, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        model->victims[model->victim_count++] = slots[i];
}

static uint32_t window_limit(const struct model *model)
{
    return (uint32_t)(model->share * model->limit);
}

static uint64_t frequency(const struct model *model, uint32_t slot)
{
    return model->settings->has_filter
               ? sketch_frequency(&model->sketch, cast_hash(NULL, slot))
               : 0;
}

static void admit(struct model *model, const uint32_t *slots, uint32_t count)
{
    uint32_t out[2 * SLOTS];

    for (uint32_t i = 0; i < count; i++) {
        uint32_t selected =
            size_of(model, RANK_MAIN, -1) >= model->limit - window_limit(model)
                ? select_victim(model, RANK_MAIN)
                : 0;

        if (selected && model->settings->has_filter &&
            frequency(model, slots[i]) <= frequency(model, selected))
            add_victims(model, &slots[i], 1);
        else
            add_victims(model, out, use_side(model, RANK_MAIN, slots[i], out));
    }
}

static uint32_t set_side(struct model *model, enum rank_area area, uint32_t limit,
                         uint32_t *out)
{
    model->sides[area].limit = limit;
    return take_excess(model, area, limit, 0, out);
}

static void model_set_limit(struct model *model, uint32_t limit)
{
    uint32_t out[2 * SLOTS];

    model->limit = limit;
    climb_limit(&model->climb, limit);
    if (model->settings->has_filter) {
        sketch_fini(&model->sketch);
        sketch_init(&model->sketch, &model->settings->filter, limit);
    }
    admit(model, out, set_side(model, RANK_WINDOW, window_limit(model), out));
    add_victims(model, out,
                set_side(model, RANK_MAIN, limit - window_limit(model), out));
}

static void adapt(struct model *model, double change)
{
    enum rank_area from = change > 0 ? RANK_MAIN : RANK_WINDOW;
    enum rank_area to = change > 0 ? RANK_WINDOW : RANK_MAIN;
    uint32_t limits[3], out[2 * SLOTS], more[2 * SLOTS], count;

    model->share += change;
    if (model->share > model->settings->window_share_max)
        model->share = model->settings->window_share_max;
    if (model->share < model->settings->window_share_min)
        model->share = model->settings->window_share_min;
    limits[RANK_WINDOW] = window_limit(model);
    limits[RANK_MAIN] = model->limit - limits[RANK_WINDOW];
    add_victims(model, out, set_side(model, to, limits[to], out));
    count = set_side(model, from, limits[from], out);
    for (uint32_t i = 0; i < count; i++)
        add_victims(model, more, use_side(model, to, out[i], more));
}

static void model_use(struct model *model, uint32_t slot)
{
    const struct passivation_settings *settings = model->settings;
    enum rank_area area = model->entities[slot].area;
    uint32_t out[2 * SLOTS], count;
    double change;

    if (settings->window.policy == PASSIVATION_NONE && !settings->has_filter) {
        add_victims(model, out, use_side(model, RANK_MAIN, slot, out));
        return;
    }
    if (settings->has_filter)
        sketch_add(&model->sketch, cast_hash(NULL, slot));
    count = use_side(model, area == RANK_NONE ? RANK_WINDOW : area, slot, out);
    if (area == RANK_NONE)
        admit(model, out, count);
    else
        add_victims(model, out, count);
    if (!settings->climbs || settings->window.policy == PASSIVATION_NONE)
        return;
    change = climb_use(&model->climb, area != RANK_NONE);
    if (change > 0 || change < 0)
        adapt(model, change);
}

/* --- drawing --- */

struct input {
    const uint8_t *at, *end;
};

static uint32_t draw(struct input *input, uint32_t below)
{
    return input->at < input->end ? *input->at++ % below : 0;
}

static struct area_settings draw_area(struct input *input, bool may_be_none)
{
    static const double shares[] = { 0.2, 0.8 };
    struct area_settings settings = { .policy = PASSIVATION_LEAST_RECENT };
    uint32_t kind = draw(input, may_be_none ? 7 : 6);

    settings.levels = kind == 1 ? 2 : kind == 2 ? 4 : 1;
    for (uint32_t i = 0; i < settings.levels; i++)
        settings.shares[i] = settings.levels == 2 ? shares[i] : 1.0 / settings.levels;
    if (kind == 3)
        settings.policy = PASSIVATION_MOST_RECENT;
    if (kind == 4 || kind == 5)
        settings.policy = PASSIVATION_LEAST_FREQUENT;
    settings.is_aging = kind == 5;
    if (kind == 6)
        settings.policy = PASSIVATION_NONE;
    return settings;
}

static struct passivation_settings draw_settings(struct input *input)
{
    struct passivation_settings settings = { .window_share = 0.3,
                                             .window_share_min = 0.1,
                                             .window_share_max = 0.9,
                                             .filter = { 4, 4, 4, 10 },
                                             .climb = { 2, 0.2, 0.3, 0.9 } };

    settings.main = draw_area(input, false);
    if (draw(input, 2)) {
        settings.window = draw_area(input, true);
        settings.has_filter = draw(input, 2);
        settings.climbs = draw(input, 2);
        settings.filter.depth = 3 + draw(input, 2);
    }
    return settings;
}

static void compare(const struct model *model, const struct strategy *strategy,
                    const struct ranks *ranks, uint32_t count)
{
    check(count == model->victim_count);
    for (uint32_t i = 0; i < count; i++)
        check(model->victims[i] == ranks->passivated.items[i]);
    check(strategy_active(strategy) ==
          size_of(model, RANK_MAIN, -1) + size_of(model, RANK_WINDOW, -1));
    for (uint32_t slot = 1; slot < SLOTS; slot++)
        check(model->entities[slot].area ==
              (ranks_have(ranks, slot) ? ranks->items[slot].area : RANK_NONE));
}

void model_compare(const uint8_t *bytes, size_t size)
{
    struct input input = { bytes, bytes + size };
    struct passivation_settings settings = draw_settings(&input);
    struct ranks ranks = { .hash = cast_hash };
    uint32_t limit = draw(&input, 16);
    struct strategy *strategy = strategy_new(&settings, &ranks, limit);
    struct model model = { .settings = &settings };

    model.sides[RANK_MAIN].settings = &settings.main;
    model.sides[RANK_WINDOW].settings = &settings.window;
    model.share = settings.window.policy != PASSIVATION_NONE ? settings.window_share : 0;
    climb_init(&model.climb, &settings.climb, limit);
    model_set_limit(&model, limit);
    while (input.at < input.end) {
        uint32_t action = draw(&input, 64), count = 0;
        uint32_t slot = 1 + draw(&input, SLOTS - 1);

        model.victim_count = 0;
        if (action == 0) {
            model_set_limit(&model, slot % 20);
            count = strategy_set_limit(strategy, slot % 20);
        } else if (action < 6) {
            model.entities[slot].area = RANK_NONE;
            strategy_remove(strategy, slot);
        } else {
            if (action & 1)
                slot = slot % 8 + 1;
            model_use(&model, slot);
            count = strategy_use(strategy, slot);
        }
        compare(&model, strategy, &ranks, count);
    }
    strategy_free(strategy);
    ranks_fini(&ranks);
    sketch_fini(&model.sketch);
}
