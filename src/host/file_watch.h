/* Looks at what may not answer: files on a mount that stands still, servers of DNS. One at a time, on a thread of its own, asked for
 * by whoever must not wait. A look knows nothing but its subject: one that does not end is left behind with it, by the pool's means.
 *
 * Who calls: host/discovery.c and host/tls_files.c. */
#ifndef SHERD_HOST_FILE_WATCH_H
#define SHERD_HOST_FILE_WATCH_H

#include <stdbool.h>

struct file_watch;

struct file_watch_options {
    const char *name; /* of the thread, at most 5 bytes. A literal */
    void (*run)(void *subject); /* looks; on the thread, and nobody else has the subject meanwhile */
    /* What run has left in the subject. On the thread; not for a look that is left behind, and not any more once file_watch_close has
     * returned. */
    void (*done)(void *context, void *subject);
    void (*release)(void *subject); /* frees it: once, on any thread */
    void *context;
};

/* Starts the thread. The subject is given. Null: it cannot start. */
struct file_watch *file_watch_open(const struct file_watch_options *options, void *subject);
void file_watch_ask(struct file_watch *file_watch); /* a look follows, one for all that is asked while another is under way. Any thread */
bool file_watch_are_late(struct file_watch *file_watch); /* true once for a look that has not ended for 5 s. Any thread */
void file_watch_wait(struct file_watch *file_watch); /* until none is under way; for tests */
/* Waits for the look under way, for 2 s. True: it is left behind, and frees the subject when it ends. Null is fine. */
bool file_watch_close(struct file_watch *file_watch);

#endif
