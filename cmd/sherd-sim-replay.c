/* Repeats one seed, and prints its options, schedule, log lines and the nodes' status. */
#include "sherd-sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/run/child.h"
#include "sim/world/world.h"

#define NODE_ALL UINT32_MAX

struct looks {
    struct world *world;
    bool logs, dumps;
    uint32_t log_node, dump_node;
    enum trace_level level;
    uint64_t from;
};

static bool take_node(const char *text, uint32_t *node)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end ||
        number >= OPTIONS_NODES_MAX)
        return false;
    *node = (uint32_t)number;
    return true;
}

static bool take_level(const char *text, enum trace_level *level)
{
    int known = trace_level_of(text);

    if (known < TRACE_ERROR)
        return false;
    *level = (enum trace_level)known;
    return true;
}

/* Reads "node=3,level=debug,from=10m", with each part at most once; "all" means everything. */
static bool read_log(const char *text, struct looks *looks)
{
    char part[64];

    looks->logs = true;
    if (!strcmp(text, "all"))
        return true;
    while (*text) {
        size_t size = strcspn(text, ",");

        if (size >= sizeof part)
            return false;
        memcpy(part, text, size);
        part[size] = 0;
        text += size + (text[size] == ',');
        if (!strncmp(part, "node=", 5) ? !take_node(part + 5, &looks->log_node)
            : !strncmp(part, "level=", 6)
                ? !take_level(part + 6, &looks->level)
                : strncmp(part, "from=", 5) != 0 ||
                      !time_parse(slice_text(part + 5), &looks->from))
            return false;
    }
    return true;
}

static void print_line(void *user, uint32_t node,
                       const struct trace_line *line)
{
    struct looks *looks = user;
    char time[TIME_TEXT_MAX];

    if ((looks->log_node != NODE_ALL && looks->log_node != node) ||
        line->level > looks->level || world_now(looks->world) < looks->from)
        return;
    printf("%14s n%u %s: %s\n",
           time_text(world_now(looks->world), time, sizeof time), node,
           line->module, line->text);
}

static void look_on(void *user, struct world *world)
{
    struct looks *looks = user;
    const struct world_observer observer = { .user = looks,
                                             .line = print_line };

    looks->world = world;
    if (looks->logs)
        world_observe(world, &observer);
}

static void print_node(struct world *world, uint32_t node)
{
    static const char *const names[] = { "joining", "up",      "leaving",
                                         "exiting", "down",    "removed",
                                         "weakly up" };
    const struct world_node *place = world_node(world, node);
    struct sherd_status status;

    printf("node %u: life %u, %s%s\n", node, place->life,
           place->node ? place->is_up ? "up" : "not up" : "dead",
           place->is_paused ? ", paused" : "");
    if (!place->node)
        return;
    status = world_status(world, node);
    for (uint32_t i = 0; i < status.member_count; i++)
        printf("  member %s uid %016llx %s%s\n", status.members[i].address,
               (unsigned long long)status.members[i].uid,
               names[status.members[i].status],
               status.members[i].reachable ? "" : ", unreachable");
    for (uint32_t i = 0; i < status.type_count; i++)
        printf("  type %s: coordinator %s, %u shards, %llu entities, %llu "
               "messages wait\n",
               status.types[i].name,
               *status.types[i].coordinator ? status.types[i].coordinator
                                            : "unknown",
               status.types[i].shards_here,
               (unsigned long long)status.types[i].entities_here,
               (unsigned long long)status.types[i].waiting);
    world_status_fini(&status);
}

static void look_back(void *user, struct world *world)
{
    const struct looks *looks = user;

    for (uint32_t i = 0; looks->dumps && i < world_node_count(world); i++)
        if (looks->dump_node == NODE_ALL || looks->dump_node == i)
            print_node(world, i);
}

/* Whether the run has that node; reports it otherwise. */
static bool has_node(const char *option, uint32_t node, uint64_t nodes)
{
    if (node == NODE_ALL || node < nodes)
        return true;
    (void)usage_error("%s node=%u: the run has nodes 0 to %llu", option, node,
                      (unsigned long long)nodes - 1);
    return false;
}

static bool read_looks(const struct command *command, uint64_t nodes,
                       struct looks *looks)
{
    looks->log_node = looks->dump_node = NODE_ALL;
    looks->level = TRACE_INFO;
    if (command->log && !read_log(command->log, looks)) {
        (void)usage_error("--log %s: expected all, or "
                          "node=N,level=LEVEL,from=TIME",
                          command->log);
        return false;
    }
    looks->dumps = command->dump != NULL;
    if (command->dump && strcmp(command->dump, "all") != 0 &&
        (strncmp(command->dump, "node=", 5) != 0 ||
         !take_node(command->dump + 5, &looks->dump_node))) {
        (void)usage_error("--dump %s: expected all, or node=N",
                          command->dump);
        return false;
    }
    return has_node("--log", looks->log_node, nodes) &&
           has_node("--dump", looks->dump_node, nodes);
}

static void print_beginning(const struct options *options)
{
    struct buf text = { 0 };

    options_put(options, &text);
    printf("%.*s\n", (int)text.size, (const char *)text.data);
    buf_fini(&text);
}

static void print_end(const struct command *command,
                      const struct run_result *result)
{
    const char *starved = run_work_starved(&result->work);
    char time[TIME_TEXT_MAX];
    struct buf text = { 0 };

    run_work_put(&result->work, &text);
    printf("%.*s", (int)text.size, (const char *)text.data);
    buf_fini(&text);
    print_violations(command, result);
    printf("seed %llu ended %sat %s, digest %016llx%s%s\n",
           (unsigned long long)result->seed, result->is_early ? "early, " : "",
           time_text(result->ended_at, time, sizeof time),
           (unsigned long long)result->digest,
           starved ? ", dead: " : "", starved ? starved : "");
}

/* Shared with the process that repeats the seed. */
struct repeated {
    struct last_words words;
    struct run_result result;
};

/* Returns the time of an event, from a run that ends after it; 0: it does not happen. */
static uint64_t time_of_event(const struct command *command,
                              const struct options *options,
                              const struct schedule *schedule,
                              struct repeated *repeated)
{
    const struct run_settings settings = { .options = options,
                                           .schedule = schedule,
                                           .until_event =
                                               command->until_event,
                                           .place = &repeated->words.place };
    struct run_result result;

    run_seed(&settings, &result);
    if (!result.event_at)
        (void)usage_error("--until event=%llu: the run has %llu events",
                          (unsigned long long)command->until_event,
                          (unsigned long long)result.events);
    return result.event_at;
}

static int replay(const struct command *command, const struct options *options,
                  const struct schedule *schedule, struct looks *looks,
                  struct repeated *repeated)
{
    struct run_settings settings = { .options = options,
                                     .schedule = schedule,
                                     .until = command->until,
                                     .looks_on = look_on,
                                     .looks_back = look_back,
                                     .user = looks,
                                     .place = &repeated->words.place };
    struct run_result *result = &repeated->result;
    struct run_result again;
    char line[VERDICT_LINE_MAX];

    if (command->until_event &&
        !(settings.until = time_of_event(command, options, schedule, repeated)))
        return EXIT_USAGE;
    settings.is_verbose = looks->level == TRACE_DEBUG;
    print_beginning(options);
    run_seed(&settings, result);
    print_end(command, result);
    if (command->twice) {
        settings.looks_on = NULL;
        settings.looks_back = NULL;
        run_seed(&settings, &again);
        if (again.digest != result->digest) {
            different_line(&again, line, sizeof line);
            print_failure(command, again.seed, line);
            result->violations++;
        } else {
            printf("twice: both runs have the digest %016llx\n",
                   (unsigned long long)again.digest);
        }
    }
    printf("%d passed, %d failed\n",
           !result->violations && !result->is_early, result->violations != 0);
    return result->violations ? 1 : 0;
}

/* Prints nodes and counts before the event that ended the run's process. They come from another
 * run, whose process may die in the same way if it passes that time. */
static void print_before(const struct options *options,
                         const struct schedule *schedule, struct looks *looks,
                         uint64_t died_at)
{
    struct run_settings settings = { .options = options,
                                     .schedule = schedule,
                                     .until = died_at - 1,
                                     .looks_back = look_back,
                                     .user = looks };
    struct repeated *before = shared_new(sizeof *before);
    struct buf text = { 0 };
    pid_t process;
    int status;

    (void)fflush(stdout);
    process = child_fork();
    if (!process) {
        words_keep(&before->words, 0);
        run_seed(&settings, &before->result);
        run_work_put(&before->result.work, &text);
        printf("%.*s", (int)text.size, (const char *)text.data);
        buf_fini(&text);
        _exit(output_status(0));
    }
    check(waitpid(process, &status, 0) == process);
    if (!WIFEXITED(status))
        printf("the state before is unknown: a run that ends before it dies, too\n");
    shared_free(before, sizeof *before);
}

/* Runs in a process of its own, so that its death can be reported. */
static int replay_apart(const struct command *command,
                        const struct options *options,
                        const struct schedule *schedule, struct looks *looks)
{
    struct repeated *repeated = shared_new(sizeof *repeated);
    char line[VERDICT_LINE_MAX];
    pid_t process = child_fork();
    int status;

    if (!process) {
        words_keep(&repeated->words, 0);
        _exit(output_status(
            replay(command, options, schedule, looks, repeated)));
    }
    check(waitpid(process, &status, 0) == process);
    if (!WIFEXITED(status)) {
        if (repeated->words.place.now)
            print_before(options, schedule, looks, repeated->words.place.now);
        print_violations(command, &repeated->result);
        words_line(&repeated->words, options->seed, status, line, sizeof line);
        print_failure(command, options->seed, line);
        printf("0 passed, 1 failed\n");
    }
    shared_free(repeated, sizeof *repeated);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int command_replay(const struct command *command)
{
    struct schedule schedule = { { 0 } };
    struct looks looks = { 0 };
    struct options options;
    int status = read_case(command, &options, &schedule);

    if (status)
        return status;
    if (!read_looks(command, options.value[OPTION_NODES], &looks))
        status = EXIT_USAGE;
    if (!status && command->out && !case_write(command->out, &options, &schedule, ""))
        status = EXIT_USAGE;
    if (!status)
        status = replay_apart(command, &options, &schedule, &looks);
    schedule_fini(&schedule);
    return status;
}
