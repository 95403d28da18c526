/* Version vectors: what of each node has been seen (behaviour 13.9). Like the membership's clock, but keyed by
 * incarnations, and with versions that jump: each is drawn from one counter of the process. The replicator's delta
 * versions are one. */
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

/* Sorted by node. Zero is an empty one. */
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
                   const struct versions *from); /* replaces; the result must be another one */
int64_t versions_get(const struct versions *versions,
                     const struct node_id *node); /* 0 when absent */
void versions_set(struct versions *versions, const struct node_id *node,
                  int64_t version); /* 0 or less removes */
bool versions_drop(struct versions *versions, const struct node_id *node); /* was it there? */
void versions_increment(struct versions *versions, struct dd_writer *writer); /* a new version for the writer's node */
enum versions_order versions_compare(const struct versions *left,
                                     const struct versions *right);
/* The larger version of each node; true when anything changed. */
bool versions_merge(struct versions *versions, const struct versions *other);
/* Orders one whose items were pushed from outside; false: a node stands twice. */
bool versions_sort(struct versions *versions);
/* The removed node out, a new version for the writer's; true when it was there. */
bool versions_prune(struct versions *versions, const struct node_id *removed,
                    struct dd_writer *into);

#endif
