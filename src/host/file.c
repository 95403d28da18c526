/* Opens regular files, and refuses everything else. */
#define _GNU_SOURCE
#include "host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Null: nothing. */
static const char *judge(int fd)
{
    struct stat about;

    if (fstat(fd, &about) != 0)
        return strerror(errno);
    return S_ISREG(about.st_mode) ? NULL : "it is no regular file";
}

bool file_is_endless(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) &&
           !S_ISDIR(about.st_mode);
}

FILE *file_open(const char *path, const char **wrong)
{
    /* Else open waits for a FIFO's writer. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    FILE *file = NULL;

    *wrong = fd < 0 ? strerror(errno) : judge(fd);
    if (fd >= 0 && !*wrong) {
        file = fdopen(fd, "rb");
        if (!file)
            *wrong = strerror(errno);
    }
    if (fd >= 0 && !file)
        (void)close(fd); /* only read */
    return file;
}
