/* A broker: the actor that has a node's replicas of a store, and does the calls of whoever asks it. Its parts and what they call each
 * other for; private to src/store. It uses the public face of actors, the cluster and distributed data, and nothing below it.
 *
 *   broker.c  the actor, settings, counters      peers.c  who is on the ring, and where their brokers are
 *   calls.c   gets, puts, what replicas answer   keep.c   the keys of this node     moving.c  keys to their new replicas
 *   forgetting.c  deletions that are old */
#ifndef SHERD_KVSTORE_BROKER_H
#define SHERD_KVSTORE_BROKER_H

#include <sherd/sherd.h>

#include "base/map.h"
#include "kvstore/hashring.h"
#include "kvstore/request.h"

/* A key of this node. */
struct item {
    uint32_t index; /* in keep.items */
    uint32_t walked; /* number of the walk on which it was where it belongs; 0: none */
    bool is_confirmed; /* a FORGET of it is under way */
    uint32_t epoch; /* of this node's writes of it; another one when it was dropped and is here again: history.h */
    uint8_t key_size;
    struct siblings siblings;
    char key[]; /* the map's, too */
};

struct keep {
    struct map map;          /* key to item */
    VEC(struct item *) items; /* in any order: what is walked over */
    size_t bytes;            /* of items, with all that is in them */
    uint64_t number;         /* of the last write that was coordinated here */
    uint32_t epoch;          /* of items that are made; grows when one is dropped */
};

/* A member on a ring. */
struct place {
    char *name; /* its address */
    uint64_t uid;
};

struct places {
    VEC(struct place) items; /* in order of names */
    struct hashring ring;
};

/* A member of the cluster as this node sees it. */
struct peer {
    char *name;
    uint64_t uid;
    struct sherd_ref broker; /* nobody: not known yet */
    bool is_up;              /* and may be on the ring */
    bool is_self;
    bool is_reachable;
};

enum call_kind {
    CALL_READ,
    CALL_WRITE,
    CALL_RELAY, /* a put that another replica coordinates */
    CALL_MOVE,  /* a key to new replicas; nobody waits for it */
    CALL_FORGET /* a deletion to the other replicas; nobody waits for it */
};

struct reply {
    uint64_t uid; /* the replica's */
    bool is_out;  /* asked, not answered */
    bool has_answered;
    bool has_found; /* of a read: it is known to have all that is told */
    uint64_t hash; /* of the versions that it is known to have, or was sent; of a read */
};

struct call {
    enum call_kind kind;
    uint32_t serial; /* 0: free */
    struct sherd_question question; /* nobody: answered, or nobody waits */
    bool is_answered;
    bool is_deletion;
    bool gives_up;   /* MOVE: this node drops the key when all have it */
    uint32_t wanted; /* R or W */
    uint32_t answers;
    uint32_t out;
    uint32_t count;
    uint64_t end; /* ms: of its asks */
    struct reply replies[SHERD_STORE_REPLICAS_MAX];
    struct siblings merged; /* of a read: what is known; of a write or move: what was sent */
    bool is_found; /* READ: R have answered; what they had together is told as soon as R have it */
    bool waits;    /* for that: `found` is what is told, which is `merged` otherwise */
    struct siblings found;
    struct buf passed;      /* RELAY: the COORDINATE */
    uint8_t key_size;
    char key[SHERD_STORE_KEY_MAX];
};

struct broker {
    struct sherd_store_settings settings; /* texts are owned */
    char *data_key; /* where brokers tell each other their refs */
    char *center;   /* this node's data center */
    struct sherd_ref self;
    uint64_t id; /* of its dots: history.h */
    uint64_t counts[SHERD_STORE_COUNTER_COUNT];

    struct keep keep;
    struct call *calls; /* KVSTORE_CALLS_MAX, by serial */
    uint32_t serial;
    uint32_t open;  /* calls in use */
    uint32_t moves; /* of them */
    uint32_t forgets;

    /* peers.c */
    VEC(struct peer) peers; /* in order of names, then of uids */
    bool is_told;           /* the whole state of the cluster was */
    struct places places;   /* whose replicas calls ask: with this node as long as it is up */
    VEC(struct sherd_ref) known; /* brokers that told their refs */
    uint32_t refs_wait_ms; /* until what was refused is tried again; 0: nothing was */
    bool is_waiting;       /* TIMER_REFS is set */
    bool is_subscribed;    /* to members and refs */

    /* moving.c */
    struct places settled; /* the ring on which all keys of this node were at their replicas */
    uint32_t walk;     /* index of the next item; UINT32_MAX: none goes on */
    uint32_t walk_number; /* of the ring that it is for */
    bool walk_failed;  /* something was not taken */
    bool is_leaving;   /* this node goes: all that it has moves */

    /* forgetting.c */
    uint32_t sweep;      /* index of the next item */
    uint64_t changed_at; /* ms: when a member last came, went, or was lost or found */
};

/* ---- broker.c ---- */
const struct sherd_behavior *broker_behavior(void);
bool broker_settings(const struct sherd_store_settings *settings,
                     struct sherd_store_settings *full); /* with defaults; texts lent; false: not valid */
void broker_settings_put(const struct sherd_store_settings *settings,
                         struct buf *buf); /* as the broker is started with */
uint64_t wall_s(const struct sherd_ctx *ctx);

/* ---- keep.c ---- */
struct item *keep_find(const struct keep *keep, struct slice key);
/* A write here: false when it is refused. dot: that of this node's next write. */
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
void peers_begin(struct broker *broker, struct sherd_ctx *ctx);
void peers_cluster(struct broker *broker, struct sherd_ctx *ctx,
                   const struct sherd_msg *msg);
void peers_data(struct broker *broker, struct sherd_ctx *ctx,
                const struct sherd_msg *msg); /* of the data of refs */
void peers_retry(struct broker *broker, struct sherd_ctx *ctx); /* its timer: what was refused */
void peers_changed(struct broker *broker, struct sherd_ctx *ctx); /* makes the ring, and has keys moved */
void peers_fini(struct broker *broker);
const struct peer *peer_of(const struct broker *broker, uint64_t uid); /* null: not a member any more */
void places_fini(struct places *places);
void places_copy(struct places *to, const struct places *from); /* to: initialised, replaced */
/* The replicas of a key, as uids. Returns how many. wanted: at most SHERD_STORE_REPLICAS_MAX + 1. */
uint32_t places_find(const struct places *places, struct slice key,
                     uint32_t wanted, uint64_t *uids);

/* ---- calls.c ---- */
void calls_request(struct broker *broker, struct sherd_ctx *ctx,
                   const struct sherd_msg *msg);
void calls_answer(struct broker *broker, struct sherd_ctx *ctx,
                  const struct sherd_msg *msg); /* or that there is none */
struct call *call_new(struct broker *broker, const struct sherd_ctx *ctx,
                      enum call_kind kind, struct slice key,
                      uint64_t timeout_ms); /* null: too many */
/* Asks a replica. False: it cannot be asked, which is as no answer. */
bool call_ask(struct broker *broker, struct sherd_ctx *ctx, struct call *call,
              uint64_t uid, enum kvstore_request request, struct slice body);
void call_free(struct broker *broker, struct call *call);
void write_body(struct slice key, const struct siblings *siblings,
                struct buf *body); /* of a KVSTORE_WRITE or KVSTORE_CONFIRM */

/* ---- moving.c ---- */
void moving_begin(struct broker *broker, struct sherd_ctx *ctx); /* the ring has changed */
void moving_tick(struct broker *broker, struct sherd_ctx *ctx);  /* its timer */
bool moving_is_replica(const struct broker *broker, struct slice key);
void moving_astray(struct broker *broker, struct sherd_ctx *ctx, struct item *item); /* here, and not a replica's: it goes on in a while */
void moving_ended(struct broker *broker, struct call *call); /* all have answered or not; freed */
void moving_leave(struct broker *broker, struct sherd_ctx *ctx);

/* ---- forgetting.c ---- */
void forgetting_tick(struct broker *broker, struct sherd_ctx *ctx); /* looks at some keys */
void forgetting_ended(struct broker *broker, struct call *call); /* as moving_ended */

enum broker_timer { TIMER_MOVE = 1, TIMER_SWEEP, TIMER_REFS };

#endif
