/* A node of this library for the interop tests: does what lines on its standard input say and tells what it sees in lines on its
 * standard output, in the same words as the JVM's program (jvm/src/sherd/interop/Node.java).
 *
 *   interop_node NAME KEY=VALUE...    the cluster's name, and settings as they stand below `akka` in a configuration
 *
 * Commands: status, join A, leave, down A. Lines that come by themselves: event ..., log LEVEL MODULE: TEXT, ended CODE. The end of
 * the input ends the process at once. */
#include <sherd/sherd.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_EACH 50 /* ms between two looks at the membership */
#define CONFIG_MAX 4096

static const char *const status_names[] = {
    [SHERD_JOINING] = "Joining", [SHERD_UP] = "Up",
    [SHERD_LEAVING] = "Leaving", [SHERD_EXITING] = "Exiting",
    [SHERD_DOWN] = "Down",       [SHERD_REMOVED] = "Removed",
    [SHERD_WEAKLY_UP] = "WeaklyUp",
};

static void write_log(void *user, int level, const char *module,
                      const char *line)
{
    static const char *const names[] = { "", "ERROR", "WARNING", "INFO",
                                         "DEBUG" };

    (void)user;
    printf("log %s %s: %s\n", names[level], module, line);
}

/* ---- the membership ---- */

static const struct sherd_member *find(const struct sherd_status *status,
                                       const struct sherd_member *like)
{
    for (uint32_t i = 0; i < status->member_count; i++)
        if (status->members[i].uid == like->uid &&
            !strcmp(status->members[i].address, like->address))
            return &status->members[i];
    return NULL;
}

/* What has become different since the last look. */
static void print_events(const struct sherd_status *before,
                         const struct sherd_status *after)
{
    for (uint32_t i = 0; i < after->member_count; i++) {
        const struct sherd_member *member = &after->members[i];
        const struct sherd_member *old = find(before, member);

        if (!old || old->status != member->status)
            printf("event Member%s %s %" PRId64 "\n",
                   status_names[member->status], member->address,
                   (int64_t)member->uid);
        if (old ? old->reachable != member->reachable : !member->reachable)
            printf("event %sMember %s %" PRId64 "\n",
                   member->reachable ? "Reachable" : "Unreachable",
                   member->address, (int64_t)member->uid);
    }
    for (uint32_t i = 0; i < before->member_count; i++)
        if (!find(after, &before->members[i]))
            printf("event MemberRemoved %s %" PRId64 "\n",
                   before->members[i].address,
                   (int64_t)before->members[i].uid);
}

static void print_status(const char *self, const struct sherd_status *status)
{
    printf("status self %s members", self);
    for (uint32_t i = 0; i < status->member_count; i++)
        printf(" %s/%s/%d/%" PRId64, status->members[i].address,
               status_names[status->members[i].status],
               status->members[i].reachable, (int64_t)status->members[i].uid);
    printf("\n");
}

/* ---- commands ---- */

struct node {
    struct sherd_system *system;
    char self[64];
    struct sherd_status seen; /* at the last look */
};

/* Nonzero: the node has ended. */
static int look(struct node *node)
{
    struct sherd_status status = { .members = NULL };
    int error = sherd_get_status(node->system, &status);

    if (error == SHERD_ESTATE)
        return error;
    if (error) { /* the time ran out: the next look will do */
        printf("log WARNING node: no status: %s\n", sherd_strerror(error));
        return 0;
    }
    print_events(&node->seen, &status);
    sherd_status_free(&node->seen);
    node->seen = status;
    return 0;
}

static void run_command(struct node *node, const char *line)
{
    char address[128];
    int error = 0;

    if (sscanf(line, "join %127s", address) == 1)
        error = sherd_join(node->system, address);
    else if (sscanf(line, "down %127s", address) == 1)
        error = sherd_down(node->system, address);
    else if (!strcmp(line, "leave\n"))
        sherd_leave(node->system);
    else if (!strcmp(line, "status\n"))
        print_status(node->self, &node->seen);
    else
        printf("unknown command: %s", line);
    if (error)
        printf("error %s\n", sherd_strerror(error));
}

/* Until the node or the input ends. */
static void run_commands(struct node *node)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char line[1024];

    setvbuf(stdin, NULL, _IONBF, 0); /* no line is hidden from poll */
    while (!look(node)) {
        if (poll(&input, 1, LOOK_EACH) == 0)
            continue;
        if (!fgets(line, sizeof line, stdin)) {
            sherd_halt(node->system);
            return;
        }
        if (!look(node))
            run_command(node, line);
    }
}

int main(int argc, char **argv)
{
    char config[CONFIG_MAX] = "";
    struct sherd_options options = { .config_text = config,
                                     .log = write_log };
    struct node node = { .system = NULL };
    size_t used = 0;
    int error;

    for (int i = 2; i < argc && used < sizeof config; i++)
        used += (size_t)snprintf(config + used, sizeof config - used,
                                 "akka.%s\n", argv[i]);
    if (argc < 2 || used >= sizeof config) {
        fprintf(stderr, "usage: interop_node NAME KEY=VALUE...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    options.name = argv[1];
    error = sherd_open(&node.system, &options);
    if (!error) {
        snprintf(node.self, sizeof node.self, "127.0.0.1:%u",
                 sherd_port(node.system));
        error = sherd_start(node.system);
    }
    if (!error) {
        run_commands(&node);
        error = sherd_wait(node.system);
    }
    printf("ended %d %s\n", error, error ? sherd_strerror(error) : "");
    sherd_status_free(&node.seen);
    sherd_close(node.system);
    return error != 0;
}
