/* What a coordinator keeps in distributed data, and what waits until it is there: part of the coordinator, called by its files only.
 *
 * Each change has a number. A write carries all changes so far; those that come while it is on its way go together with the next one.
 * Nobody is told of a home, a region or a term before the write with it has succeeded; what is stored already is told meanwhile. */
#ifndef SHERD_SHARD_STATE_STORE_H
#define SHERD_SHARD_STATE_STORE_H

#include "base/gzip.h"
#include "base/vec.h"
#include "shard/coordinator.h"

struct shard;
struct registrant;
struct stored;

/* Neighbours in coordinator.shards, packed by themselves. */
struct kept_part {
    struct gzip_part homes;
    struct gzip_part fences;
    bool is_changed;
};

struct state_store {
    uint64_t version;        /* of the last change */
    uint64_t written;        /* up to this one all is stored */
    uint64_t writing;        /* with the write that is on its way */
    uint64_t state_version;  /* of the last change of homes or regions */
    uint64_t fences_version; /* of a term or a fence */
    uint64_t ticket;         /* of the last want */
    uint32_t failures;       /* in a row */
    uint32_t generation;     /* of the timer after one */
    bool is_read;
    bool is_anew;  /* there was a state that could not be read */
    bool wants;    /* coordinator_next_want has one */
    bool is_asked; /* its answer is to come */
    bool is_paused; /* after a failure, until the timer */
    bool hands_over; /* it ends: the next write goes to all, and is the last one */
    bool has_handed_over; /* that was answered, whatever with */
    bool is_hurry_due; /* who is asked has changed again: a timer begins `hurried` anew */
    uint64_t hurried;  /* ticket */
    uint64_t hurry_after; /* not before then */
    VEC(struct kept_part *) parts;
    VEC(struct gzip_part) regions; /* the same of coordinator.regions */
    uint32_t regions_packed; /* of those, as they are: up to a part's end */
    uint32_t pack_steps; /* in which the next write was packed, and is not whole yet; 0 = none */
    bool is_hasty; /* so many that it packs all in one */
    struct buf state; /* as written last */
    struct buf fences;
};

void state_store_init(struct coordinator *coordinator);
void state_store_fini(struct coordinator *coordinator);

/* Changes. */
void keep_shard(struct coordinator *coordinator, struct shard *shard);
void keep_region(struct coordinator *coordinator, struct registrant *region);
void keep_regions(struct coordinator *coordinator, uint32_t first); /* the one that was there is gone */
void keep_term(struct coordinator *coordinator);

bool is_kept(const struct coordinator *coordinator, uint64_t version);

/* Before it ends, what is stored goes to all members (of more than a hundred, to a majority that stays) once more: those that confirmed it may be on their way out, and the next coordinator
 * asks none who exits. True while that is under way: it is tried once. */
bool state_store_hands_over(struct coordinator *coordinator);

/* What was read becomes the coordinator's, as stored: it is not written again. */
void state_store_load(struct coordinator *coordinator, const struct stored *stored);

/* Asks for a write when there is something to write. At the end of every input. */
void state_store_settle(struct coordinator *coordinator);
/* Who was asked has changed: the answer is not waited for any longer, and what was under way begins anew. Of many changes at once the
 * first one does so at once, the others together with the timer. */
void state_store_hurry(struct coordinator *coordinator, uint64_t now);
void state_store_hurry_due(struct coordinator *coordinator, uint64_t now); /* the timer */
void state_store_resume(struct coordinator *coordinator, uint32_t generation); /* the timer */

#endif
