/* Implements the public simulator, sherd/sim.h: a world with its checkers, a nemesis, and the
 * user's commands. */
#include "sim/face/face.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "node/entity_type.h"
#include "node/type_passivation.h"
#include "sim/check/check_convergence.h"
#include "sim/world/disk_backend.h"
#include "sim/seed/options.h"

#define NODES_DEFAULT 3
#define LANES_DEFAULT 2
#define SHARDS_DEFAULT 20
#define LINK_MIN (MS / 20)
#define LINK_MEAN (MS / 2)
#define GIVE_UP (60 * SECOND) /* a kernel with TCP_USER_TIMEOUT */
#define FORMING (600 * SECOND)
#define HEAL_LOOK (30 * SECOND) /* until nodes that are still in no cluster are restarted */
#define SETTLE_MS 10000 /* for links and failure detectors to recover */
#define LOOK (100 * MS)      /* between two checks of a condition */
#define STOP_BOUND (30 * SECOND) /* in which a downed node ends its entities */

/* ---- nodes ---- */

/* Applies the user's options to the settings of an incarnation. */
static void set_life(void *user, struct node_settings *settings)
{
    static const char *const durable[] = { "shard-*" };
    const struct sherd_sim *sim = user;

    settings->lanes = sim->lanes;
    settings->number_of_shards = sim->shards;
    settings->remembers_in_data = sim->remember_in_data;
    settings->shard_durable_keys = durable;
    settings->shard_durable_key_count = 1;
    if (sim->log)
        settings->trace_level = TRACE_DEBUG;
}

/* ---- time ---- */

/* Runs until that time of the world, with the faults due meanwhile. */
static void run_to(struct sherd_sim *sim, uint64_t end)
{
    while (world_now(sim->world) < end) {
        uint64_t next = nemesis_deadline(sim->nemesis);

        if (next > end)
            next = end;
        if (next > world_now(sim->world))
            world_run(sim->world, next - world_now(sim->world));
        nemesis_step(sim->nemesis);
    }
}

/* NEVER if the world's time does not go so far. */
static uint64_t in_ms(const struct sherd_sim *sim, uint64_t ms)
{
    uint64_t now = world_now(sim->world);

    return ms < (NEVER - now) / MS ? now + ms * MS : NEVER;
}

void sherd_sim_run(struct sherd_sim *sim, uint64_t ms)
{
    run_to(sim, in_ms(sim, ms));
    checks_look(sim->checks);
}

uint64_t sherd_sim_now(const struct sherd_sim *sim)
{
    return world_now(sim->world) / MS;
}

/* Every node is up and knows the coordinator of every type. */
static bool coordinated(struct sherd_sim *sim)
{
    bool all = true;

    for (uint32_t i = 0; i < sim->cluster.nodes && all; i++) {
        struct sherd_status status;

        if (!cluster_lives(&sim->cluster, i))
            return false;
        status = world_status(sim->world, i);

        for (uint32_t j = 0; j < status.type_count; j++)
            all &= status.types[j].coordinator[0] != 0;
        world_status_fini(&status);
    }
    return all;
}

static int converge(struct sherd_sim *sim, uint64_t limit)
{
    uint64_t end = world_now(sim->world) + limit;
    uint32_t first = 0;

    while (!quiet_converged(sim->world, &first, sim->text,
                            sizeof sim->text) ||
           !coordinated(sim)) {
        if (world_now(sim->world) >= end)
            return SHERD_ETIME;
        run_to(sim, world_now(sim->world) + LOOK);
    }
    return 0;
}

/* Restarts nodes that are in no cluster: one may wait for an ended peer, or all for each other. */
static void restart_strays(struct sherd_sim *sim)
{
    cluster_crash_outsiders(&sim->cluster);
    for (uint32_t i = 0; i < sim->cluster.nodes; i++)
        if (!cluster_lives(&sim->cluster, i))
            cluster_start(&sim->cluster, i);
}

int sherd_sim_heal(struct sherd_sim *sim, uint64_t limit_ms)
{
    uint64_t end = in_ms(sim, limit_ms);

    nemesis_end(sim->nemesis);
    world_store_reopen(sim->world, 0);
    for (uint32_t i = 0; i < sim->cluster.nodes; i++) {
        for (uint32_t j = 0; j < sim->cluster.nodes; j++)
            if (i != j) {
                net_cut(sim->world, i, j, NET_BOTH, false);
                net_reset(sim->world, i, j); /* some may be half open */
            }
        if (cluster_lives(&sim->cluster, i))
            world_pause(sim->world, i, false);
    }
    /* Links and failure detectors recover. */
    sherd_sim_run(sim, limit_ms < SETTLE_MS ? limit_ms : SETTLE_MS);
    for (uint64_t look = world_now(sim->world); look < end;) {
        restart_strays(sim);
        look += HEAL_LOOK;
        if (!converge(sim, (look < end ? look : end) - world_now(sim->world)))
            return 0;
    }
    return SHERD_ETIME;
}

/* ---- the world ---- */

static void log_line(void *user, uint32_t node, const struct trace_line *line)
{
    struct sherd_sim *sim = user;
    char text[1200];
    char time[TIME_TEXT_MAX];

    (void)snprintf(text, sizeof text, "t=%s node=%u %s",
                   time_text(world_now(sim->world), time, sizeof time), node,
                   line->text);
    sim->log(sim->log_user, (enum sherd_log_level)line->level, line->module, text);
}

/* Draws like the options of a seed, but only these faults, every few seconds. */
static void draw_faults(struct sherd_sim *sim, uint32_t faults)
{
    static const struct {
        enum sim_option option;
        uint32_t fault;
    } kinds[] = {
        { OPTION_CRASH, SHERD_SIM_CRASHES },
        { OPTION_STILL, SHERD_SIM_PAUSES },
        { OPTION_SLOW, SHERD_SIM_PAUSES },
        { OPTION_CUT, SHERD_SIM_PARTITIONS },
        { OPTION_FLAP, SHERD_SIM_PARTITIONS },
        { OPTION_CLOG, SHERD_SIM_PARTITIONS },
        { OPTION_RESET, SHERD_SIM_RESETS },
        { OPTION_HALF_OPEN, SHERD_SIM_RESETS },
        { OPTION_WALL, SHERD_SIM_CLOCKS },
        { OPTION_DRIFT, SHERD_SIM_CLOCKS },
        { OPTION_DISK_STALL, SHERD_SIM_DISK },
        { OPTION_DISK_ERROR, SHERD_SIM_DISK },
        { OPTION_DISK_FULL, SHERD_SIM_DISK },
        { OPTION_DISK_SYNC, SHERD_SIM_DISK },
        { OPTION_POWER, SHERD_SIM_DISK },
        { OPTION_LEAVE, SHERD_SIM_LEAVES },
    };
    struct options options;

    options_default(&options, world_seed(sim->world));
    options.value[OPTION_NODES] = sim->cluster.nodes;
    options.value[OPTION_LENGTH] = 6 * 3600; /* as sherd/sim.h promises */
    options.value[OPTION_FAULTS] = 200;
    options.value[OPTION_FAULT_LENGTH] = 10;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        options.value[kinds[i].option] = (faults & kinds[i].fault) != 0;
    nemesis_draw(&options, &sim->schedule);
}

static void last_words(const char *text)
{
    (void)fprintf(stderr, "%s\n", text);
}

static int wrong_types(const struct sherd_sim_options *options, char *text,
                       size_t size)
{
    const struct node_settings settings = { 0 };
    struct buf name = { 0 };
    bool clash = false;

    for (uint32_t i = 0; i < options->type_count; i++) {
        const char *fault =
            entity_type_fault(options->types ? &options->types[i] : NULL);

        if (!fault)
            fault = type_passivation_fault(&settings, &options->types[i]);
        if (!fault)
            continue;
        (void)snprintf(text, size, "types[%u]: %s", i, fault);
        return SHERD_EINVAL;
    }
    for (uint32_t i = 0; i < options->type_count; i++) {
        for (uint32_t j = 0; j <= i && !clash; j++) {
            clash = entity_types_clash(&settings, &options->types[i],
                                       &options->types[j], &name);
            (void)snprintf(text, size, "types[%u] and types[%u]: one name or path",
                           j, i); /* read only if they clash */
        }
    }
    buf_fini(&name);
    return clash ? SHERD_EEXIST : 0;
}

int face_wrong(const struct sherd_sim_options *options, char *text, size_t size)
{
    const struct {
        const char *name;
        uint32_t value, most;
    } numbers[] = {
        { "nodes", options->nodes, SHERD_SIM_NODES_MAX },
        { "lanes", options->lanes, LANES_MAX },
        { "shards", options->shards, TYPE_SHARDS_MAX },
        { "type_count", options->type_count, ACTOR_TYPES_MAX },
        { "faults", options->faults, SHERD_SIM_ALL }, /* each number up to it is a set */
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].value <= numbers[i].most)
            continue;
        (void)snprintf(text, size, "%s is %u, at most %u", numbers[i].name,
                       numbers[i].value, numbers[i].most);
        return SHERD_EINVAL;
    }
    return wrong_types(options, text, size);
}

static int copy_options(struct sherd_sim *sim,
                        const struct sherd_sim_options *options)
{
    char text[FACE_WRONG_MAX]; /* unused */
    int error = face_wrong(options, text, sizeof text);

    if (error)
        return error;
    sim->cluster.nodes = options->nodes ? options->nodes : NODES_DEFAULT;
    sim->lanes = options->lanes ? options->lanes : LANES_DEFAULT;
    sim->shards = options->shards ? options->shards : SHARDS_DEFAULT;
    sim->remember_in_data = options->remember_in_data != 0;
    sim->log = options->log;
    sim->log_user = options->log_user;
    sim->types = mem_copy(options->types,
                          options->type_count * sizeof *options->types);
    sim->cluster.types = sim->types;
    sim->cluster.type_count = options->type_count;
    return 0;
}

int sherd_sim_open(struct sherd_sim **opened,
                   const struct sherd_sim_options *options)
{
    const struct world_observer lines = { .line = log_line };
    struct world_settings settings = { .link_min = LINK_MIN,
                                       .link_mean = LINK_MEAN,
                                       .give_up = GIVE_UP };
    struct world_observer observer = lines;
    struct nemesis_hands hands;
    struct sherd_sim *sim;
    int error;

    if (!opened)
        return SHERD_EINVAL;
    *opened = NULL;
    if (!options)
        return SHERD_EINVAL;
    check_set_hook(last_words);
    sim = mem_alloc(sizeof *sim);
    error = copy_options(sim, options);
    if (error) {
        mem_free(sim);
        return error;
    }
    settings.seed = options->seed;
    sim->world = world_new(&settings);
    observer.user = sim;
    if (sim->log)
        world_observe(sim->world, &observer);
    sim->checks = checks_new(sim->world, STOP_BOUND);
    sim->nemesis = nemesis_new(sim->world, &sim->schedule, sim->cluster.nodes,
                               &(struct nemesis_hands){ 0 });
    sim->cluster.world = sim->world;
    sim->cluster.checks = sim->checks;
    sim->cluster.settings = set_life;
    sim->cluster.user = sim;
    cluster_init(&sim->cluster);
    cluster_form(&sim->cluster);
    error = converge(sim, FORMING);
    if (error) {
        sherd_sim_close(sim);
        return error;
    }
    nemesis_free(sim->nemesis);
    if (options->faults)
        draw_faults(sim, options->faults);
    hands = cluster_hands(&sim->cluster, LINK_MIN, LINK_MEAN);
    sim->nemesis =
        nemesis_new(sim->world, &sim->schedule, sim->cluster.nodes, &hands);
    *opened = sim;
    return 0;
}

void sherd_sim_close(struct sherd_sim *sim)
{
    if (!sim)
        return;
    world_free(sim->world);
    checks_free(sim->checks);
    nemesis_free(sim->nemesis);
    schedule_fini(&sim->schedule);
    buf_fini(&sim->answer);
    mem_free(sim->types);
    cluster_fini(&sim->cluster);
    mem_free(sim);
}

const char *sherd_sim_violation(const struct sherd_sim *sim)
{
    struct verdict *verdict = world_verdict(sim->world);

    if (!verdict_count(verdict))
        return NULL;
    return verdict_line(verdict, verdict_at(verdict, 0),
                        ((struct sherd_sim *)sim)->text, sizeof sim->text);
}

uint64_t sherd_sim_seed(const struct sherd_sim *sim)
{
    return world_seed(sim->world);
}

uint64_t sherd_sim_digest(const struct sherd_sim *sim)
{
    return world_digest(sim->world);
}
