/* Runs the command remove-sharding: deletes what sharding itself stored, while the cluster is stopped. */
#include "sherd-journal.h"

#include <inttypes.h>

struct removing {
    bool is_json;
    struct journal_changes changes;
    uint64_t events;
};

/* ---- finding ---- */

static bool note_stream(void *context, const struct journal_id *at)
{
    struct removing *removing = context;
    uint64_t count = at->last - at->first + 1;

    if (!at->last)
        return true; /* nothing is left of it */
    journal_change_add(&removing->changes, JOURNAL_DELETE_EVENTS, at->id, 0, 0, (struct slice){ 0 });
    removing->events += count;
    if (removing->is_json) {
        (void)putchar('{');
        journal_print_json("id", at->id, true);
        printf(",\"events\":%" PRIu64 "}\n", count);
    } else {
        journal_print_text(at->id, 4096);
        printf("  %" PRIu64 " events\n", count);
    }
    return true;
}

/* The streams |TYPE|SHARD of the given types. Those of entities begin with their type. */
static enum cmd_exit find_streams(const struct cmd_call *call, struct removing *removing)
{
    struct journal *journal = journal_open(call);
    enum cmd_exit exit = CMD_GOOD;
    bool good = true;

    if (!journal)
        return CMD_UNREACHABLE;
    for (uint32_t i = 1; i < call->count && good; i++) {
        struct buf prefix = { 0 };

        buf_put_text(&prefix, "|");
        buf_put_text(&prefix, call->arguments[i]);
        buf_put_text(&prefix, "|");
        good = journal_each_id(journal, buf_slice(&prefix), (struct slice){ 0 }, note_stream, removing);
        buf_fini(&prefix);
    }
    if (!good)
        exit = journal_failed(journal);
    journal->ops->close(journal);
    return exit;
}

enum cmd_exit cmd_journal_remove_sharding(const struct cmd_call *call)
{
    struct removing removing = { .is_json = cmd_value(call, "json") != NULL };
    bool is_dry = cmd_value(call, "dry-run") != NULL;
    enum cmd_exit exit = find_streams(call, &removing);

    if (exit == CMD_GOOD && !is_dry && removing.changes.count)
        exit = journal_change(call, &removing.changes);
    if (exit == CMD_GOOD && removing.is_json)
        printf("{\"streams\":%" PRIu32 ",\"events\":%" PRIu64 ",\"removed\":%s}\n", removing.changes.count,
               removing.events, is_dry ? "false" : "true");
    else if (exit == CMD_GOOD)
        printf("%" PRIu32 " shards with %" PRIu64 " events %s\n", removing.changes.count, removing.events,
               is_dry ? "would be removed" : "removed");
    journal_changes_fini(&removing.changes);
    return exit;
}
