/* Decides by a key's name and its last use whether the key is durable and whether it has
 * expired. */
#include "ddata/replicator_inside.h"

bool key_matches(struct slice key, const char *pattern)
{
    size_t size = strlen(pattern);

    return size && pattern[size - 1] == '*'
               ? key.size >= size - 1 && !memcmp(key.data, pattern, size - 1)
               : slice_is(key, pattern);
}

bool key_is_durable(const struct replicator *replicator, struct slice key)
{
    for (uint32_t i = 0; i < replicator->durable_keys.count; i++)
        if (key_matches(key, replicator->durable_keys.items[i]))
            return true;
    return false;
}

bool replicator_is_durable(const struct replicator *replicator,
                           struct slice key)
{
    return key_is_durable(replicator, key);
}

uint64_t expire_after(const struct replicator *replicator, struct slice key)
{
    uint64_t after = 0;
    size_t longest = 0;

    for (uint32_t i = 0; i < replicator->expiries.count; i++) {
        const struct replicator_expiry *expiry = &replicator->expiries.items[i];
        size_t size = strlen(expiry->pattern);

        if (slice_is(key, expiry->pattern))
            return expiry->after_ms;
        if (size <= longest || !key_matches(key, expiry->pattern))
            continue;
        longest = size;
        after = expiry->after_ms;
    }
    return after;
}

static bool is_over(const struct replicator *replicator, uint64_t after,
                    int64_t used_ms)
{
    return after && used_ms > 0 &&
           used_ms <= replicator->wall_ms &&
           (uint64_t)(replicator->wall_ms - used_ms) >= after;
}

bool expire_is_over(const struct replicator *replicator, struct slice key,
                    int64_t used_ms)
{
    return replicator->expiries.count &&
           is_over(replicator, expire_after(replicator, key), used_ms);
}

bool entry_is_over(const struct replicator *replicator,
                   const struct entry *entry)
{
    return is_over(replicator, entry->expires_after, entry->used_ms);
}

/* Other nodes' clocks may be ahead or wrong. */
void entry_use(const struct replicator *replicator, struct entry *entry,
               int64_t used_ms)
{
    if (used_ms > replicator->wall_ms)
        used_ms = replicator->wall_ms;
    if (entry && entry->expires_after && used_ms > entry->used_ms)
        entry->used_ms = used_ms;
}
