/* Blocks fstat and flock until the test releases them. */
#define _GNU_SOURCE
#include "mount.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <uv.h>

static _Atomic bool stopped;
static _Atomic int held;

int __real_fstat(int fd, struct stat *about);
int __wrap_fstat(int fd, struct stat *about);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

static void enter(void)
{
    atomic_fetch_add(&held, 1);
    while (atomic_load(&stopped))
        uv_sleep(1);
}

int __wrap_fstat(int fd, struct stat *about)
{
    int result;

    enter();
    result = __real_fstat(fd, about);
    atomic_fetch_sub(&held, 1);
    return result;
}

int __wrap_flock(int fd, int operation)
{
    int result;

    enter();
    result = __real_flock(fd, operation);
    atomic_fetch_sub(&held, 1);
    return result;
}

void mount_stop(void)
{
    atomic_store(&stopped, true);
}

void mount_go_on(void)
{
    atomic_store(&stopped, false);
}

void mount_holds(int count)
{
    while (atomic_load(&held) != count)
        uv_sleep(1);
}
