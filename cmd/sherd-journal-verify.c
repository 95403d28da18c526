/* Runs the commands verify and accept-loss: looks for damage, and rebuilds a journal without it. */
#include "sherd-journal-program.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "host/backend_damage.h"
#include "host/backend_sqlite.h"
#include "host/backend_sqlite_rebuild.h"
#include "journal/record.h"

#define PART_SHOWN 4096

static void print_part(bool is_json, struct slice part, const char *why)
{
    if (is_json) {
        (void)putchar('{');
        journal_print_json("part", part, true);
        journal_print_json("why", slice_text(why), false);
        printf("}\n");
        return;
    }
    printf("damaged: ");
    journal_print_text(part, PART_SHOWN);
    printf(": ");
    journal_print_text(slice_text(why), PART_SHOWN);
    (void)putchar('\n');
}

static void tell_damaged(void *context, const char *part, const char *why)
{
    const bool *is_json = context;

    if (why)
        print_part(*is_json, slice_text(part), why);
}

/* ---- deep ---- */

struct deep {
    struct journal *journal;
    bool is_json;
    bool is_deep;     /* compares fences and terms, too */
    const struct program *program; /* null: without */
    uint64_t entities, events;
    struct map terms; /* type -> its last term, on the heap */
    struct slice id;
    uint64_t key, next, damaged;
    uint64_t snapshots, oldest, newest; /* in all; numbers of the entity's good ones, 0: none */
    struct fence fence; /* of the event or snapshot before */
    uint64_t term;      /* the type's last; UINT64_MAX: none is known */
    bool is_stream;
    uint64_t base; /* number of the base that the record before names, in a stream; 0: none */
};

static void find(struct deep *deep, struct slice part, const char *why)
{
    print_part(deep->is_json, part, why);
    deep->damaged++;
}

/* A record of a shard's stream has its distance from its base as its event type. Null, or what is wrong. */
static const char *check_base(struct deep *deep, uint64_t seq, const struct record *record)
{
    uint64_t before = deep->base;

    if (record->event_version)
        return "a record of a shard's list has an event version";
    if (record->event_type >= seq)
        return "its base would be before the first event";
    deep->base = seq - record->event_type;
    return record->event_type && before && before != deep->base ? "it names another base than the event before" : NULL;
}

static bool check_event(void *context, uint64_t seq, struct slice bytes)
{
    struct deep *deep = context;
    struct record record;
    char why[160];
    const char *defect = record_decode(bytes, deep->key, seq, &record);

    if (!defect && deep->next && seq != deep->next)
        defect = "an event before it is missing";
    if (!defect && deep->is_stream)
        defect = check_base(deep, seq, &record);
    deep->events++;
    if (!defect && deep->is_deep && fence_compare(record.fence, deep->fence) < 0)
        defect = "its fence is lower than that of the event before";
    if (!defect && deep->is_deep && record.fence.term > deep->term)
        defect = "its term is higher than the last one of its type";
    if (defect) {
        (void)snprintf(why, sizeof why, "event %" PRIu64 ": %s", seq, defect); /* fits */
        find(deep, deep->id, why);
    } else {
        deep->fence = record.fence;
    }
    deep->next = seq + 1;
    return true;
}

static void note_fault(void *context, struct slice part, const char *why)
{
    find(context, part, why);
}

static bool check_snapshot(void *context, uint64_t seq, struct slice bytes)
{
    struct deep *deep = context;
    struct snapshot snapshot;
    char why[160];
    const char *defect = snapshot_decode(bytes, deep->key, seq, &snapshot);

    deep->snapshots++;
    if (!defect && deep->is_deep && fence_compare(snapshot.fence, deep->fence) < 0)
        defect = "its fence is lower than that of the snapshot before";
    if (!defect) {
        deep->oldest = deep->oldest ? deep->oldest : seq;
        deep->newest = seq;
        deep->fence = snapshot.fence;
        return true;
    }
    (void)snprintf(why, sizeof why, "snapshot %" PRIu64 ": %s", seq, defect); /* fits */
    find(deep, deep->id, why);
    return true;
}

/* Compares the numbers of an entity's snapshots and events. */
static void check_retention(struct deep *deep, const struct journal_id *at)
{
    char why[160] = "";

    if (at->first > 1 && !deep->oldest)
        (void)snprintf(why, sizeof why, "events 1 to %" PRIu64 " are missing, and no good snapshot has them",
                       at->first - 1); /* fits */
    else if (at->first > 1 && at->first > deep->oldest + 1)
        (void)snprintf(why, sizeof why, "snapshot %" PRIu64 ": events %" PRIu64 " to %" PRIu64 " after it are missing",
                       deep->oldest, deep->oldest + 1, at->first - 1); /* fits */
    if (why[0])
        find(deep, at->id, why);
    if (deep->newest <= at->last)
        return;
    (void)snprintf(why, sizeof why, "snapshot %" PRIu64 " is above the last event, %" PRIu64, deep->newest,
                   at->last); /* fits */
    find(deep, at->id, why);
}

static bool check_held(struct deep *deep, const struct journal_id *at)
{
    bool is_stream = journal_is_stream(at->id);

    deep->fence = (struct fence){ 0 };
    deep->oldest = deep->newest = 0;
    if (at->snapshots && !journal_each_snapshot(deep->journal, at->id, 1, INT64_MAX, check_snapshot, deep))
        return false;
    if (!is_stream)
        check_retention(deep, at);
    deep->next = is_stream || at->snapshots ? at->first : 1;
    deep->fence = (struct fence){ 0 };
    deep->is_stream = is_stream;
    deep->base = 0;
    if (!journal_each_event(deep->journal, at->id, 1, at->last, check_event, deep))
        return false;
    if (deep->base && deep->base < at->first) {
        char why[160];

        (void)snprintf(why, sizeof why, "event %" PRIu64 ": its base, event %" PRIu64 ", is missing, so the list cannot "
                                        "be read", at->last, deep->base); /* fits */
        find(deep, at->id, why);
    }
    return (!deep->program || is_stream || program_compare(deep->program, deep->journal, at, note_fault, deep));
}

static bool check_entity(void *context, const struct journal_id *found)
{
    struct deep *deep = context;
    struct journal_id at = *found;
    struct slice type = journal_type_of(at.id);
    const uint64_t *term = map_get(&deep->terms, type);
    bool is_held = at.snapshots || at.first > 1;
    bool good;

    deep->id = at.id;
    deep->key = record_key(at.id);
    deep->term = term ? *term : UINT64_MAX;
    deep->entities++;
    if (!type.size)
        find(deep, at.id, "an id without a type");
    good = (!is_held || journal_hold(deep->journal, &at)) && check_held(deep, &at);
    return (!is_held || deep->journal->ops->hold(deep->journal, false)) && good;
}

static void note_term(void *context, struct slice type, uint64_t term)
{
    struct deep *deep = context;

    mem_free(map_put(&deep->terms, type, mem_copy(&term, sizeof term)));
}

static void check_fence(void *context, struct slice type, struct slice shard, struct fence fence)
{
    struct deep *deep = context;
    const uint64_t *term = map_get(&deep->terms, type);
    char why[200], name[60];

    if (!term || fence.term <= *term)
        return;
    journal_printable(shard, name, sizeof name);
    (void)snprintf(why, sizeof why, "the fence of shard %s has term %" PRIu64 ", the type's last is %" PRIu64, name,
                   fence.term, *term); /* fits */
    find(deep, type, why);
}

bool journal_verify(struct journal *journal, bool is_json, bool is_deep, const struct program *program,
                    struct backend_check *sum)
{
    struct deep deep = { .journal = journal, .is_json = is_json, .is_deep = is_deep, .program = program };
    struct map_entry entry;
    bool good = journal->ops->terms(journal, note_term, &deep) &&
                (!deep.is_deep || journal->ops->fences(journal, check_fence, &deep)) &&
                (!deep.is_deep || journal->ops->faults(journal, note_fault, &deep)) &&
                journal_each_id(journal, (struct slice){ 0 }, (struct slice){ 0 }, check_entity, &deep) &&
                !journal->error[0];

    for (uint32_t at = 0; map_next(&deep.terms, &at, &entry);)
        mem_free(entry.value);
    map_fini(&deep.terms);
    sum->damaged += deep.damaged;
    sum->entities = deep.entities;
    sum->events = deep.events;
    return good;
}

/* ---- SQLite ---- */

/* Checks all pages, tables and events. */
static enum cmd_exit check_file(const char *path, bool is_json, struct backend_check *found)
{
    struct backend_damage *damage = backend_damage_new(tell_damaged, &is_json);
    struct backend_options options = { .path = path, .damage = damage };
    void *store = backend_sqlite.open(&options, BACKEND_CHECKER, found->error);
    uint64_t damaged;

    while (store && !found->is_over && !found->is_waiting)
        backend_sqlite.check_step(store, found);
    if (store)
        backend_sqlite.close(store);
    damaged = backend_damage_list(damage, NULL, 0);
    backend_damage_free(damage);
    found->damaged = damaged;
    if (found->is_waiting)
        return cmd_fail(CMD_REFUSED, "a node or another program checks this journal; try again later");
    if (found->error[0])
        return cmd_fail(damaged ? CMD_FINDINGS : CMD_UNREACHABLE, "%s", found->error);
    return damaged ? CMD_FINDINGS : CMD_GOOD;
}

static void print_summary(const char *path, bool is_json, const struct backend_check *found)
{
    if (is_json)
        printf("{\"pages\":%" PRIu64 ",\"entities\":%" PRIu64 ",\"events\":%" PRIu64 ",\"damaged\":%" PRIu64 "}\n",
               found->pages, found->entities, found->events, found->damaged);
    else
        printf("%s: %" PRIu64 " pages, %" PRIu64 " entities, %" PRIu64 " events, %" PRIu64 " damaged parts\n", path,
               found->pages, found->entities, found->events, found->damaged);
}

static enum cmd_exit verify(const struct cmd_call *call, const struct program *program)
{
    const char *place = journal_is_remote(call) ? "journal in PostgreSQL" : call->arguments[0];
    bool is_json = cmd_value(call, "json") != NULL;
    bool reads_all = cmd_value(call, "deep") || program || journal_is_remote(call);
    struct backend_check found = { .bytes = 0 };
    struct journal *journal = journal_open(call); /* says what is no journal */
    enum cmd_exit exit = CMD_GOOD;

    if (!journal)
        return CMD_UNREACHABLE;
    if (!journal_is_remote(call))
        exit = check_file(place, is_json, &found);
    if (exit <= CMD_FINDINGS && !found.error[0]) {
        if (reads_all && !journal_verify(journal, is_json, cmd_value(call, "deep") || program, program, &found))
            exit = exit == CMD_FINDINGS ? exit : journal_failed(journal);
        if (exit == CMD_GOOD && found.damaged)
            exit = CMD_FINDINGS;
        if (exit <= CMD_FINDINGS)
            print_summary(place, is_json, &found);
    }
    journal->ops->close(journal);
    return exit;
}

enum cmd_exit cmd_journal_verify(const struct cmd_call *call)
{
    return cmd_value(call, "program") ? program_run(call, verify) : verify(call, NULL);
}

/* ---- accepting a loss ---- */

static void print_lost(void *context, const char *text)
{
    (void)context;
    printf("lost: ");
    journal_print_text(slice_text(text), PART_SHOWN);
    (void)putchar('\n');
}

enum cmd_exit cmd_journal_accept_loss(const struct cmd_call *call)
{
    const char *path = call->arguments[0];
    struct backend_rebuild rebuild = { .lost = print_lost };
    struct backend_check found = { .bytes = 0 };
    char error[BACKEND_ERROR_MAX] = "";
    enum cmd_exit exit;

    if (journal_is_remote(call))
        return cmd_fail(CMD_REFUSED, "a journal in PostgreSQL cannot be rebuilt: restore a backup of the server");
    exit = check_file(path, false, &found);
    if (exit <= CMD_FINDINGS && !found.error[0])
        print_summary(path, false, &found);
    if (exit != CMD_FINDINGS)
        return exit; /* nothing is lost, or nothing can be read */
    if (backend_sqlite_rebuild(path, &rebuild, error) != 0)
        return cmd_fail(CMD_REFUSED, "%s", error);
    printf("%s: rebuilt with %" PRIu64 " entities and %" PRIu64 " events; the former file is %s.damaged\n", path,
           rebuild.entities, rebuild.events, path);
    return CMD_GOOD;
}
