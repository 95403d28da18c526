/* Runs the commands that need an application's code: state-at with --program, upcast and make-snapshot. */
#include "sherd-journal-program.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "journal/record.h"

#define TEXT_SHOWN 65536

static void take_id(void *context, const struct journal_id *found)
{
    struct journal_id *at = context;

    if (slice_equal(found->id, at->id))
        *at = (struct journal_id){ at->id, found->first, found->last, found->snapshots };
}

/* ---- the state of one entity ---- */

/* Opens the journal, and makes the state of the command's entity after event `to`, or after the last one. */
static enum cmd_exit make_state(const struct cmd_call *call, const struct program *program, uint64_t to,
                                struct program_state *state)
{
    struct journal_id at = { .id = slice_text(call->arguments[1]) };
    const struct sherd_inspected *row = program_type(program, at.id);
    struct journal *journal;
    enum cmd_exit exit = CMD_GOOD;

    if (!row)
        return cmd_fail(CMD_USAGE, "the program has no persistent type for this id");
    journal = journal_open(call);
    if (!journal)
        return CMD_UNREACHABLE;
    program_begin(state, program, row, at.id);
    if (!journal->ops->hold(journal, true) ||
        !journal->ops->ids(journal, at.id, (struct slice){ 0 }, 1, take_id, &at)) {
        exit = journal_failed(journal);
    } else if (!at.last || (to && at.last < to)) {
        exit = cmd_fail(CMD_FINDINGS, "the last event is %" PRIu64, at.last);
    } else if (!program_replay(state, journal, &at, to ? to : at.last)) {
        exit = state->why[0] ? cmd_fail(CMD_FINDINGS, "%s", state->why) : journal_failed(journal);
    }
    journal->ops->close(journal);
    if (exit != CMD_GOOD)
        program_end(state);
    return exit;
}

/* Writes the text of `describe`, or the image of `save`. */
static enum cmd_exit print_state(const struct cmd_call *call, const struct program_state *state)
{
    const struct sherd_inspected *row = state->row;
    struct buf image = { 0 };
    const char *fault = NULL;
    bool is_json = cmd_value(call, "json") != NULL;

    if (row->describe)
        fault = program_describe(state, &image);
    else if (state->code.face->save)
        fault = program_save(state, &image);
    else
        fault = "the type has neither save nor describe";
    if (fault) {
        buf_fini(&image);
        return cmd_fail(CMD_FINDINGS, "the state after event %" PRIu64 " cannot be printed: %s", state->seq, fault);
    }
    if (is_json) {
        (void)putchar('{');
        journal_print_json("id", state->id, true);
        printf(",\"seq\":%" PRIu64 ",\"snapshot\":%" PRIu64, state->seq, state->snapshot);
        if (row->describe)
            journal_print_json("state", buf_slice(&image), false);
        else
            journal_print_base64("image", buf_slice(&image));
        printf("}\n");
    } else if (row->describe) {
        journal_print_text(buf_slice(&image), TEXT_SHOWN);
        (void)putchar('\n');
    } else {
        journal_print_hex(buf_slice(&image));
        (void)putchar('\n');
    }
    buf_fini(&image);
    return CMD_GOOD;
}

static enum cmd_exit run_state_at(const struct cmd_call *call, const struct program *program)
{
    struct program_state state;
    uint64_t to = 0;
    enum cmd_exit exit = journal_number_of(call, &to) ? make_state(call, program, to, &state) : CMD_USAGE;

    if (exit != CMD_GOOD)
        return exit;
    exit = print_state(call, &state);
    program_end(&state);
    return exit;
}

enum cmd_exit journal_state_by_program(const struct cmd_call *call)
{
    return program_run(call, run_state_at);
}

/* ---- making a snapshot ---- */

static enum cmd_exit put_snapshot(const struct cmd_call *call, const struct program_state *state)
{
    struct journal_changes changes = { .count = 0 };
    struct buf image = { 0 }, bytes = { 0 };
    const char *fault = state->has_deliveries
                            ? "it has deliveries or commands, which only a running node puts into a snapshot"
                            : program_save(state, &image);
    enum cmd_exit exit;

    if (fault) {
        buf_fini(&image);
        return cmd_fail(CMD_FINDINGS, "%s", fault);
    }
    snapshot_encode(&bytes, state->key, state->seq,
                    &(struct snapshot){ state->code.face->save_version, state->fence,
                                        { 0 }, buf_slice(&image) });
    journal_change_add(&changes, JOURNAL_PUT_SNAPSHOT, state->id, state->seq, state->seq, buf_slice(&bytes));
    exit = journal_change(call, &changes);
    if (exit == CMD_GOOD && cmd_value(call, "json"))
        printf("{\"seq\":%" PRIu64 ",\"size\":%zu}\n", state->seq, image.size);
    else if (exit == CMD_GOOD)
        printf("snapshot of event %" PRIu64 " stored, %zu bytes\n", state->seq, image.size);
    journal_changes_fini(&changes);
    buf_fini(&image);
    buf_fini(&bytes);
    return exit;
}

static enum cmd_exit run_make(const struct cmd_call *call, const struct program *program)
{
    struct program_state state;
    enum cmd_exit exit = make_state(call, program, 0, &state);

    if (exit != CMD_GOOD)
        return exit;
    exit = put_snapshot(call, &state);
    program_end(&state);
    return exit;
}

enum cmd_exit cmd_journal_make_snapshot(const struct cmd_call *call)
{
    return program_run(call, run_make);
}

/* ---- upcasters ---- */

/* Counts the stored events of one type and version, and what they became. */
struct outcome {
    const struct sherd_inspected *row;
    uint32_t type, version;
    uint64_t events, applied, rejected;
    char first[EVENT_FAULT_MAX + 120]; /* the first rejection */
};

struct upcasting {
    const struct program *program;
    struct journal *journal;
    struct program_state state;
    VEC(struct outcome) outcomes; /* an application has few types of events */
    uint64_t entities, events, failed;
};

static struct outcome *outcome_of(struct upcasting *upcasting, const struct record *record)
{
    const struct outcome new = { .row = upcasting->state.row,
                                 .type = record->event_type,
                                 .version = record->event_version };

    for (uint32_t i = 0; i < upcasting->outcomes.count; i++) {
        struct outcome *at = &upcasting->outcomes.items[i];

        if (at->row == new.row && at->type == new.type && at->version == new.version)
            return at;
    }
    vec_push(&upcasting->outcomes, new);
    return &upcasting->outcomes.items[upcasting->outcomes.count - 1];
}

static bool upcast_event(void *context, uint64_t seq, struct slice bytes)
{
    struct upcasting *upcasting = context;
    struct program_state *state = &upcasting->state;
    uint64_t before = state->code.applied;
    struct outcome *outcome;
    struct record record;
    char id[60];

    if (record_decode(bytes, state->key, seq, &record) != NULL)
        return program_apply(state, seq, bytes); /* fails, with the defect */
    outcome = outcome_of(upcasting, &record);
    outcome->events++;
    upcasting->events++;
    if (program_apply(state, seq, bytes)) {
        outcome->applied += state->code.applied - before;
        return true;
    }
    journal_printable(state->id, id, sizeof id);
    if (!outcome->rejected++)
        (void)snprintf(outcome->first, sizeof outcome->first, "%s: %s", id, state->why); /* fits */
    state->why[0] = 0; /* it is told */
    return false; /* the state is wrong from here on */
}

/* An entity without its first events begins with a snapshot. */
static bool upcast_held(struct upcasting *upcasting, const struct journal_id *at)
{
    struct program_state *state = &upcasting->state;
    bool good = at->first <= 1 || program_replay(state, upcasting->journal, at, at->first - 1);

    if (good)
        good = journal_each_event(upcasting->journal, at->id, state->seq + 1, at->last, upcast_event, upcasting);
    if (upcasting->journal->error[0])
        return false;
    upcasting->failed += !good || state->seq != at->last;
    if (state->why[0]) {
        char id[60];

        journal_printable(at->id, id, sizeof id);
        (void)cmd_fail(CMD_FINDINGS, "%s: %s", id, state->why);
    }
    return true;
}

static bool upcast_entity(void *context, const struct journal_id *found)
{
    struct upcasting *upcasting = context;
    const struct sherd_inspected *row = program_type(upcasting->program, found->id);
    struct journal_id at = *found;
    bool good;

    if (!row || !at.last)
        return true;
    upcasting->entities++;
    program_begin(&upcasting->state, upcasting->program, row, at.id);
    good = journal_hold(upcasting->journal, &at) && upcast_held(upcasting, &at);
    program_end(&upcasting->state);
    return upcasting->journal->ops->hold(upcasting->journal, false) && good;
}

static void print_outcome(bool is_json, const struct outcome *outcome)
{
    struct slice type = slice_text(outcome->row->type->name);

    if (is_json) {
        (void)putchar('{');
        journal_print_json("type", type, true);
        printf(",\"event\":%" PRIu32 ",\"version\":%" PRIu32 ",\"events\":%" PRIu64 ",\"applied\":%" PRIu64
               ",\"rejected\":%" PRIu64, outcome->type, outcome->version, outcome->events, outcome->applied,
               outcome->rejected);
        if (outcome->rejected)
            journal_print_json("first", slice_text(outcome->first), false);
        printf("}\n");
        return;
    }
    journal_print_text(type, TEXT_SHOWN);
    printf(" type=%" PRIu32 " version=%" PRIu32 " events=%" PRIu64 " applied=%" PRIu64 " rejected=%" PRIu64 "\n",
           outcome->type, outcome->version, outcome->events, outcome->applied, outcome->rejected);
    if (!outcome->rejected)
        return;
    printf("  first: ");
    journal_print_text(slice_text(outcome->first), TEXT_SHOWN);
    (void)putchar('\n');
}

static enum cmd_exit run_upcast(const struct cmd_call *call, const struct program *program)
{
    struct upcasting upcasting = { .program = program, .journal = journal_open(call) };
    bool is_json = cmd_value(call, "json") != NULL;
    enum cmd_exit exit = CMD_GOOD;

    if (!upcasting.journal)
        return CMD_UNREACHABLE;
    if (!journal_each_id(upcasting.journal, slice_text(call->count > 1 ? call->arguments[1] : ""),
                         (struct slice){ 0 }, upcast_entity, &upcasting) || upcasting.journal->error[0])
        exit = journal_failed(upcasting.journal);
    for (uint32_t i = 0; i < upcasting.outcomes.count; i++)
        print_outcome(is_json, &upcasting.outcomes.items[i]);
    if (exit == CMD_GOOD && is_json)
        printf("{\"entities\":%" PRIu64 ",\"events\":%" PRIu64 ",\"failed\":%" PRIu64 "}\n", upcasting.entities,
               upcasting.events, upcasting.failed);
    else if (exit == CMD_GOOD)
        printf("%" PRIu64 " entities, %" PRIu64 " events, %" PRIu64 " entities would not start\n", upcasting.entities,
               upcasting.events, upcasting.failed);
    if (exit == CMD_GOOD && upcasting.failed)
        exit = CMD_FINDINGS;
    vec_fini(&upcasting.outcomes);
    upcasting.journal->ops->close(upcasting.journal);
    return exit;
}

enum cmd_exit cmd_journal_upcast(const struct cmd_call *call)
{
    if (!cmd_value(call, "dry-run"))
        return cmd_fail(CMD_USAGE, "use --dry-run: stored events are never rewritten, nodes upcast what they read");
    return program_run(call, run_upcast);
}
