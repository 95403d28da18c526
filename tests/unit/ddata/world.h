/* A small world for values: replicas of one value on as many nodes, changed and merged at random, and short ways to
 * write nodes and elements. */
#ifndef TESTS_DDATA_WORLD_H
#define TESTS_DDATA_WORLD_H

#include "base/rng.h"
#include "ddata/value.h"

#define REPLICAS 4

/* How much counters count at a time, and from where on. */
enum amounts {
    SMALL,
    LARGE, /* as much as a change may have, or nearly: 2^63 and 2^64 are passed at once */
    LAST   /* the same, and the shares are near the end of what they may be */
};

/* A kind to test, with how its values come to be. */
struct species {
    const char *name;
    enum dd_kind kind;
    bool with_deltas; /* DD_MULTIMAP */
    enum amounts amounts;
};
extern const struct species world_species[];
extern const uint32_t world_species_count;

struct world {
    struct rng rng;
    struct species species;
    struct dd_writer writers[REPLICAS];
    struct dd_value *replicas[REPLICAS];
    int64_t now_ms;
    bool removes; /* elements and keys are removed too */
    bool replaces; /* values of an OR-map are put anew, without their history */
};

struct node_id node_of(char letter); /* "a:2552" with uid 1, "b:2552" with uid 2 and so on */
struct dd_writer writer_of(char letter);
struct dd_other state_of(const char *text); /* a thing of serializer 20, a text */
struct dd_element element_of_number(uint32_t number); /* of all kinds, the same for the same number */

void world_init(struct world *world, struct species species, uint64_t seed);
void world_fini(struct world *world);
void world_reset(struct world *world); /* the replicas anew, with the same random numbers */
void world_change(struct world *world, uint32_t replica); /* one random change */
/* A random step: a change, or a merge of one replica into another. */
void world_step(struct world *world);

/* The same for a user: elements, keys, numbers; not what stands behind them. */
bool world_looks_equal(const struct dd_value *left,
                       const struct dd_value *right);
/* Copy of the first, merged with the second; the merge must not fail. */
struct dd_value *world_merged(const struct dd_value *left,
                              const struct dd_value *right);

#endif
