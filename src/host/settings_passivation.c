/* Reads the strategies of passivation: idle times, limits, and how entities are chosen. */
#include <stdio.h>
#include <string.h>

#include "base/timers.h"
#include "config/amount.h"
#include "host/settings.h"

#define SHARDING "cluster.sharding."
#define PASSIVATION SHARDING "passivation."
#define KEY_MAX 256
#define STRATEGY_NAME_SIZE 100 /* of a strategy, as the configuration checks it */

/* The keys of one strategy, or of a part of it. */
struct section {
    const struct settings *settings;
    const char *prefix; /* ends with a dot */
    char *error;
    size_t size; /* of error */
};

static const char *key_of(const struct section *section, const char *name,
                          char key[KEY_MAX])
{
    (void)snprintf(key, KEY_MAX, "%.180s%.75s", section->prefix, name); /* fits */
    return key;
}

static double number(const struct section *section, const char *name)
{
    char key[KEY_MAX];

    return config_number(section->settings->config, key_of(section, name, key));
}

static uint32_t count(const struct section *section, const char *name)
{
    char key[KEY_MAX];
    int64_t value = config_int(section->settings->config, key_of(section, name, key));

    return value == CONFIG_WORD ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static const char *text(const struct section *section, const char *name)
{
    char key[KEY_MAX];

    return config_text(section->settings->config, key_of(section, name, key));
}

static enum passivation_policy policy(const struct section *section, const char *name)
{
    const char *value = text(section, name);

    return strcmp(value, "least-recently-used") == 0    ? PASSIVATION_LEAST_RECENT
           : strcmp(value, "most-recently-used") == 0   ? PASSIVATION_MOST_RECENT
           : strcmp(value, "least-frequently-used") == 0 ? PASSIVATION_LEAST_FREQUENT
                                                         : PASSIVATION_NONE;
}

/* Without proportions, segments are equal. */
static int read_shares(const struct section *section, struct area_settings *area)
{
    const struct config *config = section->settings->config;
    char key[KEY_MAX];
    uint32_t shares;

    key_of(section, "least-recently-used.segmented.proportions", key);
    shares = config_list(config, key);
    if (shares && shares != area->levels)
        return settings_refuse(section->settings, section->error, section->size, key,
                               "has %u items; it must be empty or have one for each of "
                               "the %u levels",
                               shares, area->levels);
    for (uint32_t i = 0; i < shares; i++) {
        const char *item = config_list_at(config, key, i);

        if (!amount_number(slice_text(item), &area->shares[i]) ||
            !(area->shares[i] >= 0 && area->shares[i] <= 1))
            return settings_refuse(section->settings, section->error, section->size, key,
                                   "has the item \"%.40s\"; it must be a number from 0 to 1",
                                   item);
    }
    return 0;
}

static int read_area(const struct section *section, struct area_settings *area)
{
    char key[KEY_MAX];

    area->policy = policy(section, "policy");
    area->levels = count(section, "least-recently-used.segmented.levels");
    area->is_aging = config_bool(section->settings->config,
                                 key_of(section, "least-frequently-used.dynamic-aging", key));
    if (area->levels < 2)
        return 0;
    return read_shares(section, area);
}

static int read_sketch(const struct section *section, struct sketch_settings *sketch)
{
    uint32_t bits = count(section, "counter-bits");
    char key[KEY_MAX];

    sketch->depth = count(section, "depth");
    sketch->bits = bits;
    sketch->width_multiplier = number(section, "width-multiplier");
    sketch->reset_multiplier = number(section, "reset-multiplier");
    if (bits >= 2 && (bits & (bits - 1)) == 0)
        return 0;
    return settings_refuse(section->settings, section->error, section->size,
                           key_of(section, "counter-bits", key),
                           "is %u; it must be 2, 4, 8, 16, 32 or 64", bits);
}

static int read_window(const struct section *section, struct passivation_settings *strategy)
{
    char key[KEY_MAX];

    strategy->window_share = number(section, "proportion");
    strategy->window_share_min = number(section, "minimum-proportion");
    strategy->window_share_max = number(section, "maximum-proportion");
    strategy->climbs = strcmp(text(section, "optimizer"), "hill-climbing") == 0;
    strategy->climb.adjust_multiplier = number(section, "hill-climbing.adjust-multiplier");
    strategy->climb.initial_step = number(section, "hill-climbing.initial-step");
    strategy->climb.restart_threshold = number(section, "hill-climbing.restart-threshold");
    strategy->climb.step_decay = number(section, "hill-climbing.step-decay");
    if (strategy->window_share_min <= strategy->window_share_max)
        return 0;
    return settings_refuse(section->settings, section->error, section->size,
                           key_of(section, "minimum-proportion", key),
                           "is %g, and above maximum-proportion, which is %g; exchange them",
                           strategy->window_share_min, strategy->window_share_max);
}

static struct section part_of(const struct section *section, const char *name,
                              char prefix[KEY_MAX])
{
    struct section part = *section;

    part.prefix = key_of(section, name, prefix);
    return part;
}

/* Reads how entities are chosen. */
static int read_choice(const struct section *section, struct passivation_settings *strategy)
{
    char prefix[KEY_MAX];
    struct section part = part_of(section, "replacement.", prefix);
    int result = read_area(&part, &strategy->main);

    if (result)
        return result;
    part = part_of(section, "admission.window.", prefix);
    result = read_window(&part, strategy);
    if (!result)
        result = read_area(&part, &strategy->window);
    if (result)
        return result;
    strategy->has_filter = strcmp(text(section, "admission.filter"), "frequency-sketch") == 0;
    part = part_of(section, "admission.frequency-sketch.", prefix);
    return read_sketch(&part, &strategy->filter);
}

/* Configured 0 means never, as "off" does; the core's 0 is its default. */
static uint64_t idle_limit(const struct config *config, const char *key)
{
    uint64_t after = config_duration_ns(config, key);

    if (after == 0)
        return CONFIG_OFF;
    return after < MS ? MS : after;
}

static int read_strategy(const struct section *section, struct passivation_strategy *strategy)
{
    const struct config *config = section->settings->config;
    char key[KEY_MAX];
    uint64_t interval, bytes;
    int result;

    strategy->idle_after = idle_limit(config, key_of(section, "idle-entity.timeout", key));
    interval = config_duration_ns(config, key_of(section, "idle-entity.interval", key));
    strategy->interval = interval == CONFIG_OFF ? 0 : interval;
    result = read_choice(section, &strategy->choice);
    if (result || strategy->choice.main.policy == PASSIVATION_NONE)
        return result;
    strategy->active_entity_limit = count(section, "active-entity-limit");
    bytes = config_size(config, key_of(section, "active-byte-limit", key));
    strategy->active_byte_limit = bytes == CONFIG_OFF ? 0 : bytes;
    return 0;
}

static const struct passivation_strategy *find(const struct settings *settings, const char *name)
{
    for (uint32_t i = 0; i < settings->strategies.count; i++)
        if (strcmp(settings->strategies.items[i].name, name) == 0)
            return &settings->strategies.items[i];
    return NULL;
}

/* name: owned by the settings' paths. */
static int add(struct settings *settings, const char *name, char *error, size_t size)
{
    struct passivation_strategy strategy = { .name = name };
    char prefix[KEY_MAX];
    struct section section = { settings, prefix, error, size };
    int result;

    (void)snprintf(prefix, sizeof prefix, PASSIVATION "%.128s.", name);
    result = read_strategy(&section, &strategy);
    vec_push(&settings->strategies, strategy);
    return result;
}

/* Reads the section of a key, unless it was read; other keys have none. */
static int add_of_key(struct settings *settings, const char *key, char *error, size_t size)
{
    const char *begin = key + sizeof PASSIVATION - 1;
    size_t length;
    char *name;

    if (strncmp(key, PASSIVATION, sizeof PASSIVATION - 1) != 0)
        return 0;
    length = strcspn(begin, ".");
    if (!begin[length] || length >= STRATEGY_NAME_SIZE || strncmp(begin, "strategy-defaults.", length + 1) == 0)
        return 0;
    name = mem_alloc(length + 1);
    memcpy(name, begin, length);
    if (find(settings, name)) {
        mem_free(name);
        return 0;
    }
    vec_push(&settings->paths, name);
    return add(settings, name, error, size);
}

/* Types may choose each by its name. */
static int read_strategies(struct settings *settings, char *error, size_t size)
{
    struct config_setting setting;
    uint32_t at = 0;
    int result = add(settings, "default-idle-strategy", error, size);

    if (!result)
        result = add(settings, "default-strategy", error, size);
    while (!result && config_next_setting(settings->config, &at, &setting))
        result = add_of_key(settings, setting.key, error, size);
    settings->node.strategies = settings->strategies.items;
    settings->node.strategy_count = settings->strategies.count;
    return result;
}

int settings_read_passivation(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;
    const struct passivation_strategy *strategy;
    int result = read_strategies(settings, error, size);

    if (result)
        return result;
    if (!config_is_null(config, SHARDING "passivate-idle-entity-after")) {
        node->passivate_idle_after = idle_limit(config, SHARDING "passivate-idle-entity-after");
        return 0;
    }
    node->passivate_idle_after = CONFIG_OFF;
    strategy = find(settings, config_text(config, PASSIVATION "strategy"));
    if (!strategy)
        return 0; /* none */
    node->passivate_idle_after = strategy->idle_after;
    node->passivate_interval = strategy->interval;
    node->active_entity_limit = strategy->active_entity_limit;
    node->active_byte_limit = strategy->active_byte_limit;
    node->passivation = strategy->choice;
    return 0;
}
