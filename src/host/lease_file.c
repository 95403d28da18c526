/* Keeps a lease in a file: "boot owner until token", under a lock.
 *
 * No sync: a host's crash ends its leases anyway. */
#define _GNU_SOURCE
#include "host/lease_provider.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define BOOT_MAX 40 /* bytes of the kernel's boot id, with the zero */
#define PATH_SIZE 1024
#define LOCK_TRIES 200 /* each waits 10 ms; a lock is held for two system calls */
#define LOCK_WAIT_US 10000

static bool read_boot(char boot[BOOT_MAX])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    bool good;

    if (!file)
        return false;
    good = fscanf(file, "%39s", boot) == 1;
    (void)fclose(file);
    return good;
}

/* The file's name has letters, digits, dots and hyphens of the lease's name, and %xx for the
 * rest. */
static bool put_path(const char *directory, const char *name, char *path,
                     size_t size)
{
    size_t used = (size_t)snprintf(path, size, "%s/", directory);

    for (; *name && used + 12 < size; name++) {
        unsigned char byte = (unsigned char)*name;
        bool plain = (byte >= '0' && byte <= '9') ||
                     (byte >= 'A' && byte <= 'Z') ||
                     (byte >= 'a' && byte <= 'z') || byte == '-' ||
                     byte == '.' || byte == '_';

        used += (size_t)snprintf(path + used, size - used,
                                 plain ? "%c" : "%%%02x", byte);
    }
    if (*name || used + 12 >= size)
        return false;
    (void)snprintf(path + used, size - used, ".lease"); /* fits */
    return true;
}

static bool lock(int fd)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        (void)usleep(LOCK_WAIT_US);
    }
    return false;
}

bool lease_file_read(struct slice file, const char *boot,
                     struct lease_entry *entry)
{
    char text[LEASE_FILE_SIZE + 1], written[BOOT_MAX], owner[LEASE_TEXT_MAX];
    size_t size = file.size < LEASE_FILE_SIZE ? file.size : LEASE_FILE_SIZE;
    uint64_t until, token;

    memset(entry, 0, sizeof *entry);
    if (size == 0)
        return true;
    memcpy(text, file.data, size);
    text[size] = 0;
    if (sscanf(text, "%39s %255s %" SCNu64 " %" SCNu64, written, owner,
               &until, &token) != 4)
        return false;
    entry->until = until;
    entry->token = token;
    if (strcmp(written, boot) == 0 && strcmp(owner, "-") != 0)
        (void)snprintf(entry->owner, sizeof entry->owner, "%s", owner);
    return true;
}

void lease_file_write(char text[LEASE_FILE_SIZE], const char *boot,
                      const struct lease_entry *entry)
{
    int size = snprintf(text, LEASE_FILE_SIZE, "%s %s %" PRIu64 " %" PRIu64,
                        boot, entry->owner[0] ? entry->owner : "-",
                        entry->until, entry->token);

    memset(text + size, ' ', LEASE_FILE_SIZE - (size_t)size);
    text[LEASE_FILE_SIZE - 1] = '\n';
}

static bool read_entry(int fd, const char *boot, struct lease_entry *entry)
{
    char text[LEASE_FILE_SIZE];
    ssize_t size = pread(fd, text, sizeof text, 0);

    return size >= 0 &&
           lease_file_read(slice_of(text, (size_t)size), boot, entry);
}

/* One write of less than a block. */
static bool write_entry(int fd, const char *boot,
                        const struct lease_entry *entry)
{
    char text[LEASE_FILE_SIZE];

    lease_file_write(text, boot, entry);
    return pwrite(fd, text, sizeof text, 0) == (ssize_t)sizeof text;
}

static void locked(int fd, uint64_t now, struct lease_request *request)
{
    char boot[BOOT_MAX];
    struct lease_entry entry;

    if (!read_boot(boot) || !read_entry(fd, boot, &entry))
        return;
    if (lease_entry_do(&entry, now, request) &&
        !write_entry(fd, boot, &entry))
        request->answer = LEASE_UNKNOWN;
}

void lease_file_do(const char *directory, uint64_t now,
                   const _Atomic bool *is_left,
                   struct lease_request *request)
{
    char path[PATH_SIZE];
    int fd;

    request->answer = LEASE_UNKNOWN;
    if (strpbrk(request->owner, " \t\n") || !request->owner[0] ||
        !put_path(directory, request->name, path, sizeof path)) {
        request->answer = LEASE_REFUSED;
        return;
    }
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    if (lock(fd) && !(is_left && atomic_load(is_left)))
        locked(fd, now, request);
    (void)close(fd); /* drops the lock */
}
