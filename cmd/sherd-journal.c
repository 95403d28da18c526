/* Checks an SQLite journal for damage, and rebuilds a damaged one without what is lost. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host/backend_damage.h"
#include "host/backend_sqlite.h"
#include "host/backend_sqlite_rebuild.h"

static const char usage[] =
    "usage: sherd-journal check FILE        reads the whole journal and lists its damaged parts\n"
    "       sherd-journal accept-loss FILE  rebuilds a damaged journal from what can be read\n"
    "\n"
    "FILE is a journal of a Sherd node, such as sherd.db. A check may run while nodes use the journal.\n"
    "It changes nothing. Before accept-loss, stop all nodes that use the journal. The former file\n"
    "becomes FILE.damaged. Restore a backup instead, if it has more.\n"
    "\n"
    "Exit status: 0 intact, or rebuilt; 1 damaged; 2 it cannot be done, or wrong arguments.\n";

static void print_part(void *context, const char *part, const char *why)
{
    (void)context;
    if (why)
        printf("damaged: %s: %s\n", part, why);
}

static void print_lost(void *context, const char *text)
{
    (void)context;
    printf("lost: %s\n", text);
}

static int fail(const char *error)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "sherd-journal: %s\n", error);
    return 2;
}

/* Prints the damaged parts. 0, 1 or 2, as the exit status. */
static int check_file(const char *path)
{
    struct backend_damage *damage = backend_damage_new(print_part, NULL);
    struct backend_options options = { .path = path, .damage = damage };
    struct backend_check found = { .bytes = 0 };
    void *store = backend_sqlite.open(&options, BACKEND_CHECKER, found.error);
    uint64_t damaged;

    while (store && !found.is_over && !found.is_waiting)
        backend_sqlite.check_step(store, &found);
    if (store)
        backend_sqlite.close(store);
    damaged = backend_damage_list(damage, NULL, 0);
    backend_damage_free(damage);
    if (found.is_waiting)
        return fail("a node or another program checks this journal; try again later");
    if (found.error[0])
        return damaged ? (void)fail(found.error), 1 : fail(found.error);
    printf("%s: %llu pages, %llu entities, %llu events, %llu damaged parts\n",
           path, (unsigned long long)found.pages,
           (unsigned long long)found.entities,
           (unsigned long long)found.events, (unsigned long long)damaged);
    return damaged ? 1 : 0;
}

static int accept_loss(const char *path)
{
    struct backend_rebuild rebuild = { .lost = print_lost };
    char error[BACKEND_ERROR_MAX] = "";
    int damaged = check_file(path);

    if (damaged != 1)
        return damaged; /* nothing is lost, or nothing can be read */
    if (backend_sqlite_rebuild(path, &rebuild, error) != 0)
        return fail(error);
    printf("%s: rebuilt with %llu entities and %llu events; the former file is "
           "%s.damaged\n",
           path, (unsigned long long)rebuild.entities,
           (unsigned long long)rebuild.events, path);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        printf("%s", usage);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "check") == 0)
        return check_file(argv[2]);
    if (argc == 3 && strcmp(argv[1], "accept-loss") == 0)
        return accept_loss(argv[2]);
    (void)fputs(usage, stderr);
    return 2;
}
