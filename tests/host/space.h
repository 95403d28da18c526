/* Gives a test a file system of a few MiB that only this process sees, and fills it. Include it after
 * cmocka's headers. */
#ifndef TESTS_HOST_SPACE_H
#define TESTS_HOST_SPACE_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPACE_SKIPPED 77 /* exit code of a test that may not mount */

static char space_place[] = "/tmp/sherd-space-XXXXXX"; /* the file system, after space_mount */

static inline bool space_write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY);
    bool is_good = file >= 0 &&
                   write(file, text, strlen(text)) == (ssize_t)strlen(text);

    if (file >= 0)
        (void)close(file);
    return is_good;
}

/* Mounts privately: directly as root, otherwise in a user namespace if the kernel allows it. */
static inline bool space_mount_at(const char *place, const char *size)
{
    char users[64], groups[64];
    bool is_root = geteuid() == 0;

    (void)snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    (void)snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    if (unshare(is_root ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0)
        return false;
    if (!is_root && !(space_write_text("/proc/self/uid_map", users) &&
                      space_write_text("/proc/self/setgroups", "deny") &&
                      space_write_text("/proc/self/gid_map", groups)))
        return false;
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", place, "tmpfs", 0, size) == 0;
}

/* size: as "size=6m". False: nothing may be mounted, and the test is skipped. */
static inline bool space_mount(const char *size)
{
    if (!mkdtemp(space_place))
        return false;
    if (space_mount_at(space_place, size))
        return true;
    printf("skipped: no file system may be mounted: %s\n", strerror(errno));
    (void)rmdir(space_place);
    return false;
}

static inline void space_unmount(void)
{
    (void)umount2(space_place, MNT_DETACH);
    (void)rmdir(space_place);
}

static inline void space_filler(char path[80])
{
    (void)snprintf(path, 80, "%s/filler", space_place);
}

/* Fills the disk except for so many bytes. */
static inline void space_fill(size_t left)
{
    static const char page[4096];
    char path[80];
    int file;

    space_filler(path);
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    while (write(file, page, sizeof page) == sizeof page)
        ;
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(ftruncate(file, lseek(file, 0, SEEK_END) - (off_t)left), 0);
    assert_int_equal(close(file), 0);
}

static inline void space_free(void)
{
    char path[80];

    space_filler(path);
    assert_int_equal(unlink(path), 0);
}

#endif
