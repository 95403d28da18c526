/* Implements vector clocks of versioned values: the number of known writes of each coordinator of a
 * key.
 * A coordinator is a broker's incarnation with an epoch for the key. A broker that forgot its
 * writes begins a new epoch, so a number never means two writes. Pruning follows Riak
 * (docs/protocol/store.md). */
#ifndef SHERD_KVSTORE_HISTORY_H
#define SHERD_KVSTORE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/vec.h"

/* One write: the name of a version. */
struct dot {
    /* the coordinator's incarnation: a hash of its node's uid and its actor's number */
    uint64_t broker;
    uint32_t epoch;  /* of this broker and the key */
    uint64_t number; /* from 1 */
};

struct history_entry {
    struct dot dot;   /* covers all its writes up to this number */
    /* last written, or used to replace: seconds since 1970 by the writer's clock */
    uint64_t wall_s;
};

/* Zero is an empty one. Entries are in order of coordinators. */
struct history {
    VEC(struct history_entry) entries;
};

enum history_order {
    HISTORY_SAME,
    HISTORY_BEFORE, /* left is a part of right */
    HISTORY_AFTER,
    HISTORY_CONCURRENT
};

void history_fini(struct history *history);
/* Replaces `to`, which is initialised. */
void history_copy(struct history *to, const struct history *from);
int dot_compare(const struct dot *left, const struct dot *right); /* by broker, epoch, number */
bool history_has(const struct history *history, const struct dot *dot);
/* Any write of that coordinator. */
bool history_knows(const struct history *history, const struct dot *dot);
/* With all its coordinator's earlier writes; keeps the later of two times. */
void history_add(struct history *history, const struct dot *dot,
                 uint64_t wall_s);
void history_merge(struct history *to, const struct history *from);
uint32_t history_union(const struct history *left,
                       const struct history *right); /* entries of their merge, before pruning */
enum history_order history_compare(const struct history *left,
                                   const struct history *right);
/* Drops the oldest entries. None while there are at most KVSTORE_HISTORY_SMALL, or the oldest is
 * younger than KVSTORE_HISTORY_YOUNG_S; then those older than KVSTORE_HISTORY_OLD_S, or beyond
 * KVSTORE_HISTORY_BIG; beyond KVSTORE_HISTORY_MAX at any age. Never those that cover a dot of
 * `kept`, fewer than KVSTORE_HISTORY_MAX. A replaced version may then return as a sibling. */
void history_prune(struct history *history, uint64_t wall_s,
                   const struct dot *kept, uint32_t count);

/* As bytes: docs/protocol/store.md. */
void history_put(const struct history *history, struct buf *buf);
/* False: malformed; history: initialised, replaced. */
bool history_get(struct cursor *cursor, struct history *history);

#endif
