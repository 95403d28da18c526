/* Runs a node with two entity types, and serves its management by HTTP.
 *
 *   native_node CONFIG PORT [SEED]    without a seed it founds a cluster
 *
 * Prints the socket's path. A line `TYPE ID` of its input sends a message to that entity; `block` after them
 * makes the entity wait until the file that the environment variable GATE names exists. CLUSTER is the system's name. The input's end ends the
 * node. */
#define _GNU_SOURCE
#include <sherd/http.h>
#include <sherd/sherd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TELL = 1, BLOCK = 2 };

static enum sherd_next count(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    unsigned *total = self;
    const char *gate = getenv("GATE");

    (void)ctx;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    (*total)++;
    while (msg->msg == BLOCK && gate && access(gate, F_OK) != 0)
        (void)usleep(1000);
    return SHERD_CONTINUE;
}

static int open_node(struct sherd_system **system, char **arguments, int count_of)
{
    const char *seeds[] = { count_of > 3 ? arguments[3] : NULL, NULL };
    const struct sherd_options options = {
        .name = getenv("CLUSTER") ? getenv("CLUSTER") : "Native",
        .config_text = arguments[1],
        .port = (uint16_t)atoi(arguments[2]),
        .seed_nodes = seeds[0] ? seeds : NULL,
        .alone = !seeds[0],
        .lanes = 2,
    };
    struct sherd_entity_type types[] = {
        { .name = "Cart", .shards = 20 },
        { .name = "Idle", .shards = 5 },
    };
    int error = sherd_http_register();

    if (error == 0)
        error = sherd_open(system, &options);
    for (int i = 0; i < 2 && error == 0; i++) {
        types[i].behavior = (struct sherd_behavior){ .name = "counter", .state_size = sizeof(unsigned), .receive = count };
        error = sherd_entity_register(*system, &types[i]);
    }
    return error ? error : sherd_start(*system);
}

static void follow_input(struct sherd_system *system)
{
    struct sherd_bytes none = { NULL, 0 };
    char line[512];

    while (fgets(line, sizeof line, stdin)) {
        char *type = strtok(line, " \n"), *id = strtok(NULL, " \n"), *how = strtok(NULL, " \n");

        if (type && id && sherd_system_entity_tell(system, type, id, how ? BLOCK : TELL, none) != 0)
            abort(); /* the test would wait for it */
    }
}

int main(int count_of, char **arguments)
{
    struct sherd_system *system = NULL;
    struct sherd_http_status status;
    int error = count_of < 3 ? SHERD_EINVAL : open_node(&system, arguments, count_of);

    if (error) {
        (void)fprintf(stderr, "native_node: %s\n", sherd_strerror(error));
        return 1;
    }
    if (sherd_http_get_status(system, &status) == 0)
        (void)printf("%s\n", status.socket);
    (void)fflush(stdout);
    follow_input(system);
    sherd_close(system);
    return 0;
}
