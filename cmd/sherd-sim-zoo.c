/* The honesty of the simulator itself: does it see known bugs (zoo), and what has it never reached (cover)? */
#define _GNU_SOURCE
#include "sherd-sim.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "sim/mark.h"
#include "sim/zoo_hunt.h"

#define ZOO_SEEDS_MAX 2000
#define ZOO_SEED_S 120 /* of the wall clock: a seed that takes longer hangs */
#define ZOO_NODES_MAX 6
#define ZOO_LENGTH_S 240
#define KIND_SETS_MAX 8
#define COVER_SEEDS 100
#define COVER_FILE_MAX (16u * 1024 * 1024)

/* Each seed of the hunt is of one of these kinds, in turn. */
struct kind {
    enum sim_mode mode;
    const char *sets[KIND_SETS_MAX];
};

static const struct kind kinds[] = {
    { MODE_SWARM, { NULL } },
    { MODE_HANDOFF, { NULL } },
    /* who is thought dead may live */
    { MODE_CHURN, { "zombies=1", "fault_pause=3" } },
    { MODE_STORAGE, { NULL } },
    /* connections break in the middle of frames */
    { MODE_SWARM,
      { "load=30", "pipe_bytes=4096", "fault_reset=3", "fault_clog=3" } },
    /* the oldest leave, one soon after the other, and come back at once */
    { MODE_HANDOFF, { "fault_leave_oldest=10", "fault_leave=1" } },
    /* nodes that are well are downed */
    { MODE_CHURN, { "zombies=1", "fault_down=5" } },
    /* and others do not read, or take no connection, meanwhile */
    { MODE_HANDOFF,
      { "zombies=1", "fault_down=5", "fault_pause=3", "fault_black_hole=1" } },
    /* entities that do not stop */
    { MODE_HANDOFF,
      { "stubborn_ms=100000", "handoff_timeout_ms=10000",
        "shutdown_region_timeout_ms=10000" } },
    /* moves under load, and nothing else: none may cost a message */
    { MODE_HANDOFF,
      { "load=20", "stubborn_ms=0", "handoff_timeout_ms=120000",
        "shutdown_region_timeout_ms=120000", "store_us=1000" } },
};

#define KINDS (sizeof kinds / sizeof *kinds)

/* What a seed of the hunt is unless the command says otherwise: a small cluster, short, many faults and little load. */
static struct command hunted(const struct command *command, uint64_t seed)
{
    const struct kind *kind = &kinds[seed % KINDS];
    struct command own = *command;

    memset(&own.sets, 0, sizeof own.sets); /* a list of its own: the caller frees it */
    vec_push(&own.sets, "faults_per_hour=300");
    vec_push(&own.sets, "load=5");
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

/* "FAIL seed=7 inv=I11 t=... : text" */
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

static bool run_one(void *arg, uint64_t seed, struct hunt_finding *finding)
{
    struct command own = hunted(arg, seed);
    struct options options;
    struct run_settings settings = { .options = &options,
                                     .stops_at_violation = true };
    struct run_result result;

    if (!command_options(&own, seed, &options))
        check_failed(__FILE__, __LINE__, "options that were read before");
    vec_fini(&own.sets);
    run_seed(&settings, &result);
    if (result.violations)
        find(result.lines[0], finding);
    return result.violations > 0;
}

static struct hunt_options hunt_options_of(const struct command *command,
                                           uint64_t seeds_max)
{
    struct hunt_options options = { .run = run_one,
                                    .arg = (void *)(uintptr_t)command,
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

static bool hunt_one(const struct command *command, enum zoo_mutant mutant)
{
    struct hunt_options options = hunt_options_of(
        command, command->seeds_max ? command->seeds_max : ZOO_SEEDS_MAX);
    const struct zoo_entry *entry = zoo_entry(mutant);
    struct hunt_result result;

    hunt(&options, mutant, &result);
    printf("%-5s %-12s %-9s %6llu seeds %9.1f cpu s  %-6s (%s)\n",
           entry->name, entry->row, result.is_found ? "found" : "NOT FOUND",
           (unsigned long long)result.seeds, (double)result.cpu_us / 1e6,
           result.finding.invariant, entry->invariant);
    if (result.hung || result.spoiled || !result.is_found)
        printf("      %llu passed its place, %llu took too long, %llu fail "
               "without it\n",
               (unsigned long long)result.met,
               (unsigned long long)result.hung,
               (unsigned long long)result.spoiled);
    if (result.is_found) {
        struct command own = hunted(command, result.seed);

        printf("      seed %llu %s\n", (unsigned long long)result.seed,
               result.finding.text);
        own.mutant = entry->name;
        print_replay(&own, result.seed);
        vec_fini(&own.sets);
    }
    return result.is_found;
}

/* names: "A2,B4" */
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

/* The marks of a report. False: told. */
static bool read_marks(const char *folder, struct mark_list *marks)
{
    struct buf text = { 0 };
    char path[4096];
    size_t size;
    FILE *file;
    bool good;

    (void)snprintf(path, sizeof path, "%s/marks.txt", folder);
    file = fopen(path, "rb");
    if (!file) {
        (void)usage_error("%s cannot be read", path);
        return false;
    }
    do {
        size = fread(buf_reserve(&text, 65536), 1, 65536, file);
        text.size += size;
    } while (size > 0 && text.size < COVER_FILE_MAX);
    (void)fclose(file); /* only read */
    good = mark_merge(marks, buf_slice(&text));
    if (!good)
        (void)usage_error("%s has a line that is no mark", path);
    buf_fini(&text);
    return good;
}

int command_cover(const struct command *command)
{
    struct hunt_options options = hunt_options_of(command, COVER_SEEDS);
    struct mark_list marks = { 0 };
    struct options probe;
    uint32_t reached = 0;
    uint64_t bad = 0;

    if (!command_options(command, 1, &probe))
        return EXIT_USAGE;
    mark_take(&marks);
    for (int i = 0; i < command->word_count; i++)
        if (!read_marks(command->words[i], &marks))
            return EXIT_USAGE;
    if (!command->word_count)
        bad = hunt_marks(&options, &marks);
    for (uint32_t i = 0; i < marks.marks.count; i++)
        reached += marks.marks.items[i].count > 0;
    for (uint32_t i = 0; i < marks.marks.count; i++) {
        const struct mark_total *mark = &marks.marks.items[i];

        if (!mark->count)
            printf("never  %s:%u  %s\n", mark->file, mark->line, mark->text);
    }
    if (bad)
        printf("%llu seeds did not end well\n", (unsigned long long)bad);
    printf("%u of %u marks reached, %u never\n", reached, marks.marks.count,
           marks.marks.count - reached);
    mark_fini(&marks);
    return 0;
}
