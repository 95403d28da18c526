/* Runs a node whose metrics the test reads. It makes entities as its standard input says.
 *
 *   metrics_node CONFIG PORT [SEED]
 *
 * A line "FIRST COUNT" sends one message to each of the entities FIRST to FIRST + COUNT - 1, and is
 * answered by the line "sent COUNT". The end of the input ends the node. */
#include <sherd/http.h>
#include <sherd/sherd.h>

#include <pthread.h>
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

static void *serve(void *of)
{
    struct sherd_system *system = of;
    unsigned first, most;

    while (scanf("%u %u", &first, &most) == 2) {
        unsigned sent = 0;

        for (unsigned i = first; i < first + most; i++) {
            char id[16];

            (void)snprintf(id, sizeof id, "e%u", i);
            sent += sherd_system_entity_tell(system, "Counter", id, 1, (struct sherd_bytes){ NULL, 0 }) == 0;
        }
        printf("sent %u\n", sent);
        (void)fflush(stdout); /* so that the reader of a pipe sees the line now */
    }
    sherd_leave(system);
    return NULL;
}

static int run(struct sherd_system *system)
{
    const struct sherd_entity_type type = {
        .name = "Counter",
        .behavior = { .name = "counter", .state_size = sizeof(unsigned), .receive = count },
        .shards = 12,
    };
    pthread_t thread;
    int error = sherd_entity_register(system, &type);

    if (error == 0)
        error = sherd_start(system);
    if (error == 0 && pthread_create(&thread, NULL, serve, system) == 0) {
        error = sherd_wait(system);
        (void)pthread_join(thread, NULL);
    }
    return error;
}

int main(int count_of, char **arguments)
{
    const char *seeds[] = { count_of > 3 ? arguments[3] : NULL, NULL };
    const struct sherd_options options = {
        .name = "Metrics",
        .config_text = count_of > 1 ? arguments[1] : NULL,
        .port = (uint16_t)(count_of > 2 ? atoi(arguments[2]) : SHERD_PORT_ANY),
        .seed_nodes = seeds[0] ? seeds : NULL,
        .alone = !seeds[0],
    };
    struct sherd_system *system;
    int error = sherd_http_register();

    if (error == 0)
        error = sherd_open(&system, &options);
    if (error == 0) {
        error = run(system);
        sherd_close(system);
    }
    if (error != 0)
        (void)fprintf(stderr, "metrics_node: %s\n", sherd_strerror(error));
    return error != 0;
}
