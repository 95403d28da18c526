/* Stores a coordinator's state in distributed data and tracks which changes are stored. Part of the
 * coordinator, called by its files only.
 *
 * Each change has a number. A write carries all changes so far; changes during a write go into the
 * next one. The coordinator announces a home, a region or a term only after the write that contains
 * it has succeeded. Announcements that need no write continue meanwhile. */
#ifndef SHERD_SHARD_STATE_STORE_H
#define SHERD_SHARD_STATE_STORE_H

#include "base/gzip.h"
#include "base/vec.h"
#include "shard/coordinator.h"

struct shard;
struct registrant;
struct stored;

/* Neighbours in coordinator.shards, packed independently. */
struct kept_part {
    struct gzip_part homes;
    struct gzip_part fences;
    bool is_changed;
};

struct state_store {
    uint64_t version;        /* number of the last change */
    uint64_t written;        /* all changes up to this one are stored */
    uint64_t writing;        /* last change in the write that is in progress */
    uint64_t state_version;  /* last change of homes or regions */
    uint64_t fences_version; /* last change of a term or a fence */
    uint64_t ticket;         /* of the last request */
    uint32_t failures;       /* failures in a row */
    uint32_t generation;     /* generation of the timer after a failure */
    bool is_read;
    bool is_anew;  /* the stored state was unreadable */
    bool wants;    /* coordinator_next_want has a request */
    bool is_asked; /* an answer is pending */
    bool is_paused; /* waits for the timer after a failure */
    bool hands_over; /* the coordinator ends: the next write goes to all and is the last */
    bool has_handed_over; /* that write ended, in success or failure */
    bool is_hurry_due; /* the members changed again: a timer restarts the request `hurried` */
    uint64_t hurried;  /* its ticket */
    uint64_t hurry_after; /* earliest time of the next restart */
    VEC(struct kept_part *) parts;
    VEC(struct gzip_part) regions; /* packed parts of coordinator.regions */
    uint32_t regions_packed; /* regions whose packed form is current, up to a part's end */
    /* steps that have packed the next write, which is not complete; 0 = none */
    uint32_t pack_steps;
    bool is_hasty; /* too many steps: pack the rest in one */
    struct buf state; /* last written values */
    struct buf fences;
};

void state_store_init(struct coordinator *coordinator);
void state_store_fini(struct coordinator *coordinator);

/* Record changes. */
void keep_shard(struct coordinator *coordinator, struct shard *shard);
void keep_region(struct coordinator *coordinator, struct registrant *region);
/* Records a removal at `first`. */
void keep_regions(struct coordinator *coordinator, uint32_t first);
void keep_term(struct coordinator *coordinator);

bool is_kept(const struct coordinator *coordinator, uint64_t version);

/* Writes the stored state once more before the coordinator ends. The write goes to all members, or
 * to a majority that stays if there are more than a hundred. Members that confirmed earlier writes
 * may be leaving, and the next coordinator asks no exiting member. Tries once; returns true until
 * that has ended. */
bool state_store_hands_over(struct coordinator *coordinator);

/* Takes over the values that were read; they count as stored. */
void state_store_load(struct coordinator *coordinator, const struct stored *stored);

/* Requests a write if there is something to write. Ends every input. */
void state_store_settle(struct coordinator *coordinator);
/* The members that a request went to have changed: gives up on the answer and restarts the request.
 * The first of many changes restarts it at once; the others do so together, with the timer. */
void state_store_hurry(struct coordinator *coordinator, uint64_t now);
void state_store_hurry_due(struct coordinator *coordinator, uint64_t now); /* The timer. */
void state_store_resume(struct coordinator *coordinator, uint32_t generation); /* The timer. */

#endif
