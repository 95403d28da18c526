/* Runs one node with a counter, and serves its management by HTTP.
 *
 *   managed [CONFIG [PORT [SEED]]]    without a seed it founds a cluster */
#include <sherd/http.h>
#include <sherd/sherd.h>

#include <stdio.h>
#include <stdlib.h>

static enum sherd_next count(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    unsigned *total = self;

    (void)ctx;
    if (msg->kind == SHERD_MESSAGE)
        (*total)++;
    return SHERD_CONTINUE;
}

/* [status] */
static void print_where(struct sherd_system *system)
{
    struct sherd_http_status status;

    if (sherd_http_get_status(system, &status) == 0)
        printf("socket %s\nurl %s\n", status.socket, status.url);
    (void)fflush(stdout); /* so that the reader of a pipe sees the lines now */
}
/* [status end] */

static int run(const struct sherd_options *options)
{
    const struct sherd_entity_type type = {
        .name = "Counter",
        .behavior = { .name = "counter", .state_size = sizeof(unsigned), .receive = count },
        .shards = 10,
    };
    struct sherd_system *system;
    /* [open] */
    int error = sherd_http_register();

    if (error == 0)
        error = sherd_open(&system, options);
    /* [open end] */
    if (error != 0)
        return error;
    error = sherd_entity_register(system, &type);
    if (error == 0) {
        print_where(system);
        error = sherd_run(system);
    }
    sherd_close(system);
    return error;
}

int main(int count_of, char **arguments)
{
    const char *seeds[] = { count_of > 3 ? arguments[3] : NULL, NULL };
    const struct sherd_options options = {
        .name = "Managed",
        .config_text = count_of > 1 ? arguments[1] : NULL,
        .port = (uint16_t)(count_of > 2 ? atoi(arguments[2]) : SHERD_PORT_ANY),
        .seed_nodes = seeds[0] ? seeds : NULL,
        .alone = !seeds[0],
    };
    int error = run(&options);

    if (error != 0)
        (void)fprintf(stderr, "managed: %s\n", sherd_strerror(error));
    return error != 0;
}
