/* Runs the command schema: prints, checks and upgrades the tables of a journal. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sherd-journal-alone.h"

#include <inttypes.h>

#include "host/backend_sqlite.h"

#define SQL_SHOWN 65536

static void print_sql(void *context, const char *sql)
{
    const bool *is_json = context;

    if (*is_json) {
        (void)putchar('{');
        journal_print_json("sql", slice_text(sql), true);
        printf("}\n");
        return;
    }
    journal_print_text(slice_text(sql), SQL_SHOWN);
    printf(";\n");
}

static enum cmd_exit print_tables(struct journal *journal, bool is_json)
{
    struct journal_info info = { .version = 0 };
    enum cmd_exit exit = CMD_GOOD;

    if (!journal->ops->info(journal, &info))
        exit = journal_failed(journal);
    else if (is_json)
        printf("{\"kind\":\"%s\",\"version\":%" PRId64 "}\n", info.kind, info.version);
    else
        printf("-- %s, version %" PRId64 "\n", info.kind, info.version);
    if (exit == CMD_GOOD && !journal->ops->schema(journal, print_sql, &is_json))
        exit = journal_failed(journal);
    buf_fini(&info.cluster);
    return exit;
}

/* Opening a file to write upgrades it. */
static enum cmd_exit migrate_file(const struct cmd_call *call)
{
    struct sqlite_store *store = NULL;
    enum cmd_exit exit = journal_open_alone(call, NULL, true, &store);

    if (store)
        backend_sqlite.close(store);
    return exit;
}

enum cmd_exit cmd_journal_schema(const struct cmd_call *call)
{
    bool migrates = cmd_value(call, "migrate") != NULL;
    bool checks = cmd_value(call, "check") != NULL;
    bool is_json = cmd_value(call, "json") != NULL;
    struct journal *journal = journal_open_old(call);
    enum cmd_exit exit = CMD_GOOD;
    bool is_old;

    if (!journal)
        return CMD_UNREACHABLE;
    is_old = journal->is_old;
    if (!migrates && !checks && !journal->must_migrate)
        exit = print_tables(journal, is_json);
    else if (is_old && !migrates)
        exit = cmd_fail(CMD_FINDINGS, "the tables are older than this program: a node upgrades them when it is alone, "
                        "or sherd journal schema --migrate");
    else if (is_old && journal->ops->migrate && !journal->ops->migrate(journal))
        exit = journal_failed(journal);
    journal->ops->close(journal);
    if (exit == CMD_GOOD && is_old && migrates && !journal_is_remote(call))
        exit = migrate_file(call);
    if (exit == CMD_GOOD && (migrates || checks) && is_json)
        printf("{\"current\":true,\"upgraded\":%s}\n", is_old ? "true" : "false");
    else if (exit == CMD_GOOD && (migrates || checks))
        printf("the tables are %s\n", is_old ? "upgraded" : "those of this program");
    return exit;
}
