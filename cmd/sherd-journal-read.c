/* Runs the commands that print what is in a journal: info, ids, cat, tail, state-at. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sherd-journal.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "journal/record.h"

#define SHOWN 64   /* bytes of a payload */
#define ID_SHOWN 4096

/* ---- info ---- */

struct types {
    bool is_json, has_any;
    uint64_t fences;
};

static void print_term(void *context, struct slice type, uint64_t term)
{
    struct types *types = context;

    if (types->is_json) {
        printf("%s{", types->has_any ? "," : "");
        journal_print_json("type", type, true);
        printf(",\"term\":%" PRIu64 "}", term);
    } else {
        printf("type      ");
        journal_print_text(type, ID_SHOWN);
        printf("  term=%" PRIu64 "\n", term);
    }
    types->has_any = true;
}

static void count_fence(void *context, struct slice type, struct slice shard, struct fence fence)
{
    struct types *types = context;

    (void)type, (void)shard, (void)fence;
    types->fences++;
}

static void print_info(const struct journal_info *info, const struct types *types)
{
    static const char *const open[] = { "unknown", "no", "yes" };

    if (types->is_json) {
        printf("{\"kind\":\"%s\"", info->kind);
        journal_print_json("store", slice_text(info->store), false);
        journal_print_json("cluster", buf_slice(&info->cluster), false);
        printf(",\"version\":%" PRId64 ",\"bytes\":%" PRIu64 ",\"entities\":%" PRIu64 ",\"events\":%" PRIu64
               ",\"snapshots\":%" PRIu64 ",\"shards\":%" PRIu64 ",\"open\":\"%s\"",
               info->version, info->bytes, info->entities, info->events, info->snapshots, types->fences,
               open[info->users + 1]);
        if (info->moved[0])
            journal_print_json("moved", slice_text(info->moved), false);
        return;
    }
    printf("kind      %s\nstore     ", info->kind);
    journal_print_text(slice_text(info->store), ID_SHOWN);
    printf("\ncluster   ");
    journal_print_text(buf_slice(&info->cluster), ID_SHOWN);
    printf("\nversion   %" PRId64 "\nbytes     %" PRIu64 "\nentities  %" PRIu64 "\nevents    %" PRIu64
           "\nsnapshots %" PRIu64 "\nshards    %" PRIu64 "\nopen      %s\n",
           info->version, info->bytes, info->entities, info->events, info->snapshots, types->fences,
           open[info->users + 1]);
    if (info->moved[0])
        printf("moved to  %s\n", info->moved);
}

enum cmd_exit cmd_journal_info(const struct cmd_call *call)
{
    struct journal *journal = journal_open(call);
    struct journal_info info = { .version = 0 };
    struct types types = { .is_json = cmd_value(call, "json") != NULL };
    enum cmd_exit exit = CMD_GOOD;

    if (!journal)
        return CMD_UNREACHABLE;
    if (!journal->ops->fences(journal, count_fence, &types) || !journal->ops->info(journal, &info)) {
        exit = journal_failed(journal);
    } else {
        print_info(&info, &types);
        printf("%s", types.is_json ? ",\"types\":[" : "");
        if (!journal->ops->terms(journal, print_term, &types))
            exit = journal_failed(journal);
        printf("%s", types.is_json ? "]}\n" : "");
    }
    buf_fini(&info.cluster);
    journal->ops->close(journal);
    return exit;
}

/* ---- ids ---- */

struct listing {
    bool is_json;
    uint64_t left;
};

static bool print_id(void *context, const struct journal_id *at)
{
    struct listing *listing = context;

    if (listing->is_json) {
        (void)putchar('{');
        journal_print_json("id", at->id, true);
        printf(",\"first\":%" PRIu64 ",\"last\":%" PRIu64 ",\"snapshots\":%" PRIu64 "}\n", at->first, at->last,
               at->snapshots);
    } else {
        journal_print_text(at->id, ID_SHOWN);
        printf("  %" PRIu64 "..%" PRIu64 "%s\n", at->first, at->last, at->snapshots ? "  with snapshots" : "");
    }
    return --listing->left > 0 && !ferror(stdout);
}

enum cmd_exit cmd_journal_ids(const struct cmd_call *call)
{
    struct listing listing = { cmd_value(call, "json") != NULL, UINT64_MAX };
    struct journal *journal;
    enum cmd_exit exit = CMD_GOOD;

    if (!cmd_number(call, "limit", &listing.left))
        return CMD_USAGE;
    journal = journal_open(call);
    if (!journal)
        return CMD_UNREACHABLE;
    if (!journal_each_id(journal, slice_text(call->count > 1 ? call->arguments[1] : ""),
                         slice_text(cmd_value(call, "after")), print_id, &listing))
        exit = journal_failed(journal);
    journal->ops->close(journal);
    return exit;
}

/* ---- events ---- */

struct printing {
    struct slice id;
    uint64_t key;
    bool is_json, is_hex, names_id;
    uint64_t next;   /* the number that must follow; 0: any */
    uint64_t count;
    bool is_damaged;
};

static void print_payload(const struct printing *printing, struct slice payload)
{
    printf(" size=%zu payload=", payload.size);
    if (printing->is_hex) {
        journal_print_hex(payload);
    } else {
        (void)putchar('"');
        journal_print_text(payload, SHOWN);
        (void)putchar('"');
    }
    (void)putchar('\n');
}

static void print_record(const struct printing *printing, uint64_t seq, const struct record *record,
                         const char *defect)
{
    if (printing->is_json) {
        (void)putchar('{');
        journal_print_json("id", printing->id, true);
        printf(",\"seq\":%" PRIu64, seq);
        if (defect)
            printf(",\"damage\":\"%s\"}\n", defect);
        else
            printf(",\"type\":%" PRIu32 ",\"version\":%" PRIu32 ",\"term\":%" PRIu64 ",\"epoch\":%" PRIu64,
                   record->event_type, record->event_version, record->fence.term, record->fence.epoch);
        if (!defect) {
            journal_print_base64("payload", record->payload);
            printf("}\n");
        }
        return;
    }
    if (printing->names_id) {
        journal_print_text(printing->id, ID_SHOWN);
        (void)putchar(' ');
    }
    if (defect) {
        printf("seq=%" PRIu64 " damaged: %s\n", seq, defect);
        return;
    }
    printf("seq=%" PRIu64 " type=%" PRIu32 " version=%" PRIu32 " term=%" PRIu64 " epoch=%" PRIu64, seq,
           record->event_type, record->event_version, record->fence.term, record->fence.epoch);
    print_payload(printing, record->payload);
}

static bool print_event(void *context, uint64_t seq, struct slice bytes)
{
    struct printing *printing = context;
    struct record record;
    const char *defect;

    for (; printing->next && printing->next < seq; printing->next = seq) {
        print_record(printing, printing->next, NULL, "the event is missing");
        printing->is_damaged = true;
    }
    defect = record_decode(bytes, printing->key, seq, &record);
    print_record(printing, seq, &record, defect);
    printing->is_damaged |= defect != NULL;
    printing->next = seq + 1;
    printing->count++;
    return !ferror(stdout);
}

static struct printing printing_of(const struct cmd_call *call, const char *id)
{
    return (struct printing){ .id = slice_text(id),
                              .key = record_key(slice_text(id)),
                              .is_json = cmd_value(call, "json") != NULL,
                              .is_hex = cmd_value(call, "hex") != NULL };
}

static bool print_snapshot(void *context, uint64_t seq, struct slice bytes)
{
    struct printing *printing = context;
    struct snapshot snapshot;

    if (snapshot_decode(bytes, printing->key, seq, &snapshot) != NULL)
        return true;
    printing->next = seq + 1;
    if (printing->is_json) {
        (void)putchar('{');
        journal_print_json("id", printing->id, true);
        printf(",\"snapshot\":%" PRIu64 ",\"version\":%" PRIu32, seq, snapshot.version);
        journal_print_base64("image", snapshot.image);
        printf("}\n");
    } else {
        printf("snapshot=%" PRIu64 " version=%" PRIu32, seq, snapshot.version);
        print_payload(printing, snapshot.image);
    }
    return false;
}

static void take_bounds(void *context, const struct journal_id *found)
{
    struct journal_id *at = context;

    if (slice_equal(found->id, at->id))
        *at = (struct journal_id){ at->id, found->first, found->last, found->snapshots };
}

/* Chooses the number that the first event must have. If the first events were deleted, a state begins with the
 * first good snapshot behind them, which is printed. False: the journal failed. */
static bool choose_first(struct journal *journal, struct printing *printing, uint64_t from, uint64_t to, bool wants_all)
{
    struct journal_id at = { .id = printing->id };

    printing->next = from;
    if (!journal->ops->ids(journal, at.id, (struct slice){ 0 }, 1, take_bounds, &at))
        return false;
    if (wants_all)
        return at.first <= 1 || journal_each_snapshot(journal, at.id, at.first - 1, to, print_snapshot, printing);
    if (from < at.first && (at.snapshots || journal_is_stream(at.id)))
        printing->next = 0;
    return true;
}

/* Prints a range of an entity's events. */
static enum cmd_exit print_events(const struct cmd_call *call, uint64_t from, uint64_t to, bool wants_all)
{
    struct printing printing = printing_of(call, call->arguments[1]);
    struct journal *journal = journal_open(call);
    enum cmd_exit exit = CMD_GOOD;

    if (!journal)
        return CMD_UNREACHABLE;
    if (!choose_first(journal, &printing, from, to, wants_all) ||
        !journal_each_event(journal, printing.id, wants_all ? printing.next : from, to, print_event, &printing))
        exit = journal_failed(journal);
    else if (printing.is_damaged)
        exit = CMD_FINDINGS;
    else if (printing.count == 0 && printing.next <= to)
        exit = cmd_fail(CMD_FINDINGS, "no such events");
    else if (wants_all && printing.next <= to)
        exit = cmd_fail(CMD_FINDINGS, "the last event is %" PRIu64, printing.next - 1);
    journal->ops->close(journal);
    return exit;
}

enum cmd_exit cmd_journal_cat(const struct cmd_call *call)
{
    uint64_t from = 1, to = INT64_MAX;

    if (!cmd_number(call, "from", &from) || !cmd_number(call, "to", &to))
        return CMD_USAGE;
    return print_events(call, from, to, false);
}

bool journal_number_of(const struct cmd_call *call, uint64_t *number)
{
    const char *text = call->arguments[2];

    for (; *text >= '0' && *text <= '9' && *number < INT64_MAX / 20; text++)
        *number = *number * 10 + (uint64_t)(*text - '0');
    if (!*text && *number)
        return true;
    (void)cmd_fail(CMD_USAGE, "N must be a number of at least 1, not \"%.40s\"", call->arguments[2]);
    return false;
}

enum cmd_exit cmd_journal_state_at(const struct cmd_call *call)
{
    uint64_t to = 0;

    if (cmd_value(call, "program"))
        return journal_state_by_program(call);
    return journal_number_of(call, &to) ? print_events(call, 1, to, true) : CMD_USAGE;
}

/* ---- tail ---- */

struct range {
    struct slice id;
    uint64_t last;
};

static void take_range(void *context, const struct journal_id *at)
{
    struct range *range = context;

    if (slice_equal(at->id, range->id))
        range->last = at->last;
}

/* Until an error, or the end of standard output. */
static void follow(struct journal *journal, struct printing *followed, uint32_t count)
{
    const struct timespec pause = { 0, 500000000 };

    for (;;) {
        for (uint32_t i = 0; i < count; i++)
            if (!journal_each_event(journal, followed[i].id, followed[i].next ? followed[i].next : 1,
                                    INT64_MAX, print_event, &followed[i]))
                return;
        if (fflush(stdout) != 0 || ferror(stdout))
            return;
        (void)nanosleep(&pause, NULL); /* a signal ends the program */
    }
}

enum cmd_exit cmd_journal_tail(const struct cmd_call *call)
{
    struct printing followed[CMD_ARGUMENTS_MAX];
    uint32_t count = call->count - 1;
    uint64_t events = 1;
    struct journal *journal;
    enum cmd_exit exit;
    bool good = true;

    if (!cmd_number(call, "events", &events))
        return CMD_USAGE;
    journal = journal_open(call);
    if (!journal)
        return CMD_UNREACHABLE;
    for (uint32_t i = 0; i < count && good; i++) {
        struct range range = { slice_text(call->arguments[i + 1]), 0 };

        followed[i] = printing_of(call, call->arguments[i + 1]);
        followed[i].names_id = true;
        good = journal->ops->ids(journal, range.id, (struct slice){ 0 }, 1, take_range, &range);
        followed[i].next = range.last > events ? range.last - events + 1 : 0;
    }
    if (good)
        follow(journal, followed, count);
    exit = ferror(stdout) ? CMD_GOOD : journal_failed(journal);
    journal->ops->close(journal);
    return exit;
}
