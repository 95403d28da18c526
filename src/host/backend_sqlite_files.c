/* Notices that the files of an open journal were deleted, replaced or cut.
 *
 * SQLite goes on writing to a deleted file, and maps memory of a cut one. So each group is preceded
 * by a look at the mapped files, and confirmed only after a look at the file and its log. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "host/backend_sqlite_inside.h"

static const char *const ends[WATCHED_FILES] = { "", "-wal", "-shm", "-turn" };

static bool look(const struct sqlite_store *store, enum watched which,
                 struct stat *found)
{
    struct buf name = { 0 };
    bool is_there;

    buf_put_text(&name, store->path);
    buf_put(&name, ends[which], strlen(ends[which]) + 1);
    is_there = stat((const char *)name.data, found) == 0;
    buf_fini(&name);
    return is_there;
}

void sqlite_watch(struct sqlite_store *store)
{
    struct stat found;

    for (int i = 0; i < WATCHED_FILES; i++) {
        if (!look(store, (enum watched)i, &found))
            continue; /* a reader may open before the log exists */
        store->watched[i].device = (uint64_t)found.st_dev;
        store->watched[i].inode = (uint64_t)found.st_ino;
        /* Another program may cut the log after it has emptied it. */
        store->watched[i].size =
            i == WATCHED_LOG ? 0 : (uint64_t)found.st_size;
    }
}

bool sqlite_is_intact(struct sqlite_store *store, enum watched first,
                      enum watched last)
{
    for (int i = (int)first; i <= (int)last && !store->fault[0]; i++) {
        const struct watched_file *watched = &store->watched[i];
        struct stat found;
        const char *what = NULL;

        if (!watched->inode)
            continue;
        if (!look(store, (enum watched)i, &found))
            what = "deleted";
        else if ((uint64_t)found.st_dev != watched->device ||
                 (uint64_t)found.st_ino != watched->inode)
            what = "replaced";
        else if ((uint64_t)found.st_size < watched->size)
            what = "cut";
        else if (i == WATCHED_MAIN && found.st_nlink > 1)
            what = "given a second name";
        if (what)
            (void)snprintf(store->fault, sizeof store->fault,
                           "journal %.80s%s was %s under this node: nothing is "
                           "stored any more; restore it and restart the node",
                           store->path, ends[i], what); /* fits */
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
