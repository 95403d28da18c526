/* Starts incarnations at the places of a cluster, and judges which of them belong to it. */
#include "sim/run/cluster.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "node/states.h"
#include "sim/check/checks.h"
#include "sim/world/durable.h"
#include "sim/faults/backend_faults.h"
#include "sim/seed/streams.h"
#include "sim/world/world.h"

#define APPEARS (5 * SECOND) /* most ns */
#define FOREIGN_SYSTEM "Other" /* system name of the foreign cluster */
#define CLUSTER_DECISIONS 32 /* kept by each node: a world has many */
#define FAKE_JOINS 20 /* of a stranger at a time */
#define FLOOD_MORE 10 /* strangers than the node keeps */
#define LOOK (MS / 4) /* between two looks whether a disk writes */
#define VANISHES (40 * SECOND)
#define ENDS (10 * MS) /* between two looks whether a node has ended */

static void set_address(struct address *address, uint32_t node)
{
    char host[16];

    (void)snprintf(host, sizeof host, "n%u", node);
    check(address_set(address, host, strlen(host), 2551));
}

/* ---- discovery ---- */

/* Behaves like DNS: a new node appears within seconds, an ended one stays longer. */
static void follow(struct cluster *cluster, uint32_t node)
{
    struct cluster_listing *listing = &cluster->listings[node];
    uint64_t now = world_now(cluster->world);
    bool lives = cluster_lives(cluster, node);

    if (listing->since <= now) {
        listing->is_shown = listing->is_alive;
        listing->since = NEVER;
    }
    if (lives == listing->is_alive)
        return;
    listing->is_alive = lives;
    listing->since =
        now + rng_below(&cluster->rng, lives ? APPEARS : VANISHES);
}

static uint32_t find_nodes(void *user, uint32_t index,
                           struct address *addresses)
{
    struct cluster *cluster = user;
    uint32_t count = 0;

    (void)index; /* all nodes get the same answer */
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        follow(cluster, i);
        if (cluster->listings[i].is_shown && count < MEMBER_SEEDS_MAX)
            set_address(&addresses[count++], i);
    }
    return count;
}

/* Only a node that starts when no node runs may found a cluster. A cut-off one would found a
 * second. */
static void find_seeds_by_itself(const struct cluster *cluster, uint32_t node,
                                 uint32_t required,
                                 struct node_settings *settings)
{
    settings->finds_seeds = true;
    settings->seed_nodes = NULL;
    settings->seed_node_count = 0;
    settings->required_seeds =
        required < MEMBER_SEEDS_MAX ? required : MEMBER_SEEDS_MAX;
    settings->stable_margin = CLUSTER_SEEDS_STABLE;
    settings->find_interval =
        settings->find_interval ? settings->find_interval : SECOND;
    settings->find_backoff =
        settings->find_backoff ? settings->find_backoff : 4 * SECOND;
    for (uint32_t i = 0; i < cluster->nodes && required < 2; i++)
        settings->founds_never |= i != node && cluster_lives(cluster, i);
}

/* Counts refused handshakes of another cluster, and refused joins of strangers. */
static void hear(void *user, uint32_t node, const struct trace_line *line)
{
    struct cluster *cluster = user;

    (void)node;
    cluster->refused += !strcmp(line->module, "association") &&
                        strstr(line->text, "://" FOREIGN_SYSTEM "@") != NULL;
    cluster->fake_joins += !strcmp(line->module, "member") &&
                           strstr(line->text, "join refused: nothing at") != NULL;
}

void cluster_init(struct cluster *cluster)
{
    const struct world_observer observer = { .user = cluster, .line = hear };

    world_observe(cluster->world, &observer);
    cluster->seeds = mem_alloc(cluster->nodes * sizeof *cluster->seeds);
    cluster->listings = mem_alloc(cluster->nodes * sizeof *cluster->listings);
    cluster->rng =
        stream_rng(world_seed(cluster->world), STREAM_SEEDS, WORLD_NODES_MAX);
    cluster->powers = mem_alloc(cluster->nodes * sizeof *cluster->powers);
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        cluster->listings[i].since = NEVER;
        cluster->powers[i] =
            (struct cluster_power){ .cluster = cluster, .node = i };
    }
    if (cluster->finds)
        world_finds(cluster->world, find_nodes, cluster);
    if (cluster->resolves)
        check_member_resolves(cluster->checks->member);
}

void cluster_fini(struct cluster *cluster)
{
    mem_free(cluster->seeds);
    cluster->seeds = NULL;
    mem_free(cluster->listings);
    cluster->listings = NULL;
    mem_free(cluster->powers);
    cluster->powers = NULL;
}

bool cluster_lives(const struct cluster *cluster, uint32_t node)
{
    return node < cluster->nodes &&
           world_node(cluster->world, node)->node != NULL;
}

/* Ranks nodes as seed nodes. */
static int rank(const struct cluster *cluster, uint32_t node)
{
    const struct world_node *place = world_node(cluster->world, node);

    return !place->node ? 0 : !place->is_up ? 1 : place->is_paused ? 2 : 3;
}

/* Takes nodes that are up, and the node itself only if no other runs: a node in its own list may
 * found a cluster when it does not see the others, as Akka's first seed node does. */
static uint32_t find_seeds(struct cluster *cluster, uint32_t node)
{
    struct address *seeds = cluster->seeds[node];
    uint32_t count = 0;

    for (int wanted = 3; wanted > 0 && !count; wanted--) {
        for (uint32_t i = 1; i < cluster->nodes && count < CLUSTER_SEEDS; i++) {
            uint32_t other = (node + i) % cluster->nodes;

            if (rank(cluster, other) == wanted)
                set_address(&seeds[count++], other);
        }
    }
    if (!count)
        set_address(&seeds[count++], node);
    return count;
}

static const char *const centers[CLUSTER_CENTERS_MAX] = { "first", "second",
                                                          "third" };

/* required: seed nodes that a node must find before it founds a cluster. */
static void start(struct cluster *cluster, uint32_t node, uint32_t seeds,
                  uint32_t required)
{
    struct node_settings settings = world_node_settings(
        cluster->world, node, cluster->types, cluster->type_count);

    settings.probes = true;
    settings.timeline_max = CLUSTER_DECISIONS;
    if (cluster->centers > 1)
        settings.data_center =
            centers[node % cluster->centers % CLUSTER_CENTERS_MAX];
    cluster->settings(cluster->user, &settings);
    settings.alone = false;
    settings.seed_nodes = cluster->seeds[node];
    settings.seed_node_count = seeds;
    if (cluster->finds)
        find_seeds_by_itself(cluster, node, required, &settings);
    world_start(cluster->world, node, &settings);
}

/* Starts a node of another cluster that knows the running nodes and has no durable keys. Its list
 * has others, or it would found a cluster. */
static bool start_foreign(struct cluster *cluster, uint32_t node)
{
    struct node_settings settings = world_node_settings(
        cluster->world, node, cluster->types, cluster->type_count);
    uint32_t seeds = find_seeds(cluster, node);
    bool knows_one = false;

    for (uint32_t i = 0; i < cluster->nodes; i++)
        knows_one |= i != node && cluster_lives(cluster, i);
    if (!knows_one)
        return false;
    settings.probes = true;
    settings.timeline_max = CLUSTER_DECISIONS;
    cluster->settings(cluster->user, &settings);
    settings.identity.system = FOREIGN_SYSTEM;
    settings.alone = false;
    settings.seed_nodes = cluster->seeds[node];
    settings.seed_node_count = seeds;
    settings.durable_key_count = settings.shard_durable_key_count = 0;
    world_start(cluster->world, node, &settings);
    check_member_node_foreign(cluster->checks->member, node);
    cluster->powers[node].foreign = world_node(cluster->world, node)->life;
    return true;
}

void cluster_form(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        uint32_t count = 0;

        for (; count < CLUSTER_SEEDS && count < cluster->nodes; count++)
            set_address(&cluster->seeds[i][count], count);
        start(cluster, i, count, cluster->nodes);
    }
}

void cluster_start(struct cluster *cluster, uint32_t node)
{
    start(cluster, node, find_seeds(cluster, node), 1);
}

void cluster_down(struct cluster *cluster, uint32_t by, uint32_t node)
{
    struct address address;

    set_address(&address, node);
    check_member_commanded(cluster->checks->member, &address);
    world_down(cluster->world, by, node);
}

/* Whether the running node `by` has the incarnation of `of` among its members. */
static bool knows(const struct cluster *cluster, uint32_t by, uint32_t of)
{
    const uint64_t uid =
        world_node(cluster->world, of)->settings.identity.node.uid;
    struct sherd_status status = world_status(cluster->world, by);
    bool found = false;

    for (uint32_t i = 0; i < status.member_count && !found; i++)
        found = status.members[i].uid == uid;
    world_status_fini(&status);
    return found;
}

/* While two data centers do not see each other, all members that they know of each other may be
 * replaced. Then they never meet again, as in Akka. */
static uint32_t crash_strangers(struct cluster *cluster)
{
    uint32_t first = 0, crashed = 0;

    while (first < cluster->nodes && !cluster_lives(cluster, first))
        first++;
    for (uint32_t i = first + 1; i < cluster->nodes; i++) {
        if (!cluster_lives(cluster, i) ||
            (knows(cluster, first, i) && knows(cluster, i, first)))
            continue;
        world_crash(cluster->world, i);
        crashed++;
    }
    return crashed;
}

/* Up and not excluded. */
static bool is_member(const struct cluster *cluster, uint32_t node)
{
    return cluster_lives(cluster, node) &&
           world_node(cluster->world, node)->is_up &&
           !cluster->checks->safety.outside[node];
}

uint32_t cluster_crash_outsiders(struct cluster *cluster)
{
    uint32_t crashed = 0;

    for (uint32_t i = 0; i < cluster->nodes; i++) {
        if (!cluster_lives(cluster, i) || is_member(cluster, i))
            continue;
        world_crash(cluster->world, i);
        crashed++;
    }
    return crashed + (cluster->centers > 1 ? crash_strangers(cluster) : 0);
}

/* Whether its seed nodes or discovery can name a member. */
static bool knows_a_member(const struct cluster *cluster, uint32_t node)
{
    const struct node_settings *settings =
        &world_node(cluster->world, node)->settings;

    for (uint32_t i = 0; i < cluster->nodes; i++) {
        struct address address;
        bool knows_it = cluster->finds;

        if (i == node || !is_member(cluster, i))
            continue;
        set_address(&address, i);
        for (uint32_t j = 0; j < settings->seed_node_count; j++)
            knows_it |= address_equal(&settings->seed_nodes[j], &address);
        if (knows_it)
            return true;
    }
    return false;
}

/* Whether it is in the surviving cluster, or must be welcomed to it. */
static bool belongs(const struct cluster *cluster, uint32_t node)
{
    const struct checks *checks = cluster->checks;

    return cluster_lives(cluster, node) && !checks->safety.outside[node] &&
           !checks->ends[node].by && !checks_is_orphaned(checks, node) &&
           (checks->entries[node].by || knows_a_member(cluster, node));
}

uint32_t cluster_belonging(const struct cluster *cluster)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < cluster->nodes; i++)
        count += belongs(cluster, i);
    return count;
}

bool cluster_waits_wrongly(const struct cluster *cluster, uint32_t node,
                           uint64_t time)
{
    return belongs(cluster, node) &&
           !world_node(cluster->world, node)->is_up &&
           world_now(cluster->world) >=
               cluster->checks->entries[node].started_at + time;
}

/* ---- actions of the nemesis ---- */

static void hand_start(void *user, uint32_t node)
{
    cluster_start(user, node);
}

/* Also with a resolver, whether it would down that node or not. */
static void hand_down(void *user, uint32_t by, uint32_t node)
{
    cluster_down(user, by, node);
}

static bool hand_disk(void *user, enum fault_verb verb, bool on)
{
    struct cluster *cluster = user;

    if (verb == FAULT_VERB_POWER && cluster->power_waits) {
        backend_power_waits(cluster->world, &cluster->power);
        return true;
    }
    return backend_fault(cluster->world, verb, on);
}

static void look_for_writes(struct world *world, void *arg)
{
    struct cluster_power *power = arg;
    uint64_t now = world_now(world);
    bool lives = cluster_lives(power->cluster, power->node);

    if (lives && now < power->until &&
        !world_durable_is_writing(world, power->node)) {
        world_at(world, now + LOOK, look_for_writes, power);
        return;
    }
    power->until = 0;
    if (lives)
        world_crash_as(world, power->node, WORLD_DARK);
}

static void hand_power_off(void *user, uint32_t node)
{
    struct cluster *cluster = user;
    struct cluster_power *power = &cluster->powers[node];

    if (power->until)
        return; /* already planned */
    power->until = world_now(cluster->world) + NEMESIS_OFF_WITHIN;
    world_at(cluster->world, world_now(cluster->world) + LOOK, look_for_writes,
             power);
}

static void start_again(struct world *world, void *arg)
{
    struct cluster_power *place = arg;

    (void)world;
    if (!place->leaving || cluster_lives(place->cluster, place->node))
        return;
    place->leaving = 0;
    cluster_start(place->cluster, place->node);
}

/* A leaving node may also crash meanwhile, and another fault may start it. */
static void look_for_end(struct world *world, void *arg)
{
    struct cluster_power *place = arg;

    if (place->leaving && cluster_lives(place->cluster, place->node) &&
        world_node(world, place->node)->life == place->leaving) {
        world_at(world, world_now(world) + ENDS, look_for_end, place);
        return;
    }
    place->is_watched = false;
    if (place->leaving)
        world_at(world, world_now(world) + place->start_after, start_again, place);
}

static void hand_restart(void *user, uint32_t node, uint64_t after, bool on)
{
    struct cluster *cluster = user;
    struct cluster_power *place = &cluster->powers[node];

    place->leaving = on ? world_node(cluster->world, node)->life : 0;
    if (!on)
        return;
    place->start_after = after;
    world_leave(cluster->world, node);
    if (!place->is_watched)
        world_at(cluster->world, world_now(cluster->world) + ENDS, look_for_end, place);
    place->is_watched = true;
}

static bool hand_foreign(void *user, uint32_t node, bool on)
{
    struct cluster *cluster = user;

    if (on)
        return start_foreign(cluster, node);
    if (cluster_lives(cluster, node) &&
        world_node(cluster->world, node)->life ==
            cluster->powers[node].foreign)
        world_crash(cluster->world, node);
    return true;
}

/* No node listens at these addresses. */
static struct node_id invent(struct cluster *cluster)
{
    struct node_id claimed = { .uid = UINT64_C(1) << 62 | ++cluster->strangers };
    char host[16];

    (void)snprintf(host, sizeof host, "x%u", cluster->strangers);
    check(address_set(&claimed.address, host, strlen(host), 2551));
    check_member_stranger(cluster->checks->member, claimed.uid);
    return claimed;
}

static void hand_fake_joins(void *user, uint32_t node)
{
    struct cluster *cluster = user;

    for (uint32_t i = 0; i < FAKE_JOINS; i++) {
        struct node_id claimed = invent(cluster);

        world_fake_join(cluster->world, node, &claimed);
    }
}

/* The addresses of running nodes, with other uids. */
static void claim_addresses(struct cluster *cluster, uint32_t node,
                            enum stream stream)
{
    for (uint32_t i = 0; i < cluster->nodes; i++) {
        struct node_id claimed;

        if (i == node || !cluster_lives(cluster, i))
            continue;
        claimed = invent(cluster);
        set_address(&claimed.address, i);
        world_shake(cluster->world, node, &claimed, stream);
    }
}

static void hand_flood(void *user, uint32_t node)
{
    struct cluster *cluster = user;
    uint32_t count =
        world_node(cluster->world, node)->settings.strangers_max + FLOOD_MORE;

    claim_addresses(cluster, node, STREAM_CONTROL);
    claim_addresses(cluster, node, STREAM_ORDINARY);
    for (uint32_t i = 0; i < count; i++) {
        struct node_id claimed = invent(cluster);

        world_shake(cluster->world, node, &claimed,
                    i % 2 ? STREAM_ORDINARY : STREAM_CONTROL);
    }
}

static uint64_t hand_harm(void *user, enum fault_verb verb)
{
    struct cluster *cluster = user;

    if (verb == FAULT_VERB_DOWN)
        return check_member_counts(cluster->checks->member).downed;
    if (verb == FAULT_VERB_FOREIGN)
        return cluster->refused;
    if (verb == FAULT_VERB_FAKE_JOINS)
        return cluster->fake_joins;
    if (verb == FAULT_VERB_FLOOD)
        return check_peers_forgotten(cluster->checks->peers);
    return backend_harm(cluster->world, verb) +
           (verb == FAULT_VERB_POWER && cluster->power.until); /* planned */
}

static uint64_t hand_states(void *user, uint32_t index)
{
    const struct cluster *cluster = user;
    const struct world_node *place = world_node(cluster->world, index);
    uint64_t now = world_clock(cluster->world, index);
    uint64_t states = 0;

    for (uint32_t i = 0; place->node && i <= place->settings.lanes; i++)
        states |= machine_states(node_machine(place->node, i), now);
    return states;
}

struct nemesis_hands cluster_hands(struct cluster *cluster, uint64_t delay_min,
                                   uint64_t delay_mean)
{
    return (struct nemesis_hands){ .user = cluster,
                                   .delay_min = delay_min,
                                   .delay_mean = delay_mean,
                                   .start = hand_start,
                                   .down = hand_down,
                                   .restart = hand_restart,
                                   .disk = hand_disk,
                                   .power_off = hand_power_off,
                                   .foreign = hand_foreign,
                                   .fake_joins = hand_fake_joins,
                                   .flood = hand_flood,
                                   .harm = hand_harm,
                                   .states = hand_states };
}
