/* Simulates a journal backend on a disk, shared by all nodes of a world like one database.
 *
 * A request takes time to arrive. Waiting writes join into one group, which is appended to the log
 * (sim/disk_log.h) and synced. They are DONE only after a successful sync, FAILED only if they are
 * certainly not written, and otherwise UNKNOWN. The content is a book in memory (journal/book.h),
 * rebuilt from the log at every opening.
 *
 * Only synced data counts as durable, never what may be in a cache only. So after a failed write or
 * sync the next group takes the same place, and its own sync covers it completely. An opened
 * backend writes and syncs the last group once more before it serves.
 *
 * Writes are answered in the order of arrival, and so are reads. Requests of one node arrive in
 * their order. The world calls with its own time, which never decreases. */
#ifndef SHERD_SIM_DISK_BACKEND_H
#define SHERD_SIM_DISK_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "journal/book.h"
#include "journal/backend.h"
#include "sim/disk.h"

struct disk_backend;

/* Null members are skipped. Everything is lent for the call. */
struct disk_backend_observer {
    void *user;
    /* A node has sent a request; the answer is back there and about to be returned. */
    void (*asked)(void *user, uint32_t node,
                  const struct journal_request *request);
    void (*answered)(void *user, uint32_t node,
                     const struct journal_request *request);
    /* A group is durable: its requests with their results, and its changes as the book lists
     * them. */
    void (*committed)(void *user, const struct book *book,
                      struct journal_request *const *requests, uint32_t count);
    /* The log was read after a reopen; the book has its content. */
    void (*opened)(void *user, const struct book *book);
    void (*node_gone)(void *user, uint32_t node);
};

struct disk_backend_counters {
    uint64_t groups;    /* committed */
    uint64_t requests;  /* in them */
    uint64_t replays;
    uint64_t failed;    /* requests answered as failed */
    uint64_t unknown;   /* requests answered with an unknown outcome */
    uint64_t lost;      /* requests that had not arrived when their node ended */
    uint64_t reopens;
    uint64_t log_size;  /* bytes */
};

/* Opens an empty backend of a cluster on an empty disk. rng draws the delays of requests and
 * answers: way_mean ns each on average, at least way_min. */
struct disk_backend *disk_backend_new(const char *cluster, struct rng disk_rng,
                                  struct rng rng, uint64_t way_min,
                                  uint64_t way_mean);
void disk_backend_free(struct disk_backend *store); /* with all its requests; null is allowed */
/* Adds an observer after the earlier ones; at most DISK_STORE_OBSERVERS_MAX. Copied. */
#define DISK_STORE_OBSERVERS_MAX 4
void disk_backend_observe(struct disk_backend *store,
                        const struct disk_backend_observer *observer);
struct disk *disk_backend_disk(struct disk_backend *store); /* lent, to set its faults */
const struct disk_backend_counters *
disk_backend_counters(const struct disk_backend *store);

/* --- requests --- */

/* Gives a node's request to the backend. */
void disk_backend_submit(struct disk_backend *store, uint64_t now, uint32_t node,
                       struct journal_request *request);
/* when to call disk_backend_next_done; or NEVER */
uint64_t disk_backend_deadline(const struct disk_backend *store);
/* Returns the next request that is back at its node, given; null if there is none yet. */
struct journal_request *disk_backend_next_done(struct disk_backend *store,
                                           uint64_t now, uint32_t *node);
/* Ends a node's process: it gets no answers. Its requests in flight all arrive, or only a first
 * part after a crash. Call it before the node's next incarnation submits. */
void disk_backend_drop(struct disk_backend *store, uint64_t now, uint32_t node,
                     bool crashed);

/* --- faults of the process; for those of the disk see disk_set_faults --- */

/* Ends the backend's process by a loss of power, or by a kill, which keeps the disk's cache. The
 * running group and waiting requests come back as UNKNOWN, all later ones as FAILED, until
 * disk_backend_reopen. */
void disk_backend_power_loss(struct disk_backend *store, uint64_t now);
void disk_backend_kill(struct disk_backend *store, uint64_t now);
/* Starts it again. It serves after reading its log, which takes time and is repeated if the disk
 * fails. No effect while it runs. */
void disk_backend_reopen(struct disk_backend *store, uint64_t now);
bool disk_backend_serves(const struct disk_backend *store);
/* Whether its disk has unsynced writes: a loss of power now takes any part of them. */
bool disk_backend_is_writing(const struct disk_backend *store);
/* Returns why it cannot open its damaged log; null if it is not damaged. */
const char *disk_backend_damage(const struct disk_backend *store);
void disk_backend_hold(struct disk_backend *store, bool on);   /* sends no answers */
/* every arriving request is FAILED */
void disk_backend_refuse(struct disk_backend *store, bool on);

/* Returns the committed content as the backend knows it; null while it is down or opens. Lent until
 * the next call. */
const struct book *disk_backend_book(const struct disk_backend *store);
/* Reads from the disk what a backend would hold after a loss of power now that takes all unsynced
 * writes. The disk stays as it is. The caller frees the result; null if the log is damaged. */
struct book *disk_backend_durable(struct disk_backend *store, uint64_t now);

#endif
