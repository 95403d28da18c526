/* Declares how the commands of `sherd journal` that write open an SQLite journal. */
#ifndef SHERD_CMD_JOURNAL_ALONE_H
#define SHERD_CMD_JOURNAL_ALONE_H

#include "sherd-journal.h"

#include "host/backend_sqlite_inside.h"

/* Opens the journal of a command to write to it. It is refused while another process has it open.
 *
 * cluster: of a file that does not exist yet; null: it must exist, and any cluster's will do.
 * opens_moved: also if its events were moved.
 * store: set also if the result is not CMD_GOOD; the caller closes it if it is not null. */
enum cmd_exit journal_open_alone(const struct cmd_call *call, const char *cluster, bool opens_moved,
                                 struct sqlite_store **store);
/* CMD_REFUSED, with a line on standard error. */
enum cmd_exit journal_refuse_users(const struct cmd_call *call);

#endif
