/* Finds how the entities of a type are passivated: by the strategy that it names or the configured
 * one, with the type's own numbers. */
#include "node/type_passivation.h"

#include <string.h>

#include "base/bytes.h"
#include "base/timers.h"

#define DEFAULT_LIMIT 100000u /* of Akka's default-strategy */

_Static_assert(SHERD_REPLACEMENT_LEVELS_MAX == PASSIVATION_LEVELS_MAX, "the area has room");

static bool is_none(const char *strategy)
{
    return strcmp(strategy, "none") == 0 || strcmp(strategy, "off") == 0;
}

/* Akka's; a simulated node has no sections. */
static const struct passivation_strategy idle_strategy = { .name = "default-idle-strategy",
                                                           .idle_after = 120 * SECOND };

/* False: there is none. */
static bool find(const struct node_settings *settings, const char *name,
                 struct passivation_strategy *strategy)
{
    for (uint32_t i = 0; i < settings->strategy_count; i++) {
        if (strcmp(settings->strategies[i].name, name) != 0)
            continue;
        *strategy = settings->strategies[i];
        return true;
    }
    *strategy = idle_strategy;
    if (strcmp(name, "default-strategy") == 0)
        *strategy = (struct passivation_strategy){ .idle_after = UINT64_MAX,
                                                   .active_entity_limit = DEFAULT_LIMIT,
                                                   .choice = passivation_default };
    return strcmp(name, "default-strategy") == 0 || strcmp(name, idle_strategy.name) == 0;
}

/* Returns the strategy of the type before its own numbers. */
static struct passivation_strategy begin_of(const struct node_settings *settings,
                                            const struct sherd_entity_type *type)
{
    const char *name = type->passivation ? type->passivation->strategy : NULL;
    struct passivation_strategy strategy = { .idle_after = UINT64_MAX };

    if (name) {
        if (!is_none(name))
            check(find(settings, name, &strategy));
        return strategy;
    }
    return (struct passivation_strategy){ .idle_after = settings->passivate_idle_after,
                                          .interval = settings->passivate_interval,
                                          .active_entity_limit = settings->active_entity_limit,
                                          .active_byte_limit = settings->active_byte_limit,
                                          .choice = settings->passivation };
}

struct passivation_settings type_passivation_default(const struct node_settings *settings)
{
    struct passivation_strategy strategy;

    (void)find(settings, "default-strategy", &strategy); /* always there */
    return strategy.choice.main.policy != PASSIVATION_NONE ? strategy.choice : passivation_default;
}

/* ---- numbers ---- */

static enum passivation_policy policy_of(enum sherd_replacement_policy policy)
{
    return policy == SHERD_LEAST_RECENTLY_USED     ? PASSIVATION_LEAST_RECENT
           : policy == SHERD_MOST_RECENTLY_USED    ? PASSIVATION_MOST_RECENT
           : policy == SHERD_LEAST_FREQUENTLY_USED ? PASSIVATION_LEAST_FREQUENT
                                                   : PASSIVATION_NONE;
}

static void set_area(struct area_settings *area, const struct sherd_replacement *own)
{
    if (own->policy != SHERD_REPLACEMENT_CONFIGURED)
        area->policy = policy_of(own->policy);
    if (own->dynamic_aging)
        area->is_aging = own->dynamic_aging > 0;
    if (!own->levels)
        return;
    area->levels = own->levels;
    memset(area->shares, 0, sizeof area->shares);
    for (uint32_t i = 0; own->proportions && i < own->levels; i++)
        area->shares[i] = own->proportions[i];
}

static void set_number(double *number, double own)
{
    if (own > 0)
        *number = own;
}

static void set_switch(bool *is_on, int own)
{
    if (own)
        *is_on = own > 0;
}

static void set_choice(struct passivation_settings *choice, const struct sherd_passivation *own)
{
    set_area(&choice->main, &own->replacement);
    set_area(&choice->window, &own->window);
    set_number(&choice->window_share, own->window_proportion);
    set_number(&choice->window_share_min, own->window_minimum_proportion);
    set_number(&choice->window_share_max, own->window_maximum_proportion);
    set_switch(&choice->climbs, own->hill_climbing);
    set_number(&choice->climb.adjust_multiplier, own->adjust_multiplier);
    set_number(&choice->climb.initial_step, own->initial_step);
    set_number(&choice->climb.restart_threshold, own->restart_threshold);
    set_number(&choice->climb.step_decay, own->step_decay);
    set_switch(&choice->has_filter, own->frequency_sketch);
    if (own->sketch_depth)
        choice->filter.depth = own->sketch_depth;
    if (own->sketch_counter_bits)
        choice->filter.bits = own->sketch_counter_bits;
    set_number(&choice->filter.width_multiplier, own->sketch_width_multiplier);
    set_number(&choice->filter.reset_multiplier, own->sketch_reset_multiplier);
}

/* Sets the numbers of parts that the strategy lacks: without a configuration they are zero. */
static void fill_in(struct passivation_settings *choice)
{
    if (!(choice->window_share_max > 0)) {
        choice->window_share = passivation_default.window_share;
        choice->window_share_min = passivation_default.window_share_min;
        choice->window_share_max = passivation_default.window_share_max;
    }
    if (!choice->filter.depth)
        choice->filter = passivation_default.filter;
    if (!(choice->climb.adjust_multiplier > 0))
        choice->climb = passivation_default.climb;
}

struct passivation_settings *type_passivation_choice(const struct node_settings *settings,
                                                     const struct sherd_entity_type *type)
{
    struct passivation_settings choice;

    if (!type->passivation)
        return NULL;
    choice = begin_of(settings, type).choice;
    /* Numbers without a policy belong to the strategy that applies then. */
    if (choice.main.policy == PASSIVATION_NONE &&
        type->passivation->replacement.policy == SHERD_REPLACEMENT_CONFIGURED)
        choice = type_passivation_default(settings);
    fill_in(&choice);
    set_choice(&choice, type->passivation);
    return mem_copy(&choice, sizeof choice);
}

void type_passivation_complete(const struct node_settings *settings, struct sherd_entity_type *type)
{
    struct passivation_strategy strategy = begin_of(settings, type);
    struct sherd_passivation *own = (struct sherd_passivation *)(uintptr_t)type->passivation; /* a copy */

    if (!type->active_entity_limit)
        type->active_entity_limit = strategy.active_entity_limit;
    if (!type->active_byte_limit)
        type->active_byte_limit = strategy.active_byte_limit;
    if (!type->idle_ms && type->remember > 0)
        type->idle_ms = UINT64_MAX;
    if (!type->idle_ms)
        type->idle_ms = strategy.idle_after / MS;
    if (own && own->strategy && !own->idle_interval_ms)
        own->idle_interval_ms = strategy.interval ? strategy.interval / MS : type->idle_ms / 8;
}

/* ---- faults ---- */

static bool is_part(double number)
{
    return number >= 0 && number <= 1;
}

static const char *area_fault(const struct sherd_replacement *area)
{
    if (area->policy < SHERD_REPLACEMENT_CONFIGURED || area->policy > SHERD_LEAST_FREQUENTLY_USED)
        return "a policy of its passivation is no value of enum sherd_replacement_policy";
    if (area->levels > SHERD_REPLACEMENT_LEVELS_MAX)
        return "a policy of its passivation has more than 64 levels";
    if (area->proportions && !area->levels)
        return "its passivation sets proportions without levels: set how many there are";
    for (uint32_t i = 0; area->proportions && i < area->levels; i++)
        if (!is_part(area->proportions[i]))
            return "a proportion of its passivation is not from 0 to 1";
    return NULL;
}

static const char *numbers_fault(const struct sherd_passivation *own)
{
    const double parts[] = { own->window_proportion, own->window_minimum_proportion,
                             own->window_maximum_proportion, own->initial_step, own->restart_threshold,
                             own->step_decay };
    const double factors[] = { own->adjust_multiplier, own->sketch_width_multiplier,
                               own->sketch_reset_multiplier };
    uint32_t bits = own->sketch_counter_bits;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!is_part(parts[i]))
            return "a part of its passivation is not from 0 to 1";
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (!(factors[i] >= 0 && factors[i] <= 1e9))
            return "a multiplier of its passivation is not from 0 to 1,000,000,000";
    if (own->sketch_depth > SKETCH_DEPTH_MAX)
        return "sketch_depth of its passivation is above 16";
    if (bits && (bits < 2 || bits > 64 || (bits & (bits - 1))))
        return "sketch_counter_bits of its passivation is not 2, 4, 8, 16, 32 or 64";
    return NULL;
}

const char *type_passivation_fault(const struct node_settings *settings,
                                   const struct sherd_entity_type *type)
{
    const struct sherd_passivation *own = type->passivation;
    struct passivation_strategy strategy;
    const char *fault;

    if (!own)
        return NULL;
    if (own->strategy && !is_none(own->strategy) && !find(settings, own->strategy, &strategy))
        return "its passivation strategy has no section in the configuration: write "
               "cluster.sharding.passivation { NAME { ... } }, or name another";
    if (own->replacement.policy == SHERD_REPLACEMENT_NONE)
        return "its passivation has the replacement policy none: for no limit name a strategy without "
               "one";
    if (own->idle_interval_ms > UINT64_MAX / MS)
        return "idle_interval_ms of its passivation is too long";
    fault = area_fault(&own->replacement);
    if (!fault)
        fault = area_fault(&own->window);
    return fault ? fault : numbers_fault(own);
}

/* ---- numbers without an effect ---- */

static const char *area_unused(const struct area_settings *area, const struct sherd_replacement *own)
{
    if (own->levels && area->policy != PASSIVATION_LEAST_RECENT)
        return "levels of a policy that is not least-recently-used";
    if (own->dynamic_aging && area->policy != PASSIVATION_LEAST_FREQUENT)
        return "dynamic_aging of a policy that is not least-frequently-used";
    return NULL;
}

static const char *choice_unused(const struct passivation_settings *choice,
                                 const struct sherd_passivation *own)
{
    bool has_window = choice->window.policy != PASSIVATION_NONE;

    if (!has_window && (own->window_proportion > 0 || own->window_minimum_proportion > 0 ||
                        own->window_maximum_proportion > 0 || own->hill_climbing > 0))
        return "numbers of an admission window, and the strategy has no window";
    if (!choice->climbs && (own->adjust_multiplier > 0 || own->initial_step > 0 ||
                            own->restart_threshold > 0 || own->step_decay > 0))
        return "numbers of hill climbing, and hill_climbing is off";
    if (!choice->has_filter && (own->sketch_depth || own->sketch_counter_bits ||
                                own->sketch_width_multiplier > 0 || own->sketch_reset_multiplier > 0))
        return "numbers of a frequency sketch, and frequency_sketch is off";
    return NULL;
}

const char *type_passivation_unused(const struct node_settings *settings,
                                    const struct sherd_entity_type *type)
{
    const struct sherd_passivation *own = type->passivation;
    struct passivation_settings *choice = type_passivation_choice(settings, type);
    const char *unused = NULL;

    if (choice) {
        unused = area_unused(&choice->main, &own->replacement);
        if (!unused)
            unused = area_unused(&choice->window, &own->window);
        if (!unused)
            unused = choice_unused(choice, own);
    }
    mem_free(choice);
    return unused;
}

/* ---- copies ---- */

static void copy_area(struct sherd_replacement *area)
{
    if (area->proportions)
        area->proportions = mem_copy(area->proportions, area->levels * sizeof *area->proportions);
}

const struct sherd_passivation *type_passivation_copy(const struct sherd_passivation *from)
{
    struct sherd_passivation *copy;

    if (!from)
        return NULL;
    copy = mem_copy(from, sizeof *from);
    copy->strategy = mem_text(from->strategy);
    copy_area(&copy->replacement);
    copy_area(&copy->window);
    return copy;
}

void type_passivation_free(const struct sherd_passivation *copy)
{
    if (!copy)
        return;
    mem_free((char *)(uintptr_t)copy->strategy);
    mem_free((void *)(uintptr_t)copy->replacement.proportions);
    mem_free((void *)(uintptr_t)copy->window.proportions);
    mem_free((void *)(uintptr_t)copy);
}
