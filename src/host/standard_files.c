/* Opens /dev/null in place of closed standard descriptors. */
#define _GNU_SOURCE
#include "host/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static bool is_open(int descriptor)
{
    return fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF;
}

/* Without /dev/null (chroot), reading and writing fail, which is harmless. */
static int open_nothing(void)
{
    int descriptor = open("/dev/null", O_RDWR | O_NOCTTY);

    return descriptor >= 0 ? descriptor : open("/", O_RDONLY | O_DIRECTORY);
}

bool standard_files_keep(void)
{
    for (int wanted = STDIN_FILENO; wanted <= STDERR_FILENO; wanted++) {
        int opened;

        if (is_open(wanted))
            continue;
        opened = open_nothing(); /* the lowest free number */
        if (opened < 0)
            return false;
        if (opened > STDERR_FILENO) { /* another thread was quicker */
            (void)close(opened);
            return is_open(wanted);
        }
    }
    return true;
}
