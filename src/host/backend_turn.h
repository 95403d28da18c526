/* Orders the writers of a host's processes that share a file, in a fair queue.
 *
 * SQLite's own lock is not fair: a writer that backs off can starve. A ticket is a number from a
 * counter in a small mapped side file. Its owner locks the byte of that number, and has its turn
 * when no lower byte is locked. The kernel drops a dead process's locks.
 *
 * The queue only orders; SQLite's lock protects the file. So a writer may pass predecessors that do
 * not move. */
#ifndef SHERD_HOST_BACKEND_TURN_H
#define SHERD_HOST_BACKEND_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "host/backend_sqlite_marks.h"

struct turn;

/* Opens the side file, or creates it (mode 0600). Null, with one line in error (BACKEND_ERROR_MAX
 * bytes). */
struct turn *turn_open(const char *path, bool creates, char *error);
void turn_close(struct turn *turn); /* null is allowed */

/* Waits for the turn, or until the queue has not moved for TURN_STUCK_MS. One thread at a time. */
void turn_take(struct turn *turn);
void turn_give(struct turn *turn);
/* The last record that a commit stored. It is outside SQLite's files, so that a write-ahead log that
 * lost its end is found when the journal is opened. */
struct turn_mark {
    uint64_t store;  /* of the store's identity */
    uint64_t entity; /* row of its entity */
    uint64_t seq;
    uint64_t sum;    /* of the record */
    uint64_t log_salt; /* as frames_state, after the commit; 0: unknown */
    uint64_t log_frames;
};

/* After a commit, before turn_give. A process that is killed in the call keeps the mark before. */
void turn_set_mark(struct turn *turn, const struct turn_mark *mark);
/* The newest mark of any process; false: there is none. */
bool turn_get_mark(const struct turn *turn, struct turn_mark *mark);

/* Marks of the pages of the file, for all processes. */
struct page_marks *turn_marks(struct turn *turn);

/* False: the side file was overwritten since this process had its first turn. */
bool turn_is_kept(const struct turn *turn);

/* Tells other processes, until turn_close, that this one has the journal open. */
void turn_hold(struct turn *turn);
/* True: no other process holds it. */
bool turn_is_alone(const struct turn *turn);

/* Reserves the check of the whole journal for this process; false: another one checks. The kernel
 * drops a dead process's reservation. */
bool turn_check_begin(struct turn *turn);
void turn_check_end(struct turn *turn);

/* Number of the last turn. Lower turns ended before it began, except those below its turn_passed,
 * which were not waited for. */
uint64_t turn_ticket(const struct turn *turn);
uint64_t turn_passed(const struct turn *turn);

#endif
