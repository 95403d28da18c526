/* Keys whose values were damaged on the disk (behaviour 13.10): what is left of each is held, and shown to nobody, until another
 * member's value has come, the key is deleted, or it is released. The table of keys has none of them meanwhile, so what makes a
 * replica that lacks a key ask for it does the same here. */
#include "base/check.h"
#include "base/limits.h"
#include "ddata/replicator_inside.h"

void replicator_hold(struct replicator *replicator, uint64_t now,
                     struct slice key, struct slice bytes)
{
    struct buf *left;

    (void)now;
    if (replicator->has_ended || key_is_held(replicator, key))
        return;
    check(replicator->is_loading && !entry_find(replicator, key));
    left = mem_alloc(sizeof *left);
    buf_put_slice(left, bytes);
    (void)map_put(&replicator->held, key, left); /* there was none */
}

bool key_is_held(const struct replicator *replicator, struct slice key)
{
    return replicator->held.count && map_get(&replicator->held, key);
}

bool replicator_is_held(const struct replicator *replicator, struct slice key)
{
    return key_is_held(replicator, key);
}

static void free_left(struct buf *left)
{
    if (left)
        buf_fini(left);
    mem_free(left);
}

void held_drop(struct replicator *replicator, struct slice key)
{
    free_left(map_take(&replicator->held, key));
}

/* What is left becomes, or is merged into, the entry. False: it cannot; it is held still. */
static bool restore(struct replicator *replicator, struct slice key)
{
    const struct buf *left = map_get(&replicator->held, key);
    struct envelope envelope = { 0 };
    const struct entry *entry;

    if (!envelope_decode(buf_slice(left), &envelope)) {
        replicator->counters.unloaded++;
        return true; /* it was written so: nothing is left of it */
    }
    entry = entry_merge(replicator, key, &envelope, left->size);
    envelope_fini(&envelope);
    return entry != NULL;
}

void held_join(struct replicator *replicator, const struct entry *entry)
{
    const struct buf *left;

    if (!key_is_held(replicator, entry->key))
        return;
    left = map_get(&replicator->held, entry->key);
    if (left->size)
        (void)restore(replicator, entry->key); /* of another type: what came stands */
    held_drop(replicator, entry->key);
    trace_put(replicator->trace, TRACE_INFO, "ddata",
              "a durable key that was damaged is served again: another "
              "member's value came key=\"%.*s\"",
              (int)entry->key.size, (const char *)entry->key.data);
}

void command_release(struct replicator *replicator, uint64_t token,
                     struct slice key)
{
    struct storing storing = { .purpose = STORE_FOR_COMMAND, .id = token };
    const struct buf *left = map_get(&replicator->held, key);
    struct entry *entry;

    if (left && left->size &&
        (replicator->storing.count >= REPLICATOR_STORES_MAX ||
         !restore(replicator, key))) {
        replicator->counters.refused++;
        news_answer(replicator, token, REPLICATOR_FULL, key);
        return;
    }
    if (left)
        trace_put(replicator->trace, TRACE_WARNING, "ddata",
                  "a durable key that was damaged is released: what is left "
                  "of it is served key=\"%.*s\"",
                  (int)key.size, (const char *)key.data);
    entry = entry_find(replicator, key);
    if (left && entry && entry->is_durable) {
        held_drop(replicator, key);
        check(store_entry(replicator, entry, &storing));
        return;
    }
    if (left && !entry)
        store_forget(replicator, key);
    held_drop(replicator, key);
    news_answer(replicator, token, REPLICATOR_SUCCESS, key);
}

void held_fini(struct replicator *replicator)
{
    struct map_entry item;
    uint32_t at = 0;

    while (map_next(&replicator->held, &at, &item))
        free_left(item.value);
    map_fini(&replicator->held);
}
