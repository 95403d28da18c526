/* Keeps a lease in a file: "boot owner until token", under a lock.
 *
 * No sync: a host's crash ends its leases anyway. An empty file has no lease: it is new, or was cut. */
#define _GNU_SOURCE
#include "host/lease_file_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 200 /* each waits 10 ms; a lock is held for two system calls */
#define LOCK_WAIT_US 10000
#define OPEN_TRIES 10 /* until the locked file is the one with the name */

bool lease_boot_read(char boot[LEASE_BOOT_MAX])
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
bool lease_path_put(const char *directory, const char *name, char path[LEASE_PATH_SIZE])
{
    const size_t size = LEASE_PATH_SIZE;
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
    char text[LEASE_FILE_SIZE + 1], written[LEASE_BOOT_MAX], owner[LEASE_TEXT_MAX];
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

bool lease_entry_read(int fd, const char *boot, struct lease_entry *entry, bool *is_new)
{
    char text[LEASE_FILE_SIZE];
    ssize_t size = pread(fd, text, sizeof text, 0);

    *is_new = size == 0;
    return size >= 0 &&
           lease_file_read(slice_of(text, (size_t)size), boot, entry);
}

/* One write of less than a block: a part of it means a full disk. */
bool lease_text_write(int fd, const char text[LEASE_FILE_SIZE])
{
    errno = ENOSPC;
    return pwrite(fd, text, LEASE_FILE_SIZE, 0) == (ssize_t)LEASE_FILE_SIZE;
}

static bool write_entry(int fd, const char *boot,
                        const struct lease_entry *entry)
{
    char text[LEASE_FILE_SIZE];

    lease_file_write(text, boot, entry);
    return lease_text_write(fd, text);
}

void lease_file_forget(struct lease_file *file)
{
    if (file->kept.inode)
        (void)close(file->fd); /* its writes were checked */
    file->kept = (struct kept_file){ 0 };
    file->is_held = false;
}

/* Watches the file from now on. fd: given. */
static void keep(struct lease_file *file, int fd)
{
    bool is_held = file->is_held;

    (void)flock(fd, LOCK_UN);
    lease_file_forget(file);
    kept_file_take(&file->kept, fd);
    file->fd = fd;
    file->is_held = is_held;
    if (!file->kept.inode)
        (void)close(fd); /* its state is unknown */
}

/* A session in a file that was made anew has a higher token than those in the deleted one, as bound
 * leases name it. */
static uint64_t first_token(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now); /* the clock exists */
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Reads, changes and writes the entry of a locked file. False: it is not the lease's file. */
static bool locked(struct lease_file *file, int fd, uint64_t now,
                   struct lease_request *request)
{
    char boot[LEASE_BOOT_MAX];
    struct lease_entry entry;
    struct stat found;

    if (fstat(fd, &found) != 0 || !lease_boot_read(boot)) {
        file->why = strerror(errno);
        return false;
    }
    if (!lease_entry_read(fd, boot, &entry, &file->is_new)) {
        file->why = "it has no lease; delete it";
        return false;
    }
    if (file->is_held && (uint64_t)found.st_ino != file->kept.inode) {
        request->answer = LEASE_REFUSED; /* replaced since the look */
        return false;
    }
    if (request->verb == LEASE_BEGIN && entry.token < first_token())
        entry.token = first_token();
    if (lease_entry_do(&entry, now, request) &&
        !write_entry(fd, boot, &entry)) {
        request->answer = LEASE_UNKNOWN;
        file->why = strerror(errno);
        return false;
    }
    file->is_held = request->verb != LEASE_GIVE_UP &&
                    request->answer == LEASE_GRANTED;
    /* An empty file stays empty if a lease is given up. */
    return !file->is_new || request->verb != LEASE_GIVE_UP;
}

/* A device would take each lease, and keep none. */
static bool is_regular(int fd)
{
    struct stat found;

    return fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
}

int lease_file_lock(const char *path, int flags)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags, 0666);
        struct kept_file kept;

        if (fd < 0)
            return -1;
        if (!is_regular(fd)) {
            (void)close(fd); /* nothing was written */
            errno = ENOTSUP;
            return -1;
        }
        kept_file_take(&kept, fd);
        if (!lock(fd)) {
            (void)close(fd); /* nothing was written */
            return -1;
        }
        kept.size = 0;
        if (!kept_file_change(&kept, path, false))
            return fd;
        (void)close(fd); /* it was deleted before the lock was taken */
    }
    errno = ESTALE;
    return -1;
}

/* Another lease than before is another file. False: the name is too long. */
static bool put_file(struct lease_file *file, const char *directory,
                     const char *name)
{
    char path[LEASE_PATH_SIZE];

    if (!lease_path_put(directory, name, path))
        return false;
    if (strcmp(path, file->path) != 0) {
        lease_file_forget(file);
        *file = (struct lease_file){ .is_left = file->is_left };
    }
    memcpy(file->path, path, sizeof path);
    return true;
}

bool lease_file_make(struct lease_file *file, const char *directory,
                     const char *name, char *why, size_t size)
{
    const struct lease_entry none = { .until = 0 };
    char boot[LEASE_BOOT_MAX];
    struct stat found;
    int fd;

    errno = ENAMETOOLONG;
    fd = put_file(file, directory, name) ? lease_file_lock(file->path, O_CREAT)
                                         : -1;
    if (fd >= 0 && fstat(fd, &found) == 0 && !found.st_size &&
        (!lease_boot_read(boot) || !write_entry(fd, boot, &none))) {
        (void)close(fd); /* the error is reported */
        fd = -1;
    }
    if (fd < 0) {
        (void)snprintf(why, size, "%.512s: %s", *file->path ? file->path : name,
                       strerror(errno)); /* may be cut */
        return false;
    }
    keep(file, fd);
    return true;
}

void lease_file_do(struct lease_file *file, const char *directory, uint64_t now,
                   struct lease_request *request)
{
    int fd;

    request->answer = LEASE_UNKNOWN;
    if (strpbrk(request->owner, " \t\n") || !request->owner[0] ||
        /* the files of its bound leases would have the name */
        (request->verb == LEASE_BEGIN && strpbrk(request->name, " \t\n")) ||
        !put_file(file, directory, request->name)) {
        request->answer = LEASE_REFUSED;
        return;
    }
    file->is_new = false;
    file->why = NULL;
    if (file->is_held && kept_file_change(&file->kept, file->path, false)) {
        request->answer = LEASE_REFUSED; /* lease_file_look tells how */
        return;
    }
    fd = lease_file_lock(file->path, request->verb == LEASE_GIVE_UP ? 0 : O_CREAT);
    if (fd < 0 && request->verb == LEASE_GIVE_UP && errno == ENOENT)
        request->answer = LEASE_GRANTED; /* it is free */
    else if (fd < 0)
        file->why = strerror(errno);
    if (fd < 0)
        return;
    if (!(file->is_left && atomic_load(file->is_left)) &&
        locked(file, fd, now, request))
        keep(file, fd);
    else
        (void)close(fd); /* drops the lock */
}

/* After a change: an empty file does not count, as a request makes it anew. */
static bool is_back(struct lease_file *file)
{
    int fd = open(file->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat found;

    if (fd < 0)
        return false;
    if (fstat(fd, &found) == 0 && found.st_size >= LEASE_FILE_SIZE)
        keep(file, fd);
    else
        (void)close(fd); /* only looked at */
    return file->kept.inode;
}

enum lease_file_news lease_file_look(struct lease_file *file, const char **what)
{
    *what = kept_file_change(&file->kept, file->path, false);
    if (*what) {
        lease_file_forget(file);
        file->is_changed = true;
        return LEASE_FILE_CHANGED;
    }
    if (!file->is_changed || !(file->kept.inode || is_back(file)))
        return LEASE_FILE_SAME;
    file->is_changed = false;
    return LEASE_FILE_BACK;
}

/* ---- the directory ---- */

/* Types of file systems that other hosts share (statfs(2)). */
static const uint32_t network_types[] = {
    0x6969,     /* NFS */
    0x517b,     /* SMB */
    0xff534d42, /* CIFS */
    0xfe534d42, /* SMB2 */
    0x564c,     /* NCP */
    0x5346414f, /* AFS */
    0x6b414653, /* kAFS */
    0x00c36400, /* Ceph */
    0x01161970, /* GFS2 */
    0x7461636f, /* OCFS2 */
    0x0bd00bd0, /* Lustre */
    0x47504653, /* GPFS */
    0x19830326, /* BeeGFS */
};

const char *lease_directory_fault(const char *directory)
{
    struct statfs about;

    if (statfs(directory, &about) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof network_types / sizeof *network_types; i++)
        if ((uint32_t)about.f_type == network_types[i])
            return "it is on a network file system, and leases in files protect the processes of "
                   "one host only: use etcd";
    return NULL;
}
