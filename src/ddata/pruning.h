/* Tracks the pruning of removed nodes in one entry; replicated and merged with it. An initialized
 * marker announces that its owner will take over the removed node's part when all replicas have
 * seen the marker. After that it is performed: until it is obsolete, later contributions of the
 * removed node are deleted. */
#ifndef SHERD_DDATA_PRUNING_H
#define SHERD_DDATA_PRUNING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/vec.h"
#include "ddata/seen.h"

struct pruning_mark {
    struct node_id removed;
    struct node_id owner; /* initialized markers */
    struct seen seen;     /* initialized markers: nodes that saw it, without the owner */
    int64_t obsolete_at;  /* performed markers: wall clock, ms */
    bool is_performed;
    /* performed in a Pekko cluster, which writes another owner where none is meant */
    bool is_pekko;
    bool is_own; /* performed by this node; not sent */
};

#define PRUNING_PORT_AKKA 2552 /* port of that owner in Akka */
#define PRUNING_PORT_PEKKO 7355

/* Zero is empty. */
struct pruning {
    VEC(struct pruning_mark) marks; /* by removed node */
};

void pruning_fini(struct pruning *pruning);
void pruning_copy(struct pruning *to, const struct pruning *from); /* `to` must be empty */
bool pruning_equal(const struct pruning *left, const struct pruning *right);
struct pruning_mark *pruning_find(const struct pruning *pruning,
                                  const struct node_id *removed);
/* Adds an initialized marker without addresses, or empties the present one. Valid until the next
 * call. */
struct pruning_mark *pruning_put(struct pruning *pruning,
                                 const struct node_id *removed);
void pruning_take(struct pruning *pruning, const struct node_id *removed);
void pruning_leave_own(struct pruning *pruning); /* drops all but those that this node performed */
bool pruning_is_seen(const struct pruning_mark *mark,
                     const struct address *address);
void pruning_see(struct pruning_mark *mark, const struct address *address);
bool pruning_begun(const struct pruning *pruning); /* true if a marker is not performed */
/* On every marker that is not performed; true if anything changed. */
bool pruning_see_all(struct pruning *pruning, const struct address *address);
void pruning_perform(struct pruning_mark *mark, int64_t obsolete_at);
/* Merges into the first; drops performed markers that are obsolete at wall_ms. */
void pruning_merge(struct pruning *pruning, const struct pruning *other,
                   int64_t wall_ms);

#endif
