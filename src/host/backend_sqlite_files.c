/* Notices that the files of an open journal were deleted, replaced or cut.
 *
 * SQLite goes on writing to a deleted file, and maps memory of a cut one. So each group is preceded
 * by a look at the mapped files, and confirmed only after a look at the file and its log. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "host/backend_sqlite_inside.h"

static const char *const ends[WATCHED_FILES] = { "", "-wal", "-shm", "-turn" };

/* Returns 0 or an error's number. The path wins: another program that opens it shall find the same
 * file. Where it leads nowhere, as after chroot, the folder of the open counts. */
static int look(const struct sqlite_store *store, enum watched which,
                struct stat *found)
{
    struct buf name = { 0 };
    const char *path, *slash;
    int error;

    buf_put_text(&name, store->path);
    buf_put(&name, ends[which], strlen(ends[which]) + 1);
    path = (const char *)name.data;
    slash = strrchr(path, '/');
    error = stat(path, found) == 0 ? 0 : errno;
    if (error && store->folder >= 0 &&
        fstatat(store->folder, slash ? slash + 1 : path, found, 0) == 0)
        error = 0;
    buf_fini(&name);
    return error;
}

/* The fault lasts: what happened meanwhile cannot be known. */
static void set_fault(struct sqlite_store *store, enum watched which,
                      const char *what, int error)
{
    if (error)
        (void)snprintf(store->fault, sizeof store->fault,
                       "journal %s%s can no longer be looked at: %.30s: "
                       "nothing is stored any more; restart with access to it",
                       store->label, ends[which], strerror(error)); /* fits */
    else
        (void)snprintf(store->fault, sizeof store->fault,
                       "journal %s%s was %s under this node: nothing is stored "
                       "any more; restore it and restart the node",
                       store->label, ends[which], what); /* fits */
}

void sqlite_watch(struct sqlite_store *store)
{
    struct stat found;

    for (int i = 0; i < WATCHED_FILES; i++) {
        if (look(store, (enum watched)i, &found) != 0)
            continue; /* a reader may open before the log exists */
        store->watched[i].device = (uint64_t)found.st_dev;
        store->watched[i].inode = (uint64_t)found.st_ino;
        /* Another program may cut the log after it has emptied it. */
        store->watched[i].size =
            i == WATCHED_LOG ? 0 : (uint64_t)found.st_size;
    }
}

/* Returns what happened to a file that is there; null: nothing. */
static const char *change_of(const struct watched_file *watched,
                             enum watched which, const struct stat *found)
{
    if ((uint64_t)found->st_dev != watched->device ||
        (uint64_t)found->st_ino != watched->inode)
        return "replaced";
    if ((uint64_t)found->st_size < watched->size)
        return "cut";
    return which == WATCHED_MAIN && found->st_nlink > 1 ? "given a second name"
                                                        : NULL;
}

bool sqlite_is_intact(struct sqlite_store *store, enum watched first,
                      enum watched last)
{
    for (int i = (int)first; i <= (int)last && !store->fault[0]; i++) {
        enum watched which = (enum watched)i;
        const char *what = NULL;
        struct stat found;
        int error;

        if (!store->watched[i].inode)
            continue;
        error = look(store, which, &found);
        if (error == ENOENT || error == ENOTDIR)
            set_fault(store, which, "deleted", 0);
        else if (error)
            set_fault(store, which, NULL, error);
        else if ((what = change_of(&store->watched[i], which, &found)))
            set_fault(store, which, what, 0);
    }
    return !store->fault[0];
}

bool sqlite_is_whole(void *opened, char *error)
{
    struct sqlite_store *store = opened;

    if (sqlite_is_intact(store, WATCHED_MAIN, WATCHED_TURN))
        return true;
    (void)snprintf(error, BACKEND_ERROR_MAX, "%s", store->fault); /* of that size */
    return false;
}
