/* Tests that a journal back end keeps the promises of sherd/backend.h. */
#include "sherd-conform.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#ifdef SHERD_WITH_POSTGRES
#include <sherd/postgres.h>
#endif

#include "host/backend_memory.h"
#include "host/backend_plugin.h"
#include "host/backend_sqlite.h"

static const char usage[] =
    "usage: sherd-conform [OPTION...] STORE\n"
    "\n"
    "Runs the cases on a store: memory, sqlite:PATH, or NAME:PLACE of a back end in a library.\n"
    "Each case uses types of its own, so a store may be used again.\n"
    "\n"
    "  --library FILE[,FUNCTION]  loads a shared library and calls the function, by default\n"
    "                             sherd_NAME_register, which registers the back end (sherd/backend.h)\n"
    "  --set KEY=VALUE            a setting of the back end, journal.NAME.KEY; a time in ms\n"
    "  --cluster ID               the cluster of the store; default: conform\n"
    "  --case NAME                runs this case; several are allowed, else all run\n"
    "  --break COMMAND            breaks the store; --mend COMMAND mends it. Both are run by the shell with\n"
    "                             the name of a fault, and with SHERD_CONFORM_TYPE (the type of the case)\n"
    "                             and SHERD_CONFORM_ROUND (the number of the try) in the environment. Exit\n"
    "                             status 77: it cannot be done, for the reason that was printed\n"
    "  --via PLACE                another place of the same store, whose link these commands cut and delay\n"
    "  --log                      prints what the back end logs, and errors of requests\n"
    "  --list                     prints the cases\n"
    "\n"
    "Faults, each of the case of this name: full (no room), read-only, auth-lost, server-stopped,\n"
    "open-reader (another program has a transaction that reads), held-shard (another program's transaction\n"
    "keeps shard s of the type), other-store, commit-lost (the link is cut during the next append, at\n"
    "another byte in each round), fence-late-packet (what is sent waits), again-late-first (what is sent on\n"
    "open connections waits). position-lost: remember (the state), go-back (to it). On a closed store:\n"
    "damaged-falls-back and damaged-event (one byte near the text mark-TYPE of a snapshot or an event),\n"
    "schema-newer, schema-older, opened-read-only, opened-without-auth.\n"
    "\n"
    "Exit status: 0 all cases passed or did not apply; 1 one failed; 2 wrong arguments, or the store\n"
    "cannot be opened.\n";

#define SETTINGS_MAX 32
#define CASES_MAX 32

static struct {
    const char *store, *library, *cluster;
    const char *settings[SETTINGS_MAX], *cases[CASES_MAX];
    uint32_t setting_count, case_count; /* no cases: all */
    const char *breaks, *mends, *via;
    const char *writes; /* in a process of a case: TYPE:SHARD */
    bool lists, logs;
} arguments = { .cluster = "conform" };

static const struct conform_case *const suites[] = {
    conform_replays, conform_appends,   conform_fences, conform_races,
    conform_stores,  conform_snapshots, conform_deletions, conform_processes,
    conform_closed,  conform_faults,    conform_links,
};
#define SUITES (sizeof suites / sizeof *suites)

static int fail(const char *text, const char *detail)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "sherd-conform: %s%s\n", text, detail);
    return 2;
}

static const char *setting(void *user, const char *key)
{
    size_t size = strlen(key);

    (void)user;
    for (uint32_t i = 0; i < arguments.setting_count; i++)
        if (strncmp(arguments.settings[i], key, size) == 0 &&
            arguments.settings[i][size] == '=')
            return arguments.settings[i] + size + 1;
    return NULL;
}

static void print_line(void *user, enum sherd_backend_level level,
                       const char *line)
{
    static const char *const names[] = { "info", "warning", "error" };

    (void)user;
    if (arguments.logs)
        printf("  %s: %s\n", names[level], line);
}

/* 0, or the exit status. */
static int load(const char *name)
{
    char *file = mem_text(arguments.library);
    char *comma = strchr(file, ',');
    char function[128];
    int (*called)(void) = NULL;
    void *library, *symbol;
    int result;

    if (comma)
        *comma = 0;
    (void)snprintf(function, sizeof function, comma ? "%s" : "sherd_%s_register",
                   comma ? comma + 1 : name); /* a cut name is not found */
    library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    mem_free(file);
    if (!library)
        return fail("cannot load the library: ", dlerror());
    symbol = dlsym(library, function);
    if (!symbol)
        return fail("the library has no function ", function);
    memcpy(&called, &symbol, sizeof called);
    result = called();
    return result ? fail("the back end was not registered: ", sherd_strerror(result)) : 0;
}

/* 0, or the exit status. */
static int choose(struct run *run)
{
    static char name[64];
    const char *colon = strchr(arguments.store, ':');

    run->options = (struct backend_options){
        .path = colon ? colon + 1 : "", .cluster = arguments.cluster,
        .setting = setting, .log = print_line,
    };
    (void)snprintf(name, sizeof name, "%.*s",
                   (int)(colon ? colon - arguments.store : (long)strlen(arguments.store)),
                   arguments.store); /* a cut name is not found */
    run->breaks = arguments.breaks;
    run->mends = arguments.mends;
    run->via = arguments.via ? strchr(arguments.via, ':') : NULL;
    run->via = run->via ? run->via + 1 : arguments.via;
    run->is_memory = strcmp(name, "memory") == 0;
    run->ops = &backend_memory;
    run->keeps_snapshots = true;
    if (run->is_memory)
        return 0;
    run->ops = &backend_sqlite;
    run->has_one_lock = run->tries_writes = true;
    if (strcmp(name, "sqlite") == 0)
        return colon && colon[1] ? 0 : fail("sqlite: needs a path", "");
#ifdef SHERD_WITH_POSTGRES
    check(sherd_postgres_register() == 0);
#endif
    if (arguments.library) {
        int result = load(name);

        if (result)
            return result;
    }
    run->ops = &backend_plugin;
    run->has_one_lock = false;
    run->options.plugin = backend_plugin_find(name);
    if (!run->options.plugin)
        return fail("no back end has this name; give its --library: ", name);
    run->tries_writes = run->options.plugin->can_write != NULL;
    run->tells_owners = run->options.plugin->tells_owners != 0;
    run->keeps_snapshots = run->options.plugin->version > 1 && run->options.plugin->snapshots;
    return 0;
}

/* Runs a case on fresh connections. 0 passed, 1 failed, 2 not opened. */
static int run_case(struct run *run, const struct conform_case *which)
{
    uint64_t random;

    check(getrandom(&random, sizeof random, 0) == sizeof random);
    (void)snprintf(run->type, sizeof run->type, "%.32s-%08llx", which->name,
                   (unsigned long long)(random & 0xffffffff)); /* fits */
    run->name = which->name;
    run->failed = run->skipped = run->broken = NULL;
    if (!conform_reopen(run))
        return fail("cannot open the store: ", run->error);
    which->run(run);
    conform_close(run);
    (void)conform_mend(run); /* a failure is the case's */
    if (run->failed)
        printf("FAILED: %s: line %d: %s\n", which->name, run->line, run->failed);
    else if (run->skipped)
        printf("skipped: %s: %s\n", which->name, run->skipped);
    else
        printf("ok: %s\n", which->name);
    (void)fflush(stdout);
    return run->failed != NULL;
}

static bool is_wanted(const char *name)
{
    bool is_named = false;

    for (uint32_t i = 0; i < arguments.case_count; i++)
        is_named |= strcmp(arguments.cases[i], name) == 0;
    return is_named || !arguments.case_count;
}

static int run_all(struct run *run)
{
    uint32_t counts[2] = { 0, 0 }, skipped = 0;

    for (size_t i = 0; i < SUITES; i++)
        for (const struct conform_case *at = suites[i]; at->name; at++) {
            int result;

            if (!is_wanted(at->name))
                continue;
            result = run_case(run, at);
            if (result == 2)
                return 2;
            counts[result] += !run->skipped;
            skipped += run->skipped != NULL;
        }
    if (counts[0] + counts[1] + skipped == 0)
        return fail("no case has the name ", arguments.cases[0]);
    printf("%u cases passed, %u failed, %u skipped\n", (unsigned)counts[0],
           (unsigned)counts[1], (unsigned)skipped);
    return counts[1] ? 1 : 0;
}

/* 0, or the exit status; -1: it is done. */
static int read_arguments(int count, char **words)
{
    for (int i = 1; i < count; i++) {
        const char *word = words[i];
        const char *value = i + 1 < count ? words[i + 1] : NULL;

        if (strcmp(word, "--help") == 0)
            return printf("%s", usage), -1;
        if (strcmp(word, "--list") == 0 || strcmp(word, "--log") == 0) {
            arguments.lists |= strcmp(word, "--list") == 0;
            arguments.logs |= strcmp(word, "--log") == 0;
            continue;
        }
        if (word[0] != '-' && !arguments.store) {
            arguments.store = word;
            continue;
        }
        if (!value)
            return fail("unknown option, or its value is missing: ", word);
        i++;
        if (strcmp(word, "--library") == 0)
            arguments.library = value;
        else if (strcmp(word, "--cluster") == 0)
            arguments.cluster = value;
        else if (strcmp(word, "--case") == 0 && arguments.case_count < CASES_MAX)
            arguments.cases[arguments.case_count++] = value;
        else if (strcmp(word, "--break") == 0)
            arguments.breaks = value;
        else if (strcmp(word, "--mend") == 0)
            arguments.mends = value;
        else if (strcmp(word, "--via") == 0)
            arguments.via = value;
        else if (strcmp(word, CONFORM_WRITES) == 0)
            arguments.writes = value;
        else if (strcmp(word, "--set") == 0 && arguments.setting_count < SETTINGS_MAX)
            arguments.settings[arguments.setting_count++] = value;
        else
            return fail("unknown option: ", word);
    }
    return 0;
}

int main(int count, char **words)
{
    struct run run = { .words = words, .word_count = (uint32_t)count };
    int result = read_arguments(count, words);

    if (result)
        return result < 0 ? 0 : result;
    if (arguments.lists) {
        for (size_t i = 0; i < SUITES; i++)
            for (const struct conform_case *at = suites[i]; at->name; at++)
                puts(at->name);
        return 0;
    }
    if (!arguments.store) {
        (void)fputs(usage, stderr);
        return 2;
    }
    result = choose(&run);
    if (result)
        return result;
    return arguments.writes ? conform_write_for_ever(&run, arguments.writes) : run_all(&run);
}
