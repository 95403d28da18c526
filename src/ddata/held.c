/* Holds damaged durable keys: the remains are invisible until half of all members have sent whole
 * values, or the key is deleted or released. Held keys are not in the table, so the replicator asks
 * for them like for missing keys.
 *
 * Each majority, less this node, contains one of that half. So the received values contain every
 * acknowledged one, unless more disks were damaged. A delta does not show what else its sender
 * has. */
#include "base/check.h"
#include "base/limits.h"
#include "base/sort.h"
#include "base/sorted.h"
#include "ddata/replicator_inside.h"

typedef VEC(uint64_t) uid_list;

struct hold {
    struct buf left;      /* stored bytes, perhaps none */
    struct envelope come; /* merged values of others; empty: none */
    uint64_t size;        /* bytes of `come`, at most */
    int64_t used_ms;      /* last use, by the wall clock */
    uid_list heard;       /* sent all they have, perhaps nothing; sorted */
};

static struct hold *hold_of(const struct replicator *replicator,
                            struct slice key)
{
    return replicator->held.count ? map_get(&replicator->held, key) : NULL;
}

void replicator_hold(struct replicator *replicator, uint64_t now,
                     struct slice key, struct slice bytes)
{
    struct hold *hold;

    (void)now;
    if (replicator->has_ended || key_is_held(replicator, key))
        return;
    check(replicator->is_loading && !entry_find(replicator, key));
    hold = mem_alloc(sizeof *hold);
    buf_put_slice(&hold->left, bytes);
    hold->used_ms = replicator->wall_ms;
    (void)map_put(&replicator->held, key, hold); /* there was none */
}

bool key_is_held(const struct replicator *replicator, struct slice key)
{
    return hold_of(replicator, key) != NULL;
}

bool replicator_is_held(const struct replicator *replicator, struct slice key)
{
    return key_is_held(replicator, key);
}

const struct dd_value *hold_look(const struct replicator *replicator,
                                 struct slice key, uint32_t index)
{
    const struct hold *hold = hold_of(replicator, key);

    return hold && index < opaque_count(&hold->come)
               ? opaque_look(&hold->come, index)->value
               : NULL;
}

static void free_hold(struct hold *hold)
{
    if (!hold)
        return;
    buf_fini(&hold->left);
    envelope_fini(&hold->come);
    vec_fini(&hold->heard);
    mem_free(hold);
}

void hold_drop(struct replicator *replicator, struct slice key)
{
    free_hold(map_take(&replicator->held, key));
}

/* Merges remains and received values; empty: neither. If they do not fit, the received one
 * stays. */
static void put_together(struct replicator *replicator,
                         const struct hold *hold, struct envelope *whole)
{
    struct envelope come = { 0 };

    /* The record was intact, so an unreadable value was written so. */
    if (hold->left.size && !envelope_decode_stored(buf_slice(&hold->left), whole))
        replicator->counters.unloaded++;
    if (!hold->come.value)
        return;
    envelope_copy(&come, &hold->come);
    if (whole->value &&
        envelope_is_merged(envelope_join(replicator, whole, &come)) &&
        envelope_fits(replicator, whole)) {
        envelope_fini(&come);
        return;
    }
    envelope_fini(&come);
    envelope_fini(whole);
    envelope_copy(whole, &hold->come);
}

/* ---- received values ---- */

bool hold_is_part(const struct replicator *replicator, struct slice key,
                  const struct dd_value *value)
{
    enum dd_kind kind = dd_kind_of(value);

    return key_is_held(replicator, key) &&
           (dd_is_delta(value) || kind == DD_GSET || kind == DD_GCOUNTER ||
            kind == DD_PNCOUNTER);
}

/* False: does not fit to earlier ones; counted. The envelope is spent. */
static bool collect(struct replicator *replicator, struct hold *hold,
                    struct envelope *envelope, size_t size)
{
    uint64_t max = replicator->settings.entry_size_max;
    struct envelope whole = { 0 };
    enum envelope_merged merged = ENVELOPE_CHANGED;
    uint64_t sum = hold->size + size;

    if (dd_is_delta(envelope->value)) {
        replicator->counters.unmerged++;
        return false;
    }
    if (hold->come.value) {
        envelope_copy(&whole, &hold->come);
        merged = envelope_join(replicator, &whole, envelope);
    } else {
        whole = *envelope;
        *envelope = (struct envelope){ 0 };
    }
    if (sum > max)
        sum = envelope_size(replicator, &whole);
    if (!envelope_is_merged(merged) || (sum > max && !whole.origin)) {
        replicator->counters.unmerged += merged == ENVELOPE_REFUSED;
        replicator->counters.siblings_full += merged == ENVELOPE_FULL;
        replicator->counters.too_large += envelope_is_merged(merged);
        envelope_fini(&whole);
        return false;
    }
    envelope_fini(&hold->come);
    hold->come = whole;
    hold->size = sum;
    return true;
}

static int uid_order(const void *item, const void *key)
{
    uint64_t uid = *(const uint64_t *)item, other = *(const uint64_t *)key;

    return uid < other ? -1 : uid > other;
}

static bool was_heard(const struct hold *hold, uint64_t uid, uint32_t *at)
{
    *at = sorted_vec_place(&hold->heard, uid_order, &uid);
    return *at < hold->heard.count && hold->heard.items[*at] == uid;
}

static void note_heard(struct hold *hold, const struct node_id *from)
{
    uint32_t at;

    if (was_heard(hold, from->uid, &at))
        return;
    vec_push(&hold->heard, 0);
    memmove(&hold->heard.items[at + 1], &hold->heard.items[at],
            (hold->heard.count - 1 - at) * sizeof *hold->heard.items);
    hold->heard.items[at] = from->uid;
}

/* Counts members as writes do; forgets removed ones. */
static bool is_enough(const struct replicator *replicator, struct hold *hold)
{
    const struct replicas *replicas = &replicator->replicas;
    uint32_t members = replicas->up_count + 1;
    uid_list still = { 0 };
    uint32_t count = 0, at;

    for (uint32_t i = 0; i < replicas->items.count; i++) {
        const struct replica *replica = &replicas->items.items[i];

        if (!was_heard(hold, replica->peer.uid, &at))
            continue;
        vec_push(&still, replica->peer.uid);
        count += replica->group == REPLICA_UP;
    }
    sort_stable(still.items, still.count, sizeof *still.items, uid_order);
    vec_fini(&hold->heard);
    hold->heard = still;
    return count >= members - members / 2;
}

bool hold_take(struct replicator *replicator, struct slice key,
               const struct node_id *from, struct envelope *envelope,
               size_t *size)
{
    struct hold *hold = hold_of(replicator, key);

    if (!hold || envelope_is_deleted(envelope))
        return true;
    if (envelope->value && !collect(replicator, hold, envelope, *size))
        return false;
    envelope_fini(envelope);
    note_heard(hold, from);
    if (!is_enough(replicator, hold) || !hold->come.value)
        return false;
    put_together(replicator, hold, envelope);
    *size = envelope_size(replicator, envelope);
    return true;
}

void hold_end(struct replicator *replicator, const struct entry *entry)
{
    if (!key_is_held(replicator, entry->key))
        return;
    hold_drop(replicator, entry->key);
    trace_put(replicator->trace, TRACE_INFO, "ddata",
              "damaged durable key repaired from other members key=\"%.*s\"",
              (int)entry->key.size, (const char *)entry->key.data);
}

/* ---- unused keys ---- */

void key_use(const struct replicator *replicator, struct slice key,
             int64_t used_ms)
{
    struct hold *hold = hold_of(replicator, key);

    entry_use(replicator, entry_find(replicator, key), used_ms);
    if (used_ms > replicator->wall_ms)
        used_ms = replicator->wall_ms;
    if (hold && used_ms > hold->used_ms)
        hold->used_ms = used_ms;
}

/* Other members drop expired keys too. A member without the key does not end a hold. */
void hold_tick(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    while (map_next(&replicator->held, &at, &item)) {
        const struct hold *hold = item.value;

        if (!expire_is_over(replicator, item.key, hold->used_ms))
            continue;
        trace_put(replicator->trace, TRACE_INFO, "ddata",
                  "damaged durable key expired unused key=\"%.*s\"",
                  (int)item.key.size, (const char *)item.key.data);
        replicator->counters.expired++;
        durable_forget(replicator, item.key);
        hold_drop(replicator, item.key);
    }
}

/* ---- release ---- */

static bool restore(struct replicator *replicator, struct slice key,
                    const struct hold *hold, struct entry **entry)
{
    struct envelope whole = { 0 };

    put_together(replicator, hold, &whole);
    if (!whole.value)
        return true;
    if (replicator->storing.count < REPLICATOR_STORES_MAX)
        *entry = entry_merge(replicator, key, &whole, envelope_size(replicator, &whole));
    envelope_fini(&whole);
    return *entry != NULL;
}

void command_release(struct replicator *replicator, uint64_t token,
                     struct slice key)
{
    struct storing storing = { .purpose = DURABLE_FOR_COMMAND, .id = token };
    const struct hold *hold = hold_of(replicator, key);
    struct entry *entry = NULL;

    if (!hold) {
        news_answer(replicator, token, REPLICATOR_SUCCESS, key);
        return;
    }
    if (!restore(replicator, key, hold, &entry)) {
        replicator->counters.refused++;
        news_answer(replicator, token, REPLICATOR_FULL, key);
        return;
    }
    trace_put(replicator->trace, TRACE_WARNING, "ddata",
              "damaged durable key released: the rest of its value is served "
              "hint=\"check the value, and write again what is missing\" "
              "key=\"%.*s\"",
              (int)key.size, (const char *)key.data);
    hold_drop(replicator, key);
    entry_use(replicator, entry, replicator->wall_ms);
    if (entry && entry->is_durable) {
        check(durable_store_entry(replicator, entry, &storing));
        return;
    }
    if (!entry)
        durable_forget(replicator, key);
    news_answer(replicator, token, REPLICATOR_SUCCESS, key);
}

void hold_fini(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    while (map_next(&replicator->held, &at, &item))
        free_hold(item.value);
    map_fini(&replicator->held);
}
