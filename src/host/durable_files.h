/* The files of durable keys: one LMDB database of two trees, values and names, a lock, and a word that it was left whole.
 *
 * In the directory: `values.mdb`, the database; `lock`, locked as long as it is open; `clean`, there only after an orderly
 * end, with the database's size and hash; `values.mdb.damaged`, the last one that was set aside.
 *
 * A database whose hash is not the one in `clean` is not trusted: LMDB maps it into memory and follows what it finds there.
 * Of each tree a short-lived child reads it, and may crash; what it hands over, record by record, is verified. Then the file's bytes
 * are searched for records that are later than those of the trees: a transaction that a crash cut off, or the sign that a
 * tree is damaged (LMDB's pages have no checksums). What one tree has lost the other one names. The latest record of each key is
 * written into a new database, which takes the old one's place. Where there was a word, no transaction was cut off, and whatever
 * is later than the trees is the sign that they are damaged. Of damaged trees, keys that had been erased may come back.
 *
 * Each is used by one thread at a time. Behaviour 13.10, reliability 2. */
#ifndef SHERD_HOST_DURABLE_FILES_H
#define SHERD_HOST_DURABLE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "ddata/durable.h"

struct durable_files;

/* Makes the directory if it is not there, and locks it. 0, or -1 with one line in error (DURABLE_ERROR_MAX bytes):
 * no rights, in use by another process or system, a map_size out of its bounds. Texts are copied. */
int durable_files_open(struct durable_files **files, const char *directory,
                       const char *cluster, uint64_t map_size, char *error)
    __attribute__((warn_unused_result));

/* Fills in a LOAD: all entries, or why not. Before the first write, once. A database of another cluster is refused, one that
 * is damaged is not: see durable_entry. */
void durable_files_load(struct durable_files *files,
                        struct durable_request *request);

/* One value to write, or a key to forget. */
struct durable_change {
    char *key;
    uint32_t key_size;
    bool erases;
    struct buf value;
};

/* Writes changes (values of the map, struct durable_change) as one transaction, durable when it returns 0; -1 with one line
 * in error when nothing of it was written: the disk is full, an error of it, the database at its largest. The database
 * grows as it must, up to DURABLE_MAP_SIZE_MAX. */
int durable_files_write(struct durable_files *files,
                        const struct map *changes, char *error)
    __attribute__((warn_unused_result));

/* Any thread: a load under way is broken off, and fails. No later one succeeds. */
void durable_files_stop(struct durable_files *files);

/* Leaves the word that it is whole, unless loading failed. Null is fine. */
void durable_files_close(struct durable_files *files);

#endif
