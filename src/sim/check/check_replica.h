/* Checks the replicas of distributed data by reading them between two turns.
 *
 *   value-integrity      merges are commutative, idempotent, and associative where the type
 *                        promises it; encoding loses nothing, and equal values have equal bytes
 *   replica-convergence  in the quiet phase all replicas of a key hold equal bytes
 *   no-lost-update       a loaded replica has all that its disk has of a durable key, except values
 *                        of maps
 *   pruned-stays-pruned  a key with a pruning mark holds no data of that member; in the quiet phase
 *                        all data is of members */
#ifndef SHERD_SIM_CHECK_REPLICA_H
#define SHERD_SIM_CHECK_REPLICA_H

#include "ddata/replicator.h"

struct verdict;

struct check_replica {
    uint32_t index;       /* of the node, for reports */
    struct node_id node;
    const struct replicator *replicator; /* null: never used, which means empty */
};

/* value-integrity of up to three values of a key; null ones are skipped. */
void check_replica_laws(struct verdict *verdict, uint32_t node,
                        const struct dd_value *const values[3]);
/* pruned-stays-pruned, at any time. A node's own data is not judged in its own replica: nodes that
 * do not know of its join may have pruned it. */
void check_replica_marks(struct verdict *verdict,
                         const struct check_replica *replica,
                         struct slice key);
/* no-lost-update at any time. bytes: an envelope as it is stored under the key. */
void check_replica_disk(struct verdict *verdict,
                        const struct check_replica *replica, struct slice key,
                        struct slice bytes);
/* Whether the bytes are an OR-set with exactly that element. */
bool check_replica_stores(struct slice bytes, const struct dd_element *element);
/* replica-convergence and pruned-stays-pruned in the quiet phase. False: text (size bytes) has what
 * is missing. */
bool check_replica_equal(const struct check_replica *replicas, uint32_t count,
                         struct slice key, char *text, size_t size);
bool check_replica_clean(const struct check_replica *replicas, uint32_t count,
                         struct slice key, char *text, size_t size);

#endif
