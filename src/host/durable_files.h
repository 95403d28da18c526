/* Keeps durable keys in an LMDB database, and recovers them from a damaged one.
 *
 * docs/protocol/durable.md specifies the files, trees and recovery. A database that does not match
 * `clean` is not trusted, because LMDB's pages have no checksums and LMDB follows what it finds.
 * Child processes, which may crash, read its trees; then all bytes are searched. The latest record
 * of each key goes into a new database. Erased keys may return if trees are damaged.
 *
 * One thread at a time uses a handle. */
#ifndef SHERD_HOST_DURABLE_FILES_H
#define SHERD_HOST_DURABLE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "ddata/durable.h"

struct durable_files;

/* Creates and locks the directory. 0, or -1 with one line in error (DURABLE_ERROR_MAX bytes). Texts
 * are copied. */
int durable_files_open(struct durable_files **files, const char *directory,
                       const char *cluster, uint64_t map_size, char *error)
    __attribute__((warn_unused_result));

/* Fills in a LOAD: all entries, or the fault. Once, before the first write. A database of another
 * cluster is refused, a damaged one is not: see durable_entry. */
void durable_files_load(struct durable_files *files,
                        struct durable_request *request);

struct durable_change {
    char *key;
    uint32_t key_size;
    bool erases;
    struct buf value;
};

/* Writes changes (a map of struct durable_change) as one transaction. 0: it is durable; -1 with one
 * line in error: nothing was written. The database grows up to DURABLE_MAP_SIZE_MAX. */
int durable_files_write(struct durable_files *files,
                        const struct map *changes, char *error)
    __attribute__((warn_unused_result));

/* False, for ever and with one line in error (DURABLE_ERROR_MAX bytes), once the database or the lock
 * was deleted, replaced or cut, or the database got a second name. From then on every write fails.
 * An unwatched database is kept, until loading ends. */
bool durable_files_are_kept(struct durable_files *files, char *error);

/* Any thread: a running load and later ones fail. */
void durable_files_stop(struct durable_files *files);

/* Writes `clean`, unless loading failed or the files were changed. Null is allowed. */
void durable_files_close(struct durable_files *files);

#endif
