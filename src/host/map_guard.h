/* Breaks off a call that reads mapped files when a file is cut under it, as the kernel's signal
 * SIGBUS would end the process.
 *
 * SQLite and LMDB map files, and so does the queue of writers. Looks at the files before and after a
 * call (kept_file.h) leave a gap: the call's sync may take long. */
#ifndef SHERD_HOST_MAP_GUARD_H
#define SHERD_HOST_MAP_GUARD_H

#include <stdbool.h>

/* Runs the call. False: it touched a page that has no file behind it (the file was cut, or the disk
 * failed), and does not end. Its memory and locks stay as they were, so whatever it used must be
 * abandoned. Any thread; a call must not run another one. Installs a handler for SIGBUS, which
 * passes all other cases to the handler before it. */
bool map_guard_run(void (*call)(void *context), void *context);

/* Keeps a handle of a broken call reachable for ever: closing it would touch the same page. */
void map_guard_abandon(void *handle);

#endif
