/* Measures the smallest entity that can be found, run and passivated: 48 bytes and a slot of a
 * table. See limits.h. */
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct small {
    void *mailbox;
    void *state;
    uint32_t older, newer; /* least recently used list */
    uint32_t hash;
    uint8_t id_size, flags;
    uint16_t shard;
    char id[16];
};

#define BLOCK (1u << 20)

static uint32_t hash_of(const char *id, int size)
{
    uint32_t h = 2166136261u;

    for (int i = 0; i < size; i++)
        h = (h ^ (uint8_t)id[i]) * 16777619u;
    h ^= h >> 15;
    h *= 0x85ebca6bu;
    return h ^ h >> 13;
}

static double make(uint32_t count, double *bytes)
{
    uint32_t each = BLOCK / sizeof(struct small);
    uint32_t size = 1;
    long before = bench_rss();
    uint64_t begin = bench_now();
    struct small **blocks = calloc(count / each + 2, sizeof *blocks);
    uint32_t *table;

    while (size < count / 4 * 5)
        size *= 2;
    table = calloc(size, sizeof *table);
    for (uint32_t i = 1; i <= count; i++) {
        char id[32];
        int id_size = snprintf(id, sizeof id, "user-%07u", i - 1);
        uint32_t hash = hash_of(id, id_size);
        uint32_t at = hash & (size - 1);
        struct small *entity;

        if (!blocks[i / each])
            blocks[i / each] = aligned_alloc(4096, BLOCK);
        entity = &blocks[i / each][i % each];
        memset(entity, 0, sizeof *entity);
        entity->hash = hash;
        entity->id_size = (uint8_t)id_size;
        memcpy(entity->id, id, 12);
        while (table[at])
            at = (at + 1) & (size - 1);
        table[at] = i;
    }
    *bytes = (double)(bench_rss() - before) / count;
    return (double)count / ((double)(bench_now() - begin) / 1e9) / 1e6;
}

double limit_entity_bytes(uint32_t entities)
{
    double bytes;

    (void)make(entities, &bytes); /* only the bytes are needed */
    return bytes;
}

double limit_entity_create(uint32_t entities)
{
    double bytes;

    return make(entities, &bytes);
}
