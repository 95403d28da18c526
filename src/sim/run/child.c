/* Starts child processes. On Linux the kernel kills the child when the thread that made it ends. */
#define _GNU_SOURCE
#include "sim/run/child.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/check.h"

pid_t child_fork(void)
{
    pid_t parent = getpid();
    pid_t process;

    (void)fflush(NULL); /* otherwise the child might write it, too */
    process = fork();
    check(process >= 0);
    if (process)
        return process;
    check(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    if (getppid() != parent)
        _exit(1); /* the parent ended before prctl */
    return 0;
}
