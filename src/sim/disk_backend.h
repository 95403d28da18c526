/* A store on a simulated disk, one for all nodes of a world, as one database.
 *
 * A request takes a while to get here; writes that wait are joined into one
 * group, which is written behind the log (sim/disk_log.h) and synced. They are
 * DONE only after a sync that succeeded, FAILED only when they are certainly not
 * written, UNKNOWN when nobody knows. Content is a book in memory
 * (journal/book.h), made afresh from the log when the store is opened. After a
 * write or a sync that failed the next group takes the same place, so that its
 * own sync covers all of it; and an opened store writes and syncs the last
 * group once more before it serves it: nothing is taken for durable that only a
 * cache may hold.
 *
 * Writes are answered in the order of arrival, reads in theirs; what one node
 * asks arrives in its order. Who calls: the world, with its time, which never
 * goes back. */
#ifndef SHERD_SIM_DISK_BACKEND_H
#define SHERD_SIM_DISK_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "journal/book.h"
#include "journal/backend.h"
#include "sim/disk.h"

struct disk_backend;

/* Told what happens; null members are skipped. Everything is lent for the call. */
struct disk_backend_observer {
    void *user;
    /* A node has left a request; it is back there (about to be returned). */
    void (*asked)(void *user, uint32_t node,
                  const struct journal_request *request);
    void (*answered)(void *user, uint32_t node,
                     const struct journal_request *request);
    /* A group is durable: its requests with their results, and its changes as the book lists them. */
    void (*committed)(void *user, const struct book *book,
                      struct journal_request *const *requests, uint32_t count);
    /* The log was read after a reopen; this is what it holds. */
    void (*opened)(void *user, const struct book *book);
    void (*node_gone)(void *user, uint32_t node);
};

struct disk_backend_counters {
    uint64_t groups;    /* committed */
    uint64_t requests;  /* in them */
    uint64_t replays;
    uint64_t failed;    /* requests answered as failed */
    uint64_t unknown;   /* requests answered with an unknown outcome */
    uint64_t lost;      /* requests of nodes that went before these had arrived */
    uint64_t reopens;
    uint64_t log_size;  /* bytes */
};

/* An empty store of a cluster on an empty disk, open. rng: for the disk, and for
 * the ways to and from the store. Each way takes way_mean ns on average, but
 * way_min at least. */
struct disk_backend *disk_backend_new(const char *cluster, struct rng disk_rng,
                                  struct rng rng, uint64_t way_min,
                                  uint64_t way_mean);
void disk_backend_free(struct disk_backend *store); /* with all its requests; null is fine */
/* After the first ones; at most DISK_STORE_OBSERVERS_MAX. Copied. */
#define DISK_STORE_OBSERVERS_MAX 4
void disk_backend_observe(struct disk_backend *store,
                        const struct disk_backend_observer *observer);
struct disk *disk_backend_disk(struct disk_backend *store); /* to set its faults; lent */
const struct disk_backend_counters *
disk_backend_counters(const struct disk_backend *store);

/* --- requests --- */

/* Gives a request of a node to the store. */
void disk_backend_submit(struct disk_backend *store, uint64_t now, uint32_t node,
                       struct journal_request *request);
uint64_t disk_backend_deadline(const struct disk_backend *store); /* when to call disk_backend_next_done; NEVER */
/* The next request that is back at its node, given; null when none is by now. */
struct journal_request *disk_backend_next_done(struct disk_backend *store,
                                           uint64_t now, uint32_t *node);
/* The node's process is gone: no answer goes out. Of its requests that have not
 * arrived all still do, or, after a crash, a first part. Before the node's next
 * life submits. */
void disk_backend_drop(struct disk_backend *store, uint64_t now, uint32_t node,
                     bool crashed);

/* --- faults; those of the disk: disk_set_faults --- */

/* Ends the store's process: as a loss of power, or as a kill, which leaves the
 * disk's cache. The group under way and what waits come back as UNKNOWN, all
 * that comes later as FAILED, until disk_backend_reopen. */
void disk_backend_power_loss(struct disk_backend *store, uint64_t now);
void disk_backend_kill(struct disk_backend *store, uint64_t now);
/* Starts it again; it serves when it has read its log, which takes time and is
 * tried again when the disk fails. Nothing happens when it runs. */
void disk_backend_reopen(struct disk_backend *store, uint64_t now);
bool disk_backend_serves(const struct disk_backend *store);
/* It has given something to its disk that is not synced yet: a loss of power now takes any part of it. */
bool disk_backend_is_writing(const struct disk_backend *store);
/* Why it does not open: its log is damaged. Null when that is not so. */
const char *disk_backend_damage(const struct disk_backend *store);
void disk_backend_hold(struct disk_backend *store, bool on);   /* no answer goes out */
void disk_backend_refuse(struct disk_backend *store, bool on); /* all that arrives is FAILED */

/* What is committed, as the store knows it; null while it is down or opens. Lent
 * until the next call. */
const struct book *disk_backend_book(const struct disk_backend *store);
/* What a store would hold that is opened after a loss of power now, when the
 * disk keeps nothing that was not synced: read from the disk, which stays as it
 * is. The caller's; null when the log is damaged. */
struct book *disk_backend_durable(struct disk_backend *store, uint64_t now);

#endif
