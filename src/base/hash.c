/* Computes hashes: xxHash for tables; Java's String.hashCode and Kafka's murmur2 where shard ids
 * must agree with a JVM. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(struct slice bytes)
{
    return XXH3_64bits(bytes.data, bytes.size);
}

/* Reads one code point; an invalid byte gives U+FFFD and advances by one. */
static uint32_t code_point(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *p = *at;
    uint32_t lead = *p++;
    uint32_t point;
    unsigned more;

    *at = p;
    if (lead < 0x80)
        return lead;
    more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || (size_t)(end - p) < more)
        return 0xfffd;
    point = lead & (0x3fu >> more);
    for (unsigned i = 0; i < more; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0xfffd;
        point = point << 6 | (p[i] & 0x3f);
    }
    *at = p + more;
    return point;
}

static inline uint64_t load_u64(const uint8_t *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
           (uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 |
           (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;
}

/* Hashes eight characters below 128, the first in the lowest byte: pairs, then pairs of pairs, in
 * parallel. */
static inline uint32_t eight_java(uint64_t eight)
{
    uint64_t two = (eight & 0x00ff00ff00ff00ffu) * 31 +
                   (eight >> 8 & 0x00ff00ff00ff00ffu);
    uint64_t four = (two & 0x0000ffff0000ffffu) * 961 +
                    (two >> 16 & 0x0000ffff0000ffffu);

    return (uint32_t)four * 923521u + (uint32_t)(four >> 32);
}

int32_t hash_java(struct slice text)
{
    const uint8_t *at = text.data;
    const uint8_t *end = at ? at + text.size : at;
    uint32_t hash = 0;

    while (end - at >= 8) {
        uint64_t eight = load_u64(at);

        if (eight & 0x8080808080808080u)
            break;
        hash = hash * 2487512833u + eight_java(eight); /* 31^8, modulo 2^32 */
        at += 8;
    }
    /* Four at a time: h * 31^4 + a * 31^3 + b * 31^2 + c * 31 + d. */
    while (end - at >= 4) {
        uint32_t four;

        memcpy(&four, at, 4);
        if (four & 0x80808080u)
            break;
        hash = hash * 923521 + at[0] * 29791u + at[1] * 961u + at[2] * 31u +
               at[3];
        at += 4;
    }
    while (at < end) {
        const uint8_t *next = at; /* a copy, so that `at` stays in a register */
        uint32_t point;

        if (*at < 0x80) {
            hash = 31 * hash + *at++;
            continue;
        }
        point = code_point(&next, end);
        at = next;
        if (point >= 0x10000) { /* Java counts UTF-16 units: two surrogates. */
            hash = 31 * hash + (0xd7c0 + (point >> 10));
            point = 0xdc00 + (point & 0x3ff);
        }
        hash = 31 * hash + point;
    }
    return (int32_t)hash;
}

int32_t hash_shard(struct slice id, uint32_t shards)
{
    return hash_shard_of(hash_java(id), shards);
}

int32_t hash_shard_of(int32_t hash, uint32_t shards)
{
    if (hash < 0 && hash != INT32_MIN)
        hash = -hash;
    return hash % (int32_t)shards;
}

int32_t hash_murmur2_shard(struct slice id, uint32_t shards)
{
    return (int32_t)((hash_murmur2(id) & 0x7fffffff) % shards);
}

uint32_t hash_murmur2(struct slice bytes)
{
    const uint32_t m = 0x5bd1e995;
    uint32_t hash = 0x9747b28c ^ (uint32_t)bytes.size;
    const uint8_t *at = bytes.data;
    size_t left = bytes.size;

    for (; left >= 4; at += 4, left -= 4) {
        uint32_t word = (uint32_t)at[0] | (uint32_t)at[1] << 8 |
                        (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;

        word *= m;
        word ^= word >> 24;
        word *= m;
        hash = (hash * m) ^ word;
    }
    if (left == 3)
        hash ^= (uint32_t)at[2] << 16;
    if (left >= 2)
        hash ^= (uint32_t)at[1] << 8;
    if (left >= 1) {
        hash ^= at[0];
        hash *= m;
    }
    hash ^= hash >> 13;
    hash *= m;
    return hash ^ hash >> 15;
}
