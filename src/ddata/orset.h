/* The set whose elements come and go, as a part of values: a DD_ORSET, the keys of a map, what a delta carries.
 * Private to the types.
 *
 * Each element has its dots: which adds of which nodes it stands for. The set has seen, of each node, all versions
 * up to one. An element that one side lacks was removed there if that side has seen all its dots; otherwise it was
 * added meanwhile (Bieniusa et al., "An optimized conflict-free replicated set").
 *
 * A node's name has 120 bytes, so dots name nodes by their place in the set's own table. The table is sorted: the
 * order of places is the order of nodes. */
#ifndef SHERD_DDATA_ORSET_H
#define SHERD_DDATA_ORSET_H

#include "ddata/element.h"
#include "ddata/versions.h"

struct dot {
    int64_t version;
    uint32_t node; /* its place in the table */
};

/* Sorted by node, each node once. One stands in place: nearly all elements have one. */
struct dots {
    uint32_t count;
    uint32_t node; /* of the one */
    union {
        int64_t version; /* of the one */
        struct dot *many;
    } is;
};

struct orset_item {
    struct element element;
    struct dots dots;
};

/* Only dots name the node. A JVM that takes something out and has never put anything in is seen with version 0, which says no more, but
 * stands in the bytes, and so in digests: what either of two has of that stays. */
#define ORSET_NOT_SEEN (-1)

/* Zero is an empty one. */
struct orset {
    VEC(struct version) nodes; /* the table; version: how much of the node was seen, or ORSET_NOT_SEEN */
    struct elements items; /* struct orset_item */
};

struct dot dots_at(const struct dots *dots, uint32_t index);
void dots_push(struct dots *dots, struct dot dot); /* its node must be behind those that are there */
void dots_fini(struct dots *dots);

void orset_fini(struct orset *set);
void orset_copy(struct orset *copy, const struct orset *set); /* into an empty one */
bool orset_equal(const struct orset *left, const struct orset *right);
bool orset_has(const struct orset *set, const struct dd_element *element);
/* Orders the items of a set that was filled from outside; of equal elements the last stays. */
void orset_sort(struct orset *set);

static inline struct orset_item *orset_item(const struct orset *set,
                                            uint32_t index)
{
    return (struct orset_item *)set->items.list.items[index];
}

static inline uint32_t orset_count(const struct orset *set)
{
    return set->items.list.count;
}

/* Takes an element out as if it had never been: no version says so. */
void orset_forget(struct orset *set, const struct dd_element *element);

/* The changes. delta, empty: becomes what this change alone is, to be sent. */
void orset_add(struct orset *set, struct dd_writer *writer,
               const struct dd_element *element, struct orset *delta);
void orset_remove(struct orset *set, const struct node_id *node,
                  const struct dd_element *element, struct orset *delta);
void orset_clear(struct orset *set, struct orset *delta);

/* Each: true when anything changed. */
bool orset_merge(struct orset *set, const struct orset *other);
bool orset_apply_add(struct orset *set, const struct orset *delta);
bool orset_apply_remove(struct orset *set, const struct orset *delta);
/* Two adds of one node, the second later: what both together are. */
void orset_concat(struct orset *delta, const struct orset *next);

bool orset_needs_pruning(const struct orset *set,
                         const struct node_id *removed);
/* delta, empty: becomes what has to be added elsewhere. */
bool orset_prune(struct orset *set, const struct node_id *removed,
                 struct dd_writer *into, struct orset *delta);
bool orset_cleanup(struct orset *set, const struct node_id *removed);

#endif
