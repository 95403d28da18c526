/* Several nodes in one process, on one thread, under a virtual clock: a second driver of src/node, for tests.
 *
 * Connections are pipes of bytes in order, each piece with a delay; a cut pair's bytes wait, as with a real network, and
 * connecting across it times out. Mail between machines and answers of the store take a random while and stay in order. The
 * store is the one in memory, shared by all nodes. Nothing depends on anything but the seed. */
#ifndef TESTS_LIB_WORLD_H
#define TESTS_LIB_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "node/node.h"

#define WORLD_NODES_MAX 12
#define WORLD_WALL_MS INT64_C(1700000000000) /* wall clock at time 0 */

struct world_pipe;

/* Mail on its way from one machine to another of its node. */
struct world_channel {
    VEC(struct mail) mail;
    uint64_t last_at; /* when the youngest arrives */
};

struct world_store_item {
    struct store_request *request;
    bool is_done;
};

struct world_node {
    struct node *node; /* null: not there */
    struct node_settings settings;
    struct address address;
    uint32_t life;
    uint32_t machines;
    uint64_t turn_at[LANES_MAX + 1];
    struct world_channel *channels; /* from * machines + to */
    VEC(struct world_store_item) storing;
    uint64_t stored_at;
    uint64_t next_conn;
    bool is_paused;
    bool is_up;    /* WANT_UP came in this life */
    bool has_ended; /* WANT_END came; the node is freed */
    int error;
    struct sherd_status status; /* being summed by world_status */
};

struct world_line {
    uint32_t node;
    enum trace_level level;
    char *text; /* "module: text" */
};

struct world {
    struct rng rng;
    uint64_t now;
    struct timers events;
    struct world_node nodes[WORLD_NODES_MAX];
    VEC(struct world_pipe *) pipes;
    bool cut[WORLD_NODES_MAX][WORLD_NODES_MAX];
    void *store;
    bool store_fails;   /* every request comes back as failed */
    bool store_stops;   /* nothing comes back while this is set */
    uint64_t link_delay; /* ns at most, as the next two; each piece draws its own */
    uint64_t mail_delay;
    uint64_t store_delay;
    size_t pipe_size;   /* bytes that a connection takes before its reader must read */
    VEC(struct world_line) lines;
    uint64_t digest;    /* of all bytes and their times */
};

struct world *world_new(uint64_t seed); /* the caller's */
void world_free(struct world *world);

/* Settings of node `index` ("n<index>:2551") as the tests like them: it joins node 0, and node 0 itself. Texts are constants. */
struct node_settings world_settings(struct world *world, uint32_t index,
                                    const struct sherd_entity_type *types,
                                    uint32_t type_count);
/* Starts a node, or another life of one that has ended; settings copied. */
void world_start(struct world *world, uint32_t index,
                 const struct node_settings *settings);
/* The process is gone: what it had written may still arrive. */
void world_crash(struct world *world, uint32_t index);
void world_pause(struct world *world, uint32_t index, bool paused); /* its threads do not run */
void world_cut(struct world *world, uint32_t left, uint32_t right, bool cut);

void world_run(struct world *world, uint64_t duration); /* ns */
typedef bool world_condition(struct world *world, void *arg);
/* Runs until the condition holds, looking at it every 10 ms; false when it does not within `limit`. */
bool world_until(struct world *world, world_condition *condition, void *arg,
                 uint64_t limit);
bool world_all_up(struct world *world, void *arg); /* arg unused: all nodes there see each other up and reachable */
bool world_node_ended(struct world *world, void *index); /* index: uint32_t */

/* From outside actors. */
void world_spawn(struct world *world, uint32_t node, uint32_t lane,
                 const struct sherd_behavior *behavior, const void *init,
                 size_t size);
void world_tell_entity(struct world *world, uint32_t node, const char *type,
                       const char *id, uint32_t msg);
void world_tell(struct world *world, uint32_t node, struct sherd_ref to,
                uint32_t msg, struct sherd_bytes body);
void world_leave(struct world *world, uint32_t node);
void world_down(struct world *world, uint32_t node, uint32_t which);

/* The node's status, summed over its machines; to be freed with world_status_fini. */
struct sherd_status world_status(struct world *world, uint32_t node);
void world_status_fini(struct sherd_status *status);
/* Between the two files. */
void world_end_node(struct world *world, uint32_t index, bool crashes);
void world_carry_out(struct world *world, uint32_t index, uint32_t machine);
void world_want_turn(struct world *world, uint32_t index, uint32_t machine,
                     uint64_t at);

/* Whether a node has logged a line with this text so far. */
bool world_logged(const struct world *world, uint32_t node, const char *text);

#endif
