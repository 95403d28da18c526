/* Provides actors for the tests of nodes: a plain one that acts for the test and records its
 * messages, and entities that answer a few messages. cast_begin resets their counts. */
#ifndef TESTS_NODE_CAST_H
#define TESTS_NODE_CAST_H

#include "sim/world/disk_backend.h"
#include "sim/world/net.h"
#include "sim/world/world.h"

#include <sherd/actor.h>

/* Messages to entities; the answer has the same number. */
enum cast_message {
    ECHO = 1,  /* answers the uid of its node (8 bytes) */
    SILENT,    /* no answer */
    FAIL,      /* returns SHERD_FAIL */
    STOP,      /* returns SHERD_STOP */
    PASSIVATE, /* sherd_passivate, then answers */
    QUIET,     /* sherd_passivate */
    STORE,     /* persists an event, answers their number (8 bytes) */
    COUNT,     /* answers this incarnation's messages (8 bytes) */
    NUMBERED,  /* body: struct numbered; checks the order */
    FORWARD,   /* passes the message on to the ref in `cast.forward_to` */
    END,       /* the stop message of type "S": no answer, ends on the next TIMER */
    CALL,      /* to a player: body: a function */
};

struct numbered {
    uint32_t sender; /* below CAST_SENDERS */
    uint32_t entity; /* below CAST_ENTITIES */
    uint32_t number; /* from 1 */
};

#define CAST_SENDERS 16
#define CAST_ENTITIES 64

struct cast {
    struct sherd_ref forward_to;
    uint32_t last[CAST_SENDERS][CAST_ENTITIES];
    uint64_t numbered; /* delivered */
    uint64_t undelivered; /* reported to the players */
    uint32_t disorder; /* of `numbered`: out of order, or twice */
    uint32_t overtaken; /* of `disorder`: after a later one, or twice */
    uint32_t stop_messages;
    uint32_t started;
    uint32_t ended;
};

extern struct cast cast;

/* "E" plain, "P" persistent, "S" with a stop message, "R" with role "host" */
extern const struct sherd_entity_type cast_types[4];
#define CAST_TYPES 4

struct heard {
    enum sherd_kind kind;
    uint32_t msg;
    uint32_t tag;
    enum sherd_reason reason;
    enum sherd_stage stage;
    struct sherd_ref sender;
    uint64_t value; /* the body's first 8 bytes */
    char where[80];
};

struct player {
    struct world *world;
    uint32_t node;
    struct sherd_ref ref;
    struct heard heard[64];
    uint32_t count;
    struct sherd_ref other; /* for the test's use */
    const char *type;
    const char *id;
    uint32_t msg;
    uint64_t timeout_ms;
    uint32_t tag;
    /* may be null; player_spawn resets it */
    void (*hears)(struct player *player, const struct heard *heard);
};

void cast_begin(void);
void player_spawn(struct player *player, struct world *world, uint32_t node,
                  uint32_t lane);
typedef void player_act(struct sherd_ctx *ctx, struct player *player);
void player_do(struct player *player, player_act *act); /* inside its ctx, now */
/* Asks an entity, or `other` if type is null. */
void player_ask(struct player *player, const char *type, const char *id,
                uint32_t msg, uint64_t timeout_ms);
void player_tell(struct player *player, const char *type, const char *id,
                 uint32_t msg);
const struct heard *player_last(const struct player *player); /* or null */
/* Runs until the player's next message; null if none comes in time. */
const struct heard *player_hears(struct player *player, uint64_t limit);
/* Asks, and checks that the answer comes. */
uint64_t player_asks(struct player *player, const char *type, const char *id,
                     uint32_t msg);
/* The store is in memory, and the world keeps its log lines. */
struct world_settings cast_settings(uint64_t seed);
struct world *cast_new(uint64_t seed);
/* `count` nodes with `lanes` each, all up. */
struct world *cast_world(uint64_t seed, uint32_t count, uint32_t lanes);
uint64_t cast_running(struct world *world, uint32_t type); /* on all nodes */
/* Runs until that many entities run, and checks the number again a while later. */
void cast_await_running(struct world *world, uint32_t type, uint64_t count);
/* Starts entities e0.. of a type: each answers a player of the first node. */
void cast_wake(struct world *world, const char *type, uint32_t count);
uint32_t cast_home(struct player *player, const char *type, const char *id);
/* Returns an id like "e17" of an entity on that node. */
const char *cast_id_at(struct player *player, const char *type, uint32_t node);

#endif
