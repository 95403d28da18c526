/* Declares the inside of a lane's actors: slots, extras, tables, and what the files of this folder
 * call in each other.
 *
 * One slot is one cache line. The rare parts (timers, watches, persistence, messages after a stop)
 * are in an extra, made on demand. Slots and extras never move: a pointer is valid until the object
 * is freed. */
#ifndef SHERD_ACTOR_INSIDE_H
#define SHERD_ACTOR_INSIDE_H

#include "actor/actors.h"
#include "actor/effects.h"
#include "actor/incarnation.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"

#define PENDING_MAX 128
#define ID_INLINE 16
#define MESSAGE_CLASSES 9
#define MESSAGE_CLASS_LARGE 8 /* malloc'ed for one message, freed anywhere */
#define STATE_CLASSES 32      /* larger states are malloc'ed */
/* Small, because a simulated cluster has thousands of lanes that host little. */
#define SLOT_CHUNK 64u
#define EXTRA_CHUNK 16u
#define ENTRY_CHUNK 64u

enum slot_status {
    /* ACTORS_REQUEST_REPLAY is out; a plain actor: its spawner has events that are not durable */
    SLOT_FREE,
    SLOT_RECOVERING,
    SLOT_ALIVE,
    SLOT_STOPPING, /* has its stop message, but has not returned SHERD_STOP */
    SLOT_ENDING,   /* wants to end; its last events are not durable yet */
    SLOT_BACKOFF,  /* no incarnation: its start failed and will be repeated */
    SLOT_REMEMBERING, /* its start is being stored */
    SLOT_FORGETTING,  /* its stop is being stored */
    /* ended by itself, is remembered, and starts again later or with the next message */
    SLOT_RESTARTING
};

/* How a remembered entity ends. */
enum slot_leaving {
    LEAVES_BY_ITSELF, /* restarts */
    LEAVES_IDLE,      /* stays remembered */
    LEAVES_SURPLUS,   /* its shard has too many active entities */
    LEAVES_FOR_GOOD   /* by sherd_passivate: it is forgotten */
};

enum slot_flag {
    FLAG_QUEUED = 1,
    FLAG_STARTED_DUE = 2, /* SHERD_STARTED is not handled yet */
    FLAG_MARKED = 4,      /* a MESSAGE_STOPPING is in the mailbox */
    FLAG_PARKED = 8,      /* waits for room in the journal */
    FLAG_UNDURABLE = 16,  /* has events that are not durable: its effects wait */
    FLAG_FAILED = 32,
    FLAG_PERSISTENT = 64,
    FLAG_ENTITY = 128
};

struct slot {
    struct message *last; /* mailbox, a ring: last->next is the first; null = empty */
    void *state;
    uint32_t generation; /* of this incarnation, 24 bits, never 0 */
    uint32_t waiting;    /* messages in the mailbox and in extra.behind */
    uint32_t row;        /* of an entity: its shard's */
    uint32_t row_index;  /* place in row->slots; of a free slot: the next free one */
    uint32_t extra;
    uint16_t behavior;
    uint16_t touched; /* tick of its type at its last message through sharding */
    uint16_t asks;    /* with open jobs */
    uint8_t id_size;
    uint8_t status;
    uint8_t flags;
    uint8_t leaving; /* enum slot_leaving */
    uint8_t is_ranked; /* it counts for the limit of its shard */
    uint8_t is_reserved; /* RECOVERING: its actor is not spawned yet */
    union {
        char id[ID_INLINE];
        char *far_id; /* if id_size > ID_INLINE; with a zero byte */
    };
};

struct extra {
    uint64_t seq;
    uint64_t tried_seq; /* event of the last snapshot that was taken, or failed; 0: none */
    uint64_t saved_seq; /* of the newest one that is stored */
    union {
        uint64_t position;   /* of the last event, or EVENT_REFUSED */
        uint64_t recover_at; /* RECOVERING: since then; ns */
    };
    /* effects in order of emission; their positions (`at`) never decrease */
    struct message *held_first;
    struct message *held_last;
    struct message *behind; /* STOPPING: messages for the next incarnation, a ring as slot.last */
    uint32_t held_count, held_bytes;
    uint32_t event_count; /* not durable */
    union {
        uint32_t event_bytes; /* theirs */
        uint32_t replayed;    /* RECOVERING: events so far */
    };
    uint32_t timers;
    uint32_t timer_count;
    uint32_t watching; /* first watch by this actor, 0 = none */
    uint32_t watchers; /* first watch of this actor */
    struct delivery *delivery; /* delivery/book.h; owned; null: none */
    char *fault; /* owned; why the entity rejected an event when it last tried to start; or null */
    uint32_t attempts; /* failed starts in a row */
    uint32_t own_kib;  /* by sherd_entity_bytes; KiB */
    uint32_t next;
    bool is_refused; /* ENDING: an event of its last call was refused */
    bool is_asked_for; /* BACKOFF: messages ended because of `fault` */
};

/* An interned behavior; each entity type has its own. */
struct behavior {
    struct sherd_behavior face;
    uint32_t mailbox_max;
    uint16_t type; /* TYPE_NONE: plain */
    uint16_t tick;    /* time in units of tick_ns */
    uint16_t looked;  /* tick of the last look for idle entities */
    uint16_t idle_ticks; /* so many without a message are too many */
    uint64_t idle_interval; /* ns between two looks; 0: each tick */
    uint64_t tick_ns; /* an eighth of idle_ms or less, at least 1 ms; 0: never idle */
    uint64_t look_at; /* ns */
};

struct type {
    bool known;
    bool remembers;
    uint16_t behavior;
    uint32_t stop_msg;
    uint32_t shards;
    struct shard_rule rule;
    uint32_t running;
    bool is_daemon;           /* daemon.c */
    uint32_t daemon_revision; /* the earliest that may start */
    uint32_t *rows; /* by shard + shards; 0 = not here */
    const struct passivation_settings *passivation; /* lent; null: no limit */
    struct active_limit limit; /* of each shard */
    uint64_t long_replay_said; /* ns: the last warning; 0: none */
    const struct sherd_upcast *upcasts; /* lent */
    uint32_t upcast_count;
    uint32_t keep_snapshots; /* at least 1 */
    bool deletes_events;
    uint64_t keep_events;
    uint64_t save_failed_said; /* ns: the last warning; 0: none */
    bool delivery_said; /* the warning that nothing starts its entities again */
    struct type_figures figures; /* starts, stops, handlers */
    char name[SHERD_TYPE_MAX + 1];
};

struct strategy; /* passivation/strategy.h */
struct ranks;

enum row_state { ROW_FREE, ROW_CLOSED, ROW_OPEN, ROW_STOPPING };

struct row {
    uint8_t state;
    uint16_t type;
    bool over; /* the deadline has passed, nothing is read any more */
    int32_t shard;
    uint64_t deadline; /* 0: its entities are being visited */
    VEC(uint32_t) slots;
    struct strategy *strategy; /* owned; null: its active entities have no limit */
    uint64_t bytes; /* active entities and mailboxes; counted if counts_bytes */
};

enum entry_kind { ENTRY_FREE, ENTRY_ASK, ENTRY_TIMER, ENTRY_FIRED, ENTRY_BACKOFF, ENTRY_DELIVERY };

/* Links by number; numbers below WHEEL_BUCKETS are the heads of the wheel's lists. */
struct neighbours {
    uint32_t next, prev;
};

/* An ask, a timer or a back-off that waits for time; 32 bytes. */
struct entry {
    union {
        struct neighbours places; /* in its bucket; next: in the free list */
        struct message *message; /* FIRED: the timer's message in the mailbox */
    };
    uint32_t slot;
    uint32_t generation;
    uint32_t tag;
    uint32_t due; /* low 32 bits of the tick, ms */
    union {
        uint32_t number;    /* ASK: upper half of the ask's number, changes with each use */
        uint32_t next_of_actor; /* TIMER, FIRED */
    };
    union {
        uint16_t peer; /* ASK */
        uint16_t laps; /* TIMER: ACTOR_TIMER_MS_MAX passes this often before it expires */
    };
    uint8_t stage;
    uint8_t kind : 7;
    bool may_fail : 1; /* ASK: ends if the receiver's node is unreachable */
};

#define WHEEL_LEVELS 4
#define WHEEL_BUCKETS (WHEEL_LEVELS * 256u)

struct wheel {
    struct neighbours *heads;
    struct entry **chunks; /* entries, numbered after the heads */
    uint32_t chunk_count;
    uint32_t used;  /* ever used, plus the heads */
    uint32_t free;
    uint32_t count; /* in buckets */
    uint64_t tick;  /* last one fired */
    uint64_t next;  /* next one at which a bucket needs a look; UINT64_MAX if all are empty */
    uint64_t bits[WHEEL_LEVELS][4]; /* buckets that may have entries */
};

/* One watch. At least one of watcher and watched is an actor of this lane. */
struct watch {
    struct sherd_ref watcher;
    struct sherd_ref watched;
    uint32_t by_next, by_prev; /* list of the local watcher */
    uint32_t of_next, of_prev; /* list of the local watched actor */
    uint32_t chain;            /* or free list */
    uint8_t by_linked, of_linked;
};

struct watches {
    VEC(struct watch) items;
    uint32_t free;
    uint32_t count;
    uint32_t *buckets;
    uint32_t bucket_count;
};

struct cluster_role {
    char *role;
    struct node_id leader;
};

struct subscriber {
    uint64_t actor;
    uint32_t events;
    bool waits;  /* for a state: as events if wants_events */
    bool wants_events;
    bool hears;  /* it has the state and receives changes */
    bool missed; /* a change found no room: it receives the state anew */
};

/* cluster.c. The lane's knowledge of the cluster, and its subscribers. */
struct view {
    VEC(struct cluster_member) members; /* sorted by node */
    VEC(struct cluster_role) roles;     /* sorted by name */
    VEC(char *) centers; /* unreachable data centers */
    VEC(struct subscriber) subscribers;
    struct node_id leader;
    bool wanted;     /* ACTORS_REQUEST_CLUSTER is out, and CLUSTER_IN_STEP is awaited */
    bool in_step;
    bool stopped;
    uint32_t missed;
};

/* data.c. A subscriber of a key of distributed data. */
struct follower {
    uint64_t actor;
    uint32_t tag;
    bool missed; /* a change found no room */
    char *key; /* owned */
};

/* Entity table: open addressing; upper half: hash of type and id, lower half: slot; 0 = free. */
struct table {
    uint64_t *cells;
    uint32_t mask;
    uint32_t count;
    uint64_t puts;
};

struct chain {
    struct message *first, *last;
};

/* An event in the journal that is not durable. */
struct stored {
    uint64_t position;
    uint32_t slot;
    uint32_t generation;
    uint32_t bytes;
};

struct news_item {
    enum actors_news_kind kind;
    union actors_news_values values;
    uint8_t text_size;
    uint64_t actor;
    char *text; /* owned; null if empty */
};

/* A node that the lane has a number for: actors_peer. */
struct numbered_node {
    uint64_t node;
    char *text;
};

/* The context that receive is given. */
struct sherd_ctx {
    struct actors *actors;
    struct slot *slot; /* null outside receive */
    struct message *message; /* the one being handled; null for those without memory */
    struct sherd_ref self;
    uint32_t index;
    uint8_t wants_undelivered;
    bool answered; /* or forwarded */
    bool store_failed;
    bool save_due; /* a snapshot, when receive has returned */
    bool stores; /* this call has appended an event, or had one refused; then the next two count */
    uint64_t kept_seq; /* of the entity's last event of earlier calls */
    uint64_t kept_position; /* of that event */
    char refused_why[EVENT_FAULT_MAX]; /* store_failed: for the log and for askers */
    uint64_t asked; /* number of the last ask; 0: it was refused */
    char id[SHERD_ID_MAX + 1];
    char shard[SHARD_TEXT_MAX];
};

/* A lease that control has granted to an actor, the holder, which binds another actor to it. */
struct leased {
    uint64_t holder;
    uint64_t actor; /* 0: none is bound, or it has ended */
    uint64_t until;
    uint32_t provider;
};

struct actors {
    struct actors_settings settings;
    uint64_t now;
    int64_t wall_ms;
    uint64_t node;
    uint32_t lane;
    struct sherd_ctx ctx;

    /* memory.c */
    struct message *free_messages[MESSAGE_CLASSES];
    uint8_t *bump;
    uint8_t *bump_end;
    VEC(void *) chunks;
    size_t chunk_size;  /* for messages and states */
    uint64_t message_bytes; /* made for messages so far: in use and free */
    uint64_t large_bytes; /* in mailboxes */
    bool full; /* no room for more messages: tells are refused */
    bool closed;
    uint64_t memory;   /* malloc'ed for slots, slabs, tables */
    struct chain *returns; /* by lane */
    void *free_states[STATE_CLASSES + 1];
    struct slot **slot_chunks;
    uint32_t slot_chunk_count;
    uint32_t slot_used; /* ever used, with 0 */
    uint32_t slot_free;
    struct extra **extra_chunks;
    uint32_t extra_chunk_count;
    uint32_t extra_used;
    uint32_t extra_free;

    /* run queue: a ring of slot numbers, each at most once */
    uint32_t *queue;
    uint32_t queue_mask;
    uint32_t queue_head;
    uint32_t queue_count;
    VEC(uint32_t) parked;
    bool room;
    uint64_t end_of_leases; /* no actor runs from then on */
    VEC(struct leased) leased;
    uint32_t exact_left; /* messages after each of which the clock is read */
    uint32_t handled_msg; /* of the last message that was handled */
    uint8_t handled_kind; /* enum message_kind */

    VEC(struct behavior) behaviors;
    uint16_t behavior_last;
    struct type *types;
    uint16_t type_count;
    uint16_t type_last;
    struct table table;
    VEC(struct row) rows;
    uint32_t rows_stopping;
    uint32_t rows_free;
    bool stopping; /* actors_stop_all */
    uint64_t stop_deadline;
    uint64_t tick_at;   /* when the types' ticks move */
    uint64_t tick_ns;   /* shortest of the types; 0 = no type ever passivates */
    uint64_t scan_time; /* when the next part of the slots is scanned */
    uint32_t scan_next;

    struct message *pending[PENDING_MAX]; /* to entities, in order of emission */
    uint32_t pending_count;
    struct chain out;
    struct wheel wheel;
    uint32_t ask_number;
    struct watches watches;
    struct view view;
    VEC(struct follower) followers;
    uint32_t followers_missed;

    /* persist.c */
    struct buf event; /* scratch: an event that may be rejected */
    struct handling *handling; /* delivery/handling.h */
    bool is_handling; /* something is to store when receive has returned */
    struct stored *stored; /* ring of events that are not durable, by position */
    uint32_t stored_mask, stored_head, stored_count;
    VEC(struct news_item) news;
    uint32_t news_head;
    char news_text[SHERD_ID_MAX + 1];
    struct samples *samples; /* samples.h; null: there are none */
    bool is_sampled;         /* somebody looks for hot entities */
    VEC(struct numbered_node) peers;
    struct map peer_map;
    struct map named; /* actors that have or want a name; the values mean nothing */
    struct ranks *ranks;   /* null: no type has a limit */
    bool counts_bytes;     /* some type has a limit of bytes */
    struct rng rng;
    struct actors_status counts;
    uint64_t nothing[2]; /* `self` of behaviors without state */
    uint64_t ran[ACTOR_RUN_MESSAGES]; /* ids of the actors that ran since the clock was read */
};

/* --- memory.c --- */
struct message *message_new_slow(struct actors *actors, size_t size);
/* Makes a message as actors_message does, with a body of any size. */
struct message *memory_notice(struct actors *actors, struct slice body);
void message_free_slow(struct actors *actors, struct message *message);
/* Counts bytes in free lists; stops at `enough`. */
uint64_t memory_free_bytes(const struct actors *actors, uint64_t enough);
extern const uint16_t message_class_sizes[MESSAGE_CLASSES];
extern const uint8_t message_class_of[65]; /* by size in units of 64 bytes, rounded up */
void *slot_state_new(struct actors *actors, size_t size); /* zeroed; size 0 gives null */
void slot_state_free(struct actors *actors, void *state, size_t size);
uint32_t slot_new(struct actors *actors); /* status FREE, generation set; 0 at ACTOR_SLOTS_MAX */
/* Its generation must be one that no ref has. */
void slot_free(struct actors *actors, uint32_t index);
struct extra *slot_extra(struct actors *actors, struct slot *slot); /* made if there is none */
void extra_free(struct actors *actors, struct slot *slot);
void memory_fini(struct actors *actors);

static inline struct slot *slot_at(const struct actors *actors, uint32_t index)
{
    return &actors->slot_chunks[index / SLOT_CHUNK][index % SLOT_CHUNK];
}

static inline struct extra *extra_of(const struct actors *actors,
                                     const struct slot *slot)
{
    return slot->extra ? &actors->extra_chunks[slot->extra / EXTRA_CHUNK]
                                              [slot->extra % EXTRA_CHUNK]
                       : NULL;
}

/* The slot of an actor of this lane whose incarnation runs; null when it has ended. */
static inline struct slot *slot_of(const struct actors *actors, uint64_t actor)
{
    uint32_t index = actor_id_slot(actor);
    struct slot *slot;

    if (index == 0 || index >= actors->slot_used)
        return NULL;
    slot = slot_at(actors, index);
    return slot->generation == actor_id_generation(actor) &&
                   slot->status != SLOT_FREE
               ? slot
               : NULL;
}

static inline struct sherd_ref slot_ref(const struct actors *actors,
                                        const struct slot *slot, uint32_t index)
{
    return (struct sherd_ref){ actors->node, actor_id_make(actors->lane, slot->generation, index) };
}

static inline struct behavior *behavior_of(const struct actors *actors,
                                           const struct slot *slot)
{
    return &actors->behaviors.items[slot->behavior];
}

/* --- slot_trace.c --- */
/* Returns the type's name of an entity, the behavior's of another actor; lent. */
const char *slot_type(const struct actors *actors, const struct slot *slot);
/* The id of an entity's shard, with a zero byte after it; lent by the type or by text. */
struct slice slot_shard(const struct actors *actors, const struct slot *slot,
                        char text[SHARD_TEXT_MAX]);
/* Logs a text about an actor with its type; for an entity also shard and id. */
void slot_trace(const struct actors *actors, const struct slot *slot,
                enum trace_level level, const char *text);
/* Logs that the entity handles a message. */
void slot_trace_message(const struct actors *actors, const struct slot *slot, uint32_t msg);
void slot_trace_why(const struct actors *actors, const struct slot *slot,
                    const char *text, const char *why);

static inline struct slice slot_id(const struct slot *slot)
{
    return slice_of(slot->id_size > ID_INLINE ? slot->far_id : slot->id,
                    slot->id_size);
}

/* Whether it has a state, and a ref that names it. */
static inline bool slot_has_incarnation(const struct slot *slot)
{
    return slot->status > SLOT_FREE && slot->status < SLOT_BACKOFF;
}

static inline bool slot_remembers(const struct actors *actors,
                                  const struct slot *slot)
{
    uint16_t type = behavior_of(actors, slot)->type;

    return type != TYPE_NONE && actors->types[type].remembers;
}

/* Whether it is a new actor that waits for MESSAGE_STARTED (spawn.c). */
static inline bool slot_is_spawned_later(const struct slot *slot)
{
    return slot && !(slot->flags & FLAG_ENTITY) &&
           slot->status == SLOT_RECOVERING;
}

/* Takes bytes out of a shard's count. Those from before a limit of bytes are not in it. */
static inline void active_uncount(struct row *row, uint64_t bytes)
{
    row->bytes = row->bytes > bytes ? row->bytes - bytes : 0;
}

/* Takes a message that leaves a slot's mailbox out of the counts. */
static inline void mailbox_uncount(struct actors *actors, struct slot *slot,
                                   const struct message *message)
{
    slot->waiting--;
    if (message->size_class == MESSAGE_CLASS_LARGE)
        actors->large_bytes -= message->body_size;
    if (actors->counts_bytes && message->type != TYPE_NONE)
        active_uncount(&actors->rows.items[slot->row], message->body_size);
}

/* Whether it carries a job, which must not get lost with it. */
static inline bool message_is_job(const struct message *message)
{
    return message->kind == MESSAGE_JOB || message->kind == MESSAGE_JOB_DONE;
}

static inline bool is_here(const struct actors *actors, struct sherd_ref ref)
{
    return ref.node == actors->node && actor_id_lane(ref.actor) == actors->lane;
}

/* --- types.c --- */
uint16_t behavior_intern(struct actors *actors, const struct sherd_behavior *face,
                      uint16_t type); /* TYPE_NONE at ACTOR_BEHAVIORS_MAX */

/* --- news.c --- */
/* Copies the news and its text. */
void slot_news_put(struct actors *actors, const struct actors_news *news);

/* --- cluster.c --- */
void view_retry(struct actors *actors);
void view_fini(struct actors *actors);

/* --- daemon.c --- */
enum daemon_fate {
    DAEMON_DELIVERS, /* as to any entity */
    DAEMON_ANSWERS,  /* it asked for the daemon's end, and is now the answer */
    DAEMON_DROPS     /* it would start a daemon of a former count */
};

/* Decides about a message to a daemon, running or absent (index 0). */
enum daemon_fate daemon_take(struct actors *actors, struct message *message, uint32_t index);

/* --- data.c --- */
void followers_fini(struct actors *actors);
void followers_retry(struct actors *actors);

/* --- mailbox.c --- */
void mailbox_put(struct actors *actors, uint32_t index, struct slot *slot,
                 struct message *message); /* without a limit; given */
/* The same, before all other messages. */
void mailbox_put_first(struct actors *actors, struct slot *slot, struct message *message);
/* Puts the stop mark, once. */
void mailbox_mark(struct actors *actors, uint32_t index, struct slot *slot);
void mailbox_unmark(struct actors *actors, struct slot *slot);
/* Moves entity messages and the mark to extra.behind, for the next incarnation. */
void mailbox_split(struct actors *actors, struct slot *slot);
/* Sends the messages of a slot without incarnation out again. */
void mailbox_hand_back(struct actors *actors, struct slot *slot);
/* Counts a user's message that ended undelivered, with a probe. type: TYPE_NONE when not to an
 * entity. */
void mailbox_count_undelivered(struct actors *actors, uint16_t type, struct slice body,
                               enum sherd_reason reason);
/* Turns a failed message into the notice to its sender; false: none is wanted. */
bool message_notice(struct message *message, enum sherd_reason reason);

/* --- route.c --- */
void mailbox_deliver(struct actors *actors, struct message *message);
/* Sends an effect, given, whose cause is durable. */
void effects_route(struct actors *actors, struct message *message);
void mailbox_undelivered(struct actors *actors, struct message *message,
                 enum sherd_reason reason); /* given; its notice goes by effects_route */
/* The same with a text, which the notice has as its body; "": none. */
void mailbox_undelivered_why(struct actors *actors, struct message *message,
                             enum sherd_reason reason, const char *why);
/* Gives a notice, given, a text as its body; "": none. */
struct message *mailbox_explain(struct actors *actors, struct message *notice, const char *why);
void mailbox_message_end(struct actors *actors, struct message *message,
                         enum sherd_reason reason); /* given, without a notice */

/* --- entity.c --- */
void entity_flush(struct actors *actors);

/* --- entity_slots.c --- */
/* Frees the row of a shard without entities. */
void shard_row_free(struct actors *actors, uint32_t row);
/* Reports that the shard is empty, and frees its row. */
void shard_row_empty(struct actors *actors, uint32_t row);
/* Makes the slot of an absent entity, in table and row; 0 at the limit. The caller then calls
 * incarnation_start or entity_remember. */
uint32_t entity_make(struct actors *actors, uint16_t type, struct slice id,
                     uint32_t key, uint32_t row);
/* Takes a slot without incarnation and messages out of table and row. The last one of a stopping
 * shard makes the shard empty. */
void entity_release(struct actors *actors, uint32_t index, struct slot *slot);

/* --- spawn.c --- */
struct sherd_ref slot_spawn(struct actors *actors,
                            const struct sherd_behavior *face,
                            struct slice init);
/* Lets an actor that was just spawned wait for its name. */
void slot_name_first(struct actors *actors, struct sherd_ref spawned, struct slice name);
/* Emits MESSAGE_STARTED as an effect of the running actor. */
void slot_start_later(struct actors *actors, struct sherd_ref spawned);
/* Ends the actor without a run, because that effect, given, is dropped. */
void slot_start_never(struct actors *actors, struct message *started);

/* --- active.c --- */
/* Counts a use of an entity by a message, or by its start; passivates what is too much for its
 * shard. For rows with a strategy. */
void active_use(struct actors *actors, uint32_t index, struct slot *slot);
/* Takes an entity, which has a rank, off the books. */
void active_end(struct actors *actors, uint32_t index, struct slot *slot);
/* Applies the type's limit to the row of a shard that starts. */
void active_begin(struct actors *actors, struct row *row);
/* Applies the type's changed limit to a row. */
void active_limit_row(struct actors *actors, uint32_t at);
/* Ends the limit of a shard that stops; its entities lose their ranks. */
void active_stop(struct actors *actors, struct row *row);
/* Sets what an entity holds beside its state. */
void active_report(struct actors *actors, struct slot *slot, uint64_t bytes);
void active_fini(struct actors *actors);

/* --- idle.c --- */
/* Passivates the idle entities of the next part of the slots. */
void entity_scan(struct actors *actors);
uint64_t entity_scan_deadline(const struct actors *actors);
void entity_ticks(struct actors *actors);
void entity_passivate(struct actors *actors, uint32_t index, struct slot *slot);

/* --- remember_requests.c --- */
void entity_remember(struct actors *actors, uint32_t index,
                     struct slot *slot); /* stores its start before its first incarnation begins */
void entity_forget_stored(struct actors *actors, uint32_t index,
                          struct slot *slot);
void entity_restart_later(struct actors *actors, uint32_t index,
                          struct slot *slot);
void entity_restart(struct actors *actors, uint32_t index, struct slot *slot); /* RESTARTING: now */

/* --- table.c --- */
static inline uint32_t entity_table_key(uint16_t type, uint64_t hash)
{
    return (uint32_t)(hash >> 32) ^ (type * 0x9e3779b1u);
}
uint32_t entity_table_find(const struct actors *actors, uint16_t type, uint32_t key,
                    struct slice id); /* 0 = absent */
void entity_table_put(struct actors *actors, uint32_t key, uint32_t index);
void entity_table_remove(struct actors *actors, uint32_t key, uint32_t index);

/* --- shard.c --- */
void shards_step(struct actors *actors);
uint64_t shards_deadline(const struct actors *actors);

/* --- wheel.c --- */
/* Makes an entry in the wheel; 0 at ACTOR_ASKS_MAX. */
uint32_t entry_new(struct actors *actors, uint64_t delay_ms);
/* Puts a fired one back into the wheel, counted from when it was due. */
void entry_again(struct actors *actors, uint32_t index, uint64_t delay_ms);
/* Takes it out of its bucket, unless FIRED. */
void entry_free(struct actors *actors, uint32_t index);
/* Moves to the next tick at which entries may be due. False: none is due yet. */
bool wheel_advance(struct actors *actors);
/* Takes an entry that is due at this tick out of the wheel; 0: there is none. */
uint32_t wheel_take(struct actors *actors);
uint64_t wheel_deadline(const struct actors *actors);
void wheel_init(struct actors *actors);
void wheel_fini(struct actors *actors);

static inline struct entry *entry_at(const struct actors *actors,
                                     uint32_t index)
{
    index -= WHEEL_BUCKETS;
    return &actors->wheel.chunks[index / ENTRY_CHUNK][index % ENTRY_CHUNK];
}

void wheel_remove(struct actors *actors, struct entry *entry);

/* --- ask.c --- */
uint64_t ask_open(struct actors *actors, uint32_t index, struct slot *slot,
                  uint32_t tag, uint64_t timeout_ms); /* 0 at a limit */
/* Frees the ask of an answer and leaves the tag in message->ask. False: no actor waits for it. */
bool ask_close(struct actors *actors, struct message *message);
/* Ends what waited for an entry that has left the wheel. Returns the slot whose back-off is over, or
 * 0. */
uint32_t entry_fire(struct actors *actors, uint32_t index);
void asks_node_gone(struct actors *actors, uint64_t node);
void ask_may_fail(struct actors *actors, uint64_t ask); /* Chosen by its caller. */
void timer_set(struct actors *actors, uint32_t index, struct slot *slot,
               uint32_t tag, uint64_t delay_ms);
void timer_cancel(struct actors *actors, struct slot *slot, uint32_t tag);
/* Ends an open ask of an actor without a message. */
void ask_drop(struct actors *actors, uint32_t index, struct slot *slot, uint64_t ask);
/* Sends the actor itself NO_ANSWER for an ask that was never opened. */
void ask_refuse(struct actors *actors, uint32_t index, struct slot *slot,
                uint32_t tag, enum sherd_reason reason);
void timer_drop_all(struct actors *actors, struct slot *slot);
/* Whether a timer's message, which is next to handle, still counts. */
bool timer_take(struct actors *actors, struct slot *slot,
                struct message *message);

/* --- job_message.c --- */
struct message *job_message(struct actors *actors, struct job *job,
                            enum message_kind kind);
/* Ends a job whose actor cannot receive the result. Turns its MESSAGE_JOB or MESSAGE_JOB_DONE into
 * the notice to its asker; false: there is none. */
bool job_notice(struct actors *actors, struct message *message,
                enum sherd_reason reason);
/* Takes the job out of a MESSAGE_JOB_DONE that is next to handle. */
struct job *job_result(const struct message *message, struct sherd_msg *msg);
void job_result_free(struct actors *actors, struct job *job); /* after the handler; given */

/* --- watch_table.c --- */
/* Returns the watch's number, 0 = none. */
uint32_t watch_find(const struct watches *watches, struct sherd_ref watcher,
                    struct sherd_ref watched);
/* Adds a watch, in no list yet; 0 at the limit. */
uint32_t watch_add(struct actors *actors, struct sherd_ref watcher,
                   struct sherd_ref watched);
/* Puts it into the list of the watcher, an actor of this lane. */
void watch_link_by(struct actors *actors, uint32_t at, struct slot *watcher);
/* Takes it out of the list of the watched actor. */
void watch_unlink_of(struct actors *actors, uint32_t at);
void watch_remove(struct actors *actors, uint32_t at);
void watch_arrived(struct actors *actors, struct message *message); /* given */
void unwatch_arrived(struct actors *actors, struct message *message);
/* Whether a TERMINATED, which is next to handle, counts: true once for each watch. */
bool watch_take(struct actors *actors, uint32_t index, struct slot *slot,
                struct sherd_ref watched);
void watches_fini(struct actors *actors);

/* --- watch.c --- */
void watch_by(struct actors *actors, uint32_t index, struct slot *slot,
              struct sherd_ref watched); /* by the running actor; emits WATCH */
void unwatch_by(struct actors *actors, uint32_t index, struct slot *slot, struct sherd_ref watched);
/* Notifies the watchers of an ending incarnation, and ends its watches. */
void watches_end(struct actors *actors, uint32_t index, struct slot *slot);
void watches_node_gone(struct actors *actors, uint64_t node);

#include "actor/hot.h"

#endif
