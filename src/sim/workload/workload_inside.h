/* Declares what the files of a workload share: its entities, clients and callers. Private to
 * workload*.c. */
#ifndef SHERD_SIM_WORKLOAD_INSIDE_H
#define SHERD_SIM_WORKLOAD_INSIDE_H

#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"
#include "sim/workload/workload.h"

#define ID_TEXT_MAX 16
#define STOP_MESSAGE 100    /* the stop message of types that have one */
#define ANSWER_MESSAGE 50u  /* a reply's number is this plus the op */
#define EVENT_TYPE 1
#define EVENT_VERSION 2 /* the present one, of worlds with event_versions */
#define EVENT_HALF 2 /* these two: an EVENT_TYPE of version 0 */
#define EVENT_REST 3
#define NARROW_IDS_MAX 64
#define OPEN_ASKS_MAX 128   /* of one client */
#define WATCHES_MAX 32      /* of one client */

/* A body before its padding and its token. */
struct parcel {
    uint32_t type;   /* of the asked or replying entity: enum workload_type */
    uint32_t id;
    bool tells;      /* a client's message that is no ask */
    uint64_t value;  /* of a request: its serial number; of a reply: the entity's events */
    struct sherd_ref ref; /* of a reply: the entity */
};

#define PARCEL_SIZE 32
/* The word with the type has two more parts: a mark of a client's message that wants an undelivered
 * notice, and the padding's size. */
#define TYPE_BITS 8
#define TYPE_TELLS 0x80u
#define TYPE_MASK 0x7fu
#define EVENT_SIZE 16

/* An entity that ended without a stop notice. */
struct untold {
    uint64_t at; /* ns; 0: none */
    uint32_t type;
    uint32_t id;
    uint32_t incarnation;
};

/* A place where nodes run. */
struct place {
    uint32_t index;
    uint64_t uid; /* of the last one */
    bool runs;
    /* messages of its clients in this incarnation that ended before they left */
    uint64_t ended_here;
    uint64_t ended_at;    /* ns: the last of them */
    uint64_t undelivered; /* SHERD_UNDELIVERED that they got */
    struct untold untold; /* the first not judged yet */
};

struct watched {
    uint32_t watchers; /* clients that watch it */
    bool has_ended;
};

struct open_ask {
    bool is_open;
    uint8_t op;
    uint32_t tag;
    uint32_t type;
    uint32_t id;
    uint64_t serial;
    uint64_t asked_at; /* ns */
    uint64_t due; /* ms by its node's clock: the time-out may fire then */
};

/* Both sides cut times to ms. */
#define WORKLOAD_DUE_MS 1

/* Longest time from a client's round to the next, ms. */
#define WORKLOAD_WAIT_MAX(workload) (2 * (workload)->settings.interval_ms)

/* An entity of the roll call. */
struct rolled {
    uint32_t type;
    uint32_t id;
    uint32_t asked;
    bool is_open; /* a client waits for its reply */
    bool has_answered;
    enum sherd_reason reason; /* why the last ask failed */
};

struct client {
    uint32_t node;
    bool started;
    bool released;  /* its actor has ended */
    bool node_gone;
    uint64_t stream;
    uint32_t next_tag;
    uint32_t open;  /* asks */
    struct open_ask asks[OPEN_ASKS_MAX]; /* by tag */
    uint64_t first_due; /* no open one is due before it; unit as in open_ask */
    uint64_t round_due; /* when the timer of its next round fires */
    VEC(struct sherd_ref) watches;
    struct client *self; /* the bytes that the actor gets */
};

struct calls;

struct workload {
    struct workload_settings settings;
    struct workload_hooks hooks;
    struct check_message *check;
    struct rng rng;
    struct sherd_entity_type types[WORKLOAD_TYPE_COUNT];
    uint32_t type_count;
    uint8_t type_of[WORKLOAD_TYPE_COUNT]; /* by index in types */
    uint32_t weights_sum;
    bool is_stopped;
    VEC(struct place *) places;
    struct map by_uid; /* -> struct place */
    VEC(struct client *) clients;
    struct map watched; /* ref -> struct watched */
    uint32_t incarnations;
    uint64_t serials;
    uint64_t narrow_until; /* ns; 0: not narrow */
    VEC(uint32_t) narrow;  /* ids of the one shard */
    VEC(struct rolled) roll; /* empty: no roll call */
    uint32_t roll_next;
    struct entity *entities; /* live ones, of workload_entity.c */
    struct calls *calls; /* of workload_calls.c */
    struct sherd_behavior caller; /* of callers */
    struct sherd_behavior called; /* of the actors that they spawn */
    uint32_t entity_asks;  /* open asks of running entities */
    uint32_t jobs;         /* not released */
    struct buf body;
    struct workload_counts counts;
};

extern struct workload *workload_current;

/* ---- workload.c ---- */
void workload_violation(struct workload *workload, const char *invariant,
                        uint32_t node, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
uint64_t workload_now(const struct workload *workload);
const char *workload_type_text(uint32_t type);
bool workload_type_persists(uint32_t type);
bool workload_type_remembers(uint32_t type);
char *workload_id(char text[ID_TEXT_MAX], uint32_t id); /* returns text */
bool workload_id_read(struct slice text, uint32_t *id);
struct place *workload_place(struct workload *workload, uint64_t uid); /* null: unknown */
/* An id of any type; a type: one that persists if `persists` is set and there is one. */
uint32_t workload_draw_id(struct workload *workload);
uint32_t workload_draw_type(struct workload *workload, bool persists);
/* The number of a type's ids, without storms and narrow times; workload_fit_id makes a drawn id one
 * of a remembered type. */
uint32_t workload_ids(const struct workload *workload, uint32_t type);
uint32_t workload_fit_id(const struct workload *workload, uint32_t type,
                         uint32_t id);
/* The body, with a new token, of a message that an actor of a node sends next; lent until the next
 * one. */
struct sherd_bytes workload_body(struct workload *workload, uint32_t node,
                                 uint64_t stream, struct sherd_ref to,
                                 const struct parcel *parcel);
bool workload_read(struct sherd_bytes body, struct parcel *parcel);
/* Reports a message that an actor got. False: it is none of the workload's. */
bool workload_delivered(struct workload *workload, uint32_t node,
                        const struct sherd_msg *msg, struct sherd_ref receiver);
/* The same; the actor passes it on. */
void workload_passed(struct workload *workload, uint32_t node,
                     const struct sherd_msg *msg, struct sherd_ref receiver,
                     struct sherd_ref to);
bool workload_is_parting(const struct workload *workload, uint32_t node); /* as the hook */
/* The event that a request makes. */
struct slice workload_event(uint8_t bytes[EVENT_SIZE], const struct parcel *parcel);
void workload_acknowledge(struct workload *workload, uint32_t node,
                          uint32_t type, uint32_t id, uint64_t seq,
                          uint64_t serial); /* heard at that node */
/* The order of messages from one lane of a node's incarnation. */
uint64_t workload_stream(struct sherd_ref self);

/* ---- workload.c: extractors ---- */
/* Checks the id of a shard that an entity of that node has, in worlds with text shards. */
void workload_shard_is(struct workload *workload, uint32_t node, struct slice id,
                       struct slice shard);
/* Whether a tell goes to the region, whose extractor finds the entity. */
bool workload_tells_region(const struct workload *workload, const struct parcel *parcel);

/* ---- workload_watch.c: watched entities ---- */
void watched_ask(struct workload *workload, struct sherd_ref entity); /* an entity names itself */
void watched_begin(struct workload *workload, struct sherd_ref entity); /* a client watches it */
/* a client stops watching it */
void watched_end(struct workload *workload, struct sherd_ref entity);
/* the entity has ended */
void watched_released(struct workload *workload, struct sherd_ref entity);
bool watched_has_ended(struct workload *workload, struct sherd_ref entity);
void watched_fini(struct workload *workload);

/* ---- workload_silent_stop.c: ends without a stop notice ---- */
void told_released(struct workload *workload, struct untold untold,
                   uint32_t node); /* one has, now */
/* excuses those so far: their node logged why, or has ended */
void told_excuse(struct workload *workload, uint32_t node);
void told_drained(struct workload *workload);

/* ---- workload_calls.c ---- */
/* with the behaviors; a caller gets the number of its node */
void calls_init(struct workload *workload);
void calls_fini(struct workload *workload);
/* as workload_drained, for actors that callers stopped */
uint64_t calls_drained(struct workload *workload);

/* ---- workload_rollcall.c ---- */
void roll_ask(struct workload *workload, struct sherd_ctx *ctx,
              struct client *client); /* the next ones */
void roll_ended(struct workload *workload, uint32_t type, uint32_t id,
                enum sherd_reason reason); /* an ask; NONE: it got its reply */

/* ---- workload_entity.c ---- */
extern const struct sherd_behavior workload_entity_plain;
extern const struct sherd_behavior workload_entity_persistent;
/* The entity takes a snapshot after so many events, and at some others. */
void workload_add_snapshots(struct sherd_behavior *behavior, uint32_t every);
/* The strategy of a type's number, in worlds with type_strategies; null: the node's. */
const struct sherd_passivation *workload_strategy(uint32_t type);
extern const struct sherd_behavior workload_entity_checked; /* of worlds with event_versions */
uint64_t entities_drained(struct workload *workload); /* as workload_drained, for their timers */

/* ---- workload_events.c ---- */
extern const struct sherd_upcast workload_upcast;
/* Stores an event of the running entity in any version. */
void workload_persist(struct workload *workload, struct sherd_ctx *ctx, struct slice event);
/* Whether an entity rejects its next event. The workload may be null. */
bool workload_rejects(struct workload *workload);

/* ---- workload_client.c ---- */
extern const struct sherd_behavior workload_client_behavior;
void client_free(struct client *client);
/* False: too many of its asks are open. */
bool client_ask(struct workload *workload, struct sherd_ctx *ctx,
                struct client *client, enum workload_op op,
                const struct parcel *parcel, uint64_t timeout_ms);

#endif
