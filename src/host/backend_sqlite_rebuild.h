/* Rebuilds a damaged SQLite journal from what can be read: the loss of the rest is accepted.
 *
 * Called by cmd/sherd-journal-verify.c. No node may have the journal open. */
#ifndef SHERD_HOST_BACKEND_SQLITE_REBUILD_H
#define SHERD_HOST_BACKEND_SQLITE_REBUILD_H

#include <stdint.h>

struct backend_rebuild {
    /* Receives, lent, a line for each part that is lost. */
    void (*lost)(void *context, const char *text);
    void *context;
    uint64_t entities, events; /* out: kept */
};

/* Writes a new file with what can be read, and puts it in the place of FILE, which becomes
 * FILE.damaged. FILE-turn is deleted, as it may name an event that is lost. An entity keeps its events
 * up to the first one that is missing or damaged, so its state is an earlier one. 0, or -1 with a line
 * in error (BACKEND_ERROR_MAX bytes): then FILE is as it was. */
int backend_sqlite_rebuild(const char *path, struct backend_rebuild *rebuild,
                           char *error) __attribute__((warn_unused_result));

#endif
