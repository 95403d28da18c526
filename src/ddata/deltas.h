/* Records which deltas each replica was sent. A locally changed key has a log: its versions 1, 2,
 * ... with their deltas, if they can be sent, and each replica's last sent version. A round sends a
 * few replicas what they miss, with the versions of a key merged into a group. */
#ifndef SHERD_DDATA_DELTAS_H
#define SHERD_DDATA_DELTAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "ddata/value.h"

/* rounds in a gossip interval, and between two cleanings; as in Akka */
#define DELTA_ROUNDS_DIVISOR 5

struct delta {
    int64_t version;
    struct dd_value *value; /* null: none for this change */
};

/* The log of one key; belongs to its entry. Zero is empty. */
struct delta_log {
    int64_t version; /* of the last change; 0: none */
    VEC(struct delta) items; /* by version */
    VEC(int64_t) sent; /* by the replica's slot; missing ones are 0 */
    struct dd_value *group; /* the last one made; null: impossible */
    int64_t group_from;
    int64_t group_to; /* 0: none was made */
};

struct delta_node {
    uint64_t uid;
    struct kept_address *address; /* null: a free slot */
};

/* Zero is empty; set size_max. */
struct deltas {
    struct map active; /* key -> struct delta_log with items; entries own the keys */
    VEC(struct delta_node) slots;
    uint64_t round;
    uint64_t next; /* place of the next replica */
    uint64_t lost; /* versions dropped at REPLICATOR_DELTAS_MAX */
    uint32_t size_max; /* a group with this many changes is not sent */
};

void deltas_init(struct deltas *deltas, uint32_t size_max);
void deltas_fini(struct deltas *deltas); /* owners free the logs before */

/* The delta, given, may be null. The key outlives the log. */
void deltas_put(struct deltas *deltas, struct delta_log *log, struct slice key,
                struct dd_value *delta);
/* Empties the log of a deleted key, or before it is freed. */
void deltas_drop(struct deltas *deltas, struct delta_log *log,
                 struct slice key);

/* The number of replicas that a round serves. */
uint32_t deltas_slice_size(uint32_t count);
/* Begins a round over `count` ordered replicas. Returns how many it serves, from *first on,
 * continuing at 0 after the last. */
uint32_t deltas_begin(struct deltas *deltas, uint32_t count, uint32_t *first);

struct delta_group {
    struct slice key;
    /* null: not sent, but counts as sent. Lent until the next call for this key */
    const struct dd_value *value;
    int64_t from;
    int64_t to;
    struct delta_log *log;
};

uint32_t deltas_slot(struct deltas *deltas, const struct node_id *node);
/* The next key with something that the replica misses, from *at = 0. It counts as sent. */
bool deltas_next(struct deltas *deltas, uint32_t slot, uint32_t *at,
                 struct delta_group *group);
bool deltas_clean_due(const struct deltas *deltas);
/* Drops what all these replicas (by address) were sent; everything if there are none. */
void deltas_clean(struct deltas *deltas, const struct node_id *nodes,
                  uint32_t count);
void deltas_remove(struct deltas *deltas, const struct node_id *node); /* the replica was removed */

#endif
