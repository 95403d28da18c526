/* The inside of a world. Private to sim/. */
#ifndef SHERD_SIM_INSIDE_H
#define SHERD_SIM_INSIDE_H

#include "base/vec.h"
#include "sim/net.h"
#include "sim/verdict.h"
#include "sim/world.h"

#define PLACES 64

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

struct site {
    struct world_node face;
    struct address address;
    uint32_t machines;
    uint64_t turn_at[LANES_MAX + 1];
    struct world_channel *channels; /* from * machines + to */
    VEC(struct world_store_item) storing;
    uint64_t stored_at;
    uint64_t next_conn;
    struct sherd_status status; /* being summed by world_status */
};

struct world_line {
    uint32_t node;
    char *text; /* "module: text" */
};

struct world {
    struct rng rng;
    uint64_t now;
    struct timers events;
    struct site sites[PLACES];
    VEC(struct world_pipe *) pipes;
    bool cut[PLACES][PLACES];
    void *store;
    bool store_fails;   /* every request comes back as failed */
    bool store_stops;   /* nothing comes back while this is set */
    struct world_settings settings;
    struct verdict *verdict;
    VEC(struct world_observer) observers;
    uint32_t node_count;
    bool traces;
    VEC(struct world_line) lines;
    uint64_t digest;    /* of all bytes and their times */
};

/* Calls one function of every observer that has it. */
#define observe(world, function, ...)                                          \
    do {                                                                       \
        for (uint32_t o_ = 0; o_ < (world)->observers.count; o_++) {           \
            const struct world_observer *of_ = &(world)->observers.items[o_];  \
                                                                               \
            if (of_->function)                                                 \
                of_->function(of_->user, __VA_ARGS__);                         \
        }                                                                      \
    } while (0)

void world_end_node(struct world *world, uint32_t index, bool crashes);
void world_carry_out(struct world *world, uint32_t index, uint32_t machine);
void world_want_turn(struct world *world, uint32_t index, uint32_t machine,
                     uint64_t at);

#endif
