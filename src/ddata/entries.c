/* Keeps the table of keys. */
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

struct entry *entry_find(const struct replicator *replicator, struct slice key)
{
    return map_get(&replicator->entries, key);
}

bool entry_is_there(const struct entry *entry)
{
    return entry && !envelope_is_deleted(&entry->envelope);
}

bool replicator_step_key(const struct replicator *replicator, uint32_t *at,
                         uint32_t *index, struct slice *key)
{
    uint64_t gone = replicator->gone;
    const struct entry *entry;
    struct map_entry item;

    if (!*index && *at > gone)
        *index = *at - (uint32_t)gone;
    do {
        if (!map_next(&replicator->entries, index, &item))
            return false;
        entry = item.value;
    } while (entry->order < *at);
    *at = entry->order + 1;
    *key = entry_is_there(item.value) ? item.key : slice_of(NULL, 0);
    return true;
}

bool replicator_next_key(const struct replicator *replicator, uint32_t *at,
                         struct slice *key)
{
    struct map_entry item;

    while (map_next(&replicator->entries, at, &item)) {
        if (!entry_is_there(item.value))
            continue;
        *key = item.key;
        return true;
    }
    return false;
}

const struct dd_value *replicator_look(const struct replicator *replicator,
                                       struct slice key)
{
    const struct entry *entry = entry_find(replicator, key);

    return entry_is_there(entry) ? entry->envelope.value : NULL;
}

const struct dd_value *replicator_look_at(const struct replicator *replicator,
                                          struct slice key, uint32_t index)
{
    const struct entry *entry = entry_find(replicator, key);

    return entry_is_there(entry) && index < opaque_count(&entry->envelope)
               ? opaque_look(&entry->envelope, index)->value
               : NULL;
}

struct entry *entry_add(struct replicator *replicator, struct slice key,
                        size_t size)
{
    struct entry *entry;

    if (key.size > REPLICATOR_KEY_SIZE_MAX ||
        size > replicator->settings.entry_size_max) {
        replicator->counters.too_large++;
        return NULL;
    }
    if (replicator->entries.count >= REPLICATOR_KEYS_MAX ||
        replicator->bytes + size > REPLICATOR_BYTES_MAX) {
        replicator->counters.too_many++;
        return NULL;
    }
    entry = mem_alloc(sizeof *entry);
    entry->key = slice_of(mem_copy(key.data, key.size), key.size);
    entry->order = replicator->order++;
    entry->hash = hash_java(key);
    entry->is_durable = key_is_durable(replicator, key);
    entry->expires_after = expire_after(replicator, key);
    (void)map_put(&replicator->entries, entry->key, entry);
    replicator->key_bytes += key.size;
    entry_measured(replicator, entry, size);
    return entry;
}

void entry_measured(struct replicator *replicator, struct entry *entry,
                    uint64_t size)
{
    replicator->bytes = replicator->bytes - entry->size + size;
    entry->size = size;
}

void entry_grow(struct replicator *replicator, struct entry *entry,
                uint64_t size)
{
    entry_measured(replicator, entry, entry->size + size);
}

bool replicator_bytes(const struct replicator *replicator, struct slice key,
                      struct buf *bytes)
{
    const struct entry *entry = entry_find(replicator, key);

    if (entry_is_there(entry))
        opaque_bytes(&entry->envelope, bytes);
    return entry != NULL;
}

const struct node_id *replicator_next_pruned(const struct replicator *replicator,
                                             struct slice key, uint32_t *at)
{
    const struct entry *entry = entry_find(replicator, key);
    const struct pruning *pruning = entry ? &entry->envelope.pruning : NULL;

    while (pruning && *at < pruning->marks.count) {
        const struct pruning_mark *mark = &pruning->marks.items[(*at)++];

        if (mark->is_performed)
            return &mark->removed;
    }
    return NULL;
}

static void free_entry(struct replicator *replicator, struct entry *entry)
{
    deltas_drop(&replicator->deltas, &entry->log, entry->key);
    envelope_fini(&entry->envelope);
    mem_free((void *)(uintptr_t)entry->key.data);
    mem_free(entry);
}

void entry_forget(struct replicator *replicator, struct entry *entry)
{
    (void)map_take(&replicator->entries, entry->key);
    replicator->gone++;
    replicator->key_bytes -= entry->key.size;
    replicator->bytes -= entry->size;
    replicator->deleted_count -= envelope_is_deleted(&entry->envelope);
    free_entry(replicator, entry);
}

void entries_fini(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    while (map_next(&replicator->entries, &at, &item))
        free_entry(replicator, item.value);
    map_fini(&replicator->entries);
}
