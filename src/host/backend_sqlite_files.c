/* Notices that the files of an open journal were deleted, replaced, cut or overwritten.
 *
 * SQLite goes on writing to a deleted file, and maps memory of a cut one. So each group is preceded
 * by a look at the mapped files, and confirmed only after a look at the file and its log. A call that
 * touches a file that was cut meanwhile is broken off. A claim, a replay, and each second have a look
 * at a few bytes of the files, as an older copy that is written over a file keeps its name. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "host/backend_sqlite_inside.h"
#include "host/backend_sqlite_pages.h"
#include "host/map_guard.h"

static const char *const ends[WATCHED_FILES] = { "", "-wal", "-shm", "-turn" };

sqlite3_file *sqlite_file_of(const struct sqlite_store *store)
{
    sqlite3_file *file = NULL;

    check(sqlite3_file_control(store->db, "main", SQLITE_FCNTL_FILE_POINTER,
                               &file) == SQLITE_OK &&
          file != NULL);
    return file;
}

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
    store->watched[WATCHED_MAIN].grows = true;
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

/* The index of a log may be overwritten, too: then it knows fewer frames than before. */
static bool is_index_kept(struct sqlite_store *store, sqlite3_file *file)
{
    struct frames_state state;
    bool is_older;

    if (!sqlite_pages_log_state(file, &state))
        return true; /* it is being written */
    is_older = state.salt == store->index_seen.salt && state.count < store->index_seen.count;
    if (!is_older)
        store->index_seen = state;
    return !is_older;
}

bool sqlite_is_kept(struct sqlite_store *store)
{
    sqlite3_file *file = sqlite_file_of(store);

    if (store->fault[0])
        return false;
    if (store->has_marks && !sqlite_pages_are_kept(file))
        tell(store, "", "overwritten");
    else if (!is_index_kept(store, file))
        tell(store, "-shm", "overwritten");
    else if (store->mode == BACKEND_WRITER && /* others check each frame that they read */
             !sqlite_pages_log_is_kept(file, &store->log_seen))
        tell(store, "-wal", "cut or overwritten");
    else if (store->turn && !turn_is_kept(store->turn))
        tell(store, "-turn", "overwritten");
    return !store->fault[0];
}

static void look(void *context)
{
    (void)sqlite_is_kept(context); /* the store remembers it */
}

bool sqlite_is_whole(void *opened, char *error)
{
    struct sqlite_store *store = opened;

    if (sqlite_is_intact(store, WATCHED_MAIN, WATCHED_TURN) &&
        sqlite_guard(store, look, store) && !store->fault[0])
        return true;
    (void)snprintf(error, BACKEND_ERROR_MAX, "%s", store->fault); /* of that size */
    return false;
}
