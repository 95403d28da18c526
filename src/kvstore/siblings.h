/* What a replica holds of one key: the versions of which none replaces another, and the history of all that it ever took in.
 *
 * A version is a value, or the mark of a deletion, with the dot of the write that made it. A write has the history that its writer
 * had read, and replaces the versions that are in it; those that are not stay beside it, as siblings. What was once taken in and is
 * here no more was replaced. That decides a merge: a version stays when both sides have it, or when the other side never had it.
 *
 * It holds as long as a coordinator sends all that it has of the key with its own write, and never reuses a dot: history.h. Pure;
 * used by the broker, and on the caller's side to read answers. Seed 001 ("Versioned"), behaviour 10.8; Dynamo, section 4.4. */
#ifndef SHERD_KVSTORE_SIBLINGS_H
#define SHERD_KVSTORE_SIBLINGS_H

#include "kvstore/history.h"

struct version {
    struct dot dot;
    bool is_deletion;
    uint64_t wall_s;    /* when it was written, by its coordinator's clock */
    uint64_t hash;      /* of the value */
    struct slice value; /* owned */
};

/* Zero is nothing. Versions are in order of their dots. */
struct siblings {
    struct history history;
    VEC(struct version) versions;
    size_t size; /* bytes of the values */
};

void siblings_fini(struct siblings *siblings);
void siblings_copy(struct siblings *to, const struct siblings *from); /* to: initialised, replaced */
/* A write: replaces what is in `seen`. value copied; null data with is_deletion. False: KVSTORE_SIBLINGS_PUT_MAX versions would be
 * left, or more than KVSTORE_STATE_SIZE_MAX bytes; nothing is changed. */
bool siblings_write(struct siblings *siblings, const struct history *seen,
                    const struct dot *dot, uint64_t wall_s, bool is_deletion,
                    struct slice value);
/* Takes in what another replica has. False: it would be more than KVSTORE_SIBLINGS_MAX versions or KVSTORE_STATE_SIZE_MAX bytes; nothing
 * is changed. */
bool siblings_merge(struct siblings *to, const struct siblings *from);
size_t siblings_size(const struct siblings *siblings); /* bytes of values, versions and clock, about as in memory */
/* How many bytes a write or a merge would add to that at most; 0: none. */
size_t siblings_write_growth(const struct siblings *siblings,
                             const struct history *seen, const struct dot *dot,
                             struct slice value);
size_t siblings_merge_growth(const struct siblings *to,
                             const struct siblings *from);
bool siblings_equal(const struct siblings *left, const struct siblings *right);
uint32_t siblings_live(const struct siblings *siblings); /* versions that are values */
uint64_t siblings_deleted_at(const struct siblings *siblings); /* seconds: of the latest deletion; 0: it has a value, or nothing */

void siblings_put(const struct siblings *siblings, struct buf *buf); /* as bytes, equal for equal ones: docs/protocol/store.md */
/* False: malformed, beyond a limit, or a value does not have its hash; then *siblings is empty. siblings: initialised, replaced. */
bool siblings_get(struct slice bytes, struct siblings *siblings);

#endif
