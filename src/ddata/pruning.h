/* How far the pruning of removed nodes has come, for one entry (behaviour 13.8): part of what is replicated, and
 * merged like it.
 *
 * initialized: the owner will take over what the removed node had contributed, when all replicas have seen that;
 * performed: it has; until the marker is obsolete, what still comes of the removed node is cleaned away. */
#ifndef SHERD_DDATA_PRUNING_H
#define SHERD_DDATA_PRUNING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/vec.h"
#include "ddata/seen.h"

struct pruning_mark {
    struct node_id removed;
    struct node_id owner; /* initialized */
    struct seen seen;     /* initialized: by whom, without the owner */
    int64_t obsolete_at;  /* performed: wall clock, ms */
    bool is_performed;
    bool is_pekko; /* performed: a cluster of Pekko's; its nodes write another owner where none is meant */
    bool is_own; /* performed by this node; not sent */
};

#define PRUNING_PORT_AKKA 2552 /* of that owner, as Akka writes it */
#define PRUNING_PORT_PEKKO 7355

/* Zero is none. */
struct pruning {
    VEC(struct pruning_mark) marks; /* by removed node */
};

void pruning_fini(struct pruning *pruning);
void pruning_copy(struct pruning *to, const struct pruning *from); /* to is empty before */
bool pruning_equal(const struct pruning *left, const struct pruning *right);
struct pruning_mark *pruning_find(const struct pruning *pruning,
                                  const struct node_id *removed);
/* Adds one, initialized by nobody, or empties the one that is there. The result is valid until the next call. */
struct pruning_mark *pruning_put(struct pruning *pruning,
                                 const struct node_id *removed);
void pruning_take(struct pruning *pruning, const struct node_id *removed);
void pruning_leave_own(struct pruning *pruning); /* all go but those that are performed by this node */
bool pruning_is_seen(const struct pruning_mark *mark,
                     const struct address *address);
void pruning_see(struct pruning_mark *mark, const struct address *address);
bool pruning_begun(const struct pruning *pruning); /* is there a mark that is not performed? */
/* By every mark that is not performed; true when that changed something. */
bool pruning_see_all(struct pruning *pruning, const struct address *address);
void pruning_perform(struct pruning_mark *mark, int64_t obsolete_at);
/* Into the first; what is performed and obsolete at that time goes. */
void pruning_merge(struct pruning *pruning, const struct pruning *other,
                   int64_t wall_ms);

#endif
