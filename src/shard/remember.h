/* Tracks the remembered entities of one type on one lane: the set of each shard, which part is
 * stored, and which entities must still start.
 *
 * absent --begin--> LOADING --loaded--> READY --failed--> RELOADING --loaded--> READY
 * any --end--> absent
 *
 * The caller requests an entity's start before its first message, and its stop after its permanent
 * end. REMEMBER_KEPT and REMEMBER_FORGOTTEN report it stored. A shard has one write in progress;
 * later changes go together into the next one, withdrawn ones into none. After a failed write the
 * set is read again and missing changes are written, so no request is lost.
 *
 * A write has parts of bounded size (REMEMBER_WRITE, `more` in all but the last), for one commit.
 * After many parts the whole set follows as a base, which replaces all before it.
 *
 * After remember_run the entities restart (REMEMBER_RESTART): all at once, at a constant rate, or
 * paced. A paced batch follows when the last one has recovered: twice as large if the store was
 * fast or idle, else half as large and after a pause. After a second it follows anyway, half as
 * large.
 *
 * If the number of shards has changed, an entity may belong to another shard: remember_move.
 * REMEMBER_MOVE requests its start there until remember_moved; then its stop is stored here. A
 * shard here may be above the type's new number. */
#ifndef SHERD_SHARD_REMEMBER_H
#define SHERD_SHARD_REMEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/timers.h"
#include "base/trace.h"
#include "base/vec.h"

enum remember_strategy { REMEMBER_ALL, REMEMBER_CONSTANT, REMEMBER_PACED };

/* Zero means the default in brackets. */
struct remember_options {
    uint32_t shard_count;
    enum remember_strategy strategy;
    uint64_t frequency;      /* CONSTANT: ns between batches (100 ms) */
    uint32_t batch;          /* CONSTANT: entities in a batch (5) */
    uint64_t target;         /* PACED: ns for a read of the store (20 ms) */
    uint32_t part_ids;       /* changes in one part (100) */
    uint32_t base_after;     /* parts before a base, at least (1000) */
    /* no bases: the store keeps a set, and a read may return changes that failed */
    bool changes_only;
    uint64_t failure_backoff; /* longest pause after failures, ns (10 s); the first is 1 s */
    uint64_t load_timeout;   /* ns until a load is logged as slow (2 s) */
    uint64_t write_timeout;  /* the same for a write (5 s) */
    uint64_t move_again; /* ns until a move is requested again (2 s), doubles up to 16 times this */
    uint32_t moves_max; /* at most REMEMBER_MOVES_MAX; less if the buffers for moves are smaller */
    uint32_t ids_max;        /* at most REMEMBERED_MAX */
    struct trace *trace;     /* lent for its lifetime; may be null */
    const char *type;        /* in log lines; lent likewise */
    const struct shard_names *names; /* ids of its shards there; lent likewise; null: numbers */
};

enum remember_news_kind {
    /* read the records: remember_record for each, then remember_loaded or remember_failed */
    REMEMBER_LOAD = 1,
    REMEMBER_LOADED,
    /* store `record`; then remember_written or remember_failed, once for all parts */
    REMEMBER_WRITE,
    REMEMBER_KEPT,      /* token, id: start stored */
    REMEMBER_FORGOTTEN, /* token, id: stop stored */
    REMEMBER_REFUSED,   /* token, id: not remembered: at a limit, or no room in the store */
    REMEMBER_RESTART,   /* id: start it, or remember_move */
    REMEMBER_MOVE,      /* id: start it in its shard; then remember_moved */
};

struct remember_news {
    enum remember_news_kind kind;
    int32_t shard;
    bool is_base; /* WRITE, first part: replaces all before */
    bool more;    /* WRITE: another part follows */
    uint64_t token;
    struct slice id;     /* lent until the next call for `remember` */
    struct slice record; /* lent likewise */
};

struct remember_counters {
    uint64_t loads;
    uint64_t failures; /* of loads and writes */
    uint64_t writes;
    uint64_t bases;
    uint64_t kept;
    uint64_t forgotten;
    uint64_t restarted;
    uint64_t batches;  /* PACED: batches begun */
    uint64_t moved;    /* each once */
    uint64_t refused;
    uint64_t again;    /* stored again after other nodes removed them */
    uint64_t late;     /* found in changes of other nodes */
    uint64_t ignored;  /* calls for an absent shard */
};

struct remember_shard; /* private */
struct remember_slot;
struct remembered;

struct remember {
    struct remember_options options;
    VEC(struct remember_shard *) shards; /* by shard_place; null if absent */
    uint32_t ids;      /* in all sets */
    uint32_t dues;     /* waiting for a restart */
    VEC(int32_t) runs; /* shards with such ids, in order */
    uint32_t window;   /* PACED: size of the next batch */
    uint32_t budget;   /* restarts left in the batch */
    uint64_t reads;    /* PACED: reads measured before the batch */
    uint64_t alone;    /* PACED: ns of a single read; 0 = unknown, below any target */
    uint64_t single;   /* PACED: mean ns after a batch of one; else 0 */
    bool waits_for_store; /* PACED: the last batch was recovering */
    uint64_t batch_at; /* earliest time of the next batch */
    uint64_t batch_by; /* PACED: latest time of the next batch */
    VEC(int32_t) movers; /* shards with entities to move, in turn */
    uint32_t mover_at;
    VEC(struct remember_slot) slots; /* requested moves */
    VEC(uint32_t) slots_free;
    struct timers timers;
    VEC(struct remember_news) news; /* own copies of id and record */
    uint32_t news_head;
    struct remember_news last_news;
    struct remember_counters counters;
};

/* shard_count 0: an empty object for a type that remembers nothing; only fini, step and queries are
 * allowed. */
void remember_init(struct remember *remember,
                   const struct remember_options *options);
void remember_fini(struct remember *remember); /* zero is allowed */

/* --- a shard --- */

/* The fence is claimed: REMEMBER_LOAD follows, then REMEMBER_LOADED. A repeated call loads anew.
 * |shard| < SHARDS_MAX. */
void remember_begin(struct remember *remember, uint64_t now, int32_t shard);
/* Takes one stored record, in order, lent. False if malformed: the load must end with
 * remember_failed. */
bool remember_record(struct remember *remember, int32_t shard,
                     struct slice record);
void remember_loaded(struct remember *remember, uint64_t now, int32_t shard);
/* The store has no room for this start; called before remember_written. REMEMBER_REFUSED follows if
 * the owner waits. */
void remember_refuse(struct remember *remember, int32_t shard,
                     struct slice id);
/* A load or write failed; loads again after a pause. */
void remember_failed(struct remember *remember, uint64_t now, int32_t shard,
                     const char *why);
/* Takes changes of other nodes to the store (changes_only): its present ids of that key as a record
 * of starts, lent. Call it after the answers to all writes, and once after each remember_loaded;
 * earlier calls are ignored. An entity that lives here and is missing is stored again, because an
 * earlier home of the shard removed it late. An unknown one restarts as if it had been read. */
void remember_changed(struct remember *remember, uint64_t now, int32_t shard,
                      uint32_t key, struct slice record);
void remember_written(struct remember *remember, uint64_t now, int32_t shard);
void remember_run(struct remember *remember, uint64_t now, int32_t shard);
/* Its entities stop: no more REMEMBER_RESTART. */
void remember_halt(struct remember *remember, int32_t shard);
/* The shard has gone. Changes that are not stored are dropped. */
void remember_end(struct remember *remember, int32_t shard);

/* --- entities --- */

/* Called before an incarnation's first message, and after the permanent end. The answer has
 * `token`; an id has one open request at a time. Copied. */
void remember_start(struct remember *remember, uint64_t now, int32_t shard,
                    struct slice id, uint64_t token);
void remember_stop(struct remember *remember, uint64_t now, int32_t shard,
                   struct slice id, uint64_t token);

/* An entity of REMEMBER_RESTART belongs to another shard. Ignored before that news. Lent. */
void remember_move(struct remember *remember, uint64_t now, int32_t shard,
                   struct slice id);
/* The moved entity is remembered there. Ignored without a move. Lent. */
void remember_moved(struct remember *remember, uint64_t now, int32_t shard,
                    struct slice id);

/* --- time --- */

/* Load of the store, for PACED. */
struct remember_pressure {
    bool recovering;  /* part of the last batch still reads or waits for the store */
    uint64_t latency;    /* ns; 0 = unknown */
    uint64_t reads; /* reads measured so far; a batch without any does not wait for the store */
};

/* Call it each turn while remember_deadline is due. */
void remember_step(struct remember *remember, uint64_t now,
                   const struct remember_pressure *pressure);
uint64_t remember_deadline(const struct remember *remember);
bool remember_next_news(struct remember *remember, struct remember_news *news);

/* --- queries --- */

/* True if its start is stored, or requested without a later stop. */
bool remember_has(const struct remember *remember, int32_t shard,
                  struct slice id);
bool remember_is_ready(const struct remember *remember, int32_t shard);
uint32_t remember_count(const struct remember *remember, int32_t shard);

#endif
