/* Runs the commands snapshots and drop-snapshots. */
#include "sherd-journal.h"

#include <inttypes.h>

#include "journal/record.h"

#define ID_SHOWN 4096

struct snapshots {
    struct journal *journal;
    bool is_json;
    struct slice id;
    uint64_t key, count, damaged;
    uint64_t from, to; /* numbers of the ones that are dropped */
    uint64_t newest;   /* good one that stays; 0: none */
};

/* ---- listing ---- */

static bool print_snapshot(void *context, uint64_t seq, struct slice bytes)
{
    struct snapshots *snapshots = context;
    struct snapshot snapshot;
    const char *defect = snapshot_decode(bytes, snapshots->key, seq, &snapshot);

    snapshots->count++;
    snapshots->damaged += defect != NULL;
    if (snapshots->is_json) {
        (void)putchar('{');
        journal_print_json("id", snapshots->id, true);
        printf(",\"seq\":%" PRIu64, seq);
        if (defect)
            journal_print_json("damage", slice_text(defect), false);
        else
            printf(",\"version\":%" PRIu32 ",\"term\":%" PRIu64 ",\"epoch\":%" PRIu64 ",\"size\":%zu", snapshot.version,
                   snapshot.fence.term, snapshot.fence.epoch, snapshot.image.size);
        printf("}\n");
        return !ferror(stdout);
    }
    journal_print_text(snapshots->id, ID_SHOWN);
    if (defect)
        printf(" seq=%" PRIu64 " damaged: %s\n", seq, defect);
    else
        printf(" seq=%" PRIu64 " version=%" PRIu32 " term=%" PRIu64 " epoch=%" PRIu64 " size=%zu\n", seq,
               snapshot.version, snapshot.fence.term, snapshot.fence.epoch, snapshot.image.size);
    return !ferror(stdout);
}

static bool print_entity(void *context, const struct journal_id *at)
{
    struct snapshots *snapshots = context;

    snapshots->id = at->id;
    snapshots->key = record_key(at->id);
    return !at->snapshots ||
           (journal_each_snapshot(snapshots->journal, at->id, 1, INT64_MAX, print_snapshot, snapshots) && !ferror(stdout));
}

enum cmd_exit cmd_journal_snapshots(const struct cmd_call *call)
{
    struct snapshots snapshots = { .is_json = cmd_value(call, "json") != NULL };
    struct journal *journal = journal_open(call);
    enum cmd_exit exit;

    if (!journal)
        return CMD_UNREACHABLE;
    snapshots.journal = journal;
    if (!journal_each_id(journal, slice_text(call->count > 1 ? call->arguments[1] : ""), (struct slice){ 0 },
                         print_entity, &snapshots) || journal->error[0])
        exit = journal_failed(journal);
    else
        exit = snapshots.damaged ? CMD_FINDINGS : CMD_GOOD;
    journal->ops->close(journal);
    return exit;
}

/* ---- dropping ---- */

static bool note_snapshot(void *context, uint64_t seq, struct slice bytes)
{
    struct snapshots *snapshots = context;
    struct snapshot snapshot;

    if (seq >= snapshots->from && seq <= snapshots->to)
        snapshots->count++;
    else if (!snapshot_decode(bytes, snapshots->key, seq, &snapshot))
        snapshots->newest = seq;
    return true;
}

static void take_id(void *context, const struct journal_id *found)
{
    struct journal_id *at = context;

    if (slice_equal(found->id, at->id))
        *at = (struct journal_id){ at->id, found->first, found->last, found->snapshots };
}

/* Without the snapshots the entity must still recover, from its first event or from another snapshot. */
static enum cmd_exit check_drop(const struct cmd_call *call, struct snapshots *snapshots)
{
    struct journal_id at = { .id = snapshots->id };
    struct journal *journal = journal_open(call);
    enum cmd_exit exit = CMD_GOOD;

    if (!journal)
        return CMD_UNREACHABLE;
    if (!journal->ops->ids(journal, at.id, (struct slice){ 0 }, 1, take_id, &at) ||
        !journal_each_snapshot(journal, at.id, 1, INT64_MAX, note_snapshot, snapshots))
        exit = journal_failed(journal);
    else if (!snapshots->count)
        exit = cmd_fail(CMD_FINDINGS, "no such snapshots");
    else if (at.first > 1 && snapshots->newest + 1 < at.first)
        exit = cmd_fail(CMD_REFUSED, "events 1 to %" PRIu64 " are deleted, so a good snapshot of event %" PRIu64
                        " or a later one must stay", at.first - 1, at.first - 1);
    journal->ops->close(journal);
    return exit;
}

enum cmd_exit cmd_journal_drop_snapshots(const struct cmd_call *call)
{
    struct snapshots snapshots = { .id = slice_text(call->arguments[1]), .from = 1, .to = INT64_MAX };
    struct journal_changes changes = { .count = 0 };
    bool is_dry = cmd_value(call, "dry-run") != NULL;
    enum cmd_exit exit;

    if (!cmd_number(call, "from", &snapshots.from) || !cmd_number(call, "to", &snapshots.to))
        return CMD_USAGE;
    snapshots.key = record_key(snapshots.id);
    exit = check_drop(call, &snapshots);
    journal_change_add(&changes, JOURNAL_DELETE_SNAPSHOTS, snapshots.id, snapshots.from, snapshots.to,
                       (struct slice){ 0 });
    if (exit == CMD_GOOD && !is_dry)
        exit = journal_change(call, &changes);
    if (exit == CMD_GOOD && cmd_value(call, "json"))
        printf("{\"snapshots\":%" PRIu64 ",\"dropped\":%s}\n", snapshots.count, is_dry ? "false" : "true");
    else if (exit == CMD_GOOD)
        printf("%" PRIu64 " snapshots %s\n", snapshots.count, is_dry ? "would be dropped" : "dropped");
    journal_changes_fini(&changes);
    return exit;
}
