/* Implements sherd_run: SIGINT and SIGTERM call sherd_leave, the second signal ends the system at
 * once.
 *
 * A signal handler writes to a pipe, which the thread in sherd_run reads. The thread unblocks both
 * signals, because a program inherits its mask from the program that started it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/check.h"
#include "host/service_manager.h"
#include "host/standard_files.h"
#include "host/system.h"

/* Handlers have no argument: the process's only pipe, -1 while no system is in sherd_run. */
static _Atomic int handler_pipe = -1;
static _Atomic int handler_process; /* the process that the pipe belongs to */

/* A forked child shares its parent's pipe: its signal must not end the parent's node. */
static void end_child(int number)
{
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void on_signal(int number)
{
    int error = errno;
    ssize_t written = 0;

    if (atomic_load(&handler_process) != getpid()) /* also before fork has returned */
        end_child(number);
    else
        written = write(atomic_load(&handler_pipe), "s", 1);
    (void)written; /* a full pipe has enough signals */
    errno = error;
}

/* Returns the mask that it replaces. */
static sigset_t take_signals(void)
{
    sigset_t both, before;

    check(sigemptyset(&both) == 0);
    check(sigaddset(&both, SIGINT) == 0);
    check(sigaddset(&both, SIGTERM) == 0);
    check(pthread_sigmask(SIG_UNBLOCK, &both, &before) == 0);
    return before;
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

/* Waits until the pipe has a byte, and tells the service manager meanwhile. */
static void await_byte(struct sherd_system *system, int pipe, struct service_manager *manager)
{
    struct pollfd entry = { .fd = pipe, .events = POLLIN };
    int count;

    do {
        service_manager_look(manager, system);
        count = poll(&entry, 1, manager->socket < 0 ? -1 : SERVICE_LOOK_MS);
        check(count >= 0 || errno == EINTR);
    } while (count <= 0);
}

/* Returns when the system has ended. */
static void obey_signals(struct sherd_system *system, int pipe, struct service_manager *manager)
{
    bool leaving = false;
    char what;

    for (;;) {
        ssize_t size;

        await_byte(system, pipe, manager);
        size = read(pipe, &what, 1);

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
    struct service_manager manager;
    int ends[2], free_pipe = -1, result;
    sigset_t before;

    if (system_is_lost(system))
        return sherd_start(system); /* refuses, with the reason */
    if (!standard_files_keep() || pipe2(ends, O_CLOEXEC) != 0)
        return SHERD_ESYSTEM;
    check(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    if (atomic_exchange(&handler_process, getpid()) != getpid())
        atomic_store(&handler_pipe, -1); /* the parent's */
    if (!atomic_compare_exchange_strong(&handler_pipe, &free_pipe, ends[1])) {
        system_log(system, TRACE_ERROR, "host",
                   "call refused: another node of this process is in sherd_run, "
                   "which has the signals hint=\"use sherd_start and sherd_wait "
                   "for all nodes but one\"");
        result = SHERD_ESTATE;
        goto close_pipe;
    }
    check(sigemptyset(&action.sa_mask) == 0);
    check(sigaction(SIGINT, &action, &old_int) == 0);
    check(sigaction(SIGTERM, &action, &old_term) == 0);
    result = sherd_start(system);
    if (result == 0) {
        set_pipe(system, ends[1]);
        before = take_signals();
        service_manager_begin(&manager, system);
        obey_signals(system, ends[0], &manager);
        service_manager_end(&manager);
        result = sherd_wait(system);
        check(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
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
