/* Adds up results and prints lines of figures. */
#include "sim/run/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/timers.h"

#define HOUR_S 3600.0

char *number_text(uint64_t number, char *text, size_t size)
{
    char digits[24];
    size_t count = (size_t)snprintf(digits, sizeof digits, "%llu",
                                    (unsigned long long)number);
    size_t used = 0;

    for (size_t i = 0; i < count && used + 2 < size; i++) {
        if (i && (count - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = 0;
    return text;
}

static void add_wait(struct run_wait *sum, const struct run_wait *more)
{
    sum->times += more->times;
    sum->ns += more->ns;
    if (sum->ns_max < more->ns_max)
        sum->ns_max = more->ns_max;
    if (sum->percent_max < more->percent_max)
        sum->percent_max = more->percent_max;
}

void report_add(struct report *report, const struct run_result *result,
                double cpu_s, bool is_bad, int twice)
{
    bool is_dead = result->is_dead && !is_bad; /* a seed is passed, dead or failed */

    report->seeds++;
    report->failed += is_bad;
    if (is_dead && report->dead < REPORT_DEAD_MAX)
        report->dead_seeds[report->dead] = result->seed;
    report->dead += is_dead;
    report->doubled += twice > 0;
    report->different += twice == 2;
    report->cpu_s += cpu_s;
    report->simulated_s +=
        (double)result->ended_at / (double)SECOND * (twice ? 2 : 1);
    report->events += result->events;
    report->lives += result->lives;
    report->outsiders += result->outsiders;
    report->homes += result->homes;
    report->left += result->is_left;
    report->gentle += result->is_gentle;
    report->still += result->is_still;
    report->silent += result->is_silent;
    for (int i = 0; i < FAULT_VERBS; i++) {
        report->faults[i] += result->faults[i];
        report->effects[i].faults += result->effects[i].faults;
        report->effects[i].harm += result->effects[i].harm;
    }
    cells_add(&report->cells, result->cells);
    for (int i = 0; i < RUN_WAITS; i++)
        add_wait(&report->waits[i], &result->waits[i]);
    report->faults_skipped += result->faults_skipped;
    run_work_add(&report->work, &result->work);
    if (result->seed > report->last_seed)
        report->last_seed = result->seed;
    if (cpu_s > report->slowest_s) {
        report->slowest_s = cpu_s;
        report->slowest_seed = result->seed;
    }
}

static void put(struct buf *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct buf *text, const char *format, ...)
{
    char part[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(part, sizeof part, format, arguments); /* cut at size */
    va_end(arguments);
    buf_put_text(text, part);
}

static void put_count(struct buf *text, const char *name, uint64_t number)
{
    char digits[NUMBER_TEXT_MAX];

    put(text, "  %s %s", name, number_text(number, digits, sizeof digits));
}

static void put_faults(const struct report *report, struct buf *text)
{
    uint32_t line = 0;

    buf_put_text(text, "faults  ");
    for (int i = 0; i < FAULT_VERBS; i++) {
        if (!report->faults[i])
            continue;
        if (line++ % 8 == 7)
            buf_put_text(text, "\n        ");
        put_count(text, fault_verb_name((enum fault_verb)i),
                  report->faults[i]);
    }
    put_count(text, "skipped", report->faults_skipped);
    buf_put_text(text, "\n");
}

/* Prints for each kind how many faults had an effect, and its amount. A kind without effect in
 * every seed gets its own line. */
static void put_effects(const struct report *report, struct buf *text)
{
    char digits[NUMBER_TEXT_MAX];

    for (int i = 0; i < FAULT_VERBS; i++) {
        const struct nemesis_effect *effect = &report->effects[i];
        enum fault_verb verb = (enum fault_verb)i;

        if (report->faults[i])
            put(text, "effect    %s  %llu of %llu  %s %s\n",
                fault_verb_name(verb), (unsigned long long)effect->faults,
                (unsigned long long)report->faults[i],
                number_text(effect->harm, digits, sizeof digits),
                nemesis_effect_text(verb));
    }
    for (int i = 0; i < FAULT_VERBS; i++)
        if (report->faults[i] && !report->effects[i].faults)
            put(text, "void      %s\n", fault_verb_name((enum fault_verb)i));
}

/* Names dead seeds, which show little, so that the reason can be found. */
static void put_dead(const struct report *report, struct buf *text)
{
    if (!report->dead)
        return;
    buf_put_text(text, "dead    ");
    for (uint64_t i = 0; i < report->dead && i < REPORT_DEAD_MAX; i++)
        put(text, "  %llu", (unsigned long long)report->dead_seeds[i]);
    buf_put_text(text, report->dead > REPORT_DEAD_MAX ? "  ...\n" : "\n");
}

/* Prints checks that do not apply to every seed, with the reason. */
static void put_judged(const struct report *report, struct buf *text)
{
    char digits[NUMBER_TEXT_MAX];

    put(text, "judged    moves without loss %llu; other seeds had faults or time-outs that may lose messages\n",
        (unsigned long long)report->gentle);
    put(text, "          the resolver alone %llu; in other seeds an operator downs dead nodes\n",
        (unsigned long long)report->left);
    put(text, "          silence %llu, of shards only %llu more: there links are slower than the detectors tolerate\n",
        (unsigned long long)report->silent,
        (unsigned long long)(report->still - report->silent));
    put(text, "          homes requested in the quiet phase %s\n",
        number_text(report->homes, digits, sizeof digits));
}

/* Prints the times beside their bounds. A bound that no run comes near would hide a slowdown. */
static void put_waits(const struct report *report, struct buf *text)
{
    static const char *const what[RUN_WAITS] = {
        [RUN_WAIT_MEMBER_CONVERGENCE] = "member-convergence: members agree",
        [RUN_WAIT_HOMES_AVAILABLE] = "homes-available: all know the coordinator and the homes",
        [RUN_WAIT_HOMES] = "homes-available: a requested home in the quiet phase",
        [RUN_WAIT_ENTITIES_ANSWER] = "entities-answer: every asked entity answers",
        [RUN_WAIT_QUIET_CLUSTER_RESTS] = "quiet-cluster-rests: no shard moves",
        [RUN_WAIT_REMEMBERED_ENTITIES] = "remembered-entities: they run",
        [RUN_WAIT_REPLICA_CONVERGENCE] = "replica-convergence: replicas are equal",
        [RUN_WAIT_NO_LOST_UPDATE] = "no-lost-update: durable keys after the restart",
    };

    for (int i = 0; i < RUN_WAITS; i++) {
        const struct run_wait *wait = &report->waits[i];

        if (wait->times)
            put(text, "waited    %s  %.1f s on average, %.1f s at most, %llu %% of its bound at most\n",
                what[i],
                (double)wait->ns / (double)wait->times / (double)SECOND,
                (double)wait->ns_max / (double)SECOND,
                (unsigned long long)wait->percent_max);
    }
}

void report_put(const struct report *report, struct buf *text)
{
    char digits[NUMBER_TEXT_MAX];

    if (report->build)
        put(text, "build     %s\n", report->build);
    put(text, "seeds     %llu..%llu, %s run  cpu %.1f s  wall %.1f s\n",
        (unsigned long long)report->first_seed,
        (unsigned long long)report->last_seed,
        number_text(report->seeds, digits, sizeof digits), report->cpu_s,
        report->wall_s);
    put(text, "sim time  %.2f cluster-hours  %.2f for each cpu second",
        report->simulated_s / HOUR_S,
        report->cpu_s > 0 ? report->simulated_s / HOUR_S / report->cpu_s : 0);
    put_count(text, "events", report->events);
    put_count(text, "incarnations of nodes", report->lives);
    put_count(text, "outside the cluster after the faults", report->outsiders);
    buf_put_text(text, "\n");
    put_faults(report, text);
    put_effects(report, text);
    run_work_put(&report->work, text);
    put(text, "verdict   pass %llu  dead %llu  FAIL %llu\n",
        (unsigned long long)(report->seeds - report->failed - report->dead),
        (unsigned long long)report->dead, (unsigned long long)report->failed);
    put_dead(report, text);
    put_judged(report, text);
    put_waits(report, text);
    if (report->marks)
        put(text, "cover     %u of %u marks reached\n", report->marks_reached,
            report->marks);
    put(text, "cells     %u of %u of fault and state met, %u of them struck\n",
        cells_met(&report->cells), (unsigned)CELLS,
        cells_struck(&report->cells));
    put(text, "twice     %llu of %llu double runs equal\n",
        (unsigned long long)(report->doubled - report->different),
        (unsigned long long)report->doubled);
    if (report->seeds)
        put(text, "slowest   seed %llu  %.1f s\n",
            (unsigned long long)report->slowest_seed, report->slowest_s);
}
