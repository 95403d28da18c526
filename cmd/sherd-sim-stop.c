/* Handles signals that end the program, so it can first report its results. The program sees its
 * workers die. */
#define _GNU_SOURCE
#include "sherd-sim.h"

#include <signal.h>
#include <string.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t first; /* the first signal */
static volatile pid_t workers[JOBS_MAX]; /* 0: none */

static void end_workers(void)
{
    for (uint32_t i = 0; i < JOBS_MAX; i++)
        if (workers[i])
            (void)kill(workers[i], SIGKILL);
}

static void hear(int number)
{
    if (!first)
        first = number;
    end_workers();
}

static void handle(void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction former;

        (void)sigaction(signals[i], NULL, &former); /* cannot fail */
        if (former.sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &action, NULL);
    }
}

void stop_watch(void)
{
    handle(hear);
}

void stop_ignore(void)
{
    handle(SIG_IGN);
}

int stop_signal(void)
{
    return first;
}

void stop_worker(uint32_t index, pid_t process)
{
    workers[index] = process;
    if (process && first)
        end_workers(); /* the signal came before this worker was known */
}
