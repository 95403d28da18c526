/* Looks at things that may not answer, such as files on a stalled mount, on a thread of its own.
 *
 * One look at a time. It uses only its subject; a look that does not end is left behind with it.
 *
 * Called by host/discovery.c and host/tls_files.c. */
#ifndef SHERD_HOST_FILE_WATCH_H
#define SHERD_HOST_FILE_WATCH_H

#include <stdbool.h>

struct file_watch;

struct file_watch_options {
    const char *name; /* the thread's, at most 5 bytes; a literal */
    void (*run)(void *subject); /* a look; owns the subject meanwhile */
    /* On the thread, with what `run` left. Not for a look left behind, nor after
     * file_watch_close. */
    void (*done)(void *context, void *subject);
    void (*release)(void *subject); /* once, on any thread */
    void *context;
};

/* The subject is given. Null: no thread. */
struct file_watch *file_watch_open(const struct file_watch_options *options, void *subject);
/* any thread; requests during a look become one look */
void file_watch_ask(struct file_watch *file_watch);
/* true once for a look of more than 5 s. Any thread */
bool file_watch_are_late(struct file_watch *file_watch);
void file_watch_wait(struct file_watch *file_watch); /* until no look runs; for tests */
/* Waits up to 2 s. True: the look was left behind, and frees the subject at its end. Null is
 * allowed. */
bool file_watch_close(struct file_watch *file_watch);

#endif
