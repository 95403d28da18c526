/* Makes a type that only some nodes of a cluster know, as a JVM program's own type. These nodes
 * merge a set; on the way to others it becomes bytes of another serializer, and back. They answer,
 * gossip and write as JVM nodes do. */
#ifndef TESTS_DDATA_CUSTOM_H
#define TESTS_DDATA_CUSTOM_H

#include "cluster.h"

#define CUSTOM_KEY "c"
#define CUSTOM_SERIALIZER 99
#define CUSTOM_ITEMS_MAX 256

enum custom_sort {
    CUSTOM_WHOLE,  /* writes contain the state */
    CUSTOM_DELTAS, /* writes contain the change */
    CUSTOM_CAUSAL, /* deltas need their order */
    CUSTOM_MAP,    /* inside a DD_ORMAP; other nodes put flags into the map, too */
    CUSTOM_SORT_COUNT
};

/* Numbers that are in a value. */
struct custom_items {
    bool has[CUSTOM_ITEMS_MAX];
};

struct late_write {
    uint64_t due;
    uint32_t to;
    struct node_id from;
    struct buf sender;
    struct buf payload;
};

struct custom {
    struct cluster *cluster;
    enum custom_sort sort;
    bool is_jvm[CLUSTER_NODES_MAX];
    /* JVM nodes encode equal states differently */
    bool is_unsteady;
    bool is_durable; /* the key, on the other nodes */
    bool are_apart; /* JVM nodes do not hear each other */
    /* percent of the writes of JVM nodes that are sent once more, later, with the old state */
    uint32_t late_percent;
    VEC(struct late_write) late;
    uint64_t nodes[CLUSTER_NODES_MAX]; /* uids of the last incarnations */
    uint64_t ids[CLUSTER_NODES_MAX];   /* writes and reads of them so far */
    /* by JVM node: the number that each write added, by its place among writes and reads */
    uint32_t added[CLUSTER_NODES_MAX][1024];
    struct custom_items promised[CLUSTER_NODES_MAX]; /* by other nodes, to writers */
};

/* One cluster at a time. Adds the nodes: jvms first. */
struct custom *custom_new(uint64_t seed, enum custom_sort sort, uint32_t jvms,
                          uint32_t others, bool is_durable);
void custom_free(struct custom *custom);
void custom_restart(struct custom *custom, uint32_t index);
/* Adds the number to the key's value; returns the token. */
uint64_t custom_add(struct custom *custom, uint32_t index, uint32_t number,
                    struct consistency consistency);
uint64_t custom_get(struct custom *custom, uint32_t index,
                    struct consistency consistency);
/* The numbers in all values that the node has, or in one value. */
struct custom_items custom_items(const struct custom *custom, uint32_t index);
struct custom_items custom_items_of(const struct custom *custom,
                                    const struct dd_value *value);
bool custom_has_all(const struct custom_items *items,
                    const struct custom_items *wanted);
/* True if the node's values have parts of nodes that are gone. */
bool custom_has_removed(const struct custom *custom, uint32_t index);
uint32_t custom_count(const struct custom *custom, uint32_t index); /* values side by side */

#endif
