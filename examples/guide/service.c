/* Runs one node as a service: its settings come from a file and the environment.
 *
 *   service CONFIG */
#include <sherd/http.h>
#include <sherd/sherd.h>

#include <stdio.h>

static enum sherd_next count(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    unsigned *total = self;

    (void)ctx;
    if (msg->kind == SHERD_MESSAGE)
        (*total)++;
    return SHERD_CONTINUE;
}

/* [service] */
static int run(const char *config)
{
    const struct sherd_options options = { .config_file = config };
    const struct sherd_entity_type type = {
        .name = "Counter",
        .behavior = { .name = "counter", .state_size = sizeof(unsigned), .receive = count },
    };
    struct sherd_system *system;
    int error = sherd_http_register(); /* health checks for probes */

    if (error == 0)
        error = sherd_open(&system, &options);
    if (error != 0)
        return error;
    error = sherd_entity_register(system, &type);
    if (error == 0)
        error = sherd_run(system); /* until SIGTERM, and the whole graceful end */
    sherd_close(system);
    return error;
}
/* [service end] */

int main(int count_of, char **arguments)
{
    int error;

    if (count_of != 2) {
        (void)fputs("usage: service CONFIG\n", stderr);
        return 2;
    }
    error = run(arguments[1]);
    if (error != 0)
        (void)fprintf(stderr, "service: %s\n", sherd_strerror(error));
    return error != 0;
}
