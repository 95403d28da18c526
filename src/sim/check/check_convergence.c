/* Judges the nodes' status reports, and derives time limits from their settings. */
#include "sim/check/check_convergence.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/timers.h"
#include "member/clock.h"
#include "member/member.h"
#include "node/node.h"
#include "sim/check/check_liveness.h"
#include "sim/world/verdict.h"
#include "sim/world/world.h"

#define REMEMBER_PARTS 10 /* of digests in one round */
#define CARRIED 500 /* bytes sent about a shard that moves: hold, stop, host, the home */
#define CARRIED_TYPES 6 /* of the workload, with those that remember */

static uint64_t ms_of(const struct options *options, enum sim_option option)
{
    return options->value[option] * MS;
}

/* ns by which a time-out exceeds its default, from which the limits were derived. */
static uint64_t longer(const struct options *options, enum sim_option option)
{
    return options->value[option] > option_default(option)
               ? (options->value[option] - option_default(option)) * MS
               : 0;
}

/* One round: gossip, and the action after it. */
static uint64_t round_time(const struct options *options)
{
    return ms_of(options, OPTION_GOSSIP) + ms_of(options, OPTION_LEADER) +
           ms_of(options, OPTION_REAPER) +
           10 * options->value[OPTION_LINK_MEAN] * 1000 +
           10 * options->value[OPTION_MAIL] * 1000;
}

static uint64_t log2_of(uint64_t number)
{
    uint64_t bits = 0;

    for (; number > 1; number = (number + 1) / 2)
        bits++;
    return bits;
}

/* Returns the time from a node's end until its observers see it as unreachable. */
static uint64_t detection(const struct options *options)
{
    return ms_of(options, OPTION_PAUSE) + ms_of(options, OPTION_ESTIMATE) +
           4 * ms_of(options, OPTION_HEARTBEAT) +
           20 * ms_of(options, OPTION_DEVIATION);
}

/* Returns the time that several data centers add: only some rounds of gossip cross between them,
 * and their nodes notice silence and its end later. */
static uint64_t across(const struct options *options)
{
    return options->value[OPTION_CENTERS] < 2
               ? 0
               : SECOND +
                     3 * (ms_of(options, OPTION_CROSS_HEARTBEAT) +
                          ms_of(options, OPTION_CROSS_PAUSE)) +
                     2000 * round_time(options) /
                         options->value[OPTION_CROSS_GOSSIP];
}

/* Returns the time that discovery adds: the founder of a cluster waits until the answers are stable
 * and name no dead nodes. */
static uint64_t finding(const struct options *options)
{
    return options->value[OPTION_FOUND] 
               ? 40 * SECOND + 4 * (ms_of(options, OPTION_FIND_INTERVAL) +
                                    ms_of(options, OPTION_FIND_BACKOFF))
               : 0;
}

/* Returns the time by which the removal margin exceeds stable-after, which the limits include.
 * The shards of a downed node start elsewhere after the margin. */
static uint64_t margin(const struct options *options)
{
    return options->value[OPTION_RESOLVER]
               ? ms_of(options, OPTION_STABLE) *
                     (options->value[OPTION_MARGIN] - 100) / 100
               : 0;
}

/* Returns the time until a starting node is a member: its first request may get no answer, and its
 * join may be repeated. */
static uint64_t joining(const struct options *options)
{
    return 2 * ms_of(options, OPTION_SEED_TIMEOUT) +
           2 * ms_of(options, OPTION_JOIN_RETRY) +
           ms_of(options, OPTION_INITIAL_DELAY);
}

/* member-convergence takes 10 rounds of gossip and 2 log2 N seconds after the last change. A round
 * also has the drawn intervals of the leader and of the check for unreachable nodes. There are two
 * changes: dead members leave, then new ones move up, which waits until unreachable members are
 * down and down ones known as unreachable. Before that, nodes notice the dead ones, and new nodes
 * find the cluster. */
uint64_t quiet_agree_bound(const struct options *options)
{
    return joining(options) + finding(options) + across(options) +
           detection(options) + 20 * round_time(options) +
           2 * log2_of(options->value[OPTION_NODES]) * SECOND;
}

/* The resolver ticks each second, decides after stable-after, and may wait for a dead node's
 * lease. */
uint64_t quiet_resolve_bound(const struct options *options)
{
    uint64_t lease = options->value[OPTION_RESOLVER] == RESOLVER_LEASE
                         ? ms_of(options, OPTION_MINORITY) +
                               ms_of(options, OPTION_LEASE_TTL) +
                               ms_of(options, OPTION_LEASE_PATIENCE)
                         : 0;

    return ms_of(options, OPTION_STABLE) + 2 * SECOND + lease;
}

/* A connection carries one window in each round trip. When members change, all shards may move,
 * with about CARRIED bytes for each shard and region. With 4 KiB windows, 130 ms each way and
 * 1,000 shards that takes minutes, during which no write of the coordinator's state is confirmed
 * in time. */
static uint64_t carrying(const struct options *options)
{
    uint64_t shards = 2 * options->value[OPTION_SHARDS] - 1;
    uint64_t way =
        options->value[OPTION_LINK_MIN] + options->value[OPTION_LINK_MEAN];

    return CARRIED_TYPES * shards * CARRIED * 2 * way /
           options->value[OPTION_PIPE] * 1000;
}

/* homes-available takes 5 s after detection, stable-after and margin; the first two end with
 * agreement. One read and one write of the state may fail and be repeated. The journal gives a
 * term. A region without an answer asks again after its retry interval. */
uint64_t quiet_coordinate_bound(const struct options *options)
{
    uint64_t removal = options->value[OPTION_RESOLVER]
                           ? ms_of(options, OPTION_STABLE) *
                                 options->value[OPTION_MARGIN] / 100
                           : 0;

    return 5 * SECOND + removal + options_leases_ms(options) * MS +
           2 * ms_of(options, OPTION_READ_STATE) +
           2 * ms_of(options, OPTION_WRITE_STATE) +
           2 * ms_of(options, OPTION_RETRY) +
           10 * options_answer_ms(options) * MS + carrying(options);
}

/* After any faults: connections that a kernel gives up, and four changes of ten rounds. */
uint64_t quiet_converge_bound(const struct options *options)
{
    return 30 * SECOND + options->value[OPTION_GIVE_UP] * SECOND +
           margin(options) + 4 * longer(options, OPTION_READ_STATE) +
           4 * longer(options, OPTION_WRITE_STATE) + finding(options) + across(options) + detection(options) + joining(options) + 40 * round_time(options) +
           2 * log2_of(options->value[OPTION_NODES]) * SECOND;
}

uint64_t quiet_bury_bound(const struct options *options)
{
    uint64_t watched = options->value[OPTION_MONITORED_BY];
    uint64_t turns = (options->value[OPTION_NODES] + watched - 1) / watched;

    return turns * (detection(options) + round_time(options));
}

/* A dead node's observer may be dead, too; then the next ones begin. A lease's decision needs the
 * provider's answer. */
bool quiet_is_patient(const struct options *options)
{
    uint64_t nodes = options->value[OPTION_NODES];
    uint64_t patience = options_unstable_ms(options);
    uint64_t heard =
        options->value[OPTION_REAPER] +
        (4 + log2_of(nodes)) * options->value[OPTION_GOSSIP] +
        (options->value[OPTION_RESOLVER] == RESOLVER_LEASE
             ? options_answer_ms(options)
             : 0);

    return !patience || (nodes <= options->value[OPTION_MONITORED_BY] &&
                         patience >= heard);
}

uint64_t quiet_settle_bound(const struct options *options)
{
    uint64_t removal = options->value[OPTION_RESOLVER]
                           ? ms_of(options, OPTION_STABLE) *
                                 options->value[OPTION_MARGIN] / 100
                           : 0;

    return 10 * round_time(options) + removal;
}

uint64_t quiet_leave_bound(const struct options *options)
{
    return quiet_converge_bound(options) + 2 * options_leases_ms(options) * MS +
           ms_of(options, OPTION_SHUTDOWN) +
           ms_of(options, OPTION_HANDOFF) + 60 * SECOND +
           4 * ms_of(options, OPTION_PHASE);
}

/* Entities that do not stop end with their shard. */
static uint64_t stop_time(const struct options *options)
{
    uint64_t stubborn = ms_of(options, OPTION_STUBBORN);
    uint64_t forced = ms_of(options, OPTION_HANDOFF);

    return stubborn < forced ? stubborn : forced;
}

uint64_t quiet_drain_bound(const struct options *options)
{
    return quiet_leave_bound(options) +
           2 * ms_of(options, OPTION_SHARD_START) +
           2 * ms_of(options, OPTION_RETRY) + ms_of(options, OPTION_ASK) +
           20 * ms_of(options, OPTION_SLOW_STOP) +
           stop_time(options) +
           100 * options->value[OPTION_STORE] * 1000;
}

uint64_t quiet_recover_bound(const struct options *options, uint64_t open)
{
    uint64_t share = options->value[OPTION_RECOVERIES] / options->value[OPTION_LANES];

    share = share < 1 ? 1 : share > JOURNAL_REPLAYS_MAX ? JOURNAL_REPLAYS_MAX : share;
    return 2 * open * options->value[OPTION_STORE] * 1000 / share;
}

/* entities-answer takes 5 s after homes-available for an entity that can run. Shards still move to
 * regions with fewer, and hold messages until the hand-off's drawn time-out. A directive to host
 * may come too early, and is repeated after shard-start-timeout. An entity that stops takes its
 * time; only its shard's end forces it. A journal that takes 1 s raises the fence and reads the
 * events, a few entities at a time. */
uint64_t quiet_answer_bound(const struct options *options)
{
    return 5 * SECOND + ms_of(options, OPTION_HANDOFF) * 9 / 8 +
           options_leases_ms(options) * MS +
           ms_of(options, OPTION_SHARD_START) +
           2 * ms_of(options, OPTION_RETRY) +
           2 * ms_of(options, OPTION_SLOW_STOP) +
           ms_of(options, OPTION_STUBBORN) +
           10 * options_answer_ms(options) * MS + carrying(options) +
           100 * options->value[OPTION_STORE] * 1000;
}

uint64_t quiet_hear_bound(const struct options *options)
{
    return detection(options) + 4 * round_time(options);
}

/* A minority waits for the lease; downed members are removed after stable-after. */
uint64_t quiet_split_bound(const struct options *options)
{
    uint64_t unstable = options_unstable_ms(options);

    if (unstable < options->value[OPTION_STABLE])
        unstable = options->value[OPTION_STABLE];
    return quiet_leave_bound(options) + 3 * ms_of(options, OPTION_STABLE) +
           unstable * MS + longer(options, OPTION_MINORITY) +
           longer(options, OPTION_LEASE_TTL) +
           longer(options, OPTION_LEASE_PATIENCE);
}

/* Until replicas are equal: each gossips with each, a part of the keys at a time. A failed read and
 * write are repeated. */
static uint64_t spread_bound(const struct options *options, uint64_t count)
{
    uint64_t rounds = 20 + 6 * log2_of(options->value[OPTION_NODES]);
    uint64_t digests = REMEMBER_PARTS * options->value[OPTION_KEPT_ELEMENTS];
    uint64_t cycle =
        (count / digests + 1) * ms_of(options, OPTION_KEPT_GOSSIP);

    return rounds * cycle + 4 * ms_of(options, OPTION_READ_STATE) +
           4 * ms_of(options, OPTION_WRITE_STATE);
}

/* Starts go one batch after the other. */
static uint64_t batches(const struct options *options, uint64_t count)
{
    return (count / options->value[OPTION_REMEMBER_BATCH] + 1) *
           longer(options, OPTION_REMEMBER_FREQUENCY);
}

/* An entity that ended by itself waits, as does a failed read or write of the journal. Paced
 * restarts with a slow journal go one by one: request, answer, pause. */
uint64_t quiet_remember_bound(const struct options *options, uint64_t count)
{
    uint64_t pause = ms_of(options, OPTION_BACKOFF);

    if (pause < ms_of(options, OPTION_REMEMBER_FAILURE))
        pause = ms_of(options, OPTION_REMEMBER_FAILURE);
    return quiet_drain_bound(options) + 4 * pause + batches(options, count) +
           8 * count * options->value[OPTION_STORE] * 1000 +
           (options_remember_in_data(options) ? spread_bound(options, count)
                                              : 0);
}

/* Null: it agrees. */
static const char *differs(const struct sherd_status *status, uint32_t living,
                           const struct sherd_member **which)
{
    *which = NULL;
    if (!status->up)
        return "it is not up";
    for (uint32_t i = 0; i < status->member_count; i++) {
        *which = &status->members[i];
        if (status->members[i].status != SHERD_UP)
            return "a member is not up";
        if (!status->members[i].reachable)
            return "a member is not reachable";
    }
    *which = NULL;
    return status->member_count == living ? NULL : "it sees too few members";
}

/* Null: the node has no membership any more. */
static const struct clock *version_of(struct world *world, uint32_t node)
{
    const struct world_node *place = world_node(world, node);
    const struct member *member =
        place->node ? machine_membership(node_machine(place->node, 0)) : NULL;

    return member ? member_version(member) : NULL;
}

bool quiet_same_version(struct world *world, uint32_t *first, char *text,
                        size_t size)
{
    const struct clock *known = NULL;
    uint32_t by = 0;

    for (uint32_t k = 0; k < world_node_count(world); k++) {
        uint32_t i = (*first + k) % world_node_count(world);
        const struct clock *version = version_of(world, i);

        if (!version)
            continue;
        if (!known) {
            known = version;
            by = i;
        } else if (clock_compare(known, version) != CLOCK_SAME) {
            (void)snprintf(text, size,
                           "n%u and n%u hold different versions of the gossip",
                           by, i);
            return false;
        }
    }
    return true;
}

bool quiet_rests(struct world *world)
{
    for (uint32_t i = 0; i < world_node_count(world); i++) {
        const struct world_node *place = world_node(world, i);
        struct sherd_status status;
        bool rests = true;

        if (!place->node || !place->is_up)
            continue;
        status = world_status(world, i);
        for (uint32_t j = 0; j < status.member_count; j++)
            rests = rests && status.members[j].reachable &&
                    (status.members[j].status == SHERD_UP ||
                     status.members[j].status == SHERD_JOINING ||
                     status.members[j].status == SHERD_WEAKLY_UP);
        world_status_fini(&status);
        if (!rests)
            return false;
    }
    return true;
}

bool quiet_converged(struct world *world, uint32_t *first, char *text,
                     size_t size)
{
    uint32_t living = 0;

    for (uint32_t i = 0; i < world_node_count(world); i++)
        living += world_node(world, i)->node != NULL;
    if (!living) {
        (void)snprintf(text, size, "no node lives");
        return false;
    }
    for (uint32_t k = 0; k < world_node_count(world); k++) {
        uint32_t i = (*first + k) % world_node_count(world);
        const struct sherd_member *which;
        struct sherd_status status;
        const char *why;

        if (!world_node(world, i)->node)
            continue;
        if (!world_node(world, i)->is_up) {
            (void)snprintf(text, size, "n%u never came up", i);
            *first = i;
            return false;
        }
        status = world_status(world, i);
        why = differs(&status, living, &which);
        if (why)
            (void)snprintf(text, size, "n%u: %s (%s%s%u of %u living)", i, why,
                           which ? which->address : "", which ? ", " : "",
                           status.member_count, living); /* cut at size */
        world_status_fini(&status);
        if (why) {
            *first = i;
            return false;
        }
    }
    return quiet_same_version(world, first, text, size);
}

static bool knows_coordinators(const struct sherd_status *status,
                               const struct check_liveness *live, uint32_t centers,
                               uint32_t by, char *text, size_t size)
{
    for (uint32_t i = 0; i < status->type_count; i++) {
        const struct sherd_type_status *type = &status->types[i];
        char address[32];
        uint32_t node;

        if (!check_liveness_coordinator(live, fact_type(centers, by, (uint16_t)i),
                                        &node, text, size))
            return false;
        (void)snprintf(address, sizeof address, "n%u:2551", node); /* fits */
        if (strcmp(type->coordinator, address) == 0)
            continue;
        (void)snprintf(text, size, "the coordinator of %s is at %s, not at %s",
                       type->name,
                       *type->coordinator ? type->coordinator : "no node",
                       address); /* cut at size */
        return false;
    }
    return true;
}

bool quiet_coordinated(struct world *world, const struct check_liveness *live,
                       uint32_t centers, char *text, size_t size)
{
    for (uint32_t i = 0; i < world_node_count(world); i++) {
        char what[VERDICT_TEXT_MAX];
        struct sherd_status status;
        bool good;

        if (!world_node(world, i)->node)
            continue;
        status = world_status(world, i);
        good = knows_coordinators(&status, live, centers, i, what,
                                  sizeof what);
        world_status_fini(&status);
        if (good)
            continue;
        (void)snprintf(text, size, "n%u: %s", i, what); /* cut at size */
        return false;
    }
    return true;
}

/* A detector with few samples may take two heartbeats that came together as the usual interval. */
static uint64_t learnt_ms(const struct options *options)
{
    return options->value[OPTION_SAMPLES] < 100
               ? 0
               : options->value[OPTION_ESTIMATE];
}

/* Delays have an exponential tail: one in e^20 exceeds twenty means. Forgetting removed members
 * changes the gossip. */
bool quiet_is_steady(const struct options *options)
{
    uint64_t way =
        options->value[OPTION_LINK_MIN] + options->value[OPTION_LINK_MEAN] +
        options->value[OPTION_MAIL];

    /* A heartbeat from a sender that seems lost is not learned, so an estimate far below the
     * interval would stay. */
    return options->value[OPTION_PAUSE] * 1000 >= 20 * way &&
           options->value[OPTION_PHI] >= 40 &&
           options->value[OPTION_TOMBSTONE] >=
               option_default(OPTION_TOMBSTONE) &&
           options->value[OPTION_PAUSE] + learnt_ms(options) >=
               options->value[OPTION_HEARTBEAT] * 11 / 10;
}
