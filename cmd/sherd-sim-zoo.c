/* Tests the simulator itself: whether it finds known bugs (zoo), and what no run has reached
 * (cover). */
#define _GNU_SOURCE
#include "sherd-sim.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "sim/run/cells.h"
#include "sim/run/mark.h"
#include "sim/zoo/zoo_hunt.h"

#define ZOO_SEEDS_MAX 2000
#define ZOO_SEED_S 120 /* s of wall time; a longer seed hangs */
#define ZOO_NODES_MAX 6
#define ZOO_LENGTH_S 240
#define KIND_SETS_MAX 16
#define COVER_SEEDS 300
#define COVER_FILE_MAX (16u * 1024 * 1024)

/* Each seed of the hunt has one of these kinds in turn. If a kind was made for the bug, every other
 * seed has it. */
struct kind {
    enum zoo_mutant made_for;
    enum sim_mode mode;
    const char *sets[KIND_SETS_MAX];
};

static const struct kind kinds[] = {
    { ZOO_NONE, MODE_SWARM, { NULL } },
    { ZOO_NONE, MODE_HANDOFF, { NULL } },
    /* nodes considered dead may live */
    { ZOO_NONE, MODE_CHURN, { "zombies=1", "fault_pause=3" } },
    { ZOO_NONE, MODE_STORAGE, { NULL } },
    /* connections break inside frames */
    { ZOO_NONE, MODE_SWARM,
      { "load=30", "pipe_bytes=4096", "fault_reset=3", "fault_clog=3" } },
    /* the oldest nodes leave shortly after each other, pause meanwhile, and restart at once */
    { ZOO_NEXT_OLDEST_STARTS_EARLY, MODE_HANDOFF,
      { "load=1", "fault_leave_oldest=10", "fault_leave=1", "fault_pause=1",
        "acceptable_heartbeat_pause_ms=20000",
        "shutdown_region_timeout_ms=1000" } },
    /* most of a cluster restarts repeatedly in any order, and admits nobody before it is
     * complete */
    { ZOO_RESTARTED_NODE_IS_THE_OLD_ONE, MODE_HANDOFF,
      { "nodes=3", "min_nr_of_members=3", "load=1", "faults_per_hour=600",
        "fault_restart=10", "fault_leave_oldest=0", "fault_leave=0",
        "acceptable_heartbeat_pause_ms=20000",
        "shutdown_region_timeout_ms=1000", "gossip_interval_ms=300",
        "leader_actions_interval_ms=300", "seed_node_timeout_ms=1000",
        "retry_unsuccessful_join_after_ms=1000" } },
    /* healthy nodes are downed */
    { ZOO_NONE, MODE_CHURN, { "zombies=1", "fault_down=5" } },
    /* others meanwhile do not read or accept connections */
    { ZOO_NONE, MODE_HANDOFF,
      { "zombies=1", "fault_down=5", "fault_pause=3", "fault_black_hole=1" } },
    /* entities that do not stop */
    { ZOO_STUBBORN_ENTITY_NOT_ENDED, MODE_HANDOFF,
      { "stubborn_ms=100000", "handoff_timeout_ms=10000",
        "shutdown_region_timeout_ms=10000" } },
    /* a node considered dead resumes, and stores events of many entities that are not yet active
     * elsewhere */
    { ZOO_OLDER_FENCE_WRITES, MODE_CHURN,
      { "zombies=1", "fault_pause=5", "fault_length_s=40",
        "faults_per_hour=150", "fault_crash=0", "fault_leave=0",
        "fault_leave_kill=0", "fault_down=0", "fault_leave_oldest=0",
        "entities=1000", "number_of_shards=8", "load=30", "ops=4",
        "store_us=100", "link_mean_us=1000" } },
    /* moves under load only: none may cost a message */
    { ZOO_NONE, MODE_HANDOFF,
      { "load=20", "stubborn_ms=0", "handoff_timeout_ms=120000",
        "shutdown_region_timeout_ms=120000", "store_us=1000" } },
    /* a lane reads messages for a shard together with its marker */
    { ZOO_MARKER_AHEAD_OF_EARLIER_MESSAGES, MODE_HANDOFF,
      { "load=200", "stubborn_ms=0", "handoff_timeout_ms=120000",
        "shutdown_region_timeout_ms=120000", "store_us=1000", "nodes=3",
        "lanes=2", "clients=2", "number_of_shards=2", "pipe_bytes=4096",
        "link_mean_us=100000", "rebalance_interval_ms=1000",
        "rebalance_absolute_limit=5", "ops=1", "slow_stop_ms=1" } },
    /* From here on only for their bugs. Mailboxes of one message, and bursts. */
    { ZOO_MAILBOX_UNLIMITED, MODE_SWARM, { "mailbox_max=1", "load=10", "storm=100" } },
    /* regions that buffer one message, and bursts */
    { ZOO_BUFFER_UNLIMITED, MODE_HANDOFF, { "buffer_size=1", "load=10", "storm=100" } },
    /* regions that buffer none */
    { ZOO_REFUSED_MESSAGE_ASKS_NO_HOME, MODE_SWARM, { "buffer_size=0" } },
    /* shards with texts, entities that callers start */
    { ZOO_NUMBERS_NAME_TEXT_SHARDS, MODE_SWARM, { "text_shards=1" } },
    { ZOO_START_NAMES_THE_ENTITY, MODE_SWARM, { "text_shards=1", "callers=2" } },
    /* a peer gets more than it reads for long */
    { ZOO_OUTBOUND_QUEUE_UNLIMITED, MODE_SWARM,
      { "nodes=3", "lanes=1", "load=300", "clients=4", "ops=1",
        "pipe_bytes=4096", "link_mean_us=10000", "fault_clog=10",
        "fault_length_s=60", "acceptable_heartbeat_pause_ms=60000" } },
    /* a node dies while it cannot reach another one, and is downed with its observations */
    { ZOO_OBSERVERS_THAT_ARE_DOWN_COUNT, MODE_CHURN,
      { "zombies=0", "fault_cut=10", "fault_down=0", "fault_crash=5",
        "fault_leave=0", "fault_leave_kill=0", "fault_leave_oldest=0",
        "fault_length_s=60", "load=1", "acceptable_heartbeat_pause_ms=1000" } },
    /* a leaving node is cut off for long */
    { ZOO_UNSEEN_EXIT_DELAYS_THE_END, MODE_CHURN,
      { "zombies=0", "fault_cut=10", "fault_leave=10", "fault_crash=0",
        "fault_leave_kill=0", "fault_down=0", "fault_length_s=120",
        "length_s=480", "load=1", "shutdown_region_timeout_ms=1000" } },
    /* replicas of a coordinator's state differ for long, and it moves often */
    { ZOO_STATE_READ_FROM_ONE_REPLICA, MODE_SWARM,
      { "fault_leave_oldest=5", "coordinator_majority_min=1",
        "coordinator_write_plus=0", "coordinator_read_plus=0",
        "sharding_gossip_interval_ms=30000" } },
    /* clusters split into two sides */
    { ZOO_BOTH_SIDES_SURVIVE, MODE_SBR, { "resolver=1", "split=1" } },
    { ZOO_ALL_DOWNED_IN_A_PARTITION, MODE_SBR, { "resolver=1", "split=1" } },
    { ZOO_ALL_DOWNED_TOO_EARLY, MODE_SBR, { "resolver=1", "split=1" } },
    /* a resolver downs a dead node, and its parts wait for the margin elsewhere */
    { ZOO_HOME_WITHOUT_MARGIN, MODE_SBR,
      { "resolver=1", "fault_crash=10", "fault_cut=0",
        "resolver_stable_ms=5000", "split=0" } },
    { ZOO_SINGLETON_WITHOUT_MARGIN, MODE_SBR,
      { "resolver=1", "fault_crash=10", "fault_cut=0",
        "resolver_stable_ms=5000", "split=0" } },
    /* only moves under load: a shard that stops before all markers arrived costs a message */
    { ZOO_MARKERS_NOT_AWAITED, MODE_HANDOFF,
      { "load=20", "stubborn_ms=0", "handoff_timeout_ms=120000",
        "shutdown_region_timeout_ms=120000", "store_us=1000",
        "link_mean_us=20000", "fault_crash=0",
        "rebalance_interval_ms=1000" } },
};

/* Kinds for the replicator's bugs, in turn, without others. */
static const struct kind data_kinds[] = {
    { ZOO_NONE, MODE_DATA, { NULL } },
    /* members die, restart at once, and are pruned as soon as data has spread; deltas are lost */
    { ZOO_NONE, MODE_DATA,
      { "fault_crash=5", "fault_leave=1", "fault_reset=3", "fault_wall=0",
        "fault_drift=0", "data_pruning_interval_ms=500",
        "data_gossip_interval_ms=1000", "data_pruning_marker_s=864000",
        "data_no_deltas=0",
        "acceptable_heartbeat_pause_ms=1000" } },
    /* deltas are lost, and later ones are large */
    { ZOO_NONE, MODE_DATA,
      { "fault_cut=5", "fault_clog=5", "fault_reset=5", "fault_length_s=5",
        "acceptable_heartbeat_pause_ms=20000", "data_no_deltas=0",
        "data_max_delta_size=4", "data_load=40", "data_slots=9",
        "data_gossip_interval_ms=5000", "data_levels=20" } },
    /* all write at once; digests are sent in parts */
    { ZOO_NONE, MODE_DATA,
      { "data_in_step=1", "fault_wall=0", "fault_drift=0", "data_slots=36",
        "data_max_delta_elements=2", "data_gossip_interval_ms=1000",
        "data_load=40" } },
};

/* For bugs of durable keys. */
static const struct kind durable_kind = { ZOO_NONE, MODE_DATA,
                                          { "data_durable=1" } };

/* For bugs of values that do not merge on every node. */
static const struct kind unknown_kinds[] = {
    { ZOO_NONE, MODE_DATA,
      { "data_unknown=1", "data_slots=9", "data_load=20", "data_levels=20" } },
    { ZOO_NONE, MODE_DATA,
      { "data_unknown=2", "data_slots=9", "data_load=20", "data_levels=28",
        "fault_crash=5", "fault_cut=5", "data_gossip_interval_ms=5000" } },
};

#define UNKNOWN_KINDS (sizeof unknown_kinds / sizeof *unknown_kinds)

/* For the bug of keys that expire: a cut-off node hears of no use. */
static const struct kind expiry_kind = {
    ZOO_EXPIRED_BEGINS_EMPTY, MODE_DATA,
    { "data_expire_ms=4000", "data_gossip_interval_ms=1000", "fault_cut=10",
      "fault_pause=3", "fault_length_s=20", "fault_wall=0", "fault_drift=0",
      "acceptable_heartbeat_pause_ms=20000", "data_levels=20",
      "data_load=20", "data_slots=9" }
};

/* For bugs of remembered entities, likewise. */
static const struct kind remember_kinds[] = {
    { ZOO_NONE, MODE_SWARM,
      { "remember=1", "remember_in_data=0", "remember_part_ids=3",
        "remember_base_after=3", "number_of_shards=8",
        "shards_after_restart=150" } },
    { ZOO_NONE, MODE_STORAGE,
      { "remember=3", "remember_in_data=0", "remember_base_after=1",
        "shards_after_restart=5" } },
    { ZOO_NONE, MODE_CHURN,
      { "remember=2", "remember_in_data=0", "remember_part_ids=1",
        "remember_base_after=20", "number_of_shards=8" } },
};

/* For remembered entities in distributed data. */
static const struct kind remember_data_kinds[] = {
    { ZOO_NONE, MODE_SWARM,
      { "remember=1", "remember_in_data=1", "number_of_shards=8" } },
    /* nodes die, and shards move to them as soon as they restart */
    { ZOO_NONE, MODE_SBR,
      { "remember=1", "remember_in_data=1", "number_of_shards=100",
        "fault_crash=10", "fault_cut=0", "fault_reset=3",
        "rebalance_interval_ms=200", "rebalance_absolute_limit=100",
        "link_mean_us=1000", "store_us=100" } },
};

/* A node is cut off for longer than others consider it alive, stops entities, is downed, and
 * restarts with its disk. */
static const struct kind late_removal_kind = {
    ZOO_LATE_REMOVAL_FORGETS_LIVE_ENTITY, MODE_CHURN,
    { "remember=1", "remember_in_data=1", "number_of_shards=8", "zombies=1",
      "fault_cut=20", "fault_down=10", "fault_crash=5", "fault_length_s=15",
      "acceptable_heartbeat_pause_ms=3000", "load=20", "entities=30",
      "store_us=100", "link_mean_us=1000", "nodes=3" }
};

/* Nodes die with records that only some of more than five nodes have, and others read without
 * them. */
static const struct kind late_start_kind = {
    ZOO_LATE_REMEMBERED_NEVER_STARTS, MODE_SBR,
    { "remember=1", "remember_in_data=1", "number_of_shards=8", "nodes=8",
      "fault_crash=10", "fault_cut=3", "load=15", "entities=3000",
      "store_us=100", "link_mean_us=20000" }
};

/* The only kinds of their bugs. */
static const struct kind *const own_kinds[] = { &expiry_kind,
                                                &late_removal_kind,
                                                &late_start_kind };

#define OWN_KINDS (sizeof own_kinds / sizeof *own_kinds)
#define REMEMBER_DATA_KINDS \
    (sizeof remember_data_kinds / sizeof *remember_data_kinds)
#define REMEMBER_KINDS (sizeof remember_kinds / sizeof *remember_kinds)

/* For limits of active entities. */
static const struct kind limit_kinds[] = {
    { ZOO_NONE, MODE_SWARM, { "active_entity_limit=8", "number_of_shards=8" } },
    { ZOO_NONE, MODE_HANDOFF,
      { "active_entity_limit=40", "number_of_shards=8", "active_strategy=5" } },
};

#define LIMIT_KINDS (sizeof limit_kinds / sizeof *limit_kinds)

/* For leases of shards and coordinators. */
static const struct kind lease_kinds[] = {
    /* nodes are cut off from the provider for long, and others get their shards */
    { ZOO_NONE, MODE_CHURN,
      { "shard_leases=3", "fault_lease_cut=20", "fault_crash=3", "fault_down=3", "fault_length_s=40",
        "lease_ttl_ms=8000", "lease_interval_ms=1000", "lease_retry_ms=1000",
        "number_of_shards=8", "store_us=2000", "link_mean_us=1000" } },
    /* shards move */
    { ZOO_NONE, MODE_HANDOFF,
      { "shard_leases=1", "number_of_shards=8", "rebalance_interval_ms=1000",
        "store_us=2000", "link_mean_us=1000" } },
};

#define LEASE_KINDS (sizeof lease_kinds / sizeof *lease_kinds)

/* For allocation strategies: nodes come and go, and shards move at once. */
static const struct kind allocation_kinds[] = {
    { ZOO_NONE, MODE_SWARM, { "allocation=4", "rebalance_interval_ms=1000" } },
    { ZOO_NONE, MODE_HANDOFF,
      { "allocation=4", "rebalance_interval_ms=1000", "fault_leave=5",
        "number_of_shards=100" } },
};

#define ALLOCATION_KINDS_OF_SEEDS                                              \
    (sizeof allocation_kinds / sizeof *allocation_kinds)

/* For graceful restarts. */
static const struct kind rolling_kinds[] = {
    { ZOO_NONE, MODE_LITE, { "rolling_restarts=6", "store_us=2000" } },
    { ZOO_NONE, MODE_HANDOFF,
      { "rolling_restarts=6", "shard_leases=3", "allocation=4", "resolver=1" } },
};

#define ROLLING_KINDS (sizeof rolling_kinds / sizeof *rolling_kinds)

/* For locations of shards whose coordinators lose their leases. */
static const struct kind located_leases_kind = {
    ZOO_NONE, MODE_CHURN,
    { "shard_leases=2", "allocation=2", "fault_lease_cut=20", "fault_crash=2", "fault_length_s=30",
      "lease_ttl_ms=8000", "lease_interval_ms=1000", "lease_retry_ms=1000",
      "rebalance_interval_ms=1000", "store_us=2000", "link_mean_us=1000" }
};

/* For restarts within a second. */
static const struct kind rapid_kinds[] = {
    { ZOO_NONE, MODE_CHURN,
      { "fault_rapid_restart=20", "link_mean_us=1000", "store_us=2000" } },
    { ZOO_NONE, MODE_CHURN, { "fault_rapid_restart=20", "services_load=1", "link_mean_us=1000" } },
};

#define RAPID_KINDS (sizeof rapid_kinds / sizeof *rapid_kinds)

/* For many strangers. */
static const struct kind flood_kind = {
    ZOO_NONE, MODE_CHURN, { "fault_flood=20", "strangers_max=10" }
};

/* For bugs of the N/R/W store. */
static const struct kind store_kinds[] = {
    { ZOO_NONE, MODE_STORE, { "fault_clog=5", "link_mean_us=10000" } },
    /* keys return to nodes that gave them up */
    { ZOO_NONE, MODE_STORE,
      { "fault_leave=5", "fault_crash=0", "fault_cut=0", "fault_clog=0",
        "versions_keys=20", "link_mean_us=1000", "nodes=6" } },
    /* many simultaneous calls for few keys, on slow links */
    { ZOO_NONE, MODE_STORE, { "link_mean_us=50000", "versions_keys=2" } },
};

/* nodes start and end often, so requests wait, are cut off and are cancelled */
static const struct kind client_kinds[] = {
    { ZOO_NONE, MODE_CHURN, { "requests_load=20", "link_mean_us=1000" } },
    { ZOO_NONE, MODE_CHURN,
      { "requests_load=20", "fault_crash=5", "ask_ms=1000" } },
};

/* For singletons: the oldest nodes leave and crash. */
static const struct kind services_kinds[] = {
    { ZOO_NONE, MODE_CHURN,
      { "services_load=1", "fault_leave_oldest=10", "link_mean_us=1000" } },
    { ZOO_NONE, MODE_CHURN,
      { "services_load=1", "fault_leave_oldest=5", "fault_crash=5" } },
    /* the singleton's node is cut off from the lease provider for long */
    { ZOO_NONE, MODE_CHURN,
      { "services_load=1", "service_leases=1", "fault_lease_cut=20", "fault_leave_oldest=10",
        "fault_length_s=40", "lease_ttl_ms=8000", "lease_interval_ms=1000", "lease_retry_ms=1000",
        "store_us=2000", "link_mean_us=1000" } },
};

/* accounts deliver while nodes crash and shards move */
static const struct kind delivery_kinds[] = {
    { ZOO_NONE, MODE_CHURN, { "deliveries_load=1", "fault_crash=5", "link_mean_us=1000" } },
    { ZOO_NONE, MODE_CHURN, { "deliveries_load=1", "fault_leave=5", "fault_cut=5" } },
    /* entities keep few commands, and forget none of them before */
    { ZOO_NONE, MODE_STORAGE, { "deliveries_load=1", "commands_max=3", "fault_crash=5" } },
};

/* shards notice the loss while starts of remembered entities wait */
static const struct kind database_kind = {
    ZOO_NONE, MODE_SWARM,
    { "database=3", "remember=1", "remember_in_data=0", "idle_ms=1000", "load=30" }
};

/* nodes that end, are cut off or stand still do not answer */
static const struct kind looks_kinds[] = {
    { ZOO_NONE, MODE_CHURN, { "looks_load=10", "fault_crash=5", "link_mean_us=1000" } },
    { ZOO_NONE, MODE_SWARM, { "looks_load=10", "fault_cut=5", "fault_pause=5" } },
};

/* nodes come, go and crash under operations; without crashes only operations move shards */
static const struct kind operations_kinds[] = {
    { ZOO_NONE, MODE_CHURN, { "operations_load=10", "fault_crash=5", "link_mean_us=1000" } },
    { ZOO_NONE, MODE_CHURN, { "operations_load=20", "fault_leave_oldest=5", "link_mean_us=1000" } },
};

#define OPERATIONS_KINDS (sizeof operations_kinds / sizeof *operations_kinds)
#define LOOKS_KINDS (sizeof looks_kinds / sizeof *looks_kinds)
#define DELIVERY_KINDS (sizeof delivery_kinds / sizeof *delivery_kinds)
#define SERVICES_KINDS (sizeof services_kinds / sizeof *services_kinds)
#define CLIENT_KINDS (sizeof client_kinds / sizeof *client_kinds)

#define STORE_KINDS (sizeof store_kinds / sizeof *store_kinds)

#define DATA_KINDS (sizeof data_kinds / sizeof *data_kinds)

#define KINDS (sizeof kinds / sizeof *kinds)
#define KINDS_IN_TURN (KINDS - 13) /* the first ones */

/* Kinds for marks that the others do not reach; cover uses all in turn. */
static const struct kind cover_kinds[] = {
    { ZOO_NONE, MODE_SBR, { NULL } },
    /* hand-offs wait for the journal backend, and are forced */
    { ZOO_NONE, MODE_STORAGE,
      { "load=30", "fault_leave=5", "fault_leave_oldest=3",
        "fault_disk_error=5", "fault_disk_stall=5", "store_us=1000000",
        "stubborn_ms=30000", "handoff_timeout_ms=10000" } },
    /* leaving nodes are cut off, paused or downed */
    { ZOO_NONE, MODE_CHURN,
      { "zombies=1", "fault_pause=5", "fault_cut=5", "fault_leave_oldest=10",
        "fault_down=5", "acceptable_heartbeat_pause_ms=20000",
        "fault_length_s=60", "faults_per_hour=200" } },
    /* the same with breaking links and entities that stop slowly */
    { ZOO_NONE, MODE_CHURN,
      { "zombies=1", "fault_pause=5", "fault_cut=3", "fault_reset=3",
        "fault_half_open=3", "fault_leave=5", "fault_leave_oldest=5",
        "fault_length_s=40", "load=10", "number_of_shards=8",
        "entities=1000", "slow_stop_ms=10000", "stubborn_ms=30000",
        "rebalance_interval_ms=1000", "rebalance_absolute_limit=5",
        "store_us=2000" } },
    /* the same with a journal that refuses them after a pause */
    { ZOO_NONE, MODE_CHURN,
      { "zombies=1", "fault_pause=5", "fault_leave_oldest=5", "fault_down=5",
        "fault_cut=3", "fault_length_s=40", "load=20", "number_of_shards=8",
        "store_us=50000" } },
    /* links are full while shards move */
    { ZOO_NONE, MODE_CHURN,
      { "nodes=3", "lanes=1", "load=300", "clients=4", "ops=1",
        "outbound_queue=16", "pipe_bytes=4096", "link_mean_us=100000",
        "fault_leave=3", "fault_leave_oldest=3", "number_of_shards=8",
        "rebalance_interval_ms=1000", "rebalance_absolute_limit=5",
        "stubborn_ms=0", "slow_stop_ms=1" } },
    /* entities are remembered on faulty disks */
    { ZOO_NONE, MODE_STORAGE,
      { "remember=3", "remember_in_data=0", "remember_part_ids=3",
        "remember_base_after=3", "fault_disk_error=5", "fault_disk_stall=3", "fault_leave=3" } },
    /* the same in distributed data */
    { ZOO_NONE, MODE_STORAGE,
      { "remember=3", "remember_in_data=1", "fault_disk_error=5",
        "fault_disk_stall=3", "fault_leave=3" } },
    /* many shards move at once */
    { ZOO_NONE, MODE_HANDOFF,
      { "nodes=3", "load=60", "number_of_shards=1000", "entities=1000",
        "skewed=0", "ops=2047", "handoff_timeout_ms=120000",
        "shutdown_region_timeout_ms=120000", "fault_leave=3" } },
};

#define COVER_KINDS (sizeof cover_kinds / sizeof *cover_kinds)

struct search {
    const struct command *command;
    enum zoo_mutant mutant;
    bool covers; /* looks for marks, not for a bug */
    struct cells *cells; /* with covers: the cells met by its seeds; in a child, by its own */
};

/* Returns the kind of a seed that looks for marks. */
static const struct kind *cover_kind_of(uint64_t seed)
{
    uint64_t turn =
        seed % (KINDS_IN_TURN + COVER_KINDS + DATA_KINDS + STORE_KINDS);

    if (turn >= KINDS_IN_TURN + COVER_KINDS + DATA_KINDS)
        return &store_kinds[turn - KINDS_IN_TURN - COVER_KINDS - DATA_KINDS];
    if (turn >= KINDS_IN_TURN + COVER_KINDS)
        return &data_kinds[turn - KINDS_IN_TURN - COVER_KINDS];
    return turn < KINDS_IN_TURN ? &kinds[turn]
                                : &cover_kinds[turn - KINDS_IN_TURN];
}

static const struct kind *kind_of(const struct search *search, uint64_t seed)
{
    enum zoo_mutant mutant = search->mutant;

    if (search->covers)
        return cover_kind_of(seed);
    for (size_t i = 0; i < OWN_KINDS; i++)
        if (own_kinds[i]->made_for == mutant)
            return own_kinds[i];
    switch (zoo_entry(mutant)->world) {
    case WORLD_STORE:
        return &store_kinds[seed % STORE_KINDS];
    case WORLD_DURABLE:
        return &durable_kind;
    case WORLD_DATA:
        return &data_kinds[seed % DATA_KINDS];
    case WORLD_REMEMBER_DATA:
        return &remember_data_kinds[seed % REMEMBER_DATA_KINDS];
    case WORLD_REMEMBER:
        return &remember_kinds[seed % REMEMBER_KINDS];
    case WORLD_CLIENT:
        return &client_kinds[seed % CLIENT_KINDS];
    case WORLD_LIMIT:
        return &limit_kinds[seed % LIMIT_KINDS];
    case WORLD_LEASE:
        return &lease_kinds[seed % LEASE_KINDS];
    case WORLD_UNKNOWN:
        return &unknown_kinds[seed % UNKNOWN_KINDS];
    case WORLD_SERVICES:
        return &services_kinds[seed % SERVICES_KINDS];
    case WORLD_DELIVERY:
        return &delivery_kinds[seed % DELIVERY_KINDS];
    case WORLD_LOOKS:
        return &looks_kinds[seed % LOOKS_KINDS];
    case WORLD_OPERATIONS:
        return &operations_kinds[seed % OPERATIONS_KINDS];
    case WORLD_DATABASE:
        return &database_kind;
    case WORLD_ALLOCATION:
        return &allocation_kinds[seed % ALLOCATION_KINDS_OF_SEEDS];
    case WORLD_FLOOD:
        return &flood_kind;
    case WORLD_ROLLING:
        return &rolling_kinds[seed % ROLLING_KINDS];
    case WORLD_LOCATED_LEASES:
        return &located_leases_kind;
    case WORLD_RAPID:
        return &rapid_kinds[seed % RAPID_KINDS];
    case WORLD_ANY:
        break;
    }
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].made_for == mutant)
            return seed % 2 ? &kinds[i] : &kinds[seed / 2 % KINDS_IN_TURN];
    return &kinds[seed % KINDS_IN_TURN];
}

/* Returns a seed of the hunt, where the command does not say otherwise: a small, short cluster with
 * many faults and little load. */
static struct command hunted(const struct search *search, uint64_t seed)
{
    const struct command *command = search->command;
    const struct kind *kind = kind_of(search, seed);
    struct command own = *command;

    memset(&own.sets, 0, sizeof own.sets); /* its own list, because the caller frees the other */
    vec_push(&own.sets, "faults_per_hour=300");
    if (kind->mode != MODE_DATA) {
        vec_push(&own.sets, "load=5");
        vec_push(&own.sets, "data_load=0"); /* it finds none of their bugs and costs time */
        vec_push(&own.sets, "remember=0");  /* likewise */
        vec_push(&own.sets, "requests_load=0"); /* likewise */
    }
    vec_push(&own.sets, "callers=0"); /* likewise */
    if (own.wish.mode == MODE_SWARM) {
        own.wish.mode = kind->mode;
        for (uint32_t i = 0; i < KIND_SETS_MAX && kind->sets[i]; i++)
            vec_push(&own.sets, kind->sets[i]);
    }
    for (uint32_t i = 0; i < command->sets.count; i++)
        vec_push(&own.sets, command->sets.items[i]);
    if (!own.wish.nodes_max) {
        own.wish.nodes_min = 3;
        own.wish.nodes_max = ZOO_NODES_MAX;
    }
    if (!own.wish.length_max_s)
        own.wish.length_min_s = own.wish.length_max_s = ZOO_LENGTH_S;
    return own;
}

/* Reads "FAIL seed=7 inv=handoff-safety t=... : text". */
static void find(const char *line, struct hunt_finding *finding)
{
    const char *name = strstr(line, "inv=");
    const char *time = strstr(line, " t=");

    (void)snprintf(finding->invariant, sizeof finding->invariant, "%.*s",
                   name ? (int)strcspn(name + 4, " ") : 1,
                   name ? name + 4 : "?");
    (void)snprintf(finding->text, sizeof finding->text, "%s",
                   time ? time + 1 : line);
}

/* For the bug runs-share-random-state: repeats the run in the same process and compares. */
static bool runs_otherwise(const struct run_settings *settings,
                           const struct run_result *result,
                           struct hunt_finding *finding)
{
    struct run_result again;
    char line[VERDICT_LINE_MAX];

    run_seed(settings, &again);
    if (again.digest == result->digest)
        return false;
    different_line(&again, line, sizeof line);
    find(line, finding);
    return true;
}

static bool run_one(void *arg, uint64_t seed, struct hunt_finding *finding)
{
    const struct search *search = arg;
    struct command own = hunted(search, seed);
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .stops_at_violation = true };
    struct run_result result;

    if (!command_options(&own, seed, &options))
        check_failed(__FILE__, __LINE__, "options that were read before");
    vec_fini(&own.sets);
    run_seed(&settings, &result);
    if (search->covers) {
        memset(search->cells, 0, sizeof *search->cells);
        cells_add(search->cells, result.cells);
    }
    if (result.violations)
        find(result.lines[0], finding);
    return result.violations > 0 ||
           (search->mutant == ZOO_RUNS_SHARE_RANDOM_STATE &&
            runs_otherwise(&settings, &result, finding));
}

static struct hunt_options hunt_options_of(const struct search *search,
                                           uint64_t seeds_max)
{
    const struct command *command = search->command;
    struct hunt_options options = { .run = run_one,
                                    .arg = (void *)(uintptr_t)search,
                                    .seed = 1,
                                    .seeds_max = seeds_max,
                                    .wall_ms = ZOO_SEED_S * 1000,
                                    .jobs = command->jobs };

    if (command->has_seeds) {
        options.seed = command->seed_first;
        options.seeds_max = command->seed_last - command->seed_first + 1;
    }
    return options;
}

/* A seed that breaks a rule without the bug shows an unknown bug. */
static void print_broken(const struct search *search,
                         const struct hunt_result *result)
{
    struct command own = hunted(search, result->broken_seed);

    own.mutant = NULL;
    printf("      seed %llu breaks a rule WITHOUT the bug\n      ",
           (unsigned long long)result->broken_seed);
    print_replay(&own, result->broken_seed);
    vec_fini(&own.sets);
}

static bool hunt_one(const struct command *command, enum zoo_mutant mutant)
{
    const struct search search = { command, mutant, false, NULL };
    struct hunt_options options = hunt_options_of(
        &search, command->seeds_max ? command->seeds_max : ZOO_SEEDS_MAX);
    const struct zoo_entry *entry = zoo_entry(mutant);
    struct hunt_result result;

    hunt(&options, mutant, &result);
    printf("%-38s %-10s %-9s %6llu seeds %9.1f cpu s  %s (%s)\n",
           entry->name, entry->origin, result.is_found ? "found" : "NOT FOUND",
           (unsigned long long)result.seeds, (double)result.cpu_us / 1e6,
           result.finding.invariant, entry->invariant);
    if (result.hung || result.spoiled || !result.is_found)
        printf("      %llu passed its code, %llu took too long, %llu fail "
               "without it\n",
               (unsigned long long)result.met,
               (unsigned long long)result.hung,
               (unsigned long long)result.spoiled);
    if (result.is_found) {
        struct command own = hunted(&search, result.seed);

        printf("      seed %llu %s\n", (unsigned long long)result.seed,
               result.finding.text);
        own.mutant = entry->name;
        own.twice = mutant == ZOO_RUNS_SHARE_RANDOM_STATE;
        printf("      ");
        print_replay(&own, result.seed);
        vec_fini(&own.sets);
    }
    if (result.broken)
        print_broken(&search, &result);
    return result.is_found && !result.broken;
}

/* names: such as "older-gossip-wins,home-without-margin" */
static bool is_named(const char *names, enum zoo_mutant mutant)
{
    const char *name = zoo_entry(mutant)->name;
    size_t size = strlen(name);

    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == size && !strncmp(at, name, size))
            return true;
    return false;
}

int command_zoo(const struct command *command)
{
    struct options probe;
    uint64_t passed = 0;
    uint64_t failed = 0;

    if (!command_options(command, 1, &probe))
        return EXIT_USAGE;
    for (int i = ZOO_NONE + 1; i < ZOO_COUNT; i++) {
        enum zoo_mutant mutant = (enum zoo_mutant)i;

        if (command->mutant && !is_named(command->mutant, mutant))
            continue;
        if (hunt_one(command, mutant))
            passed++;
        else
            failed++;
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)passed,
           (unsigned long long)failed);
    return failed ? 1 : 0;
}

/* ---- cover ---- */

/* Appends a file of a report's folder to text. False: reported. */
static bool read_report(const char *folder, const char *name, struct buf *text)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!file_read(path, COVER_FILE_MAX, text))
        return false;
    if (!text->size) /* each has some lines */
        (void)usage_error("%s is empty: its run has not ended", path);
    return text->size > 0;
}

/* Reads the marks and cells of a report. False: reported. */
static bool read_cover(const char *folder, struct mark_list *marks,
                       struct cells *cells)
{
    struct buf text = { 0 };
    bool good = read_report(folder, "marks.txt", &text);

    if (good && !mark_merge(marks, buf_slice(&text))) {
        (void)usage_error("%s/marks.txt has a line that is not a mark", folder);
        good = false;
    }
    text.size = 0;
    good = good && read_report(folder, "cells.txt", &text);
    if (good && !cells_merge(cells, buf_slice(&text))) {
        (void)usage_error("%s/cells.txt has a line that is not a cell", folder);
        good = false;
    }
    buf_fini(&text);
    return good;
}

static void leave_cells(void *arg, struct buf *lines)
{
    const struct search *search = arg;

    cells_write(search->cells, lines);
}

static bool take_cells(void *arg, struct slice lines)
{
    const struct search *search = arg;

    return cells_merge(search->cells, lines);
}

static void print_cover(const struct mark_list *marks,
                        const struct cells *cells, uint64_t bad)
{
    struct buf text = { 0 };
    uint32_t reached = 0;

    for (uint32_t i = 0; i < marks->marks.count; i++)
        reached += marks->marks.items[i].count > 0;
    for (uint32_t i = 0; i < marks->marks.count; i++) {
        const struct mark_total *mark = &marks->marks.items[i];

        if (!mark->count)
            printf("never  %s:%u  %s\n", mark->file, mark->line, mark->text);
    }
    cells_put(cells, "", &text);
    printf("\n%.*s\n", (int)text.size, (const char *)text.data);
    buf_fini(&text);
    if (bad)
        printf("%llu seeds did not end well\n", (unsigned long long)bad);
    printf("%u of %u cells of fault and state met, %u of them struck\n",
           cells_met(cells), (unsigned)CELLS, cells_struck(cells));
    printf("%u of %u marks reached, %u never\n", reached, marks->marks.count,
           marks->marks.count - reached);
}

int command_cover(const struct command *command)
{
    struct cells cells = { { { 0 } }, { { 0 } } };
    const struct search search = { command, ZOO_NONE, true, &cells };
    struct hunt_options options = hunt_options_of(&search, COVER_SEEDS);
    struct mark_list marks = { 0 };
    struct options probe;
    uint64_t bad = 0;

    if (!command_options(command, 1, &probe))
        return EXIT_USAGE;
    mark_take(&marks);
    for (int i = 0; i < command->word_count; i++)
        if (!read_cover(command->words[i], &marks, &cells)) {
            mark_fini(&marks);
            return EXIT_USAGE;
        }
    options.leave = leave_cells;
    options.take = take_cells;
    if (!command->word_count)
        bad = hunt_marks(&options, &marks);
    print_cover(&marks, &cells, bad);
    mark_fini(&marks);
    return bad ? 1 : 0;
}
