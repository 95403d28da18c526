/* Keys that nobody has used for a time are forgotten (behaviour 13.11). A use is a command for the key, here or, as statuses and gossips
 * say, elsewhere; by the wall clock. */
#include "base/mark.h"
#include "ddata/replicator_inside.h"

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

/* Others' clocks may be ahead, or say anything. */
void entry_use(const struct replicator *replicator, struct entry *entry,
               int64_t used_ms)
{
    if (used_ms > replicator->wall_ms)
        used_ms = replicator->wall_ms;
    if (entry && entry->expires_after && used_ms > entry->used_ms)
        entry->used_ms = used_ms;
}

void expire_tick(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    if (!replicator->expiries.count)
        return;
    while (map_next(&replicator->entries, &at, &item)) {
        struct entry *entry = item.value;

        if (!is_over(replicator, entry->expires_after, entry->used_ms))
            continue;
        REACHED("a key is forgotten that nobody used");
        replicator->counters.expired++;
        notify_expired(replicator, entry);
        if (entry->is_durable)
            store_forget(replicator, entry->key);
        entry_forget(replicator, entry);
    }
}
