/* Handles SIGBUS inside calls that read mapped files. */
#define _GNU_SOURCE
#include "host/map_guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

#include "base/check.h"
#include "base/vec.h"

static _Thread_local sigjmp_buf *active; /* of the thread's running call */
static _Thread_local bool passes; /* the handler before has called this one */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction earlier; /* written under the mutex, as the next */
static VEC(void *) abandoned;

/* Without a handler before, the signal ends the process as if this one did not exist. */
static void pass_on(int number, siginfo_t *info, void *machine)
{
    bool is_own = !passes && (earlier.sa_flags & SA_SIGINFO ||
                              (earlier.sa_handler != SIG_DFL &&
                               earlier.sa_handler != SIG_IGN));

    if (!is_own) {
        (void)signal(number, SIG_DFL);
        if (info->si_code <= 0) /* sent by a process; a fault comes again */
            (void)raise(number);
        return;
    }
    passes = true;
    if (earlier.sa_flags & SA_SIGINFO)
        earlier.sa_sigaction(number, info, machine);
    else
        earlier.sa_handler(number);
    passes = false;
}

static void on_fault(int number, siginfo_t *info, void *machine)
{
    sigjmp_buf *back = active;

    if (!back || info->si_code != BUS_ADRERR) {
        pass_on(number, info, machine);
        return;
    }
    active = NULL;
    siglongjmp(*back, 1);
}

/* The program may have set a handler of its own since the last call. */
static void install(void)
{
    struct sigaction action = { .sa_sigaction = on_fault,
                                .sa_flags = SA_SIGINFO | SA_RESTART };
    struct sigaction found;

    check(sigaction(SIGBUS, NULL, &found) == 0);
    if (found.sa_flags & SA_SIGINFO && found.sa_sigaction == on_fault)
        return;
    check(pthread_mutex_lock(&mutex) == 0);
    check(sigaction(SIGBUS, NULL, &found) == 0);
    if (!(found.sa_flags & SA_SIGINFO) || found.sa_sigaction != on_fault) {
        earlier = found;
        check(sigemptyset(&action.sa_mask) == 0);
        check(sigaction(SIGBUS, &action, NULL) == 0);
    }
    check(pthread_mutex_unlock(&mutex) == 0);
}

bool map_guard_run(void (*call)(void *context), void *context)
{
    sigjmp_buf back;

    check(!active);
    install();
    if (sigsetjmp(back, 1) != 0)
        return false;
    active = &back;
    call(context);
    active = NULL;
    return true;
}

void map_guard_abandon(void *handle)
{
    check(pthread_mutex_lock(&mutex) == 0);
    vec_push(&abandoned, handle);
    check(pthread_mutex_unlock(&mutex) == 0);
}
