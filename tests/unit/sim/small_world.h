/* Creates small clusters without entities for tests of the world, and counts the bytes of their
 * connections. */
#ifndef TESTS_SIM_SMALL_WORLD_H
#define TESTS_SIM_SMALL_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "sim/world/net.h"
#include "sim/world/world.h"

#define NODES 4
#define PIPES 4096

/* Reports to the observer about a pipe. */
struct seen {
    uint64_t written, arrived, lost;
    uint64_t written_hash, arrived_hash;
    bool has_ended;
};

struct traffic {
    struct seen pipes[PIPES];
    uint64_t written[NODES][NODES];
    uint64_t arrived[NODES][NODES];
    uint64_t lost[NODES][NODES];
    uint64_t pieces;
    uint64_t largest;
    uint32_t started, ended;
};

static inline uint64_t add_bytes(uint64_t hash, struct slice bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ bytes.data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static inline void see_written(void *user, uint64_t pipe, uint32_t from,
                               uint32_t to, struct slice bytes)
{
    struct traffic *traffic = user;
    struct seen *seen = &traffic->pipes[pipe];

    check(pipe < PIPES);
    seen->written += bytes.size;
    seen->written_hash = add_bytes(seen->written_hash, bytes);
    traffic->written[from][to] += bytes.size;
    traffic->pieces++;
    if (bytes.size > traffic->largest)
        traffic->largest = bytes.size;
}

static inline void see_arrived(void *user, uint64_t pipe, uint32_t from,
                               uint32_t to, struct slice bytes)
{
    struct traffic *traffic = user;
    struct seen *seen = &traffic->pipes[pipe];

    check(!seen->has_ended);
    seen->arrived += bytes.size;
    seen->arrived_hash = add_bytes(seen->arrived_hash, bytes);
    traffic->arrived[from][to] += bytes.size;
}

static inline void see_ended(void *user, uint64_t pipe, uint32_t from,
                             uint32_t to, size_t lost, bool broken)
{
    struct traffic *traffic = user;
    struct seen *seen = &traffic->pipes[pipe];

    (void)broken;
    check(!seen->has_ended);
    seen->has_ended = true;
    seen->lost = lost;
    traffic->lost[from][to] += lost;
    assert_int_equal(seen->written, seen->arrived + lost);
}

static inline void see_start(void *user, uint32_t node, uint64_t uid)
{
    (void)node;
    assert_true(uid != 0);
    ((struct traffic *)user)->started++;
}

static inline void see_end(void *user, uint32_t node, bool crashed, int error)
{
    (void)node;
    (void)crashed;
    (void)error;
    ((struct traffic *)user)->ended++;
}

static inline struct traffic *traffic_of(struct world *world)
{
    struct traffic *traffic = mem_alloc(sizeof *traffic);
    struct world_observer observer = { .user = traffic,
                                       .node_started = see_start,
                                       .node_ended = see_end,
                                       .written = see_written,
                                       .arrived = see_arrived,
                                       .pipe_ended = see_ended };

    world_observe(world, &observer);
    return traffic;
}

static inline void begin_node(struct world *world, uint32_t index)
{
    struct node_settings settings = world_node_settings(world, index, NULL, 0);

    settings.lanes = 1;
    world_start(world, index, &settings);
}

static inline void begin_nodes(struct world *world, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        begin_node(world, i);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
}

/* Whether node `by` has node `which` among its members and sees it as reachable. */
static inline bool sees(struct world *world, uint32_t by, uint32_t which)
{
    struct sherd_status status = world_status(world, by);
    uint64_t uid = world_node(world, which)->settings.identity.node.uid;
    bool reachable = false;

    for (uint32_t i = 0; i < status.member_count; i++)
        if (status.members[i].uid == uid)
            reachable = status.members[i].reachable;
    world_status_fini(&status);
    return reachable;
}

struct pair {
    uint32_t by, which;
};

static inline bool is_missed(struct world *world, void *pair)
{
    struct pair *nodes = pair;

    return !sees(world, nodes->by, nodes->which);
}

#endif
