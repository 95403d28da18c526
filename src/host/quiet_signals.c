/* Blocks SIGXFSZ around calls that write files. */
#define _GNU_SOURCE
#include "host/quiet_signals.h"

#include <pthread.h>
#include <time.h>

#include "base/check.h"

static bool is_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

static void fill(sigset_t *set)
{
    check(sigemptyset(set) == 0);
    check(sigaddset(set, SIGXFSZ) == 0);
}

void quiet_signals_begin(struct quiet_signals *quiet)
{
    sigset_t set;

    fill(&set);
    check(pthread_sigmask(SIG_BLOCK, &set, &quiet->mask) == 0);
    quiet->was_pending = is_pending();
}

void quiet_signals_end(const struct quiet_signals *quiet)
{
    const struct timespec now = { 0 };
    sigset_t set;

    fill(&set);
    if (!quiet->was_pending && is_pending())
        (void)sigtimedwait(&set, NULL, &now); /* another thread may take it first */
    check(pthread_sigmask(SIG_SETMASK, &quiet->mask, NULL) == 0);
}
