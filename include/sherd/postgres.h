/* Makes PostgreSQL available as a journal: events outlive the loss of a host.
 *
 * The functions are in a library of their own, libsherd-postgres, which needs
 * libpq. Programs without it need neither. Link it with pkg-config's
 * sherd-postgres or CMake's sherd::postgres, and call sherd_postgres_register
 * before sherd_system_open. Guide: docs/guide/postgres.md. */
#ifndef SHERD_POSTGRES_H
#define SHERD_POSTGRES_H

#include <sherd/backend.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers the back end "postgres". A system uses it with the setting
 * journal.plugin = postgres and journal.postgres.url, or with
 * options.journal = "postgres:URL".
 *
 * Result: 0, also when it was called before. SHERD_EEXIST: another back end has
 * the name. Any thread. */
SHERD_API int sherd_postgres_register(void);

#ifdef __cplusplus
}
#endif

#endif
