/* Implements version vectors: how far each incarnation's versions were seen. Versions jump, because
 * all values of a process draw them from one counter. The replicator's delta versions are such a
 * vector. */
#ifndef SHERD_DDATA_VERSIONS_H
#define SHERD_DDATA_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/vec.h"
#include "ddata/value.h"

struct version {
    struct node_id node;
    int64_t version; /* above 0 */
};

/* Sorted by node. Zero is empty. */
struct versions {
    VEC(struct version) items;
};

enum versions_order {
    VERSIONS_SAME,
    VERSIONS_BEFORE, /* left is older */
    VERSIONS_AFTER,
    VERSIONS_CONCURRENT
};

void versions_fini(struct versions *versions);
void versions_copy(struct versions *versions,
                   const struct versions *from); /* replaces; not with itself */
int64_t versions_get(const struct versions *versions,
                     const struct node_id *node); /* 0 if absent */
void versions_set(struct versions *versions, const struct node_id *node,
                  int64_t version); /* 0 or less removes */
/* True if it was present. */
bool versions_drop(struct versions *versions, const struct node_id *node);
/* A new version for the writer's node. */
void versions_increment(struct versions *versions, struct dd_writer *writer);
enum versions_order versions_compare(const struct versions *left,
                                     const struct versions *right);
/* Takes the larger version of each node; true if anything changed. */
bool versions_merge(struct versions *versions, const struct versions *other);
/* Sorts items that were pushed unsorted; false: a node occurs twice. */
bool versions_sort(struct versions *versions);
/* Replaces the removed node by a new version of the writer's; true if it was present. */
bool versions_prune(struct versions *versions, const struct node_id *removed,
                    struct dd_writer *into);

#endif
