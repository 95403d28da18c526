/* Keeps a write beyond RLIMIT_FSIZE an error: by default its signal, SIGXFSZ, ends the process.
 *
 * The kernel sends it to the thread that writes. The library's threads are made while it is blocked,
 * and inherit that. */
#ifndef SHERD_HOST_QUIET_SIGNALS_H
#define SHERD_HOST_QUIET_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct quiet_signals {
    sigset_t mask; /* of the thread, before */
    bool was_pending;
};

/* Blocks the signal in this thread, until quiet_signals_end. Pairs may nest. */
void quiet_signals_begin(struct quiet_signals *quiet);
/* Also drops a signal that came meanwhile. */
void quiet_signals_end(const struct quiet_signals *quiet);

#endif
