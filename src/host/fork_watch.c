/* Counts the forks between a process and its ancestors, and frees locks in children. */
#include "host/fork_watch.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/check.h"

static _Atomic uint32_t forks;
static pthread_mutex_t *_Atomic locks[FORK_WATCH_LOCKS_MAX];
static _Atomic uint32_t lock_count;

static void in_child(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < FORK_WATCH_LOCKS_MAX; i++) {
        pthread_mutex_t *lock = atomic_load(&locks[i]);

        if (lock)
            (void)pthread_mutex_init(lock, NULL);
    }
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

void fork_watch_lock(pthread_mutex_t *lock)
{
    uint32_t at = atomic_fetch_add(&lock_count, 1);

    check(at < FORK_WATCH_LOCKS_MAX);
    atomic_store(&locks[at], lock);
}
