/* Changes entries: merges received ones, deletes them, and numbers their deltas. */
#include "base/limits.h"
#include "base/mark.h"
#include "ddata/replicator_inside.h"

#define DELETED_SIZE 16 /* of an empty envelope */

void entry_set(struct replicator *replicator, struct entry *entry,
               bool is_value)
{
    /* The whole value contains these deltas. With siblings it need not. */
    if (entry->log.version && !envelope_is_deleted(&entry->envelope) &&
        !entry->envelope.origin)
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
    int64_t last = hidden_version(replicator, entry->key);

    for (uint32_t i = 0; i < opaque_count(&entry->envelope); i++) {
        int64_t known =
            versions_get(&opaque_look(&entry->envelope, i)->versions,
                         &replicator->replicas.self);

        if (known > last)
            last = known;
    }
    return last;
}

void entry_count_deltas(const struct replicator *replicator,
                        struct entry *entry)
{
    if (!entry->log.version)
        entry->log.version = last_version(replicator, entry);
}

int64_t entry_draw_version(struct replicator *replicator, struct entry *entry)
{
    entry_count_deltas(replicator, entry);
    check(!entry->log.items.count);
    return ++entry->log.version;
}

enum refusal {
    REFUSAL_KIND = 1,
    REFUSAL_ROOM = 2,
    REFUSAL_MANY = 4,
    KEPT_BESIDE = 8 /* not refused */
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
                  : refusal == REFUSAL_MANY
                      ? "keep a JVM member running, which merges them"
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
    *merged = envelope_join(replicator, &whole, envelope);
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

/* A type that only JVM programs know, perhaps inside a map. */
static void tell_beside(struct replicator *replicator, struct entry *entry)
{
    const struct dd_value *value = entry->envelope.value;
    const struct dd_value *found = dd_find_opaque(value);
    struct buf unused = { 0 };
    struct dd_other type;

    if (!found || (entry->logged_refusals & KEPT_BESIDE))
        return;
    type = dd_encode(found, &unused);
    trace_put(replicator->trace, TRACE_INFO, "ddata",
              "values of a key are kept side by side until a JVM member merges "
              "them key=\"%.*s\" reason=\"%s of serializer %d with manifest "
              "'%.*s', which does not merge here\"",
              (int)entry->key.size, (const char *)entry->key.data,
              found == value ? "it is" : "it is a map with a value",
              (int)type.serializer, (int)type.manifest.size,
              (const char *)type.manifest.data);
    entry->logged_refusals |= KEPT_BESIDE;
}

/* A replica adds itself to a marker together with its data, so only if this is one value. */
static void see(struct replicator *replicator, struct entry *entry)
{
    if (!entry->envelope.siblings.count)
        (void)pruning_see_all(&entry->envelope.pruning,
                              &replicator->replicas.self.address);
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
    if (dd_find_opaque(envelope->value))
        origin_claim(replicator, envelope);
    entry = entry_add(replicator, key,
                      envelope->origin ? envelope->origin->size : size);
    if (!entry) {
        tell_refused(replicator, NULL, key, REFUSAL_ROOM,
                     "there is no room for it here; others are counted only");
        return NULL;
    }
    entry->envelope = *envelope;
    *envelope = (struct envelope){ 0 };
    if (!opaque_end(&entry->envelope) && entry->envelope.origin)
        entry_measured(replicator, entry, opaque_size(&entry->envelope));
    see(replicator, entry);
    tell_beside(replicator, entry);
    entry->by_others = true;
    entry_set(replicator, entry, true);
    return entry;
}

/* Maps of one type differ inside. */
static const char *why_refused(const struct entry *entry,
                               const struct envelope *envelope)
{
    enum dd_kind here = dd_kind_of(entry->envelope.value);
    enum dd_kind there = dd_kind_of(envelope->value);

    return here == there || there == DD_ORMAP_DELTA
               ? "inside it is a value of another type than the one here"
               : "it is of another type than the one here";
}

/* The last steps of a merge, whose kind is not refused. */
static struct entry *take(struct replicator *replicator, struct entry *entry,
                          enum envelope_merged merged)
{
    SOMETIMES("a value changes while a member is pruned from it",
              merged == ENVELOPE_CHANGED &&
                  pruning_begun(&entry->envelope.pruning));
    see(replicator, entry);
    entry->by_others |= merged == ENVELOPE_CHANGED;
    entry_set(replicator, entry, merged == ENVELOPE_CHANGED);
    return entry;
}

static struct entry *refuse_kind(struct replicator *replicator,
                                 struct entry *entry,
                                 const struct envelope *envelope)
{
    replicator->counters.unmerged++;
    tell_refused(replicator, entry, entry->key, REFUSAL_KIND,
                 why_refused(entry, envelope));
    return NULL;
}

/* ---- values that do not merge here ---- */

/* No delta of such a value is sent: it would have to contain all siblings. */
static void begin_siblings(struct replicator *replicator, struct entry *entry)
{
    int64_t version;

    if (entry->envelope.origin)
        return;
    entry_count_deltas(replicator, entry);
    version = entry->log.version;
    deltas_drop(&replicator->deltas, &entry->log, entry->key);
    entry->log.version = version;
}

/* The value merges again. Members may have some of this node's versions without others: the gap
 * makes them wait for the whole value. */
static void end_siblings(struct replicator *replicator, struct entry *entry)
{
    int64_t last = last_version(replicator, entry);

    if (entry->envelope.origin)
        return;
    if (last > entry->log.version)
        entry->log.version = last;
    if (entry->log.version && !replicator->settings.deltas_off)
        deltas_put(&replicator->deltas, &entry->log, entry->key, NULL);
}

static bool has_room_beside(const struct replicator *replicator,
                            const struct envelope *envelope, uint64_t size)
{
    for (uint32_t i = 0; envelope->origin && i < opaque_count(envelope); i++)
        if (opaque_look(envelope, i)->origin->size >
            replicator->settings.entry_size_max)
            return false;
    return size <= (envelope->origin ? REPLICATOR_BYTES_MAX
                                     : replicator->settings.entry_size_max) &&
           replicator->bytes + size <= REPLICATOR_BYTES_MAX;
}

static struct entry *merge_siblings(struct replicator *replicator,
                                    struct entry *entry,
                                    struct envelope *envelope, uint64_t size)
{
    enum envelope_merged merged;

    if (dd_is_delta(envelope->value) ||
        dd_kind_of(entry->envelope.value) != dd_kind_of(envelope->value))
        return refuse_kind(replicator, entry, envelope);
    if (envelope->origin)
        size = opaque_size(envelope);
    if (!has_room_beside(replicator, envelope, size)) {
        replicator->counters.too_large++;
        tell_refused(replicator, entry, entry->key, REFUSAL_ROOM,
                     "with what is here it is larger than values may be");
        return NULL;
    }
    begin_siblings(replicator, entry);
    merged = envelope_join(replicator, &entry->envelope, envelope);
    end_siblings(replicator, entry);
    entry_measured(replicator, entry,
                   envelope_size(replicator, &entry->envelope));
    tell_beside(replicator, entry);
    if (merged == ENVELOPE_FULL) {
        replicator->counters.siblings_full++;
        tell_refused(replicator, entry, entry->key, REFUSAL_MANY,
                     "too many values that do not merge here are side by side");
        return NULL;
    }
    if (merged == ENVELOPE_CHANGED && entry->envelope.siblings.count)
        replicator->counters.siblings++;
    return take(replicator, entry, merged);
}

struct entry *entry_merge(struct replicator *replicator, struct slice key,
                          struct envelope *envelope, size_t size)
{
    struct entry *entry = entry_find(replicator, key);
    enum envelope_merged merged;

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
    if (opaque_is_needed(&entry->envelope, envelope))
        return merge_siblings(replicator, entry, envelope, size);
    if (entry_has_room(replicator, entry, size,
                       replicator->settings.entry_size_max)) {
        merged = envelope_join(replicator, &entry->envelope, envelope);
        if (merged == ENVELOPE_CHANGED || merged == ENVELOPE_MARKED)
            entry_grow(replicator, entry, size);
    } else if (!merge_large(replicator, entry, envelope, &merged)) {
        tell_refused(replicator, entry, key, REFUSAL_ROOM,
                     "with what is here it is larger than a value may be");
        return NULL;
    }
    return merged == ENVELOPE_REFUSED ? refuse_kind(replicator, entry, envelope)
                                      : take(replicator, entry, merged);
}
