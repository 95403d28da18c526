/* Implements a ring of sorted points with binary search. */
#include "kvstore/hashring.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/sort.h"
#include "base/sorted.h"

void hashring_fini(struct hashring *ring)
{
    vec_fini(&ring->points);
    ring->members = 0;
}

static int by_place(const void *left, const void *right)
{
    const struct hashring_point *a = left;
    const struct hashring_point *b = right;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->member < b->member ? -1 : a->member > b->member;
}

void hashring_make(struct hashring *ring, const struct slice *names,
                   uint32_t count)
{
    struct buf text = { 0 };

    ring->points.count = 0;
    ring->members = count;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t place = 0; place < KVSTORE_POINTS; place++) {
            struct hashring_point point = { .member = i };

            buf_clear(&text);
            buf_put_slice(&text, names[i]);
            buf_put_u32(&text, place);
            point.hash = hash_murmur2(buf_slice(&text));
            vec_push(&ring->points, point);
        }
    }
    buf_fini(&text);
    if (count)
        sort_stable(ring->points.items, ring->points.count,
                    sizeof *ring->points.items, by_place);
}

static int point_order(const void *item, const void *key)
{
    const struct hashring_point *point = item;
    uint32_t hash = *(const uint32_t *)key;

    return point->hash < hash ? -1 : point->hash > hash;
}

static bool has(const uint32_t *members, uint32_t count, uint32_t member)
{
    for (uint32_t i = 0; i < count; i++)
        if (members[i] == member)
            return true;
    return false;
}

uint32_t hashring_find(const struct hashring *ring, struct slice key,
                       uint32_t wanted, uint32_t *members)
{
    uint32_t hash = hash_murmur2(key);
    uint32_t at = sorted_vec_place(&ring->points, point_order, &hash);
    uint32_t count = 0;

    if (wanted > ring->members)
        wanted = ring->members;
    for (uint32_t i = 0; i < ring->points.count && count < wanted; i++) {
        uint32_t index = (at + i) % ring->points.count;
        uint32_t member = ring->points.items[index].member;

        if (!has(members, count, member))
            members[count++] = member;
    }
    return count;
}
