/* Whose turn it is to write: a fair queue between the processes of one host
 * that share a file.
 *
 * SQLite's own lock is not fair: who backs off starves. So a writer takes a
 * ticket before it asks for SQLite's lock. A ticket is a number from a counter
 * in a small side file that all processes map; its owner keeps a lock on the
 * byte of that number, and has its turn when no lower byte is locked. The
 * kernel drops the locks of a process that dies, so kill -9 loses nothing.
 *
 * The queue only orders; SQLite's lock still protects. That is why a writer
 * whose predecessors do not move (stopped by a signal, or slow) may pass them. */
#ifndef SHERD_HOST_BACKEND_TURN_H
#define SHERD_HOST_BACKEND_TURN_H

#include <stdint.h>

struct turn;

/* Opens the side file, made if it is missing (mode 0600). Null, with one line
 * in error (BACKEND_ERROR_MAX bytes). */
struct turn *turn_open(const char *path, char *error);
void turn_close(struct turn *turn); /* null is fine */

/* Takes a ticket and waits for its turn, or until the queue has not moved for
 * TURN_STUCK_MS. One thread at a time. */
void turn_take(struct turn *turn);
void turn_give(struct turn *turn);
/* Of the last turn taken: its number. Of two turns the one with the lower number has been given back when the other begins, unless it
 * is below the other's turn_passed: those were not waited for. */
uint64_t turn_ticket(const struct turn *turn);
uint64_t turn_passed(const struct turn *turn);

#endif
