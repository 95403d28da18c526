/* Plays the regions of passivation_cast.h. */
#include "passivation_cast.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"

uint32_t cast_hash(const void *user, uint32_t slot)
{
    char text[16];

    (void)user;
    (void)snprintf(text, sizeof text, "%u", slot);
    return (uint32_t)hash_java(slice_text(text));
}

struct passivation_settings cast_settings(const char *name)
{
    static const struct area_settings recent = { .policy = PASSIVATION_LEAST_RECENT };
    static const struct area_settings segmented = { .policy = PASSIVATION_LEAST_RECENT,
                                                    .levels = 2,
                                                    .shares = { 0.2, 0.8 } };
    struct passivation_settings settings = {
        .window_share = 0.01, .window_share_min = 0.01, .window_share_max = 1.0,
        .filter = { 4, 4, 4, 10 }, .climb = { 10, 0.0625, 0.05, 0.98 }
    };

    settings.main = recent;
    if (strcmp(name, "SLRU") == 0)
        settings.main = segmented;
    if (strcmp(name, "S4LRU") == 0)
        settings.main.levels = 4;
    if (strcmp(name, "MRU") == 0)
        settings.main.policy = PASSIVATION_MOST_RECENT;
    if (strncmp(name, "LFU", 3) == 0)
        settings.main.policy = PASSIVATION_LEAST_FREQUENT;
    settings.main.is_aging = strcmp(name, "LFUDA") == 0;
    if (strcmp(name, "FS") == 0 || strcmp(name, "HC") == 0) {
        settings.main = segmented;
        settings.window = recent;
        settings.has_filter = true;
        settings.climbs = strcmp(name, "HC") == 0;
    }
    return settings;
}

void cast_init(struct cast *cast, const struct passivation_settings *settings, uint32_t limit)
{
    memset(cast, 0, sizeof *cast);
    cast->settings = *settings;
    cast->limit = limit;
    cast->ranks.hash = cast_hash;
}

void cast_fini(struct cast *cast)
{
    for (uint32_t i = 0; i < CAST_SHARDS; i++)
        strategy_free(cast->shards[i]);
    for (uint32_t slot = 0; slot < cast->ranks.count; slot++)
        check(cast->ranks.items[slot].area == RANK_NONE);
    ranks_fini(&cast->ranks);
    vec_fini(&cast->stopped);
}

static void note_stopped(struct cast *cast, uint32_t count)
{
    check(count == cast->ranks.passivated.count);
    for (uint32_t i = 0; i < count; i++)
        vec_push(&cast->stopped, cast->ranks.passivated.items[i]);
}

static void divide_limit(struct cast *cast)
{
    for (uint32_t i = 0; i < cast->count; i++)
        note_stopped(cast, strategy_set_limit(cast->shards[cast->order[i]],
                                              cast->limit / cast->count));
}

bool cast_use(struct cast *cast, uint32_t shard, uint32_t slot)
{
    bool was_active = ranks_have(&cast->ranks, slot);

    if (!cast->shards[shard]) {
        cast->shards[shard] = strategy_new(&cast->settings, &cast->ranks, cast->limit);
        cast->order[cast->count++] = shard;
        divide_limit(cast);
    }
    note_stopped(cast, strategy_use(cast->shards[shard], slot));
    return was_active;
}

void cast_set_limit(struct cast *cast, uint32_t limit)
{
    cast->limit = limit;
    divide_limit(cast);
}
