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

static void take(struct kept_file *kept, int result, const struct stat *found)
{
    *kept = (struct kept_file){ 0 };
    if (result != 0)
        return;
    kept->device = (uint64_t)found->st_dev;
    kept->inode = (uint64_t)found->st_ino;
    kept->size = (uint64_t)found->st_size;
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

/* The path wins: another program that opens it shall find the same file. */
static int look(const char *path, int folder, struct stat *found)
{
    const char *slash = strrchr(path, '/');
    int result = stat(path, found);

    return result != 0 && folder >= 0
               ? fstatat(folder, slash ? slash + 1 : path, found, 0)
               : result;
}

const char *kept_file_change(const struct kept_file *kept, const char *path,
                             bool only)
{
    return kept_file_change_in(kept, -1, path, only);
}

const char *kept_file_change_in(const struct kept_file *kept, int folder,
                                const char *path, bool only)
{
    struct stat found;

    if (!kept->inode)
        return NULL;
    if (look(path, folder, &found) != 0)
        return errno == ENOENT || errno == ENOTDIR ? "deleted"
                                                   : "made inaccessible";
    if ((uint64_t)found.st_dev != kept->device ||
        (uint64_t)found.st_ino != kept->inode)
        return "replaced";
    if ((uint64_t)found.st_size < kept->size)
        return "cut";
    return only && found.st_nlink > 1 ? "given a second name" : NULL;
}
