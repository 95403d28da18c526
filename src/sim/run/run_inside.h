/* Declares the inside of a run. Private to sim/run/.
 *
 * run.c creates a run and leads it through its phases. run_time.c lets time pass. run_faults.c has
 * the phases with faults, run_rolling.c the one with graceful restarts, run_quiet.c those without.
 * run_limits.c changes limits of active entities. run_work.c has the counters. */
#ifndef SHERD_SIM_RUN_INSIDE_H
#define SHERD_SIM_RUN_INSIDE_H

#include "base/rng.h"
#include "base/timers.h"
#include "sim/check/check_split.h"
#include "sim/run/cluster.h"
#include "sim/check/check_growth.h"
#include "sim/run/run.h"

#define RUN_REMEMBERED 64 /* entities of each remembered type */
/* most delay of a hand-off's timer in a quiet cluster, with an eighth for wrong clocks */
#define RUN_LATE_MS 5000
#define RUN_HEAL_INDEX 1 /* index of the nemesis' streams; the schedule has 0 */
#define RUN_RAISE_INDEX 2
#define RUN_SPLIT_INDEX 3
#define RUN_ALONE_INDEX 4
#define RUN_LIMITS_INDEX 5

struct run {
    const struct run_settings *settings;
    uint32_t differed; /* the last node that did not agree */
    const struct options *options;
    struct run_result *result;
    struct world *world;
    struct verdict *verdict;
    struct schedule drawn;
    struct nemesis *nemesis;
    struct workload_world *load;
    struct data_load *data; /* null: no distributed data */
    struct kvstore_load *store; /* null: no N/R/W store */
    struct follow_load *follow; /* null: no followers */
    struct allocation_load *allocation; /* null: only the strategy least-shard */
    struct request_load *requests; /* null: no requests of threads */
    struct services_load *services; /* null: no singletons and daemons */
    struct delivery_load *deliveries; /* null: no accounts */
    struct look_load *looks; /* null: nobody looks */
    struct operation_load *operations; /* null: nobody acts */
    struct rolling_load *rolling; /* null: no graceful restarts before the faults */
    uint32_t restarting; /* the node that restarts at present */
    struct run_limit *limits; /* of active entities, by node and type; null: never changed */
    struct checks *checks;
    struct growth growth; /* of the silent minute */
    struct split split;
    struct cluster cluster;
    struct rng rng;
    struct rng raise_rng;
    bool has_operator; /* restarts the cluster when no member is left */
    bool has_begun_again; /* the operator has crashed waiting nodes */
    uint64_t alone_since; /* since when no member lives; 0: one does */
};

/* run.c */
uint64_t run_link_mean(const struct options *options); /* ns above the least */

/* run_work.c */
void run_work_disk(struct disk_counters *sum, const struct disk_counters *more);
void run_work_database(struct database_counters *sum, const struct database_counters *more);
void run_work_own_disk(struct durable_counters *sum,
                       const struct durable_counters *more);

/* run_time.c */
bool run_is_over(const struct run *run);
void run_pass(struct run *run, uint64_t time); /* ns, without faults and checks */
void run_until(struct run *run, uint64_t end); /* world's time; with the faults due meanwhile */
/* A condition that must come true; text names the obstacle. */
typedef bool run_condition(struct run *run, char *text, size_t size);
bool run_is_converged(struct run *run, char *text, size_t size);
bool run_is_coordinated(struct run *run, char *text, size_t size);
/* Runs until the condition holds. At the bound reports a violation with `wanted` and the
 * obstacle. */
bool run_until_holds(struct run *run, run_condition *holds, const char *rule,
                     uint64_t bound, const char *wanted);
/* Records the time from `since` for a rule of RUN_WAIT_LIST. */
void run_waited(struct run *run, const char *rule, uint64_t since,
                uint64_t bound);

/* run_faults.c */
void run_form(struct run *run);
void run_split(struct run *run);
void run_safety(struct run *run);
void run_heal(struct run *run);

/* run_limits.c */
void run_with_limits(struct run *run, uint64_t length); /* ns; changes them meanwhile */
/* Whether no region has more active entities than its last limit. */
bool run_limits_hold(struct run *run, char *text, size_t size);

/* run_rolling.c */
void run_rolling(struct run *run);

/* run_quiet.c */
void run_liveness(struct run *run);
void run_drain(struct run *run);
void run_roll_call(struct run *run);
void run_restart(struct run *run);

#endif
