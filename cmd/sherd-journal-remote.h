/* Declares what the commands of `sherd journal` share about PostgreSQL. */
#ifndef SHERD_CMD_JOURNAL_REMOTE_H
#define SHERD_CMD_JOURNAL_REMOTE_H

#include "sherd-journal.h"

#include <libpq-fe.h>

/* Connects without a look at the tables. The caller closes the result; its error is set on failure. */
struct journal *journal_remote_connect(const char *url, const char *schema, bool *is_connected);
/* Runs a statement with bytes as parameters, where @ stands for the schema. Results are binary. Null on
 * failure, or with fewer than `columns`. */
PGresult *journal_remote_run(struct journal *journal, const char *text, const struct slice *parameters, int count,
                             int columns);
/* Runs statements without results, with @ and # as in pg_sql_fill. */
bool journal_remote_execute(struct journal *journal, const char *text);
uint64_t journal_remote_number(const PGresult *result, int row, int column);
struct slice journal_remote_cell(const PGresult *result, int row, int column);
extern const char *const journal_remote_schema; /* the statements that make the tables */

#endif
