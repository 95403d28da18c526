/* Tells whether this process is a child that was forked after an earlier moment.
 *
 * A forked child has one thread. The other threads of its parent, and the locks that they held, did
 * not come along, while sockets and files are shared with the parent. */
#ifndef SHERD_HOST_FORK_WATCH_H
#define SHERD_HOST_FORK_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the mark of this process, for fork_watch_is_child. Any thread. */
uint32_t fork_watch_mark(void);
/* True in a process that was forked after its parent got the mark. Any thread, and a signal's
 * handler. A child made by vfork or clone is not noticed. */
bool fork_watch_is_child(uint32_t mark);
/* Frees a static lock in each child that is forked from now on: a thread of the parent may have held
 * it. Once for each lock, at most FORK_WATCH_LOCKS_MAX of them. */
#define FORK_WATCH_LOCKS_MAX 4
void fork_watch_lock(pthread_mutex_t *lock);

#endif
