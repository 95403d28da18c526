/* Measures how membership scales with the number of nodes: the time until all agree, and the bytes
 * sent. Production nodes run with Akka's default intervals, without entity types and without other
 * faults. */
#include "sherd-sim.h"
#include "sherd-sim-frames.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/check/check_convergence.h"
#include "sim/world/world.h"

#define SEEDS 3         /* seed nodes */
#define GROUPS_MAX 50   /* of the rolling restart; the nodes of a group restart together */
#define LARGE 500 /* nodes; above this only some groups restart, because all would take an hour */
#define GROUPS_OF_LARGE 5
#define PATIENCE (600 * SECOND) /* until all must have agreed */
#define QUIET (30 * SECOND)
#define LOOK (20 * MS)

struct scale {
    struct world *world;
    uint32_t nodes;
    uint32_t differed; /* the node to ask first next time */
    uint32_t started;  /* restarted nodes of a group */
    uint64_t bytes;    /* written to connections so far */
    uint64_t writes;
    struct frames frames;
    struct address seeds[SEEDS];
};

static void written(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                    struct slice bytes)
{
    struct scale *scale = user;

    (void)from;
    (void)to;
    scale->bytes += bytes.size;
    scale->writes++;
    frames_written(&scale->frames, pipe, bytes);
}

static void pipe_ended(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                       size_t lost, bool broken)
{
    struct scale *scale = user;

    (void)from;
    (void)to;
    (void)lost;
    (void)broken;
    frames_ended(&scale->frames, pipe);
}

static void start(struct scale *scale, uint32_t node)
{
    struct node_settings settings =
        world_node_settings(scale->world, node, NULL, 0);

    settings.alone = false;
    settings.lanes = 1;
    settings.trace_level = TRACE_WARNING;
    settings.seed_nodes = scale->seeds;
    settings.seed_node_count = scale->nodes < SEEDS ? scale->nodes : SEEDS;
    world_start(scale->world, node, &settings);
}

/* ---- conditions ---- */

typedef bool condition(struct scale *scale, uint32_t node);

static bool all_agree(struct scale *scale, uint32_t node)
{
    char text[160];

    (void)node;
    return quiet_converged(scale->world, &scale->differed, text, sizeof text);
}

static bool sees_reachable(struct scale *scale, uint32_t by,
                           const char *address)
{
    struct sherd_status status = world_status(scale->world, by);
    bool sees = false;

    for (uint32_t i = 0; i < status.member_count; i++)
        sees |= status.members[i].reachable &&
                strcmp(status.members[i].address, address) == 0;
    world_status_fini(&status);
    return sees;
}

static bool all_miss(struct scale *scale, uint32_t node)
{
    char address[32];

    (void)snprintf(address, sizeof address, "n%u:2551", node);
    for (uint32_t k = 0; k < scale->nodes; k++) {
        uint32_t i = (scale->differed + k) % scale->nodes;

        if (!world_node(scale->world, i)->node ||
            !sees_reachable(scale, i, address))
            continue;
        scale->differed = i;
        return false;
    }
    return true;
}

static uint32_t groups(const struct scale *scale)
{
    return scale->nodes < GROUPS_MAX ? scale->nodes : GROUPS_MAX;
}

/* Restarts the nodes of a group that have ended. */
static bool are_started_again(struct scale *scale, uint32_t group)
{
    uint32_t count = 0;

    for (uint32_t i = group; i < scale->nodes; i += groups(scale), count++)
        if (world_node(scale->world, i)->has_ended) {
            start(scale, i);
            scale->started++;
        }
    return scale->started == count;
}

static bool wait_for(struct scale *scale, condition *holds, uint32_t node)
{
    uint64_t end = world_now(scale->world) + PATIENCE;

    while (!holds(scale, node)) {
        if (world_now(scale->world) >= end)
            return false;
        world_run(scale->world, LOOK);
    }
    return true;
}

/* ---- measurements ---- */

static bool join_storm(struct scale *scale)
{
    for (uint32_t i = 0; i < scale->nodes; i++)
        start(scale, i);
    return wait_for(scale, all_agree, 0);
}

static bool quiet(struct scale *scale)
{
    world_run(scale->world, QUIET);
    return all_agree(scale, 0);
}

static bool crash(struct scale *scale)
{
    world_crash_as(scale->world, scale->nodes - 1, WORLD_KILLED);
    return wait_for(scale, all_miss, scale->nodes - 1);
}

static bool down(struct scale *scale)
{
    world_down(scale->world, 0, scale->nodes - 1);
    return wait_for(scale, all_agree, 0);
}

static bool join_one(struct scale *scale)
{
    start(scale, scale->nodes - 1);
    return wait_for(scale, all_agree, 0);
}

static uint32_t restarted_groups(const struct scale *scale)
{
    return scale->nodes > LARGE ? GROUPS_OF_LARGE : groups(scale);
}

/* No two seed nodes are in one group, so a restarted node finds the others. */
static bool roll(struct scale *scale)
{
    for (uint32_t group = 0; group < restarted_groups(scale); group++) {
        scale->started = 0;
        for (uint32_t i = group; i < scale->nodes; i += groups(scale))
            world_leave(scale->world, i);
        if (!wait_for(scale, are_started_again, group) ||
            !wait_for(scale, all_agree, 0))
            return false;
    }
    return true;
}

static bool measure(struct scale *scale, const char *name,
                    bool (*act)(struct scale *scale), uint32_t parts)
{
    uint64_t at = world_now(scale->world);
    uint64_t bytes = scale->bytes;
    uint64_t writes = scale->writes;
    bool good = act(scale);
    double seconds = (double)(world_now(scale->world) - at) / SECOND;
    double each = (double)(scale->bytes - bytes) / scale->nodes;

    printf("%5u nodes  %-22s %8.2f s%s  %10.1f KiB a node  %8.2f KiB a node "
           "and s  %7.1f writes a node\n",
           (unsigned)scale->nodes, name, seconds / parts,
           parts > 1 ? " each" : "     ", each / 1024,
           each / 1024 / seconds,
           (double)(scale->writes - writes) / scale->nodes);
    frames_print(&scale->frames, scale->nodes, seconds);
    if (!good)
        printf("FAIL  %5u nodes  %s: no agreement\n", (unsigned)scale->nodes,
               name);
    (void)fflush(stdout);
    return good;
}

static bool measure_all(struct scale *scale)
{
    if (!measure(scale, "all start at once", join_storm, 1) ||
        !measure(scale, "quiet", quiet, 1))
        return false;
    if (scale->nodes <= SEEDS)
        return true;
    return measure(scale, "one dies: all notice", crash, 1) &&
           measure(scale, "it is downed: removed", down, 1) &&
           measure(scale, "one joins: all see it", join_one, 1) &&
           measure(scale, "rolling restart", roll, restarted_groups(scale));
}

static int scale_one(const struct command *command, uint64_t nodes,
                     uint64_t seed)
{
    struct world_settings settings = { .seed = seed };
    struct scale scale = { .nodes = (uint32_t)nodes,
                           .world = world_new(&settings) };
    const struct world_observer observer = { .user = &scale,
                                             .written = written,
                                             .pipe_ended = pipe_ended };
    bool good;

    (void)command;
    for (uint32_t i = 0; i < SEEDS; i++)
        scale.seeds[i] =
            world_node_settings(scale.world, i, NULL, 0).identity.node.address;
    world_observe(scale.world, &observer);
    good = measure_all(&scale);
    world_free(scale.world);
    frames_fini(&scale.frames);
    return good ? 0 : 1;
}

int command_scale(const struct command *command)
{
    const char *text = command->sizes ? command->sizes : "5,50,200,1000";
    uint64_t first = command->has_seeds ? command->seed_first : 1;
    uint64_t last = command->has_seeds ? command->seed_last : 1;
    uint64_t nodes;
    int worst = 0;

    if (!sizes_good(text))
        return EXIT_USAGE;
    while ((nodes = next_size(&text)) != 0)
        for (uint64_t seed = first; seed <= last; seed++) {
            int status = run_apart(scale_one, command, nodes, seed);

            worst = status > worst ? status : worst;
        }
    return worst;
}
