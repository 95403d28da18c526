/* Declares the inside of a public simulation (sherd/sim.h). Private to sim/face/. */
#ifndef SHERD_SIM_FACE_H
#define SHERD_SIM_FACE_H

#include <sherd/sim.h>

#include "base/bytes.h"
#include "sim/check/checks.h"
#include "sim/run/cluster.h"
#include "sim/faults/nemesis.h"
#include "sim/world/net.h"
#include "sim/faults/schedule.h"
#include "sim/world/verdict.h"
#include "sim/world/world.h"

struct sherd_sim {
    struct world *world;
    struct checks *checks;
    struct schedule schedule;
    struct nemesis *nemesis;
    struct sherd_entity_type *types; /* a copy of the array */
    struct cluster cluster;
    uint32_t lanes, shards;
    bool remember_in_data;
    sherd_log_function log;
    void *log_user;
    uint64_t asks;     /* number of the last ask, which may be open */
    bool is_answered;
    struct sherd_sim_answer result;
    struct buf answer; /* result.body points into it */
    char text[VERDICT_LINE_MAX];
};

/* Checks the options. Returns 0, or SHERD_EINVAL or SHERD_EEXIST with the option and the reason in
 * text (size FACE_WRONG_MAX is enough). */
#define FACE_WRONG_MAX 160
int face_wrong(const struct sherd_sim_options *options, char *text,
               size_t size);

#endif
