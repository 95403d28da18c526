/* Holds the settings of a PostgreSQL journal. */
#ifndef SHERD_PGDRIVER_OPTIONS_H
#define SHERD_PGDRIVER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/backend.h>

struct pg_options {
    char *url, *password_file, *schema, *commit, *cluster;
    bool creates_schema;
    bool halts;       /* on a loss */
    bool allows_loss; /* synchronous_commit and fsync may be off */
    uint32_t group_ms, connect_ms;
};

/* warns: logs what is unwise in the URL. Null, with a line in error. */
struct pg_options *pg_options_read(const struct sherd_backend_options *from, bool warns,
                                   char *error);
void pg_options_free(struct pg_options *options);

#endif
