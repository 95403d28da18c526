/* Declares what workload_data*.c share. */
#ifndef SHERD_SIM_WORKLOAD_DATA_INSIDE_H
#define SHERD_SIM_WORKLOAD_DATA_INSIDE_H

#include "base/rng.h"
#include "base/vec.h"
#include "sim/check/check_data.h"
#include "sim/check/check_replica.h"
#include "sim/workload/workload_data.h"

#define DATA_TYPES SHERD_OR_MULTIMAP /* from SHERD_FLAG on */
#define CALLS_MAX 32   /* open ones of one client */
#define OWN_MAX 48     /* own elements that a client may remove */
#define KEY_TEXT_MAX 32
#define EXPIRIES 4
#define STORED_MAX 256    /* last acknowledged writes, to be looked up again */
#define DATA_DISKS_MAX 64 /* nodes whose disks are checked */

/* After many writes another key takes its place. */
struct slot {
    uint32_t key;
    enum sherd_data_type type;
    uint32_t writes;
    int64_t element; /* the last one that was added; 0: none */
};

struct key_name {
    char text[KEY_TEXT_MAX];
};

struct call {
    bool is_open;
    uint32_t tag;
    uint32_t key;
    enum data_op op;
    uint64_t number;   /* of a write */
    uint32_t replicas; /* of the write */
    int64_t element;   /* the element that it adds; 0: none */
    struct check_data_read read;
    struct replicator_members members; /* members that counted; none: unknown */
    uint64_t begun_at; /* ns */
};

struct own {
    uint32_t key;
    int64_t element;
};

/* A subscription of a client, with the last notice. */
struct follow {
    uint32_t key;
    bool is_told;
    bool is_deleted;
    struct buf last;
};

struct client {
    uint32_t node;
    uint32_t number; /* of all clients so far */
    bool has_started;
    bool is_released; /* its actor has ended */
    bool is_gone;     /* its node has ended */
    uint32_t next_tag;
    uint32_t open;
    struct call calls[CALLS_MAX]; /* by tag */
    uint32_t own_next;
    struct own own[OWN_MAX];
    VEC(struct follow) follows;
};

/* The value of a durable key in all replicas. */
struct noted {
    uint32_t key;
    bool is_deleted;
    int64_t count;
    bool is_on;
    VEC(int64_t) elements;
};

/* An acknowledged write of a durable key, and the disks with it. */
struct stored {
    struct call call;
    bool has[DATA_DISKS_MAX]; /* by node */
};

struct data_load {
    struct data_load_settings settings;
    struct world *world;
    struct verdict *verdict;
    struct check_data *check;
    const struct check_safety *safety;  /* null: neither this nor members was given */
    const struct check_member *members;
    struct replicator_expiry expiries[EXPIRIES];
    struct rng rng;
    struct slot *slots;
    VEC(struct key_name) keys; /* by their numbers */
    VEC(struct client *) clients;
    uint32_t client_number;
    bool is_stopped;
    uint32_t looked; /* the key to check next */
    VEC(struct noted) noted;
    VEC(struct stored) stored;
    uint32_t stored_next; /* index that the next one replaces */
    uint32_t stored_looked;
    uint64_t said;   /* values sent when the silence began */
    struct data_load_counts counts;
};

/* ---- workload_data.c ---- */
const char *data_key_text(const struct data_load *load, uint32_t key);
struct replicator_members data_members(const struct data_load *load,
                                       uint32_t node);

bool data_key_is_durable(const struct data_load *load, uint32_t key);
bool data_key_expires(const struct data_load *load, uint32_t key);

/* ---- workload_data_look.c ---- */
void data_forget_noted(struct data_load *load);
const struct replicator *workload_replicator(const struct data_load *load,
                                         /* null: not used yet, or the node does not run */
                                         uint32_t node);
void data_read(struct data_load *load, const struct check_data_read *read,
               const struct sherd_msg *msg); /* an answer to the read */
void data_notice(struct data_load *load, const struct client *client,
                 struct follow *follow, const struct sherd_msg *msg);
/* Appends the body of an answer with all values of a key. False: it has none. */
bool data_put_body(const struct replicator *replicator, struct slice key,
                   struct buf *body);
/* The replicas that acknowledged a write have it. */
void data_look_up(struct data_load *load, const struct call *call,
                  uint32_t node);

#endif
