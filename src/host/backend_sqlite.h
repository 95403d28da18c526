/* The journal in one SQLite file, shared by the processes of one host.
 *
 * Write-ahead log, synchronous=FULL: what is reported written survives a loss
 * of power. docs/protocol/journal.md describes the tables. A file of another
 * cluster, schema or program is refused when it is opened. The file's directory
 * must be on a local disk. */
#ifndef SHERD_HOST_BACKEND_SQLITE_H
#define SHERD_HOST_BACKEND_SQLITE_H

#include "journal/backend.h"

extern const struct backend_ops backend_sqlite;

#endif
