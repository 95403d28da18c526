/* Runs processes that compete for a lease: the holder creates a file that must not exist. */
#ifndef SHERD_TESTS_COMPETE_H
#define SHERD_TESTS_COMPETE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COMPETITORS 4

/* Takes or gives up the lease for an owner. True: granted. */
typedef bool (*compete_step)(const char *owner);

static inline int compete_run(const char *directory, int index, int turns,
                              compete_step take, compete_step give_up)
{
    char owner[16], path[128];
    int done = 0;

    (void)snprintf(owner, sizeof owner, "p:%d", index);
    (void)snprintf(path, sizeof path, "%s/inside", directory);
    while (done < turns) {
        int fd;

        if (!take(owner))
            continue;
        fd = open(path, O_CREAT | O_EXCL, 0600);
        if (fd < 0 || close(fd) != 0 || unlink(path) != 0)
            return 1;
        if (!give_up(owner))
            return 1;
        done++;
    }
    return 0;
}

/* Until each had this many turns. */
static inline void compete(const char *directory, int turns, compete_step take,
                           compete_step give_up)
{
    pid_t pids[COMPETITORS];

    for (int i = 0; i < COMPETITORS; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            _exit(compete_run(directory, i, turns, take, give_up));
    }
    for (int i = 0; i < COMPETITORS; i++) {
        int status;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

#endif
