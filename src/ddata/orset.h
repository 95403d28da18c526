/* Implements the set whose elements are added and removed: a DD_ORSET, a map's keys, or part of a
 * delta. Private to the types.
 *
 * An element has dots: the adds (node, version) that it stands for. The set has seen all versions
 * of each node up to one. An element that one side lacks was removed there if that side has seen
 * all its dots; otherwise it is new (Bieniusa et al., "An optimized conflict-free replicated set").
 *
 * A node's name has 120 bytes, so dots name nodes by their place in the set's own sorted table. */
#ifndef SHERD_DDATA_ORSET_H
#define SHERD_DDATA_ORSET_H

#include "ddata/element.h"
#include "ddata/versions.h"

struct dot {
    int64_t version;
    uint32_t node; /* place in the table */
};

/* Sorted by node. A single dot, the usual case, is stored in place. */
struct dots {
    uint32_t count;
    uint32_t node; /* of the single dot */
    union {
        int64_t version; /* of the single dot */
        struct dot *many;
    } is;
};

struct orset_item {
    struct element element;
    struct dots dots;
};

/* Only dots name the node. A JVM node that only removed elements is seen with version 0, which
 * means the same but changes bytes and digests, so merges keep it. */
#define ORSET_NOT_SEEN (-1)

/* Zero is empty. */
struct orset {
    VEC(struct version) nodes; /* the table; version: the last seen, or ORSET_NOT_SEEN */
    struct elements items; /* struct orset_item */
};

struct dot dots_at(const struct dots *dots, uint32_t index);
void dots_push(struct dots *dots, struct dot dot); /* its node must follow the present ones */
void dots_fini(struct dots *dots);

void orset_fini(struct orset *set);
void orset_copy(struct orset *copy, const struct orset *set); /* `copy` must be empty */
bool orset_equal(const struct orset *left, const struct orset *right);
bool orset_has(const struct orset *set, const struct dd_element *element);
/* Sorts items that were pushed unsorted; of equal elements the last stays. */
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

/* Removes an element without a trace: no version shows it. */
void orset_forget(struct orset *set, const struct dd_element *element);

/* Changes. `delta`, empty before, receives the change alone. */
void orset_add(struct orset *set, struct dd_writer *writer,
               const struct dd_element *element, struct orset *delta);
void orset_remove(struct orset *set, const struct node_id *node,
                  const struct dd_element *element, struct orset *delta);
void orset_clear(struct orset *set, struct orset *delta);

/* All return true if anything changed. */
bool orset_merge(struct orset *set, const struct orset *other);
bool orset_apply_add(struct orset *set, const struct orset *delta);
bool orset_apply_remove(struct orset *set, const struct orset *delta);
/* Joins two adds of one node, the second later. */
void orset_concat(struct orset *delta, const struct orset *next);

bool orset_needs_pruning(const struct orset *set,
                         const struct node_id *removed);
/* `delta`, empty before, receives what others must add. */
bool orset_prune(struct orset *set, const struct node_id *removed,
                 struct dd_writer *into, struct orset *delta);
bool orset_cleanup(struct orset *set, const struct node_id *removed);

#endif
