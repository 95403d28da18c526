/* Gives each page of a journal's file a checksum, so that a damaged page is an error, and notices that
 * the file or its log was overwritten. */
#ifndef SHERD_HOST_BACKEND_SQLITE_PAGES_H
#define SHERD_HOST_BACKEND_SQLITE_PAGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/backend_sqlite_frames.h"
#include "host/backend_sqlite_marks.h"

#define SQLITE_PAGES_RESERVED 8 /* bytes at the end of each page, for its checksum */
#define SQLITE_PAGES_TEXT 48

/* Name of the SQLite file system to open a journal with. A file whose header reserves
 * SQLITE_PAGES_RESERVED bytes gets and needs checksums; others are passed on. A page with zeros
 * there is not checked: another program wrote it, such as sqlite3 after a crash, and no check has
 * signed it yet. Frames of the log have SQLite's own checksums. Reading a damaged page gives
 * SQLITE_IOERR_DATA. A checkpoint copies it, with a checksum that does not fit. Any thread. */
const char *sqlite_pages_vfs(void);

/* Gives a page (from 0) of the main file a checksum if it has none. False: it has one, or this cannot
 * be done now. The checkpoint waits meanwhile. */
bool sqlite_pages_sign(sqlite3_file *file, uint32_t page);

/* Writes the pages that a cut file lacks as damaged ones. A later write behind them would make pages of
 * zeros, which are not checked. No other process may have the file open. */
void sqlite_pages_refuse_missing(sqlite3_file *file);

/* As sqlite_pages_sign, for all pages of a file that has at most so many. */
void sqlite_pages_sign_all(sqlite3_file *file, uint32_t max);

/* False also before SQLite has read the header. */
bool sqlite_pages_have_sums(sqlite3_file *file);
/* As sqlite_pages_have_sums, of a file whose tables say that it has checksums. Reads the header if
 * SQLite has not: another process wrote it after this one found an empty file. True also as long as
 * the header is in the log alone. */
bool sqlite_pages_find_sums(sqlite3_file *file);

/* Names the damaged page that this thread met last, in at most SQLITE_PAGES_TEXT bytes. */
void sqlite_pages_describe(char *text, size_t size);
/* Counts how often this process has met a damaged frame of a log. */
uint32_t sqlite_pages_damaged_frames(void);

/* Marks the pages that this file's checkpoints write. The marks outlive the file. */
void sqlite_pages_mark(sqlite3_file *file, struct page_marks *marks);
/* False: pages with marks were overwritten by another program. A program that copies the log into the
 * file is no such program. True, too, while another checkpoint runs. */
bool sqlite_pages_are_kept(sqlite3_file *file);
/* As frames_are_kept. */
bool sqlite_pages_log_is_kept(sqlite3_file *file, struct frames_state *seen);
/* False: unknown, as before the first transaction. */
bool sqlite_pages_log_state(sqlite3_file *file, struct frames_state *state);

#endif
