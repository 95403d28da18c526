/* The insides shared by the files of the remembered entities.
 *
 *   remember.c       what is remembered: the set, what is written and loaded
 *   remember_pace.c  who starts again, and when; and time
 *   remember_moves.c  who belongs to another shard
 *   remember_others.c  what others change of a store that they have, too */
#ifndef SHERD_SHARD_REMEMBER_INSIDE_H
#define SHERD_SHARD_REMEMBER_INSIDE_H

#include "base/map.h"
#include "shard/remember.h"
#include "shard/remember_keys.h"

#define REMEMBER_RECORD_VERSION 1
#define REMEMBER_WINDOW 16u /* PACED: of the first batch */

/* An entity of a shard. It is in the set while it is stored, wanted, or asked about. */
struct remembered {
    uint64_t token;  /* of who asked */
    uint32_t due_at; /* place in due, counted from 1; 0: it is not to be restarted */
    uint32_t move_at; /* the same in moves; 0: it does not wait to be moved */
    uint32_t slot;    /* the same in slots: it was asked to move */
    uint8_t moves;    /* so often, in this life of its shard */
    bool stored;     /* as far as is known: what was written last, or read */
    bool wanted;     /* what its owner asked for last */
    bool asked;      /* its owner waits for an answer */
    bool leaves;     /* it has moved: not wanted any more, whatever a read finds; nobody waits for an answer */
    bool stays;      /* it lives, and others have taken it out: wanted, whatever a read finds; nobody waits for an answer */
    bool is_there;   /* only while changes of others are looked at: they have it */
    bool queued;
    bool flying;     /* in the write under way */
    bool refused;    /* of that write: the store has no place for its start */
    uint8_t id_size;
    uint8_t id[];
};

enum remember_state { REMEMBER_LOADING, REMEMBER_READY, REMEMBER_RELOADING };

struct remember_shard {
    enum remember_state state;
    bool waits;   /* LOADING, RELOADING: for the time of the next try */
    bool writes;  /* a write is under way */
    bool runs;
    bool is_late; /* what is under way was logged as late */
    uint64_t due;    /* of the timer that counts */
    uint32_t failures; /* in a row */
    uint32_t parts;  /* stored since the newest base, with it; 0 = there is none */
    struct map ids;  /* struct remembered; keys lie in them */
    uint32_t of_key[REMEMBER_KEYS]; /* how many of them, where others change the store, too (changes_only) */
    VEC(struct remembered *) queue;  /* changes for the next write */
    VEC(struct remembered *) flying;
    VEC(struct remembered *) dues;   /* to be restarted; null: taken out */
    uint32_t due_head;
    VEC(struct remembered *) moves;  /* to be asked to; null: taken out */
    uint32_t move_head;
    bool is_mover; /* it is among the movers */
};

/* A move that was asked for. */
struct remember_slot {
    struct remembered *entity; /* null: it is free */
    int32_t shard;
    uint32_t generation;
};

enum remember_timer {
    REMEMBER_TIMER_SHARD, /* id: its place */
    REMEMBER_TIMER_MOVE   /* id: a slot */
};

/* --- remember.c --- */
struct remember_shard *remember_here(const struct remember *remember, int32_t shard); /* null when it is not */
struct remembered *remember_find(const struct remember_shard *at, struct slice id);
static inline struct slice remembered_id(const struct remembered *entity)
{
    return slice_of(entity->id, entity->id_size);
}
/* Of an id that is absent; null at the limit. Copied. */
struct remembered *remember_add(struct remember *remember,
                                struct remember_shard *at, struct slice id);
/* Its change goes out with the next write. */
void remember_queue_put(struct remember_shard *at, struct remembered *entity);
/* What was queued goes out, unless it has been taken back, or a write is under way. */
void remember_write_next(struct remember *remember, uint64_t now,
                         struct remember_shard *at, int32_t shard);
/* It is not wanted any more, and nobody waits to hear of that. Written until it is stored, or until a start is asked for. */
void remember_drop_later(struct remember *remember, uint64_t now,
                         struct remember_shard *at, int32_t shard,
                         struct remembered *entity);
struct remember_shard *remember_shard_of(struct remember *remember,
                                         int32_t shard); /* null when it is not here, counted */
void remember_tell(struct remember *remember, enum remember_news_kind kind,
                   int32_t shard, const struct remembered *entity); /* entity: may be null */
/* From `due` on what is under way is late, or what waits is tried again. */
void remember_watch(struct remember *remember, struct remember_shard *at,
                    int32_t shard, uint64_t due);

/* --- remember_pace.c --- */
void remember_due_put(struct remember *remember, struct remember_shard *at,
                      struct remembered *entity);
void remember_due_drop(struct remember *remember, struct remember_shard *at,
                       struct remembered *entity);
void remember_dues_drop(struct remember *remember, struct remember_shard *at);
/* Once it runs: those that are due wait for their turn behind other shards'. */
void remember_line_up(struct remember *remember, uint64_t now,
                      const struct remember_shard *at, int32_t shard);

/* --- remember_moves.c --- */
void remember_move_drop(struct remember *remember, struct remember_shard *at,
                        struct remembered *entity); /* it does not move any more */
void remember_moves_drop(struct remember *remember, struct remember_shard *at);
void remember_move_again(struct remember *remember, uint64_t now,
                         const struct timer *timer); /* REMEMBER_TIMER_MOVE */

/* --- remember_others.c --- */
/* It lives here, was stored, and is not any more: to be queued. */
void remember_store_again(struct remember *remember,
                          struct remembered *entity);

#endif
