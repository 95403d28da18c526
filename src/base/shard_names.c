/* Implements the ids of shards: decimal texts, and a table of texts that threads share without
 * locks for readers. */
#include "base/shard_names.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <sherd/extractor.h>

#include "base/bound.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mark.h"

struct slice shard_text(int32_t shard, char text[SHARD_TEXT_MAX])
{
    int size = snprintf(text, SHARD_TEXT_MAX, "%d", (int)shard);
    return slice_of(text, (size_t)size);
}

bool shard_parse(struct slice text, int32_t *shard)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    size_t first = negative ? 1 : 0;
    int64_t value = 0;
    if (text.size <= first || text.size - first > 10)
        return false;
    for (size_t i = first; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (text.data[i] - '0');
    }
    /* One text for each number: no leading zero, no "-0". */
    if (text.data[first] == '0' && text.size > 1)
        return false;
    if (negative)
        value = -value;
    if (value < INT32_MIN || value > INT32_MAX)
        return false;
    *shard = (int32_t)value;
    return true;
}

/* ---- texts ---- */

struct shard_id {
    uint64_t hash;
    int32_t number;
    uint32_t size;
    char text[]; /* and a zero byte */
};

struct shard_names {
    uint32_t max;
    uint32_t mask;
    atomic_uint count;
    atomic_flag is_changing; /* held for a new text, once for each shard */
    _Atomic(struct shard_id *) *cells; /* open addressing; entries never leave */
    _Atomic(struct shard_id *) *by_number;
};

struct shard_names *shard_names_new(uint32_t max)
{
    struct shard_names *names = mem_alloc(sizeof *names);
    uint32_t cells = 2;

    check(max > 0 && max <= SHARDS_MAX);
    while (cells < 2 * max)
        cells *= 2;
    names->max = max;
    names->mask = cells - 1;
    atomic_init(&names->count, 0);
    atomic_flag_clear(&names->is_changing);
    names->cells = mem_alloc(cells * sizeof *names->cells);
    names->by_number = mem_alloc(max * sizeof *names->by_number);
    return names;
}

void shard_names_free(struct shard_names *names)
{
    if (!names)
        return;
    for (uint32_t i = 0; i < names->count; i++)
        mem_free(atomic_load(&names->by_number[i]));
    mem_free(names->cells);
    mem_free(names->by_number);
    mem_free(names);
}

/* Returns the text's entry; null, with the free cell in *at, if there is none. */
static struct shard_id *find(const struct shard_names *names, struct slice text,
                             uint64_t hash, uint32_t *at)
{
    for (*at = (uint32_t)hash & names->mask;; *at = (*at + 1) & names->mask) {
        struct shard_id *id = atomic_load_explicit(&names->cells[*at],
                                                   memory_order_acquire);

        if (!id || (id->hash == hash && id->size == text.size &&
                    memcmp(id->text, text.data, text.size) == 0))
            return id;
    }
}

static int32_t add(struct shard_names *names, struct slice text, uint64_t hash)
{
    struct shard_id *id = mem_alloc(sizeof *id + text.size + 1);
    struct shard_id *found;
    uint32_t count, at;
    int32_t number;

    id->hash = hash;
    id->size = (uint32_t)text.size;
    memcpy(id->text, text.data, text.size);
    while (atomic_flag_test_and_set_explicit(&names->is_changing, memory_order_acquire))
        ;
    count = atomic_load_explicit(&names->count, memory_order_relaxed);
    found = find(names, text, hash, &at);
    number = found ? found->number : count < names->max ? (int32_t)count : SHARD_NONE;
    if (!found && number != SHARD_NONE) {
        id->number = number;
        atomic_store_explicit(&names->by_number[count], id, memory_order_release);
        atomic_store_explicit(&names->cells[at], id, memory_order_release);
        atomic_store_explicit(&names->count, count + 1, memory_order_release);
        BOUNDED("different texts of a type's shards", count + 1, names->max);
        id = NULL;
    }
    atomic_flag_clear_explicit(&names->is_changing, memory_order_release);
    mem_free(id);
    return number;
}

int32_t shard_names_put(struct shard_names *names, struct slice text)
{
    uint64_t hash;
    struct shard_id *id;
    uint32_t at;

    if (!text.size || text.size > SHERD_SHARD_MAX)
        return SHARD_NONE;
    hash = hash_bytes(text);
    id = find(names, text, hash, &at);
    if (id)
        return id->number;
    if (shard_names_count(names) >= names->max) {
        REACHED("a type has too many different shards");
        return SHARD_NONE;
    }
    return text_is_valid(text) ? add(names, text, hash) : SHARD_NONE;
}

uint32_t shard_names_count(const struct shard_names *names)
{
    return atomic_load_explicit(&names->count, memory_order_acquire);
}

struct slice shard_name(const struct shard_names *names, int32_t shard,
                        char text[SHARD_TEXT_MAX])
{
    const struct shard_id *id;

    if (!names)
        return shard_text(shard, text);
    if (shard < 0 || (uint32_t)shard >= names->max)
        return slice_text("");
    id = atomic_load_explicit(&names->by_number[shard], memory_order_acquire);
    return id ? slice_of(id->text, id->size) : slice_text("");
}

bool shard_number(struct shard_names *names, struct slice id, int32_t *shard)
{
    if (!names)
        return shard_parse(id, shard);
    *shard = shard_names_put(names, id);
    return *shard != SHARD_NONE;
}
