/* Compares a file that is open with the one that its name leads to. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/kept_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

struct facts {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    uint64_t names;
};

/* For kernels and sandboxes without statx. */
static int look_with_times(int folder, const char *path, int flags, struct facts *facts)
{
    struct stat found;
    int result = fstatat(folder, path, &found, flags);

    if (result == 0)
        *facts = (struct facts){ (uint64_t)found.st_dev, (uint64_t)found.st_ino,
                                 (uint64_t)found.st_size, (uint64_t)found.st_nlink };
    return result;
}

/* Asks for no time. Since 6.13 Linux gives a file whose time was read a new one at its next write, and
 * a sync then takes a third longer. */
static int look_at(int folder, const char *path, int flags, struct facts *facts)
{
    struct statx found;

    if (statx(folder, path, flags, STATX_INO | STATX_SIZE | STATX_NLINK, &found) != 0)
        return errno == ENOSYS || errno == EPERM ? look_with_times(folder, path, flags, facts)
                                                 : -1;
    *facts = (struct facts){ makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino,
                             found.stx_size, found.stx_nlink };
    return 0;
}

static uint64_t root_now(void)
{
    struct facts found;

    return look_at(AT_FDCWD, "/", 0, &found) == 0 ? found.inode ^ found.device << 32 : 0;
}

static void take(struct kept_file *kept, int result, const struct facts *found)
{
    *kept = (struct kept_file){ 0 };
    if (result != 0)
        return;
    kept->device = found->device;
    kept->inode = found->inode;
    kept->size = found->size;
    kept->root = root_now();
}

void kept_file_take(struct kept_file *kept, int fd)
{
    struct facts found;

    take(kept, look_at(fd, "", AT_EMPTY_PATH, &found), &found);
}

void kept_file_take_path(struct kept_file *kept, const char *path)
{
    struct facts found;

    take(kept, look_at(AT_FDCWD, path, 0, &found), &found);
}

/* The path wins: another program that opens it shall find the same file. So a folder that was moved
 * away does not count, unless this process cannot see its path any more. */
static int look(const struct kept_file *kept, const char *path, int folder, struct facts *found)
{
    const char *slash = strrchr(path, '/');
    int result = look_at(AT_FDCWD, path, 0, found);

    return result != 0 && folder >= 0 && (errno == EACCES || root_now() != kept->root)
               ? look_at(folder, slash ? slash + 1 : path, 0, found)
               : result;
}

const char *kept_file_change(const struct kept_file *kept, const char *path,
                             bool only)
{
    struct kept_file copy = *kept;

    return kept_file_change_in(&copy, -1, path, only);
}

const char *kept_file_change_in(struct kept_file *kept, int folder,
                                const char *path, bool only)
{
    struct facts found;

    if (!kept->inode)
        return NULL;
    if (look(kept, path, folder, &found) != 0)
        return errno == ENOENT || errno == ENOTDIR ? "deleted"
                                                   : "made inaccessible";
    if (found.device != kept->device || found.inode != kept->inode)
        return "replaced";
    if (found.size < kept->size)
        return "cut";
    if (kept->grows)
        kept->size = found.size;
    return only && found.names > 1 ? "given a second name" : NULL;
}
