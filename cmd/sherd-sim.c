/* Reads the command line of sherd-sim and runs its commands. */
#define _GNU_SOURCE
#include "sherd-sim.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timers.h"
#include "sim/faults/nemesis.h"
#include "sim/zoo/zoo.h"

enum command_bit {
    ON_RUN = 1,
    ON_REPLAY = 2,
    ON_SHRINK = 4,
    ON_BENCH = 8,
    ON_ZOO = 16,
    ON_COVER = 32,
    ON_SCALE = 64,
};

#define ON_MANY (ON_RUN | ON_ZOO | ON_COVER)
#define ON_SEEDS (ON_MANY | ON_REPLAY | ON_SHRINK)
#define ANY_WORDS (-1)
#define SEED_LAST_MAX (UINT64_MAX - 1) /* the number after the last seed must exist */

static const struct {
    const char *name;
    enum command_bit bit;
    int (*act)(const struct command *command);
    int words; /* number of its arguments */
    const char *usage;
    const char *help;
} commands[] = {
    { "run", ON_RUN, command_run, 0, "run [options]",
      "runs many seeds and lists those that break a rule" },
    { "replay", ON_REPLAY, command_replay, 1, "replay SEED [options]",
      "repeats one seed, with log lines and states" },
    { "shrink", ON_SHRINK, command_shrink, 1, "shrink SEED [options]",
      "searches for a smaller run that breaks the same rule" },
    { "zoo", ON_ZOO, command_zoo, 0, "zoo [options]",
      "switches on known bugs, one by one, and searches for them" },
    { "cover", ON_COVER, command_cover, ANY_WORDS, "cover [DIR...] [options]",
      "lists what no run has reached, in reports or in seeds run now" },
    { "bench", ON_BENCH, command_bench, 0, "bench [options]",
      "measures simulated hours for each second of processor time" },
    { "scale", ON_SCALE, command_scale, 0, "scale [options]",
      "measures time and bytes of membership for growing clusters" },
};

#define COMMANDS (sizeof commands / sizeof *commands)

/* ---- values ---- */

int usage_error(const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    (void)fputs("sherd-sim: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputs("; sherd-sim --help tells more\n", stderr);
    return EXIT_USAGE;
}

static bool parse_number(const char *text, const char **end, uint64_t *number)
{
    char *after;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &after, 10);
    *end = after;
    return errno == 0;
}

bool parse_seed(const char *text, uint64_t *seed)
{
    const char *end;

    return parse_number(text, &end, seed) && !*end;
}

static bool parse_whole(const char *text, uint64_t least, uint64_t most,
                        uint64_t *number)
{
    const char *end;

    return parse_number(text, &end, number) && !*end && *number >= least &&
           *number <= most;
}

/* "3..60", or "5" for 5..5. */
static bool parse_range(const char *text, uint64_t *low, uint64_t *high)
{
    const char *end;

    if (!parse_number(text, &end, low))
        return false;
    *high = *low;
    if (!*end)
        return true;
    return !strncmp(end, "..", 2) && parse_number(end + 2, &end, high) &&
           !*end && *low <= *high;
}

static bool parse_seconds(const char *text, uint64_t *seconds)
{
    uint64_t ns;

    if (!time_parse(slice_text(text), &ns))
        return false;
    *seconds = (ns + SECOND - 1) / SECOND;
    return ns > 0;
}

/* ---- the table of options ---- */

static bool set_seeds(struct command *command, const char *text)
{
    const char *end;

    command->has_seeds = true;
    if (!strstr(text, "..")) { /* a number of seeds, from 1 */
        command->seed_first = 1;
        return parse_number(text, &end, &command->seed_last) && !*end &&
               command->seed_last > 0 && command->seed_last <= SEED_LAST_MAX;
    }
    return parse_range(text, &command->seed_first, &command->seed_last) &&
           command->seed_last <= SEED_LAST_MAX;
}

static bool set_time(struct command *command, const char *text)
{
    return parse_seconds(text, &command->time_limit);
}

static bool set_jobs(struct command *command, const char *text)
{
    uint64_t jobs;

    if (!parse_whole(text, 1, JOBS_MAX, &jobs))
        return false;
    command->jobs = (uint32_t)jobs;
    return true;
}

static bool set_mode(struct command *command, const char *text)
{
    return mode_parse(text, &command->wish.mode);
}

/* Sets one number or a range, or a list for bench and scale. */
static bool set_nodes(struct command *command, const char *text)
{
    command->sizes = text;
    if (strchr(text, ','))
        return true;
    return parse_range(text, &command->wish.nodes_min,
                       &command->wish.nodes_max) &&
           command->wish.nodes_min > 0 &&
           command->wish.nodes_max <= OPTIONS_NODES_MAX;
}

static bool set_length(struct command *command, const char *text)
{
    const char *dots = strstr(text, "..");
    char first[TIME_TEXT_MAX];
    struct options_wish *wish = &command->wish;

    if (!dots) {
        if (!parse_seconds(text, &wish->length_min_s))
            return false;
        wish->length_max_s = wish->length_min_s;
        return true;
    }
    if ((size_t)(dots - text) >= sizeof first)
        return false;
    (void)snprintf(first, sizeof first, "%.*s", (int)(dots - text), text);
    return parse_seconds(first, &wish->length_min_s) &&
           parse_seconds(dots + 2, &wish->length_max_s) &&
           wish->length_min_s <= wish->length_max_s;
}

static bool set_report(struct command *command, const char *text)
{
    command->report = text;
    return *text != 0;
}

static bool set_fail_fast(struct command *command, const char *text)
{
    (void)text;
    command->fails_fast = true;
    return true;
}

static bool set_until(struct command *command, const char *text)
{
    if (strncmp(text, "event=", 6) == 0) {
        command->until = 0;
        return parse_seed(text + 6, &command->until_event) &&
               command->until_event > 0;
    }
    command->until_event = 0;
    return time_parse(slice_text(text), &command->until) && command->until > 0;
}

static bool set_log(struct command *command, const char *text)
{
    command->log = text;
    return true;
}

static bool set_dump(struct command *command, const char *text)
{
    command->dump = text;
    return true;
}

static bool set_steps(struct command *command, const char *text)
{
    (void)text; /* unused */
    command->steps = true;
    return true;
}

static bool set_twice(struct command *command, const char *text)
{
    (void)text;
    command->twice = true;
    return true;
}

static bool set_schedule(struct command *command, const char *text)
{
    command->schedule = text;
    return *text != 0;
}

static bool set_set(struct command *command, const char *text)
{
    vec_push(&command->sets, text);
    return true;
}

static bool set_budget(struct command *command, const char *text)
{
    return parse_seconds(text, &command->budget);
}

static bool set_out(struct command *command, const char *text)
{
    command->out = text;
    return *text != 0;
}

static bool set_mutant(struct command *command, const char *text)
{
    command->mutant = text;
    while (*text) {
        size_t size = strcspn(text, ",");
        char name[64];

        (void)snprintf(name, sizeof name, "%.*s", (int)size, text);
        if (size >= sizeof name || zoo_find(name) == ZOO_NONE)
            return false;
        text += size + (text[size] == ',');
    }
    return *command->mutant != 0;
}

static bool set_seeds_max(struct command *command, const char *text)
{
    return parse_whole(text, 1, SEED_LAST_MAX, &command->seeds_max);
}

static const struct {
    const char *name;
    char letter; /* or 0 */
    uint32_t on; /* commands, as bits */
    const char *argument; /* null: none */
    bool (*set)(struct command *command, const char *text);
    const char *help;
} settings[] = {
    { "seeds", 0, ON_MANY | ON_SCALE, "A..B|N", set_seeds,
      "these seeds, or the first N; default: until --time is over" },
    { "time", 0, ON_RUN, "TIME", set_time,
      "starts no seed after this time, such as 240s" },
    { "jobs", 'j', ON_MANY, "N", set_jobs, "number of seeds that run at a time" },
    { "report", 0, ON_RUN, "DIR", set_report,
      "writes report, failing schedules and marks to this folder" },
    { "fail-fast", 0, ON_RUN, NULL, set_fail_fast,
      "stops at the first seed that fails" },
    { "mode", 0, ON_SEEDS | ON_BENCH, "MODE", set_mode,
      "swarm, lite, churn, handoff, storage, scale, sbr, centers, data, store or member" },
    { "nodes", 0, ON_SEEDS | ON_BENCH | ON_SCALE, "A..B|N", set_nodes,
      "nodes of a run; bench, scale: several numbers, such as 5,50,1000" },
    { "length", 0, ON_SEEDS | ON_BENCH, "A..B|TIME", set_length,
      "simulated time of the phase with faults, such as 2m..20m" },
    { "set", 0, ON_SEEDS | ON_BENCH, "NAME=VALUE", set_set,
      "sets one option of the run; replay prints them all" },
    { "until", 0, ON_REPLAY, "TIME|event=N", set_until,
      "ends at this simulated time, or at this event" },
    { "log", 0, ON_REPLAY, "SPEC", set_log,
      "prints log lines: node=N,level=debug,from=TIME, all optional" },
    { "dump", 0, ON_REPLAY, "node=N", set_dump,
      "prints the state of a node, or of all, at the end" },
    { "steps", 0, ON_BENCH, NULL, set_steps,
      "runs three times, and reports the longest steps of machines" },
    { "twice", 0, ON_REPLAY, NULL, set_twice,
      "runs it twice and compares the digests" },
    { "schedule", 0, ON_REPLAY | ON_SHRINK, "FILE", set_schedule,
      "uses these faults instead of the seed's" },
    { "budget", 0, ON_SHRINK, "TIME", set_budget,
      "searches for this time; default 300s" },
    { "out", 'o', ON_REPLAY | ON_SHRINK, "FILE", set_out,
      "writes the schedule to this file" },
    { "mutant", 0, ON_ZOO | ON_RUN | ON_REPLAY | ON_SHRINK, "NAME", set_mutant,
      "switches on this bug; zoo: only these, separated by commas" },
    { "max-seeds", 0, ON_ZOO, "N", set_seeds_max,
      "gives up on a bug after N seeds; default 2000" },
};

#define SETTINGS (sizeof settings / sizeof *settings)

static void help(void)
{
    printf("usage:\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  sherd-sim %-24s %s\n", commands[i].usage, commands[i].help);
    printf("\n");
    for (size_t i = 0; i < SETTINGS; i++) {
        const char *argument = settings[i].argument ? settings[i].argument : "";
        char name[48], letter[24] = "", on[72] = "";

        if (settings[i].letter) /* each of these has an argument */
            (void)snprintf(letter, sizeof letter, ", -%c %s",
                           settings[i].letter, argument);
        (void)snprintf(name, sizeof name, "--%s%s%s%s", settings[i].name,
                       *argument ? " " : "", argument, letter);
        for (size_t j = 0; j < COMMANDS; j++) {
            if (!(settings[i].on & commands[j].bit))
                continue;
            (void)strcat(on, *on ? "," : "");
            (void)strcat(on, commands[j].name); /* at most eight words of six letters */
        }
        printf("  %-22s %s (%s)\n", name, settings[i].help, on);
    }
    printf("\nExit status: 0, 1 if a rule was broken, 2 if an option is "
           "wrong. See man sherd-sim\n");
}

/* ---- shared by commands ---- */

bool command_options(const struct command *command, uint64_t seed,
                     struct options *options)
{
    char error[160];

    options_draw(options, seed, &command->wish);
    for (uint32_t i = 0; i < command->sets.count; i++) {
        if (!options_set(options, command->sets.items[i], error,
                         sizeof error)) {
            (void)usage_error("--set %s", error);
            return false;
        }
    }
    return true;
}

static void print_argument(const char *option, const char *value)
{
    struct buf text = { 0 };

    put_word(&text, value);
    printf(" %s %.*s", option, (int)text.size, (const char *)text.data);
    buf_fini(&text);
}

void print_replay(const struct command *command, uint64_t seed)
{
    const struct options_wish *wish = &command->wish;

    printf("sherd-sim replay %llu", (unsigned long long)seed);
    if (wish->mode != MODE_SWARM)
        printf(" --mode %s", mode_name(wish->mode));
    if (wish->nodes_max)
        printf(" --nodes %llu..%llu", (unsigned long long)wish->nodes_min,
               (unsigned long long)wish->nodes_max);
    if (wish->length_max_s)
        printf(" --length %llus..%llus",
               (unsigned long long)wish->length_min_s,
               (unsigned long long)wish->length_max_s);
    for (uint32_t i = 0; i < command->sets.count; i++)
        print_argument("--set", command->sets.items[i]);
    if (command->schedule)
        print_argument("--schedule", command->schedule);
    if (command->mutant)
        print_argument("--mutant", command->mutant);
    if (command->twice)
        printf(" --twice");
    printf("\n");
}

void print_failure(const struct command *command, uint64_t seed,
                   const char *line)
{
    printf("%s | ", line);
    print_replay(command, seed);
}

void print_violations(const struct command *command,
                      const struct run_result *result)
{
    for (uint32_t i = 0; i < result->violations && i < RUN_VIOLATIONS_MAX;
         i++)
        print_failure(command, result->seed, result->lines[i]);
}

int read_case(const struct command *command, struct options *options,
              struct schedule *schedule)
{
    uint64_t seed;

    if (!parse_seed(command->words[0], &seed))
        return usage_error("%s is not a seed: give a number", command->words[0]);
    if (!command_options(command, seed, options))
        return EXIT_USAGE;
    if (command->schedule)
        return case_read(command->schedule, options, schedule) ? 0
                                                               : EXIT_USAGE;
    nemesis_draw(options, schedule);
    return 0;
}

int output_status(int status)
{
    if (!fflush(stdout) && !ferror(stdout))
        return status;
    (void)fputs("sherd-sim: standard output cannot be written\n", stderr);
    return status ? status : EXIT_USAGE;
}

/* ---- the command line ---- */

/* Appends the limits of a number or time. */
static void put_limits(const char *name, const char *argument, struct buf *text)
{
    char limits[80] = "";

    if (!strcmp(name, "jobs"))
        (void)snprintf(limits, sizeof limits, ", 1 to %d", JOBS_MAX);
    else if (!strcmp(name, "nodes"))
        (void)snprintf(limits, sizeof limits, ", 1 to %d", OPTIONS_NODES_MAX);
    else if (strstr(argument, "TIME"))
        (void)snprintf(limits, sizeof limits,
                       ", more than 0, at most 720h, as %s",
                       *argument == 'T' ? "240s" : "2m..20m");
    buf_put_text(text, limits);
}

/* Reports a wrong value of an option, with all valid values if they are a list. */
static int value_error(size_t option, const char *value)
{
    const char *argument = settings[option].argument;
    struct buf text = { 0 };
    int status;

    buf_put_text(&text, argument);
    if (!strcmp(argument, "MODE")) {
        buf_put_text(&text, ": ");
        buf_put_text(&text, settings[option].help);
    } else if (!strcmp(argument, "NAME")) {
        for (int i = ZOO_NONE + 1; i < ZOO_COUNT; i++) {
            buf_put_text(&text, i == ZOO_NONE + 1 ? ": " : ", ");
            buf_put_text(&text, zoo_entry((enum zoo_mutant)i)->name);
        }
    } else {
        put_limits(settings[option].name, argument, &text);
    }
    status = usage_error("--%s %s: expected %.*s", settings[option].name,
                         value, (int)text.size, (const char *)text.data);
    buf_fini(&text);
    return status;
}

/* Returns 0, or an exit status. */
static int read_options(int argc, char **argv, size_t which,
                        struct command *command)
{
    struct option table[SETTINGS + 1];
    char letters[2 * SETTINGS + 2] = ":";
    int found;

    memset(table, 0, sizeof table);
    for (size_t i = 0; i < SETTINGS; i++) {
        char letter[3] = { settings[i].letter, ':', 0 };

        table[i] = (struct option){ settings[i].name,
                                    settings[i].argument ? required_argument
                                                         : no_argument,
                                    NULL, 256 + (int)i };
        if (*letter)
            (void)strcat(letters, letter); /* two bytes each */
    }
    opterr = 0;
    while ((found = getopt_long(argc, argv, letters, table, NULL)) != -1) {
        size_t i = 0;

        if (found == ':')
            return usage_error("%s needs a value", argv[optind - 1]);
        if (found == '?')
            return usage_error("unknown option %s", argv[optind - 1]);
        while (found < 256 ? settings[i].letter != found
                           : i != (size_t)found - 256)
            i++;
        if (!(settings[i].on & commands[which].bit))
            return usage_error("--%s is not for %s", settings[i].name,
                               commands[which].name);
        if (!settings[i].set(command, optarg ? optarg : ""))
            return value_error(i, optarg ? optarg : "");
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct command command = { .jobs = 1, .budget = 300 };
    size_t which = 0;
    int status;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2)
        return usage_error("no command given");
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
        !strcmp(argv[1], "help")) {
        help();
        return output_status(0);
    }
    while (which < COMMANDS && strcmp(argv[1], commands[which].name) != 0)
        which++;
    if (which == COMMANDS)
        return usage_error("unknown command %s", argv[1]);
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            help();
            return output_status(0);
        }
    }
    status = read_options(argc - 1, argv + 1, which, &command);
    command.words = (const char *const *)argv + 1 + optind;
    command.word_count = argc - 1 - optind;
    if (!status && commands[which].words != ANY_WORDS &&
        command.word_count != commands[which].words)
        status = usage_error("usage: sherd-sim %s", commands[which].usage);
    if (!status && !(commands[which].bit & (ON_BENCH | ON_SCALE)) &&
        command.sizes &&
        strchr(command.sizes, ','))
        status = usage_error("--nodes %s: expected A..B|N", command.sizes);
    if (!status && command.mutant &&
        commands[which].bit & (ON_RUN | ON_REPLAY | ON_SHRINK))
        zoo_choose(zoo_find(command.mutant));
    if (!status && command.mutant && zoo_find(command.mutant) == ZOO_NONE &&
        commands[which].bit != ON_ZOO)
        status = usage_error("--mutant: give one name; sherd-sim zoo takes all");
    if (!status)
        status = commands[which].act(&command);
    vec_fini(&command.sets);
    return output_status(status);
}
