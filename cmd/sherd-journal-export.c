/* Runs the command export: writes a journal as lines of JSON. */
#include "sherd-journal.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "host/export_line.h"
#include "journal/record.h"

struct exporting {
    struct journal *journal;
    struct slice prefix;
    struct export_line line; /* of the event */
    struct buf text;
    uint64_t key, next, entities, events, snapshots;
    const char *defect; /* of the event or snapshot line.numbers[EXPORT_SEQ] */
    char damaged[80];   /* its entity */
};

static bool has_prefix(struct slice text, struct slice prefix)
{
    return text.size >= prefix.size && slice_equal(slice_of(text.data, prefix.size), prefix);
}

/* The prefix "Cart|an" is of the type "Cart". */
static bool wants_type(const struct exporting *exporting, struct slice type)
{
    struct slice prefix = exporting->prefix;
    const uint8_t *end;

    if (prefix.size && prefix.data[0] == '|')
        prefix = slice_of(prefix.data + 1, prefix.size - 1);
    end = prefix.size ? memchr(prefix.data, '|', prefix.size) : NULL;
    if (end)
        return slice_equal(type, slice_of(prefix.data, (size_t)(end - prefix.data)));
    return has_prefix(type, prefix);
}

static void write_line(struct exporting *exporting, const struct export_line *line)
{
    buf_clear(&exporting->text);
    export_encode(&exporting->text, line);
    (void)fwrite(exporting->text.data, 1, exporting->text.size, stdout); /* main sees ferror */
}

static void write_term(void *context, struct slice type, uint64_t term)
{
    struct exporting *exporting = context;

    if (wants_type(exporting, type))
        write_line(exporting, &(struct export_line){ .kind = EXPORT_TERM,
                                                     .texts[EXPORT_TYPE] = type,
                                                     .numbers[EXPORT_OF_TERM] = term });
}

static void write_fence(void *context, struct slice type, struct slice shard, struct fence fence)
{
    struct exporting *exporting = context;

    if (wants_type(exporting, type))
        write_line(exporting, &(struct export_line){ .kind = EXPORT_FENCE,
                                                     .texts[EXPORT_TYPE] = type,
                                                     .texts[EXPORT_SHARD] = shard,
                                                     .numbers[EXPORT_OF_TERM] = fence.term,
                                                     .numbers[EXPORT_OF_EPOCH] = fence.epoch });
}

/* Writes the line of an event or snapshot, unless it has a defect. */
static bool write_record(struct exporting *exporting, enum export_kind kind, uint64_t seq, struct slice bytes,
                         const char *defect)
{
    exporting->line.kind = kind;
    exporting->line.numbers[EXPORT_SEQ] = seq;
    exporting->line.texts[EXPORT_RECORD] = bytes;
    exporting->defect = defect;
    if (defect) {
        journal_printable(exporting->line.texts[EXPORT_ID], exporting->damaged, sizeof exporting->damaged);
        return false;
    }
    write_line(exporting, &exporting->line);
    return !ferror(stdout);
}

static bool write_event(void *context, uint64_t seq, struct slice bytes)
{
    struct exporting *exporting = context;
    struct record record;
    const char *defect = record_decode(bytes, exporting->key, seq, &record);

    if (!defect && exporting->next && seq != exporting->next)
        defect = "an event before it is missing";
    exporting->next = seq + 1;
    exporting->events++;
    return write_record(exporting, EXPORT_EVENT, seq, bytes, defect);
}

static bool write_snapshot(void *context, uint64_t seq, struct slice bytes)
{
    struct exporting *exporting = context;
    struct snapshot snapshot;
    const char *defect = snapshot_decode(bytes, exporting->key, seq, &snapshot);

    if (!defect && seq >= exporting->next)
        defect = "it is above the last event";
    exporting->snapshots++;
    return write_record(exporting, EXPORT_SNAPSHOT, seq, bytes, defect);
}

static bool write_entity(void *context, const struct journal_id *found)
{
    struct exporting *exporting = context;
    struct journal *journal = exporting->journal;
    struct journal_id at = *found;
    bool is_held = at.snapshots || at.first > 1;
    bool good = !is_held || journal_hold(journal, &at);

    exporting->line.texts[EXPORT_ID] = at.id;
    exporting->key = record_key(at.id);
    exporting->next = journal_is_stream(at.id) || at.snapshots ? 0 : 1;
    exporting->entities += at.last > 0;
    if (good && at.last)
        good = journal_each_event(journal, at.id, 1, at.last, write_event, exporting) && !exporting->defect &&
               (!at.snapshots || journal_each_snapshot(journal, at.id, 1, INT64_MAX, write_snapshot, exporting));
    return (!is_held || journal->ops->hold(journal, false)) && good && !exporting->defect && !ferror(stdout);
}

static enum cmd_exit export_all(struct exporting *exporting)
{
    struct journal *journal = exporting->journal;
    struct journal_info info = { .version = 0 };
    bool good = journal->ops->info(journal, &info);

    if (good)
        write_line(exporting, &(struct export_line){ .kind = EXPORT_JOURNAL,
                                                     .texts[EXPORT_CLUSTER] = buf_slice(&info.cluster),
                                                     .texts[EXPORT_STORE] = slice_text(info.store),
                                                     .numbers[EXPORT_FORMAT] = EXPORT_VERSION });
    buf_fini(&info.cluster);
    good = good &&
           journal_each_id(journal, exporting->prefix, (struct slice){ 0 }, write_entity, exporting) &&
           !journal->error[0];
    /* Terms and fences come last: those of all events before are among them. */
    good = good && !exporting->defect && journal->ops->fences(journal, write_fence, exporting) &&
           journal->ops->terms(journal, write_term, exporting);
    if (exporting->defect)
        return cmd_fail(CMD_FINDINGS, "%s %" PRIu64 " of %s is damaged (%s); the export is incomplete",
                        exporting->line.kind == EXPORT_EVENT ? "event" : "snapshot", exporting->line.numbers[EXPORT_SEQ], exporting->damaged, exporting->defect);
    if (!good)
        return journal_failed(journal);
    write_line(exporting, &(struct export_line){ .kind = EXPORT_END,
                                                 .numbers[EXPORT_ENTITIES] = exporting->entities,
                                                 .numbers[EXPORT_EVENTS] = exporting->events,
                                                 .numbers[EXPORT_SNAPSHOTS] = exporting->snapshots });
    return ferror(stdout) ? cmd_fail(CMD_UNREACHABLE, "standard output cannot be written") : CMD_GOOD;
}

enum cmd_exit cmd_journal_export(const struct cmd_call *call)
{
    struct exporting exporting = { .prefix = slice_text(cmd_value(call, "prefix")),
                                   .line = { .kind = EXPORT_EVENT } };
    enum cmd_exit exit;

    exporting.journal = journal_open(call);
    if (!exporting.journal)
        return CMD_UNREACHABLE;
    exit = export_all(&exporting);
    buf_fini(&exporting.text);
    exporting.journal->ops->close(exporting.journal);
    return exit;
}
