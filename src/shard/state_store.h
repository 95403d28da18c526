/* Stores a coordinator's state in distributed data and tracks which changes are stored. Part of the
 * coordinator.
 *
 * Each change has a number. A write carries all changes so far; changes during a write go into the
 * next one. The coordinator announces a home, a region or a term after its write has succeeded. */
#ifndef SHERD_SHARD_STATE_STORE_H
#define SHERD_SHARD_STATE_STORE_H

#include "base/gzip.h"
#include "base/probe.h"
#include "base/vec.h"
#include "shard/coordinator.h"

/* smaller parts repeat region refs more often, larger ones cost more at each change */
#define PART_SHARDS 256

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
    uint64_t writing;        /* in the present write */
    uint64_t state_version;  /* last change of homes or regions */
    uint64_t fences_version; /* last change of a term or a fence */
    uint64_t ticket;         /* of the last request */
    uint32_t failures;       /* in a row */
    uint32_t generation;     /* of the timer after a failure */
    bool is_read;
    bool is_anew;  /* the stored state was unreadable */
    bool wants;    /* a request waits */
    bool is_asked;
    bool is_paused; /* until the timer after a failure */
    bool hands_over; /* the next write is the last, and goes to all */
    bool has_handed_over; /* the last write has ended */
    bool is_hurry_due; /* a timer restarts request `hurried` */
    uint64_t hurried;
    uint64_t hurry_after; /* no restart before */
    VEC(struct kept_part *) parts;
    VEC(struct gzip_part) regions; /* coordinator.regions, packed */
    uint32_t regions_packed; /* count that is packed and current, up to a part's end */
    uint32_t pack_steps; /* steps of the present packing; 0 = none */
    bool is_hasty; /* packs the rest in one step */
    struct buf state; /* last written values */
    struct buf fences;
};

/* state_changes.c */
void keep_shard(struct coordinator *coordinator, struct shard *shard);
void keep_region(struct coordinator *coordinator, struct registrant *region);
void keep_regions(struct coordinator *coordinator, uint32_t first); /* a removal at `first` */
void keep_term(struct coordinator *coordinator);

bool is_kept(const struct coordinator *coordinator, uint64_t version);

/* state_load.c */

/* Takes over the values that were read; they count as stored. */
void state_store_load(struct coordinator *coordinator, const struct stored *stored);

/* state_store.c */
void state_store_init(struct coordinator *coordinator);
void state_store_fini(struct coordinator *coordinator);
void state_store_probe(const struct coordinator *coordinator,
                       enum probe_kind kind, uint64_t ticket,
                       struct slice bytes);

/* Starts the last write, to all members, or to a majority if there are over a hundred. Earlier
 * confirmations may be from leaving members, which the next coordinator does not ask. Returns true
 * until the write has ended. */
bool state_store_hands_over(struct coordinator *coordinator);

/* Requests a write if needed. Ends every input. */
void state_store_settle(struct coordinator *coordinator);
/* The members behind a request have changed: restarts it. The first of many changes does so at
 * once, the others together, with the timer. */
void state_store_hurry(struct coordinator *coordinator, uint64_t now);
void state_store_hurry_due(struct coordinator *coordinator, uint64_t now);
void state_store_resume(struct coordinator *coordinator, uint32_t generation);

#endif
