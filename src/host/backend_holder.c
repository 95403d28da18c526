/* Finds the process that holds SQLite's write lock, a record lock on one byte of FILE-shm.
 *
 * Reads the kernel's list of locks: asking by fcntl would mean to open and close the file, which
 * drops SQLite's locks of this process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/backend_holder.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/bytes.h"

/* "WAL-mode file format" of SQLite, 2.3: eight locks from here, the first is WAL_WRITE_LOCK. */
#define WRITE_LOCK_BYTE 120

/* Example: "6: POSIX  ADVISORY  WRITE 31911 fe:00:10307146 120 120". */
static uint32_t holder_in(const char *line, const struct stat *file)
{
    unsigned major_number;
    unsigned minor_number;
    uint64_t inode;
    uint64_t first;
    uint32_t pid;
    char last[24];

    if (sscanf(line,
               "%*u: POSIX %*s WRITE %" SCNu32 " %x:%x:%" SCNu64 " %" SCNu64
               " %23s",
               &pid, &major_number, &minor_number, &inode, &first,
               last) != 6)
        return 0; /* waiting lines, too: "->" before POSIX */
    if (inode != file->st_ino || first != WRITE_LOCK_BYTE)
        return 0;
    /* Some file systems report device numbers with major 0 that locks do not have. */
    if (major(file->st_dev) != 0 && (major_number != major(file->st_dev) ||
                                     minor_number != minor(file->st_dev)))
        return 0;
    return pid;
}

uint32_t backend_holder(const char *path)
{
    struct buf name = { 0 };
    struct stat file;
    char line[256];
    uint32_t pid = 0;
    bool found;
    FILE *locks;

    buf_put_text(&name, path);
    buf_put(&name, "-shm", sizeof "-shm");
    found = stat((const char *)name.data, &file) == 0;
    buf_fini(&name);
    locks = found ? fopen("/proc/locks", "re") : NULL;
    if (!locks)
        return 0;
    while (!pid && fgets(line, sizeof line, locks))
        pid = holder_in(line, &file);
    (void)fclose(locks); /* only read */
    return pid;
}
