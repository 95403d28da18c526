/* Keeps the files of bound leases, "bound boot session token", and watches those held here.
 *
 * A bound lease's file is locked first, then that of the session that holds it; a session's file is
 * locked alone. So no two processes wait for each other. */
#define _GNU_SOURCE
#include "host/lease_file_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"

/* A file as it was when the lease was taken. No descriptor is open, so a new file may have the same
 * number: the time of its last change tells. */
struct held_file {
    struct kept_file kept;
    struct timespec changed;
};

/* A request, and where its files are. */
struct work {
    struct lease_bound_files *files;
    const struct lease_file *session;
    const char *directory;
    uint64_t now;
    char boot[LEASE_BOOT_MAX];
};

static void because(struct work *work, const char *path, const char *reason)
{
    (void)snprintf(work->files->path, sizeof work->files->path, "%s", path);
    work->files->why = reason;
}

/* ---- texts ---- */

bool lease_file_read_bound(struct slice file, const char *boot,
                           struct lease_binding *binding)
{
    char text[LEASE_FILE_SIZE + 1], written[LEASE_BOOT_MAX], session[LEASE_TEXT_MAX];
    size_t size = file.size < LEASE_FILE_SIZE ? file.size : LEASE_FILE_SIZE;
    uint64_t token;

    memset(binding, 0, sizeof *binding);
    if (size == 0)
        return true;
    memcpy(text, file.data, size);
    text[size] = 0;
    if (sscanf(text, "bound %39s %255s %" SCNu64, written, session, &token) != 3)
        return false;
    if (strcmp(written, boot) != 0 || strcmp(session, "-") == 0)
        return true;
    (void)snprintf(binding->session, sizeof binding->session, "%s", session);
    binding->token = token;
    return true;
}

void lease_file_write_bound(char text[LEASE_FILE_SIZE], const char *boot,
                            const struct lease_binding *binding)
{
    int size = snprintf(text, LEASE_FILE_SIZE, "bound %s %s %" PRIu64, boot,
                        binding->session[0] ? binding->session : "-", binding->token);

    memset(text + size, ' ', LEASE_FILE_SIZE - (size_t)size);
    text[LEASE_FILE_SIZE - 1] = '\n';
}

/* ---- sessions ---- */

#define ABSENT "?" /* the owner of a session's file that was deleted or cut */

/* The node of an absent session may not have noticed yet: with any token it lives for a while. */
static bool lives_now(const struct work *work, const struct lease_entry *entry, uint64_t token)
{
    return strcmp(entry->owner, ABSENT) == 0 ? work->now < entry->until
                                             : lease_session_lives(entry, work->now, token);
}

static bool put_absent(struct work *work, const char *path, int fd, struct lease_entry *entry)
{
    char text[LEASE_FILE_SIZE];

    *entry = (struct lease_entry){ .owner = ABSENT,
                                   .until = work->now + LEASE_SETTLE_MS * MS };
    lease_file_write(text, work->boot, entry);
    if (lease_text_write(fd, text))
        return true;
    because(work, path, strerror(errno));
    return false;
}

/* False with the reason: not known. */
static bool find_session(struct work *work, const struct lease_binding *binding, bool *lives)
{
    char path[LEASE_PATH_SIZE];
    struct lease_entry entry;
    bool is_known, is_new;
    int fd;

    *lives = false;
    if (!binding->session[0])
        return true;
    errno = ENAMETOOLONG;
    fd = lease_path_put(work->directory, binding->session, path) ? lease_file_lock(path, O_CREAT) : -1;
    if (fd < 0) {
        because(work, binding->session, strerror(errno));
        return false;
    }
    is_known = lease_entry_read(fd, work->boot, &entry, &is_new);
    if (!is_known)
        because(work, path, "it has no lease; delete it");
    else if (is_new)
        is_known = put_absent(work, path, fd, &entry);
    *lives = is_known && lives_now(work, &entry, binding->token);
    (void)close(fd); /* its writes were checked */
    return is_known;
}

/* ---- files of bound leases ---- */

static void forget_held(struct lease_bound_files *files, const char *path)
{
    mem_free(map_take(&files->held, slice_text(path)));
}

/* False, with the reason: it was deleted since it was locked. */
static bool keep_held(struct work *work, const char *path, int fd)
{
    struct held_file *held = mem_alloc(sizeof *held);
    struct stat found;

    if (fstat(fd, &found) != 0 || !found.st_nlink) {
        because(work, path, "it was deleted");
        mem_free(held);
        return false;
    }
    kept_file_take(&held->kept, fd);
    held->changed = found.st_ctim;
    mem_free(map_put(&work->files->held, slice_text(path), held));
    return true;
}

static bool read_binding(struct work *work, const char *path, int fd, struct lease_binding *binding)
{
    char text[LEASE_FILE_SIZE];
    ssize_t size = pread(fd, text, sizeof text, 0);

    if (size < 0)
        because(work, path, strerror(errno));
    else if (!lease_file_read_bound(slice_of(text, (size_t)size), work->boot, binding))
        because(work, path, "it is no lease of a shard or coordinator; delete it");
    else
        return true;
    return false;
}

/* Answers one lease, whose file is locked. */
static void change(struct work *work, const char *path, int fd, const struct lease_request *request,
                   struct lease_bound *bound)
{
    char text[LEASE_FILE_SIZE];
    struct lease_binding binding;
    bool lives, is_changed;

    if (!read_binding(work, path, fd, &binding) || !find_session(work, &binding, &lives))
        return;
    is_changed = lease_binding_do(&binding, lives, request, bound);
    lease_file_write_bound(text, work->boot, &binding);
    if (is_changed && !lease_text_write(fd, text)) {
        because(work, path, strerror(errno));
        bound->answer = LEASE_UNKNOWN;
    }
    if (bound->answer == LEASE_GRANTED && bound->is_given_up)
        forget_held(work->files, path);
    else if (bound->answer == LEASE_GRANTED && !keep_held(work, path, fd))
        bound->answer = LEASE_UNKNOWN;
}

static void do_bound(struct work *work, const struct lease_request *request,
                     struct lease_bound *bound)
{
    char path[LEASE_PATH_SIZE];
    int fd = -1;

    errno = ENAMETOOLONG;
    if (lease_path_put(work->directory, bound->name, path))
        fd = lease_file_lock(path, bound->is_given_up ? 0 : O_CREAT);
    if (fd < 0 && bound->is_given_up && errno == ENOENT) {
        bound->answer = LEASE_GRANTED; /* it is free */
        return;
    }
    if (fd < 0) {
        because(work, path, strerror(errno));
        return;
    }
    if (!work->session->is_left || !atomic_load(work->session->is_left))
        change(work, path, fd, request, bound);
    (void)close(fd); /* drops the lock; its writes were checked */
}

/* Whether the session that asks lives. Else its leases would belong to nobody. */
static bool is_alive(struct work *work, const struct lease_request *request)
{
    struct lease_binding own = { .token = request->token };
    bool lives = false;

    (void)snprintf(own.session, sizeof own.session, "%s", request->name);
    if (work->session->is_changed || !work->session->is_held ||
        kept_file_change(&work->session->kept, work->session->path, false))
        because(work, work->session->path, "it was changed under this node");
    else if (find_session(work, &own, &lives) && !lives)
        because(work, work->session->path, "the session of this node has ended");
    return lives;
}

void lease_bound_files_do(struct lease_bound_files *files, const struct lease_file *session,
                          const char *directory, uint64_t now, struct lease_request *request)
{
    struct work work = { .files = files, .session = session, .directory = directory, .now = now };

    files->why = NULL;
    lease_request_answer_all(request, LEASE_UNKNOWN);
    if (!lease_boot_read(work.boot)) {
        because(&work, "/proc/sys/kernel/random/boot_id", "it cannot be read");
        return;
    }
    if (!is_alive(&work, request))
        return;
    for (uint32_t i = 0; i < request->count; i++)
        do_bound(&work, request, &request->bound[i]);
    request->answer = files->why ? LEASE_UNKNOWN : LEASE_GRANTED;
}

/* ---- held leases ---- */

static void forget_all(struct lease_bound_files *files)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&files->held, &at, &entry))
        mem_free(entry.value);
    map_fini(&files->held);
    files->held = (struct map){ 0 };
}

void lease_bound_files_fini(struct lease_bound_files *files)
{
    forget_all(files);
}

void lease_bound_files_session(struct lease_bound_files *files, uint64_t now,
                               const struct lease_request *request)
{
    if (request->verb != LEASE_TAKE || request->answer == LEASE_REFUSED)
        forget_all(files); /* they ended with the session */
    if (request->answer == LEASE_GRANTED && request->verb != LEASE_GIVE_UP)
        files->until = now + request->ttl;
}

const char *lease_bound_files_look(struct lease_bound_files *files, uint64_t now)
{
    struct map_entry entry;
    uint32_t at = 0;

    if (now >= files->until)
        forget_all(files);
    while (map_next(&files->held, &at, &entry)) {
        const struct held_file *held = entry.value;
        struct stat found;
        const char *what;

        (void)snprintf(files->path, sizeof files->path, "%.*s", (int)entry.key.size,
                       (const char *)entry.key.data);
        what = kept_file_change(&held->kept, files->path, false);
        if (!what && stat(files->path, &found) == 0 &&
            (found.st_ctim.tv_sec != held->changed.tv_sec ||
             found.st_ctim.tv_nsec != held->changed.tv_nsec))
            what = "changed";
        if (what) {
            forget_all(files);
            return what;
        }
    }
    return NULL;
}
