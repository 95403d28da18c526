/* What an N/R/W store may answer, judged from what its callers did and heard (sherd/store.h, behaviour 10.8).
 *
 *   store-quorum-read  a read of R + W > N sees every write that was acknowledged by W before it began, or one that had read it; and nothing that such a
 *       write had read. Judged while the replicas of keys stay the same: see check_kvstore_calm
 *   store-no-foreign-value  nothing is read that was not written to that key
 *   store-monotonic-read  what a read of R1 found, a read of R2 that began after the answer finds, too, or what replaced it, and nothing that it had replaced,
 *       when R1 + R2 > N: also what nobody has acknowledged. Judged as store-quorum-read
 *   store-no-lost-write  what was acknowledged and has been read by no later write is there in the end, beside all its siblings. Judged of what
 *       began after the last end of a node: memory is lost with it, and an acknowledgement may be under way when those who gave it end
 *
 * Writes are numbered by it, from 1; a value is its write's number. Deletions are writes without a value. */
#ifndef SHERD_SIM_CHECK_KVSTORE_H
#define SHERD_SIM_CHECK_KVSTORE_H

#include <stdbool.h>
#include <stdint.h>

struct check_kvstore;
struct verdict;

enum check_kvstore_end {
    CHECK_STORE_DONE,     /* by as many as it asked for */
    CHECK_STORE_DOUBTFUL, /* it may be there */
    CHECK_STORE_REFUSED   /* it is not */
};

/* A read, made by check_kvstore_read_begun. */
struct check_kvstore_read {
    uint32_t key;
    uint32_t node;
    uint32_t replicas; /* R */
    uint64_t begun;    /* by the checker's own count of events */
    uint64_t epoch;    /* 0: it began while members came or went */
};

struct check_kvstore *check_kvstore_new(struct verdict *verdict, uint32_t replicas); /* verdict lent; replicas: N */
void check_kvstore_free(struct check_kvstore *check);
uint32_t check_kvstore_key(struct check_kvstore *check); /* a new one, from 0 */
/* seen: the values that its context came with, none twice; copied. replicas: W. Returns its number. */
uint64_t check_kvstore_write_begun(struct check_kvstore *check, uint32_t key,
                                 uint32_t replicas, bool is_deletion,
                                 const uint64_t *seen, uint32_t count);
void check_kvstore_write_ended(struct check_kvstore *check, uint64_t number,
                             enum check_kvstore_end end);
struct check_kvstore_read check_kvstore_read_begun(const struct check_kvstore *check,
                                               uint32_t key, uint32_t node,
                                               uint32_t replicas);
/* It was answered by R replicas, with these values. */
void check_kvstore_read_ended(struct check_kvstore *check,
                            const struct check_kvstore_read *read,
                            const uint64_t *values, uint32_t count);
/* The same of a read of all replicas, in the end, with nothing under way: store-no-lost-write, too. */
void check_kvstore_final(struct check_kvstore *check,
                       const struct check_kvstore_read *read,
                       const uint64_t *values, uint32_t count);
void check_kvstore_changed(struct check_kvstore *check); /* somebody sees other members than before: an epoch ends */
void check_kvstore_calm(struct check_kvstore *check);    /* all have seen the same members for long enough: an epoch begins, if none is */
void check_kvstore_lost(struct check_kvstore *check);    /* a node ended, with its memory */

struct check_kvstore_counts {
    uint64_t writes;
    uint64_t quorums; /* writes that a read had to see, or see the end of */
    uint64_t again;   /* the same, of values that a read before had found */
    uint64_t finals;  /* writes that had to be there in the end */
};
struct check_kvstore_counts check_kvstore_counts(const struct check_kvstore *check);

#endif
