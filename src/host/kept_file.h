/* Notices that a file that a node keeps open was deleted, replaced, cut or given a second name.
 *
 * The kernel lets a process go on with a file that has lost its name: what is written there is gone
 * after the next start. So such a file is compared with its name before something is confirmed. */
#ifndef SHERD_HOST_KEPT_FILE_H
#define SHERD_HOST_KEPT_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* Zero: no file, which never changes. */
struct kept_file {
    uint64_t device;
    uint64_t inode;
    uint64_t size; /* bytes that the file has at least */
    bool grows;    /* `size` follows it */
    uint64_t root; /* the process's root folder at that time */
};

/* Remembers the file that an open descriptor, or a path, leads to. */
void kept_file_take(struct kept_file *kept, int fd);
void kept_file_take_path(struct kept_file *kept, const char *path);

/* Says in a few words what happened to the file under this name, such as "deleted"; null: nothing.
 * A literal. only: a second name (a hard link) is a change, too. Blocks if its mount does not
 * answer. */
const char *kept_file_change(const struct kept_file *kept, const char *path,
                             bool only);
/* The same. The file is looked for in an open folder, too, if the path leads nowhere after a change of
 * the process's root or rights; -1: there is none. */
const char *kept_file_change_in(struct kept_file *kept, int folder,
                                const char *path, bool only);

#endif
