/* Implements sherd_run: SIGINT and SIGTERM call sherd_leave, the second signal ends the system at
 * once.
 *
 * A signal handler writes to a pipe, which the thread in sherd_run reads. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/check.h"
#include "host/system.h"

/* Handlers have no argument: the process's only pipe, -1 while no system is in sherd_run. */
static _Atomic int handler_pipe = -1;

static void on_signal(int number)
{
    int error = errno;
    ssize_t written = write(atomic_load(&handler_pipe), "s", 1);

    (void)number;
    (void)written; /* a full pipe has enough signals */
    errno = error;
}

static void set_pipe(struct sherd_system *system, int end)
{
    uv_mutex_lock(&system->mutex);
    system->signal_pipe = end;
    if (end >= 0 && atomic_load(&system->state) == SYSTEM_ENDED &&
        write(end, "e", 1) != 1)
        check_failed(__FILE__, __LINE__, "the pipe of sherd_run works");
    uv_mutex_unlock(&system->mutex);
}

/* Returns when the system has ended. */
static void obey_signals(struct sherd_system *system, int pipe)
{
    bool leaving = false;
    char what;

    for (;;) {
        ssize_t size = read(pipe, &what, 1);

        if (size < 0 && errno == EINTR)
            continue;
        check(size == 1);
        if (what == 'e')
            return;
        if (leaving)
            sherd_halt(system);
        else
            sherd_leave(system);
        leaving = true;
    }
}

int sherd_run(struct sherd_system *system)
{
    struct sigaction action = { .sa_handler = on_signal,
                                .sa_flags = SA_RESTART };
    struct sigaction old_int, old_term;
    int ends[2], free_pipe = -1, result;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return SHERD_ESYSTEM;
    check(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    if (!atomic_compare_exchange_strong(&handler_pipe, &free_pipe, ends[1])) {
        result = SHERD_ESTATE;
        goto close_pipe;
    }
    check(sigemptyset(&action.sa_mask) == 0);
    check(sigaction(SIGINT, &action, &old_int) == 0);
    check(sigaction(SIGTERM, &action, &old_term) == 0);
    result = sherd_start(system);
    if (result == 0) {
        set_pipe(system, ends[1]);
        obey_signals(system, ends[0]);
        result = sherd_wait(system);
        set_pipe(system, -1);
    }
    check(sigaction(SIGINT, &old_int, NULL) == 0);
    check(sigaction(SIGTERM, &old_term, NULL) == 0);
    atomic_store(&handler_pipe, -1);
close_pipe:
    (void)close(ends[0]);
    (void)close(ends[1]);
    return result;
}
