/* Lets time pass: faults happen, ended nodes are restarted, counters are sampled. */
#include "sim/run/run_inside.h"

#include <string.h>

#include "base/check.h"
#include "sim/check/check_convergence.h"
#include "sim/check/checks.h"
#include "sim/world/heap.h"
#include "sim/faults/nemesis.h"
#include "sim/workload/workload_data.h"
#include "sim/workload/workload_follow.h"
#include "sim/workload/workload_world.h"
#include "sim/world/world.h"

#define SAMPLE (5 * SECOND) /* between two samples of the nodes' counters */
#define LOOK (500 * MS) /* between two checks of a condition */
#define ALONE (60 * SECOND) /* time without a live member until the operator acts */
#define RAISE_ODDS 8 /* one in so many at each look: after 40 s on average */

static void sample_store(struct run *run)
{
    char text[VERDICT_TEXT_MAX];

    if (run->store)
        kvstore_load_sample(run->store,
                          quiet_converged(run->world, &run->differed, text,
                                          sizeof text));
}

bool run_is_over(const struct run *run)
{
    uint64_t until = run->settings->until;

    return (until && world_now(run->world) >= until) ||
           run->result->event_at ||
           (run->settings->stops_at_violation && verdict_count(run->verdict));
}

void run_pass(struct run *run, uint64_t time)
{
    uint64_t until = run->settings->until;

    if (until && until < world_now(run->world) + time)
        time = until > world_now(run->world) ? until - world_now(run->world) : 0;
    if (time)
        world_run(run->world, time);
}

static bool has_member(const struct run *run)
{
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (cluster_lives(&run->cluster, i) && world_node(run->world, i)->is_up)
            return true;
    return false;
}

/* When all members have ended, joining nodes would wait forever. The operator restarts them, and
 * the first founds a cluster. */
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
    run->has_begun_again = true;
    lived = mem_alloc(run->cluster.nodes * sizeof *lived);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        lived[i] = cluster_lives(&run->cluster, i);
    (void)cluster_crash_outsiders(&run->cluster);
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (lived[i])
            cluster_start(&run->cluster, i);
    mem_free(lived);
}

static bool is_raised(const struct run *run, const struct world_node *place)
{
    if (place->node || !place->has_ended)
        return false;
    return place->error == SHERD_EJOIN ||
           (place->error == SHERD_EDOWN && run->cluster.resolves &&
            (run->has_operator ||
             run->options->value[OPTION_RESOLVER] == RESOLVER_QUORUM ||
             run->options->value[OPTION_RESOLVER] == RESOLVER_ALL));
}

/* Restarts nodes that were downed or found no cluster, like a supervisor. Nodes that may end
 * because another one dies are restarted until no node dies any more. */
static void raise_ended(struct run *run)
{
    for (uint32_t i = 0; i < run->cluster.nodes; i++)
        if (is_raised(run, world_node(run->world, i)) &&
            rng_below(&run->raise_rng, RAISE_ODDS) == 0)
            cluster_start(&run->cluster, i);
}

static void look_at_growth(struct run *run)
{
    if (run->settings->looks)
        run->settings->looks(run->settings->user, run->world);
    if (run->growth.length)
        growth_look(&run->growth, world_now(run->world), mem_live(),
                    heap_used());
}

void run_until(struct run *run, uint64_t end)
{
    if (run->settings->until && end > run->settings->until)
        end = run->settings->until;
    while (world_now(run->world) < end && !run_is_over(run)) {
        uint64_t next = world_now(run->world) + SAMPLE;

        if (nemesis_deadline(run->nemesis) < next)
            next = nemesis_deadline(run->nemesis);
        if (next > end)
            next = end;
        if (next > world_now(run->world))
            world_run(run->world, next - world_now(run->world));
        nemesis_step(run->nemesis);
        begin_again(run);
        raise_ended(run);
        workload_world_sample(run->load);
        if (run->data)
            data_load_sample(run->data);
        sample_store(run);
        if (run->follow)
            follow_load_sample(run->follow);
        checks_look(run->checks);
        checks_look_at_homes(run->checks);
        look_at_growth(run);
    }
}

bool run_is_converged(struct run *run, char *text, size_t size)
{
    return quiet_converged(run->world, &run->differed, text, size);
}

bool run_is_coordinated(struct run *run, char *text, size_t size)
{
    return quiet_coordinated(run->world, run->checks->live,
                             run->cluster.centers, text, size);
}

void run_waited(struct run *run, const char *rule, uint64_t since,
                uint64_t bound)
{
    static const char *const names[RUN_WAITS] = {
#define X(id, name) [RUN_WAIT_##id] = (name),
        RUN_WAIT_LIST(X)
#undef X
    };
    uint64_t ns = world_now(run->world) - since;

    for (int i = 0; i < RUN_WAITS; i++) {
        struct run_wait *wait = &run->result->waits[i];

        if (strcmp(names[i], rule) != 0)
            continue;
        wait->times++;
        wait->ns += ns;
        if (wait->ns_max < ns)
            wait->ns_max = ns;
        if (wait->percent_max < ns * 100 / bound)
            wait->percent_max = ns * 100 / bound;
    }
}

bool run_until_holds(struct run *run, run_condition *holds, const char *rule,
                     uint64_t bound, const char *wanted)
{
    uint64_t since = world_now(run->world), end = since + bound;
    char text[VERDICT_TEXT_MAX] = "";
    char time[TIME_TEXT_MAX];

    while (!holds(run, text, sizeof text)) {
        if (run_is_over(run))
            return false;
        if (world_now(run->world) >= end) {
            violation(run->verdict, rule, VERDICT_NO_NODE, "%s within %s: %s",
                      wanted, time_text(bound, time, sizeof time), text);
            return false;
        }
        run_until(run, world_now(run->world) + LOOK);
    }
    run_waited(run, rule, since, bound);
    return true;
}
