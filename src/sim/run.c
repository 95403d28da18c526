/* The phases, one after the other. */
#include "sim/run.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/timers.h"
#include "ddata/replicator.h"
#include "sim/check_quiet.h"
#include "sim/check_remember.h"
#include "sim/check_split.h"
#include "sim/checks.h"
#include "sim/cluster.h"
#include "sim/disk_store.h"
#include "sim/nemesis.h"
#include "sim/streams.h"
#include "sim/workload_data.h"
#include "sim/workload_world.h"
#include "sim/world.h"

#define READ_MIN 5 /* majority-min-cap of what sharding keeps */
#define SAMPLE (5 * SECOND) /* between two looks at the nodes' counters */
#define LOOK (500 * MS) /* between two looks at whether a condition holds */
#define ALONE (60 * SECOND) /* how long no member lives before somebody does something */
#define REMEMBERED 64 /* entities of each type that is remembered */
#define ROLL 32 /* entities of each type that must answer */
#define SILENCE (60 * SECOND)
#define HEAL_INDEX 1 /* of the nemesis' streams: the plan has 0 */
#define RAISE_INDEX 2
#define SPLIT_INDEX 3
#define GENTLE (60 * SECOND) /* a hand-off that may take so long is not given up */
#define LATE_MS 5000 /* by so much a hand-off's timer may be late in a quiet cluster, and by an eighth: clocks are wrong */
#define GENTLE_STORE (2 * MS)
#define STORE_SETTLE (120 * SECOND) /* a minute of asks that run out, and keys that move */
#define RAISE_ODDS 8 /* one in so many at each look: after 40 s in the mean */

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
    struct store_load *store; /* null: no N/R/W store */
    struct checks *checks;
    struct cluster cluster;
    struct rng rng; /* of the heal phase */
    struct rng raise_rng; /* of when downed nodes come back */
    bool has_operator; /* who begins the cluster again when nobody is left of it */
    uint64_t alone_since; /* no member lives; 0: one does */
};

/* ---- time ---- */

static void sample_store(struct run *run)
{
    char text[VERDICT_TEXT_MAX];

    if (run->store)
        store_load_sample(run->store,
                          quiet_converged(run->world, &run->differed, text,
                                          sizeof text));
}

static bool is_over(const struct run *run)
{
    uint64_t until = run->settings->until;

    return (until && world_now(run->world) >= until) ||
           (run->settings->stops_at_violation && verdict_count(run->verdict));
}

static bool has_member(const struct run *run)
{
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (cluster_lives(&run->cluster, i) && world_node(run->world, i)->is_up)
            return true;
    return false;
}

/* When all members are dead, or have left, those that wait to be taken in wait for ever: the operator restarts them, and the
 * first one begins a cluster. */
static void begin_again(struct run *run)
{
    bool *lived;

    if (!run->has_operator || has_member(run)) {
        run->alone_since = 0;
        return;
    }
    if (!run->alone_since)
        run->alone_since = world_now(run->world);
    if (world_now(run->world) - run->alone_since < ALONE)
        return;
    run->alone_since = 0;
    lived = mem_alloc(run->cluster.nodes * sizeof *lived);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        lived[i] = cluster_lives(&run->cluster, i);
    cluster_crash_strays(&run->cluster);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (lived[i])
            cluster_start(&run->cluster, i);
    mem_free(lived);
}

/* Whoever was downed and has ended is started again some time later, as by a supervisor: nobody else knows of it. */
static void raise_downed(struct run *run)
{
    for (uint32_t i = 0; run->has_operator && run->cluster.resolves &&
                         i < run->cluster.nodes;
         i++) {
        const struct world_node *place = world_node(run->world, i);

        if (!place->node && place->has_ended && place->error == SHERD_EDOWN &&
            rng_below(&run->raise_rng, RAISE_ODDS) == 0)
            cluster_start(&run->cluster, i);
    }
}

/* Runs until a time, with the faults that come meanwhile. */
static void run_until(struct run *run, uint64_t end)
{
    if (run->settings->until && end > run->settings->until)
        end = run->settings->until;
    while (world_now(run->world) < end && !is_over(run)) {
        uint64_t next = world_now(run->world) + SAMPLE;

        if (nemesis_deadline(run->nemesis) < next)
            next = nemesis_deadline(run->nemesis);
        if (next > end)
            next = end;
        if (next > world_now(run->world))
            world_run(run->world, next - world_now(run->world));
        nemesis_step(run->nemesis);
        begin_again(run);
        raise_downed(run);
        workload_world_sample(run->load);
        if (run->data)
            data_load_sample(run->data);
        sample_store(run);
        checks_look(run->checks);
    }
}

/* What must come about; text says what is missing. */
typedef bool run_condition(struct run *run, char *text, size_t size);

static bool is_converged(struct run *run, char *text, size_t size)
{
    return quiet_converged(run->world, &run->differed, text, size);
}

static bool is_coordinated(struct run *run, char *text, size_t size)
{
    return quiet_coordinated(run->world, run->checks->live,
                             run->cluster.centers, text, size);
}

/* Runs until that holds, or the time is over: then the violation says what was wanted, and what is missing. */
static bool run_until_holds(struct run *run, run_condition *holds,
                            const char *rule, uint64_t bound,
                            const char *wanted)
{
    uint64_t end = world_now(run->world) + bound;
    char text[VERDICT_TEXT_MAX] = "";
    char time[TIME_TEXT_MAX];

    while (!holds(run, text, sizeof text)) {
        if (is_over(run))
            return false;
        if (world_now(run->world) >= end) {
            violation(run->verdict, rule, VERDICT_NO_NODE, "%s within %s: %s",
                      wanted, time_text(bound, time, sizeof time), text);
            return false;
        }
        run_until(run, world_now(run->world) + LOOK);
    }
    return true;
}

/* ---- nodes ---- */

/* What the seed's options say of a life. */
static void set_life(void *user, struct node_settings *settings)
{
    struct run *run = user;

    options_settings(run->options, settings);
    if (!run->settings->looks_on)
        settings->trace_level = TRACE_WARNING; /* more is made for who reads it */
    else if (run->settings->is_verbose)
        settings->trace_level = TRACE_DEBUG;
    run->result->lives++;
}

/* The mean is above the least, or the least would be all. */
static uint64_t link_mean(const struct options *options)
{
    return (options->value[OPTION_LINK_MIN] +
            options->value[OPTION_LINK_MEAN]) *
           1000;
}

/* ---- phases ---- */

static void form(struct run *run)
{
    cluster_form(&run->cluster);
    (void)run_until_holds(run, is_converged, "L1",
                          2 * quiet_converge_bound(run->options),
                          "at the beginning, no agreement on the members");
}

/* A clean cut, before anything else goes wrong; who has ended is started again afterwards. */
static void split(struct run *run)
{
    uint64_t bound = quiet_converge_bound(run->options);
    struct rng rng = stream_rng(run->options->seed, STREAM_NEMESIS, SPLIT_INDEX);
    struct node_settings settings;
    struct split split;

    if (!run->options->value[OPTION_SPLIT] ||
        !run_until_holds(run, is_coordinated, "L2", bound,
                         "before the cut, no coordinator that all know"))
        return;
    memset(&settings, 0, sizeof settings);
    options_settings(run->options, &settings);
    split_draw(&split, run->world, run->cluster.nodes, &rng);
    split_cut(&split, run->world, true);
    run_until(run, world_now(run->world) + quiet_split_bound(run->options));
    if (!is_over(run))
        split_judge(&split, run->world, run->verdict,
                    settings.resolver.strategy.kind);
    split_cut(&split, run->world, false);
    split_fini(&split);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (!cluster_lives(&run->cluster, i))
            cluster_start(&run->cluster, i);
    (void)run_until_holds(run, is_converged, "L1", 2 * bound,
                          "after the cut, no agreement on the members");
}

/* Nodes only leave and come back, entities stop when they are told to, the store does not keep them from it for so long that they
 * are ended, and hand-offs have all the time that they need. */
static bool is_gentle(const struct run *run, const struct schedule *schedule)
{
    const uint64_t *value = run->options->value;

    for (uint32_t i = 0; i < schedule->faults.count; i++)
        if (schedule->faults.items[i].verb != FAULT_VERB_LEAVE &&
            schedule->faults.items[i].verb != FAULT_VERB_START)
            return false;
    return !value[OPTION_STUBBORN] && !value[OPTION_RESOLVER] &&
           value[OPTION_STORE] * 1000 <= GENTLE_STORE &&
           value[OPTION_HANDOFF] * MS >= GENTLE &&
           value[OPTION_SHUTDOWN] * MS >= GENTLE;
}

/* A shard stops when the markers are there, and they come behind all messages: none meets a home that is none any more. A region
 * whose time to shut down is over stops without them. */
static void judge_moves(struct run *run)
{
    uint64_t lost = check_message_counts(
                        workload_check(workload_world_of(run->load)))
                        .undelivered[SHERD_REASON_HANDED_OFF];

    if (lost)
        violation(run->verdict, "I3", VERDICT_NO_NODE,
                  "%llu messages ended because their shard moved, and nothing was wrong",
                  (unsigned long long)lost);
}

static void safety(struct run *run)
{
    uint64_t length = run->options->value[OPTION_LENGTH] * SECOND;
    const struct nemesis_hands hands = cluster_hands(
        &run->cluster, run->options->value[OPTION_LINK_MIN] * 1000,
        link_mean(run->options));
    const struct schedule *schedule =
        run->settings->schedule ? run->settings->schedule : &run->drawn;

    nemesis_free(run->nemesis);
    run->nemesis =
        nemesis_new(run->world, schedule, run->cluster.nodes, &hands);
    run->has_operator = true;
    run_until(run, world_now(run->world) + length);
    nemesis_end(run->nemesis);
    if (is_gentle(run, schedule) &&
        !check_coordinator_counts(run->checks->coordinator).forced)
        judge_moves(run);
}

/* A member that is up and takes commands. */
static uint32_t find_operator(const struct run *run)
{
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (cluster_lives(&run->cluster, i) && world_node(run->world, i)->is_up)
            return i;
    return run->cluster.nodes;
}

static void down_the_dead(struct run *run)
{
    uint32_t by = find_operator(run);

    for (uint32_t i = 0; i < run->cluster.nodes && by < run->cluster.nodes; i++)
        if (!cluster_lives(&run->cluster, i) && world_node(run->world, i)->life)
            cluster_down(&run->cluster, by, i);
}

/* A drawn part of the nodes, with at least one that is a member; as many as may come up at all. */
static void draw_core(struct run *run, bool *in_core)
{
    uint32_t least = (uint32_t)run->options->value[OPTION_MEMBERS_MIN];
    uint32_t member = find_operator(run);
    uint32_t size, count = 0;

    if (least > run->cluster.nodes)
        least = run->cluster.nodes;
    size = least +
           (uint32_t)rng_below(&run->rng, run->cluster.nodes - least + 1);
    if (member < run->cluster.nodes) {
        in_core[member] = true;
        count++;
    }
    while (count < size) {
        uint32_t node = (uint32_t)rng_below(&run->rng, run->cluster.nodes);

        count += !in_core[node];
        in_core[node] = true;
    }
    run->result->core = size;
}

/* Who comes back from its disk has what it had when it died. A read of all the others but those who live on finds that alone. */
static void judge_loss(struct run *run, const bool *in_core)
{
    uint32_t size = run->result->core;
    uint32_t living = 0;

    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        living += in_core[i] && cluster_lives(&run->cluster, i);
    if (living + consistency_majority(READ_MIN, size, 0) <= size)
        check_remember_lost(workload_world_remember(run->load));
}

/* First who is dead is downed, so that the others work again. Then the others die, and are downed, then the core comes back: a
 * node that is started while all others are dead begins a cluster. */
static void heal(struct run *run)
{
    bool *in_core = mem_alloc(run->cluster.nodes * sizeof *in_core);

    down_the_dead(run);
    run_until(run, world_now(run->world) + quiet_converge_bound(run->options));
    run->has_operator = false;
    cluster_crash_strays(&run->cluster);
    draw_core(run, in_core);
    judge_loss(run, in_core);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (cluster_lives(&run->cluster, i) && !in_core[i])
            world_crash(run->world, i);
    down_the_dead(run);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (in_core[i] && !cluster_lives(&run->cluster, i))
            cluster_start(&run->cluster, i);
    mem_free(in_core);
}

/* From here on nothing goes wrong. */
static void liveness(struct run *run)
{
    uint64_t bound = quiet_converge_bound(run->options) +
                     quiet_bury_bound(run->options);

    if (!run_until_holds(run, is_converged, "L1", bound,
                         "in the liveness phase, no agreement on the members"))
        return;
    check_live_quiet(run->checks->live, world_now(run->world), true);
    (void)run_until_holds(
        run, is_coordinated, "L2", bound,
        "in the liveness phase, no coordinator that all know");
}

static bool has_answers(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "calls are open");
    return data_load_idle(run->data);
}

static bool is_settled(struct run *run, char *text, size_t size)
{
    return data_load_settled(run->data, text, size);
}

/* I15, then what I14 and I16 say of what all have. */
static void settle_data(struct run *run)
{
    struct node_settings settings;

    memset(&settings, 0, sizeof settings);
    options_settings(run->options, &settings);
    if (!run_until_holds(run, has_answers, "data",
                         2 * run->options->value[OPTION_DATA_TIMEOUT] * MS +
                             20 * run->options->value[OPTION_STORE] * 1000 +
                             LATE_MS * MS,
                         "calls of distributed data without answers"))
        data_load_drained(run->data);
    else if (run_until_holds(run, is_settled, "I15",
                             data_load_bound(run->data, run->cluster.nodes,
                                             &settings.data),
                             "replicas that hold the same"))
        data_load_judge(run->data);
}

static bool is_remembered(struct run *run, char *text, size_t size)
{
    return check_remember_agrees(workload_world_remember(run->load), text,
                                 size);
}

/* I8: who is remembered is back without a message. */
static void remembered(struct run *run, const char *wanted)
{
    if (run->options->value[OPTION_REMEMBER])
        (void)run_until_holds(
            run, is_remembered, "I8",
            quiet_remember_bound(run->options, 2 * REMEMBERED), wanted);
}

static bool store_is_idle(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "calls are open");
    return store_load_idle(run->store);
}

static bool store_is_read(struct run *run, char *text, size_t size)
{
    (void)snprintf(text, size, "%u keys are not",
                   store_load_finals_missing(run->store));
    return !store_load_finals_missing(run->store);
}

/* N4, then N3; all that has to move to new replicas had its time meanwhile. */
static void settle_store(struct run *run)
{
    uint64_t way = run->options->value[OPTION_LINK_MIN] +
                   run->options->value[OPTION_LINK_MEAN];

    if (!run_until_holds(run, store_is_idle, "N4", 70 * SECOND,
                         "calls of the store without answers")) {
        store_load_drained(run->store);
        return;
    }
    run_until(run, world_now(run->world) + STORE_SETTLE);
    if (run->options->value[OPTION_VERSIONS_TIMEOUT] * 1000 < 20 * way)
        return; /* no read is in time */
    store_load_finals_begin(run->store);
    (void)run_until_holds(run, store_is_read, "N5", STORE_SETTLE,
                          "all keys read from all their replicas");
}

static void drain(struct run *run)
{
    if (run->data)
        data_load_stop(run->data);
    if (run->store)
        store_load_stop(run->store);
    (void)workload_world_drain(run->load, quiet_drain_bound(run->options));
    remembered(run, "all who are remembered live, and nobody else who might be");
    if (run->data && !is_over(run) && !verdict_count(run->verdict))
        settle_data(run);
    if (run->store && !is_over(run) && !verdict_count(run->verdict))
        settle_store(run);
}

/* L4, then L9. */
static void roll_call(struct run *run)
{
    struct check_live *live = run->checks->live;

    if (!workload_world_roll(run->load, ROLL,
                             quiet_drain_bound(run->options)) ||
        !quiet_is_steady(run->options))
        return;
    run_until(run, world_now(run->world) + quiet_settle_bound(run->options));
    check_live_silent(live, true);
    if (run->data)
        data_load_silence_begins(run->data);
    run_until(run, world_now(run->world) + SILENCE);
    if (run->data)
        data_load_silence_ends(run->data);
    check_live_silent(live, false);
}

static bool is_kept(struct run *run, char *text, size_t size)
{
    return data_load_is_kept(run->data, text, size);
}

/* I16: what was acknowledged of durable keys, and by now is everywhere. */
static void kept(struct run *run)
{
    if (run->data && run->options->value[OPTION_DATA_DURABLE])
        (void)run_until_holds(run, is_kept, "I16",
                              quiet_converge_bound(run->options),
                              "after the restart of everything all durable keys");
}

/* Everything ends at once, and comes back from what is stored. */
static void restart(struct run *run)
{
    bool is_durable = run->options->value[OPTION_DATA_DURABLE] ||
                      options_remember_in_data(run->options);
    bool *lived = mem_alloc(run->cluster.nodes * sizeof *lived);

    if (run->data && run->options->value[OPTION_DATA_DURABLE])
        data_load_note(run->data);
    if (options_remember_in_data(run->options))
        check_remember_restarts(workload_world_remember(run->load));
    check_live_quiet(run->checks->live, world_now(run->world), false);
    for (uint32_t i = 0; i < run->cluster.nodes; i++) {
        lived[i] = cluster_lives(&run->cluster, i);
        if (lived[i] && is_durable) /* what is not synced is lost everywhere */
            world_crash_as(run->world, i, WORLD_DARK);
        else if (lived[i])
            world_crash(run->world, i);
    }
    for (uint32_t i = 0; i < world_store_count(run->world); i++) {
        struct disk_store *store = world_store_at(run->world, i);

        disk_store_power_loss(store, world_now(run->world));
        disk_store_reopen(store, world_now(run->world));
    }
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (lived[i])
            cluster_start(&run->cluster, i);
    mem_free(lived);
    if (!run_until_holds(
            run, is_converged, "L1", quiet_converge_bound(run->options),
            "after the restart of everything, no agreement on the members"))
        return;
    remembered(run, "after the restart of everything all who are remembered live");
    kept(run);
    if (is_over(run))
        return;
    workload_resume(workload_world_of(run->load));
    if (run->data)
        data_load_resume(run->data);
    if (run->store)
        store_load_resume(run->store);
    run_until(run, world_now(run->world) + 60 * SECOND);
    drain(run);
}

/* ---- the whole ---- */

/* Handlers fail because messages told them to: those did arrive. */
static bool is_dead(const struct check_message_counts *messages)
{
    uint64_t arrived = messages->delivered +
                       messages->undelivered[SHERD_REASON_HANDLER_FAILED];

    return !messages->sent || arrived * 2 < messages->sent;
}

static void finish(struct run *run)
{
    struct run_result *result = run->result;

    result->digest = world_digest(run->world);
    result->ended_at = world_now(run->world);
    result->violations = verdict_count(run->verdict);
    for (uint32_t i = 0; i < result->violations && i < RUN_VIOLATIONS_MAX;
         i++) {
        const struct violation *found = verdict_at(run->verdict, i);

        if (!i)
            result->violation_at = found->at;
        (void)verdict_line(run->verdict, found, result->lines[i],
                           sizeof result->lines[i]);
    }
    for (int i = 0; i < FAULT_VERBS; i++)
        result->faults[i] = nemesis_count(run->nemesis, (enum fault_verb)i);
    result->faults_skipped = nemesis_skipped(run->nemesis);
    result->work.messages =
        check_message_counts(workload_check(workload_world_of(run->load)));
    result->work.load = workload_counts(workload_world_of(run->load));
    result->work.remembered =
        check_remember_counts(workload_world_remember(run->load));
    if (run->data)
        result->work.data = data_load_counts(run->data);
    if (run->store)
        result->work.store = store_load_counts(run->store);
    result->is_dead =
        is_dead(&result->work.messages) &&
        !result->work.data.answers[SHERD_DATA_UPDATED] &&
        !result->work.store.answers[SHERD_STORE_WRITTEN];
}

static void run_phases(struct run *run)
{
    static const struct {
        const char *name;
        void (*run)(struct run *);
    } phases[] = { { "form", form },       { "split", split },
                   { "load", safety },     { "heal", heal },
                   { "agree", liveness },  { "drain", drain },
                   { "roll call", roll_call }, { "restart", restart } };

    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        if (is_over(run) || verdict_count(run->verdict))
            break;
        phases[i].run(run);
        if (run->settings->phase_ended)
            run->settings->phase_ended(run->settings->user, phases[i].name,
                                       world_now(run->world));
    }
}

static struct workload_settings load_settings(const struct options *options)
{
    const uint64_t *value = options->value;
    uint64_t clients = value[OPTION_CLIENTS] * value[OPTION_NODES];
    struct workload_settings load = {
        .ids = (uint32_t)value[OPTION_ENTITIES],
        .kept_ids = REMEMBERED,
        .skewed = value[OPTION_SKEWED],
        .clients = (uint32_t)value[OPTION_CLIENTS],
        .interval_ms = clients * 1000 / value[OPTION_LOAD] + 1,
        .ask_ms_max = (uint32_t)value[OPTION_ASK],
        .storm = (uint32_t)value[OPTION_STORM_SIZE],
        .shards = (uint32_t)value[OPTION_SHARDS],
        .mailbox_max = (uint32_t)value[OPTION_MAILBOX],
        .idle_ms = value[OPTION_IDLE],
        .slow_stop_ms = (uint32_t)value[OPTION_SLOW_STOP],
        .stubborn_ms = (uint32_t)value[OPTION_STUBBORN],
        .has_no_types = value[OPTION_NO_ENTITIES],
    };

    if (value[OPTION_REMEMBER])
        load.types = (1u << WORKLOAD_TYPE_COUNT) - 1;
    for (int i = 0; i < WORKLOAD_OP_COUNT; i++)
        if (value[OPTION_OPS] >> i & 1)
            load.weights[i] =
                i == WORKLOAD_STORM || i == WORKLOAD_NARROW ? 1 : 20;
    return load;
}

static struct data_load *data_of(const struct run *run)
{
    const uint64_t *value = run->options->value;
    uint32_t clients = value[OPTION_DATA] > 1 ? 2 : 1;
    const struct data_load_settings settings = {
        .slots = (uint32_t)value[OPTION_DATA_SLOTS],
        .clients = clients,
        .interval_ms =
            clients * value[OPTION_NODES] * 1000 / value[OPTION_DATA] + 1,
        .timeout_ms = value[OPTION_DATA_TIMEOUT],
        .levels = (uint32_t)value[OPTION_DATA_LEVELS],
        .in_step = value[OPTION_DATA_STEP],
        .is_durable = value[OPTION_DATA_DURABLE],
        .speaks_late = options_data_marker_s(run->options) <
                       option_default(OPTION_DATA_MARKER),
    };

    return data_load_new(run->world, &settings);
}

static struct store_load *store_of(const struct run *run)
{
    const uint64_t *value = run->options->value;
    const struct store_load_settings settings = {
        .slots = (uint32_t)value[OPTION_VERSIONS_KEYS],
        .interval_ms =
            2 * value[OPTION_NODES] * 1000 / value[OPTION_VERSIONS] + 1,
        .timeout_ms = value[OPTION_VERSIONS_TIMEOUT],
    };

    return store_load_new(run->world, &settings);
}

static void make_world(struct run *run)
{
    const uint64_t *value = run->options->value;
    struct world_settings settings = {
        .seed = run->options->seed,
        .link_min = value[OPTION_LINK_MIN] * 1000,
        .link_mean = link_mean(run->options),
        .mail_delay = value[OPTION_MAIL] * 1000,
        .store_delay = value[OPTION_STORE] * 1000,
        .pipe_size = (uint32_t)value[OPTION_PIPE],
        .give_up = value[OPTION_GIVE_UP] * SECOND,
        .stores = (uint32_t)value[OPTION_CENTERS], /* a journal is of one data center */
        .byte_mode = value[OPTION_BYTE_MODE],
    };
    struct workload_settings load = load_settings(run->options);

    run->world = world_new(&settings);
    run->verdict = world_verdict(run->world);
    run->load = workload_world_new(run->world, &load);
    if (options_remember_in_data(run->options))
        workload_world_in_data(run->load);
    if (value[OPTION_DATA])
        run->data = data_of(run);
    if (value[OPTION_VERSIONS])
        run->store = store_of(run);
    /* A downed node waits some of its leader's ticks for the others to hear of it. */
    run->checks = checks_new(run->world,
                             CHECK_STOP_NS + 5 * value[OPTION_LEADER] * MS);
    check_live_handoff_limit(run->checks->live,
                             (value[OPTION_HANDOFF] * 9 / 8 + LATE_MS) * MS);
    if (run->data)
        data_load_safety(run->data, &run->checks->safety,
                         run->checks->member);
    workload_world_safety(run->load, &run->checks->safety);
    if (run->store)
        check_message_others(workload_check(workload_world_of(run->load)));
    run->cluster.world = run->world;
    run->cluster.checks = run->checks;
    run->cluster.types = workload_types(workload_world_of(run->load),
                                        &run->cluster.type_count);
    run->cluster.settings = set_life;
    run->cluster.user = run;
    run->cluster.resolves = value[OPTION_RESOLVER] != 0;
    run->cluster.finds = value[OPTION_FOUND] != 0;
    run->cluster.centers = (uint32_t)value[OPTION_CENTERS];
    run->checks->centers = run->cluster.centers;
    cluster_init(&run->cluster);
    if (run->settings->looks_on)
        run->settings->looks_on(run->settings->user, run->world);
}

/* I26: a world that is gone keeps nothing. */
static void leaks(struct run_result *result, uint64_t before)
{
    uint64_t now = mem_live();
    char time[TIME_TEXT_MAX];

    if (now == before)
        return;
    if (result->violations < RUN_VIOLATIONS_MAX)
        (void)snprintf(result->lines[result->violations], VERDICT_LINE_MAX,
                       "FAIL seed=%llu inv=I26 t=%s : %lld allocations "
                       "are left when everything is freed",
                       (unsigned long long)result->seed,
                       time_text(result->ended_at, time, sizeof time),
                       (long long)(now - before));
    result->violations++;
}

void run_seed(const struct run_settings *settings, struct run_result *result)
{
    static const struct schedule nothing;
    uint64_t before = mem_live();
    struct run run;

    memset(&run, 0, sizeof run);
    memset(result, 0, sizeof *result);
    run.settings = settings;
    run.options = settings->options;
    run.result = result;
    run.cluster.nodes = (uint32_t)run.options->value[OPTION_NODES];
    run.rng = stream_rng(run.options->seed, STREAM_NEMESIS, HEAL_INDEX);
    run.raise_rng =
        stream_rng(run.options->seed, STREAM_NEMESIS, RAISE_INDEX);
    result->seed = run.options->seed;
    result->nodes = run.cluster.nodes;
    make_world(&run);
    run.nemesis = nemesis_new(run.world, &nothing, run.cluster.nodes,
                              &(struct nemesis_hands){ 0 });
    if (!settings->schedule)
        nemesis_draw(run.options, &run.drawn);
    run_phases(&run);
    finish(&run);
    if (settings->looks_back)
        settings->looks_back(settings->user, run.world);
    world_free(run.world);
    workload_world_free(run.load);
    data_load_free(run.data);
    store_load_free(run.store);
    checks_free(run.checks);
    nemesis_free(run.nemesis);
    schedule_fini(&run.drawn);
    cluster_fini(&run.cluster);
    leaks(result, before);
}
