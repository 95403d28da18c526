/* Gives each page of a journal's file a checksum, so that a damaged page is an error. */
#ifndef SHERD_HOST_BACKEND_SQLITE_PAGES_H
#define SHERD_HOST_BACKEND_SQLITE_PAGES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define SQLITE_PAGES_RESERVED 8 /* bytes at the end of each page, for its checksum */

/* Name of the SQLite file system to open a journal with. A file whose header reserves
 * SQLITE_PAGES_RESERVED bytes gets and needs checksums; others are passed on. A page with zeros
 * there is not checked: another program wrote it, such as sqlite3 after a crash, and no check has
 * signed it yet. Reading a damaged page gives SQLITE_IOERR_DATA. Any thread. */
const char *sqlite_pages_vfs(void);

/* Gives a page (from 0) of the main file a checksum if it has none. False: it has one, or this cannot
 * be done now. The checkpoint waits meanwhile. */
bool sqlite_pages_sign(sqlite3_file *file, uint32_t page);

/* False also before SQLite has read the header. */
bool sqlite_pages_have_sums(sqlite3_file *file);

/* Number of the damaged page that this thread met last, from 1. */
uint32_t sqlite_pages_damaged(void);

#endif
