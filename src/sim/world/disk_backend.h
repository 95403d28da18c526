/* Simulates a journal backend on a disk, shared by all nodes of a world like one database.
 *
 * Waiting writes join into one group, which is appended to the log (disk_log.h) and synced.
 * They are DONE only after a successful sync, FAILED only if certainly not written, otherwise
 * UNKNOWN. The content is a book in memory (journal/book.h), rebuilt from the log at every opening.
 *
 * Only synced data counts as durable. After a failed write or sync the next group takes the same
 * place, so its sync covers it completely. An opened backend writes and syncs the last group once
 * more before it serves.
 *
 * Writes are answered in the order of arrival, and so are reads. Requests of one node arrive in
 * their order. Time never decreases. */
#ifndef SHERD_SIM_WORLD_DISK_BACKEND_H
#define SHERD_SIM_WORLD_DISK_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "journal/book.h"
#include "journal/backend.h"
#include "sim/world/disk.h"

struct disk_backend;

/* Null members are skipped. Everything is lent for the call. */
struct disk_backend_observer {
    void *user;
    /* A node has sent a request; its answer is back there. */
    void (*asked)(void *user, uint32_t node,
                  const struct journal_request *request);
    void (*answered)(void *user, uint32_t node,
                     const struct journal_request *request);
    /* A group is durable, with its requests and, in the book, its changes. */
    void (*committed)(void *user, const struct book *book,
                      struct journal_request *const *requests, uint32_t count);
    /* The log was read after a reopen. */
    void (*opened)(void *user, const struct book *book);
    void (*node_gone)(void *user, uint32_t node);
    /* A server took over that lacks the last commits. */
    void (*rewound)(void *user, const struct book *book);
};

struct disk_backend_counters {
    uint64_t groups;    /* committed */
    uint64_t requests;  /* in them */
    uint64_t replays;
    uint64_t failed;
    uint64_t unknown;
    uint64_t lost;      /* not arrived when their node ended */
    uint64_t reopens;
    uint64_t log_size;  /* bytes */
};

/* Opens an empty backend on an empty disk. rng draws the delays of requests and answers: way_mean
 * ns each on average, at least way_min. */
struct disk_backend *disk_backend_new(const char *cluster, struct rng disk_rng,
                                  struct rng rng, uint64_t way_min,
                                  uint64_t way_mean);
void disk_backend_free(struct disk_backend *store); /* may be null */
/* At most DISK_STORE_OBSERVERS_MAX, called in order. Copied. */
#define DISK_STORE_OBSERVERS_MAX 5
void disk_backend_observe(struct disk_backend *store,
                        const struct disk_backend_observer *observer);
struct disk *disk_backend_disk(struct disk_backend *store); /* lent */
const struct disk_backend_counters *
disk_backend_counters(const struct disk_backend *store);

/* --- requests --- */

void disk_backend_submit(struct disk_backend *store, uint64_t now, uint32_t node,
                       struct journal_request *request);
uint64_t disk_backend_deadline(const struct disk_backend *store); /* or NEVER */
/* Returns the next request that is back at its node, given; null: none. */
struct journal_request *disk_backend_next_done(struct disk_backend *store,
                                           uint64_t now, uint32_t *node);
/* Ends a node's process, which gets no more answers. Its requests in flight all arrive, or after a
 * crash only a first part. Call it before the next incarnation submits. */
void disk_backend_drop(struct disk_backend *store, uint64_t now, uint32_t node,
                     bool crashed);

/* --- faults of the process; for those of the disk see disk_set_faults --- */

/* Ends the backend's process; a kill keeps the disk's cache. Running and waiting requests come back
 * as UNKNOWN, later ones as FAILED, until disk_backend_reopen. */
void disk_backend_power_loss(struct disk_backend *store, uint64_t now);
void disk_backend_kill(struct disk_backend *store, uint64_t now);
/* Starts it again unless it runs. It serves after reading its log, which it repeats if the disk
 * fails. */
void disk_backend_reopen(struct disk_backend *store, uint64_t now);
bool disk_backend_serves(const struct disk_backend *store);
/* Whether a loss of power now hits unsynced writes. */
bool disk_backend_is_writing(const struct disk_backend *store);
/* The damage of its log; null: none. */
const char *disk_backend_damage(const struct disk_backend *store);
void disk_backend_hold(struct disk_backend *store, bool on);   /* sends no answers */
void disk_backend_refuse(struct disk_backend *store, bool on); /* every request is FAILED */

/* The committed content; null while it is down or opens. Lent until the next call. */
const struct book *disk_backend_book(const struct disk_backend *store);
/* Reads from the disk what would remain if power went now with all unsynced writes. The caller
 * frees the result; null if the log is damaged. */
struct book *disk_backend_durable(struct disk_backend *store, uint64_t now);

#endif
