/* Opens, loads, writes and closes the database of durable keys. */
#define _GNU_SOURCE
#include "host/durable_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/durable_inside.h"
#include "host/map_guard.h"
#include "host/file.h"

_Static_assert(DURABLE_LOAD_SIZE_MAX >=
                   2 * (REPLICATOR_BYTES_MAX +
                        REPLICATOR_KEYS_MAX * (DURABLE_KEY_MAX + UINT64_C(64))),
               "values that two replicators stored can be loaded");

#define ROOM_MIN (64 * 1024) /* bytes; a partial write leaves less free space on a full disk */

static int failed(const struct durable_files *files, char *error,
                  const char *what, const char *why)
{
    (void)snprintf(error, DURABLE_ERROR_MAX, "durable keys in %s: %s: %s",
                   files->directory, what, why); /* may be cut */
    return -1;
}

/* ---- LMDB ---- */

static int open_trees(MDB_txn *txn, unsigned flags,
                      struct durable_trees *trees)
{
    int result = mdb_dbi_open(txn, "values", flags, &trees->values);

    return result == 0 ? mdb_dbi_open(txn, "names", flags, &trees->names)
                       : result;
}

int durable_env_open(struct durable_files *files, const char *path,
                     unsigned flags, MDB_env **opened,
                     struct durable_trees *trees)
{
    MDB_txn *txn = NULL;
    MDB_env *env = NULL;
    int result = mdb_env_create(&env);

    *opened = NULL;
    if (result == 0)
        result = mdb_env_set_mapsize(env, files->map_size);
    if (result == 0)
        result = mdb_env_set_maxdbs(env, 2);
    if (result == 0)
        /* One thread uses it, and our own lock guards the directory. */
        result = mdb_env_open(env, path,
                              flags | MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS,
                              0600);
    if (result == 0)
        result = mdb_txn_begin(env, NULL, flags & MDB_RDONLY, &txn);
    if (result == 0)
        result = open_trees(txn, flags & MDB_RDONLY ? 0 : MDB_CREATE, trees);
    if (txn && result == 0)
        result = mdb_txn_commit(txn);
    else if (txn)
        mdb_txn_abort(txn);
    if (result != 0 && env) {
        mdb_env_close(env);
        env = NULL;
    }
    *opened = env;
    return result;
}

static void close_env(struct durable_files *files)
{
    if (files->env)
        mdb_env_close(files->env);
    files->env = NULL;
}

int durable_env_walk(MDB_env *env, MDB_dbi tree,
                     bool (*each)(void *context, MDB_val *key, MDB_val *value),
                     void *context)
{
    MDB_cursor *cursor = NULL;
    MDB_txn *txn = NULL;
    MDB_val key, value;
    int result = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);

    if (result != 0)
        return result;
    result = mdb_cursor_open(txn, tree, &cursor);
    while (result == 0 &&
           (result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
        if (!each(context, &key, &value))
            result = ECANCELED;
    if (cursor)
        mdb_cursor_close(cursor);
    mdb_txn_abort(txn); /* it only read */
    return result == MDB_NOTFOUND ? 0 : result;
}

int durable_env_count(MDB_env *env, MDB_dbi tree, uint64_t *count)
{
    MDB_txn *txn = NULL;
    MDB_stat stat = { 0 };
    int result = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);

    if (result == 0)
        result = mdb_stat(txn, tree, &stat);
    if (txn)
        mdb_txn_abort(txn); /* it only read */
    *count = stat.ms_entries;
    return result;
}

/* A record without a value. */
static int put_bare(struct durable_files *files, MDB_txn *txn, MDB_dbi tree,
                    const struct buf *name, uint64_t number)
{
    struct buf *bytes = &files->scratch.bytes;
    MDB_val key = { name->size, name->data };
    MDB_val value;

    buf_clear(bytes);
    durable_encode(bytes, &(struct durable_record){
                              .cluster = files->cluster,
                              .number = number,
                              .key = buf_slice(name) });
    value = (MDB_val){ bytes->size, bytes->data };
    return mdb_put(txn, tree, &key, &value, 0);
}

/* Writes the key's name record (docs/protocol/durable.md). */
static int put_name(struct durable_files *files, MDB_txn *txn,
                    struct slice key, uint64_t number)
{
    struct buf *name = &files->scratch.name;

    buf_clear(name);
    durable_name_key(key, name);
    return put_bare(files, txn, files->trees.names, name, number);
}

static int erase_one(MDB_txn *txn, MDB_dbi tree, struct slice name)
{
    MDB_val key = { name.size, (void *)(uintptr_t)name.data };
    int result = mdb_del(txn, tree, &key, NULL);

    return result == MDB_NOTFOUND ? 0 : result;
}

/* Also erases its name and hold. */
static int erase(struct durable_files *files, MDB_txn *txn, struct slice key)
{
    struct buf *own = &files->scratch.name;
    int result = erase_one(txn, files->trees.values, key);

    buf_clear(own);
    durable_name_key(key, own);
    if (result == 0)
        result = erase_one(txn, files->trees.names, buf_slice(own));
    buf_clear(own);
    if (result == 0 && durable_hold_key(key, own))
        result = erase_one(txn, files->trees.values, buf_slice(own));
    return result;
}

static int write_change(struct durable_files *files, MDB_txn *txn,
                        const struct durable_change *change)
{
    struct buf *bytes = &files->scratch.bytes;
    struct durable_record record = {
        .cluster = files->cluster,
        .number = files->number,
        .key = slice_of(change->key, change->key_size),
        .value = buf_slice(&change->value),
    };
    MDB_val key = { change->key_size, change->key };
    MDB_val value;
    int result;

    if (change->erases)
        return erase(files, txn, record.key);
    buf_clear(bytes);
    durable_encode(bytes, &record);
    value = (MDB_val){ bytes->size, bytes->data };
    result = mdb_put(txn, files->trees.values, &key, &value, 0);
    return result == 0 ? put_name(files, txn, record.key, record.number)
                       : result;
}

/* Without changes only the mark. */
static int write_once(struct durable_files *files, const struct map *changes)
{
    struct map_entry entry;
    MDB_txn *txn = NULL;
    int result = mdb_txn_begin(files->env, NULL, 0, &txn);

    files->number++;
    for (uint32_t at = 0;
         changes && result == 0 && map_next(changes, &at, &entry);)
        result = write_change(files, txn, entry.value);
    if (result == 0)
        result = durable_mark_put(files, txn);
    if (result != 0 && txn)
        mdb_txn_abort(txn);
    if (result == 0)
        result = mdb_txn_commit(txn);
    else
        txn = NULL;
    if (result == 0) {
        files->must_mark = false;
        if (!changes)
            files->marked = files->number;
    } else if (!changes || !txn || result == MDB_MAP_FULL) {
        files->number--; /* it left no page with a value */
    } else {
        durable_mark_failed(files, files->number);
        files->must_mark = true;
    }
    return result;
}

/* A failed transaction may have left values in free pages. A mark alone declares them invalid
 * first, so at most one such transaction is unmarked. */
static int write_marked(struct durable_files *files, const struct map *changes)
{
    int result = files->must_mark ? write_once(files, NULL) : 0;

    return result == 0 ? write_once(files, changes) : result;
}

/* LMDB reports EIO for every partial write. */
static const char *reason_of(const struct durable_files *files, int result)
{
    struct statvfs disk;

    if (result == EIO && statvfs(files->directory, &disk) == 0 &&
        (uint64_t)disk.f_bavail * disk.f_frsize < ROOM_MIN)
        result = ENOSPC;
    return mdb_strerror(result);
}

struct writing {
    struct durable_files *files;
    const struct map *changes;
    int result;
};

/* Opens the database if it is closed. */
static void write_all(void *context)
{
    struct writing *writing = context;
    struct durable_files *files = writing->files;
    const struct map *changes = writing->changes;
    int result = 0;

    if (!files->env) {
        result = durable_env_open(files, files->path, 0, &files->env,
                                  &files->trees);
        if (result == 0)
            result = durable_mark_look(files);
    }
    if (result == 0)
        result = write_marked(files, changes);
    while (result == MDB_MAP_FULL && files->map_size < DURABLE_MAP_SIZE_MAX) {
        files->map_size = files->map_size < DURABLE_MAP_SIZE_MAX / 2
                              ? files->map_size * 2
                              : DURABLE_MAP_SIZE_MAX;
        result = mdb_env_set_mapsize(files->env, files->map_size);
        if (result == 0)
            result = write_marked(files, changes);
    }
    writing->result = result;
}

int durable_files_write(struct durable_files *files,
                        const struct map *changes, char *error)
{
    struct writing writing = { .files = files, .changes = changes };

    if (!files->is_loaded)
        return failed(files, error, "not written", "they are not loaded");
    if (!durable_files_are_kept(files, error))
        return -1;
    if (!map_guard_run(write_all, &writing))
        durable_abandon(files);
    else if (writing.result == 0)
        durable_keep_grown(files);
    if (!durable_files_are_kept(files, error))
        return -1;
    if (writing.result == 0)
        return 0;
    close_env(files); /* after some errors LMDB refuses every further call */
    return failed(files, error, "not written", reason_of(files, writing.result));
}

/* ---- opening ---- */

/* Reading a FIFO waits for ever for its writer. */
static int refuse_others(const struct durable_files *files, char *error)
{
    static const char *const names[] = { DURABLE_DATABASE, DURABLE_LOCK, "clean" };
    int result = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && result == 0; i++) {
        char *path = durable_path(files, names[i]);
        char why[64];

        (void)snprintf(why, sizeof why, "%s is no regular file: delete it", names[i]); /* fits */
        if (file_is_endless(path))
            result = failed(files, error, "cannot be used", why);
        mem_free(path);
    }
    return result;
}

static int lock(struct durable_files *files, char *error)
{
    char *path = durable_path(files, DURABLE_LOCK);

    files->lock =
        open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    mem_free(path);
    if (files->lock < 0)
        return failed(files, error, "cannot be used", strerror(errno));
    if (flock(files->lock, LOCK_EX | LOCK_NB) != 0)
        return failed(files, error, "cannot be used",
                      errno == EWOULDBLOCK ? "another system has them open"
                                           : strerror(errno));
    return 0;
}

/* A new directory survives a loss of power only after its parent's sync. */
static int make_directory(const struct durable_files *files)
{
    char *parent;
    int result;

    if (mkdir(files->directory, 0700) != 0)
        return errno == EEXIST ? 0 : -1;
    parent = durable_path(files, "..");
    result = durable_sync_directory(parent);
    mem_free(parent);
    if (result != 0)
        (void)rmdir(files->directory); /* so that the next start syncs it */
    return result;
}

int durable_files_open(struct durable_files **opened, const char *directory,
                       const char *cluster, uint64_t map_size, char *error)
{
    struct durable_files *files = mem_alloc(sizeof *files);
    int result = -1;

    files->directory = mem_text(directory);
    files->path = durable_path(files, DURABLE_DATABASE);
    files->cluster = durable_cluster(cluster);
    files->map_size = map_size;
    files->lock = -1;
    files->begin_ms = DURABLE_BEGIN_MS;
    files->silence_ms = DURABLE_SILENCE_MS;
    files->circle_ms = DURABLE_CIRCLE_MS;
    if (map_size < DURABLE_MAP_SIZE_MIN || map_size > DURABLE_MAP_SIZE_MAX)
        (void)failed(files, error, "cannot be used",
                     "lmdb.map-size must be 1 MiB to 64 GiB");
    else if (make_directory(files) != 0)
        (void)failed(files, error, "no directory", strerror(errno));
    else if (refuse_others(files, error) == 0)
        result = lock(files, error);
    if (result != 0) {
        durable_files_close(files);
        files = NULL;
    }
    *opened = files;
    return result;
}

void durable_files_stop(struct durable_files *files)
{
    atomic_store(&files->is_stopped, true);
}

void durable_files_close(struct durable_files *files)
{
    char error[DURABLE_ERROR_MAX];

    if (!files)
        return;
    if (files->env) {
        bool is_kept = durable_files_are_kept(files, error);

        close_env(files);
        if (is_kept)
            durable_clean_leave(files);
    }
    if (files->lock >= 0)
        (void)close(files->lock);
    vec_fini(&files->failed);
    buf_fini(&files->scratch.name);
    buf_fini(&files->scratch.bytes);
    buf_fini(&files->scratch.ranges);
    mem_free(files->directory);
    mem_free(files->path);
    mem_free(files);
}

/* ---- loading ---- */

struct filling {
    struct durable_files *files;
    const struct durable_found *found; /* null: the database is trusted */
    struct durable_request *request;
    VEC(uint64_t) numbers; /* of the first entries, users' keys in order */
    bool is_foreign;
    int result;
};

/* Null: there is none. */
static struct durable_entry *find_entry(struct filling *filling,
                                        struct slice key, uint64_t *number)
{
    struct durable_request *request = filling->request;
    uint32_t low = 0, high = filling->numbers.count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct durable_entry *entry = &request->entries.items[middle];
        int order = durable_order(durable_slice(request, entry->key), key);

        if (!order) {
            *number = filling->numbers.items[middle];
            return entry;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Marks the key as held because it is damaged, unless its record is later. */
static void take_hold(struct filling *filling,
                      const struct durable_record *record)
{
    struct slice key = durable_key_of(record->key);
    struct durable_request *request = filling->request;
    uint64_t number = 0;
    struct durable_entry *entry = find_entry(filling, key, &number);

    if (entry && number > record->number)
        return;
    if (!entry) {
        durable_request_add(request, key, slice_of(NULL, 0));
        entry = &request->entries.items[request->entries.count - 1];
        entry->is_lost = true;
    }
    entry->is_stale = !entry->is_lost;
    entry->is_held = true;
}

static bool add_pair(void *context, MDB_val *key, MDB_val *value)
{
    struct slice name = slice_of(key->mv_data, key->mv_size);
    struct slice bytes = slice_of(value->mv_data, value->mv_size);
    struct filling *filling = context;
    struct durable_request *request = filling->request;
    const struct durable_kept *kept = NULL;
    struct durable_record record;

    if (durable_decode(bytes, &record) || !slice_equal(record.key, name))
        return false;
    if (record.cluster != filling->files->cluster) {
        filling->is_foreign = true;
        return false;
    }
    if (slice_equal(name, durable_mark_key()))
        return durable_mark_take(filling->files, &record);
    if (request->bytes.size + name.size + record.value.size >
        DURABLE_LOAD_SIZE_MAX)
        return false;
    if (record.number > filling->files->number)
        filling->files->number = record.number;
    if (durable_is_hold(name)) {
        take_hold(filling, &record);
        return true;
    }
    durable_request_add(request, name, record.value);
    if (filling->numbers.count + 1 == request->entries.count)
        vec_push(&filling->numbers, record.number);
    if (filling->found)
        kept = map_get(&filling->found->latest, name);
    if (kept)
        request->entries.items[request->entries.count - 1].is_stale =
            kept->is_lost;
    return true;
}

static void read_all(void *context)
{
    struct filling *filling = context;
    struct durable_files *files = filling->files;

    if (!files->env)
        filling->result = durable_env_open(files, files->path, 0, &files->env,
                                           &files->trees);
    if (filling->result == 0)
        filling->result = durable_env_walk(files->env, files->trees.values,
                                           add_pair, filling);
}

/* Reads a database that was closed orderly or just written. 0, LMDB's error, or ECANCELED for a
 * wrong value. */
static int fill(struct durable_files *files, const struct durable_found *found,
                struct durable_request *request, bool *is_foreign)
{
    struct filling filling = { .files = files,
                               .found = found,
                               .request = request };
    int result;

    if (!map_guard_run(read_all, &filling)) {
        map_guard_abandon(files->env);
        files->env = NULL;
        filling.result = EIO;
    }
    result = filling.result;
    *is_foreign = filling.is_foreign;
    vec_fini(&filling.numbers);
    if (result == 0)
        return 0;
    close_env(files);
    request->entries.count = 0;
    buf_clear(&request->bytes);
    return result;
}

static bool has_hold(struct slice key)
{
    struct buf name = { 0 };
    bool has = durable_hold_key(key, &name);

    buf_fini(&name);
    return has;
}

/* Adds keys without a record, except those that can have a hold. */
static void add_lost(const struct durable_found *found,
                     struct durable_request *request)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&found->latest, &at, &entry);) {
        const struct durable_kept *kept = entry.value;

        if (kept->record || has_hold(entry.key))
            continue;
        durable_request_add(request, entry.key, slice_of(NULL, 0));
        request->entries.items[request->entries.count - 1].is_lost = true;
    }
}

/* Adds a hold if the last value is lost; the name then has the hold's number. */
static int put_kept(struct durable_files *files, MDB_txn *txn,
                    struct slice key, const struct durable_kept *kept)
{
    uint64_t number = kept->number;
    struct buf hold = { 0 };
    int result = 0;

    if (kept->record)
        result = mdb_put(txn, files->trees.values,
                         &(MDB_val){ key.size, (void *)(uintptr_t)key.data },
                         &(MDB_val){ kept->size, kept->record }, 0);
    if (result == 0 && kept->is_lost && durable_hold_key(key, &hold)) {
        number = files->number;
        result = put_bare(files, txn, files->trees.values, &hold, number);
    }
    buf_fini(&hold);
    if (result == 0 && number)
        result = put_name(files, txn, key, number);
    return result;
}

/* Uses transactions of bounded size. */
static int write_found(struct durable_files *files,
                       const struct durable_found *found)
{
    struct map_entry entry;
    MDB_txn *txn = NULL;
    size_t size = 0;
    int result = mdb_txn_begin(files->env, NULL, 0, &txn);

    files->failed.count = 0; /* a new file has no pages of these */
    if (found->is_damaged)
        files->number++; /* later than all that was found */
    if (result == 0)
        result = durable_mark_put(files, txn);
    for (uint32_t at = 0;
         result == 0 && map_next(&found->latest, &at, &entry);) {
        const struct durable_kept *kept = entry.value;

        result = put_kept(files, txn, entry.key, kept);
        size += kept->size;
        if (result != 0 || size < DURABLE_PENDING_SIZE_MAX)
            continue;
        size = 0;
        result = mdb_txn_commit(txn);
        txn = NULL;
        if (result == 0)
            result = mdb_txn_begin(files->env, NULL, 0, &txn);
    }
    if (txn && result == 0)
        return mdb_txn_commit(txn);
    if (txn)
        mdb_txn_abort(txn);
    return result;
}

/* The new database replaces the old one. */
static int write_anew(struct durable_files *files,
                      const struct durable_found *found)
{
    char *path = durable_path(files, DURABLE_DATABASE ".new");
    char *aside = durable_path(files, DURABLE_DATABASE ".damaged");
    int result;

    while (files->map_size < 8 * found->size)
        files->map_size *= 2;
    (void)unlink(path); /* of an interrupted start */
    result = durable_env_open(files, path, 0, &files->env, &files->trees);
    if (result == 0)
        result = write_found(files, found);
    if (result == 0)
        result = write_once(files, NULL); /* both heads have everything */
    /* A database exists at every moment: a start would take a missing one for a new one. */
    if (found->is_damaged)
        (void)unlink(aside);
    if (result == 0 && found->is_damaged && link(files->path, aside) != 0)
        result = errno;
    if (result == 0 && (rename(path, files->path) != 0 ||
                        durable_sync_directory(files->directory) != 0))
        result = errno;
    if (result != 0)
        close_env(files);
    mem_free(path);
    mem_free(aside);
    return result;
}

/* Loads an untrusted database. */
static int load_anew(struct durable_files *files,
                     struct durable_request *request)
{
    struct durable_found found = { .files = files };
    const char *what = "not loaded";
    const char *wrong = NULL;
    bool is_foreign = false;
    int result = 0;

    durable_recover(&found);
    request->is_refused = found.is_too_large || found.foreign;
    if (found.unread) {
        what = "not loaded: \"" DURABLE_DATABASE "\" cannot be read";
        wrong = found.unread;
    } else if (found.is_too_large) {
        wrong = "they are larger than a process may load";
    } else if (found.foreign) {
        wrong = "they belong to another cluster";
    }
    if (!wrong)
        result = write_anew(files, &found);
    if (!wrong && result == 0)
        result = fill(files, &found, request, &is_foreign);
    if (!wrong && result == 0)
        add_lost(&found, request);
    request->was_damaged = found.is_damaged;
    request->may_lack_keys = found.has_torn_values && found.has_torn_names;
    durable_found_fini(&found);
    if (result != 0)
        wrong = reason_of(files, result);
    return wrong ? failed(files, request->error, what, wrong) : 0;
}

void durable_files_load(struct durable_files *files,
                        struct durable_request *request)
{
    bool is_clean;
    bool is_foreign = false;
    struct stat about;
    int result = durable_clean_take(files, &is_clean);

    check(!files->is_loaded && request->verb == DURABLE_LOAD);
    if (result != 0) {
        (void)failed(files, request->error,
                     "not loaded: \"clean\" cannot be removed",
                     strerror(result));
        request->result = DURABLE_FAILED;
        return;
    }
    /* An empty database: a start was killed. After an orderly end, keys may be missing. */
    if (stat(files->path, &about) != 0 ||
        (S_ISREG(about.st_mode) && !about.st_size)) {
        result = write_anew(files, &(struct durable_found){ .files = files });
        if (result == 0)
            result = fill(files, NULL, request, &is_foreign);
        request->may_lack_keys =
            files->has_ended_well || durable_was_made(files);
        if (result != 0)
            (void)failed(files, request->error, "not loaded",
                         reason_of(files, result));
    } else {
        /* A second name would get this node's changes, and another node might use it. */
        is_clean = is_clean && about.st_nlink == 1;
        result = is_clean ? fill(files, NULL, request, &is_foreign) : -1;
        request->is_refused = is_foreign;
        if (is_foreign)
            (void)failed(files, request->error, "not loaded",
                         "they belong to another cluster");
        else if (result != 0)
            result = load_anew(files, request);
    }
    if (result != 0)
        close_env(files);
    files->is_loaded = result == 0;
    if (files->is_loaded)
        durable_keep(files);
    request->result = result == 0 ? DURABLE_DONE : DURABLE_FAILED;
}
