/* Changes entries: merges received ones, deletes them, and numbers their deltas. */
#include "base/limits.h"
#include "base/mark.h"
#include "ddata/replicator_inside.h"

#define DELETED_SIZE 16 /* of an empty envelope */

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

/* The number of this node's last delta of the key, including deltas before the key expired: other
 * nodes know it, and their versions contain it. */
static int64_t last_version(const struct replicator *replicator,
                            const struct entry *entry)
{
    int64_t hidden = hidden_version(replicator, entry->key);
    int64_t known = versions_get(&entry->envelope.versions,
                                 &replicator->replicas.self);

    return hidden > known ? hidden : known;
}

void entry_count_deltas(const struct replicator *replicator,
                        struct entry *entry)
{
    if (!entry->log.version)
        entry->log.version = last_version(replicator, entry);
}

enum refusal {
    REFUSAL_KIND = 1,
    REFUSAL_ROOM = 2,
    REFUSAL_CUSTOM = 4,
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

/* A type that only JVM programs know: nothing here tells which value is newer. */
static void tell_replaced(struct replicator *replicator, struct entry *entry)
{
    if (!(entry->logged_refusals & REFUSAL_CUSTOM))
        trace_put(replicator->trace, TRACE_WARNING, "ddata",
                  "value of a custom type replaced without a merge, so the new "
                  "one may be older, and its writer gets no confirmation "
                  "hint=\"keep keys of custom types on JVM members\" "
                  "key=\"%.*s\"",
                  (int)entry->key.size, (const char *)entry->key.data);
    entry->logged_refusals |= REFUSAL_CUSTOM;
}

/* Maps of one type differ inside. */
static const char *why_refused(const struct entry *entry,
                               const struct envelope *envelope)
{
    enum dd_kind here = dd_kind_of(entry->envelope.value);
    enum dd_kind there = dd_kind_of(envelope->value);

    return here == there || there == DD_ORMAP_DELTA
               ? "inside it is a value of a custom type, or of another type "
                 "than the one here"
               : "it is of another type than the one here";
}

struct entry *entry_merge(struct replicator *replicator, struct slice key,
                          struct envelope *envelope, size_t size)
{
    struct entry *entry = entry_find(replicator, key);
    enum envelope_merged merged;
    bool is_changed;

    if (envelope->value)
        size = envelope_counted(replicator, envelope, size);
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
                     why_refused(entry, envelope));
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
    tell_replaced(replicator, entry);
    return NULL;
}
