/* Opens an SQLite journal to write to it, once no node has it open. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sherd-journal-alone.h"

#include <unistd.h>

#include "base/check.h"
#include "host/backend_sqlite.h"

enum cmd_exit journal_refuse_users(const struct cmd_call *call)
{
    return cmd_fail(CMD_REFUSED, "%s: processes have it open; stop all nodes that use it", call->arguments[0]);
}

/* Reads the cluster's name, before anything is changed. */
static enum cmd_exit look(const struct cmd_call *call, char **cluster)
{
    struct journal *journal = journal_open(call);
    struct journal_info info = { .version = 0 };
    enum cmd_exit exit = CMD_GOOD;

    if (!journal)
        return CMD_UNREACHABLE;
    if (!journal->ops->info(journal, &info))
        exit = journal_failed(journal);
    else if (info.users == 1)
        exit = journal_refuse_users(call);
    else
        *cluster = mem_copy(info.cluster.data, info.cluster.size);
    buf_fini(&info.cluster);
    journal->ops->close(journal);
    return exit;
}

/* A node holds a lock on FILE-turn for as long as it has the journal open. */
enum cmd_exit journal_open_alone(const struct cmd_call *call, const char *cluster, bool opens_moved,
                                 struct sqlite_store **store)
{
    struct backend_options options = { .path = call->arguments[0],
                                       .cluster = cluster,
                                       .opens_moved = opens_moved };
    char error[BACKEND_ERROR_MAX] = "";
    char *found = NULL;
    enum cmd_exit exit = CMD_GOOD;

    if (access(options.path, F_OK) == 0)
        exit = look(call, &found);
    else if (!cluster)
        exit = cmd_fail(CMD_UNREACHABLE, "%s: no such file", options.path);
    if (exit == CMD_GOOD) {
        if (!cluster)
            options.cluster = found;
        *store = backend_sqlite.open(&options, BACKEND_WRITER, error);
        if (!*store)
            exit = cmd_fail(CMD_REFUSED, "%s", error);
        else if (!turn_is_alone((*store)->turn))
            exit = journal_refuse_users(call);
    }
    mem_free(found);
    return exit;
}
