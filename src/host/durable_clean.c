/* Writes and checks `clean`, the file that tells that a database of durable keys was closed
 * orderly. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/check.h"
#include "host/durable_inside.h"

enum { READ_SIZE = 256 * 1024, WORD_MAX = 80 };

char *durable_path(const struct durable_files *files, const char *name)
{
    struct buf path = { 0 };

    buf_put_text(&path, files->directory);
    buf_put_text(&path, "/");
    buf_put_text(&path, name);
    buf_put_u8(&path, 0);
    return (char *)path.data;
}

int durable_sync_directory(const char *path)
{
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = directory < 0 ? -1 : fsync(directory);

    if (directory >= 0)
        (void)close(directory); /* nothing was written through it */
    return result;
}

/* Makes the text for the current database. False: it cannot be read. */
static bool make_word(const struct durable_files *files, char word[WORD_MAX])
{
    int file = open(files->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    XXH3_state_t *state = XXH3_createState();
    uint8_t *bytes = mem_alloc(READ_SIZE);
    uint64_t size = 0;
    ssize_t count = -1;

    check(state && XXH3_64bits_reset(state) == XXH_OK);
    while (file >= 0 && (count = read(file, bytes, READ_SIZE)) > 0) {
        (void)XXH3_64bits_update(state, bytes, (size_t)count); /* fails only for null */
        size += (uint64_t)count;
    }
    (void)snprintf(word, WORD_MAX, "%llu %016llx\n", (unsigned long long)size,
                   (unsigned long long)XXH3_64bits_digest(state)); /* fits */
    (void)XXH3_freeState(state);
    mem_free(bytes);
    if (file >= 0)
        (void)close(file); /* nothing was written */
    return count == 0;
}

int durable_clean_take(struct durable_files *files, bool *is_clean)
{
    char *path = durable_path(files, "clean");
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char expected[WORD_MAX];
    char found[WORD_MAX] = "";
    ssize_t count = file < 0 ? -1 : read(file, found, sizeof found - 1);
    int result = 0;

    *is_clean = count > 0 && make_word(files, expected) &&
                strcmp(found, expected) == 0;
    files->has_ended_well |= count > 0; /* also valid for a repeated load */
    if (file >= 0)
        (void)close(file); /* nothing was written */
    /* First: after a crash it would claim that no transaction was cut off. */
    if ((unlink(path) != 0 && errno != ENOENT) ||
        durable_sync_directory(files->directory) != 0)
        result = errno;
    mem_free(path);
    return result;
}

void durable_clean_leave(struct durable_files *files)
{
    char *path = durable_path(files, "clean");
    char word[WORD_MAX];
    int file = -1;

    if (make_word(files, word))
        file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                    0600);
    if (file >= 0) {
        (void)!write(file, word, strlen(word));
        (void)fsync(file);
        (void)close(file);
        (void)durable_sync_directory(files->directory);
    }
    mem_free(path);
}
