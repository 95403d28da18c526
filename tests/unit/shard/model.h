/* Two or three nodes' region, routes and hosted over an in-memory network, with a coordinator that moves shards all the time.
 *
 * Everything is delayed at random, in order on each channel: mail between the machines of a node, each lane's link to each
 * node, control messages. Checked while it runs: one owner for each shard, order for each (sending lane, entity); at the
 * end: every message is delivered or refused at a limit. */
#ifndef SHERD_TESTS_SHARD_MODEL_H
#define SHERD_TESTS_SHARD_MODEL_H

#include <stdbool.h>
#include <stdint.h>

struct model_options {
    uint64_t seed;
    uint32_t nodes;      /* 2 or 3; the coordinator is the first's */
    uint32_t lanes_max;  /* 1..3: each node draws its own */
    bool persists;
    bool proxy;          /* the last node is a proxy */
    bool fenceless;      /* the coordinator behaves as a JVM's */
    bool repeats;        /* directives come twice */
    bool gives_up;       /* the coordinator fails hand-offs at random */
    bool shuts_down;     /* the last node leaves gracefully half way */
    uint64_t count_max;  /* of waiting messages on a node; 0 = the default */
};

struct model_result {
    uint64_t sent;
    uint64_t delivered;
    uint64_t refused;
    uint64_t dropped;    /* by the rule for coordinators without fences */
    uint64_t moves;
    uint64_t given_up;
    uint64_t disordered; /* only counted when fenceless */
    uint64_t stale;
    uint64_t digest;
};

/* Runs until everything is quiet; aborts with a text when an invariant breaks. */
struct model_result model_run(const struct model_options *options);

#endif
