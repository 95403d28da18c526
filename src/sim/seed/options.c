/* Draws, limits, sets and prints options. */
#include "sim/seed/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "sim/seed/streams.h"
#include "sim/seed/traffic.h"

#define CHOICES_MAX 16
#define WEIGHT_MAX 100 /* of a fault set by hand */
#define SLOW_STORE 500000 /* us */
#define DATA_CALLS_MAX 10000 /* in one run */
#define STRANGERS_OF_A_FLOOD 10 /* a node keeps no more of them during a flood */

struct choice {
    const char *name;
    uint64_t usual;
    uint32_t count;
    uint64_t values[CHOICES_MAX];
};

#define VALUES(...) ((uint64_t[]){ __VA_ARGS__ })
#define OPTION_ROW(id, name, usual, ...)                              \
    { name, usual, sizeof VALUES(__VA_ARGS__) / sizeof(uint64_t),     \
      { __VA_ARGS__ } },
static const struct choice choices[OPTION_COUNT] = { OPTION_LIST(OPTION_ROW) };
#undef OPTION_ROW

static const char *const modes[MODE_COUNT] = { "swarm",   "lite",    "churn",
                                               "handoff", "storage", "scale",   "sbr",
                                               "centers", "data",    "store", "member" };

bool option_is_fault(enum sim_option option)
{
    return (option >= OPTION_CRASH && option < OPTION_FAULTS_END) ||
           option == OPTION_RESTART || option == OPTION_CRASH_SEVERAL ||
           option == OPTION_POWER_OFF || option == OPTION_FOREIGN ||
           option == OPTION_FAKE_JOINS || option == OPTION_FLOOD ||
           option == OPTION_LEASE_CUT || option == OPTION_RAPID;
}

static bool is_setting(enum sim_option option)
{
    return option >= OPTION_GOSSIP && option <= OPTION_MAILBOX;
}

void options_default(struct options *options, uint64_t seed)
{
    options->seed = seed;
    for (int i = 0; i < OPTION_COUNT; i++)
        options->value[i] = choices[i].usual;
}

static uint64_t draw_between(struct rng *rng, uint64_t low, uint64_t high)
{
    return low + rng_below(rng, high - low + 1);
}

/* Draws 60 % small clusters, 25 % middle ones, 15 % large ones. */
static uint64_t draw_nodes(struct rng *rng, const struct options_wish *wish)
{
    uint64_t part = rng_below(rng, 100);
    uint64_t low = part < 60 ? 3 : part < 85 ? 8 : 21;
    uint64_t high = part < 60 ? 7 : part < 85 ? 20 : 60;

    if (wish->nodes_max)
        return draw_between(rng, wish->nodes_min ? wish->nodes_min : 1,
                            wish->nodes_max);
    if (wish->mode == MODE_SCALE || wish->mode == MODE_MEMBER)
        return draw_between(rng, 100, OPTIONS_NODES_MAX);
    return draw_between(rng, low, high);
}

static uint64_t draw_length(struct rng *rng, const struct options_wish *wish)
{
    const struct choice *choice = &choices[OPTION_LENGTH];

    if (wish->length_max_s)
        return draw_between(rng, wish->length_min_s, wish->length_max_s);
    if (wish->mode == MODE_SCALE || wish->mode == MODE_MEMBER)
        return draw_between(rng, 60, 300);
    return choice->values[rng_below(rng, choice->count)];
}

/* Settings that are mostly usual, in every mode that has unusual ones. */
static bool mode_is_unusual(enum sim_mode mode, enum sim_option option)
{
    if (option >= OPTION_CROSS_CONNECTIONS && option <= OPTION_CROSS_PAUSE)
        return mode == MODE_CENTERS;
    if (option == OPTION_SHARDS_AFTER)
        return mode == MODE_SWARM || mode == MODE_STORAGE;
    if (option == OPTION_FOREIGN || option == OPTION_FAKE_JOINS ||
        option == OPTION_FLOOD)
        return mode == MODE_SWARM || mode == MODE_CHURN;
    if (option == OPTION_POWER_OFF)
        return mode == MODE_SWARM || mode == MODE_STORAGE || mode == MODE_DATA;
    if (option == OPTION_LEASE_CUT || option == OPTION_LEASES_MUCH)
        return mode == MODE_SWARM || mode == MODE_CHURN || mode == MODE_STORAGE ||
               mode == MODE_SBR || mode == MODE_CENTERS;
    if (option == OPTION_RAPID)
        return mode == MODE_SWARM || mode == MODE_CHURN || mode == MODE_STORAGE ||
               mode == MODE_SBR;
    if (option == OPTION_STORES_MUCH)
        return mode == MODE_SWARM || mode == MODE_STORAGE;
    if (option == OPTION_DATABASE)
        return mode == MODE_SWARM;
    if (option >= OPTION_RESOLVER_PLAIN && option <= OPTION_MARGIN)
        return mode == MODE_SWARM || mode == MODE_SBR || mode == MODE_CENTERS;
    return mode != MODE_LITE && mode != MODE_SCALE && mode != MODE_MEMBER;
}

/* Whether a mode draws the option. */
static bool mode_draws(enum sim_mode mode, enum sim_option option)
{
    if (option == OPTION_NO_ENTITIES)
        return false;
    if (option == OPTION_FOLLOWERS)
        return true;
    if (option >= OPTION_TOMBSTONE)
        return mode_is_unusual(mode, option);
    if (option == OPTION_CENTERS)
        return mode == MODE_CENTERS;
    if (option >= OPTION_VERSIONS && option <= OPTION_VERSIONS_TIMEOUT)
        return mode == MODE_STORE;
    if (option == OPTION_FOUND)
        return mode != MODE_LITE && mode != MODE_SCALE && mode != MODE_MEMBER;
    if (option == OPTION_SPLIT)
        return mode == MODE_SWARM || mode == MODE_SBR;
    if (option == OPTION_RESTART)
        return mode == MODE_SWARM || mode == MODE_CHURN || mode == MODE_HANDOFF;
    if (option == OPTION_CRASH_SEVERAL)
        return mode == MODE_SWARM || mode == MODE_CHURN ||
               mode == MODE_STORAGE || mode == MODE_SBR;
    if (option >= OPTION_REMEMBER && option != OPTION_DATA_DURABLE)
        return mode == MODE_SWARM || mode == MODE_CHURN ||
               mode == MODE_HANDOFF || mode == MODE_STORAGE || mode == MODE_SBR;
    if (option >= OPTION_DATA)
        return mode != MODE_STORE && mode != MODE_LITE && mode != MODE_SCALE && mode != MODE_CENTERS;
    if (option >= OPTION_RESOLVER)
        return mode == MODE_SWARM || mode == MODE_SBR || mode == MODE_CENTERS;
    switch (mode) {
    case MODE_SWARM:
    case MODE_DATA:
        return true;
    case MODE_CENTERS:
        if (option >= OPTION_DISK_STALL && option <= OPTION_POWER)
            return true;
        /* fall through */
    case MODE_SBR:
    case MODE_STORE:
        return !option_is_fault(option) || option == OPTION_CRASH ||
               option == OPTION_LEAVE || option == OPTION_STILL ||
               (option >= OPTION_CUT && option <= OPTION_HALF_OPEN);
    case MODE_LITE:
        return !is_setting(option) &&
               (!option_is_fault(option) || option == OPTION_CRASH);
    case MODE_CHURN:
        return !option_is_fault(option) || option == OPTION_CRASH ||
               option == OPTION_LEAVE || option == OPTION_LEAVE_KILL ||
               option == OPTION_DOWN_ALIVE || option == OPTION_LEAVE_OLDEST;
    case MODE_HANDOFF:
        return !option_is_fault(option) || option == OPTION_LEAVE ||
               option == OPTION_LEAVE_OLDEST;
    case MODE_STORAGE:
        return !option_is_fault(option) || option == OPTION_CRASH ||
               (option >= OPTION_DISK_STALL && option <= OPTION_POWER);
    case MODE_SCALE:
        return option == OPTION_CRASH || option == OPTION_LEAVE ||
               option == OPTION_CUT;
    case MODE_MEMBER:
        return (option >= OPTION_LINK_MIN && option <= OPTION_MAIL) ||
               option == OPTION_FAULT_LENGTH ||
               (option >= OPTION_CRASH && option <= OPTION_STILL) ||
               (option >= OPTION_CUT && option <= OPTION_HALF_OPEN);
    case MODE_COUNT:
        break;
    }
    check(!"a mode that is none");
    return false;
}

void options_insist(struct options *options, enum sim_mode mode)
{
    uint64_t *value = options->value;

    value[OPTION_MODE] = mode;
    if (mode == MODE_LITE || mode == MODE_STORAGE || mode == MODE_MEMBER)
        value[OPTION_CRASH] += !value[OPTION_CRASH];
    if (mode == MODE_CHURN || mode == MODE_HANDOFF)
        value[OPTION_LEAVE] += !value[OPTION_LEAVE];
    if (mode == MODE_STORAGE)
        value[OPTION_DISK_ERROR] += !value[OPTION_DISK_ERROR];
    if (mode != MODE_SWARM && mode != MODE_CHURN)
        value[OPTION_ZOMBIES] = 0;
    if (mode == MODE_LITE || mode == MODE_STORAGE || mode == MODE_SCALE)
        value[OPTION_STUBBORN] = 0;
    if (mode == MODE_HANDOFF) { /* these may lose a message by themselves */
        value[OPTION_BUFFER] = choices[OPTION_BUFFER].usual;
        value[OPTION_MAILBOX] = choices[OPTION_MAILBOX].usual;
        value[OPTION_QUEUE] = choices[OPTION_QUEUE].usual;
        value[OPTION_CONTROL_QUEUE] = choices[OPTION_CONTROL_QUEUE].usual;
        value[OPTION_LARGE_QUEUE] = choices[OPTION_LARGE_QUEUE].usual;
        value[OPTION_PHASE] = choices[OPTION_PHASE].usual;
        if (value[OPTION_PARTED] < choices[OPTION_PARTED].usual)
            value[OPTION_PARTED] = choices[OPTION_PARTED].usual;
    }
    if (mode == MODE_SCALE) {
        value[OPTION_LOAD] = 1;
        value[OPTION_FAULTS] = 20;
    }
    if (mode == MODE_SBR) {
        value[OPTION_CUT] += !value[OPTION_CUT];
        value[OPTION_RESOLVER] += !value[OPTION_RESOLVER];
        value[OPTION_SPLIT] = 1;
    }
    /* moves with all the time they need are judged */
    if (mode == MODE_HANDOFF && options->seed % 3) {
        value[OPTION_STUBBORN] = 0;
        if (value[OPTION_STORE] > choices[OPTION_STORE].usual)
            value[OPTION_STORE] = choices[OPTION_STORE].usual;
        if (value[OPTION_HANDOFF] < choices[OPTION_HANDOFF].usual)
            value[OPTION_HANDOFF] = choices[OPTION_HANDOFF].usual;
        if (value[OPTION_SHUTDOWN] < choices[OPTION_SHUTDOWN].usual)
            value[OPTION_SHUTDOWN] = choices[OPTION_SHUTDOWN].usual;
    }
    if (mode == MODE_CENTERS) {
        value[OPTION_CUT] += !value[OPTION_CUT];
        /* a coordinator waits for so many regions of its data center, which may have one */
        value[OPTION_MEMBERS_MIN] = 1;
    }
    if (mode == MODE_DATA) {
        value[OPTION_LOAD] = 1;
        value[OPTION_DATA] = 10;
    }
    if (mode == MODE_STORE) {
        value[OPTION_LOAD] = 1;
        value[OPTION_STUBBORN] = 0;
    }
    if (mode == MODE_MEMBER) {
        value[OPTION_NO_ENTITIES] = 1;
        value[OPTION_LANES] = 1;
        value[OPTION_DATA] = 1;
        value[OPTION_FAULTS] = 200; /* runs with so many nodes are short */
    }
    if (value[OPTION_MEMBERS_MIN] > value[OPTION_NODES])
        value[OPTION_MEMBERS_MIN] = value[OPTION_NODES];
}

static void limit(uint64_t *value, uint64_t most)
{
    if (*value > most)
        *value = most > 0 ? most : 1;
}

/* An unreliable detector would make a resolver down all nodes again and again. */
static void trust_detectors(struct options *options)
{
    static const enum sim_option detector[] = {
        OPTION_HEARTBEAT, OPTION_PAUSE,  OPTION_DEVIATION, OPTION_ESTIMATE,
        OPTION_REAPER,    OPTION_PHI,    OPTION_MONITORED_BY,
        OPTION_SAMPLES,
    };

    for (size_t i = 0; i < sizeof detector / sizeof *detector; i++)
        options->value[detector[i]] = choices[detector[i]].usual;
}

#define KEYS_OF_CALLS 40 /* about one call in so many begins a new key */
#define STATUSES_MAX 10  /* parts of the digests in one round */

static uint64_t log_rounds(const uint64_t *value)
{
    uint64_t rounds = 12;

    for (uint64_t nodes = value[OPTION_NODES]; nodes > 1; nodes -= nodes / 2)
        rounds += 2;
    return rounds;
}

/* The time in which all other members have a member's data and changes, even if one is paused by a
 * fault. max-pruning-dissemination promises this. As in Akka, a leader prunes a live member that it
 * has not heard of for so long, and the member that performs a pruning counts unspread prunings of
 * the removed one twice. */
static uint64_t spreads_by_ms(const uint64_t *value)
{
    uint64_t keys = value[OPTION_DATA_SLOTS] +
                    value[OPTION_DATA] * value[OPTION_LENGTH] / KEYS_OF_CALLS;
    uint64_t parts = keys / value[OPTION_DATA_ELEMENTS] + 1;
    uint64_t round = value[OPTION_GOSSIP] +
                     value[OPTION_DATA_GOSSIP] * (parts / STATUSES_MAX + 1);
    return value[OPTION_FAULT_LENGTH] * 1000 + log_rounds(value) * round;
}

uint64_t options_answer_ms(const struct options *options)
{
    const uint64_t *value = options->value;
    uint64_t way = value[OPTION_LINK_MIN] + value[OPTION_LINK_MEAN];

    return (4 * way + 4 * value[OPTION_STORE]) / 1000 + 1;
}

uint64_t options_leases_ms(const struct options *options)
{
    const uint64_t *value = options->value;

    return value[OPTION_SHARD_LEASES] || value[OPTION_SERVICE_LEASES]
               ? value[OPTION_LEASE_TTL] * 9 / 8 + 2 * value[OPTION_LEASE_RETRY] +
                     3 * value[OPTION_LEASE_PATIENCE]
               : 0;
}

static void at_least(uint64_t *value, uint64_t least)
{
    if (*value < least)
        *value = least;
}

/* Pruning markers expire by each node's wall clock; a marker dropped on one node only would be sent
 * forever. Decided here, because a repeated run from a schedule has no weights of faults. */
static void keep_marks(uint64_t *value)
{
    static const enum sim_option marks[] = {
        OPTION_DATA_MARKER, OPTION_DATA_DURABLE_MARKER, OPTION_KEPT_MARKER,
        OPTION_KEPT_DURABLE_MARKER
    };

    if (!value[OPTION_WALL] && !value[OPTION_DRIFT])
        return;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        value[marks[i]] = choices[marks[i]].usual;
}

/* Keys expire by the wall clock, not before others know of a use. */
static void keep_expiry(uint64_t *value)
{
    if (value[OPTION_WALL] || value[OPTION_DRIFT])
        value[OPTION_DATA_EXPIRE] = 0;
    if (value[OPTION_DATA_EXPIRE])
        at_least(&value[OPTION_DATA_EXPIRE],
                 2 * value[OPTION_DATA_GOSSIP]); /* required by the setting */
}

/* A tombstone expires by the wall clock, and must outlast every pause. A joining node must wait
 * until the asked nodes have had their time. A detector with few samples takes two heartbeats that
 * came together as the rule, so its pause must cover the next one. */
static void keep_members(uint64_t *value)
{
    uint64_t way = value[OPTION_LINK_MIN] + value[OPTION_LINK_MEAN];

    if (1000 * value[OPTION_PAUSE] < 1100 * value[OPTION_HEARTBEAT] + 20 * way)
        at_least(&value[OPTION_SAMPLES], choices[OPTION_SAMPLES].usual);
    if (value[OPTION_WALL] || value[OPTION_DRIFT])
        at_least(&value[OPTION_TOMBSTONE], choices[OPTION_TOMBSTONE].usual);
    at_least(&value[OPTION_TOMBSTONE], 30 * value[OPTION_FAULT_LENGTH]);
    if (value[OPTION_JOIN_GIVE_UP])
        at_least(&value[OPTION_JOIN_GIVE_UP],
                 (value[OPTION_FOUND] ? 60 : 0) +
                     4 *
                         (value[OPTION_SEED_TIMEOUT] +
                          value[OPTION_JOIN_RETRY]) /
                         1000);
}

/* The lease provider must have time for a request and a renewal. A lease must last until a late
 * minority has requested it. static-quorum and down-all must wait until all nodes have heard of the
 * failures. */
static void keep_resolvers(const struct options *options, uint64_t *value)
{
    uint64_t unstable = value[OPTION_UNSTABLE]
                            ? options_unstable_ms(options)
                            : value[OPTION_STABLE];

    if (value[OPTION_RESOLVER] && value[OPTION_RESOLVER_PLAIN])
        value[OPTION_RESOLVER] = value[OPTION_RESOLVER_PLAIN];
    if (value[OPTION_RESOLVER] == RESOLVER_QUORUM ||
        value[OPTION_RESOLVER] == RESOLVER_ALL)
        at_least(&value[OPTION_STABLE], 10 * value[OPTION_GOSSIP]);
    at_least(&value[OPTION_LEASE_PATIENCE], options_answer_ms(options));
    at_least(&value[OPTION_LEASE_TTL], 4 * options_answer_ms(options));
    limit(&value[OPTION_LEASE_INTERVAL], value[OPTION_LEASE_TTL] / 2 - 1);
    if (value[OPTION_RESOLVER] == RESOLVER_LEASE)
        at_least(&value[OPTION_RELEASE], value[OPTION_MINORITY] + unstable +
                                             value[OPTION_LEASE_PATIENCE]);
}

/* In a silent cluster no lease of a shard, coordinator or singleton may be lost: several late renewals in a row
 * must be unlikely. */
static void keep_leases(const struct options *options, uint64_t *value)
{
    if (!value[OPTION_SERVICES])
        value[OPTION_SERVICE_LEASES] = 0;
    if (!value[OPTION_SHARD_LEASES] && !value[OPTION_SERVICE_LEASES]) {
        value[OPTION_LEASE_CUT] = 0;
        return;
    }
    at_least(&value[OPTION_LEASE_TTL], 16 * options_answer_ms(options));
    limit(&value[OPTION_LEASE_INTERVAL], value[OPTION_LEASE_TTL] / 4);
}

#define KEPT_SETS 5 /* of a shard with entities remembered in distributed data */
#define KEPT_TYPES 2 /* with such entities */
#define KEPT_ASK_SIZE 300 /* bytes of a frame that requests one of the sets */
#define KEPT_READ_MAX 10000 /* ms */

/* A starting node requests the sets of all its shards at once, through one pipe to each peer. Late
 * ones are requested again, forever. */
static uint64_t load_ms(const uint64_t *value)
{
    uint64_t way = value[OPTION_LINK_MIN] + value[OPTION_LINK_MEAN];
    uint64_t sets =
        KEPT_TYPES * KEPT_SETS * value[OPTION_SHARDS] / value[OPTION_NODES];
    uint64_t loading =
        sets * KEPT_ASK_SIZE / value[OPTION_PIPE] * 2 * way / 1000;

    limit(&loading, KEPT_READ_MAX);
    return loading;
}

/* Reads and writes of sharding's data must be answered in time, with disks if durable. Pruning must
 * begin after all have heard. */
static void keep_kept(const struct options *options, uint64_t *value)
{
    bool on_disks = options_remember_in_data(options);
    uint64_t way = value[OPTION_LINK_MIN] + value[OPTION_LINK_MEAN];
    uint64_t answer = 10 * way / 1000; /* round trip behind other messages in flight */
    uint64_t keys = 2 + (on_disks ? KEPT_SETS * value[OPTION_SHARDS] : 0);
    uint64_t parts = keys / (value[OPTION_KEPT_ELEMENTS] * STATUSES_MAX) + 1;
    uint64_t spread =
        value[OPTION_FAULT_LENGTH] * 1000 +
        log_rounds(value) *
            (value[OPTION_GOSSIP] + value[OPTION_KEPT_GOSSIP] * parts);

    if (on_disks)
        at_least(&answer, options_answer_ms(options));
    at_least(&value[OPTION_READ_STATE],
             answer + (on_disks ? load_ms(value) : 0));
    at_least(&value[OPTION_WRITE_STATE], (on_disks ? 4 : 2) * answer);
    limit(&spread, choices[OPTION_KEPT_SPREAD].usual);
    at_least(&value[OPTION_KEPT_SPREAD], spread);
}

/* An unknown node must identify itself in time, and a large body must pass a pipe in a few pieces.
 * All nodes may start at once, and ask each other. */
static void keep_connections(uint64_t *value)
{
    uint64_t way = value[OPTION_LINK_MIN] + value[OPTION_LINK_MEAN];

    at_least(&value[OPTION_PREAMBLE], 10 * way / 1000);
    at_least(&value[OPTION_HANDSHAKE], value[OPTION_PREAMBLE]);
    if (value[OPTION_FLOOD])
        limit(&value[OPTION_STRANGERS], STRANGERS_OF_A_FLOOD);
    at_least(&value[OPTION_STRANGERS], value[OPTION_NODES] + 2);
    limit(&value[OPTION_BODY], 4 * value[OPTION_PIPE]);
}

/* Asks of nodes that restart gracefully have a time limit, so nothing but the restarts may be slow or
 * lose messages: usual links, storage and settings. */
static void keep_rolling(uint64_t *value)
{
    if (!value[OPTION_ROLLING])
        return;
    for (uint32_t i = OPTION_BYTE_MODE; i < OPTION_CRASH; i++)
        if (i < OPTION_CLIENTS || i == OPTION_SLOW_STOP)
            value[i] = choices[i].usual;
    for (uint32_t i = OPTION_TOMBSTONE; i <= OPTION_BODY; i++)
        if (i != OPTION_LARGE)
            value[i] = choices[i].usual;
    value[OPTION_FOUND] = 0;
    value[OPTION_PHASE] = 0;
    value[OPTION_STUBBORN] = 0;
    value[OPTION_STORES_MUCH] = 0;
    value[OPTION_DATABASE] = 0;
    value[OPTION_SHARDS_AFTER] = 0;
    value[OPTION_EVENT_REJECTIONS] = 0;
    value[OPTION_RECOVERIES] = choices[OPTION_RECOVERIES].usual;
    limit(&value[OPTION_LOAD], choices[OPTION_LOAD].usual);
    limit(&value[OPTION_STORM_SIZE], choices[OPTION_STORM_SIZE].usual);
}

/* Leases are often lost, with their coordinators' locations of shards. */
static void lease_much(uint64_t *value)
{
    if (!value[OPTION_LEASES_MUCH])
        return;
    if (value[OPTION_SHARD_LEASES] < 2)
        value[OPTION_SHARD_LEASES] += 2;
    value[OPTION_ALLOCATION] = ALLOCATION_EXTERNAL;
    at_least(&value[OPTION_FAULTS], 60);
    at_least(&value[OPTION_LEASE_CUT], 10);
    limit(&value[OPTION_LEASE_TTL], 8000);
    limit(&value[OPTION_LEASE_INTERVAL], 1000);
    limit(&value[OPTION_LEASE_RETRY], 1000);
}

/* Values that are fine alone can together make a world in which nothing arrives. This reduces them
 * to what such a world can carry. */
static void keep_alive(struct options *options)
{
    uint64_t *value = options->value;
    uint64_t way = value[OPTION_LINK_MIN] + value[OPTION_LINK_MEAN];
    uint64_t answer = options_answer_ms(options);

    at_least(&value[OPTION_ASK], answer);
    lease_much(value);
    if (value[OPTION_DATA])
        at_least(&value[OPTION_DATA_TIMEOUT], answer);
    if (value[OPTION_VERSIONS])
        at_least(&value[OPTION_VERSIONS_TIMEOUT], answer);
    /* an entity that stores reads one message at a time */
    limit(&value[OPTION_LOAD],
          value[OPTION_ENTITIES] * 100000 / (value[OPTION_STORE] + way));
    limit(&value[OPTION_STORM_SIZE],
          10 * (value[OPTION_BUFFER] ? value[OPTION_BUFFER] : 1));
    /* All keys stay, even deleted ones. */
    if (value[OPTION_DATA])
        limit(&value[OPTION_DATA], DATA_CALLS_MAX / value[OPTION_LENGTH]);
    if (value[OPTION_FAULTS]) /* two at a time on average */
        limit(&value[OPTION_FAULT_LENGTH], 2 * 3600 / value[OPTION_FAULTS]);
    if (value[OPTION_DATA] && value[OPTION_DATA_SPREAD] < spreads_by_ms(value))
        value[OPTION_DATA_SPREAD] = spreads_by_ms(value);
    if (!value[OPTION_RESOLVER] || value[OPTION_CENTERS] > 1 ||
        value[OPTION_NODES] < 3 || value[OPTION_GOSSIP] > 1000 ||
        value[OPTION_STORE] > 100000 || /* a lease takes as long, and by then nothing is stable */
        value[OPTION_NODES] > choices[OPTION_MONITORED_BY].usual + 1)
        /* a node may not see every failure, and the strategy promises nothing */
        value[OPTION_SPLIT] = 0;
    keep_marks(value);
    keep_expiry(value);
    keep_members(value);
    keep_resolvers(options, value);
    keep_leases(options, value);
    if (!value[OPTION_REMEMBER])
        value[OPTION_REMEMBER_DATA] = 0;
    if (value[OPTION_REMEMBER_DATA])
        value[OPTION_KEPT_MIN] = choices[OPTION_KEPT_MIN].usual;
    if (!options_have_disks(options))
        value[OPTION_POWER_OFF] = 0;
    keep_kept(options, value);
    keep_connections(value);
}

/* Much is in flight to the disks when power fails. */
static void store_much(uint64_t *value)
{
    if (!value[OPTION_STORES_MUCH])
        return;
    at_least(&value[OPTION_STORE], SLOW_STORE);
    at_least(&value[OPTION_ENTITIES], 1000);
    at_least(&value[OPTION_LOAD], 30);
    at_least(&value[OPTION_FAULTS], 60);
    at_least(&value[OPTION_POWER], 10);
    value[OPTION_POWER_WAITS] = 1;
    value[OPTION_DATABASE] = 0; /* it has no disk */
    value[OPTION_OPS] |= 1u << WORKLOAD_COUNT;
}

void options_draw(struct options *options, uint64_t seed,
                  const struct options_wish *wish)
{
    options_default(options, seed);
    for (uint32_t i = 0; i < OPTION_COUNT; i++) {
        const struct choice *choice = &choices[i];
        struct rng rng = stream_rng(seed, STREAM_KNOBS, i);

        if (i == OPTION_NODES)
            options->value[i] = draw_nodes(&rng, wish);
        else if (i == OPTION_LENGTH)
            options->value[i] = draw_length(&rng, wish);
        else if (mode_draws(wish->mode, (enum sim_option)i))
            options->value[i] = choice->values[rng_below(&rng, choice->count)];
    }
    options_insist(options, wish->mode);
    if (options->value[OPTION_RESOLVER])
        trust_detectors(options);
    store_much(options->value);
    if (options->value[OPTION_NODES] < 3 || options->value[OPTION_CENTERS] > 1)
        options->value[OPTION_ROLLING] = 0; /* a data center could be without nodes */
    keep_rolling(options->value);
    keep_alive(options);
}

/* ---- set by hand ---- */

const char *option_name(enum sim_option option)
{
    return choices[option].name;
}

uint64_t option_default(enum sim_option option)
{
    return choices[option].usual;
}

const char *mode_name(enum sim_mode mode)
{
    return modes[mode];
}

bool mode_parse(const char *text, enum sim_mode *mode)
{
    for (int i = 0; i < MODE_COUNT; i++) {
        if (!strcmp(text, modes[i])) {
            *mode = (enum sim_mode)i;
            return true;
        }
    }
    return false;
}

/* Settings of nodes may have any drawn value, or any between. */
static uint64_t largest(enum sim_option option)
{
    uint64_t most = choices[option].usual;

    if (option == OPTION_NODES)
        return OPTIONS_NODES_MAX;
    if (option == OPTION_SHARDS || option == OPTION_SHARDS_AFTER)
        return 10000;
    if (option == OPTION_MEMBERS_MIN)
        return OPTIONS_NODES_MAX;
    for (uint32_t i = 0; i < choices[option].count; i++)
        if (choices[option].values[i] > most)
            most = choices[option].values[i];
    if (option_is_fault(option))
        return WEIGHT_MAX;
    if (option == OPTION_OPERATIONS)
        return 1000;
    if (option == OPTION_RESOLVER || option == OPTION_RESOLVER_PLAIN)
        return RESOLVER_COUNT - 1;
    if (option == OPTION_DATA_LEVELS ||
        option == OPTION_OTHER_VIEW || option == OPTION_CROSS_GOSSIP ||
        option == OPTION_TOMBSTONE || option == OPTION_UNKNOWN_SIZE ||
        option == OPTION_LARGE_FRAME)
        return most;
    return most < 10 ? most : most * 100;
}

static uint64_t smallest(enum sim_option option)
{
    uint64_t least = choices[option].usual;

    if (option == OPTION_NODES || option == OPTION_LENGTH)
        return 1;
    for (uint32_t i = 0; i < choices[option].count; i++)
        if (choices[option].values[i] < least)
            least = choices[option].values[i];
    return least;
}

static bool set_number(struct options *options, enum sim_option option,
                       const char *text, char *error, size_t size)
{
    char *end;
    uint64_t value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno) {
        (void)snprintf(error, size, "%s=%s: not a number",
                       choices[option].name, text);
        return false;
    }
    if (value < smallest(option) || value > largest(option)) {
        (void)snprintf(error, size, "%s=%s: must be %llu to %llu",
                       choices[option].name, text,
                       (unsigned long long)smallest(option),
                       (unsigned long long)largest(option));
        return false;
    }
    options->value[option] = value;
    if (value && (option == OPTION_WALL || option == OPTION_DRIFT))
        keep_marks(options->value);
    if (option == OPTION_ROLLING)
        keep_rolling(options->value);
    else if ((option == OPTION_BUFFER || option == OPTION_MAILBOX) && value < choices[option].usual)
        options->value[OPTION_ROLLING] = 0; /* asks are refused while shards move */
    return true;
}

bool options_set(struct options *options, const char *text, char *error,
                 size_t size)
{
    const char *value = strchr(text, '=');
    size_t name = value ? (size_t)(value - text) : strlen(text);
    enum sim_mode mode;

    if (!value) {
        (void)snprintf(error, size, "%s: give it as NAME=VALUE", text);
        return false;
    }
    value++;
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (strlen(choices[i].name) != name ||
            memcmp(choices[i].name, text, name) != 0)
            continue;
        if (i != OPTION_MODE)
            return set_number(options, (enum sim_option)i, value, error, size);
        if (mode_parse(value, &mode)) {
            options->value[i] = mode;
            return true;
        }
        (void)snprintf(error, size, "mode=%s: there is no such mode", value);
        return false;
    }
    (void)snprintf(error, size, "%.*s: there is no such option", (int)name,
                   text);
    return false;
}

void options_put(const struct options *options, struct buf *text)
{
    char part[96];

    (void)snprintf(part, sizeof part, "{\"seed\":%llu,\"mode\":\"%s\"",
                   (unsigned long long)options->seed,
                   mode_name((enum sim_mode)options->value[OPTION_MODE]));
    buf_put_text(text, part);
    for (int i = OPTION_MODE + 1; i < OPTION_COUNT; i++) {
        (void)snprintf(part, sizeof part, ",\"%s\":%llu", choices[i].name,
                       (unsigned long long)options->value[i]);
        buf_put_text(text, part);
    }
    buf_put_text(text, "}");
}
