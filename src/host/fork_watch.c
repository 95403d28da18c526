/* Counts the forks between a process and its ancestors. */
#include "host/fork_watch.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/check.h"

static _Atomic uint32_t forks;

static void in_child(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void begin(void)
{
    check(pthread_atfork(NULL, NULL, in_child) == 0);
}

uint32_t fork_watch_mark(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    check(pthread_once(&once, begin) == 0);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

bool fork_watch_is_child(uint32_t mark)
{
    return atomic_load_explicit(&forks, memory_order_relaxed) != mark;
}
