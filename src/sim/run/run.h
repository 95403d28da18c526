/* Runs a world made of a seed's options, in phases:
 *
 *   form      the nodes form one cluster
 *   safety    load and faults
 *   heal      the faults end; a drawn core survives or restarts, the others die and are downed
 *   liveness  each rule of liveness must hold within its bound
 *   drain     the load stops; every message is accounted for, replicas are equal
 *   roll      every asked entity answers; then the cluster is silent
 *   restart   everything loses power and restarts from disk; acknowledged data is there
 *   end       everything ends; no memory is left
 *
 * Equal options and schedules give equal runs and digests. */
#ifndef SHERD_SIM_RUN_H
#define SHERD_SIM_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/seed/options.h"
#include "sim/faults/schedule.h"
#include "sim/check/check_message.h"
#include "sim/check/check_allocation.h"
#include "sim/check/check_coordinator.h"
#include "sim/check/check_entity.h"
#include "sim/check/check_cluster_events.h"
#include "sim/check/check_journal.h"
#include "sim/check/check_member.h"
#include "sim/check/check_remember.h"
#include "sim/check/check_gossip_seen.h"
#include "sim/check/check_shard_lease.h"
#include "sim/world/disk.h"
#include "sim/world/durable.h"
#include "sim/faults/nemesis.h"
#include "sim/world/verdict.h"
#include "sim/workload/workload.h"
#include "sim/workload/workload_allocation.h"
#include "sim/workload/workload_data.h"
#include "sim/workload/workload_kvstore.h"
#include "sim/workload/workload_looks.h"
#include "sim/workload/workload_operations.h"
#include "sim/workload/workload_requests.h"
#include "sim/workload/workload_rolling.h"
#include "sim/workload/workload_delivery.h"
#include "sim/workload/workload_services.h"

struct world;
struct world_place;
struct buf;

#define RUN_VIOLATIONS_MAX 8 /* the others are counted */

struct run_settings {
    const struct options *options;
    const struct schedule *schedule; /* null: drawn from the options */
    /* world's time, ns: the run ends there, or after the roll call that contains it; 0: at its
     * end */
    uint64_t until;
    uint64_t until_event; /* the run ends soon after it; 0: at its end */
    bool stops_at_violation; /* not only at the end of a phase */
    /* Adds observers; may be null. */
    void (*looks_on)(void *user, struct world *world);
    /* at each sample of counters; may be null */
    void (*looks)(void *user, struct world *world);
    bool is_verbose; /* for observers */
    void (*phase_ended)(void *user, const char *phase, uint64_t now); /* may be null */
    /* Called before the world is freed; may be null. */
    void (*looks_back)(void *user, struct world *world);
    void *user;
    struct world_place *place; /* as in world_settings */
};

/* The work of a run, counted by its checkers. */
struct run_work {
    struct check_message_counts messages;
    struct workload_counts load;
    struct check_remember_counts remembered;
    struct data_load_counts data;
    struct kvstore_load_counts store;
    struct check_cluster_events_counts follow;
    struct allocation_load_counts allocation;
    struct check_allocation_counts choices; /* of allocation strategies */
    struct request_load_counts requests;
    struct services_load_counts services;
    struct check_delivery_counts deliveries;
    struct check_command_counts commands;
    struct check_looks_counts looks;
    struct check_operations_counts operations;
    struct check_restart_counts rolling; /* times: of the slowest run */
    struct nemesis_kinds kinds;
    struct disk_counters disk; /* of all journal backends */
    struct durable_counters own_disks; /* of nodes */
    struct database_counters database; /* of all databases */
    struct check_journal_counts journal; /* of all journal backends */
    struct check_coordinator_counts shards;
    struct check_member_counts members;
    struct check_gossip_seen_counts seen;
    struct check_entity_counts entities;
    struct check_shard_lease_counts leases;
    uint64_t byte_modes;
};

void run_work_add(struct run_work *sum, const struct run_work *work);
/* Names a kind of work of which less than half succeeded; null: none. A literal. */
const char *run_work_starved(const struct run_work *work);
void run_work_put(const struct run_work *work, struct buf *text); /* lines of a report */

/* Rules with a time bound. */
#define RUN_WAIT_LIST(X)                                                      \
    X(MEMBER_CONVERGENCE, "member-convergence")                               \
    X(HOMES_AVAILABLE, "homes-available")                                     \
    X(HOMES, "homes-asked")                                                   \
    X(ENTITIES_ANSWER, "entities-answer")                                     \
    X(QUIET_CLUSTER_RESTS, "quiet-cluster-rests")                             \
    X(REMEMBERED_ENTITIES, "remembered-entities")                             \
    X(REPLICA_CONVERGENCE, "replica-convergence")                             \
    X(NO_LOST_UPDATE, "no-lost-update")

enum run_wait_id {
#define X(id, name) RUN_WAIT_##id,
    RUN_WAIT_LIST(X)
#undef X
        RUN_WAITS
};

struct run_wait {
    uint64_t times;
    uint64_t ns;     /* all together */
    uint64_t ns_max;
    uint64_t percent_max; /* share of the seed's bound */
};

/* Plain values, so processes can exchange it. */
struct run_result {
    uint64_t seed;
    uint64_t digest;
    uint64_t ended_at;  /* world's time, ns */
    uint64_t events;    /* of the world */
    uint64_t event_at;  /* world's time of until_event; 0: not reached */
    uint64_t violation_at; /* world's time of the first one; 0: none */
    bool is_early;      /* ended by `until` */
    bool is_dead;       /* run_work_starved: it shows little */
    uint32_t nodes;
    uint32_t core;      /* nodes of the liveness phase */
    uint64_t outsiders;    /* ended because they were not in the cluster after the faults */
    bool is_left;       /* only the resolver could down dead nodes */
    bool is_gentle;     /* judged: no move may have cost a message */
    bool is_still;      /* judged: no shard may move in a silent minute */
    bool is_silent;     /* judged: no full gossip either, because no node is suspected */
    uint64_t homes;     /* requested and answered in the quiet phase */
    uint64_t lives;     /* incarnations of nodes */
    uint64_t faults[FAULT_VERBS];
    uint64_t faults_skipped;
    struct nemesis_effect effects[FAULT_VERBS];
    struct nemesis_cells cells[FAULT_VERBS];
    struct run_wait waits[RUN_WAITS];
    struct run_work work;
    uint32_t violations; /* broken invariants */
    char lines[RUN_VIOLATIONS_MAX][VERDICT_LINE_MAX];
};

/* Runs alone in its process. Writes violations to result at once, the rest at the end. */
void run_seed(const struct run_settings *settings, struct run_result *result);

#endif
