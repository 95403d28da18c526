/* Defines the journal's internals, for its own files only.
 *
 *   journal.c   lifetime, requests, replies, news
 *   shards.c    claims and fences
 *   entities.c  the table of entities
 *   write.c     groups of events and their outcome
 *   replay.c    the queue of recoveries and their chunks
 *
 * A ref names a slot and its generation: (generation << 32 | index). A stale ref finds nothing. */
#ifndef SHERD_JOURNAL_STATE_H
#define SHERD_JOURNAL_STATE_H

#include "base/map.h"
#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "journal/journal.h"

/* First in, first out; zero is an empty one. */
struct refs {
    VEC(uint64_t) list;
    uint32_t head; /* those before it are taken */
};

enum shard_state {
    SHARD_CLAIM_DUE, /* in a queue, or waiting for its timer */
    SHARD_CLAIM_SENT,
    SHARD_CLAIMED,
    SHARD_FENCED, /* another owner has it */
};

struct shard {
    uint32_t index;
    uint32_t generation;
    uint32_t attempt;    /* failed claims in a row */
    uint32_t entity_count;
    enum shard_state state;
    bool next;     /* the backend chooses the fence */
    bool raising;  /* claimed, and being claimed with a higher fence */
    bool released; /* freed with its last entity */
    struct fence fence;
    struct fence wanted; /* at least fence */
    struct proof proof;  /* of the coordinator that ordered it */
    uint64_t group;       /* number of the group that group_index is in */
    uint32_t group_index;
    struct slice type;   /* own copies, as name */
    struct slice name;
    struct refs waiting; /* entities that wait for the claim */
};

enum entity_state {
    ENTITY_FREE,
    ENTITY_UNCLAIMED, /* waits for its shard's claim */
    ENTITY_UNSETTLED, /* waits for its own pending events */
    ENTITY_QUEUED,    /* waits for its turn to recover */
    ENTITY_REPLAYING,
    ENTITY_READY,
    ENTITY_FAILED,
    ENTITY_LEAVING, /* forgotten, with pending events */
};

struct entity {
    uint64_t handle;
    struct shard *shard;
    struct slice id;      /* persistence id */
    uint64_t key;         /* record_key(id) */
    uint64_t seq;         /* last number given, or replayed */
    uint64_t serial;      /* of the current replay */
    uint64_t group;       /* number of the group that group_index is in */
    uint64_t asked;       /* time of its pending request for a chunk, ns */
    uint64_t base;        /* shard's own stream: its newest base; 0 = none or unknown */
    uint64_t gap; /* seeking its base again: number found in place of the next event; else 0 */
    /* ref of the entity of the same id that waits for this one to leave; 0 = none */
    uint64_t follower;
    uint32_t group_index;
    uint64_t group_seq;   /* its first number in that group */
    uint32_t generation;
    uint32_t events; /* pending */
    uint32_t bytes;
    enum entity_state state;
    bool own;             /* the shard's own stream, not an entity's */
    bool seeks;           /* its last record, which names its base, is not read yet */
};

/* A chunk that is being handed out. */
struct chunk {
    struct journal_request *reply;
    uint64_t entity;
    uint32_t next;   /* index of the next record */
};

struct journal {
    struct journal_options options;
    struct rng rng;
    struct timers timers; /* retries: see enum timer_kind */
    struct journal_status status;

    struct map shard_table; /* text key -> struct shard */
    VEC(struct shard *) shards;
    VEC(uint32_t) shards_free;
    struct refs claims; /* shards to claim */
    struct refs raises; /* shards to claim again when no commit is out */
    uint32_t raising;   /* shards with that flag: no commit leaves meanwhile */
    struct buf scratch;

    VEC(struct entity) entities; /* slot 0 is unused */
    VEC(uint32_t) entities_free;
    VEC(uint32_t) leaving;
    uint32_t *handles; /* open addressing: entity index, 0 = free */
    uint32_t handle_capacity;
    uint32_t handle_count;

    struct journal_request *group; /* null = nothing collected */
    uint64_t group_number;       /* of that group; from 1 */
    bool in_flight;              /* a commit is out, or waits to be repeated */
    uint64_t flight_position;    /* last position in it */
    struct journal_request *repeat; /* outcome unknown */
    bool repeat_due;
    uint32_t repeat_attempt;

    struct refs recoveries; /* entities that wait for their turn */
    struct refs reads;      /* replaying entities that need a chunk */
    VEC(struct chunk) chunks;
    uint32_t chunk_head;
    uint64_t serial;

    VEC(struct journal_news) news; /* slices and text are own copies */
    uint32_t news_head;
    struct journal_news last_news; /* memory of the last news */
    bool has_last_news;
    uint64_t durable_reported;
};

enum timer_kind { TIMER_REPEAT = 1, TIMER_CLAIM };

/* journal.c */
void refs_push(struct refs *refs, uint64_t ref);
bool refs_take(struct refs *refs, uint64_t *ref);
struct slice copy_slice(struct slice slice); /* with a zero byte at the end */
void put_news(struct journal *journal, const struct journal_news *news,
              const char *text); /* slices are copied */
uint64_t retry_at(struct journal *journal, uint64_t now, uint32_t attempt);

/* shards.c */
struct shard *journal_shard_find(struct journal *journal, struct slice type,
                         struct slice name);
struct journal_request *shards_take_request(struct journal *journal);
void shards_reply(struct journal *journal, uint64_t now,
                  struct journal_request *reply);
void shards_timer(struct journal *journal, uint64_t ref);
void shard_fence(struct journal *journal, struct shard *shard,
                 struct fence stored); /* ends it and its entities here */
/* Removes one entity from its count. */
void shard_leave(struct journal *journal, struct shard *shard);
void shards_fini(struct journal *journal);

/* entities.c */
struct entity *entity_find(const struct journal *journal, uint64_t handle);
struct entity *entity_at(struct journal *journal, uint64_t ref);
uint64_t entity_ref(const struct journal *journal, const struct entity *entity);
struct entity *entity_new(struct journal *journal, uint64_t handle,
                          struct shard *shard, struct slice id);
void entity_forget(struct journal *journal, struct entity *entity);
void entity_fail(struct journal *journal, struct entity *entity,
                 enum journal_reason reason, const char *text);
void entity_settle(struct journal *journal, struct entity *entity,
                   uint32_t events, uint32_t bytes); /* counts off its pending events */
void entities_fini(struct journal *journal);

/* write.c */
struct journal_request *write_take_request(struct journal *journal);
void write_reply(struct journal *journal, uint64_t now,
                 struct journal_request *reply);
/* Removes its events from the collecting group. */
void write_drop(struct journal *journal, struct entity *entity);
void write_fini(struct journal *journal);

/* replay.c */
/* As soon as its conditions hold. */
void replay_start(struct journal *journal, struct entity *entity);
/* outcome: counts a replay that runs. */
void replay_stop(struct journal *journal, struct entity *entity, uint64_t *outcome);
struct journal_request *replay_take_request(struct journal *journal,
                                          uint64_t now);
void replay_reply(struct journal *journal, uint64_t now,
                  struct journal_request *reply);
bool replay_next(struct journal *journal, struct journal_news *news);
void replay_fini(struct journal *journal);

#endif
