/* Keeps the write-ahead log of an SQLite journal short, free of damage, and its file allocated. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "host/backend_sqlite_inside.h"
#include "host/backend_sqlite_pages.h"

/* Fills the write-ahead log's file with zeros up to the size at which it is emptied. A sync into
 * existing blocks takes half the time of one that also records growth. SQLite stops reading at
 * zeros. Only in a write transaction. */
static void fill_log(struct sqlite_store *store)
{
    static const uint8_t zeros[1 << 16];
    const off_t wanted = (off_t)BACKEND_WAL_PAGES * (4096 + 24);
    struct buf name = { 0 };
    struct stat stat;
    int file;

    buf_put_text(&name, store->path);
    buf_put(&name, "-wal", sizeof "-wal");
    file = open((const char *)name.data, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    buf_fini(&name);
    if (file < 0 || fstat(file, &stat) != 0)
        stat.st_size = wanted;
    while (stat.st_size < wanted) {
        ssize_t written = pwrite(file, zeros, sizeof zeros, stat.st_size);

        if (written <= 0)
            break; /* a full disk: the next commit reports it */
        stat.st_size += written;
    }
    if (file >= 0) {
        (void)fdatasync(file);
        (void)close(file);
    }
}

void sqlite_fill_log(struct sqlite_store *store)
{
    if (sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return; /* another process writes */
    fill_log(store);
    (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL); /* nothing was written */
}

/* The log cannot be recovered beyond a damaged frame. So its pages are copied into the file, where
 * only the damaged one is refused. */
static void move_damage(struct sqlite_store *store)
{
    uint32_t met = sqlite_pages_damaged_frames();
    int result;

    if (met == store->frames_moved)
        return;
    turn_take(store->turn);
    (void)sqlite3_busy_timeout(store->db, TURN_STUCK_MS);
    result = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                       NULL, NULL);
    (void)sqlite3_busy_timeout(store->db, 0);
    if (result == SQLITE_OK)
        sqlite_fill_log(store);
    turn_give(store->turn);
    if ((result & 0xff) != SQLITE_BUSY) /* readers use it: the next call tries again */
        store->frames_moved = met;
}

static uint64_t size_of_log(int pages)
{
    return (uint64_t)pages * (4096 + 24); /* a frame has a header of 24 bytes */
}

struct tidying {
    struct sqlite_store *store;
    struct backend_kept *kept;
};

static void tidy(void *context)
{
    const struct tidying *tidying = context;
    struct sqlite_store *store = tidying->store;
    struct backend_kept *kept = tidying->kept;
    int mode = SQLITE_CHECKPOINT_PASSIVE;
    int result;
    int pages = 0;
    int copied = 0;

    move_damage(store);
    if (store->wal_pages && store->wal_pages < BACKEND_WAL_PAGES_MAX)
        kept->size = 0; /* another process may have emptied it */
    if (store->wal_pages &&
        store->wal_pages < store->checkpoint_at - BACKEND_WAL_PAGES / 4)
        store->checkpoint_at = BACKEND_WAL_PAGES; /* the log was emptied */
    if (store->wal_pages < store->checkpoint_at)
        return;
    if (store->wal_pages >= BACKEND_WAL_PAGES_MAX)
        mode = SQLITE_CHECKPOINT_RESTART;
    /* During this process's turn no other process appends, so all of the log can be copied, and the
     * next writer starts it from the beginning. */
    turn_take(store->turn);
    if (mode == SQLITE_CHECKPOINT_RESTART)
        (void)sqlite3_busy_timeout(store->db, TURN_STUCK_MS);
    result = sqlite3_wal_checkpoint_v2(store->db, NULL, mode, &pages,
                                       &copied); /* if not, later */
    if (mode == SQLITE_CHECKPOINT_RESTART)
        (void)sqlite3_busy_timeout(store->db, 0);
    turn_give(store->turn);
    if (mode == SQLITE_CHECKPOINT_RESTART) {
        bool is_kept = (result & 0xff) == SQLITE_BUSY;

        kept->size = is_kept ? size_of_log(store->wal_pages) : 0;
        kept->tries += is_kept;
    }
    store->checkpoint_at = pages > 0 && copied == pages
                               ? BACKEND_WAL_PAGES
                               : store->wal_pages + BACKEND_WAL_PAGES / 4;
    store->wal_pages = 0; /* until the next commit sets it */
}

void sqlite_tidy(void *opened, struct backend_kept *kept)
{
    struct tidying tidying = { opened, kept };

    if (!tidying.store->fault[0])
        (void)sqlite_guard(tidying.store, tidy, &tidying);
}
