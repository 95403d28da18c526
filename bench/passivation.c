/* Compares strategies of passivation with the best possible choice, and measures their cost: row 20.
 *
 * usage: passivation hits [DIR]    hit rates over traces; DIR may have gli.trace, multi3.trace,
 *                                  ps.trace and w106.trace
 *        passivation cost ENTITIES time and memory of one use, for each strategy
 *
 * The best choice (Belady) passivates the entity whose next use is the latest. Shards and regions are
 * those of Akka's simulator of passivation: a limit is divided among the shards that were used. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "actor/passivation/strategy.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/rng.h"

#define SHARDS_MAX_HERE 100u
#define STRATEGIES 8u

static const char *const names[STRATEGIES] = { "LRU", "SLRU",  "S4LRU", "MRU",
                                               "LFU", "LFUDA", "FS",    "HC" };
enum { LRU = 0, HC = 7 };

struct trace {
    char name[32];
    VEC(uint32_t) ids; /* of accesses; from 1 */
    VEC(uint32_t) hashes; /* by id */
    uint32_t shards;
};

/* ---- strategies ---- */

static struct passivation_settings settings_of(uint32_t which)
{
    struct passivation_settings settings = passivation_default;

    if (which >= 6) { /* FS is the default without hill climbing, HC the default */
        settings.climbs = which == HC;
        return settings;
    }
    memset(&settings.main, 0, sizeof settings.main);
    settings.window.policy = PASSIVATION_NONE;
    settings.has_filter = settings.climbs = false;
    settings.main.policy = which < 3    ? PASSIVATION_LEAST_RECENT
                           : which == 3 ? PASSIVATION_MOST_RECENT
                                        : PASSIVATION_LEAST_FREQUENT;
    settings.main.levels = which == 1 ? 2 : which == 2 ? 4 : 0;
    if (which == 1)
        settings.main = passivation_default.main;
    settings.main.is_aging = which == 5;
    return settings;
}

static uint32_t hash_of(const void *user, uint32_t slot)
{
    return ((const struct trace *)user)->hashes.items[slot];
}

static double hit_rate(const struct trace *trace, uint32_t which, uint32_t limit)
{
    struct passivation_settings settings = settings_of(which);
    struct ranks ranks = { .hash = hash_of, .user = trace };
    struct strategy *shards[SHARDS_MAX_HERE] = { 0 };
    uint32_t count = 0;
    uint64_t hits = 0;

    for (uint32_t i = 0; i < trace->ids.count; i++) {
        uint32_t id = trace->ids.items[i];
        uint32_t shard = (uint32_t)abs((int32_t)trace->hashes.items[id] % (int32_t)trace->shards);

        hits += ranks_have(&ranks, id);
        if (!shards[shard]) {
            count++;
            shards[shard] = strategy_new(&settings, &ranks, limit);
            for (uint32_t k = 0; k < trace->shards; k++)
                if (shards[k])
                    (void)strategy_set_limit(shards[k], limit / count);
        }
        (void)strategy_use(shards[shard], id);
    }
    for (uint32_t k = 0; k < trace->shards; k++)
        strategy_free(shards[k]);
    ranks_fini(&ranks);
    return (double)hits / trace->ids.count;
}

/* ---- the best choice ---- */

struct next_use {
    uint32_t at, id;
};

static void heap_push(struct next_use *heap, uint32_t *count, struct next_use item)
{
    uint32_t i = (*count)++;

    for (; i > 0 && heap[(i - 1) / 2].at < item.at; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = item;
}

static struct next_use heap_pop(struct next_use *heap, uint32_t *count)
{
    struct next_use top = heap[0], last = heap[--*count];
    uint32_t i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= *count)
            break;
        child += child + 1 < *count && heap[child + 1].at > heap[child].at;
        if (heap[child].at <= last.at)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

static double best_rate(const struct trace *trace, uint32_t limit)
{
    uint32_t count = trace->ids.count, ids = trace->hashes.count;
    uint32_t *next = mem_alloc(count * sizeof *next); /* use of the same id; UINT32_MAX: none */
    uint32_t *at = mem_alloc(ids * sizeof *at);       /* next use of an active id; 0: not active */
    struct next_use *heap = mem_alloc((count + 1) * sizeof *heap);
    uint32_t heaped = 0, active = 0;
    uint64_t hits = 0;

    memset(at, 0xff, ids * sizeof *at);
    for (uint32_t i = count; i-- > 0;) {
        next[i] = at[trace->ids.items[i]];
        at[trace->ids.items[i]] = i;
    }
    memset(at, 0, ids * sizeof *at);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = trace->ids.items[i];

        if (at[id]) {
            hits++;
        } else {
            active++;
            while (active > limit) {
                struct next_use item = heap_pop(heap, &heaped);

                if (at[item.id] != item.at)
                    continue; /* it was used since */
                at[item.id] = 0;
                active--;
            }
        }
        at[id] = next[i];
        heap_push(heap, &heaped, (struct next_use){ next[i], id });
    }
    mem_free(next);
    mem_free(at);
    mem_free(heap);
    return (double)hits / count;
}

/* ---- traces ---- */

static uint32_t java_hash(uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return (uint32_t)hash_java(slice_text(text));
}

static void begin(struct trace *trace, const char *name, uint32_t shards)
{
    memset(trace, 0, sizeof *trace);
    (void)snprintf(trace->name, sizeof trace->name, "%s", name);
    trace->shards = shards;
    vec_push(&trace->hashes, 0);
}

/* Adds an access to a number of a synthetic trace. */
static void access_to(struct trace *trace, uint32_t number)
{
    while (trace->hashes.count <= number + 1) {
        uint32_t hash = java_hash(trace->hashes.count - 1);

        vec_push(&trace->hashes, hash);
    }
    vec_push(&trace->ids, number + 1);
}

/* Draws ranks 0 to count - 1 with probabilities of 1 / (rank + 1) ^ 0.99, from the sums of them. */
struct zipf {
    double *sums;
    uint32_t count;
    struct rng rng;
};

static void zipf_begin(struct zipf *zipf, uint32_t count)
{
    double sum = 0;

    zipf->count = count;
    zipf->sums = mem_alloc(count * sizeof *zipf->sums);
    for (uint32_t i = 0; i < count; i++)
        zipf->sums[i] = sum += pow(i + 1, -0.99);
    rng_init(&zipf->rng, 1);
}

static uint32_t zipf_draw(struct zipf *zipf)
{
    double wanted = (double)(rng_next(&zipf->rng) >> 11) * 0x1p-53 * zipf->sums[zipf->count - 1];
    uint32_t low = 0, high = zipf->count - 1;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (zipf->sums[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#define IDS 100000u
#define ACCESSES 1000000u

static void make_popular(struct trace *trace)
{
    struct zipf zipf;

    zipf_begin(&zipf, IDS);
    begin(trace, "Zipf", 10);
    for (uint32_t i = 0; i < ACCESSES; i++)
        access_to(trace, zipf_draw(&zipf));
    mem_free(zipf.sums);
}

/* Other ids become popular, ten times. */
static void make_shifting(struct trace *trace)
{
    struct zipf zipf;

    zipf_begin(&zipf, IDS);
    begin(trace, "shifting Zipf", 10);
    for (uint32_t i = 0; i < ACCESSES; i++)
        access_to(trace, (zipf_draw(&zipf) + i / (ACCESSES / 10) * 7919) % (2 * IDS));
    mem_free(zipf.sums);
}

/* Each tenth of a thousand accesses goes over ids that are used once. */
static void make_scans(struct trace *trace)
{
    struct zipf zipf;
    uint32_t fresh = IDS;

    zipf_begin(&zipf, IDS);
    begin(trace, "Zipf with scans", 10);
    for (uint32_t i = 0; i < ACCESSES; i++)
        access_to(trace, i % 10000 < 3000 ? fresh++ : zipf_draw(&zipf));
    mem_free(zipf.sums);
}

static void make_loop(struct trace *trace)
{
    begin(trace, "loop", 10);
    for (uint32_t i = 0; i < ACCESSES; i++)
        access_to(trace, i % IDS);
}

static int by_number(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;

    return one < other ? -1 : one > other;
}

/* Numbers the ids of a file. */
static void compress(struct trace *trace, uint64_t *numbers, uint32_t count)
{
    uint64_t *sorted = mem_copy(numbers, count * sizeof *sorted);
    uint32_t kinds = 0;

    qsort(sorted, count, sizeof *sorted, by_number);
    for (uint32_t i = 0; i < count; i++)
        if (!kinds || sorted[i] != sorted[kinds - 1])
            sorted[kinds++] = sorted[i];
    for (uint32_t i = 0; i < kinds; i++)
        vec_push(&trace->hashes, java_hash(sorted[i]));
    for (uint32_t i = 0; i < count; i++)
        vec_push(&trace->ids,
                 (uint32_t)((uint64_t *)bsearch(&numbers[i], sorted, kinds, sizeof *sorted,
                                                by_number) -
                            sorted) +
                     1);
    mem_free(sorted);
}

/* Reads one decimal id from each line, or big-endian 32-bit ids. False: there is no such file. */
static int read_file(struct trace *trace, const char *folder, const char *file, int is_binary,
                     uint32_t shards)
{
    VEC(uint64_t) numbers = { 0 };
    char path[512], line[64];
    unsigned char word[4];
    FILE *input;

    (void)snprintf(path, sizeof path, "%s/%s.trace", folder, file);
    input = fopen(path, is_binary ? "rb" : "r");
    if (!input)
        return 0;
    begin(trace, file, shards);
    if (is_binary)
        while (fread(word, sizeof word, 1, input) == 1)
            vec_push(&numbers, (uint64_t)word[0] << 24 | word[1] << 16 | word[2] << 8 | word[3]);
    else
        while (fgets(line, sizeof line, input))
            if (line[0] >= '0' && line[0] <= '9')
                vec_push(&numbers, strtoull(line, NULL, 10));
    (void)fclose(input);
    compress(trace, numbers.items, numbers.count);
    vec_fini(&numbers);
    return 1;
}

static void trace_end(struct trace *trace)
{
    vec_fini(&trace->ids);
    vec_fini(&trace->hashes);
}

/* ---- hits ---- */

/* The default strategy over several traces. */
struct total {
    double to_best; /* sum of the parts of the best rate */
    double to_lru;  /* least difference to LRU, in points */
    uint32_t count;
};

static void compare(const struct trace *trace, const uint32_t *limits, uint32_t count,
                    struct total *total)
{
    for (uint32_t i = 0; i < count; i++) {
        double best = best_rate(trace, limits[i]), rates[STRATEGIES];

        printf("| %s, %u | %.2f |", trace->name, limits[i], 100 * best);
        for (uint32_t which = 0; which < STRATEGIES; which++) {
            rates[which] = hit_rate(trace, which, limits[i]);
            printf(" %.2f |", 100 * rates[which]);
        }
        printf(" %.3f |\n", rates[HC] / best);
        (void)fflush(stdout);
        total->to_best += rates[HC] / best;
        if (total->count == 0 || 100 * (rates[HC] - rates[LRU]) < total->to_lru)
            total->to_lru = 100 * (rates[HC] - rates[LRU]);
        total->count++;
    }
}

static void hits(const char *folder)
{
    static const uint32_t synthetic[] = { 1000, 10000 };
    static const uint32_t gli[] = { 250, 500, 1000, 1500 }, multi3[] = { 100, 200, 400, 800, 1600 };
    static const uint32_t ps[] = { 125, 250, 500, 1000 }, w106[] = { 50, 100, 200, 500 };
    static void (*const makers[])(struct trace *) = { make_popular, make_shifting, make_scans,
                                                      make_loop };
    static const struct {
        const char *file;
        int is_binary;
        uint32_t shards, count;
        const uint32_t *limits;
    } files[] = { { "gli", 0, 10, 4, gli },
                  { "multi3", 0, 10, 5, multi3 },
                  { "ps", 0, 10, 4, ps },
                  { "w106", 1, 5, 4, w106 } };
    struct total synthetic_total = { 0 }, total = { 0 };
    struct trace trace;

    printf("| trace, limit | best |");
    for (uint32_t which = 0; which < STRATEGIES; which++)
        printf(" %s |", names[which]);
    printf(" HC / best |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++) {
        makers[i](&trace);
        compare(&trace, synthetic, 2, &synthetic_total);
        trace_end(&trace);
    }
    for (size_t i = 0; folder && i < sizeof files / sizeof files[0]; i++) {
        if (!read_file(&trace, folder, files[i].file, files[i].is_binary, files[i].shards))
            continue;
        compare(&trace, files[i].limits, files[i].count, &total);
        trace_end(&trace);
    }
    printf("synthetic_to_best %.3f\nsynthetic_to_lru %.2f\n",
           synthetic_total.to_best / synthetic_total.count, synthetic_total.to_lru);
    if (total.count)
        printf("to_best %.3f\nto_lru %.2f\n", total.to_best / total.count, total.to_lru);
}

/* ---- cost ---- */

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Uses active entities, popular ones more often. */
static double cost_of(const struct trace *trace, uint32_t which, uint32_t entities)
{
    struct passivation_settings settings = settings_of(which);
    struct ranks ranks = { .hash = hash_of, .user = trace };
    struct strategy *strategy = strategy_new(&settings, &ranks, entities + entities / 50);
    double shortest = 1e9;

    for (uint32_t slot = 1; slot <= entities; slot++)
        (void)strategy_use(strategy, slot);
    for (uint32_t turn = 0; turn < 5; turn++) {
        double start = seconds(), took;

        for (uint32_t i = 0; i < trace->ids.count; i++)
            (void)strategy_use(strategy, trace->ids.items[i]);
        took = seconds() - start;
        shortest = took < shortest ? took : shortest;
    }
    strategy_free(strategy);
    ranks_fini(&ranks);
    return shortest / trace->ids.count * 1e9;
}

static void cost(uint32_t entities)
{
    struct trace trace;
    struct zipf zipf;

    check(entities > 0);
    zipf_begin(&zipf, entities);
    begin(&trace, "cost", 1);
    for (uint32_t i = 0; i < entities; i++)
        access_to(&trace, i);
    trace.ids.count = 0;
    for (uint32_t i = 0; i < 2000000; i++) /* neighbours by popularity are no neighbours in memory */
        access_to(&trace, (uint32_t)((uint64_t)zipf_draw(&zipf) * 7919 % entities));
    for (uint32_t which = 0; which < STRATEGIES; which++)
        printf("%s_ns %.1f\n", names[which], cost_of(&trace, which, entities));
    printf("rank_bytes %zu\n", sizeof(struct rank));
    mem_free(zipf.sums);
    trace_end(&trace);
}

int main(int count, char **words)
{
    if (count >= 2 && strcmp(words[1], "hits") == 0) {
        hits(count > 2 ? words[2] : NULL);
        return 0;
    }
    if (count == 3 && strcmp(words[1], "cost") == 0) {
        cost((uint32_t)strtoul(words[2], NULL, 10));
        return 0;
    }
    (void)fprintf(stderr, "usage: passivation hits [DIR] | cost ENTITIES\n");
    return 2;
}
