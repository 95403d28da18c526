/* The inside of a run. Private to sim/.
 *
 * run.c makes a run and goes from phase to phase; run_time.c lets its time pass; run_faults.c has the phases in which something
 * goes wrong, run_quiet.c those in which nothing does. */
#ifndef SHERD_SIM_RUN_INSIDE_H
#define SHERD_SIM_RUN_INSIDE_H

#include "base/rng.h"
#include "base/timers.h"
#include "sim/check_split.h"
#include "sim/cluster.h"
#include "sim/growth.h"
#include "sim/run.h"

#define RUN_REMEMBERED 64 /* entities of each type that is remembered */
#define RUN_LATE_MS 5000 /* by so much a hand-off's timer may be late in a quiet cluster, and by an eighth: clocks are wrong */
#define RUN_HEAL_INDEX 1 /* of the nemesis' streams: the plan has 0 */
#define RUN_RAISE_INDEX 2
#define RUN_SPLIT_INDEX 3
#define RUN_ALONE_INDEX 4

struct run {
    const struct run_settings *settings;
    uint32_t differed; /* the node that did not agree the last time */
    const struct options *options;
    struct run_result *result;
    struct world *world;
    struct verdict *verdict;
    struct schedule drawn;
    struct nemesis *nemesis;
    struct workload_world *load;
    struct data_load *data; /* null: no distributed data */
    struct kvstore_load *store; /* null: no N/R/W store */
    struct follow_load *follow; /* null: nobody follows the cluster */
    struct checks *checks;
    struct growth growth; /* in the quiet */
    struct split split;
    struct cluster cluster;
    struct rng rng; /* of the heal phase */
    struct rng raise_rng; /* of when downed nodes come back */
    bool has_operator; /* who begins the cluster again when nobody is left of it */
    bool has_begun_again; /* it did so: it crashed who waited */
    uint64_t alone_since; /* no member lives; 0: one does */
};

/* run.c */
uint64_t run_link_mean(const struct options *options); /* ns: above the least, or the least would be all */

/* run_work.c */
void run_work_disk(struct disk_counters *sum, const struct disk_counters *more);
void run_work_own_disk(struct durable_counters *sum,
                       const struct durable_counters *more);

/* run_time.c */
bool run_is_over(const struct run *run);
void run_pass(struct run *run, uint64_t time); /* ns, without faults and looks at rules */
void run_until(struct run *run, uint64_t end); /* world's time; with the faults that come meanwhile */
/* What must come about; text says what is missing. */
typedef bool run_condition(struct run *run, char *text, size_t size);
bool run_is_converged(struct run *run, char *text, size_t size);
bool run_is_coordinated(struct run *run, char *text, size_t size);
/* Runs until that holds, or the time is over: then the violation says what was wanted, and what is missing. */
bool run_until_holds(struct run *run, run_condition *holds, const char *rule,
                     uint64_t bound, const char *wanted);
/* It took from then until now; for a rule of RUN_WAIT_LIST. */
void run_waited(struct run *run, const char *rule, uint64_t since,
                uint64_t bound);

/* run_faults.c */
void run_form(struct run *run);
void run_split(struct run *run);
void run_safety(struct run *run);
void run_heal(struct run *run);

/* run_quiet.c */
void run_liveness(struct run *run);
void run_drain(struct run *run);
void run_roll_call(struct run *run);
void run_restart(struct run *run);

#endif
