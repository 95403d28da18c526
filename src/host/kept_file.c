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

static uint64_t root_now(void)
{
    struct stat found;

    return stat("/", &found) == 0 ? (uint64_t)found.st_ino ^ (uint64_t)found.st_dev << 32 : 0;
}

static void take(struct kept_file *kept, int result, const struct stat *found)
{
    *kept = (struct kept_file){ 0 };
    if (result != 0)
        return;
    kept->device = (uint64_t)found->st_dev;
    kept->inode = (uint64_t)found->st_ino;
    kept->size = (uint64_t)found->st_size;
    kept->root = root_now();
}

void kept_file_take(struct kept_file *kept, int fd)
{
    struct stat found;

    take(kept, fstat(fd, &found), &found);
}

void kept_file_take_path(struct kept_file *kept, const char *path)
{
    struct stat found;

    take(kept, stat(path, &found), &found);
}

/* The path wins: another program that opens it shall find the same file. So a folder that was moved
 * away does not count, unless this process cannot see its path any more. */
static int look(const struct kept_file *kept, const char *path, int folder, struct stat *found)
{
    const char *slash = strrchr(path, '/');
    int result = stat(path, found);

    return result != 0 && folder >= 0 && (errno == EACCES || root_now() != kept->root)
               ? fstatat(folder, slash ? slash + 1 : path, found, 0)
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
    struct stat found;

    if (!kept->inode)
        return NULL;
    if (look(kept, path, folder, &found) != 0)
        return errno == ENOENT || errno == ENOTDIR ? "deleted"
                                                   : "made inaccessible";
    if ((uint64_t)found.st_dev != kept->device ||
        (uint64_t)found.st_ino != kept->inode)
        return "replaced";
    if ((uint64_t)found.st_size < kept->size)
        return "cut";
    if (kept->grows)
        kept->size = (uint64_t)found.st_size;
    return only && found.st_nlink > 1 ? "given a second name" : NULL;
}
