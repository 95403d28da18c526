/* Helps tests of durable files: a directory for each test, files as bytes, and a crash. Include it
 * after cmocka's headers. */
#ifndef TESTS_HOST_DURABLE_BENCH_H
#define TESTS_HOST_DURABLE_BENCH_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "host/durable_files.h"

#define MIB (1024 * 1024)

static char directory[64];
static const char *disk = "/tmp"; /* parent of the directories */

static inline int make_directory(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "%s/sherd-durable-XXXXXX",
                   disk);
    return mkdtemp(directory) ? 0 : -1;
}

static inline int drop_directory(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static inline const struct durable_entry *entry_of(const struct durable_request *loaded,
                                            const char *key)
{
    for (uint32_t i = 0; i < loaded->entries.count; i++)
        if (slice_is(durable_slice(loaded, loaded->entries.items[i].key), key))
            return &loaded->entries.items[i];
    return NULL;
}

static inline void assert_value(const struct durable_request *loaded, const char *key,
                         const char *value)
{
    const struct durable_entry *entry = entry_of(loaded, key);

    assert_non_null(entry);
    assert_false(entry->is_lost || entry->is_stale);
    assert_true(slice_is(durable_slice(loaded, entry->value), value));
}

static inline void assert_done(const struct durable_request *request)
{
    if (request->result != DURABLE_DONE)
        fail_msg("%s", request->error);
}

static inline void limit_files(rlim_t size)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static inline struct durable_files *open_files(struct durable_request *loaded)
{
    char error[DURABLE_ERROR_MAX] = "";
    struct durable_files *files;

    if (durable_files_open(&files, directory, "c", MIB, error) != 0)
        fail_msg("%s", error);
    durable_files_load(files, loaded);
    assert_done(loaded);
    return files;
}

static inline void read_file(const char *name, struct buf *bytes)
{
    char path[128];
    struct stat about;
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &about), 0);
    (void)buf_reserve(bytes, (size_t)about.st_size);
    assert_int_equal(fread(bytes->data, 1, (size_t)about.st_size, file),
                     about.st_size);
    bytes->size = (size_t)about.st_size;
    (void)fclose(file);
}

static inline void write_file(const char *name, const struct buf *bytes)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    assert_int_equal(fclose(file), 0);
}

/* One transaction; value null erases the key. */
static inline int change(struct durable_files *files, const char *key,
                  const char *value, size_t size)
{
    struct durable_change change = { .key = (char *)(uintptr_t)key,
                                     .key_size = (uint32_t)strlen(key),
                                     .erases = !value };
    char error[DURABLE_ERROR_MAX] = "";
    struct map map = { 0 };
    int result;

    for (size_t i = 0; value && i < size; i++)
        buf_put_u8(&change.value, (uint8_t)*value);
    (void)map_put(&map, slice_text(key), &change);
    result = durable_files_write(files, &map, error);
    map_fini(&map);
    buf_fini(&change.value);
    return result;
}

/* Ends the process without closing, and loads the files again. */
static inline struct durable_files *crash(struct durable_files *files,
                                   struct durable_request **loaded)
{
    struct buf bytes = { 0 };
    char path[128];

    read_file("values.mdb", &bytes);
    durable_files_close(files);
    (void)snprintf(path, sizeof path, "%s/clean", directory);
    (void)unlink(path);
    write_file("values.mdb", &bytes);
    buf_fini(&bytes);
    durable_request_free(*loaded);
    *loaded = durable_request_new(DURABLE_LOAD);
    return open_files(*loaded);
}

#endif
