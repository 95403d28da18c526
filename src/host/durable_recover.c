/* Reads an untrusted database of durable keys, by child processes and by a search of its bytes.
 *
 * docs/protocol/durable.md has the rules. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/durable_inside.h"

#define RECORD_MAX (DURABLE_NAME_SIZE + DURABLE_VALUE_MAX + DURABLE_OVERHEAD)
#define SLICE_MS 200 /* between checks whether to stop */
#define WINDOW_SIZE (16 * 1024 * 1024) /* bytes that are searched at a time */

/* Sizes of the key and record that follow. After the last pair: end_of_tree, and the tree's own
 * count of pairs. */
struct sizes {
    uint32_t key;
    uint32_t record;
};

static const struct sizes end_of_tree = { UINT32_MAX, UINT32_MAX };

void durable_found_fini(struct durable_found *found)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&found->latest, &at, &entry);) {
        struct durable_kept *kept = entry.value;

        mem_free(kept->record);
        mem_free(kept);
    }
    map_fini(&found->latest);
}

static struct durable_kept *kept_of(struct durable_found *found,
                                    struct slice key)
{
    struct durable_kept *kept = map_get(&found->latest, key);

    if (kept)
        return kept;
    kept = mem_alloc(sizeof *kept);
    (void)map_put(&found->latest, key, kept); /* there was none */
    found->size += key.size;
    return kept;
}

static void keep(struct durable_found *found, struct durable_kept *kept,
                 uint64_t number, struct slice record)
{
    found->size += record.size - kept->size;
    mem_free(kept->record);
    kept->record = mem_copy(record.data, record.size);
    kept->size = record.size;
    kept->number = number;
    if (number > found->files->number)
        found->files->number = number;
}

static void add(struct durable_found *found,
                const struct durable_record *record, struct slice bytes)
{
    struct durable_kept *kept = kept_of(found, record->key);

    if (!kept->record || record->number > kept->number)
        keep(found, kept, record->number, bytes);
    if (found->size > DURABLE_LOAD_SIZE_MAX)
        found->is_too_large = true;
}

/* The last record of a key has at least that number. */
static struct durable_kept *expect(struct durable_found *found,
                                   struct slice key, uint64_t number)
{
    struct durable_kept *kept = kept_of(found, key);

    if (number > kept->last)
        kept->last = number;
    return kept;
}

static bool is_torn(const struct durable_found *found)
{
    return found->has_torn_values && found->has_torn_names;
}

static void tear_values(struct durable_found *found)
{
    found->is_damaged = found->has_torn_values = true;
}

static void tear_names(struct durable_found *found)
{
    found->is_damaged = found->has_torn_names = true;
}

static void add_mark(struct durable_found *found,
                     const struct durable_record *record)
{
    if (durable_mark_take(found->files, record))
        found->is_marked = true;
    else
        found->is_damaged = true;
}

/* An intact record belongs to the key inside it: LMDB's own copy of the key has no checksum. */
static void add_named(struct durable_found *found, struct slice key,
                      const struct durable_record *record, struct slice bytes)
{
    bool is_own = slice_equal(record->key, key);

    found->is_damaged |= !is_own;
    if (slice_equal(record->key, durable_mark_key())) {
        add_mark(found, record);
    } else if (durable_is_hold(record->key)) {
        expect(found, durable_key_of(record->key), record->number)->held =
            record->number;
    } else if (durable_key_is_good(record->key)) {
        struct durable_kept *kept =
            expect(found, record->key, record->number);

        add(found, record, bytes);
        kept->is_named |= is_own;
        if (!is_own && durable_key_is_good(key))
            kept_of(found, key)->other = kept;
    } else {
        tear_values(found);
    }
}

/* The name may be damaged, too. */
static void add_damaged(struct durable_found *found, struct slice key,
                        struct slice bytes)
{
    bool is_hold = durable_is_hold(key);
    struct slice name = is_hold ? durable_key_of(key) : key;

    found->is_damaged = true;
    if (slice_equal(key, durable_mark_key()))
        return;
    if (!durable_names(bytes, key))
        tear_values(found);
    if (!durable_key_is_good(name))
        return;
    kept_of(found, name)->is_lost = true;
    kept_of(found, name)->is_named |= !is_hold;
}

static void add_pair(struct durable_found *found, struct slice key,
                     struct slice bytes)
{
    struct durable_record record;

    if (durable_decode(bytes, &record)) {
        add_damaged(found, key, bytes);
    } else if (record.cluster != found->files->cluster) {
        found->foreign++;
    } else {
        add_named(found, key, &record, bytes);
        if (record.number > found->tree_number)
            found->tree_number = record.number;
    }
}

static void add_name(struct durable_found *found, struct slice key,
                     struct slice bytes)
{
    struct durable_record record;

    if (durable_decode(bytes, &record) || !slice_equal(key, record.key) ||
        !durable_is_name(key)) {
        tear_names(found);
    } else if (record.cluster != found->files->cluster) {
        found->foreign++;
    } else {
        expect(found, durable_key_of(key), record.number)->is_listed = true;
        if (record.number > found->tree_number)
            found->tree_number = record.number;
    }
}

/* ---- the heads ---- */

/* Offsets in each of the first two pages of an LMDB file. */
enum {
    HEAD_FLAGS_AT = 10,
    HEAD_FLAG = 8,
    HEAD_MAGIC_AT = 16,
    HEAD_VERSION_AT = 20,
    HEAD_PAGE_SIZE_AT = 40,
    HEAD_SIZE = 44
};
#define HEAD_MAGIC 0xbeefc0deU
#define HEAD_VERSION 1
#define PAGE_SIZE_MIN 512
#define PAGE_SIZE_MAX 65536

static bool is_head(int file, off_t at, uint32_t page_size)
{
    uint8_t head[HEAD_SIZE];
    uint32_t magic, version, size;
    uint16_t flags;

    if (pread(file, head, sizeof head, at) != HEAD_SIZE)
        return false;
    /* In the host's byte order. */
    memcpy(&flags, head + HEAD_FLAGS_AT, sizeof flags);
    memcpy(&magic, head + HEAD_MAGIC_AT, sizeof magic);
    memcpy(&version, head + HEAD_VERSION_AT, sizeof version);
    memcpy(&size, head + HEAD_PAGE_SIZE_AT, sizeof size);
    return flags & HEAD_FLAG && magic == HEAD_MAGIC &&
           version == HEAD_VERSION && size == page_size;
}

/* The bytes of an invalid head page, while a copy of the valid one stands in its place. */
struct head {
    uint8_t *page; /* null: both are valid, or neither */
    uint32_t size;
    off_t at;
};

static void replace_head(int file, struct head *head, off_t from)
{
    uint8_t *page = mem_alloc(head->size);

    head->page = mem_alloc(head->size);
    /* If it fails, LMDB does not open the file, and the search finds the records. */
    if (pread(file, head->page, head->size, head->at) == (ssize_t)head->size &&
        pread(file, page, head->size, from) == (ssize_t)head->size)
        (void)!pwrite(file, page, head->size, head->at);
    mem_free(page);
}

/* LMDB opens no file with an invalid head. The other head, at most one transaction older, replaces
 * it. Each head states its page size, as the file may come from another system. */
static void fix_head(struct durable_found *found, struct head *head)
{
    int file = open(found->files->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    for (uint32_t size = PAGE_SIZE_MIN;
         file >= 0 && size <= PAGE_SIZE_MAX && !head->page; size *= 2) {
        bool is_first = is_head(file, 0, size);

        if (is_first == is_head(file, size, size))
            continue;
        found->is_damaged = true;
        *head = (struct head){ .size = size, .at = is_first ? size : 0 };
        replace_head(file, head, is_first ? 0 : size);
    }
    if (file >= 0)
        (void)close(file);
}

/* For a repeated try, and for people who examine the file. */
static void put_head_back(const struct durable_found *found, struct head *head)
{
    int file = head->page ? open(found->files->path,
                                 O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
                          : -1;

    if (file >= 0) {
        (void)!pwrite(file, head->page, head->size, head->at);
        (void)close(file);
    }
    mem_free(head->page);
}

/* ---- the child ---- */

static bool write_all(int file, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size) {
        ssize_t written = write(file, at, size);

        if (written <= 0 && errno != EINTR)
            return false;
        if (written > 0) {
            at += written;
            size -= (size_t)written;
        }
    }
    return true;
}

struct sending {
    int out;
    uint32_t circle_ms;
};

static void wind_up(const struct sending *sending)
{
    uint32_t ms = sending->circle_ms;
    struct itimerval time = { .it_value = { .tv_sec = ms / 1000,
                                            .tv_usec = ms % 1000 * 1000 } };

    (void)setitimer(ITIMER_VIRTUAL, &time, NULL); /* else the parent ends a silent child */
}

static bool send_pair(void *context, MDB_val *key, MDB_val *value)
{
    struct sizes sizes = { (uint32_t)key->mv_size, (uint32_t)value->mv_size };
    const struct sending *sending = context;

    wind_up(sending);
    if (key->mv_size > DURABLE_NAME_SIZE || value->mv_size > RECORD_MAX)
        sizes.record = 0; /* damaged: only the key */
    if (key->mv_size > DURABLE_NAME_SIZE)
        sizes.key = 0;
    return write_all(sending->out, &sizes, sizeof sizes) &&
           write_all(sending->out, key->mv_data, sizes.key) &&
           write_all(sending->out, value->mv_data, sizes.record);
}

/* Signals that a damaged file may cause. */
static const int deadly[] = { SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,
                              SIGILL,  SIGPIPE, SIGVTALRM };
enum { DEADLY = sizeof deadly / sizeof deadly[0] };

/* It may crash anywhere: it handles no signal, dumps no core, and ends with its parent. */
_Noreturn static void read_as_child(struct durable_files *files, bool of_names,
                                    int out)
{
    struct sending sending = { out, files->circle_ms };
    struct rlimit none = { 0, 0 };
    sigset_t all;
    struct durable_trees trees = { 0 };
    MDB_env *env = NULL;
    uint64_t count;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* optional, as the next calls */
    (void)setrlimit(RLIMIT_CORE, &none);
    for (int i = 0; i < DEADLY; i++)
        (void)signal(deadly[i], SIG_DFL);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_UNBLOCK, &all, NULL);
    wind_up(&sending);
    if (out > 3)
        (void)close_range(3, (unsigned)out - 1, 0);
    (void)close_range((unsigned)out + 1, ~0U, 0);
    if (durable_env_open(files, files->path, MDB_RDONLY, &env, &trees) == 0 &&
        durable_env_walk(env, of_names ? trees.names : trees.values, send_pair,
                         &sending) == 0 &&
        durable_env_count(env, of_names ? trees.names : trees.values,
                          &count) == 0 &&
        write_all(out, &end_of_tree, sizeof end_of_tree) &&
        write_all(out, &count, sizeof count))
        _exit(0);
    _exit(1);
}

/* ---- the parent ---- */

static bool read_all(int file, void *bytes, size_t size)
{
    uint8_t *at = bytes;

    while (size) {
        ssize_t count = read(file, at, size);

        if (count == 0)
            errno = ENODATA; /* the file has become shorter */
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        if (count > 0) {
            at += count;
            size -= (size_t)count;
        }
    }
    return true;
}

int durable_order(struct slice left, struct slice right)
{
    size_t size = left.size < right.size ? left.size : right.size;
    int order = size ? memcmp(left.data, right.data, size) : 0;

    return order ? order : (left.size > right.size) - (left.size < right.size);
}

struct hearing {
    struct durable_found *found;
    int in;
    uint64_t patience_ms;
    bool has_begun;  /* the child sent something */
    bool is_late;    /* silent for too long */
    bool has_closed; /* the child closed its end */
};

/* Waits until the child sends something or ends. */
static bool wait_for_child(struct hearing *hearing)
{
    struct durable_files *files = hearing->found->files;
    uint64_t end = uv_hrtime() + hearing->patience_ms * UINT64_C(1000000);
    struct pollfd ready = { .fd = hearing->in, .events = POLLIN };

    while (poll(&ready, 1, SLICE_MS) <= 0) {
        hearing->is_late = uv_hrtime() >= end;
        if (atomic_load(&files->is_stopped)) {
            hearing->found->unread = "reading was broken off";
            return hearing->is_late = false;
        }
        if (hearing->is_late) {
            hearing->found->unread = "the disk is too slow";
            return false;
        }
    }
    return true;
}

static bool hear(struct hearing *hearing, void *bytes, size_t size)
{
    uint8_t *at = bytes;

    while (size && wait_for_child(hearing)) {
        ssize_t count = read(hearing->in, at, size);

        hearing->has_closed = count == 0;
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        if (count > 0) {
            at += count;
            size -= (size_t)count;
            hearing->has_begun = true;
            hearing->patience_ms = hearing->found->files->silence_ms;
        }
    }
    return !size;
}

/* True: read to its end, in order, with the stated number of pairs. */
static bool take_pairs(struct hearing *hearing, bool of_names,
                       uint64_t size_max)
{
    struct durable_found *found = hearing->found;
    struct buf pair = { 0 }, before = { 0 };
    struct sizes sizes;
    uint64_t taken = 0, count = 0, expected = 0;
    bool ended = false;

    while (taken <= size_max && !found->is_too_large &&
           hear(hearing, &sizes, sizeof sizes)) {
        uint8_t *room;
        struct slice key;

        if (memcmp(&sizes, &end_of_tree, sizeof sizes) == 0) {
            ended = hear(hearing, &expected, sizeof expected);
            break;
        }
        /* Larger sizes mean a broken child. */
        if (sizes.key > DURABLE_NAME_SIZE || sizes.record > RECORD_MAX)
            break;
        buf_clear(&pair);
        room = buf_reserve(&pair, sizes.key + (size_t)sizes.record + 1);
        if (!hear(hearing, room, sizes.key + (size_t)sizes.record))
            break;
        key = slice_of(room, sizes.key);
        if (count++ && durable_order(buf_slice(&before), key) >= 0)
            break;
        (of_names ? add_name : add_pair)(
            found, key, slice_of(room + sizes.key, sizes.record));
        buf_clear(&before);
        buf_put_slice(&before, key);
        taken += sizeof sizes + sizes.key + sizes.record;
    }
    buf_fini(&pair);
    buf_fini(&before);
    return ended && count == expected;
}

/* False: the kernel or a person killed it. */
static bool ended_by_itself(pid_t child)
{
    int status = 0;

    (void)kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < DEADLY; i++)
        if (WIFSIGNALED(status) && WTERMSIG(status) == deadly[i])
            return true;
    return WIFEXITED(status);
}

static void hear_child(struct hearing *hearing, bool of_names,
                       uint64_t file_size)
{
    struct durable_found *found = hearing->found;
    bool is_whole;
    pid_t child;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        found->unread = "there is no pipe";
        return;
    }
    child = fork();
    if (child == 0)
        read_as_child(found->files, of_names, ends[1]);
    (void)close(ends[1]);
    if (child < 0) {
        found->unread = "no process can be made";
    } else {
        /* A tree has each key once: more bytes than the file has mean a loop. */
        hearing->in = ends[0];
        is_whole = take_pairs(hearing, of_names, 2 * file_size + 65536);
        if (!ended_by_itself(child) && hearing->has_closed)
            found->unread = "the process that reads it was killed";
        if (!is_whole && !found->unread)
            (of_names ? tear_names : tear_values)(found);
    }
    (void)close(ends[0]);
}

/* One child for each tree, so that a crash loses only one. A child that is silent from its begin
 * may wait for a lock that another thread held at the fork, such as an allocator's. Then a second
 * child reads. */
static void read_tree(struct durable_found *found, bool of_names,
                      uint64_t file_size)
{
    struct durable_files *files = found->files;
    uint64_t patience_ms = files->begin_ms;

    for (; !found->unread; patience_ms *= 2) {
        struct hearing hearing = { .found = found };

        hearing.patience_ms = patience_ms < files->silence_ms
                                  ? patience_ms
                                  : files->silence_ms;
        hear_child(&hearing, of_names, file_size);
        if (!hearing.is_late || hearing.has_begun ||
            patience_ms >= files->silence_ms)
            return;
        found->unread = NULL;
    }
}

/* ---- the bytes ---- */

/* The record does not count: its transaction failed, or it is an earlier mark. */
static bool is_none(const struct durable_found *found,
                    const struct durable_record *record)
{
    return durable_has_failed(found->files, record->number) ||
           slice_equal(record->key, durable_mark_key());
}

/* A transaction later than intact trees was cut off by a crash. After an orderly end none was: a
 * later record, also the mark, shows that one of the two heads is damaged. */
static void judge(struct durable_found *found,
                  const struct durable_record *record, struct slice bytes)
{
    struct durable_kept *kept;

    (void)bytes;
    if (record->cluster != found->files->cluster) {
        found->foreign++;
        return;
    }
    kept = map_get(&found->latest, record->key);
    if (kept)
        kept->is_seen = true;
    if (found->files->has_ended_well && record->number > found->tree_number)
        found->is_damaged = true;
    else if (is_none(found, record))
        return;
    else if (record->number > found->tree_number + 1)
        found->is_damaged = true;
    else if (kept && kept->record && record->number > kept->number &&
             record->number <= found->tree_number) {
        tear_values(found);
        if (record->number > kept->last && found->is_marked)
            tear_names(found);
    }
}

/* A pair has another key's record. Either its name is damaged, and no such key exists, or the page
 * that locates the key's record is damaged. */
static void settle(struct durable_found *found)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&found->latest, &at, &entry);) {
        struct durable_kept *kept = entry.value;

        if (!kept->other || (!kept->is_seen && !kept->record))
            continue;
        kept->is_lost = true;
        if (!kept->other->is_named)
            kept->other->is_lost = true; /* it may have been erased */
        tear_values(found);
    }
}

/* If the trees are not the last ones, or both are torn, only names in free pages tell which keys
 * exist. */
static void add_later_name(struct durable_found *found,
                           const struct durable_record *record)
{
    struct slice key = durable_key_of(record->key);

    if (!found->is_damaged || !durable_key_is_good(key) ||
        !(is_torn(found) ||
          (found->is_marked && record->number > found->tree_number)))
        return;
    expect(found, key, record->number)->is_listed |=
        durable_is_name(record->key);
}

/* An earlier record whose key an intact tree lacks was erased. If both are torn, no tree tells
 * that, or whether the record is the last one. Without the mark, its transaction may have
 * failed. */
static void add_later(struct durable_found *found,
                      const struct durable_record *record, struct slice bytes)
{
    bool is_later = record->number > found->tree_number;
    struct durable_kept *kept = map_get(&found->latest, record->key);

    if (record->cluster != found->files->cluster || is_none(found, record))
        return;
    if (durable_is_hold(record->key) || durable_is_name(record->key)) {
        add_later_name(found, record);
        return;
    }
    if (!durable_key_is_good(record->key) ||
        !(is_later || is_torn(found) || (found->is_damaged && kept)))
        return;
    kept = kept_of(found, record->key);
    if (found->is_damaged &&
        (is_torn(found) || (is_later && !found->is_marked)) &&
        (!kept->record || record->number > kept->number))
        kept->is_lost = true;
    add(found, record, bytes);
}

/* Decides whether the record that was found is the key's last one. */
static void settle_one(struct durable_found *found, struct durable_kept *kept,
                       bool is_later)
{
    bool is_first = kept->record && kept->number >= kept->last;
    bool is_whole = !found->has_torn_names;

    if (!is_first) {
        kept->is_lost = true;
        /* No hold explains the loss, so a page of values is an older one. */
        found->is_damaged |= kept->held < kept->last;
    } else if (is_whole && kept->is_listed && kept->number == kept->last) {
        kept->is_lost = false;
    } else if (is_whole && !kept->is_listed && !is_later) {
        /* The key was erased, and a page of values is older; or it is new, and a page of names is
         * older. */
        kept->is_lost = found->is_damaged = true;
    }
}

/* A key that neither an intact tree of names nor the tree of values has does not exist. */
static void settle_all(struct durable_found *found)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&found->latest, &at, &entry);) {
        struct durable_kept *kept = entry.value;
        bool is_later = kept->record && kept->number > found->tree_number;

        if ((kept->other && !kept->is_seen && !kept->record) ||
            (!found->has_torn_names && !kept->last && !is_later)) {
            found->size -= entry.key.size + kept->size;
            mem_free(kept->record);
            mem_free(map_take(&found->latest, entry.key));
        } else {
            settle_one(found, kept, is_later);
        }
    }
}

typedef void each_record(struct durable_found *found,
                         const struct durable_record *record,
                         struct slice bytes);

/* Returns the bytes that are done; a record may begin in the rest. */
static size_t search_window(struct durable_found *found, struct slice bytes,
                            bool is_last, each_record *each)
{
    struct durable_record record;
    size_t at = 0, done = 0;

    while (!found->is_too_large && durable_find(bytes, &at, &record)) {
        size_t size =
            DURABLE_OVERHEAD + record.key.size + record.value.size;

        each(found, &record, slice_of(bytes.data + at - size, size));
        done = at;
    }
    if (is_last)
        return bytes.size;
    return done + RECORD_MAX > bytes.size ? done : bytes.size - RECORD_MAX;
}

/* No record begins in a hole. Returns the file's size if no data follows. */
static uint64_t skip_hole(int file, uint64_t from, uint64_t file_size)
{
    off_t data = lseek(file, (off_t)from, SEEK_DATA);

    if (data < 0)
        return errno == ENXIO ? file_size : from;
    return (uint64_t)data;
}

static void search(struct durable_found *found, int file, uint64_t file_size,
                   each_record *each)
{
    struct buf window = { 0 };
    uint64_t from = 0;

    while ((from = skip_hole(file, from, file_size)) < file_size &&
           !found->is_too_large && !found->unread) {
        uint64_t left = file_size - from;
        size_t size = left < WINDOW_SIZE ? (size_t)left : WINDOW_SIZE;

        buf_clear(&window);
        if (atomic_load(&found->files->is_stopped))
            found->unread = "reading was broken off";
        else if (lseek(file, (off_t)from, SEEK_SET) < 0 ||
                 !read_all(file, buf_reserve(&window, size), size))
            found->unread = strerror(errno);
        else
            from += search_window(found, slice_of(window.data, size),
                                  size == left, each);
    }
    buf_fini(&window);
}

static void read_bytes(struct durable_found *found, uint64_t file_size)
{
    int file = open(found->files->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (file < 0) {
        found->unread = strerror(errno);
        return;
    }
    search(found, file, file_size, judge);
    if (!found->is_too_large && !found->unread)
        settle(found);
    search(found, file, file_size, add_later);
    if (!found->is_too_large && !found->unread)
        settle_all(found);
    (void)close(file); /* nothing was written */
}

void durable_recover(struct durable_found *found)
{
    struct head head = { 0 };
    struct stat about;
    uint64_t size = 0;

    if (stat(found->files->path, &about) == 0)
        size = (uint64_t)about.st_size;
    fix_head(found, &head);
    read_tree(found, false, size);
    read_tree(found, true, size);
    put_head_back(found, &head);
    read_bytes(found, size);
    if (found->tree_number > found->files->number)
        found->files->number = found->tree_number;
}
