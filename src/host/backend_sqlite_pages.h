/* Gives each page of a journal's file a checksum, so that a damaged page is an error. */
#ifndef SHERD_HOST_BACKEND_SQLITE_PAGES_H
#define SHERD_HOST_BACKEND_SQLITE_PAGES_H

#include <stdint.h>

#define SQLITE_PAGES_RESERVED 8 /* bytes at the end of each page, for its checksum */

/* Name of the SQLite file system to open a journal with. A file whose header reserves
 * SQLITE_PAGES_RESERVED bytes gets and needs checksums; others are passed on. A page with zeros
 * there is not checked: another program wrote it, such as sqlite3 after a crash. Reading a damaged
 * page gives SQLITE_IOERR_DATA. Any thread. */
const char *sqlite_pages_vfs(void);

/* Number of the damaged page that this thread met last, from 1. */
uint32_t sqlite_pages_damaged(void);

#endif
