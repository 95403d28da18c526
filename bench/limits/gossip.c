/* Simulates gossip that carries only which nodes have seen one change. Each node has its own
 * rounds. In a round it exchanges its knowledge with one member, or with three while fewer than
 * half have seen the change. There are no messages and no versions, and the members do not
 * change. */
#include "limits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define THIRDS 3 /* parts of a round */
#define MILLION 1000000

struct view {
    uint64_t *seen; /* bits of the nodes that have seen the change; empty if this one has not */
    uint32_t count; /* number of bits */
    uint32_t phase; /* phase in a third of a round, in millionths of a round */
    uint32_t begins; /* the third in which its rounds begin */
    uint32_t extra; /* remaining exchanges of this round */
};

struct gossip {
    struct view *views;
    uint32_t nodes;
    uint32_t words;
    uint32_t know_all; /* nodes that know that all have seen the change */
    double share; /* share of rounds to nodes that have not seen the change */
    uint64_t random;
};

static uint32_t below(struct gossip *gossip, uint32_t limit)
{
    return (uint32_t)((bench_random(&gossip->random) >> 11) % limit);
}

static bool has_seen(const struct view *view, uint32_t node)
{
    return view->seen[node / 64] >> node % 64 & 1;
}

/* Chooses a node: by `share` one that is not known to have seen the change, otherwise any. */
static uint32_t choose(struct gossip *gossip, uint32_t node)
{
    const struct view *view = &gossip->views[node];
    uint32_t other;

    if (view->count && view->count < gossip->nodes &&
        below(gossip, MILLION) < gossip->share * MILLION) {
        uint32_t skip = below(gossip, gossip->nodes - view->count);

        for (uint32_t i = 0; i < gossip->nodes; i++)
            if (!has_seen(view, i) && !skip--)
                return i;
    }
    other = below(gossip, gossip->nodes - 1);
    return other + (other >= node);
}

static void exchange(struct gossip *gossip, uint32_t node, uint32_t other)
{
    struct view *left = &gossip->views[node], *right = &gossip->views[other];
    uint32_t count = 0;

    if (!left->count && !right->count)
        return;
    left->seen[node / 64] |= UINT64_C(1) << node % 64;
    left->seen[other / 64] |= UINT64_C(1) << other % 64;
    for (uint32_t i = 0; i < gossip->words; i++) {
        left->seen[i] = right->seen[i] = left->seen[i] | right->seen[i];
        count += (uint32_t)__builtin_popcountll(left->seen[i]);
    }
    if (count == gossip->nodes)
        gossip->know_all += (left->count < count) + (right->count < count);
    left->count = right->count = count;
}

static bool is_slow(const struct gossip *gossip, const struct view *view)
{
    return view->count && view->count < gossip->nodes / 2;
}

/* Runs a node's third of a round. The first third has the normal exchange. */
static void third(struct gossip *gossip, uint32_t node, bool is_first)
{
    struct view *view = &gossip->views[node];
    bool speaks = is_first || (view->extra && is_slow(gossip, view));

    if (speaks)
        exchange(gossip, node, choose(gossip, node));
    if (is_first)
        view->extra = is_slow(gossip, view) ? THIRDS - 1 : 0;
    else
        view->extra -= view->extra > 0;
}

static int by_phase(const void *left, const void *right)
{
    const struct view *a = left, *b = right;

    return (a->phase > b->phase) - (a->phase < b->phase);
}

/* Draws the third in which a node's rounds begin. */
static void open(struct gossip *gossip)
{
    gossip->words = gossip->nodes / 64 + 1;
    gossip->views = calloc(gossip->nodes, sizeof *gossip->views);
    for (uint32_t i = 0; i < gossip->nodes; i++) {
        gossip->views[i].seen = calloc(gossip->words, sizeof(uint64_t));
        gossip->views[i].phase = below(gossip, MILLION / THIRDS);
        gossip->views[i].begins = below(gossip, THIRDS);
    }
    qsort(gossip->views, gossip->nodes, sizeof *gossip->views, by_phase);
}

void limit_gossip(uint32_t nodes, uint64_t seed, double share, double *first,
                  double *all)
{
    struct gossip gossip = { .nodes = nodes,
                             .share = share,
                             .random = seed * UINT64_C(0x9e3779b97f4a7c15) };
    uint32_t start;

    open(&gossip);
    start = below(&gossip, nodes);
    gossip.views[start].seen[start / 64] |= UINT64_C(1) << start % 64;
    gossip.views[start].count = 1;
    for (uint32_t now = 0; gossip.know_all < nodes; now++)
        for (uint32_t i = 0; i < nodes && gossip.know_all < nodes; i++) {
            uint32_t knew = gossip.know_all;

            third(&gossip, i, now % THIRDS == gossip.views[i].begins);
            *all = (double)now / THIRDS + (double)gossip.views[i].phase / MILLION;
            if (!knew && gossip.know_all)
                *first = *all;
        }
    for (uint32_t i = 0; i < nodes; i++)
        free(gossip.views[i].seen);
    free(gossip.views);
}
