/* Changes and merges replicas of one value at random; names nodes and elements shortly. */
#ifndef TESTS_DDATA_WORLD_H
#define TESTS_DDATA_WORLD_H

#include "base/rng.h"
#include "ddata/value.h"

#define REPLICAS 4

/* How much counters count at a time, and from where on. */
enum amounts {
    SMALL,
    LARGE, /* nearly the most of a change: passes 2^63 and 2^64 at once */
    LAST   /* the same, with shares near their limit */
};

/* A kind to test, and how its values are made. */
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
    bool removes; /* also removes elements and keys */
    bool replaces; /* puts values of an OR-map again, without their history */
};

struct node_id node_of(char letter); /* "a:2552" with uid 1, "b:2552" with uid 2 and so on */
struct dd_writer writer_of(char letter);
struct dd_other state_of(const char *text); /* a text of serializer 20 */
/* All kinds; the same number gives the same element. */
struct dd_element element_of_number(uint32_t number);

void world_init(struct world *world, struct species species, uint64_t seed);
void world_fini(struct world *world);
void world_reset(struct world *world); /* new replicas, the same random sequence */
void world_change(struct world *world, uint32_t replica); /* a random change */
/* A random step: a change, or a merge of one replica into another. */
void world_step(struct world *world);

/* The same elements, keys and numbers for a user; internal state may differ. */
bool world_looks_equal(const struct dd_value *left,
                       const struct dd_value *right);
/* A copy of the first, merged with the second; must not fail. */
struct dd_value *world_merged(const struct dd_value *left,
                              const struct dd_value *right);

#endif
