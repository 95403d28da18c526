/* Compares the durable effects of commands with what the library stored of them, and with replies. */
#include "sim/check/check_command.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

#define SILENT_EACH 8 /* one in so many commands gets no reply when it is carried out */

/* A command that was carried out. */
struct known {
    uint64_t account, command;
    uint32_t effects, stored;
    uint64_t at;       /* of the last execution: its time, */
    uint64_t position; /* and its place among the account's commands */
    VEC(uint64_t) results;
    bool is_touched;
};

/* The results of a command's lost executions. */
struct lost_results {
    VEC(uint64_t) results;
};

struct check_command {
    struct verdict *verdict;
    uint32_t max;
    uint64_t age_ms;
    struct map known;     /* number -> struct known */
    struct map positions; /* account -> uint64_t: its commands */
    struct map lost;      /* number -> struct lost_results */
    VEC(struct known *) touched; /* by the present commit */
    struct check_command_counts counts;
};

bool check_command_replies(uint64_t command)
{
    return command % SILENT_EACH != 0;
}

struct check_command *check_command_new(struct verdict *verdict)
{
    struct check_command *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check_command_window(check, UINT32_MAX, UINT64_MAX);
    return check;
}

void check_command_forget(struct check_command *check)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->known, &at, &entry);) {
        struct known *known = entry.value;

        vec_fini(&known->results);
        mem_free(known);
    }
    for (uint32_t at = 0; map_next(&check->positions, &at, &entry);)
        mem_free(entry.value);
    map_fini(&check->known);
    map_fini(&check->positions);
    check->touched.count = 0;
    check->counts.stored = check->counts.again = 0;
}

void check_command_free(struct check_command *check)
{
    struct map_entry entry;

    if (!check)
        return;
    check_command_forget(check);
    for (uint32_t at = 0; map_next(&check->lost, &at, &entry);) {
        struct lost_results *lost = entry.value;

        vec_fini(&lost->results);
        mem_free(lost);
    }
    map_fini(&check->lost);
    vec_fini(&check->touched);
    mem_free(check);
}

void check_command_window(struct check_command *check, uint32_t max, uint64_t age_ms)
{
    check->max = max;
    check->age_ms = age_ms;
}

static struct known *find(const struct check_command *check, uint64_t command)
{
    return map_get(&check->known, slice_of(&command, sizeof command));
}

static struct known *touch(struct check_command *check, uint64_t account, uint64_t command)
{
    struct known *known = find(check, command);

    if (!known) {
        known = mem_alloc(sizeof *known);
        known->account = account;
        known->command = command;
        (void)map_put(&check->known, slice_of(&command, sizeof command), known);
    }
    if (!known->is_touched)
        vec_push(&check->touched, known);
    known->is_touched = true;
    return known;
}

static void wrong(struct check_command *check, uint64_t account, uint64_t command, const char *why)
{
    violation(check->verdict, "command-once", VERDICT_NO_NODE,
              "command %" PRIu64 " to account b%" PRIu64 ": %s", command, account, why);
}

/* Counts the account's commands. Returns the place of the next one. */
static uint64_t next_position(struct check_command *check, uint64_t account)
{
    struct slice key = slice_of(&account, sizeof account);
    uint64_t *count = map_get(&check->positions, key);

    if (!count) {
        count = mem_alloc(sizeof *count);
        (void)map_put(&check->positions, key, count);
    }
    return ++*count;
}

/* ---- the journal ---- */

void check_command_effect(struct check_command *check, uint64_t account,
                          const struct command_effect *effect)
{
    struct known *known = touch(check, account, effect->command);

    if (known->account != account)
        wrong(check, account, effect->command, "it has its effect at another account, too");
    known->effects++;
    vec_push(&known->results, effect->result);
}

/* Whether the entity may have forgotten the last execution. */
static bool is_forgotten(const struct check_command *check, const struct known *known,
                         const struct command_fact *fact, uint64_t position)
{
    return position - known->position > check->max ||
           (fact->at > known->at && fact->at - known->at > check->age_ms);
}

void check_command_stored(struct check_command *check, const struct command_fact *fact)
{
    struct known *known = touch(check, fact->account, fact->command);
    uint64_t position = next_position(check, fact->account);

    if (known->stored && !is_forgotten(check, known, fact, position))
        wrong(check, fact->account, fact->command, "it is carried out twice within its window");
    check->counts.again += known->stored > 0;
    if (fact->has_reply != check_command_replies(fact->command))
        wrong(check, fact->account, fact->command,
              fact->has_reply ? "a reply is stored that was not given" : "its reply is not stored");
    else if (fact->has_reply && known->results.count &&
             fact->result != known->results.items[known->results.count - 1])
        wrong(check, fact->account, fact->command, "another reply than that of its effect is stored");
    known->stored++;
    known->at = fact->at;
    known->position = position;
    check->counts.stored++;
}

void check_command_committed(struct check_command *check)
{
    for (uint32_t i = 0; i < check->touched.count; i++) {
        struct known *known = check->touched.items[i];

        known->is_touched = false;
        if (known->effects != known->stored)
            wrong(check, known->account, known->command,
                  known->effects > known->stored ? "its effect is durable without it"
                                                 : "it is durable without its effect");
    }
    check->touched.count = 0;
}

void check_command_lost(struct check_command *check, const struct command_effect *effect)
{
    struct slice key = slice_of(&effect->command, sizeof effect->command);
    struct lost_results *lost = map_get(&check->lost, key);

    if (!lost) {
        lost = mem_alloc(sizeof *lost);
        (void)map_put(&check->lost, key, lost); /* was absent */
    }
    vec_push(&lost->results, effect->result);
}

/* ---- replies ---- */

void check_command_answered(struct check_command *check, uint64_t command, uint64_t result)
{
    const struct known *known = find(check, command);
    const struct lost_results *lost = map_get(&check->lost, slice_of(&command, sizeof command));

    check->counts.answered++;
    for (uint32_t i = 0; known && i < known->results.count; i++)
        if (known->results.items[i] == result)
            return;
    for (uint32_t i = 0; lost && i < lost->results.count; i++)
        if (lost->results.items[i] == result)
            return;
    wrong(check, known ? known->account : 0, command,
          known ? "a reply is not that of its effect" : "a reply came before its effect was durable");
}

void check_command_seen(struct check_command *check, uint64_t command)
{
    const struct known *known = find(check, command);
    bool is_lost = map_get(&check->lost, slice_of(&command, sizeof command)) != NULL;

    check->counts.seen++;
    if (!known && !is_lost)
        wrong(check, 0, command, "it counts as carried out before its effect is durable");
    else if (check_command_replies(command))
        wrong(check, known ? known->account : 0, command, "a repetition does not get the reply of the first one");
}

struct check_command_counts check_command_counts(const struct check_command *check)
{
    return check->counts;
}
