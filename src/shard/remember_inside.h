/* Declares what the files of the remembered entities share.
 * remember.c  the set, its writes and loads
 * remember_pace.c  restarts and their pace; timers
 * remember_moves.c  entities that belong to another shard
 * remember_others.c  changes of other nodes to a shared store */
#ifndef SHERD_SHARD_REMEMBER_INSIDE_H
#define SHERD_SHARD_REMEMBER_INSIDE_H

#include "base/map.h"
#include "shard/remember.h"
#include "shard/remember_keys.h"

#define REMEMBER_RECORD_VERSION 1
#define REMEMBER_WINDOW 16u /* PACED: size of the first batch */

/* In the set while stored, wanted or asked about. */
struct remembered {
    uint64_t token;  /* token of the last request */
    uint32_t due_at; /* place in dues, from 1; 0: none */
    uint32_t move_at; /* place in moves, from 1; 0: none */
    uint32_t slot;    /* place in slots, from 1: requested to move */
    uint8_t moves;    /* requests to move, since the shard is here */
    bool stored;     /* as last written or read */
    bool wanted;     /* owner's last request */
    bool asked;      /* the owner waits */
    bool leaves;     /* moved: not wanted, whatever a read finds; no answer is owed */
    /* lives, though other nodes removed it: wanted, whatever a read finds; no answer is owed */
    bool stays;
    bool is_there;   /* during remember_changed: the store has it */
    bool queued;
    bool flying;     /* in the present write */
    bool refused;    /* in that write: no room in the store */
    uint8_t id_size;
    uint8_t id[];
};

enum remember_state { REMEMBER_LOADING, REMEMBER_READY, REMEMBER_RELOADING };

struct remember_shard {
    enum remember_state state;
    bool waits;   /* LOADING, RELOADING: waits for the next try */
    bool writes;
    bool runs;
    bool is_late; /* the present operation was logged as slow */
    uint64_t due;    /* time of the valid timer */
    uint32_t failures; /* in a row */
    uint32_t parts;  /* stored parts since the newest base, with it; 0 = no base */
    struct map ids;  /* struct remembered, which own the keys */
    uint32_t of_key[REMEMBER_KEYS]; /* ids of each key (changes_only) */
    VEC(struct remembered *) queue;
    VEC(struct remembered *) flying;
    VEC(struct remembered *) dues;   /* to restart; null: removed */
    uint32_t due_head;
    VEC(struct remembered *) moves;  /* to move; null: removed */
    uint32_t move_head;
    bool is_mover;
};

struct remember_slot {
    struct remembered *entity;
    int32_t shard;
    uint32_t generation;
};

enum remember_timer {
    REMEMBER_TIMER_SHARD, /* id: shard_place */
    REMEMBER_TIMER_MOVE   /* id: slot */
};

/* --- remember.c --- */
/* Null if absent. */
struct remember_shard *remember_here(const struct remember *remember, int32_t shard);
struct remembered *remember_find(const struct remember_shard *at, struct slice id);
static inline struct slice remembered_id(const struct remembered *entity)
{
    return slice_of(entity->id, entity->id_size);
}
/* For an absent id; null at the limit. Copied. */
struct remembered *remember_add(struct remember *remember,
                                struct remember_shard *at, struct slice id);
void remember_queue_put(struct remember_shard *at, struct remembered *entity);
/* Writes the queue, unless withdrawn or a write is in progress. */
void remember_write_next(struct remember *remember, uint64_t now,
                         struct remember_shard *at, int32_t shard);
/* The entity is not wanted and no answer is owed. Writes its stop until it is stored or a start is
 * requested. */
void remember_drop_later(struct remember *remember, uint64_t now,
                         struct remember_shard *at, int32_t shard,
                         struct remembered *entity);
struct remember_shard *remember_shard_of(struct remember *remember,
                                         int32_t shard); /* null if absent; counts that */
void remember_tell(struct remember *remember, enum remember_news_kind kind,
                   int32_t shard, const struct remembered *entity); /* entity may be null */
/* At `due` the present operation counts as slow, or is tried again. */
void remember_watch(struct remember *remember, struct remember_shard *at,
                    int32_t shard, uint64_t due);

/* --- remember_pace.c --- */
void remember_due_put(struct remember *remember, struct remember_shard *at,
                      struct remembered *entity);
void remember_due_drop(struct remember *remember, struct remember_shard *at,
                       struct remembered *entity);
void remember_dues_drop(struct remember *remember, struct remember_shard *at);
/* The shard's due entities queue after those of other shards. */
void remember_line_up(struct remember *remember, uint64_t now,
                      const struct remember_shard *at, int32_t shard);

/* --- remember_moves.c --- */
void remember_move_drop(struct remember *remember, struct remember_shard *at,
                        struct remembered *entity);
void remember_moves_drop(struct remember *remember, struct remember_shard *at);
void remember_move_again(struct remember *remember, uint64_t now,
                         const struct timer *timer);

/* --- remember_others.c --- */
/* For an entity that lives, was stored and is not any more. */
void remember_store_again(struct remember *remember,
                          struct remembered *entity);

#endif
