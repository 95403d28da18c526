/* Blocks some nodes again and again, and counts the suspicions of all nodes. rounds.c uses it for
 * the membership cores, and limits/swim.c for SWIM. */
#ifndef SHERD_BENCH_SLOW_H
#define SHERD_BENCH_SLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOW_USAGE "SLOW BLOCKED_MS RUNNING_MS MINUTES still|cut"
#define SLOW_MS UINT64_C(1000000) /* ns */
#define SLOW_LONG (20000 * SLOW_MS) /* the default of stable-after */

struct slow {
    uint32_t nodes;
    uint32_t count;   /* number of slow nodes, the last ones */
    uint64_t blocked; /* ns that a slow node is blocked, then */
    uint64_t running; /* ns that it runs */
    /* only the messages of a blocked node are held; otherwise it does not run either */
    bool is_cut;
};

static inline bool slow_is(const struct slow *slow, uint32_t node)
{
    return node >= slow->nodes - slow->count;
}

/* Returns the time until which the node is blocked, or now if it is not. Each node has its own
 * phase. */
static inline uint64_t slow_until(const struct slow *slow, uint32_t node,
                                  uint64_t now)
{
    uint64_t cycle = slow->blocked + slow->running, at;

    if (!slow->blocked || !slow_is(slow, node))
        return now;
    at = (now + node * UINT64_C(0x9e3779b97f4a7c15) % cycle) % cycle;
    return at < slow->blocked ? now + slow->blocked - at : now;
}

/* Reads the words of SLOW_USAGE. length: time of the run in ns. Returns false if a word is
 * wrong. */
static inline bool slow_read(struct slow *slow, uint32_t nodes, char **words,
                             uint64_t *length)
{
    *slow = (struct slow){
        .nodes = nodes,
        .count = (uint32_t)strtoul(words[0], NULL, 10),
        .blocked = strtoull(words[1], NULL, 10) * SLOW_MS,
        .running = strtoull(words[2], NULL, 10) * SLOW_MS,
        .is_cut = strcmp(words[4], "cut") == 0,
    };
    *length = strtoull(words[3], NULL, 10) * 60000 * SLOW_MS;
    return slow->count < nodes && slow->running &&
           (slow->is_cut || strcmp(words[4], "still") == 0);
}

/* The suspicions of a run. Index 1 of the counts is for slow nodes, 0 for the others. */
struct doubts {
    const struct slow *slow;
    uint64_t *since;    /* for each observer and node, when the suspicion began; 0: none */
    uint32_t *by;       /* for each node, the number of observers that suspect it */
    bool *is_long;      /* for each node, whether one observer suspected it for SLOW_LONG */
    uint64_t told[2];   /* suspicions of single observers */
    uint64_t failed[2]; /* times in which at least one observer suspects the node */
    uint64_t downed[2]; /* such times with a suspicion of SLOW_LONG */
};

static inline void doubts_open(struct doubts *doubts, const struct slow *slow)
{
    *doubts = (struct doubts){ .slow = slow };
    doubts->since = calloc((size_t)slow->nodes * slow->nodes, sizeof(uint64_t));
    doubts->by = calloc(slow->nodes, sizeof(uint32_t));
    doubts->is_long = calloc(slow->nodes, sizeof(bool));
}

static inline void doubts_close(struct doubts *doubts)
{
    free(doubts->since);
    free(doubts->by);
    free(doubts->is_long);
}

static inline void doubt_begins(struct doubts *doubts, uint32_t by,
                                uint32_t node, uint64_t now)
{
    uint64_t *since = &doubts->since[by * doubts->slow->nodes + node];
    bool is_slow = slow_is(doubts->slow, node);

    if (*since)
        return;
    *since = now;
    doubts->told[is_slow]++;
    doubts->failed[is_slow] += !doubts->by[node]++;
}

static inline void doubt_ends(struct doubts *doubts, uint32_t by,
                              uint32_t node, uint64_t now)
{
    uint64_t *since = &doubts->since[by * doubts->slow->nodes + node];

    if (!*since)
        return;
    doubts->is_long[node] |= now - *since >= SLOW_LONG;
    *since = 0;
    if (--doubts->by[node])
        return;
    doubts->downed[slow_is(doubts->slow, node)] += doubts->is_long[node];
    doubts->is_long[node] = false;
}

static inline void doubts_end(struct doubts *doubts, uint64_t now)
{
    for (uint32_t i = 0; i < doubts->slow->nodes; i++)
        for (uint32_t k = 0; k < doubts->slow->nodes; k++)
            doubt_ends(doubts, i, k, now);
}

static inline void doubts_print(const struct doubts *doubts)
{
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "slow" : "fine";

        printf("%s_told %llu\n%s_failed %llu\n%s_downed %llu\n", name,
               (unsigned long long)doubts->told[i], name,
               (unsigned long long)doubts->failed[i], name,
               (unsigned long long)doubts->downed[i]);
    }
}

#endif
