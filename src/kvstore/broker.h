/* Defines the broker, the actor that holds a node's replicas of a store and executes calls. Private
 * to src/kvstore; uses only the public interface.
 *
 *   broker.c      the actor, settings, counters
 *   association_messages.c       members on the ring, and their brokers
 *   calls.c       gets, puts, replies of replicas
 *   replica.c     the keys of this node
 *   moving.c      keys to their new replicas
 *   forgetting.c  old deletions */
#ifndef SHERD_KVSTORE_BROKER_H
#define SHERD_KVSTORE_BROKER_H

#include <sherd/sherd.h>

#include "base/map.h"
#include "kvstore/hashring.h"
#include "kvstore/request.h"

struct item {
    uint32_t index; /* in keep.items */
    uint32_t walked; /* last walk that found it at its replicas; 0: none */
    bool is_confirmed; /* a FORGET for it is in progress */
    uint32_t epoch; /* the epoch of this node's writes; a new one after a drop: history.h */
    uint8_t key_size;
    struct siblings siblings;
    char key[]; /* the map's, too */
};

struct keep {
    struct map map;          /* key to item */
    VEC(struct item *) items; /* in any order: walks use it */
    size_t bytes;            /* with all their parts */
    uint64_t number;         /* of the last write coordinated here */
    uint32_t epoch;          /* for new items; grows when one is dropped */
};

struct place {
    char *name; /* its address */
    uint64_t uid;
};

struct places {
    VEC(struct place) items; /* in order of names */
    struct hashring ring;
};

/* A member as the broker follows it. */
struct store_member {
    struct sherd_cluster_member member; /* its address is owned, its other texts are null */
    struct sherd_ref broker; /* empty: not known yet */
    bool is_on_ring;         /* it is up and keeps values */
};

enum call_kind {
    CALL_READ,
    CALL_WRITE,
    CALL_RELAY, /* a put that another replica coordinates */
    CALL_MOVE,  /* a key to new replicas; no caller */
    CALL_FORGET /* a deletion; no caller */
};

struct reply {
    uint64_t uid;
    bool is_out;  /* asked, not answered */
    bool has_answered;
    bool has_found; /* READ: it has the whole result */
    uint64_t hash; /* READ: of the versions that it has or was sent */
};

struct call {
    enum call_kind kind;
    uint32_t serial; /* 0: free */
    struct sherd_question question; /* empty: answered, or no caller */
    bool is_answered;
    bool is_deletion;
    bool gives_up;   /* MOVE: this node drops the key when all have it */
    uint32_t wanted; /* R or W */
    uint32_t answers;
    uint32_t out;
    uint32_t count;
    uint64_t end; /* ms: of its asks */
    struct reply replies[SHERD_STORE_REPLICAS_MAX];
    struct siblings merged; /* READ: the known versions; WRITE, MOVE: those sent */
    bool is_found; /* READ: R have answered; the result is sent when R have it */
    bool waits;    /* for that: the result is `found`, else `merged` */
    struct siblings found;
    struct buf passed;      /* RELAY: the COORDINATE */
    uint8_t key_size;
    char key[SHERD_STORE_KEY_MAX];
};

struct broker {
    struct sherd_store_settings settings; /* texts are owned */
    char *data_key; /* under which brokers publish their refs */
    char *center;   /* this node's data center */
    struct sherd_ref self;
    uint64_t id; /* of its dots: history.h */
    uint64_t counts[SHERD_STORE_COUNTER_COUNT];

    struct keep keep;
    struct call *calls; /* KVSTORE_CALLS_MAX, by serial */
    uint32_t serial;
    uint32_t open;  /* calls in use */
    uint32_t moves;
    uint32_t forgets;

    /* peers.c */
    VEC(struct store_member) members; /* in order of addresses, then of uids */
    bool has_members;           /* the full state of the cluster has arrived */
    struct places places;   /* the ring for calls: includes this node while it is up */
    VEC(struct sherd_ref) known; /* brokers that published their refs */
    uint32_t refs_wait_ms; /* until a refused update is repeated; 0: none was */
    bool is_waiting;
    bool is_subscribed;    /* to members and refs */

    /* moving.c */
    struct places settled; /* the ring on which all keys of this node were at their replicas */
    uint32_t walk;     /* index of the next item; UINT32_MAX: no walk */
    uint32_t walk_number; /* of the ring that it is for */
    bool walk_failed;  /* a move was not taken */
    bool is_leaving;   /* this node leaves: all its keys move */

    /* forgetting.c */
    uint32_t sweep;      /* index of the next item */
    uint64_t changed_at; /* ms: when a member last came, went, or changed its reachability */
};

/* ---- broker.c ---- */
const struct sherd_behavior *broker_behavior(void);
/* With defaults; texts lent; false: invalid. */
bool broker_settings(const struct sherd_store_settings *settings,
                     struct sherd_store_settings *full);
void broker_settings_put(const struct sherd_store_settings *settings,
                         struct buf *buf);
uint64_t wall_s(const struct sherd_ctx *ctx);

/* ---- replica.c ---- */
struct item *keep_find(const struct keep *keep, struct slice key);
/* Writes with this node's next dot. False when refused. */
bool keep_write(struct broker *broker, struct sherd_ctx *ctx, struct slice key,
                const struct history *seen, bool is_deletion,
                struct slice value);
bool keep_merge(struct broker *broker, struct slice key,
                const struct siblings *siblings); /* false: not taken */
void keep_drop(struct broker *broker, struct item *item);
void keep_fini(struct keep *keep);
static inline struct slice item_key(const struct item *item)
{
    return slice_of(item->key, item->key_size);
}

/* ---- peers.c ---- */
void broker_members_begin(struct broker *broker, struct sherd_ctx *ctx);
void broker_members_cluster(struct broker *broker, struct sherd_ctx *ctx,
                          const struct sherd_msg *msg);
void broker_members_data(struct broker *broker, struct sherd_ctx *ctx,
                       const struct sherd_msg *msg); /* of the data of refs */
/* Repeats refused updates at TIMER_REFS. */
void broker_members_retry(struct broker *broker, struct sherd_ctx *ctx);
/* Makes the ring, and moves keys. */
void broker_members_changed(struct broker *broker, struct sherd_ctx *ctx);
void broker_members_fini(struct broker *broker);
/* Null: no longer a member. */
const struct store_member *broker_member(const struct broker *broker, uint64_t uid);
void places_fini(struct places *places);
/* Replaces `to`, which is initialised. */
void places_copy(struct places *to, const struct places *from);
/* Finds a key's replicas as uids; returns their number. wanted: at most SHERD_STORE_REPLICAS_MAX +
 * 1. */
uint32_t places_find(const struct places *places, struct slice key,
                     uint32_t wanted, uint64_t *uids);

/* ---- calls.c ---- */
void calls_request(struct broker *broker, struct sherd_ctx *ctx,
                   const struct sherd_msg *msg);
void calls_answer(struct broker *broker, struct sherd_ctx *ctx,
                  const struct sherd_msg *msg); /* or the failure of an ask */
struct call *call_new(struct broker *broker, const struct sherd_ctx *ctx,
                      enum call_kind kind, struct slice key,
                      uint64_t timeout_ms); /* null: too many */
/* Asks a replica. False: it cannot be asked. */
bool call_ask(struct broker *broker, struct sherd_ctx *ctx, struct call *call,
              uint64_t uid, enum kvstore_request request, struct slice body);
void call_free(struct broker *broker, struct call *call);
void write_body(struct slice key, const struct siblings *siblings,
                struct buf *body); /* of a KVSTORE_WRITE or KVSTORE_CONFIRM */

/* ---- moving.c ---- */
void moving_begin(struct broker *broker, struct sherd_ctx *ctx);
void moving_tick(struct broker *broker, struct sherd_ctx *ctx);  /* at TIMER_MOVE */
bool moving_is_replica(const struct broker *broker, struct slice key);
/* Moves on a key of which this node is no replica. */
void moving_astray(struct broker *broker, struct sherd_ctx *ctx, struct item *item);
void moving_ended(struct broker *broker, struct call *call); /* each has answered or failed */
void moving_leave(struct broker *broker, struct sherd_ctx *ctx);

/* ---- forgetting.c ---- */
void forgetting_tick(struct broker *broker, struct sherd_ctx *ctx);
void forgetting_ended(struct broker *broker, struct call *call); /* as moving_ended */

enum broker_timer { TIMER_MOVE = 1, TIMER_SWEEP, TIMER_REFS };

#endif
