/* Loads the code of an application, and runs it on an entity's events in a child process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sherd-journal-program.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor/snapshot.h"
#include "base/check.h"
#include "journal/record.h"

/* The event that the child works on, in memory that it shares with its parent. */
struct working {
    uint64_t seq; /* of the event or snapshot; 0: none */
    char id[200];
};

struct program {
    void *library;
    const struct sherd_inspected *rows;
    struct working *working;
};

/* ---- the child ---- */

static enum cmd_exit load_library(const char *path, struct program *program)
{
    const struct sherd_inspected *(*inspect)(void) = NULL;
    void *symbol;

    if (!path)
        return cmd_fail(CMD_USAGE, "--program LIBRARY is missing: the shared library with the types' code");
    program->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!program->library)
        program->library = dlopen(path, RTLD_LAZY | RTLD_LOCAL); /* it need not be linked with libsherd */
    if (!program->library)
        return cmd_fail(CMD_UNREACHABLE, "%s", dlerror());
    symbol = dlsym(program->library, "sherd_inspect");
    if (!symbol)
        return cmd_fail(CMD_USAGE, "%s has no function sherd_inspect (sherd/inspect.h)", path);
    memcpy(&inspect, &symbol, sizeof inspect); /* POSIX: a function in an object pointer */
    program->rows = inspect();
    if (!program->rows)
        return cmd_fail(CMD_USAGE, "%s: sherd_inspect returns null", path);
    return CMD_GOOD;
}

static enum cmd_exit run_child(const struct cmd_call *call, struct working *working,
                               enum cmd_exit (*run)(const struct cmd_call *call, const struct program *program))
{
    struct program program = { .working = working };
    enum cmd_exit exit = load_library(cmd_value(call, "program"), &program);

    if (exit == CMD_GOOD)
        exit = run(call, &program);
    if (fflush(stdout) != 0 && exit == CMD_GOOD)
        exit = cmd_fail(CMD_UNREACHABLE, "standard output cannot be written");
    return exit;
}

/* ---- the parent ---- */

static enum cmd_exit end_of(int status, const struct working *working)
{
    char seq[24] = "no event", id[200];

    if (WIFEXITED(status))
        return (enum cmd_exit)WEXITSTATUS(status);
    if (working->seq)
        (void)snprintf(seq, sizeof seq, "%" PRIu64, working->seq); /* fits */
    journal_printable(slice_text(working->id), id, sizeof id);
    return cmd_fail(CMD_FINDINGS, "the program's code crashed with signal %d at event %s of %s", WTERMSIG(status), seq,
                    id[0] ? id : "no entity");
}

enum cmd_exit program_run(const struct cmd_call *call,
                          enum cmd_exit (*run)(const struct cmd_call *call, const struct program *program))
{
    struct working *working = mmap(NULL, sizeof *working, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    enum cmd_exit exit;
    pid_t child;
    int status = 0;

    if (working == MAP_FAILED)
        return cmd_fail(CMD_UNREACHABLE, "no memory");
    (void)fflush(stdout);
    child = fork();
    if (child < 0) {
        exit = cmd_fail(CMD_UNREACHABLE, "no child process can be started");
    } else if (child == 0) {
        _exit((int)run_child(call, working, run));
    } else {
        while (waitpid(child, &status, 0) < 0)
            ; /* interrupted */
        exit = end_of(status, working);
    }
    (void)munmap(working, sizeof *working);
    return exit;
}

const struct sherd_inspected *program_type(const struct program *program, struct slice id)
{
    struct slice type = journal_type_of(id);
    const struct sherd_inspected *row = program->rows;

    if (journal_is_stream(id))
        return NULL;
    while (row->type && !slice_equal(slice_text(row->type->name), type))
        row++;
    return row->type && (row->type->behavior.apply || row->type->behavior.apply_checked) ? row : NULL;
}

/* ---- a state ---- */

static void note(const struct program_state *state, uint64_t seq)
{
    state->program->working->seq = seq;
}

/* False. */
static bool refuse(struct program_state *state, const char *what, uint64_t seq, const char *why)
{
    (void)snprintf(state->why, sizeof state->why, "%s %" PRIu64 ": %s", what, seq, why); /* may be cut */
    return false;
}

void program_begin(struct program_state *state, const struct program *program, const struct sherd_inspected *row,
                   struct slice id)
{
    const struct sherd_entity_type *type = row->type;

    *state = (struct program_state){ .program = program,
                                     .row = row,
                                     .code = { .face = &type->behavior,
                                               .self = mem_alloc(type->behavior.state_size + 1),
                                               .upcasts = type->upcasts,
                                               .upcast_count = type->upcasts ? type->upcast_count : 0 },
                                     .id = id,
                                     .key = record_key(id) };
    journal_printable(id, program->working->id, sizeof program->working->id);
    note(state, 0);
}

static void clear(struct program_state *state)
{
    if (state->code.face->release)
        state->code.face->release(state->code.self);
    memset(state->code.self, 0, state->code.face->state_size);
    state->seq = state->snapshot = 0;
}

void program_end(struct program_state *state)
{
    note(state, state->seq);
    clear(state);
    mem_free(state->code.self);
}

bool program_apply(struct program_state *state, uint64_t seq, struct slice bytes)
{
    struct record record;
    const char *defect = record_decode(bytes, state->key, seq, &record);
    struct entity_event event;

    if (!defect && seq != state->seq + 1)
        defect = "an event before it is missing";
    if (defect)
        return refuse(state, "event", seq, defect);
    event = (struct entity_event){ record.event_type, record.event_version, record.payload };
    state->has_deliveries |= record.event_type >= SHERD_NUMBERS_END;
    note(state, seq);
    if (!event_take(&state->code, seq, &event, state->why))
        return false;
    state->seq = seq;
    state->fence = record.fence;
    return true;
}

bool program_load(struct program_state *state, uint64_t seq, struct slice bytes)
{
    const struct sherd_behavior *face = state->code.face;
    struct snapshot snapshot;
    const char *defect = snapshot_decode(bytes, state->key, seq, &snapshot);

    clear(state);
    if (!defect && !face->load)
        defect = "the type has no function load";
    if (!defect && snapshot.version > face->save_version)
        defect = "its version is newer than the program's";
    if (defect)
        return refuse(state, "snapshot", seq, defect);
    note(state, seq);
    if (face->load(state->code.self, snapshot.version,
                   (struct sherd_bytes){ snapshot.image.data, snapshot.image.size }) != 0) {
        clear(state);
        return refuse(state, "snapshot", seq, "load returned an error");
    }
    state->has_deliveries |= snapshot.part.size > 0;
    state->seq = state->snapshot = seq;
    state->fence = snapshot.fence;
    return true;
}

const char *program_save(const struct program_state *state, struct buf *image)
{
    const struct sherd_behavior *face = state->code.face;

    note(state, state->seq);
    return face->save ? snapshot_image(face, state->code.self, SHERD_SNAPSHOT_MAX, image) : "the type has no function save";
}

const char *program_describe(const struct program_state *state, struct buf *text)
{
    struct sherd_behavior face = { .save = state->row->describe };

    note(state, state->seq);
    return snapshot_image(&face, state->code.self, SHERD_SNAPSHOT_MAX, text);
}

/* ---- replays ---- */

struct numbers {
    uint64_t *items;
    uint32_t count, capacity;
};

static bool add_number(void *context, uint64_t seq, struct slice bytes)
{
    struct numbers *numbers = context;

    (void)bytes;
    vec_push(numbers, seq);
    return true;
}

static bool load_one(void *context, uint64_t seq, struct slice bytes)
{
    (void)program_load(context, seq, bytes); /* else `why` is set */
    return false;
}

static bool apply_one(void *context, uint64_t seq, struct slice bytes)
{
    return program_apply(context, seq, bytes);
}

bool program_replay(struct program_state *state, struct journal *journal, const struct journal_id *at, uint64_t to)
{
    struct numbers numbers = { .count = 0 };
    bool good = !at->snapshots || journal_each_snapshot(journal, at->id, 1, to, add_number, &numbers);

    while (good && !state->snapshot && numbers.count) {
        uint64_t seq = numbers.items[--numbers.count];

        if (seq + 1 >= at->first)
            good = journal_each_snapshot(journal, at->id, seq, seq, load_one, state);
    }
    vec_fini(&numbers);
    if (good && !state->snapshot && at->first > 1)
        return state->why[0] ? false : refuse(state, "event", at->first, "the events before it are deleted");
    state->why[0] = 0; /* of a snapshot that is not needed */
    if (good)
        good = journal_each_event(journal, at->id, state->seq + 1, to, apply_one, state);
    return good && !state->why[0];
}

/* ---- snapshots and events ---- */

struct comparing {
    const struct program *program;
    struct program_state full, part; /* by events, and by a snapshot */
    struct numbers numbers;
    uint32_t next; /* of numbers */
    struct journal *journal;
    void (*found)(void *context, struct slice id, const char *why);
    void *context;
};

static void tell(struct comparing *comparing, uint64_t seq, const char *why)
{
    char text[EVENT_FAULT_MAX + 80];

    (void)snprintf(text, sizeof text, "snapshot %" PRIu64 ": %s", seq, why); /* fits */
    comparing->found(comparing->context, comparing->full.id, text);
}

/* Compares the image of the state by events with that of the state by the snapshot. */
static bool compare_one(void *context, uint64_t seq, struct slice bytes)
{
    struct comparing *comparing = context;
    struct buf by_events = { 0 }, by_snapshot = { 0 };
    const char *fault = NULL;

    if (!program_load(&comparing->part, seq, bytes)) {
        comparing->found(comparing->context, comparing->full.id, comparing->part.why);
        return false;
    }
    fault = program_save(&comparing->part, &by_snapshot);
    if (!fault)
        fault = program_save(&comparing->full, &by_events);
    if (!fault && !slice_equal(buf_slice(&by_events), buf_slice(&by_snapshot)))
        fault = "it differs from the state that the events before it make";
    if (fault)
        tell(comparing, seq, fault);
    buf_fini(&by_events);
    buf_fini(&by_snapshot);
    return false;
}

static bool step(void *context, uint64_t seq, struct slice bytes)
{
    struct comparing *comparing = context;

    if (!program_apply(&comparing->full, seq, bytes)) {
        comparing->found(comparing->context, comparing->full.id, comparing->full.why);
        return false;
    }
    while (comparing->next < comparing->numbers.count && comparing->numbers.items[comparing->next] < seq)
        comparing->next++;
    return comparing->next >= comparing->numbers.count || comparing->numbers.items[comparing->next] != seq ||
           journal_each_snapshot(comparing->journal, comparing->full.id, seq, seq, compare_one, comparing);
}

static bool load_first(struct comparing *comparing, const struct journal_id *at)
{
    bool good = true;

    for (uint32_t i = 0; good && i < comparing->numbers.count && !comparing->full.snapshot; i++)
        if (comparing->numbers.items[i] + 1 >= at->first)
            good = journal_each_snapshot(comparing->journal, at->id, comparing->numbers.items[i],
                                         comparing->numbers.items[i], load_one, &comparing->full);
    if (good && !comparing->full.snapshot)
        comparing->found(comparing->context, at->id,
                         comparing->full.why[0] ? comparing->full.why : "no snapshot has the deleted events");
    return good;
}

bool program_compare(const struct program *program, struct journal *journal, const struct journal_id *at,
                     void (*found)(void *context, struct slice id, const char *why), void *context)
{
    const struct sherd_inspected *row = program_type(program, at->id);
    struct comparing comparing = { .program = program, .journal = journal, .found = found, .context = context };
    bool good;

    if (!row || !at->last || !at->snapshots)
        return true;
    program_begin(&comparing.full, program, row, at->id);
    program_begin(&comparing.part, program, row, at->id);
    good = journal_each_snapshot(journal, at->id, 1, INT64_MAX, add_number, &comparing.numbers);
    if (good && at->first > 1)
        good = load_first(&comparing, at);
    if (good && (at->first == 1 || comparing.full.snapshot))
        good = journal_each_event(journal, at->id, comparing.full.seq + 1, at->last, step, &comparing);
    vec_fini(&comparing.numbers);
    program_end(&comparing.part);
    program_end(&comparing.full);
    return good;
}
