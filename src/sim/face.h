/* The inside of a public simulation. Private to sim/face*.c. */
#ifndef SHERD_SIM_FACE_H
#define SHERD_SIM_FACE_H

#include <sherd/sim.h>

#include "base/bytes.h"
#include "sim/checks.h"
#include "sim/cluster.h"
#include "sim/nemesis.h"
#include "sim/net.h"
#include "sim/schedule.h"
#include "sim/verdict.h"
#include "sim/world.h"

struct sherd_sim {
    struct world *world;
    struct checks *checks;
    struct schedule schedule;
    struct nemesis *nemesis;
    struct sherd_entity_type *types; /* the array is ours */
    struct cluster cluster;
    uint32_t lanes, shards;
    bool remember_in_data;
    sherd_log_function log;
    void *log_user;
    uint64_t asks;     /* so far: the number of the one that is waited for */
    bool is_answered;
    struct sherd_sim_answer result;
    struct buf answer; /* what result.body points into */
    char text[VERDICT_LINE_MAX];
};

/* 0, or SHERD_EINVAL or SHERD_EEXIST with which option is wrong, and why, in text (size FACE_WRONG_MAX is enough). */
#define FACE_WRONG_MAX 160
int face_wrong(const struct sherd_sim_options *options, char *text,
               size_t size);

#endif
