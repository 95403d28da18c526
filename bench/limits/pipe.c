/* Measures the minimal work of a sharded tell. See limits.h. */
#include "limits.h"

#include <stdlib.h>
#include <string.h>

struct note {
    struct note *next;
    uint16_t size, kind;
    uint32_t tag;
    uint8_t body[112];
};

struct entity {
    struct note *first, *last;
    struct entity *queued;
    uint64_t state;
    uint32_t hash;
    uint8_t id_size, scheduled;
    char id[18];
};

static struct entity *entities;
static uint32_t *table;
static uint32_t table_size;
static struct note *notes;
static struct entity *queue_first, *queue_last;
static volatile uint64_t sum;
static limit_answer answer;

uint32_t limit_hash(const char *id, int size)
{
    uint64_t h = UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)size;
    uint64_t x = 0;

    while (size >= 8) {
        memcpy(&x, id, 8);
        h = (h ^ x) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
        id += 8;
        size -= 8;
    }
    x = 0;
    memcpy(&x, id, (size_t)size);
    h = (h ^ x) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32);
}

int limit_id_put(char *id, uint32_t number)
{
    char digits[12];
    int count = 0;

    memcpy(id, "user-", 5);
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    for (int i = 0; i < count; i++)
        id[5 + i] = digits[count - 1 - i];
    return 5 + count;
}

static void setup(uint32_t count)
{
    entities = aligned_alloc(64, (count + 1ul) * sizeof *entities);
    memset(entities, 0, (count + 1ul) * sizeof *entities);
    table_size = 64;
    while (table_size < count * 2)
        table_size *= 2;
    table = calloc(table_size, sizeof *table);
    for (uint32_t i = 1; i <= count; i++) {
        struct entity *entity = &entities[i];
        uint32_t at;

        entity->id_size = (uint8_t)limit_id_put(entity->id, i);
        entity->hash = limit_hash(entity->id, entity->id_size);
        at = entity->hash & (table_size - 1);
        while (table[at])
            at = (at + 1) & (table_size - 1);
        table[at] = i;
    }
}

static inline struct entity *find(const char *id, int size, uint32_t hash)
{
    for (uint32_t at = hash & (table_size - 1);;
         at = (at + 1) & (table_size - 1)) {
        struct entity *entity = &entities[table[at]];

        if (entity->hash == hash && entity->id_size == size &&
            memcmp(entity->id, id, (size_t)size) == 0)
            return entity;
    }
}

static inline struct note *note_new(void)
{
    struct note *note = notes;

    if (!note) {
        for (int i = 0; i < 512; i++) {
            note = aligned_alloc(64, sizeof *note);
            note->next = notes;
            notes = note;
        }
        note = notes;
    }
    notes = note->next;
    return note;
}

static inline void deliver(uint32_t hash, const char *id, int id_size,
                           const uint8_t *body, uint16_t size, uint16_t kind,
                           uint32_t tag)
{
    struct entity *entity = find(id, id_size, hash);
    struct note *note = note_new();

    note->next = NULL;
    note->size = size;
    note->kind = kind;
    note->tag = tag;
    memcpy(note->body, body, size);
    if (entity->first)
        entity->last->next = note;
    else
        entity->first = note;
    entity->last = note;
    if (!entity->scheduled) {
        entity->scheduled = 1;
        entity->queued = NULL;
        if (queue_last)
            queue_last->queued = entity;
        else
            queue_first = entity;
        queue_last = entity;
    }
}

static inline void run_all(void)
{
    while (queue_first) {
        struct entity *entity = queue_first;
        struct note *note = entity->first;

        queue_first = entity->queued;
        if (!queue_first)
            queue_last = NULL;
        entity->first = NULL;
        while (note) {
            struct note *next = note->next;

            entity->state++;
            sum += note->body[3];
            if (note->kind)
                answer(note->kind, note->tag, note->body, note->size);
            note->next = notes;
            notes = note;
            note = next;
        }
        entity->scheduled = 0;
    }
}

void limit_entities_open(uint32_t count, limit_answer answer_to)
{
    setup(count);
    answer = answer_to;
}

void limit_entities_tell(const char *id, int id_size, const uint8_t *body,
                         uint16_t size, uint16_t kind, uint32_t tag)
{
    deliver(limit_hash(id, id_size), id, id_size, body, size, kind, tag);
}

void limit_entities_run(void)
{
    run_all();
}

double limit_pipe(int batch, uint32_t count, uint64_t messages)
{
    uint64_t random = UINT64_C(88172645463325252);
    static char ids[100][24];
    int sizes[100];
    uint32_t hashes[100];
    uint8_t body[100] = { 1 };
    uint64_t begin;
    double seconds;

    setup(count);
    begin = bench_now();
    for (uint64_t done = 0; done < messages; done += 100) {
        for (int i = 0; i < 100; i++) {
            uint32_t number =
                1 + (uint32_t)((bench_random(&random) >> 11) % count);

            sizes[i] = limit_id_put(ids[i], number);
            hashes[i] = limit_hash(ids[i], sizes[i]);
            if (batch)
                __builtin_prefetch(&table[hashes[i] & (table_size - 1)]);
            else
                deliver(hashes[i], ids[i], sizes[i], body, 100, 0, 0);
        }
        if (batch) {
            for (int i = 0; i < 100; i++)
                __builtin_prefetch(
                    &entities[table[hashes[i] & (table_size - 1)]], 1);
            for (int i = 0; i < 100; i++)
                deliver(hashes[i], ids[i], sizes[i], body, 100, 0, 0);
        }
        run_all();
    }
    seconds = (double)(bench_now() - begin) / 1e9;
    free(entities);
    free(table);
    return (double)messages / seconds / 1e6;
}
