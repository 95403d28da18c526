/* Measures how long a cluster of real processes takes to start.
 *
 * usage: start NODES [CONFIG]
 *
 * Each process has one node on loopback with one entity type. The first founds the cluster; then
 * all others start at once and have it as their seed node. CONFIG is the text of a configuration
 * for all nodes.
 *
 * Prints "name value" lines: all_up_s, the time from the start of the first node until every node
 * sees all up; and cpu_s, the processor time of all processes until their end. */
#define _GNU_SOURCE
#include "systems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODES_MAX 500
#define LOOK_US 50000 /* between two status reads; each asks all threads of a node */
#define PATIENCE_US 120000000

/* Two pipes: nodes write to `said`; the first process closes `end` to end all nodes. */
struct pipes {
    int said[2];
    int end[2];
};

static void open_pipe(int ends[2])
{
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(1);
    }
}

static int sees_all(struct sherd_system *system, uint32_t wanted)
{
    struct sherd_status status;
    uint32_t up = 0;
    int error = sherd_get_status(system, &status);

    if (error)
        bench_fail("no status", error);
    for (uint32_t i = 0; i < status.member_count; i++)
        up += status.members[i].status == SHERD_UP &&
              status.members[i].reachable;
    sherd_status_free(&status);
    return up >= wanted;
}

static void say(const struct pipes *pipes, uint16_t port)
{
    if (write(pipes->said[1], &port, sizeof port) != sizeof port)
        _exit(1);
}

/* Runs a node. The first node writes its port when it has started. Every node writes its port when
 * it sees all up. */
static void be_node(const struct pipes *pipes, uint16_t seed, uint32_t nodes,
                    const char *config)
{
    struct sherd_system *system = bench_open_node(seed, 0, config, 0, 0);
    char byte;

    if (!seed)
        say(pipes, sherd_port(system));
    for (uint32_t us = 0; !sees_all(system, nodes); us += LOOK_US) {
        if (us > PATIENCE_US)
            _exit(1);
        usleep(LOOK_US);
    }
    say(pipes, sherd_port(system));
    while (read(pipes->end[0], &byte, 1) > 0)
        ;
    _exit(0); /* all nodes end at once, without leaving */
}

static pid_t start_node(const struct pipes *pipes, uint16_t seed,
                        uint32_t nodes, const char *config)
{
    pid_t process = fork();

    if (process == 0) {
        close(pipes->said[0]);
        close(pipes->end[1]);
        be_node(pipes, seed, nodes, config);
    }
    if (process < 0) {
        perror("fork");
        exit(1);
    }
    return process;
}

static uint16_t hear(const struct pipes *pipes)
{
    uint16_t port = 0;

    if (read(pipes->said[0], &port, sizeof port) != sizeof port) {
        fprintf(stderr, "bench: a node ended, or did not see all nodes up in time\n");
        exit(1);
    }
    return port;
}

int main(int argc, char **argv)
{
    unsigned long nodes = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    const char *config = argc > 2 ? argv[2] : NULL;
    struct rusage used;
    struct pipes pipes;
    uint64_t began;
    uint16_t seed;

    if (nodes < 2 || nodes > NODES_MAX || argc > 3) {
        int help = argc > 1 && !strcmp(argv[1], "--help");

        fprintf(help ? stdout : stderr, "usage: start NODES [CONFIG]\n");
        return help ? 0 : 2;
    }
    open_pipe(pipes.said);
    open_pipe(pipes.end);
    began = bench_now_ns();
    (void)start_node(&pipes, 0, (uint32_t)nodes, config); /* the child ends with this process */
    seed = hear(&pipes);
    for (unsigned long i = 1; i < nodes; i++)
        (void)start_node(&pipes, seed, (uint32_t)nodes, config);
    close(pipes.said[1]);
    for (unsigned long i = 0; i < nodes; i++)
        (void)hear(&pipes);
    printf("all_up_s %.3f\n", (double)(bench_now_ns() - began) / 1e9);
    close(pipes.end[1]);
    for (unsigned long i = 0; i < nodes; i++)
        (void)wait(NULL); /* the children end, because their pipe is closed */
    (void)getrusage(RUSAGE_CHILDREN, &used); /* cannot fail */
    printf("cpu_s %.3f\n",
           (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    return 0;
}
