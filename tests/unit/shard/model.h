/* Simulates the region, routes and owned shards of two or three nodes over an in-memory network,
 * with a coordinator that always moves shards.
 *
 * Delays are random and keep order on each channel: mail between machines, each lane's link to each
 * node, control messages. The model checks during the run that each shard has one owner and each
 * (sending lane, entity) keeps its order. At the end each message is delivered, or refused at a
 * limit. */
#ifndef SHERD_TESTS_SHARD_MODEL_H
#define SHERD_TESTS_SHARD_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct model_options {
    uint64_t seed;
    uint32_t nodes;      /* 2 or 3; the first has the coordinator */
    uint32_t lanes_max;  /* 1..3; each node draws its own number */
    bool persists;
    bool proxy;          /* the last node is a proxy */
    bool fenceless;      /* coordinator like a JVM's */
    bool repeats;        /* directives arrive twice */
    bool gives_up;       /* the coordinator fails hand-offs at random */
    bool shuts_down;     /* the last node leaves gracefully half-way */
    uint64_t count_max;  /* limit of waiting messages on a node; 0 = default */
};

struct model_result {
    uint64_t sent;
    uint64_t delivered;
    uint64_t refused;
    uint64_t dropped;    /* as Akka drops them */
    uint64_t moves;
    uint64_t given_up;
    uint64_t disordered; /* without fences */
    uint64_t stale;
    uint64_t digest;
};

/* Aborts with a text if an invariant is broken. */
struct model_result model_run(const struct model_options *options);

#endif
