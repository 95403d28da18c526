/* Keeps the journal in one SQLite file, shared by the processes of one host
 * (docs/protocol/journal.md).
 *
 * Write-ahead log, synchronous=FULL: reported writes survive a loss of power. Opening refuses a
 * file of another cluster, schema or program. The file must be on a local disk. */
#ifndef SHERD_HOST_BACKEND_SQLITE_H
#define SHERD_HOST_BACKEND_SQLITE_H

#include "journal/backend.h"

extern const struct backend_ops backend_sqlite;

#endif
