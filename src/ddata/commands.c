/* Carries out local commands: gets, updates, deletes. */
#include "base/check.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

static enum replicator_answer state_of(const struct entry *entry)
{
    if (!entry)
        return REPLICATOR_NOT_FOUND;
    return entry_is_there(entry) ? REPLICATOR_SUCCESS : REPLICATOR_DELETED;
}

void command_refuse(struct replicator *replicator, uint64_t token,
                    enum replicator_answer answer, struct slice key)
{
    replicator->counters.refused++;
    news_answer(replicator, token, answer, key);
}

void command_show(struct replicator *replicator, uint64_t token,
                  struct slice key)
{
    news_answer(replicator, token,
                key_is_held(replicator, key)
                    ? REPLICATOR_HELD
                    : state_of(entry_find(replicator, key)),
                key);
}

void command_get(struct replicator *replicator, uint64_t now, uint64_t token,
                 struct slice key, const struct consistency *consistency,
                 struct outbox *outbox)
{
    struct aggregator *aggregator;

    key_use(replicator, key, replicator->wall_ms);
    if (is_local(replicator, consistency)) {
        command_show(replicator, token, key);
        return;
    }
    aggregator =
        aggregator_new(replicator, now, token, key, consistency, false);
    if (aggregator)
        read_begin(replicator, aggregator, outbox);
    else
        command_refuse(replicator, token, REPLICATOR_FULL, key);
}

/* True if a write can be completed. */
static bool has_room(const struct replicator *replicator, struct slice key,
                     const struct consistency *consistency)
{
    if (key_is_durable(replicator, key) &&
        replicator->storing.count >= REPLICATOR_STORES_MAX)
        return false;
    return is_local(replicator, consistency) ||
           aggregator_has_room(replicator);
}

/* Stores the changed entry, and sends it as far as the consistency requires. */
static void spread(struct replicator *replicator, uint64_t now, uint64_t token,
                   struct entry *entry, const struct dd_value *delta,
                   const struct consistency *consistency,
                   struct outbox *outbox)
{
    bool is_deleted = envelope_is_deleted(&entry->envelope);
    struct storing storing = { .purpose = DURABLE_FOR_COMMAND,
                               .id = token,
                               .is_delete = is_deleted };
    struct aggregator *aggregator;
    bool waits_for_store;

    entry_use(replicator, entry, replicator->wall_ms);
    if (is_local(replicator, consistency)) {
        waits_for_store = entry->is_durable;
        if (!waits_for_store)
            news_answer(replicator, token, REPLICATOR_SUCCESS, entry->key);
        if (entry->is_durable)
            check(durable_store_entry(replicator, entry,
                              waits_for_store ? &storing : NULL));
        return;
    }
    aggregator = aggregator_new(replicator, now, token, entry->key, consistency,
                                delta && dd_needs_causal_delivery(delta));
    check(aggregator != NULL);
    aggregator->is_delete = is_deleted;
    if (entry->is_durable) {
        aggregator->own_store = OWN_STORE_SILENT;
        storing.purpose = DURABLE_FOR_AGGREGATOR;
        storing.id = aggregator->id;
        check(durable_store_entry(replicator, entry, &storing));
    }
    write_begin(replicator, aggregator, delta, entry->log.version, outbox);
}

void command_delete(struct replicator *replicator, uint64_t now,
                    uint64_t token, struct slice key,
                    const struct consistency *consistency,
                    struct outbox *outbox)
{
    struct entry *entry = entry_find(replicator, key);

    if (entry && !entry_is_there(entry)) {
        news_answer(replicator, token, REPLICATOR_DELETED, key);
        return;
    }
    if (!has_room(replicator, key, consistency) ||
        (!entry && !(entry = entry_add(replicator, key, 0)))) {
        command_refuse(replicator, token, REPLICATOR_FULL, key);
        return;
    }
    replicator->counters.writes++;
    hold_drop(replicator, key); /* a deletion wins over every value */
    entry_delete(replicator, entry);
    spread(replicator, now, token, entry, NULL, consistency, outbox);
}

enum replicator_begin command_update_begin(struct replicator *replicator,
                                           uint64_t token, struct slice key,
                                           const struct dd_value **current)
{
    struct entry *entry;

    if (!replicator->has_ended && !hidden_show(replicator, key)) {
        command_refuse(replicator, token, REPLICATOR_FULL, key);
        return REPLICATOR_ANSWERED;
    }
    entry = entry_find(replicator, key);
    if (replicator->has_ended || (entry && !entry_is_there(entry))) {
        news_answer(replicator, token,
                    replicator->has_ended ? REPLICATOR_STOPPED
                                          : REPLICATOR_DELETED,
                    key);
        return REPLICATOR_ANSWERED;
    }
    if (key_is_held(replicator, key)) {
        key_use(replicator, key, replicator->wall_ms);
        news_answer(replicator, token, REPLICATOR_HELD, key);
        return REPLICATOR_ANSWERED;
    }
    if (entry)
        *current = opaque_base(&entry->envelope)->value;
    return REPLICATOR_MODIFY;
}

static bool is_set(const struct dd_value *value)
{
    enum dd_kind kind = dd_kind_of(value);

    return kind == DD_ORSET || kind == DD_GSET;
}

/* Maps for which a changed copy equals the merge with it: no tombstones, no values that do not
 * merge. */
static bool has_place(const struct dd_value *value)
{
    switch (dd_kind_of(value)) {
    case DD_LWWMAP:
    case DD_PNCOUNTERMAP:
        return true;
    case DD_MULTIMAP:
        return !dd_multimap_has_deltas(value);
    default:
        return is_set(value);
    }
}

struct dd_value *
replicator_update_in_place(struct replicator *replicator, struct slice key,
                           size_t growth_max,
                           const struct consistency *consistency)
{
    struct entry *entry = entry_find(replicator, key);

    if (!entry_is_there(entry) || !has_place(entry->envelope.value) ||
        !has_room(replicator, key, consistency) ||
        !entry_has_room(replicator, entry, growth_max,
                        replicator->settings.update_size_max))
        return NULL;
    replicator->lent_mark = dd_mark(entry->envelope.value);
    return entry->envelope.value;
}

void command_update_fail(struct replicator *replicator, uint64_t token,
                         struct slice key)
{
    hidden_back(replicator, key);
    news_answer(replicator, token, REPLICATOR_MODIFY_FAILURE, key);
}

static size_t encoded_size(const struct replicator *replicator,
                           const struct dd_value *value)
{
    struct buf bytes = { 0 };
    struct dd_other other = dd_encode(value, &bytes);
    uint64_t size = other.bytes.size + other.manifest.size;
    uint64_t weight = weight_size(replicator, value);

    buf_fini(&bytes);
    return size > weight ? size : weight;
}

/* A value above DDATA_WEIGHT_MAX must not grow: checking it is slow. */
static bool is_heavier(const struct entry *entry, const struct envelope *whole)
{
    uint64_t weight = dd_weight(whole->value);

    return weight > DDATA_WEIGHT_MAX &&
           weight > dd_weight(entry->envelope.value);
}

/* Merges an update that may be too large, and measures the result. An entry that others made too
 * large may still be reduced. */
static enum replicator_answer merge_large(struct replicator *replicator,
                                          struct entry *entry,
                                          struct dd_value *value)
{
    struct envelope whole = { 0 };
    enum replicator_answer answer = REPLICATOR_SUCCESS;
    enum envelope_merged merged;
    uint64_t size;

    envelope_copy(&whole, &entry->envelope);
    merged = envelope_merge_value(&whole, value);
    size = envelope_size(replicator, &whole);
    if (merged == ENVELOPE_REFUSED)
        answer = REPLICATOR_MODIFY_FAILURE;
    else if ((size > replicator->settings.update_size_max &&
              size > entry->size) || /* measured */
             is_heavier(entry, &whole))
        answer = REPLICATOR_TOO_LARGE;
    else if (replicator->bytes - entry->size + size > REPLICATOR_BYTES_MAX)
        answer = REPLICATOR_FULL;
    if (answer != REPLICATOR_SUCCESS) {
        envelope_fini(&whole);
        return answer;
    }
    envelope_fini(&entry->envelope);
    entry->envelope = whole;
    entry_measured(replicator, entry, size);
    return answer;
}

/* A set made from the entry's current one equals their merge. A map may not, if one update removed
 * a key and put it again. */
static bool is_successor(const struct entry *entry,
                         const struct dd_value *current,
                         const struct dd_value *value)
{
    return current && current == entry->envelope.value &&
           is_set(value) && dd_kind_of(current) == dd_kind_of(value);
}

/* The value is spent. */
static void replace(struct replicator *replicator, struct entry *entry,
                    struct dd_value *value, size_t size, bool *is_changed)
{
    *is_changed = !dd_mark_equal(dd_mark(entry->envelope.value),
                                 dd_mark(value));
    if (!*is_changed) {
        dd_free(value);
        return;
    }
    dd_free(entry->envelope.value);
    entry->envelope.value = value;
    entry_grow(replicator, entry, size);
}

/* The change of a map with values that do not merge here continues one of its siblings. */
static enum replicator_answer update_sibling(struct replicator *replicator,
                                             struct entry *entry,
                                             const struct dd_value *value,
                                             bool *is_changed)
{
    struct envelope *base = opaque_base(&entry->envelope);
    struct dd_value *changed = dd_copy(base->value);
    enum dd_merged merged = dd_merge(changed, value);
    enum replicator_answer answer = REPLICATOR_SUCCESS;
    struct origin *origin;
    uint64_t size;

    *is_changed = merged == DD_CHANGED;
    if (merged != DD_CHANGED) {
        dd_free(changed);
        return merged == DD_UNCHANGED ? answer : REPLICATOR_MODIFY_FAILURE;
    }
    size = encoded_size(replicator, changed);
    if (size > replicator->settings.update_size_max &&
        size > base->origin->size)
        answer = REPLICATOR_TOO_LARGE;
    else if (replicator->bytes + size > REPLICATOR_BYTES_MAX)
        answer = REPLICATOR_FULL;
    if (answer != REPLICATOR_SUCCESS) {
        dd_free(changed);
        return answer;
    }
    origin = origin_own(&replicator->replicas.self);
    origin->size = size;
    opaque_renew(&entry->envelope, base, changed, origin);
    entry_measured(replicator, entry, opaque_size(&entry->envelope));
    return answer;
}

static enum replicator_answer merge_update(struct replicator *replicator,
                                           struct entry *entry,
                                           struct dd_value *value, size_t size,
                                           bool *is_changed)
{
    enum envelope_merged merged;

    *is_changed = true;
    if (entry->envelope.origin)
        return update_sibling(replicator, entry, value, is_changed);
    if (!entry_has_room(replicator, entry, size,
                        replicator->settings.update_size_max))
        return merge_large(replicator, entry, value);
    merged = envelope_merge_value(&entry->envelope, value);
    if (merged == ENVELOPE_REFUSED)
        return REPLICATOR_MODIFY_FAILURE;
    *is_changed = merged == ENVELOPE_CHANGED;
    if (*is_changed)
        entry_grow(replicator, entry, size);
    return REPLICATOR_SUCCESS;
}

/* Changed in place; the room was checked before. */
static void keep(struct replicator *replicator, struct entry *entry,
                 size_t size, bool *is_changed)
{
    *is_changed = !dd_mark_equal(replicator->lent_mark,
                                 dd_mark(entry->envelope.value));
    if (*is_changed)
        entry_grow(replicator, entry, size);
}

/* Puts the value, given, into the table. current: the value that it was made from, or null. */
static enum replicator_answer put(struct replicator *replicator,
                                  struct slice key,
                                  const struct dd_value *current,
                                  struct dd_value *value, size_t size,
                                  struct entry **found, bool *is_changed)
{
    uint32_t max = replicator->settings.update_size_max;
    struct entry *entry = entry_find(replicator, key);
    uint64_t too_large = replicator->counters.too_large;
    enum replicator_answer answer;

    *is_changed = true;
    if (entry && entry->envelope.value == value) {
        keep(replicator, entry, size, is_changed);
        answer = REPLICATOR_SUCCESS;
    } else if (entry && is_successor(entry, current, value) &&
               entry_has_room(replicator, entry, size, max)) {
        replace(replicator, entry, value, size, is_changed);
        answer = REPLICATOR_SUCCESS;
    } else if (entry) {
        answer = merge_update(replicator, entry, value, size, is_changed);
        dd_free(value);
    } else if (size <= max && (entry = entry_add(replicator, key, size))) {
        entry->envelope.value = value;
        if (dd_find_opaque(value))
            origin_claim(replicator, &entry->envelope);
        answer = REPLICATOR_SUCCESS;
    } else {
        dd_free(value);
        replicator->counters.too_large += size > max;
        answer = replicator->counters.too_large > too_large
                     ? REPLICATOR_TOO_LARGE
                     : REPLICATOR_FULL;
    }
    *found = entry;
    return answer;
}

static bool is_state(const struct dd_value *value)
{
    return dd_kind_of(value) != DD_DELETED && !dd_is_delta(value);
}

void command_update(struct replicator *replicator, uint64_t now,
                    uint64_t token, struct slice key,
                    const struct dd_value *current, struct dd_value *value,
                    const struct consistency *consistency,
                    struct outbox *outbox)
{
    enum replicator_answer answer = REPLICATOR_FULL;
    struct dd_value *delta = NULL;
    struct entry *entry = NULL;
    bool is_changed = false;
    bool has_deltas;

    if (!is_state(value)) {
        dd_free(value);
        command_update_fail(replicator, token, key);
        return;
    }
    has_deltas = !replicator->settings.deltas_off &&
                 dd_has_deltas(dd_kind_of(value));
    if (has_deltas)
        delta = dd_take_delta(value);
    dd_reset_delta(value);
    if (has_room(replicator, key, consistency)) {
        answer = put(replicator, key, current, value,
                     encoded_size(replicator,
                                  delta && entry_find(replicator, key)
                                      ? delta
                                      : value),
                     &entry, &is_changed);
    } else {
        check(value != current); /* room for a value lent in place was checked */
        dd_free(value);
    }
    if (answer != REPLICATOR_SUCCESS) {
        dd_free(delta);
        hidden_back(replicator, key);
        if (answer == REPLICATOR_MODIFY_FAILURE)
            news_answer(replicator, token, answer, key);
        else
            command_refuse(replicator, token, answer, key);
        return;
    }
    replicator->counters.writes++;
    has_deltas = has_deltas && !entry->envelope.origin;
    if (!entry->envelope.origin)
        entry_count_deltas(replicator, entry);
    hidden_drop(replicator, key);
    /* Before entry_set, which records that the value contains this delta. */
    if (has_deltas)
        deltas_put(&replicator->deltas, &entry->log, entry->key,
                   delta ? dd_copy(delta) : NULL);
    replicator->counters.deltas_lost = replicator->deltas.lost;
    entry_set(replicator, entry, is_changed);
    spread(replicator, now, token, entry, has_deltas ? delta : NULL,
           consistency, outbox);
    dd_free(delta);
}
