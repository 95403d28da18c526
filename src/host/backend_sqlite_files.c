/* Notices that the files of an open journal were deleted, replaced or cut.
 *
 * SQLite goes on writing to a deleted file, and maps memory of a cut one. So each group is preceded
 * by a look at the mapped files, and confirmed only after a look at the file and its log. A call that
 * touches a file that was cut meanwhile is broken off. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "host/backend_sqlite_inside.h"
#include "host/map_guard.h"

static const char *const ends[WATCHED_FILES] = { "", "-wal", "-shm", "-turn" };

/* Returns the path of one file. The caller frees it. */
static char *path_of(const struct sqlite_store *store, enum watched which)
{
    struct buf name = { 0 };

    buf_put_text(&name, store->path);
    buf_put(&name, ends[which], strlen(ends[which]) + 1);
    return (char *)name.data;
}

static void tell(struct sqlite_store *store, const char *end, const char *what)
{
    (void)snprintf(store->fault, sizeof store->fault,
                   "journal %s%s was %s under this node: nothing is stored any "
                   "more; restore it and restart the node",
                   store->label, end, what); /* fits */
}

void sqlite_watch(struct sqlite_store *store)
{
    for (int i = 0; i < WATCHED_FILES; i++) {
        char *path = path_of(store, (enum watched)i);

        kept_file_take_path(&store->watched[i], path); /* a reader may open before the log exists */
        mem_free(path);
    }
    /* Another program may cut the log after it has emptied it. */
    store->watched[WATCHED_LOG].size = 0;
}

bool sqlite_is_intact(struct sqlite_store *store, enum watched first,
                      enum watched last)
{
    for (int i = (int)first; i <= (int)last && !store->fault[0]; i++) {
        char *path = path_of(store, (enum watched)i);
        const char *what = kept_file_change_in(&store->watched[i], store->folder,
                                               path, i == WATCHED_MAIN);

        mem_free(path);
        if (what)
            tell(store, ends[i], what);
    }
    return !store->fault[0];
}

bool sqlite_guard(struct sqlite_store *store, void (*call)(void *context),
                  void *context)
{
    if (map_guard_run(call, context))
        return true;
    map_guard_abandon(store->db);
    store->is_broken = true;
    (void)sqlite_is_intact(store, WATCHED_MAIN, WATCHED_TURN); /* names the file */
    if (!store->fault[0])
        tell(store, "", "cut or damaged");
    return false;
}

bool sqlite_is_whole(void *opened, char *error)
{
    struct sqlite_store *store = opened;

    if (sqlite_is_intact(store, WATCHED_MAIN, WATCHED_TURN))
        return true;
    (void)snprintf(error, BACKEND_ERROR_MAX, "%s", store->fault); /* of that size */
    return false;
}
