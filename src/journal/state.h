/* Defines the journal's internals, for its own files only.
 *
 *   journal.c   lifetime, requests, replies
 *   news.c      queues
 *   shards.c    claims and fences
 *   entities.c  the table of entities
 *   write.c     groups of events and their outcome
 *   replay.c    the queue of recoveries and their chunks
 *   snapshots.c  the choice of a recovery's snapshot
 *   saving.c    snapshots on their way to the backend, and deletion of the events behind them
 *   saving_queue.c  the queue of these snapshots
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

enum recovery_step {
    RECOVERY_LOAD,  /* reads the newest snapshot up to `below` */
    RECOVERY_CHECK, /* reads the events from its number on */
    RECOVERY_DROP,  /* deletes snapshots above the last event */
    RECOVERY_EVENTS, /* has no snapshot, or was given it */
};

#define RECOVERY_TRIED_MAX 160

/* The choice of a snapshot by an entity that recovers. */
struct recovery {
    enum recovery_step step;
    uint64_t below; /* LOAD: highest number wanted */
    uint64_t seq;   /* of the snapshot */
    struct journal_request *loaded; /* its bytes; null: none */
    uint32_t version;
    struct slice part, image;
    uint32_t refused;
    char why[RECOVERY_TRIED_MAX]; /* of the last refused one */
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
    struct recovery *recovery; /* of an entity with snapshots that recovers; else null */
    uint32_t group_index;
    uint64_t group_seq;   /* its first number in that group */
    uint32_t generation;
    uint32_t events; /* pending */
    uint32_t bytes;
    enum entity_state state;
    bool own;             /* the shard's own stream, not an entity's */
    bool saves;           /* recovers by its snapshots */
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
    VEC(struct saving *) savings; /* snapshots in order; the first one may be at the backend */
    size_t savings_size;
    bool saving_is_out;
    uint64_t saving_said; /* ns: the last warning; 0: none */
};

enum timer_kind { TIMER_REPEAT = 1, TIMER_CLAIM };

/* news.c */
void refs_push(struct refs *refs, uint64_t ref);
bool refs_take(struct refs *refs, uint64_t *ref);
struct slice copy_slice(struct slice slice); /* with a zero byte at the end */
void put_news(struct journal *journal, const struct journal_news *news,
              const char *text); /* slices are copied */
/* Takes the next queued news, as journal_next_news; false: none is queued. */
bool news_take(struct journal *journal, struct journal_news *news);
void news_fini(struct journal *journal);
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
/* Ends its recovery at a damaged record or a gap. */
void replay_damaged(struct journal *journal, struct entity *entity, const char *text);
void replay_fini(struct journal *journal);

/* snapshots.c */
void recovery_begin(struct entity *entity);
void recovery_end(struct entity *entity);
/* The entity has taken its snapshot: frees the bytes. */
void recovery_given(struct entity *entity);
/* The request of its present step, or null in RECOVERY_EVENTS. */
struct journal_request *recovery_request(const struct entity *entity);
enum recovery_answer {
    RECOVERY_GOES_ON, /* another request follows; the reply is not needed */
    RECOVERY_KEEPS,   /* likewise, and the reply belongs to the recovery */
    RECOVERY_GIVES,   /* news is its snapshot; the reply has the events from *next on */
};
/* Handles the answer to the request of its present step, except in RECOVERY_EVENTS. */
enum recovery_answer recovery_take(struct journal *journal, struct entity *entity,
                                   struct journal_request *reply, uint32_t *next,
                                   struct journal_news *news);
/* The snapshot is refused: an older one follows. */
void recovery_refuse(struct journal *journal, struct entity *entity, const char *why);

/* saving_queue.c */
enum saving_step { SAVING_WAITS, SAVING_STORES, SAVING_VERIFIES, SAVING_TRIMS };

/* A snapshot on its way to the backend. */
struct saving {
    enum saving_step step;
    uint64_t entity; /* ref */
    uint64_t handle;
    uint64_t key;
    uint64_t seq;
    uint64_t position; /* of its event, or a later one of the lane */
    uint64_t oldest;   /* number of the oldest snapshot that stays */
    struct fence fence; /* of the shard when the image was taken */
    struct slice type, shard, id; /* own copies */
    struct buf bytes;
    uint32_t keep;
    bool trims;
    uint64_t keep_events;
};

/* Given. The oldest ones that are not at the backend go if there is no room. */
void saving_put(struct journal *journal, struct saving *saving);
void saving_remove(struct journal *journal, uint32_t at);
/* Frees the bytes, which are stored. */
void saving_empty(struct journal *journal, struct saving *saving);
/* Drops the entity's snapshots that are not at the backend. */
void saving_drop(struct journal *journal, uint64_t entity);
void saving_fini(struct journal *journal);

/* saving.c */
struct journal_request *saving_take_request(struct journal *journal, uint64_t now);
bool saving_owns(const struct journal_request *reply); /* it answers a request of saving.c */
void saving_reply(struct journal *journal, uint64_t now, struct journal_request *reply);

#endif
