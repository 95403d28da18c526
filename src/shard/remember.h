/* The remembered entities of one type on one lane: for each shard that is here the set of its entities, what of it is stored, and which of
 * them are still to be started. Lane machine. Behaviour 17.2, 17.6, 19.
 *
 *   absent --begin--> LOADING --loaded--> READY --failed--> RELOADING --loaded--> READY
 *   any --end--> absent
 *
 * An entity's start is asked for (remember_start) before its first message is delivered, its stop (remember_stop) when it has ended for
 * good; REMEMBER_KEPT and REMEMBER_FORGOTTEN tell when that is stored. One write of a shard is under way at a time; what is asked for
 * meanwhile goes into the next one together, and what was taken back meanwhile into none. A write that failed is found out about by
 * loading anew, then what is missing is written: nothing that was asked for is lost.
 *
 * A write comes in parts of bounded size (REMEMBER_WRITE, `more` in all but the last); all parts of one write belong into one commit. After
 * many parts the whole set is written as a base, which replaces what was stored before.
 *
 * After remember_run the loaded entities are told one by one (REMEMBER_RESTART): all, so many in a time, or paced: the next batch when
 * the last one has recovered, twice as large when the store answered within the target or was not asked, half as large and after a pause
 * when not; a second after the last one in any case, half as large.
 *
 * One that belongs to another shard, since the number of shards is another one than when it was stored, is given back with remember_move:
 * REMEMBER_MOVE asks for its start there, again and again until remember_moved says that it is remembered there; then its stop is stored
 * here. So may a shard be that the type has not any more: one whose number is above its others. */
#ifndef SHERD_SHARD_REMEMBER_H
#define SHERD_SHARD_REMEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/timers.h"
#include "base/trace.h"
#include "base/vec.h"

enum remember_strategy { REMEMBER_ALL, REMEMBER_CONSTANT, REMEMBER_PACED };

/* 0: the default in brackets. */
struct remember_options {
    uint32_t shard_count; /* of the type */
    enum remember_strategy strategy;
    uint64_t frequency;      /* CONSTANT: ns between two batches (100 ms) */
    uint32_t batch;          /* CONSTANT: entities in one (5) */
    uint64_t target;         /* PACED: ns that a read of the store may take (20 ms) */
    uint32_t part_ids;       /* changes in one part (100) */
    uint32_t base_after;     /* parts after which a base is written, at the earliest (1000) */
    bool changes_only;       /* no bases: the store keeps a set, not records, and what it failed to store may be read from it */
    uint64_t failure_backoff; /* ns from a failure to the next try, at most (10 s); the first wait is of 1 s */
    uint64_t load_timeout;   /* ns after which a load that lasts is logged (2 s) */
    uint64_t write_timeout;  /* the same of a write (5 s) */
    uint64_t move_again;     /* ns after which a move that nobody acknowledged is asked for again (2 s), doubled up to 16 times that */
    uint32_t moves_max;      /* REMEMBER_MOVES_MAX, or less, where the buffers in which they wait have room for fewer */
    uint32_t ids_max;        /* REMEMBERED_MAX, or less */
    struct trace *trace;     /* lent for life; may be null */
    const char *type;        /* of lines in it; lent for life */
};

enum remember_news_kind {
    REMEMBER_LOAD = 1,  /* read the shard's records: remember_record for each, then remember_loaded or remember_failed */
    REMEMBER_LOADED,    /* its set is here */
    REMEMBER_WRITE,     /* store `record`; then remember_written or remember_failed, once for all parts */
    REMEMBER_KEPT,      /* token, id: its start is stored */
    REMEMBER_FORGOTTEN, /* token, id: its stop is stored */
    REMEMBER_REFUSED,   /* token, id: there are too many, or no place for it: it is not remembered */
    REMEMBER_RESTART,   /* id: start it, if it does not run; or remember_move */
    REMEMBER_MOVE,      /* id: start it in the shard to which it belongs; then remember_moved */
};

struct remember_news {
    enum remember_news_kind kind;
    int32_t shard;
    bool is_base; /* WRITE: of the first part: what was stored before is replaced */
    bool more;    /* WRITE: another part follows */
    uint64_t token;
    struct slice id;     /* lent until the next call on remember */
    struct slice record; /* the same */
};

struct remember_counters {
    uint64_t loads;
    uint64_t failures; /* loads and writes */
    uint64_t writes;
    uint64_t bases;
    uint64_t kept;     /* starts stored */
    uint64_t forgotten;
    uint64_t restarted;
    uint64_t batches;  /* PACED: that have begun */
    uint64_t moved;    /* to other shards, each once */
    uint64_t refused;
    uint64_t again;    /* stored again, since others had taken them out */
    uint64_t late;     /* found by what others changed, and not by a read */
    uint64_t ignored;  /* calls for shards that are not here */
};

struct remember_shard; /* private */
struct remember_slot;
struct remembered;

struct remember {
    struct remember_options options;
    VEC(struct remember_shard *) shards; /* by shard_place; null when absent */
    uint32_t ids;      /* in all sets */
    uint32_t dues;     /* of them, that wait for their restart */
    VEC(int32_t) runs; /* shards with such, in order */
    uint32_t window;   /* PACED: of the next batch */
    uint32_t budget;   /* restarts left in this batch */
    uint64_t reads;    /* PACED: measured when it began */
    uint64_t alone;    /* PACED: ns that one read takes when there is no other; 0 = not known, and below any target */
    uint64_t single;   /* PACED: ns of the mean after the last batch, if that was one of one; else 0 */
    bool waits_for_store; /* PACED: the last batch was recovering at the last step */
    uint64_t batch_at; /* PACED, CONSTANT: the next batch not before this */
    uint64_t batch_by; /* PACED: the next batch by this, whatever recovers */
    VEC(int32_t) movers; /* shards with entities to be moved, asked in turns */
    uint32_t mover_at;   /* whose turn it is */
    VEC(struct remember_slot) slots; /* moves that were asked for */
    VEC(uint32_t) slots_free;
    struct timers timers;
    VEC(struct remember_news) news; /* id and record own copies */
    uint32_t news_head;
    struct remember_news told; /* what the last news lent */
    struct remember_counters counters;
};

/* The shards' entities of a type that remembers nothing need none of this: options->shard_count 0 makes an empty one, on which only
 * fini, step and the lookers may be called. */
void remember_init(struct remember *remember,
                   const struct remember_options *options);
void remember_fini(struct remember *remember); /* zero is fine */

/* --- a shard --- */

/* Its fence is claimed: REMEMBER_LOAD follows, then REMEMBER_LOADED. Again: forgets what it had and loads anew. |shard| < SHARDS_MAX. */
void remember_begin(struct remember *remember, uint64_t now, int32_t shard);
/* One stored record, in order; lent. False: it is malformed, the load must end with remember_failed. */
bool remember_record(struct remember *remember, int32_t shard,
                     struct slice record);
void remember_loaded(struct remember *remember, uint64_t now, int32_t shard);
/* Before remember_written: the store has no place for this start, of the write under way. REMEMBER_REFUSED follows where its owner waits. */
void remember_refuse(struct remember *remember, int32_t shard,
                     struct slice id);
/* A load or a write failed; loaded anew after a back-off. */
void remember_failed(struct remember *remember, uint64_t now, int32_t shard,
                     const char *why);
/* Of a store that others change, too (changes_only): what it has now of the ids of that key (remember_key_of), a record of starts, behind the answers to
 * all writes that it was told of. Who lives here and is not among them is stored again: somebody who had the shard before has taken it out, and
 * that came late. Who is among them and unknown here was put in by such a one, and is restarted as if it had been read. To be called once after
 * each remember_loaded, too: what came before it is not looked at. Lent. */
void remember_changed(struct remember *remember, uint64_t now, int32_t shard,
                      uint32_t key, struct slice record);
/* The write that was told last is stored. */
void remember_written(struct remember *remember, uint64_t now, int32_t shard);
/* Entities may start here: begins with REMEMBER_RESTART. */
void remember_run(struct remember *remember, uint64_t now, int32_t shard);
/* Its entities are being stopped: no more REMEMBER_RESTART. */
void remember_halt(struct remember *remember, int32_t shard);
/* It is not here any more. What is not stored is given up. */
void remember_end(struct remember *remember, int32_t shard);

/* --- entities --- */

/* Before the first message of an incarnation, and after its end for good. token: given back with the answer. At most one of both is
 * unanswered for an id. Copied. */
void remember_start(struct remember *remember, uint64_t now, int32_t shard,
                    struct slice id, uint64_t token);
void remember_stop(struct remember *remember, uint64_t now, int32_t shard,
                   struct slice id, uint64_t token);

/* An entity that REMEMBER_RESTART has told belongs to another shard. Of one that is still to be told, or does not move, neither call does
 * anything. Lent. */
void remember_move(struct remember *remember, uint64_t now, int32_t shard,
                   struct slice id);
/* It is started and remembered there. Lent. */
void remember_moved(struct remember *remember, uint64_t now, int32_t shard,
                    struct slice id);

/* --- time --- */

/* How busy the store is, for PACED. */
struct remember_pressure {
    bool recovering;  /* some of the last batch still read the store, or wait for their turn. Others do not count: of a busy lane some always do */
    uint64_t latency;    /* ns that a read takes; 0 = not known */
    uint64_t reads;      /* so many were measured: when a batch has made none, the store is not what it waits for */
};

/* To be called in every turn while remember_deadline is due. */
void remember_step(struct remember *remember, uint64_t now,
                   const struct remember_pressure *pressure);
uint64_t remember_deadline(const struct remember *remember);
bool remember_next_news(struct remember *remember, struct remember_news *news);

/* --- to look at --- */

/* Is this entity's start stored, or asked for and no stop since? */
bool remember_has(const struct remember *remember, int32_t shard,
                  struct slice id);
bool remember_is_ready(const struct remember *remember, int32_t shard); /* its set is here */
uint32_t remember_count(const struct remember *remember, int32_t shard);

#endif
