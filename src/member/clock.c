/* Implements vector clocks as sorted arrays. Comparing and merging walk two of them in parallel. */
#include "member/clock.h"

#include <string.h>

#include "base/sorted.h"

#define HALF (CLOCK_KEY_SIZE / 2)

/* As memcmp, but inlined: a search of a thousand keys does little else. */
static int order_of_half(const uint8_t *left, const uint8_t *right)
{
    uint64_t a = 0, b = 0;

    _Static_assert(HALF == sizeof a, "a key is two numbers");
    for (int i = 0; i < HALF; i++) {
        a = a << 8 | left[i];
        b = b << 8 | right[i];
    }
    return (a > b) - (a < b);
}

static int compare_keys(const struct clock_key *left,
                        const struct clock_key *right)
{
    int order = order_of_half(left->bytes, right->bytes);

    return order ? order
                 : order_of_half(left->bytes + HALF, right->bytes + HALF);
}

static int order_of_key(const void *entry, const void *key)
{
    return compare_keys(&((const struct clock_entry *)entry)->key, key);
}

/* Index of the first entry whose key is not smaller. */
static uint32_t lower_bound(const struct clock *clock,
                            const struct clock_key *key)
{
    return sorted_vec_place(&clock->entries, order_of_key, key);
}

/* The entry at an index; null at the end. */
static const struct clock_entry *entry_at(const struct clock *clock,
                                          uint32_t index)
{
    return index < clock->entries.count ? &clock->entries.items[index] : NULL;
}

/* Compares the positions of two parallel walks by key. */
static int compare_entries(const struct clock_entry *left,
                           const struct clock_entry *right)
{
    if (!left || !right)
        return left ? -1 : 1;
    return compare_keys(&left->key, &right->key);
}

static struct clock_entry *find(const struct clock *clock,
                                const struct clock_key *key)
{
    uint32_t at = lower_bound(clock, key);

    if (at == clock->entries.count ||
        compare_keys(&clock->entries.items[at].key, key))
        return NULL;
    return &clock->entries.items[at];
}

void clock_fini(struct clock *clock)
{
    vec_fini(&clock->entries);
}

uint32_t clock_index(const struct clock *clock, const struct clock_key *key)
{
    const struct clock_entry *entry = find(clock, key);

    return entry ? (uint32_t)(entry - clock->entries.items) : UINT32_MAX;
}

void clock_keep(struct clock *clock, const bool *flags)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < clock->entries.count; i++)
        if (flags[i])
            clock->entries.items[kept++] = clock->entries.items[i];
    clock->entries.count = kept;
}

int64_t clock_get(const struct clock *clock, const struct clock_key *key)
{
    const struct clock_entry *entry = find(clock, key);

    return entry ? entry->count : 0;
}

bool clock_add(struct clock *clock, const struct clock_key *key, int64_t count)
{
    uint32_t at = lower_bound(clock, key);
    struct clock_entry entry = { *key, count };

    if (at < clock->entries.count &&
        !compare_keys(&clock->entries.items[at].key, key))
        return false;
    vec_push(&clock->entries, entry);
    memmove(&clock->entries.items[at + 1], &clock->entries.items[at],
            (clock->entries.count - 1 - at) * sizeof entry);
    clock->entries.items[at] = entry;
    return true;
}

void clock_increment(struct clock *clock, const struct clock_key *key)
{
    struct clock_entry *entry = find(clock, key);

    if (entry)
        entry->count++;
    else
        check(clock_add(clock, key, 1));
}

enum clock_order clock_compare(const struct clock *left,
                               const struct clock *right)
{
    bool before = false;
    bool after = false;
    uint32_t l = 0;
    uint32_t r = 0;

    while (l < left->entries.count || r < right->entries.count) {
        const struct clock_entry *a = entry_at(left, l);
        const struct clock_entry *b = entry_at(right, r);
        int order = compare_entries(a, b);

        if (order < 0) {
            after = true;
        } else if (order > 0) {
            before = true;
        } else {
            before = before || a->count < b->count;
            after = after || a->count > b->count;
        }
        l += order <= 0;
        r += order >= 0;
        if (before && after)
            return CLOCK_CONCURRENT;
    }
    return before ? CLOCK_BEFORE : after ? CLOCK_AFTER : CLOCK_SAME;
}

void clock_merge(struct clock *result, const struct clock *left,
                 const struct clock *right)
{
    uint32_t l = 0;
    uint32_t r = 0;

    check(result != left && result != right);
    result->entries.count = 0;
    while (l < left->entries.count || r < right->entries.count) {
        const struct clock_entry *a = entry_at(left, l);
        const struct clock_entry *b = entry_at(right, r);
        int order = compare_entries(a, b);
        struct clock_entry entry = order <= 0 ? *a : *b;

        if (order == 0 && b->count > a->count)
            entry.count = b->count;
        vec_push(&result->entries, entry);
        l += order <= 0;
        r += order >= 0;
    }
}
