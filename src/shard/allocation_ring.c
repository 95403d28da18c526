/* Implements the ring with the hashes of Akka's ConsistentHash and MurmurHash. */
#include "shard/allocation_ring.h"

#include "base/check.h"
#include "base/sort.h"
#include "base/sorted.h"
#include "shard/shard_id.h"

#define POINTS_OF_REGION 10 /* virtualNodesFactor */

/* Constants of akka.routing.MurmurHash, a draft of MurmurHash 3. */
#define VISIBLE_MAGIC UINT32_C(0x971e137b)
#define HIDDEN_MAGIC_A UINT32_C(0x95543787)
#define HIDDEN_MAGIC_B UINT32_C(0x2ad7eb25)
#define VISIBLE_MIXER UINT32_C(0x52dce729)
#define HIDDEN_MIXER_A UINT32_C(0x7b7d159c)
#define HIDDEN_MIXER_B UINT32_C(0x6bce6396)
#define FINAL_MIXER_1 UINT32_C(0x85ebca6b)
#define FINAL_MIXER_2 UINT32_C(0xc2b2ae35)
#define SEED_STRING UINT32_C(0xf7ca7fd2)

static uint32_t rotated(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

static uint32_t extended(uint32_t hash, uint32_t value, uint32_t a, uint32_t b)
{
    return (hash ^ rotated(value * a, 11) * b) * 3 + VISIBLE_MIXER;
}

static uint32_t finalized(uint32_t hash)
{
    hash ^= hash >> 16;
    hash *= FINAL_MIXER_1;
    hash ^= hash >> 13;
    hash *= FINAL_MIXER_2;
    return hash ^ hash >> 16;
}

/* The text is ASCII: an address, or the number of a shard. */
static uint32_t hash_of(struct slice text)
{
    uint32_t hash = (uint32_t)text.size * SEED_STRING ^ VISIBLE_MAGIC;
    uint32_t a = HIDDEN_MAGIC_A;
    uint32_t b = HIDDEN_MAGIC_B;
    size_t at = 0;

    for (; at + 1 < text.size; at += 2) {
        uint32_t pair = (uint32_t)text.data[at] << 16;

        hash = extended(hash, pair + text.data[at + 1], a, b);
        a = a * 5 + HIDDEN_MIXER_A;
        b = b * 5 + HIDDEN_MIXER_B;
    }
    if (at < text.size)
        hash = extended(hash, text.data[at], a, b);
    return finalized(hash);
}

static uint32_t point_of(uint32_t region_hash, uint32_t point)
{
    return finalized(extended(region_hash ^ VISIBLE_MAGIC, point,
                              HIDDEN_MAGIC_A, HIDDEN_MAGIC_B));
}

void allocation_ring_fini(struct allocation_ring *ring)
{
    vec_fini(&ring->points);
    vec_fini(&ring->homes);
}

static int by_hash(const void *left, const void *right)
{
    const struct allocation_point *one = left;
    const struct allocation_point *other = right;

    return one->hash < other->hash ? -1 : one->hash > other->hash;
}

void allocation_ring_make(struct allocation_ring *ring,
                          const struct slice *names, uint32_t count)
{
    uint32_t kept = 0;

    ring->points.count = ring->homes.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t hash = hash_of(names[i]);

        for (uint32_t j = 1; j <= POINTS_OF_REGION; j++)
            vec_push(&ring->points, ((struct allocation_point){
                                        (int32_t)point_of(hash, j), i }));
    }
    if (!ring->points.count)
        return;
    sort_stable(ring->points.items, ring->points.count,
                sizeof *ring->points.items, by_hash);
    for (uint32_t i = 1; i < ring->points.count; i++) {
        kept += ring->points.items[i].hash != ring->points.items[kept].hash;
        ring->points.items[kept] = ring->points.items[i];
    }
    ring->points.count = kept + 1;
}

static int hash_order(const void *item, const void *key)
{
    const struct allocation_point *point = item;
    int32_t hash = *(const int32_t *)key;

    return point->hash < hash ? -1 : point->hash > hash;
}

/* Returns the first point that is not below the hash, or the first of all. */
static uint32_t point_for(const struct allocation_ring *ring,
                          struct slice shard)
{
    int32_t hash = (int32_t)hash_of(shard);
    uint32_t at = sorted_vec_place(&ring->points, hash_order, &hash);

    check(ring->points.count > 0);
    return at < ring->points.count ? at : 0;
}

void allocation_ring_bound(struct allocation_ring *ring, uint32_t count,
                           uint32_t shards, double bound)
{
    uint32_t *room = mem_alloc(count * sizeof *room);
    double part = bound * (double)shards / (double)count;
    uint32_t most = part < (double)shards ? (uint32_t)part : shards;

    most += (double)most < part && most < shards;
    for (uint32_t i = 0; i < count; i++)
        room[i] = most;
    ring->homes.count = 0;
    for (uint32_t i = 0; i < shards; i++) {
        char text[SHARD_TEXT_MAX];
        uint32_t at = point_for(ring, shard_text((int32_t)i, text));

        while (!room[ring->points.items[at].region])
            at = at + 1 < ring->points.count ? at + 1 : 0;
        room[ring->points.items[at].region]--;
        vec_push(&ring->homes, ring->points.items[at].region);
    }
    mem_free(room);
}

uint32_t allocation_ring_find(const struct allocation_ring *ring,
                              struct slice shard)
{
    int32_t number;

    if (ring->homes.count && shard_parse(shard, &number) && number >= 0 &&
        (uint32_t)number < ring->homes.count)
        return ring->homes.items[number];
    return ring->points.items[point_for(ring, shard)].region;
}

uint32_t allocation_ring_rebalance(const struct allocation_ring *ring,
                                   const struct allocation_region *regions,
                                   uint32_t count, uint32_t limit,
                                   uint32_t *chosen)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < regions[i].shard_count; j++) {
            const struct allocation_shard *shard = &regions[i].shards[j];

            if (limit && found == limit)
                return found;
            if (!shard->is_moving && allocation_ring_find(ring, shard->id) != i)
                chosen[found++] = shard->shard;
        }
    }
    return found;
}
