/* Looks at what may not answer: files on a mount that stands still, servers of DNS. One at a time, on a thread of its own, asked for
 * by whoever must not wait. A look knows nothing but its subject: one that does not end is left behind with it, by the pool's means.
 *
 * Who calls: host/finder.c and host/tls_files.c. */
#ifndef SHERD_HOST_LOOKS_H
#define SHERD_HOST_LOOKS_H

#include <stdbool.h>

struct looks;

struct looks_options {
    const char *name; /* of the thread, at most 5 bytes. A literal */
    void (*run)(void *subject); /* looks; on the thread, and nobody else has the subject meanwhile */
    /* What run has left in the subject. On the thread; not for a look that is left behind, and not any more once looks_close has
     * returned. */
    void (*done)(void *context, void *subject);
    void (*release)(void *subject); /* frees it: once, on any thread */
    void *context;
};

/* Starts the thread. The subject is given. Null: it cannot start. */
struct looks *looks_open(const struct looks_options *options, void *subject);
void looks_ask(struct looks *looks); /* a look follows, one for all that is asked while another is under way. Any thread */
bool looks_are_late(struct looks *looks); /* true once for a look that has not ended for 5 s. Any thread */
void looks_wait(struct looks *looks); /* until none is under way; for tests */
/* Waits for the look under way, for 2 s. True: it is left behind, and frees the subject when it ends. Null is fine. */
bool looks_close(struct looks *looks);

#endif
