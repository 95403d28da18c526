/* One run: a world made of a seed's options, in phases.
 *
 *   form     the nodes start and become one cluster
 *   safety   load and faults
 *   heal     the faults end; a drawn core lives on or comes back, the others are dead and downed by the operator or the resolver
 *   liveness what must come about, within its time
 *   drain    the load stops; every message is accounted for, every replica of distributed data holds the same
 *   roll     every entity that is asked answers; then the cluster is silent
 *   restart  everything loses power and comes back from disk; what was acknowledged is there
 *   end      everything ends; no memory is kept
 *
 * Checkers look on all the while; the first violation of each invariant is told. The same options and the same schedule give
 * the same run, with the same digest. */
#ifndef SHERD_SIM_RUN_H
#define SHERD_SIM_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/options.h"
#include "sim/schedule.h"
#include "sim/check_message.h"
#include "sim/check_coordinator.h"
#include "sim/check_entity.h"
#include "sim/check_follow.h"
#include "sim/check_journal.h"
#include "sim/check_member.h"
#include "sim/check_remember.h"
#include "sim/check_gossip_seen.h"
#include "sim/disk.h"
#include "sim/durable.h"
#include "sim/nemesis.h"
#include "sim/verdict.h"
#include "sim/workload.h"
#include "sim/workload_data.h"
#include "sim/workload_kvstore.h"

struct world;
struct world_place;
struct buf;

#define RUN_VIOLATIONS_MAX 8 /* told of one run; the others are counted */

struct run_settings {
    const struct options *options;
    const struct schedule *schedule; /* null: drawn from the options */
    uint64_t until; /* world's time, ns: the run ends there, or behind the roll call in which that is; 0: at its end */
    uint64_t until_event; /* the run ends soon behind it, likewise; 0: at its end */
    bool stops_at_violation; /* not only at the end of a phase */
    /* Called once the world is there, for those who look on; may be null. */
    void (*looks_on)(void *user, struct world *world);
    void (*file_watch)(void *user, struct world *world); /* each time the counters are looked at; null: nobody */
    bool is_verbose; /* who looks on hears debug lines too */
    void (*phase_ended)(void *user, const char *phase, uint64_t now); /* null: nobody asks */
    /* Called before it is freed; may be null. */
    void (*looks_back)(void *user, struct world *world);
    void *user;
    struct world_place *place; /* as in world_settings */
};

/* What was done, as its checkers counted it. */
struct run_work {
    struct check_message_counts messages;
    struct workload_counts load;
    struct check_remember_counts remembered;
    struct data_load_counts data;
    struct kvstore_load_counts store;
    struct check_follow_counts follow;
    struct nemesis_kinds kinds;
    struct disk_counters disk; /* of all stores */
    struct durable_counters own_disks; /* of nodes */
    struct check_journal_counts journal; /* likewise */
    struct check_coordinator_counts shards;
    struct check_member_counts members;
    struct check_gossip_seen_counts seen;
    struct check_entity_counts entities;
    uint64_t byte_modes; /* worlds in which frames are cut anywhere */
};

void run_work_add(struct run_work *sum, const struct run_work *work);
/* Which work came to nothing, so that the run shows little of it; null: at least half of each kind did not. A literal. */
const char *run_work_starved(const struct run_work *work);
void run_work_put(const struct run_work *work, struct buf *text); /* lines of a report */

/* What must come about in a time: the rules of which a report says how long it took. */
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
    uint64_t percent_max; /* of what it may take, which each seed's options say */
};

/* Plain values: can be handed from one process to another. */
struct run_result {
    uint64_t seed;
    uint64_t digest;
    uint64_t ended_at;  /* world's time, ns */
    uint64_t events;    /* that happened in it */
    uint64_t event_at;  /* of until_event, world's time; 0: it has not happened */
    uint64_t violation_at; /* of the first one, world's time; 0: none */
    bool is_early;      /* `until` has cut it off: what it has not come to may be broken */
    bool is_dead;       /* run_work_starved: the run shows little */
    uint32_t nodes;
    uint32_t core;      /* nodes of the liveness phase */
    uint64_t strays;    /* lives that were ended since they were not in the cluster when the faults were over and it had had its time */
    bool is_left;       /* the resolver alone had to down the dead */
    bool is_gentle;     /* no move may have cost a message: judged */
    bool is_still;      /* judged: no shard may move in a silent minute */
    bool is_silent;     /* judged: nor may anybody gossip then, since no node is taken for lost */
    uint64_t homes;     /* that were asked for in the quiet, and told */
    uint64_t lives;     /* of nodes */
    uint64_t faults[FAULT_VERBS];
    uint64_t faults_skipped;
    struct nemesis_effect effects[FAULT_VERBS];
    struct nemesis_cells cells[FAULT_VERBS];
    struct run_wait waits[RUN_WAITS];
    struct run_work work;
    uint32_t violations; /* invariants that are broken */
    char lines[RUN_VIOLATIONS_MAX][VERDICT_LINE_MAX];
};

/* Lives alone in its process while it runs. What is broken stands in result as soon as it is found, the rest at the end. */
void run_seed(const struct run_settings *settings, struct run_result *result);

#endif
