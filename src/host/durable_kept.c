/* Notices that the database or the lock of durable keys was deleted, replaced or cut while it is
 * open.
 *
 * LMDB goes on writing to a deleted file, and reads mapped memory of a cut one, which would end the
 * process. So each transaction is preceded by a look, and acknowledged only after another one. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "host/durable_inside.h"
#include "host/map_guard.h"

#define MADE "made\n" /* in the lock: a database was made here */

static void tell(struct durable_files *files, const char *name,
                 const char *what)
{
    (void)snprintf(files->fault, sizeof files->fault,
                   "durable keys in %.120s: \"%s\" was %s under this node: "
                   "nothing is stored any more; restore it and restart the node",
                   files->directory, name, what); /* may be cut */
}

void durable_keep(struct durable_files *files)
{
    mdb_filehandle_t file;
    struct stat lock;

    check(mdb_env_get_fd(files->env, &file) == 0);
    kept_file_take(&files->database, file);
    kept_file_take(&files->lock_file, files->lock);
    if (fstat(files->lock, &lock) == 0 && !lock.st_size)
        (void)!pwrite(files->lock, MADE, sizeof MADE - 1, 0); /* only for durable_was_made */
}

void durable_keep_grown(struct durable_files *files)
{
    mdb_filehandle_t file;
    struct stat found;

    check(mdb_env_get_fd(files->env, &file) == 0);
    if (fstat(file, &found) == 0 &&
        (uint64_t)found.st_size > files->database.size)
        files->database.size = (uint64_t)found.st_size;
}

void durable_abandon(struct durable_files *files)
{
    map_guard_abandon(files->env);
    files->env = NULL;
    tell(files, DURABLE_DATABASE, "cut or damaged");
}

bool durable_was_made(const struct durable_files *files)
{
    struct stat lock;

    return fstat(files->lock, &lock) == 0 && lock.st_size;
}

static void look_at(struct durable_files *files, const struct kept_file *kept,
                    const char *name, bool only)
{
    char *path = durable_path(files, name);
    const char *what = kept_file_change(kept, path, only);

    mem_free(path);
    if (what)
        tell(files, name, what);
}

bool durable_files_are_kept(struct durable_files *files, char *error)
{
    if (!files->fault[0])
        look_at(files, &files->database, DURABLE_DATABASE, true);
    if (!files->fault[0])
        look_at(files, &files->lock_file, DURABLE_LOCK, false);
    if (!files->fault[0])
        return true;
    (void)snprintf(error, DURABLE_ERROR_MAX, "%s", files->fault); /* of that size */
    return false;
}
