/* Runs one measurement of one limit program. Prints "name value" lines, as ../cluster.c does.
 *
 * usage: limits split MESSAGES | fan MESSAGES | pipe 0|1 ENTITIES MESSAGES |
 * create ENTITIES | tell ENTITIES WINDOW MESSAGES | ask 0|1 ASKS |
 * burst TRIPS | gossip NODES SHARE SEEDS | swim 0|1 NODES SEED SLOW
 * BLOCKED_MS RUNNING_MS MINUTES still|cut (1: with Lifeguard's health) */
#define _GNU_SOURCE
#include "limits.h"
#include "../slow.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void pin(void)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

/* Prints the medians over the seeds. */
static int by_size(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static void gossip(uint32_t nodes, double share, uint32_t seeds)
{
    double *first = calloc(seeds, sizeof *first);
    double *all = calloc(seeds, sizeof *all);

    for (uint32_t i = 0; i < seeds; i++)
        limit_gossip(nodes, i + 1, share, &first[i], &all[i]);
    qsort(first, seeds, sizeof *first, by_size);
    qsort(all, seeds, sizeof *all, by_size);
    printf("change_first %.3f\nchange_all %.3f\n", first[seeds / 2],
           all[seeds / 2]);
    free(first);
    free(all);
}

/* words: has_health, nodes, seed, and the words of SLOW_USAGE. */
static bool swim(char **words)
{
    struct slow slow;
    struct doubts doubts;
    uint64_t length;

    if (number(words[1]) < 2 || number(words[1]) > 5000 ||
        !slow_read(&slow, (uint32_t)number(words[1]), words + 3, &length))
        return false;
    doubts_open(&doubts, &slow);
    limit_swim(&slow, number(words[2]), atoi(words[0]), length, &doubts);
    doubts_print(&doubts);
    doubts_close(&doubts);
    return true;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    double p50, p99;

    if (strcmp(what, "split") == 0 && argc == 3) {
        printf("rate %.4f\n", limit_split(number(argv[2])));
    } else if (strcmp(what, "fan") == 0 && argc == 3) {
        printf("rate %.4f\n", limit_fan_in_two(number(argv[2])));
    } else if (strcmp(what, "burst") == 0 && argc == 3) {
        printf("burst_ms %.4f\n", limit_wire_burst((uint32_t)number(argv[2])));
    } else if (strcmp(what, "pipe") == 0 && argc == 5) {
        pin();
        printf("cpu_rate %.4f\n",
               limit_pipe(atoi(argv[2]), (uint32_t)number(argv[3]),
                          number(argv[4])));
    } else if (strcmp(what, "create") == 0 && argc == 3) {
        pin();
        printf("cpu_rate %.4f\n",
               limit_entity_create((uint32_t)number(argv[2])));
    } else if (strcmp(what, "tell") == 0 && argc == 5) {
        printf("rate %.4f\n",
               limit_wire_tell((uint32_t)number(argv[2]),
                               (uint32_t)number(argv[3]), number(argv[4])));
    } else if (strcmp(what, "ask") == 0 && argc == 4) {
        limit_wire_ask(atoi(argv[2]), (uint32_t)number(argv[3]), &p50, &p99);
        printf("p50 %.2f\np99 %.2f\n", p50, p99);
    } else if (strcmp(what, "gossip") == 0 && argc == 5 &&
               number(argv[2]) > 1 && number(argv[4])) {
        gossip((uint32_t)number(argv[2]), atof(argv[3]),
               (uint32_t)number(argv[4]));
    } else if (strcmp(what, "swim") != 0 || argc != 10 || !swim(argv + 2)) {
        int help = strcmp(what, "--help") == 0;

        fprintf(help ? stdout : stderr,
                "usage: limits split MESSAGES | fan MESSAGES | pipe 0|1 "
                "ENTITIES MESSAGES |\n              create ENTITIES | tell "
                "ENTITIES WINDOW MESSAGES | ask 0|1 ASKS |\n              "
                "burst TRIPS | gossip NODES SHARE SEEDS |\n              "
                "swim 0|1 NODES SEED " SLOW_USAGE "\n");
        return help ? 0 : 2;
    }
    return 0;
}
