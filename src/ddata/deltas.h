/* Which deltas which replica has not been sent (behaviour 13.7).
 *
 * Each key that was changed here has a log: its versions 1, 2, ... with the delta of each, or with none, when the
 * change has none that could be sent; and per replica the last version that it was sent. A round sends to a few
 * replicas what they miss, several versions of a key merged into one group. */
#ifndef SHERD_DDATA_DELTAS_H
#define SHERD_DDATA_DELTAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "ddata/value.h"

#define DELTA_ROUNDS_DIVISOR 5 /* rounds in a gossip interval, and between two cleanings; the reference's */

struct delta {
    int64_t version;
    struct dd_value *value; /* null: there is none for this change */
};

/* Of one key; belongs to its entry. Zero is an empty one. */
struct delta_log {
    int64_t version; /* of the last change; 0: none yet */
    VEC(struct delta) items; /* by version */
    VEC(int64_t) sent; /* by the replica's slot; those beyond are 0 */
    struct dd_value *group; /* the last one made, null: none could be */
    int64_t group_from;
    int64_t group_to; /* 0: none was made */
};

struct delta_node {
    uint64_t uid;
    struct kept_address *address; /* null: the slot is free */
};

/* Zero is an empty one; set size_max. */
struct deltas {
    struct map active; /* key -> struct delta_log with items; keys are the entries' */
    VEC(struct delta_node) slots;
    uint64_t round;
    uint64_t next; /* replica, of all in order */
    uint64_t lost; /* versions given up at REPLICATOR_DELTAS_MAX */
    uint32_t size_max; /* a group with so many changes is not sent */
};

void deltas_init(struct deltas *deltas, uint32_t size_max);
void deltas_fini(struct deltas *deltas); /* the logs are freed by their owners, before */

/* A change of a key that lasts as long as the log; the delta, given, may be null. */
void deltas_put(struct deltas *deltas, struct delta_log *log, struct slice key,
                struct dd_value *delta);
/* Empties a log, versions too; the key is deleted. Before a log is freed, too. */
void deltas_drop(struct deltas *deltas, struct delta_log *log,
                 struct slice key);

/* How many of so many replicas a round is for; behaviour 13.7. */
uint32_t deltas_slice_size(uint32_t count);
/* Begins a round over so many replicas, in order: the first of its slice, and how many; it goes on at 0 behind the
 * last. */
uint32_t deltas_begin(struct deltas *deltas, uint32_t count, uint32_t *first);

struct delta_group {
    struct slice key;
    const struct dd_value *value; /* null: not to be sent, but counts as sent. Lent until the next call for this key */
    int64_t from;
    int64_t to;
    struct delta_log *log;
};

/* The slot of a replica, for deltas_next. */
uint32_t deltas_slot(struct deltas *deltas, const struct node_id *node);
/* The next key of which that replica misses something; start with *at = 0. It counts as sent. */
bool deltas_next(struct deltas *deltas, uint32_t slot, uint32_t *at,
                 struct delta_group *group);
/* Is it time for deltas_clean? */
bool deltas_clean_due(const struct deltas *deltas);
/* Drops what all these replicas, by address, have been sent; everything when there are none. */
void deltas_clean(struct deltas *deltas, const struct node_id *nodes,
                  uint32_t count);
void deltas_remove(struct deltas *deltas, const struct node_id *node); /* a replica is gone */

#endif
