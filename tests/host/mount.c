/* fstat that returns when the test lets it. */
#define _GNU_SOURCE
#include "mount.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include <uv.h>

static _Atomic bool stopped;
static _Atomic int held;

int __real_fstat(int fd, struct stat *about);
int __wrap_fstat(int fd, struct stat *about);

int __wrap_fstat(int fd, struct stat *about)
{
    atomic_fetch_add(&held, 1);
    while (atomic_load(&stopped))
        uv_sleep(1);
    atomic_fetch_sub(&held, 1);
    return __real_fstat(fd, about);
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
