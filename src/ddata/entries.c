/* Keeps the table of keys: values, sizes and digests. */
#include <sha1.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mark.h"
#include "ddata/replicator_inside.h"

#define VERSION_SIZE 40 /* bytes beside the host's name, at most */
#define DELETED_SIZE 16 /* of an empty envelope */
#define UNREADABLE_SIZE UINT32_MAX /* above every limit */

struct entry *entry_find(const struct replicator *replicator, struct slice key)
{
    return map_get(&replicator->entries, key);
}

bool entry_is_there(const struct entry *entry)
{
    return entry && !envelope_is_deleted(&entry->envelope);
}

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

void entry_set(struct replicator *replicator, struct entry *entry,
               bool is_value)
{
    /* The whole value contains these deltas. */
    if (entry->log.version && !envelope_is_deleted(&entry->envelope))
        versions_set(&entry->envelope.versions, &replicator->replicas.self,
                     entry->log.version);
    entry->has_digest = false;
    if (is_value)
        notify_change(replicator, entry);
}

void entry_delete(struct replicator *replicator, struct entry *entry)
{
    int64_t version = entry->log.version ? entry->log.version
                                         : hidden_version(replicator, entry->key);

    envelope_delete(&entry->envelope);
    hidden_drop(replicator, entry->key);
    deltas_drop(&replicator->deltas, &entry->log, entry->key);
    entry->log.version = version; /* nodes that miss the deletion know it */
    replicator->deleted_count++;
    entry_measured(replicator, entry, DELETED_SIZE);
    entry_set(replicator, entry, true);
}

/* An upper bound. Digests do not cover delta versions, but they are sent. */
static uint64_t versions_size(const struct envelope *envelope)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < envelope->versions.items.count; i++)
        size += VERSION_SIZE +
                strlen(envelope->versions.items.items[i].node.address.host);
    return size;
}

uint64_t weight_size(const struct replicator *replicator,
                     const struct dd_value *value)
{
    return dd_weight(value) * replicator->settings.entry_size_max /
           DDATA_WEIGHT_MAX;
}

/* The larger of bytes and weight; weight counts up to the entry limit. */
static uint64_t counted(const struct replicator *replicator,
                        const struct envelope *envelope, uint64_t bytes)
{
    uint64_t max = replicator->settings.entry_size_max;
    uint64_t size = bytes + versions_size(envelope);
    uint64_t weight = weight_size(replicator, envelope->value);

    if (weight > max)
        weight = max;
    return size > weight ? size : weight;
}

/* Logs a large size, again after each tenth of growth; when digests are made, as Akka does. */
static void tell_size(struct replicator *replicator, struct entry *entry,
                      uint64_t size)
{
    const struct replicator_settings *settings = &replicator->settings;
    bool is_close = size >= settings->frame_size / 4 * 3;

    if (size < settings->logged_size || size <= entry->logged_size)
        return;
    entry->logged_size = size + size / 10;
    trace_put(replicator->trace, is_close ? TRACE_WARNING : TRACE_INFO, "ddata",
              is_close
                  ? "value is nearly as large as a message may be key=%.*s "
                    "bytes=%llu hint=\"split it into several keys\""
                  : "value is large key=%.*s bytes=%llu",
              (int)entry->key.size, (const char *)entry->key.data,
              (unsigned long long)size);
}

struct slice entry_digest(struct replicator *replicator, struct entry *entry)
{
    struct buf bytes = { 0 };
    SHA1_CTX sha1;

    if (envelope_is_deleted(&entry->envelope))
        return slice_of(entry->digest, 0);
    if (!entry->has_digest) {
        envelope_encode(&bytes, &entry->envelope, NULL, ENVELOPE_PLAIN);
        SHA1Init(&sha1);
        SHA1Update(&sha1, bytes.data, bytes.size);
        SHA1Final(entry->digest, &sha1);
        entry->has_digest = true;
        entry_measured(replicator, entry,
                       counted(replicator, &entry->envelope, bytes.size));
        tell_size(replicator, entry, bytes.size);
        buf_fini(&bytes);
    }
    return slice_of(entry->digest, DIGEST_SIZE);
}

bool replicator_bytes(const struct replicator *replicator, struct slice key,
                      struct buf *bytes)
{
    const struct entry *entry = entry_find(replicator, key);

    if (entry_is_there(entry))
        envelope_encode(bytes, &entry->envelope, NULL, ENVELOPE_PLAIN);
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

static bool is_readable(const struct envelope *envelope, struct slice bytes)
{
    struct envelope again = { 0 };
    bool done = dd_weight(envelope->value) <= DDATA_WEIGHT_MAX ||
                envelope_decode(bytes, &again);

    envelope_fini(&again);
    return done;
}

uint64_t envelope_size(const struct replicator *replicator,
                       const struct envelope *envelope)
{
    struct buf bytes = { 0 };
    uint64_t size = UNREADABLE_SIZE;

    envelope_encode(&bytes, envelope, NULL, ENVELOPE_PLAIN);
    if (is_readable(envelope, buf_slice(&bytes)))
        size = counted(replicator, envelope, bytes.size);
    buf_fini(&bytes);
    return size;
}

/* The sizes of merged parts add up to more than the entry, so it is measured near the limit. */
bool entry_has_room(struct replicator *replicator, struct entry *entry,
                    size_t size, uint64_t max)
{
    if (entry->size + size > max ||
        replicator->bytes + size > REPLICATOR_BYTES_MAX)
        entry_measured(replicator, entry,
                       envelope_size(replicator, &entry->envelope));
    return entry->size + size <= max &&
           replicator->bytes + size <= REPLICATOR_BYTES_MAX;
}

enum refusal {
    REFUSAL_KIND = 1,
    REFUSAL_ROOM = 2,
};

/* Members now differ permanently. Logs each key and cause once; of keys that are not here, the
 * first. */
static void tell_refused(struct replicator *replicator, struct entry *entry,
                         struct slice key, enum refusal refusal,
                         const char *why)
{
    uint8_t *logged = entry ? &entry->logged_refusals : &replicator->logged_refusals;

    if (!(*logged & refusal))
        trace_put(replicator->trace, TRACE_WARNING, "ddata",
                  "value refused, so replicas differ: %s hint=\"%s\" "
                  "key=\"%.*s\"",
                  why,
                  refusal == REFUSAL_ROOM
                      ? "use fewer or smaller keys"
                      : "use one type for a key on all members",
                  (int)key.size, (const char *)key.data);
    *logged |= (uint8_t)refusal;
}

/* The sum is too large, but the values may have much in common. */
static struct entry *merge_large(struct replicator *replicator,
                                 struct entry *entry,
                                 struct envelope *envelope,
                                 enum envelope_merged *merged)
{
    struct envelope whole = { 0 };
    uint64_t size;

    envelope_copy(&whole, &entry->envelope);
    *merged = envelope_merge(&whole, envelope, replicator->wall_ms);
    size = envelope_size(replicator, &whole);
    if (size > replicator->settings.entry_size_max ||
        replicator->bytes - entry->size + size > REPLICATOR_BYTES_MAX) {
        replicator->counters.too_large++;
        envelope_fini(&whole);
        return NULL;
    }
    envelope_fini(&entry->envelope);
    entry->envelope = whole;
    entry_measured(replicator, entry, size);
    return entry;
}

static struct entry *merge_first(struct replicator *replicator,
                                 struct slice key, struct envelope *envelope,
                                 size_t size)
{
    struct entry *entry;

    if (envelope_is_deleted(envelope)) {
        entry = entry_add(replicator, key, DELETED_SIZE);
        if (entry)
            entry_delete(replicator, entry);
        return entry;
    }
    if (!envelope_settle(envelope)) {
        replicator->counters.unmerged++;
        tell_refused(replicator, NULL, key, REFUSAL_KIND,
                     "it is not of a kind that merges");
        return NULL;
    }
    entry = entry_add(replicator, key, size);
    if (!entry) {
        tell_refused(replicator, NULL, key, REFUSAL_ROOM,
                     "there is no room for it here; others are counted only");
        return NULL;
    }
    entry->envelope = *envelope;
    *envelope = (struct envelope){ 0 };
    (void)pruning_see_all(&entry->envelope.pruning,
                          &replicator->replicas.self.address);
    entry->by_others = true;
    entry_set(replicator, entry, true);
    return entry;
}

struct entry *entry_merge(struct replicator *replicator, struct slice key,
                          struct envelope *envelope, size_t size)
{
    struct entry *entry = entry_find(replicator, key);
    enum envelope_merged merged;
    bool is_changed;

    if (envelope->value)
        size = counted(replicator, envelope, size);
    if (!entry)
        return merge_first(replicator, key, envelope, size);
    if (envelope_is_deleted(&entry->envelope))
        return entry;
    if (envelope_is_deleted(envelope)) {
        entry_delete(replicator, entry);
        return entry;
    }
    if (entry_has_room(replicator, entry, size,
                       replicator->settings.entry_size_max)) {
        merged = envelope_merge(&entry->envelope, envelope,
                                replicator->wall_ms);
        if (merged != ENVELOPE_SAME && merged != ENVELOPE_REFUSED)
            entry_grow(replicator, entry, size);
    } else if (!merge_large(replicator, entry, envelope, &merged)) {
        tell_refused(replicator, entry, key, REFUSAL_ROOM,
                     "with what is here it is larger than a value may be");
        return NULL;
    }
    if (merged == ENVELOPE_REFUSED) {
        replicator->counters.unmerged++;
        tell_refused(replicator, entry, key, REFUSAL_KIND,
                     "it is of another type than the one here");
        return NULL;
    }
    SOMETIMES("a value changes while a member is pruned from it",
              merged == ENVELOPE_CHANGED &&
                  pruning_begun(&entry->envelope.pruning));
    (void)pruning_see_all(&entry->envelope.pruning,
                          &replicator->replicas.self.address);
    is_changed = merged == ENVELOPE_CHANGED || merged == ENVELOPE_REPLACED;
    entry->by_others |= is_changed;
    entry_set(replicator, entry, is_changed);
    if (merged != ENVELOPE_REPLACED)
        return entry;
    replicator->counters.unmerged++;
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
