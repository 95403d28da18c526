/* Keeps leases in files: NAME.lease in a directory is locked while it is read and written. Entries from
 * before the host's last boot are void.
 *
 * A deleted, replaced or cut file holds no lease: another process may take it in a new file. So the
 * owner of struct lease_file looks at it each second, and a lease in a new file counts only
 * LEASE_SETTLE_MS later, when all holders in the old one have noticed. A bound lease has a file too,
 * and so has the session that holds it; a session whose file is missing counts as alive that long. */
#ifndef SHERD_HOST_LEASE_FILE_H
#define SHERD_HOST_LEASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/map.h"
#include "host/kept_file.h"
#include "lease/book.h"
#include "lease/request.h"

#define LEASE_PATH_SIZE 1024

/* A lease's file, as this process knows it. Zero at first, except is_left. */
struct lease_file {
    char path[LEASE_PATH_SIZE]; /* empty: of no lease yet */
    struct kept_file kept;
    int fd;          /* of it, if `kept` is set: else a new file could get its number */
    bool is_held;    /* granted here */
    bool is_changed; /* no valid file has been there since a change */
    bool is_new;     /* the last request found an empty file */
    const char *why; /* the last answer is unknown; a literal, or null: it is known */
    /* once true, a request does nothing, as the owner's next incarnation may hold the lease. Null:
     * never */
    const _Atomic bool *is_left;
};

/* Makes the file of a lease without an owner, unless it is there. False: `why` has one line. */
bool lease_file_make(struct lease_file *file, const char *directory,
                     const char *name, char *why, size_t size);
/* Runs one request on the directory's file at a monotonic time. A lease that was held in a file that
 * was changed is refused. Not LEASE_BIND. */
void lease_file_do(struct lease_file *file, const char *directory, uint64_t now,
                   struct lease_request *request);
enum lease_file_news {
    LEASE_FILE_SAME,
    LEASE_FILE_CHANGED, /* `what` says how: a literal; a lease in it is not held any more */
    LEASE_FILE_BACK     /* after a change, there is one again */
};
enum lease_file_news lease_file_look(struct lease_file *file,
                                     const char **what);
void lease_file_forget(struct lease_file *file); /* closes it; the lease stays as it is */

/* ---- bound leases (lease_file_bind.c) ---- */

/* The files of a session's bound leases. Zero at first. */
struct lease_bound_files {
    struct map held;            /* path -> a record of the file, as it was written here */
    uint64_t until;             /* the session's: then others may write the files */
    char path[LEASE_PATH_SIZE]; /* of the last file that was changed, or could not be used */
    const char *why;            /* some of the last answers are unknown; a literal, or null */
};

void lease_bound_files_fini(struct lease_bound_files *files);
/* Runs LEASE_BIND. session: the file of the session that asks; if it was changed, all answers are
 * unknown. */
void lease_bound_files_do(struct lease_bound_files *files, const struct lease_file *session,
                          const char *directory, uint64_t now, struct lease_request *request);
/* Learns from the answer to a request about the session, which was asked at `now`. */
void lease_bound_files_session(struct lease_bound_files *files, uint64_t now,
                               const struct lease_request *request);
/* Returns how the file of a held lease was changed, as a literal, with files->path; null: none was. Then
 * none is held any more. */
const char *lease_bound_files_look(struct lease_bound_files *files, uint64_t now);

/* Returns why the directory cannot keep leases, as a literal: it is on a network file system, whose
 * hosts have other clocks. Null if it can, or that is not known. */
const char *lease_directory_fault(const char *directory);

/* ---- texts of files, for tests ---- */

#define LEASE_FILE_SIZE 1024 /* bytes; padded with blanks */

/* Reads a lease file; `boot` is the host's boot id. An empty file, or one of another boot, has no
 * owner but keeps its token. False, with an empty entry: invalid. */
bool lease_file_read(struct slice file, const char *boot,
                     struct lease_entry *entry);
void lease_file_write(char text[LEASE_FILE_SIZE], const char *boot,
                      const struct lease_entry *entry);
/* The same for the file of a bound lease. */
bool lease_file_read_bound(struct slice file, const char *boot,
                           struct lease_binding *binding);
void lease_file_write_bound(char text[LEASE_FILE_SIZE], const char *boot,
                            const struct lease_binding *binding);

#endif
