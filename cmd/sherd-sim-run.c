/* Runs many seeds, each in its own process, several at a time, and adds up their results. The death
 * of a process is a failure of its seed, reported with the text of the failed check. */
#define _GNU_SOURCE
#include "sherd-sim.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim/run/child.h"
#include "sim/run/mark.h"
#include "sim/faults/nemesis.h"
#include "sim/run/report.h"

#define TWICE_EVERY 100 /* one seed in so many runs twice */
#define SEED_CPU_S 1200 /* a seed that exceeds this hangs, and is killed */
#define MARKS_SIZE (512 * 1024) /* bytes of one seed's marks as text */

/* One worker's memory, shared with the process that runs its seed. */
struct slot {
    pid_t process; /* 0: free */
    uint64_t seed;
    bool is_twice;
    bool is_done;      /* the child has filled in everything below */
    bool is_different; /* the second run had another digest */
    struct run_result result;
    struct last_words words;
    uint32_t marks_size;
    char marks[MARKS_SIZE];
};

struct campaign {
    const struct command *command;
    struct slot *slots;
    struct report report;
    struct buf failures; /* lines, with the command that repeats each */
    struct mark_list marks;
    uint64_t next, last;
    double begin;
    bool is_ending;
};

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- in the child ---- */

static void run_child(const struct command *command, struct slot *slot)
{
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .place = &slot->words.place };
    struct mark_list marks = { 0 };
    struct buf text = { 0 };

    stop_ignore();
    words_keep(&slot->words, SEED_CPU_S);
    if (!command_options(command, slot->seed, &options))
        _exit(EXIT_USAGE);
    run_seed(&settings, &slot->result);
    if (slot->is_twice) {
        uint64_t digest = slot->result.digest;

        run_seed(&settings, &slot->result);
        slot->is_different = slot->result.digest != digest;
    }
    mark_take(&marks);
    mark_write(&marks, &text);
    if (text.size <= MARKS_SIZE) {
        memcpy(slot->marks, text.data, text.size);
        slot->marks_size = (uint32_t)text.size;
    }
    slot->is_done = true;
    _exit(0);
}

/* ---- in the parent ---- */

static void start_seed(struct campaign *campaign, struct slot *slot)
{
    pid_t process;

    memset(slot, 0, offsetof(struct slot, marks));
    slot->seed = campaign->next++;
    slot->is_twice = slot->seed % TWICE_EVERY == 1;
    process = child_fork();
    if (!process)
        run_child(campaign->command, slot);
    slot->process = process;
    stop_worker((uint32_t)(slot - campaign->slots), process);
}

static void write_case(const struct command *command, const char *path,
                       uint64_t seed, const char *line)
{
    struct schedule schedule = { { 0 } };
    struct options options;

    if (command_options(command, seed, &options)) {
        nemesis_draw(&options, &schedule);
        (void)case_write(path, &options, &schedule,
                         line); /* only a convenience */
    }
    schedule_fini(&schedule);
}

/* The seed's first line names the saved case. */
static void fail(struct campaign *campaign, const struct command *command,
                 uint64_t seed, const char *line, bool is_first)
{
    char path[4096];

    print_failure(command, seed, line);
    if (!command->report)
        return;
    (void)snprintf(path, sizeof path, "%s/%llu.case", command->report,
                   (unsigned long long)seed);
    if (is_first)
        write_case(command, path, seed, line);
    buf_put_text(&campaign->failures, line);
    buf_put_text(&campaign->failures, " | ");
    case_put_replay(&campaign->failures, seed, path);
}

static void tell_failures(struct campaign *campaign, struct slot *slot,
                          int status)
{
    const struct command *command = campaign->command;
    const struct run_result *result = &slot->result;
    char line[VERDICT_LINE_MAX];
    bool is_first = true;

    for (uint32_t i = 0; i < result->violations && i < RUN_VIOLATIONS_MAX;
         i++, is_first = false)
        fail(campaign, command, slot->seed, result->lines[i], is_first);
    if (!slot->is_done) {
        words_line(&slot->words, slot->seed, status, line, sizeof line);
        fail(campaign, command, slot->seed, line, is_first);
    }
    if (slot->is_different) {
        struct command twice = *command;

        twice.twice = true; /* a single run shows nothing */
        different_line(result, line, sizeof line);
        fail(campaign, &twice, slot->seed, line, is_first);
    }
    if (command->fails_fast)
        campaign->is_ending = true;
}

static void take_result(struct campaign *campaign, struct slot *slot,
                        int status, const struct rusage *usage)
{
    double cpu = (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
                 (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) /
                     1e6;
    bool is_ended = stop_signal() && !slot->is_done && WIFSIGNALED(status) &&
                    WTERMSIG(status) == SIGKILL;
    bool is_bad = slot->result.violations || slot->is_different ||
                  (!slot->is_done && !is_ended);

    slot->process = 0;
    stop_worker((uint32_t)(slot - campaign->slots), 0);
    if (is_ended && !is_bad)
        return; /* nothing is known of its seed */
    slot->is_done |= is_ended; /* a signal to sherd-sim ended it */
    slot->result.seed = slot->seed;
    report_add(&campaign->report, &slot->result, cpu, is_bad,
               slot->is_twice ? slot->is_different ? 2 : 1 : 0);
    if (slot->marks_size)
        (void)mark_merge(&campaign->marks,
                         slice_of(slot->marks, slot->marks_size));
    if (is_bad)
        tell_failures(campaign, slot, status);
    if (isatty(2))
        (void)fprintf(stderr, "\r%llu seeds, %llu failed ",
                      (unsigned long long)campaign->report.seeds,
                      (unsigned long long)campaign->report.failed);
}

/* False if there is none. */
static bool wait_one(struct campaign *campaign)
{
    struct rusage usage;
    int status;
    pid_t process = wait4(-1, &status, 0, &usage);

    if (process < 0)
        return errno == EINTR;
    for (uint32_t i = 0; i < campaign->command->jobs; i++)
        if (campaign->slots[i].process == process)
            take_result(campaign, &campaign->slots[i], status, &usage);
    return true;
}

static void run_all(struct campaign *campaign)
{
    const struct command *command = campaign->command;
    double limit = command->time_limit ? (double)command->time_limit : 1e18;

    for (bool busy = true; busy;) {
        busy = false;
        for (uint32_t i = 0; i < command->jobs; i++) {
            bool is_late = seconds() - campaign->begin >= limit;

            if (!campaign->slots[i].process && !campaign->is_ending &&
                !is_late && !stop_signal() && campaign->next <= campaign->last)
                start_seed(campaign, &campaign->slots[i]);
            busy |= campaign->slots[i].process != 0;
        }
        busy = busy && wait_one(campaign);
    }
}

/* False: reported. */
static bool write_report(const struct command *command, const char *name,
                         const struct buf *text)
{
    char path[4096];
    FILE *file;
    bool good;

    (void)snprintf(path, sizeof path, "%s/%s", command->report, name);
    file = fopen(path, "w");
    good = file && (!text->size || fwrite(text->data, 1, text->size, file) ==
                                       text->size);
    if (file && fclose(file) != 0)
        good = false;
    if (!good)
        (void)fprintf(stderr, "sherd-sim: %s: %s\n", path, strerror(errno));
    return good;
}

/* Checks that reports can be written before the seeds run, and removes those of an earlier run.
 * False: reported. */
static bool report_begins(const struct command *command)
{
    const struct buf nothing = { 0 };

    if (mkdir(command->report, 0777) && errno != EEXIST) {
        (void)usage_error("%s: %s", command->report, strerror(errno));
        return false;
    }
    return write_report(command, "report.txt", &nothing) &&
           write_report(command, "marks.txt", &nothing) &&
           write_report(command, "cells.txt", &nothing);
}

/* False: a report cannot be written, which was reported. */
static bool print_report(struct campaign *campaign)
{
    struct buf text = { 0 }, marks = { 0 }, cells = { 0 };
    char build[BUILD_TEXT_MAX];
    bool good = true;

    campaign->report.wall_s = seconds() - campaign->begin;
    campaign->report.build = build_text(build, sizeof build);
    campaign->report.marks = campaign->marks.marks.count;
    for (uint32_t i = 0; i < campaign->marks.marks.count; i++)
        campaign->report.marks_reached +=
            campaign->marks.marks.items[i].count > 0;
    report_put(&campaign->report, &text);
    if (stop_signal())
        buf_put_text(&text, "stopped   by a signal: without the seeds that ran then, and later ones\n");
    if (isatty(2))
        (void)fputs("\r                              \r", stderr);
    printf("%.*s", (int)text.size, (const char *)text.data);
    if (campaign->command->report) {
        mark_write(&campaign->marks, &marks);
        buf_put_slice(&text, buf_slice(&campaign->failures));
        good = write_report(campaign->command, "report.txt", &text);
        good &= write_report(campaign->command, "marks.txt", &marks);
        cells_put(&campaign->report.cells, "# ", &cells);
        cells_write(&campaign->report.cells, &cells);
        good &= write_report(campaign->command, "cells.txt", &cells);
    }
    printf("%llu passed, %llu failed\n",
           (unsigned long long)(campaign->report.seeds -
                                campaign->report.failed),
           (unsigned long long)campaign->report.failed);
    buf_fini(&text);
    buf_fini(&marks);
    buf_fini(&cells);
    return good;
}

int command_run(const struct command *command)
{
    struct campaign campaign = { .command = command };
    size_t size = command->jobs * sizeof *campaign.slots;
    struct options probe;
    bool good;

    if (!command->has_seeds && !command->time_limit)
        return usage_error("run needs --seeds or --time");
    if (!command_options(command, 1, &probe))
        return EXIT_USAGE;
    if (command->report && !report_begins(command))
        return EXIT_USAGE;
    campaign.next = command->has_seeds ? command->seed_first : 1;
    campaign.last = command->has_seeds ? command->seed_last : UINT64_MAX;
    campaign.report.first_seed = campaign.next;
    campaign.begin = seconds();
    campaign.slots = shared_new(size);
    stop_watch();
    run_all(&campaign);
    good = print_report(&campaign);
    shared_free(campaign.slots, size);
    buf_fini(&campaign.failures);
    mark_fini(&campaign.marks);
    if (stop_signal() && !campaign.report.failed)
        return 128 + stop_signal();
    return campaign.report.failed ? 1 : good ? 0 : EXIT_USAGE;
}
