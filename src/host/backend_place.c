/* Recognises network file systems, and numbers a file by boot, device and inode. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host/backend_place.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/bytes.h"
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
