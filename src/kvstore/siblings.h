/* Holds a replica's content of one key: the versions of which none replaces another, and the
 * history of all versions it ever took.
 *
 * A version is a value or a deletion, with the dot of its write. A write carries the history that
 * its writer had read and replaces the versions in it; others stay as siblings. A covered but
 * absent version was replaced. So in a merge a version stays if both sides have it, or if the other
 * side never had it.
 *
 * This requires that a coordinator sends its whole content with a write, and never reuses a dot
 * (history.h). Pure; callers use it to read answers. Dynamo (2007), section 4.4. */
#ifndef SHERD_KVSTORE_SIBLINGS_H
#define SHERD_KVSTORE_SIBLINGS_H

#include "kvstore/history.h"

struct version {
    struct dot dot;
    bool is_deletion;
    uint64_t wall_s;    /* time of the write by its coordinator's clock */
    uint64_t hash;      /* of the value */
    struct slice value; /* owned */
};

/* Zero is empty. Versions are in order of their dots. */
struct siblings {
    struct history history;
    VEC(struct version) versions;
    size_t size; /* bytes of the values */
};

void siblings_fini(struct siblings *siblings);
/* Replaces `to`, which is initialised. */
void siblings_copy(struct siblings *to, const struct siblings *from);
/* Replaces the versions in `seen`. value is copied; with is_deletion its data is null. False,
 * unchanged, if more than KVSTORE_SIBLINGS_PUT_MAX versions or KVSTORE_STATE_SIZE_MAX bytes would
 * result. */
bool siblings_write(struct siblings *siblings, const struct history *seen,
                    const struct dot *dot, uint64_t wall_s, bool is_deletion,
                    struct slice value);
/* False, unchanged, if more than KVSTORE_SIBLINGS_MAX versions or KVSTORE_STATE_SIZE_MAX bytes
 * would result. */
bool siblings_merge(struct siblings *to, const struct siblings *from);
/* Bytes of values, versions and clock, about as in memory. */
size_t siblings_size(const struct siblings *siblings);
/* Return the most bytes that a write or a merge would add; 0: none. */
size_t siblings_write_growth(const struct siblings *siblings,
                             const struct history *seen, const struct dot *dot,
                             struct slice value);
size_t siblings_merge_growth(const struct siblings *to,
                             const struct siblings *from);
bool siblings_equal(const struct siblings *left, const struct siblings *right);
uint32_t siblings_live(const struct siblings *siblings); /* versions that are values */
/* Seconds: of the latest deletion; 0: it has a value, or nothing. */
uint64_t siblings_deleted_at(const struct siblings *siblings);

/* As bytes, equal for equal content: docs/protocol/store.md. */
void siblings_put(const struct siblings *siblings, struct buf *buf);
/* False, with *siblings empty: malformed, beyond a limit, or a wrong hash of a value. siblings:
 * initialised, replaced. */
bool siblings_get(struct slice bytes, struct siblings *siblings);

#endif
