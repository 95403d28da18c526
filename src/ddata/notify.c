/* Notifies subscribers: one notice for all changes of an interval. */
#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "ddata/replicator_inside.h"

static bool begins_with(struct slice key, struct slice prefix)
{
    return key.size >= prefix.size &&
           (!prefix.size || !memcmp(key.data, prefix.data, prefix.size));
}

static struct slice prefix_of(struct slice key)
{
    return slice_of(key.data, key.size - 1);
}

static bool is_pattern(struct slice key)
{
    return key.size && key.data[key.size - 1] == '*';
}

void notify_change(struct replicator *replicator, struct entry *entry)
{
    bool is_wanted = false;

    if (entry->is_changed || !replicator->subscription_count)
        return;
    is_wanted = map_get(&replicator->topics, entry->key) != NULL;
    for (uint32_t i = 0; !is_wanted && i < replicator->prefixes.count; i++)
        is_wanted =
            begins_with(entry->key, replicator->prefixes.items[i]->key);
    if (!is_wanted)
        return;
    entry->is_changed = true;
    vec_push(&replicator->changed, entry);
}

static void tell(struct replicator *replicator, const struct entry *entry,
                 bool by_others, const uint64_t *tokens, uint32_t count)
{
    SOMETIMES("a subscriber is notified of a deletion",
              count && !entry_is_there(entry));
    for (uint32_t i = 0; i < count; i++)
        news_put(replicator,
                 &(struct news_item){ .kind = entry_is_there(entry)
                                                  ? REPLICATOR_NEWS_CHANGED
                                                  : REPLICATOR_NEWS_REMOVED,
                                      .token = tokens[i],
                                      .by_others = by_others },
                 entry->key, slice_of(NULL, 0));
}

static void tell_changed(struct replicator *replicator)
{
    for (uint32_t i = 0; i < replicator->changed.count; i++) {
        struct entry *entry = replicator->changed.items[i];
        const struct topic *topic = map_get(&replicator->topics, entry->key);
        bool by_others = entry->by_others;

        entry->is_changed = entry->by_others = false;
        if (topic)
            tell(replicator, entry, by_others, topic->tokens.items,
                 topic->tokens.count);
        for (uint32_t k = 0; k < replicator->prefixes.count; k++) {
            topic = replicator->prefixes.items[k];
            if (begins_with(entry->key, topic->key))
                tell(replicator, entry, by_others, topic->tokens.items,
                     topic->tokens.count);
        }
    }
    replicator->changed.count = 0;
}

static void tell_expired(struct replicator *replicator,
                         const struct entry *entry, const uint64_t *tokens,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        news_put(replicator,
                 &(struct news_item){ .kind = REPLICATOR_NEWS_EXPIRED,
                                      .token = tokens[i] },
                 entry->key, slice_of(NULL, 0));
}

void notify_forget(struct replicator *replicator, struct entry *entry)
{
    for (uint32_t i = replicator->changed.count;
         entry->is_changed && i-- > 0;)
        if (replicator->changed.items[i] == entry)
            vec_remove(&replicator->changed, i);
    entry->is_changed = false;
}

/* Also new subscribers: they would wait for the value. */
static void tell_all_expired(struct replicator *replicator,
                             const struct entry *entry,
                             const struct topic *topic)
{
    tell_expired(replicator, entry, topic->tokens.items, topic->tokens.count);
    tell_expired(replicator, entry, topic->fresh.items, topic->fresh.count);
}

void notify_expired(struct replicator *replicator, const struct entry *entry)
{
    const struct topic *topic = map_get(&replicator->topics, entry->key);

    if (topic)
        tell_all_expired(replicator, entry, topic);
    for (uint32_t i = 0; i < replicator->prefixes.count; i++)
        if (begins_with(entry->key, replicator->prefixes.items[i]->key))
            tell_all_expired(replicator, entry, replicator->prefixes.items[i]);
}

static void tell_fresh(struct replicator *replicator, struct topic *topic)
{
    struct map_entry item;
    uint32_t at = 0;

    if (!topic->is_prefix) {
        const struct entry *entry = entry_find(replicator, topic->key);

        if (entry)
            tell(replicator, entry, true, topic->fresh.items,
                 topic->fresh.count);
    }
    while (topic->is_prefix && map_next(&replicator->entries, &at, &item))
        if (begins_with(item.key, topic->key) && entry_is_there(item.value))
            tell(replicator, item.value, true, topic->fresh.items,
                 topic->fresh.count);
    for (uint32_t i = 0; i < topic->fresh.count; i++)
        vec_push(&topic->tokens, topic->fresh.items[i]);
    replicator->fresh_count -= topic->fresh.count;
    topic->fresh.count = 0;
}

void notify_flush(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    tell_changed(replicator);
    while (replicator->fresh_count &&
           map_next(&replicator->topics, &at, &item)) {
        struct topic *topic = item.value;

        if (topic->fresh.count)
            tell_fresh(replicator, topic);
    }
}

void replicator_flush(struct replicator *replicator)
{
    if (!replicator->is_loading && !replicator->has_ended)
        notify_flush(replicator);
}

static uint32_t place(const uint64_t *tokens, uint32_t count, uint64_t token)
{
    uint32_t at = 0;

    while (at < count && tokens[at] != token)
        at++;
    return at;
}

bool replicator_is_subscribed(const struct replicator *replicator,
                              uint64_t token, struct slice key)
{
    const struct topic *topic = map_get(&replicator->topics, key);

    return topic &&
           (place(topic->tokens.items, topic->tokens.count, token) <
                topic->tokens.count ||
            place(topic->fresh.items, topic->fresh.count, token) <
                topic->fresh.count);
}

bool replicator_subscribe(struct replicator *replicator, uint64_t token,
                          struct slice key)
{
    struct topic *topic = map_get(&replicator->topics, key);

    if (replicator->has_ended || key.size > REPLICATOR_KEY_SIZE_MAX ||
        replicator->subscription_count >= REPLICATOR_SUBSCRIPTIONS_MAX) {
        replicator->counters.refused++;
        return false;
    }
    if (!topic) {
        topic = mem_alloc(sizeof *topic);
        topic->is_prefix = is_pattern(key);
        topic->key = slice_of(mem_copy(key.data, key.size), key.size);
        if (topic->is_prefix) {
            topic->key = prefix_of(topic->key);
            vec_push(&replicator->prefixes, topic);
        }
        (void)map_put(&replicator->topics, key, topic);
    }
    if (place(topic->fresh.items, topic->fresh.count, token) <
        topic->fresh.count)
        return true;
    /* A repeated subscription gets the value once more. */
    if (place(topic->tokens.items, topic->tokens.count, token) <
        topic->tokens.count)
        vec_remove(&topic->tokens, place(topic->tokens.items,
                                         topic->tokens.count, token));
    else
        replicator->subscription_count++;
    BOUNDED("subscriptions to keys", replicator->subscription_count,
            REPLICATOR_SUBSCRIPTIONS_MAX);
    vec_push(&topic->fresh, token);
    replicator->fresh_count++;
    return true;
}

static void free_topic(struct topic *topic)
{
    vec_fini(&topic->tokens);
    vec_fini(&topic->fresh);
    mem_free((void *)(uintptr_t)topic->key.data);
    mem_free(topic);
}

static void leave(struct replicator *replicator, struct slice key,
                  struct topic *topic, uint64_t token)
{
    uint32_t at = place(topic->tokens.items, topic->tokens.count, token);

    if (at < topic->tokens.count) {
        vec_remove(&topic->tokens, at);
        replicator->subscription_count--;
    }
    at = place(topic->fresh.items, topic->fresh.count, token);
    if (at < topic->fresh.count) {
        vec_remove(&topic->fresh, at);
        replicator->fresh_count--;
        replicator->subscription_count--;
    }
    if (topic->tokens.count || topic->fresh.count)
        return;
    for (uint32_t i = replicator->prefixes.count; i-- > 0;)
        if (replicator->prefixes.items[i] == topic)
            vec_remove(&replicator->prefixes, i);
    (void)map_take(&replicator->topics, key);
    free_topic(topic);
}

void replicator_unsubscribe(struct replicator *replicator, uint64_t token,
                            struct slice key)
{
    struct topic *topic = map_get(&replicator->topics, key);

    if (topic)
        leave(replicator, key, topic, token);
}

void replicator_unsubscribe_all(struct replicator *replicator, uint64_t token)
{
    struct map_entry item;
    uint32_t at = 0;

    while (map_next(&replicator->topics, &at, &item))
        leave(replicator, item.key, item.value, token);
}

void notify_fini(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    while (map_next(&replicator->topics, &at, &item))
        free_topic(item.value);
    map_fini(&replicator->topics);
    vec_fini(&replicator->prefixes);
    vec_fini(&replicator->changed);
}
