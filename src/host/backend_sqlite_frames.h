/* Checks frames of SQLite's write-ahead log with the checksums that SQLite wrote into them.
 *
 * SQLite itself compares these checksums only when it recovers the log after all processes have closed
 * it. A frame's checksum continues that of the frame before it, so that of the last frame stands for
 * the whole log. */
#ifndef SHERD_HOST_BACKEND_SQLITE_FRAMES_H
#define SHERD_HOST_BACKEND_SQLITE_FRAMES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* The log as SQLite's mapped index (FILE-shm) describes it. */
struct frames_state {
    uint32_t count;  /* committed frames */
    uint64_t salt;   /* of this use of the log's file */
    uint32_t sum[2]; /* of the last committed frame */
};

/* Tells whether a read of the log is that of a page, without its frame's header. */
bool frames_is_page(int size, sqlite3_int64 at);
uint32_t frames_number(sqlite3_int64 at); /* of that page's frame, from 1 */

/* Compares a page that was read from the log with its frame's checksum. index: SQLite's mapped one, or
 * null. A frame behind the committed ones passes: SQLite completes its checksum at the commit. */
bool frames_fits(sqlite3_file *log, const uint8_t *page, sqlite3_int64 at,
                 const volatile uint8_t *index);

/* Reads the index's header. False: it is being written, or there is none. */
bool frames_read_state(const volatile uint8_t *index, struct frames_state *state);

/* Tells whether the log's file still has the frame that was the last one at the call before, and
 * all frames that the index knows from there on. seen: zeros at first. Does not read their pages. */
bool frames_are_kept(sqlite3_file *log, const volatile uint8_t *index,
                     struct frames_state *seen);

/* Tells whether the newest frame of a page (from 1) in the log's file has these bytes. */
bool frames_has_page(sqlite3_file *log, uint32_t number, const uint8_t *page);

#endif
