/* The checker of replicas of distributed data: looks into them, between two turns.
 *
 *   value-integrity  merging values is commutative and idempotent, and associative where the type promises it; what is encoded is decoded to
 *        the same, and equal values have equal bytes
 *   replica-convergence  in the quiet all replicas of a key hold equal bytes
 *   no-lost-update  what a node's disk has of a durable key is in its replica, from the moment when that is loaded; but for the values of maps
 *   pruned-stays-pruned  where a key is marked as pruned from a member, nothing of that member is in its value; in the quiet nothing of anybody
 *        is there who is no member
 *
 * It knows neither worlds nor nodes. */
#ifndef SHERD_SIM_CHECK_REPLICA_H
#define SHERD_SIM_CHECK_REPLICA_H

#include "ddata/replicator.h"

struct verdict;

struct check_replica {
    uint32_t index;       /* of the node, for reports */
    struct node_id node;
    const struct replicator *replicator; /* null: it has never been used, which is an empty one */
};

/* value-integrity, of up to three values that have one key; null ones are left out. Each is read only. */
void check_replica_laws(struct verdict *verdict, uint32_t node,
                        const struct dd_value *const values[3]);
/* pruned-stays-pruned, at any time. What a node itself wrote is not asked of its own replica: it may live where nobody else knows that it was taken in, and be
 * pruned by those. */
void check_replica_marks(struct verdict *verdict,
                         const struct check_replica *replica,
                         struct slice key);
/* no-lost-update, at any time. bytes: an envelope, as it is stored under the key. */
void check_replica_disk(struct verdict *verdict,
                        const struct check_replica *replica, struct slice key,
                        struct slice bytes);
/* Is it an OR-set with that element? The same bytes. */
bool check_replica_stores(struct slice bytes, const struct dd_element *element);
/* replica-convergence and pruned-stays-pruned in the quiet: false when something is missing yet, which text says (size bytes). */
bool check_replica_equal(const struct check_replica *replicas, uint32_t count,
                         struct slice key, char *text, size_t size);
bool check_replica_clean(const struct check_replica *replicas, uint32_t count,
                         struct slice key, char *text, size_t size);

#endif
