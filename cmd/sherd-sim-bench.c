/* Measures how much simulated time fits into a second of processor time: production code, all
 * checkers, light load, no faults. A world has entities of four types and default options, except
 * those that its mode sets. */
#define _GNU_SOURCE
#include "sherd-sim.h"
#include "sherd-sim-steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "sim/run/child.h"
#include "sim/world/world.h"

#define NS_PER_S 1e9

static double cpu_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* cannot fail */
    return (double)now.tv_sec + (double)now.tv_nsec / NS_PER_S;
}

/* Returns the simulated s of the phase with load, less for large worlds. */
static uint64_t default_length(uint64_t nodes)
{
    return nodes <= 10 ? 3600 : nodes <= 100 ? 600 : 60;
}

/* Measures each phase, because phases differ much. */
struct meter {
    uint64_t nodes;
    uint64_t at; /* ns of the world */
    double cpu;
    struct steps *steps; /* may be null */
};

static void look_at_steps(void *user, struct world *world)
{
    struct meter *meter = user;

    steps_observe(meter->steps, world);
}

static void phase_ended(void *user, const char *phase, uint64_t now)
{
    struct meter *meter = user;
    double cpu = cpu_seconds();
    double simulated = (double)(now - meter->at) / NS_PER_S;
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage); /* cannot fail */
    printf("%5llu nodes  %-7s  %8.1f s in %7.2f cpu s  %8.1f times real time  "
           "%ld MiB\n",
           (unsigned long long)meter->nodes, phase, simulated,
           cpu - meter->cpu, simulated / (cpu - meter->cpu),
           usage.ru_maxrss / 1024);
    if (meter->steps)
        steps_phase_ended(meter->steps, phase);
    (void)fflush(stdout);
    meter->at = now;
    meter->cpu = cpu;
}

static uint64_t calls(const struct data_load_counts *data)
{
    return data->ops[DATA_OP_UPDATE] + data->ops[DATA_OP_READ] +
           data->ops[DATA_OP_DELETE];
}

static int bench(const struct command *command, uint64_t nodes, uint64_t seed)
{
    static const struct schedule nothing;
    struct options options;
    struct meter meter = { .nodes = nodes,
                           .steps = command->taken };
    struct run_settings settings = { .options = &options,
                                     .schedule = &nothing,
                                     .user = &meter,
                                     .phase_ended = phase_ended };
    struct run_result result;
    struct rusage usage;
    char error[160];
    double cpu, simulated;

    options_default(&options, seed);
    options.value[OPTION_NODES] = nodes;
    options.value[OPTION_LENGTH] = command->wish.length_max_s
                                       ? command->wish.length_max_s
                                       : default_length(nodes);
    options_insist(&options, command->wish.mode);
    for (uint32_t i = 0; i < command->sets.count; i++)
        if (!options_set(&options, command->sets.items[i], error,
                         sizeof error))
            return usage_error("--set %s", error);
    if (meter.steps) {
        settings.looks_on = look_at_steps;
        steps_begin(meter.steps);
    }
    cpu = meter.cpu = cpu_seconds();
    run_seed(&settings, &result);
    cpu = cpu_seconds() - cpu;
    simulated = (double)result.ended_at / NS_PER_S;
    (void)getrusage(RUSAGE_SELF, &usage); /* cannot fail */
    printf("%5llu nodes  %8.1f s in %7.2f cpu s  %8.1f times real time  "
           "%7.3f cluster-hours per cpu second  %ld MiB  messages %llu  "
           "calls of data %llu\n",
           (unsigned long long)options.value[OPTION_NODES], simulated, cpu,
           simulated / cpu, simulated / 3600 / cpu, usage.ru_maxrss / 1024,
           (unsigned long long)result.work.messages.delivered,
           (unsigned long long)calls(&result.work.data));
    for (uint32_t i = 0; i < result.violations && i < RUN_VIOLATIONS_MAX;
         i++)
        printf("%s\n", result.lines[i]);
    return result.violations ? 1 : 0;
}

int run_apart(measure_size *measure, const struct command *command,
              uint64_t nodes, uint64_t seed)
{
    pid_t process;
    int status;

    process = child_fork();
    if (!process) {
        _exit(output_status(measure(command, nodes, seed)));
    }
    check(waitpid(process, &status, 0) == process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

uint64_t next_size(const char **text)
{
    char *end;
    unsigned long nodes;

    if (!**text)
        return 0;
    nodes = strtoul(*text, &end, 10);
    if (end == *text || (*end && *end != ',') || nodes > OPTIONS_NODES_MAX) {
        *text = NULL;
        return 0;
    }
    *text = *end ? end + 1 : end;
    if (!nodes)
        *text = NULL;
    return nodes;
}

bool sizes_good(const char *sizes)
{
    const char *text = sizes;

    while (next_size(&text))
        ;
    if (!text)
        (void)usage_error("--nodes %s: expected numbers of nodes such as 5,50,1000",
                          sizes);
    return text != NULL;
}

/* Each process runs the same world, so the steps are equal. */
static int bench_steps(const struct command *command, uint64_t nodes)
{
    struct command own = *command;
    int worst = 0;

    own.taken = steps_new();
    check(own.taken);
    for (uint32_t i = 0; i < STEPS_RUNS; i++) {
        int status = run_apart(bench, &own, nodes, 1);

        worst = status > worst ? status : worst;
    }
    steps_print(own.taken);
    steps_free(own.taken);
    return worst;
}

int command_bench(const struct command *command)
{
    const char *text = command->sizes ? command->sizes : "5,50,1000";
    int worst = 0;

    if (!sizes_good(text))
        return EXIT_USAGE;
    for (uint64_t nodes; (nodes = next_size(&text)) != 0;) {
        int status = command->steps ? bench_steps(command, nodes)
                                    : run_apart(bench, command, nodes, 1);

        worst = status > worst ? status : worst;
    }
    return worst;
}
