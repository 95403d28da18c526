/* Wraps SQLite's file system: it signs pages that are written to a database's file, and checks
 * those that are read from it, or from its write-ahead log.
 *
 * SQLite sees zeros in place of checksums. So pages in the log, which has its own checksums, have
 * zeros there, too, and so have pages that another program copies from it. */
#include "host/backend_sqlite_pages.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "host/backend_sqlite_frames.h"

#define PAGE_SIZE 4096
#define HEADER_SIZE 100
#define COUNT_AT 28 /* in the header: pages, as a number of four bytes */
#define RESERVED_AT 20 /* in the header: bytes that each page reserves at its end */
#define CHECKPOINT_LOCK 1 /* SQLite's: its holder copies the log into the file */
#define SUM_AT (PAGE_SIZE - SQLITE_PAGES_RESERVED)

/* A database's file, or its log. The real file follows. */
struct shim {
    sqlite3_file base;
    struct shim *other; /* a file's log, or null; a log's file */
    bool has_sums;
    bool copies;        /* a checkpoint is copying the log into it */
    bool copies_damage; /* the frame that it read last is damaged */
    const volatile uint8_t *index; /* SQLite's mapped index of the log, or null */
    struct page_marks *marks;      /* lent; null: none */
};

static sqlite3_vfs *real_vfs;
static _Atomic uint32_t damaged_frames;
/* The page that this thread met last, from 1, or the frame. */
static _Thread_local uint32_t damaged;
static _Thread_local bool damaged_in_log;

static sqlite3_file *real(sqlite3_file *file)
{
    return (sqlite3_file *)(void *)((struct shim *)(void *)file + 1);
}

/* Fields of the header that a backup by another program changes, and that hold no data: the file
 * format's versions, the change counter, the schema cookie, and the version of the last writer. */
static const struct {
    uint8_t at;
    uint8_t size;
} changing[] = { { 18, 2 }, { 24, 4 }, { 40, 4 }, { 92, 8 } };

/* A page at another place does not fit. Never zero. */
static uint64_t sum_of(const uint8_t *page, sqlite3_int64 at)
{
    uint8_t first[PAGE_SIZE];

    if (at == 0) {
        memcpy(first, page, PAGE_SIZE);
        for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
            memset(first + changing[i].at, 0, changing[i].size);
        page = first;
    }
    return (hash_bytes(slice_of(page, SUM_AT)) ^
            ((uint64_t)at * UINT64_C(0x9e3779b97f4a7c15))) |
           1;
}

static bool is_page(int size, sqlite3_int64 at)
{
    return size == PAGE_SIZE && at % PAGE_SIZE == 0;
}

static void read_header(struct shim *shim, const uint8_t *bytes, int size,
                        sqlite3_int64 at)
{
    if (at == 0 && size >= HEADER_SIZE)
        shim->has_sums = bytes[RESERVED_AT] == SQLITE_PAGES_RESERVED;
}

static int damaged_at(sqlite3_int64 at)
{
    damaged = (uint32_t)(at / PAGE_SIZE) + 1;
    damaged_in_log = false;
    return SQLITE_IOERR_DATA;
}

/* A checkpoint goes on: it takes the damage along, so that the log with the commits behind the frame
 * can be emptied. */
static int damaged_frame_at(struct shim *main, sqlite3_int64 at)
{
    damaged = frames_number(at);
    damaged_in_log = true;
    atomic_fetch_add(&damaged_frames, 1);
    if (!main->copies || !main->has_sums)
        return SQLITE_IOERR_DATA;
    main->copies_damage = true;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at)
{
    struct shim *main = ((struct shim *)(void *)file)->other;
    int result = real(file)->pMethods->xRead(real(file), bytes, size, at);

    if (!frames_is_page(size, at) ||
        (result != SQLITE_OK && result != SQLITE_IOERR_SHORT_READ))
        return result;
    if (result == SQLITE_OK && frames_fits(real(file), bytes, at, main->index))
        return SQLITE_OK;
    return damaged_frame_at(main, at);
}

static int log_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at)
{
    if (at == 0) /* the first frames are about to be replaced */
        (void)sqlite_pages_are_kept((sqlite3_file *)(void *)((struct shim *)(void *)file)->other);
    return real(file)->pMethods->xWrite(real(file), bytes, size, at);
}

static int shim_read(sqlite3_file *file, void *bytes, int size,
                     sqlite3_int64 at)
{
    struct shim *shim = (struct shim *)(void *)file;
    int result = real(file)->pMethods->xRead(real(file), bytes, size, at);
    uint8_t *page = bytes;
    uint64_t sum;

    if (result == SQLITE_IOERR_SHORT_READ && shim->has_sums &&
        is_page(size, at))
        return damaged_at(at); /* the file was cut */
    if (result != SQLITE_OK)
        return result;
    if (!shim->has_sums)
        read_header(shim, page, size, at);
    if (!shim->has_sums || !is_page(size, at))
        return SQLITE_OK;
    memcpy(&sum, page + SUM_AT, sizeof sum);
    if (sum && sum != sum_of(page, at))
        return damaged_at(at);
    memset(page + SUM_AT, 0, SQLITE_PAGES_RESERVED);
    return SQLITE_OK;
}

static int shim_write(sqlite3_file *file, const void *bytes, int size,
                      sqlite3_int64 at)
{
    struct shim *shim = (struct shim *)(void *)file;
    uint32_t number = (uint32_t)(at / PAGE_SIZE) + 1;
    uint8_t page[PAGE_SIZE];
    uint64_t sum;
    int result;

    read_header(shim, bytes, size, at);
    if (!shim->has_sums || !is_page(size, at))
        return real(file)->pMethods->xWrite(real(file), bytes, size, at);
    memcpy(page, bytes, PAGE_SIZE);
    sum = sum_of(page, at);
    if (shim->copies_damage)
        sum = ~sum | 1; /* fits no page */
    shim->copies_damage = false;
    memcpy(page + SUM_AT, &sum, sizeof sum);
    if (shim->marks)
        page_marks_begin(shim->marks, number, sum);
    result = real(file)->pMethods->xWrite(real(file), page, size, at);
    if (shim->marks)
        page_marks_end(shim->marks, number, sum, result == SQLITE_OK);
    return result;
}

static bool lock_copying(sqlite3_file *inner)
{
    return inner->pMethods->iVersion >= 2 &&
           inner->pMethods->xShmLock(inner, CHECKPOINT_LOCK, 1,
                                     SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE) == SQLITE_OK;
}

static void unlock_copying(sqlite3_file *inner)
{
    check(inner->pMethods->xShmLock(inner, CHECKPOINT_LOCK, 1,
                                    SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE) == SQLITE_OK);
}

/* Reads a page's checksum alone. */
static bool mark_fits(const struct page_mark *mark, sqlite3_file *inner)
{
    uint32_t page = atomic_load(&mark->page);
    uint64_t sum;

    return page == 0 ||
           (inner->pMethods->xRead(inner, &sum, sizeof sum,
                                   (sqlite3_int64)page * PAGE_SIZE - SQLITE_PAGES_RESERVED) ==
                SQLITE_OK &&
            page_mark_fits(mark, sum));
}

static bool log_is_empty(struct shim *log)
{
    sqlite3_file *inner = real((sqlite3_file *)(void *)log);
    sqlite3_int64 size;

    return inner->pMethods->xFileSize(inner, &size) == SQLITE_OK && size == 0;
}

/* Tells whether a page that lacks its mark's checksum was copied from the log by another program, which
 * signs nothing. A page whose own checksum does not fit is damaged, not replaced. */
static bool is_copied(struct shim *shim, struct page_mark *mark, sqlite3_file *inner)
{
    uint32_t number = atomic_load(&mark->page);
    sqlite3_int64 at = ((sqlite3_int64)number - 1) * PAGE_SIZE;
    uint8_t page[PAGE_SIZE];
    uint64_t stored, sum;
    bool has_log = shim->other != NULL;
    int result = inner->pMethods->xRead(inner, page, PAGE_SIZE, at);

    if (result != SQLITE_OK) /* the file was cut, or the disk fails */
        return result != SQLITE_IOERR_SHORT_READ;
    memcpy(&stored, page + SUM_AT, sizeof stored);
    memset(page + SUM_AT, 0, SQLITE_PAGES_RESERVED);
    sum = sum_of(page, at);
    if (page_mark_fits(mark, sum) || (stored && stored != sum))
        return true;
    if (!has_log || !(frames_has_page(real(&shim->other->base), number, page) ||
                      (!stored && log_is_empty(shim->other))))
        return false;
    page_marks_begin(shim->marks, number, stored ? stored : sum);
    page_marks_end(shim->marks, number, stored ? stored : sum, true);
    return true;
}

/* Under the checkpoint's lock, so that no page is being written. */
static bool are_kept(struct shim *shim, sqlite3_file *inner)
{
    for (uint32_t i = 0; i < PAGE_MARKS; i++)
        if (!mark_fits(&shim->marks->marks[i], inner) &&
            !is_copied(shim, &shim->marks->marks[i], inner))
            return false;
    return true;
}

bool sqlite_pages_are_kept(sqlite3_file *file)
{
    struct shim *shim = (struct shim *)(void *)file;
    sqlite3_file *inner = real(file);
    bool fits = true;

    if (!shim->has_sums || !shim->marks)
        return true;
    for (uint32_t i = 0; i < PAGE_MARKS && fits; i++)
        fits = mark_fits(&shim->marks->marks[i], inner);
    if (fits || !shim->index || !lock_copying(inner))
        return true;
    fits = are_kept(shim, inner);
    unlock_copying(inner);
    return fits;
}

void sqlite_pages_mark(sqlite3_file *file, struct page_marks *marks)
{
    ((struct shim *)(void *)file)->marks = marks;
}

bool sqlite_pages_log_is_kept(sqlite3_file *file, struct frames_state *seen)
{
    const struct shim *shim = (const struct shim *)(const void *)file;

    return !shim->other || frames_are_kept(real(&shim->other->base), shim->index, seen);
}

bool sqlite_pages_log_state(sqlite3_file *file, struct frames_state *state)
{
    return frames_read_state(((const struct shim *)(const void *)file)->index, state);
}

/* Under the checkpoint's lock, so that the page does not change. Readers see zeros or the checksum. A
 * page that another program replaced is left alone. */
static bool sign(struct shim *shim, sqlite3_file *inner, sqlite3_int64 at)
{
    uint8_t page[PAGE_SIZE];
    struct page_mark *mark;
    uint64_t sum;

    if (inner->pMethods->xRead(inner, page, PAGE_SIZE, at) != SQLITE_OK)
        return false;
    memcpy(&sum, page + SUM_AT, sizeof sum);
    if (sum || !shim->has_sums)
        return false;
    mark = shim->marks ? page_marks_find(shim->marks, (uint32_t)(at / PAGE_SIZE) + 1) : NULL;
    if (mark && !is_copied(shim, mark, inner))
        return false;
    sum = sum_of(page, at);
    return inner->pMethods->xWrite(inner, &sum, sizeof sum, at + SUM_AT) == SQLITE_OK;
}

bool sqlite_pages_sign(sqlite3_file *file, uint32_t page)
{
    struct shim *shim = (struct shim *)(void *)file;
    sqlite3_file *inner = real(file);
    bool is_signed;

    if (!lock_copying(inner))
        return false;
    is_signed = sign(shim, inner, (sqlite3_int64)page * PAGE_SIZE);
    unlock_copying(inner);
    return is_signed;
}

/* Returns the number of pages that an intact first page states; else 0. */
static uint32_t stated_pages(sqlite3_file *inner)
{
    uint8_t page[PAGE_SIZE];
    uint64_t sum;

    if (inner->pMethods->xRead(inner, page, PAGE_SIZE, 0) != SQLITE_OK)
        return 0;
    memcpy(&sum, page + SUM_AT, sizeof sum);
    if (sum != sum_of(page, 0))
        return 0;
    return (uint32_t)page[COUNT_AT] << 24 | (uint32_t)page[COUNT_AT + 1] << 16 |
           (uint32_t)page[COUNT_AT + 2] << 8 | page[COUNT_AT + 3];
}

void sqlite_pages_refuse_missing(sqlite3_file *file)
{
    const struct shim *shim = (const struct shim *)(const void *)file;
    sqlite3_file *inner = real(file);
    sqlite3_int64 size, end;

    if (!shim->has_sums || inner->pMethods->xFileSize(inner, &size) != SQLITE_OK ||
        !lock_copying(inner))
        return;
    end = (sqlite3_int64)stated_pages(inner) * PAGE_SIZE;
    for (sqlite3_int64 at = size - size % PAGE_SIZE; at < end; at += PAGE_SIZE) {
        uint8_t page[PAGE_SIZE] = { 0 };
        uint64_t sum;

        (void)inner->pMethods->xRead(inner, page, PAGE_SIZE, at); /* a part of it */
        sum = ~sum_of(page, at) | 1;
        memcpy(page + SUM_AT, &sum, sizeof sum);
        (void)inner->pMethods->xWrite(inner, page, PAGE_SIZE, at); /* else it is still missing */
    }
    unlock_copying(inner);
}

void sqlite_pages_sign_all(sqlite3_file *file, uint32_t max)
{
    struct shim *shim = (struct shim *)(void *)file;
    sqlite3_file *inner = real(file);
    sqlite3_int64 size;

    if (!shim->has_sums || inner->pMethods->xFileSize(inner, &size) != SQLITE_OK ||
        size / PAGE_SIZE > max || !lock_copying(inner))
        return;
    for (sqlite3_int64 at = 0; at + PAGE_SIZE <= size; at += PAGE_SIZE) {
        uint64_t sum;

        if (inner->pMethods->xRead(inner, &sum, sizeof sum, at + SUM_AT) == SQLITE_OK && !sum)
            (void)sign(shim, inner, at); /* else the check does it */
    }
    unlock_copying(inner);
}

bool sqlite_pages_have_sums(sqlite3_file *file)
{
    return ((const struct shim *)(const void *)file)->has_sums;
}

bool sqlite_pages_find_sums(sqlite3_file *file)
{
    struct shim *shim = (struct shim *)(void *)file;
    sqlite3_file *inner = real(file);
    uint8_t header[HEADER_SIZE];
    sqlite3_int64 size;

    if (shim->has_sums || inner->pMethods->xFileSize(inner, &size) != SQLITE_OK)
        return shim->has_sums;
    if (size == 0)
        shim->has_sums = true;
    else if (inner->pMethods->xRead(inner, header, HEADER_SIZE, 0) == SQLITE_OK)
        read_header(shim, header, HEADER_SIZE, 0);
    return shim->has_sums;
}

static int log_close(sqlite3_file *file)
{
    ((struct shim *)(void *)file)->other->other = NULL;
    return real(file)->pMethods->xClose(real(file));
}

/* The other calls are passed on. */

static int shim_close(sqlite3_file *file)
{
    return real(file)->pMethods->xClose(real(file));
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return real(file)->pMethods->xTruncate(real(file), size);
}

static int shim_sync(sqlite3_file *file, int flags)
{
    return real(file)->pMethods->xSync(real(file), flags);
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real(file)->pMethods->xFileSize(real(file), size);
}

static int shim_lock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xLock(real(file), level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return real(file)->pMethods->xUnlock(real(file), level);
}

static int shim_reserved(sqlite3_file *file, int *result)
{
    return real(file)->pMethods->xCheckReservedLock(real(file), result);
}

static int shim_control(sqlite3_file *file, int operation, void *argument)
{
    struct shim *shim = (struct shim *)(void *)file;

    if (operation == SQLITE_FCNTL_CKPT_START || operation == SQLITE_FCNTL_CKPT_DONE) {
        shim->copies = operation == SQLITE_FCNTL_CKPT_START;
        shim->copies_damage = false;
    }
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}

static int shim_sector(sqlite3_file *file)
{
    return real(file)->pMethods->xSectorSize(real(file));
}

static int shim_device(sqlite3_file *file)
{
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static int shim_shm_map(sqlite3_file *file, int region, int size, int extends,
                        void volatile **mapped)
{
    int result = real(file)->pMethods->xShmMap(real(file), region, size, extends,
                                               mapped);

    if (region == 0 && result == SQLITE_OK)
        ((struct shim *)(void *)file)->index = *mapped;
    return result;
}

static int shim_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    real(file)->pMethods->xShmBarrier(real(file));
}

static int shim_shm_unmap(sqlite3_file *file, int deletes)
{
    ((struct shim *)(void *)file)->index = NULL;
    return real(file)->pMethods->xShmUnmap(real(file), deletes);
}

/* Version 2 has no memory mapping, which would go past shim_read. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_reserved,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_device,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_reserved,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_device,
};

/* SQLite opens a log after its file. */
static void join_log(struct shim *log, const char *name)
{
    log->other = (struct shim *)(void *)sqlite3_database_file_object(name);
    log->other->other = log;
    log->base.pMethods = &log_methods;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                    int flags, int *flags_out)
{
    struct shim *shim = (struct shim *)(void *)file;
    int result;

    (void)vfs;
    if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
        return real_vfs->xOpen(real_vfs, name, file, flags, flags_out);
    memset(shim, 0, sizeof *shim);
    result = real_vfs->xOpen(real_vfs, name, real(file), flags, flags_out);
    if (!real(file)->pMethods) /* set also after an error: it must be closed */
        return result;
    if (flags & SQLITE_OPEN_WAL)
        join_log(shim, name);
    else
        shim->base.pMethods = &methods;
    return result;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int syncs)
{
    (void)vfs;
    return real_vfs->xDelete(real_vfs, name, syncs);
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags,
                      int *result)
{
    (void)vfs;
    return real_vfs->xAccess(real_vfs, name, flags, result);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size,
                         char *path)
{
    (void)vfs;
    return real_vfs->xFullPathname(real_vfs, name, size, path);
}

static int vfs_random(sqlite3_vfs *vfs, int size, char *bytes)
{
    (void)vfs;
    return real_vfs->xRandomness(real_vfs, size, bytes);
}

static int vfs_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return real_vfs->xSleep(real_vfs, us);
}

static int vfs_time(sqlite3_vfs *vfs, double *now)
{
    (void)vfs;
    return real_vfs->xCurrentTime(real_vfs, now);
}

static int vfs_error(sqlite3_vfs *vfs, int size, char *text)
{
    (void)vfs;
    return real_vfs->xGetLastError(real_vfs, size, text);
}

static sqlite3_vfs pages_vfs = {
    .iVersion = 1,
    .zName = "sherd-pages",
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_path,
    .xRandomness = vfs_random,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_time,
    .xGetLastError = vfs_error,
};

static void register_vfs(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    check(real_vfs != NULL);
    pages_vfs.szOsFile = (int)sizeof(struct shim) + real_vfs->szOsFile;
    pages_vfs.mxPathname = real_vfs->mxPathname;
    check(sqlite3_vfs_register(&pages_vfs, 0) == SQLITE_OK);
}

const char *sqlite_pages_vfs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    check(pthread_once(&once, register_vfs) == 0);
    return pages_vfs.zName;
}

void sqlite_pages_describe(char *text, size_t size)
{
    (void)snprintf(text, size, damaged_in_log ? "frame %u of the log is damaged"
                                              : "page %u of the file is damaged",
                   damaged); /* fits */
}

uint32_t sqlite_pages_damaged_frames(void)
{
    return atomic_load(&damaged_frames);
}
