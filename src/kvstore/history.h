/* Vector clocks of versioned values: for each coordinator that ever wrote a key, how many of its writes are known.
 *
 * A coordinator is an incarnation of a broker and an epoch of it: one that forgot what it wrote to a key begins a new epoch for that key, so
 * that its numbers never mean two writes. Used by siblings.h. Seed 001, "Vector Clocks" and their pruning (behaviour 10.2, as Riak's). */
#ifndef SHERD_KVSTORE_HISTORY_H
#define SHERD_KVSTORE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

/* One write: the name of a version. */
struct dot {
    uint64_t broker; /* the coordinator's incarnation: a hash of its node's uid and its number there */
    uint32_t epoch;  /* of it, and the key */
    uint64_t number; /* from 1 */
};

struct history_entry {
    struct dot dot;   /* all writes of this coordinator up to its number */
    uint64_t wall_s; /* when one of them was last written, or replaced: seconds since 1970 by the clock of who wrote */
};

/* Zero is an empty one. Entries are in order of coordinators. */
struct history {
    VEC(struct history_entry) entries;
};

enum history_order {
    HISTORY_SAME,
    HISTORY_BEFORE, /* the left one is a part of the right one */
    HISTORY_AFTER,
    HISTORY_CONCURRENT
};

void history_fini(struct history *history);
void history_copy(struct history *to, const struct history *from); /* to: initialised, replaced */
int dot_compare(const struct dot *left, const struct dot *right); /* by broker, epoch, number */
bool history_has(const struct history *history, const struct dot *dot);
bool history_knows(const struct history *history, const struct dot *dot); /* any write of that coordinator */
void history_add(struct history *history, const struct dot *dot,
                 uint64_t wall_s); /* and all of its coordinator before it; of two times the later one */
void history_merge(struct history *to, const struct history *from);
uint32_t history_union(const struct history *left,
                       const struct history *right); /* entries of their merge, before it is pruned */
enum history_order history_compare(const struct history *left,
                                   const struct history *right);
/* Drops the oldest entries: none while there are at most KVSTORE_HISTORY_SMALL, or the oldest is younger than KVSTORE_HISTORY_YOUNG_S;
 * then those older than KVSTORE_HISTORY_OLD_S, or above KVSTORE_HISTORY_BIG; above KVSTORE_HISTORY_MAX whatever their age; never those that
 * cover one of the `count` dots of `kept`, fewer than KVSTORE_HISTORY_MAX. A version that was replaced may be a sibling again afterwards;
 * none is lost. */
void history_prune(struct history *history, uint64_t wall_s,
                   const struct dot *kept, uint32_t count);

void history_put(const struct history *history, struct buf *buf); /* as bytes: docs/protocol/store.md */
bool history_get(struct cursor *cursor, struct history *history); /* false: malformed; history: initialised, replaced */

#endif
