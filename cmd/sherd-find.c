/* Finds the node to ask when no address is given: the newest socket of a living node of this user. */
#define _GNU_SOURCE
#include "sherd-client.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOUND_MAX 64
#define CLUSTER_SIZE 128

struct found {
    char path[CLIENT_ADDRESS_SIZE];
    struct timespec made;
};

struct search {
    struct found items[FOUND_MAX];
    uint32_t count;
};

/* The process of a socket PORT.PID.sock; 0: another name. */
static long process_of(const char *name)
{
    char *end;
    long pid;

    (void)strtol(name, &end, 10);
    if (end == name || *end != '.')
        return 0;
    name = end + 1;
    pid = strtol(name, &end, 10);
    return end != name && strcmp(end, ".sock") == 0 && pid > 0 ? pid : 0;
}

static void look_at(struct search *search, const char *folder, const char *name)
{
    struct found *found = &search->items[search->count];
    long pid = process_of(name);
    struct stat status;
    int size;

    if (!pid || search->count == FOUND_MAX || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
        return;
    size = snprintf(found->path, sizeof found->path, "%s/%s", folder, name);
    if (size < 0 || (size_t)size >= sizeof found->path || stat(found->path, &status) != 0 ||
        !S_ISSOCK(status.st_mode))
        return;
    found->made = status.st_mtim;
    search->count++;
}

static void look_into(struct search *search, const char *folder)
{
    DIR *open = opendir(folder);
    const struct dirent *entry;

    while (open && (entry = readdir(open)))
        look_at(search, folder, entry->d_name);
    if (open)
        (void)closedir(open);
}

static bool is_newer(struct timespec a, struct timespec b)
{
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* Nodes of other clusters are listed: the newest is a guess then. */
static enum cmd_exit refuse_several(const struct search *search)
{
    char first[CLUSTER_SIZE], other[CLUSTER_SIZE];
    bool differ = false;

    client_cluster_at(search->items[0].path, first, sizeof first);
    for (uint32_t i = 1; i < search->count && !differ; i++) {
        client_cluster_at(search->items[i].path, other, sizeof other);
        differ = *other && strcmp(first, other) != 0;
    }
    if (!differ)
        return CMD_GOOD;
    (void)cmd_fail(CMD_USAGE, "nodes of several clusters run here: name one with -a PATH");
    for (uint32_t i = 0; i < search->count; i++) {
        client_cluster_at(search->items[i].path, other, sizeof other);
        (void)fprintf(stderr, "  %s  %s\n", search->items[i].path, *other ? other : "(does not answer)");
    }
    return CMD_USAGE;
}

enum cmd_exit client_find_socket(char path[CLIENT_ADDRESS_SIZE])
{
    const char *runtime = getenv("RUNTIME_DIRECTORY"), *user = getenv("XDG_RUNTIME_DIR");
    struct search *search = calloc(1, sizeof *search);
    const struct found *best;
    enum cmd_exit exit;
    char folder[CLIENT_ADDRESS_SIZE];

    if (!search)
        return cmd_fail(CMD_UNREACHABLE, "out of memory");
    if (runtime && *runtime)
        look_into(search, runtime);
    if (user && *user) {
        (void)snprintf(folder, sizeof folder, "%s/sherd", user); /* a longer one has no sockets */
        look_into(search, folder);
    }
    (void)snprintf(folder, sizeof folder, "/tmp/sherd-%u", (unsigned)geteuid());
    look_into(search, folder);
    if (!search->count) {
        free(search);
        return cmd_fail(CMD_UNREACHABLE, "no node of this user runs here with its management on; name one with "
                                         "-a ADDRESS, or in SHERD_ADDR");
    }
    exit = refuse_several(search);
    best = &search->items[0];
    for (uint32_t i = 1; i < search->count; i++)
        if (is_newer(search->items[i].made, best->made))
            best = &search->items[i];
    (void)snprintf(path, CLIENT_ADDRESS_SIZE, "%s", best->path);
    free(search);
    return exit;
}

void client_cluster_at(const char *socket, char *name, size_t size)
{
    const struct cmd_command none = { .asks_node = true };
    struct cmd_call call = { .command = &none };
    struct client *client;
    json_t *answer = NULL;
    const char *cluster;

    *name = 0;
    for (uint32_t i = 0; i < CMD_NODE_OPTIONS_MAX && cmd_node_options[i].name; i++) {
        if (strcmp(cmd_node_options[i].name, "address") == 0)
            call.values[CMD_OPTIONS_MAX + i] = socket;
        if (strcmp(cmd_node_options[i].name, "timeout") == 0)
            call.values[CMD_OPTIONS_MAX + i] = "2000";
    }
    if (client_open(&call, &client) != CMD_GOOD)
        return;
    if (client_probe(client, "/api/v1", &answer)) {
        cluster = json_string_value(json_object_get(answer, "cluster"));
        (void)snprintf(name, size, "%s", cluster ? cluster : "");
    }
    json_decref(answer);
    client_close(client);
}
