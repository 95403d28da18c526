/* Keeps vector clocks in order, and compares and merges them in one pass. */
#include "kvstore/history.h"

#include "base/limits.h"
#include "base/sorted.h"

void history_fini(struct history *history)
{
    vec_fini(&history->entries);
}

void history_copy(struct history *to, const struct history *from)
{
    to->entries.count = 0;
    for (uint32_t i = 0; i < from->entries.count; i++)
        vec_push(&to->entries, from->entries.items[i]);
}

static int coordinator_compare(const struct dot *left, const struct dot *right)
{
    if (left->broker != right->broker)
        return left->broker < right->broker ? -1 : 1;
    if (left->epoch != right->epoch)
        return left->epoch < right->epoch ? -1 : 1;
    return 0;
}

int dot_compare(const struct dot *left, const struct dot *right)
{
    int order = coordinator_compare(left, right);

    if (!order && left->number != right->number)
        order = left->number < right->number ? -1 : 1;
    return order;
}

static int entry_order(const void *item, const void *key)
{
    const struct history_entry *entry = item;

    return coordinator_compare(&entry->dot, key);
}

/* Returns a coordinator's entry, or null; *place is its position. */
static struct history_entry *find(const struct history *history,
                                  const struct dot *dot, uint32_t *place)
{
    *place = sorted_vec_place(&history->entries, entry_order, dot);
    if (*place < history->entries.count &&
        !coordinator_compare(&history->entries.items[*place].dot, dot))
        return &history->entries.items[*place];
    return NULL;
}

bool history_has(const struct history *history, const struct dot *dot)
{
    uint32_t place;
    const struct history_entry *entry = find(history, dot, &place);

    return entry && entry->dot.number >= dot->number;
}

bool history_knows(const struct history *history, const struct dot *dot)
{
    uint32_t place;

    return find(history, dot, &place) != NULL;
}

void history_add(struct history *history, const struct dot *dot,
                 uint64_t wall_s)
{
    struct history_entry added = { *dot, wall_s };
    uint32_t place;
    struct history_entry *entry = find(history, dot, &place);

    if (entry) {
        if (entry->dot.number < dot->number)
            entry->dot.number = dot->number;
        if (entry->wall_s < wall_s)
            entry->wall_s = wall_s;
        return;
    }
    vec_push(&history->entries, added);
    for (uint32_t i = history->entries.count - 1; i > place; i--)
        history->entries.items[i] = history->entries.items[i - 1];
    history->entries.items[place] = added;
}

void history_merge(struct history *to, const struct history *from)
{
    for (uint32_t i = 0; i < from->entries.count; i++)
        history_add(to, &from->entries.items[i].dot,
                    from->entries.items[i].wall_s);
}

uint32_t history_union(const struct history *left, const struct history *right)
{
    uint32_t count = left->entries.count, place;

    for (uint32_t i = 0; i < right->entries.count; i++)
        count += !find(left, &right->entries.items[i].dot, &place);
    return count;
}

static bool is_part(const struct history *part, const struct history *whole)
{
    for (uint32_t i = 0; i < part->entries.count; i++)
        if (!history_has(whole, &part->entries.items[i].dot))
            return false;
    return true;
}

enum history_order history_compare(const struct history *left,
                                   const struct history *right)
{
    bool before = is_part(left, right);
    bool after = is_part(right, left);

    if (before && after)
        return HISTORY_SAME;
    if (before)
        return HISTORY_BEFORE;
    return after ? HISTORY_AFTER : HISTORY_CONCURRENT;
}

static bool is_kept(const struct history_entry *entry, const struct dot *kept,
                    uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!coordinator_compare(&entry->dot, &kept[i]))
            return true;
    return false;
}

/* Returns the first of equally old entries, the same on all replicas; the count of entries if all
 * are kept. */
static uint32_t oldest(const struct history *history, const struct dot *kept,
                       uint32_t count)
{
    const struct history_entry *items = history->entries.items;
    uint32_t found = history->entries.count;

    for (uint32_t i = 0; i < history->entries.count; i++)
        if ((found == history->entries.count ||
             items[i].wall_s < items[found].wall_s) &&
            !is_kept(&items[i], kept, count))
            found = i;
    return found;
}

void history_prune(struct history *history, uint64_t wall_s,
                   const struct dot *kept, uint32_t count)
{
    while (history->entries.count > KVSTORE_HISTORY_SMALL) {
        uint32_t entries = history->entries.count;
        uint32_t index = oldest(history, kept, count);
        uint64_t at, age;

        if (index == entries)
            return;
        at = history->entries.items[index].wall_s;
        age = wall_s > at ? wall_s - at : 0;
        if (entries <= KVSTORE_HISTORY_MAX &&
            (age < KVSTORE_HISTORY_YOUNG_S ||
             (entries <= KVSTORE_HISTORY_BIG && age <= KVSTORE_HISTORY_OLD_S)))
            return;
        vec_remove(&history->entries, index);
    }
}

void history_put(const struct history *history, struct buf *buf)
{
    buf_put_varint(buf, history->entries.count);
    for (uint32_t i = 0; i < history->entries.count; i++) {
        const struct history_entry *entry = &history->entries.items[i];

        buf_put_u64(buf, entry->dot.broker);
        buf_put_varint(buf, entry->dot.epoch);
        buf_put_varint(buf, entry->dot.number);
        buf_put_varint(buf, entry->wall_s);
    }
}

bool history_get(struct cursor *cursor, struct history *history)
{
    uint64_t count = cursor_varint(cursor);

    history->entries.count = 0;
    if (cursor->failed || count > KVSTORE_HISTORY_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct history_entry entry = { .dot.broker = cursor_u64(cursor) };
        uint64_t epoch = cursor_varint(cursor);

        entry.dot.epoch = (uint32_t)epoch;
        entry.dot.number = cursor_varint(cursor);
        entry.wall_s = cursor_varint(cursor);
        if (cursor->failed || epoch > UINT32_MAX || !entry.dot.number ||
            (i && coordinator_compare(&history->entries.items[i - 1].dot,
                                      &entry.dot) >= 0))
            return false;
        vec_push(&history->entries, entry);
    }
    return true;
}
