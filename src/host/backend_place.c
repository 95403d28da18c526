/* Recognises network file systems, and numbers a file by boot, device and inode. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/backend_place.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"

/* Types of statfs(2) and linux/magic.h. */
static const struct {
    uint64_t type;
    const char *name;
} networks[] = {
    { 0x6969, "NFS" },         { 0x517b, "SMB" },
    { 0xfe534d42, "SMB2" },    { 0xff534d42, "CIFS" },
    { 0x65735546, "FUSE" },    { 0x01021997, "9P" },
    { 0x5346414f, "AFS" },     { 0x6b414653, "AFS" },
    { 0x00c36400, "Ceph" },    { 0x73757245, "Coda" },
    { 0x0bd00bd0, "Lustre" },  { 0x01161970, "GFS2" },
    { 0x7461636f, "OCFS2" },   { 0x47504653, "GPFS" },
    { 0x19830326, "BeeGFS" },
};

const char *backend_network_file_system(uint64_t type)
{
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (networks[i].type == type)
            return networks[i].name;
    return NULL;
}

const char *backend_place_network(const char *path)
{
    struct statfs found;

    if (statfs(path, &found) != 0)
        return NULL;
    /* Sign-extended where the type is a signed word. */
    return backend_network_file_system((uint64_t)found.f_type & UINT32_MAX);
}

char *backend_place_absolute(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *folder = slash ? mem_copy(path, (size_t)(slash - path) + 1)
                         : mem_text(".");
    struct buf absolute = { 0 };
    char found[PATH_MAX];
    char *result;

    if (realpath(folder, found)) {
        buf_put_text(&absolute, strcmp(found, "/") == 0 ? "" : found);
    } else if (path[0] != '/' && realpath(".", found)) {
        name = path;
        buf_put_text(&absolute, found);
    } else {
        mem_free(folder);
        return mem_text(path);
    }
    buf_put_text(&absolute, "/");
    buf_put(&absolute, name, strlen(name) + 1);
    result = mem_text((const char *)absolute.data);
    buf_fini(&absolute);
    mem_free(folder);
    return result;
}

void backend_place_label(const char *path, char label[BACKEND_LABEL_SIZE])
{
    size_t size = strlen(path);
    bool is_cut = size >= BACKEND_LABEL_SIZE;

    if (is_cut)
        path += size - BACKEND_LABEL_SIZE + 4;
    (void)snprintf(label, BACKEND_LABEL_SIZE, "%s%s", is_cut ? "..." : "",
                   path); /* fits */
}

uint64_t backend_place_of(const char *path)
{
    struct buf place = { 0 };
    char boot[64] = "";
    struct stat found;
    uint64_t number;
    FILE *file;

    if (stat(path, &found) != 0)
        return 0;
    file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file) {
        boot[fread(boot, 1, sizeof boot - 1, file)] = 0;
        (void)fclose(file); /* only read */
    }
    buf_put_text(&place, boot);
    buf_put_u64(&place, (uint64_t)found.st_dev);
    buf_put_u64(&place, (uint64_t)found.st_ino);
    number = hash_bytes(buf_slice(&place));
    buf_fini(&place);
    return number;
}
