/* Checks the versioned store (sherd/store.h) by the calls and answers of its clients.
 *
 *   store-quorum-read       with R + W > N, a read sees each write that W acknowledged before, or
 *                           its replacement, and nothing that the write replaced
 *   store-monotonic-read    with R1 + R2 > N, a read from R2 sees what an answered read from R1
 *                           found, even if unacknowledged, or its replacement, and nothing that it
 *                           replaced
 *   store-no-foreign-value  a read returns only values that were written to that key
 *   store-no-lost-write     an acknowledged write that no later one read is present at the end,
 *                           beside its siblings. It must have begun after the last end of a node,
 *                           because memory and acknowledgements in flight are lost with that
 *
 * The first two are judged while the replicas of keys stay the same (check_kvstore_calm). Writes
 * are numbered from 1; a value is its write's number. A deletion is a write without a value. */
#ifndef SHERD_SIM_CHECK_KVSTORE_H
#define SHERD_SIM_CHECK_KVSTORE_H

#include <stdbool.h>
#include <stdint.h>

struct check_kvstore;
struct verdict;

enum check_kvstore_end {
    CHECK_STORE_DONE,     /* by as many replicas as it asked for */
    CHECK_STORE_DOUBTFUL, /* replicas may have it */
    CHECK_STORE_REFUSED   /* no replica has it */
};

/* A read, made by check_kvstore_read_begun. */
struct check_kvstore_read {
    uint32_t key;
    uint32_t node;
    uint32_t replicas; /* R */
    uint64_t begun;    /* by the checker's own count of events */
    uint64_t epoch;    /* 0: it began while members came or went */
};

/* verdict lent; replicas: N */
struct check_kvstore *check_kvstore_new(struct verdict *verdict, uint32_t replicas);
void check_kvstore_free(struct check_kvstore *check);
uint32_t check_kvstore_key(struct check_kvstore *check); /* a new one, from 0 */
/* Returns the write's number. seen: the distinct values of its context, copied. replicas: W. */
uint64_t check_kvstore_write_begun(struct check_kvstore *check, uint32_t key,
                                 uint32_t replicas, bool is_deletion,
                                 const uint64_t *seen, uint32_t count);
void check_kvstore_write_ended(struct check_kvstore *check, uint64_t number,
                             enum check_kvstore_end end);
struct check_kvstore_read check_kvstore_read_begun(const struct check_kvstore *check,
                                               uint32_t key, uint32_t node,
                                               uint32_t replicas);
/* R replicas answered with these values. */
void check_kvstore_read_ended(struct check_kvstore *check,
                            const struct check_kvstore_read *read,
                            const uint64_t *values, uint32_t count);
/* The same for a final read from all replicas without open calls; judges store-no-lost-write,
 * too. */
void check_kvstore_final(struct check_kvstore *check,
                       const struct check_kvstore_read *read,
                       const uint64_t *values, uint32_t count);
/* a node sees other members: ends the epoch */
void check_kvstore_changed(struct check_kvstore *check);
/* all have seen the same members long enough: begins an epoch if none is open */
void check_kvstore_calm(struct check_kvstore *check);
void check_kvstore_lost(struct check_kvstore *check);    /* a node ended with its memory */

struct check_kvstore_counts {
    uint64_t writes;
    uint64_t quorums; /* writes that a read had to see */
    uint64_t again;   /* those that an earlier read found */
    uint64_t finals;  /* writes that had to be present at the end */
};
struct check_kvstore_counts check_kvstore_counts(const struct check_kvstore *check);

#endif
